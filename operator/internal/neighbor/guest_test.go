package neighbor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGuestConfig(t *testing.T) {
	const good = `{"ports": [{"name": "west", "mac": "02:00:00:00:00:02", "mtuBytes": 1500}, {"name": "east", "mac": "02:00:00:00:01:0A", "mtuBytes": 9000}]}`
	got, err := ParseGuestConfig([]byte(good))
	want := &GuestConfig{Ports: []GuestPort{{Name: "west", MAC: "02:00:00:00:00:02", MTUBytes: 1500}, {Name: "east", MAC: "02:00:00:00:01:0A", MTUBytes: 9000}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, none := range []string{`{"ports": []}`, `{"ports": null}`, `{}`} {
		if got, err := ParseGuestConfig([]byte(none)); err != nil || len(got.Ports) != 0 {
			t.Errorf("%s: %+v, %v", none, got, err)
		}
	}
	change := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for name, tc := range map[string]struct{ text, want string }{
		"no JSON":            {`#cloud-config`, "invalid character"},
		"more after it":      {good + "{}", "more after"},
		"unknown field":      {change(`"mac"`, `"address": "", "mac"`), `unknown field "address"`},
		"one port":           {`{"ports": [{"name": "west", "mac": "02:00:00:00:00:02", "mtuBytes": 1500}]}`, `ports: there are 1, want none, or "west" and "east"`},
		"unknown name":       {change(`"west"`, `"north"`), `ports[0].name: "north"`},
		"a name twice":       {change(`"east"`, `"west"`), `ports[1].name: "west"`},
		"an address of none": {change("02:00:00:00:01:0A", "nonsense"), `ports[1].mac: "nonsense"`},
		"a group's address":  {change("02:00:00:00:00:02", "03:00:00:00:00:02"), `ports[0].mac: "03:00:00:00:00:02"`},
		"an address twice":   {change("02:00:00:00:01:0A", "02:00:00:00:00:02"), `ports[1].mac: "02:00:00:00:00:02" is taken`},
		"no MTU":             {change(`, "mtuBytes": 1500`, ""), "ports[0].mtuBytes: 0 is not between 68 and 65535"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseGuestConfig([]byte(tc.text)); err == nil || got != nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %+v, %v, want %q", got, err, tc.want)
			}
		})
	}
}
