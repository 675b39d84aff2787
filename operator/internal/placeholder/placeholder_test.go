package placeholder_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/placeholder"
	"vnfbench.io/operator/internal/vnf"
)

func config() vnf.Config {
	prefixes := func(texts ...string) (out []netip.Prefix) {
		for _, text := range texts {
			out = append(out, netip.MustParsePrefix(text))
		}
		return out
	}
	route := func(destination, via, port string) vnf.Route {
		return vnf.Route{Destination: netip.MustParsePrefix(destination), Via: netip.MustParseAddr(via), Port: port}
	}
	neighbor := func(address, mac, port string) vnf.Neighbor {
		return vnf.Neighbor{Address: netip.MustParseAddr(address), MAC: mac, Port: port}
	}
	return vnf.Config{
		Function: "Custom", Name: "fw",
		Ports: []vnf.Port{
			{Name: "west", MAC: "02:00:00:00:00:06", MTUBytes: 1500, VLAN: 100, Addresses: prefixes("198.18.0.2/24", "2001:2::2/64")},
			{Name: "east", MAC: "02:00:00:00:00:05", MTUBytes: 1400, Addresses: prefixes("198.18.1.1/24", "2001:2:0:1::1/64")},
		},
		Routes: []vnf.Route{
			route("198.18.128.0/17", "198.18.0.1", "west"), route("2001:2:0:8000::/64", "2001:2::1", "west"),
			route("198.19.128.0/17", "198.18.1.2", "east"), route("2001:2:0:9000::/64", "2001:2:0:1::2", "east"),
		},
		Neighbors: []vnf.Neighbor{
			neighbor("198.18.0.1", "02:00:00:00:00:01", "west"), neighbor("2001:2::1", "02:00:00:00:00:01", "west"),
			neighbor("198.18.1.2", "02:00:00:00:00:02", "east"), neighbor("2001:2:0:1::2", "02:00:00:00:00:02", "east"),
		},
	}
}

func TestValues(t *testing.T) {
	want := placeholder.Values{
		"Name": "fw", "MTUBytes": "1400",
		"West.MAC": "02:00:00:00:00:06", "West.MTUBytes": "1500", "West.VLAN": "100",
		"West.AddressIPv4": "198.18.0.2/24", "West.HostIPv4": "198.18.0.2", "West.PrefixLengthIPv4": "24",
		"West.AddressIPv6": "2001:2::2/64", "West.HostIPv6": "2001:2::2", "West.PrefixLengthIPv6": "64",
		"West.NetworkIPv4": "198.18.128.0/17", "West.NetworkIPv6": "2001:2:0:8000::/64",
		"West.NextHopIPv4": "198.18.0.1", "West.NextHopIPv6": "2001:2::1", "West.NextHopMAC": "02:00:00:00:00:01",
		"East.MAC": "02:00:00:00:00:05", "East.MTUBytes": "1400", "East.VLAN": "0",
		"East.AddressIPv4": "198.18.1.1/24", "East.HostIPv4": "198.18.1.1", "East.PrefixLengthIPv4": "24",
		"East.AddressIPv6": "2001:2:0:1::1/64", "East.HostIPv6": "2001:2:0:1::1", "East.PrefixLengthIPv6": "64",
		"East.NetworkIPv4": "198.19.128.0/17", "East.NetworkIPv6": "2001:2:0:9000::/64",
		"East.NextHopIPv4": "198.18.1.2", "East.NextHopIPv6": "2001:2:0:1::2", "East.NextHopMAC": "02:00:00:00:00:02",
	}
	if diff := cmp.Diff(want, placeholder.Of(config())); diff != "" {
		t.Error(diff)
	}
}

func TestFill(t *testing.T) {
	values := placeholder.Of(config())
	tests := map[string]struct{ text, want string }{
		"nothing":       {"#cloud-config\n", "#cloud-config\n"},
		"empty":         {"", ""},
		"fields":        {"set {{ .West.AddressIPv4 }} on {{.Name}}\nmac={{ .East.NextHopMAC }}", "set 198.18.0.2/24 on fw\nmac=02:00:00:00:00:02"},
		"trimmed":       {"a {{- .MTUBytes -}} b", "a1400b"},
		"braces":        {`{{"{{"}} ds.meta }}`, "{{ ds.meta }}"},
		"a comment":     {"a{{/* for people */}}b", "ab"},
		"a lone brace":  {"${x} { } }}", "${x} { } }}"},
		"several times": {"{{ .Name }}{{ .Name }}", "fwfw"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := values.Fill(test.text)
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// TestRefused checks that only existing fields are allowed; the message says where, what and what else.
func TestRefused(t *testing.T) {
	values := placeholder.Of(config())
	tests := map[string]struct {
		text string
		want []string
	}{
		"unknown":          {"a\nb {{ .West.Mac }}", []string{"line 2:", "{{.West.Mac}} is not a placeholder", ".West.MAC,", ".Name"}},
		"no such port":     {"{{ .North.MAC }}", []string{"line 1:", "{{.North.MAC}}"}},
		"a port":           {"{{ .West }}", []string{"{{.West}} is not a placeholder"}},
		"everything":       {"{{ . }}", []string{"is not a placeholder"}},
		"a loop":           {"{{ range .West }}x{{ end }}", []string{"is not a placeholder"}},
		"a condition":      {"{{ if .Name }}x{{ end }}", []string{"is not a placeholder"}},
		"a function":       {`{{ printf "%999999999d" 1 }}`, []string{"is not a placeholder"}},
		"a pipe":           {"{{ .Name | html }}", []string{"is not a placeholder"}},
		"a variable":       {"{{ $x := .Name }}", []string{"is not a placeholder"}},
		"another template": {`{{ template "x" }}`, []string{"is not a placeholder"}},
		"not closed":       {"a\n{{ .Name", []string{"line 2:", "unclosed action"}},
		"no end":           {"{{ if .Name }}", []string{"line 1:", "unexpected EOF"}},
		"Jinja":            {"{{ ds.meta_data }}", []string{"line 1:"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := values.Fill(test.text)
			if err == nil {
				t.Fatalf("it was filled: %q", got)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want it to say %q", err, want)
				}
			}
		})
	}
}

// TestDefinitionsAreRefused checks that definitions are refused: text/template would silently remove them from the text.
func TestDefinitionsAreRefused(t *testing.T) {
	if got, err := placeholder.Of(config()).Fill(`{{ define "x" }}{{ .Nothing }}{{ end }}a`); err == nil {
		t.Errorf("a definition was taken: %q", got)
	}
}
