package schedule

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, time.March, 28, 12, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	for _, line := range []string{"0 2 * * *", "@daily", "*/5 8-18 * * MON-FRI", "0 0 29 2 *"} {
		if _, err := Parse(line, "Europe/Berlin", now); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, test := range []struct{ line, zone, message string }{
		{"0 2 * *", "UTC", "cannot be read"},
		{"61 2 * * *", "UTC", "cannot be read"},
		{"0 0 30 2 *", "UTC", "never fires"},
		{"0 2 * * *", "Europe/Atlantis", `time zone "Europe/Atlantis" is not known`},
		{"0 2 * * *", "Local", "is not known"},
		{"CRON_TZ=Asia/Tokyo 0 2 * * *", "UTC", "use the field timeZone"},
		{"@every 5m", "UTC", "no fixed times"},
	} {
		if _, err := Parse(test.line, test.zone, now); err == nil || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%q in %q: %v, want %q", test.line, test.zone, err, test.message)
		}
	}
	if _, err := Parse("0 0 31 4 *", "UTC", now); !errors.Is(err, ErrNeverFires) {
		t.Errorf("the 31st of April: %v", err)
	}
}

func TestLatest(t *testing.T) {
	hours := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
	for name, test := range map[string]struct {
		line, zone string
		after, now time.Time
		want       time.Time
	}{
		"none":             {"0 2 * * *", "UTC", hours(-1), now, time.Time{}},
		"one":              {"0 11 * * *", "UTC", hours(-2), now, hours(-1)},
		"at the moment":    {"0 12 * * *", "UTC", hours(-2), now, now},
		"not twice":        {"0 12 * * *", "UTC", now, now.Add(time.Minute), time.Time{}},
		"the last of many": {"*/10 * * * *", "UTC", hours(-24 * 365), now.Add(5 * time.Minute), now},
		"after a year":     {"0 0 1 1 *", "UTC", hours(-24 * 365), now, time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)},
		"in a zone":        {"0 2 * * *", "Asia/Tokyo", hours(-24), now, time.Date(2026, time.March, 27, 17, 0, 0, 0, time.UTC)},
		"in summer time":   {"0 4 * * *", "Europe/Berlin", now, hours(24), time.Date(2026, time.March, 29, 2, 0, 0, 0, time.UTC)},
		"when the clock is set forward, no time in the hour that is left out": {"30 2 * * *", "Europe/Berlin", now, now.Add(14 * time.Hour), time.Time{}},
		"the day after":     {"30 2 * * *", "Europe/Berlin", now, now.Add(40 * time.Hour), time.Date(2026, time.March, 30, 0, 30, 0, 0, time.UTC)},
		"the clock is back": {"* * * * *", "UTC", hours(1), now, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(test.line, test.zone, now)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Latest(test.after, test.now); !got.Equal(test.want) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestTheClockIsSetBack checks the night of October in which Berlin has the hour after 2 o'clock twice: a line with fixed hours fires once, and one of every
// hour each hour.
func TestTheClockIsSetBack(t *testing.T) {
	from, to := time.Date(2026, time.October, 24, 23, 0, 0, 0, time.UTC), time.Date(2026, time.October, 25, 3, 0, 0, 0, time.UTC)
	for line, want := range map[string][]string{
		"30 2 * * *":   {"00:30"},
		"0 2 * * *":    {"00:00"},
		"0 1-3 * * *":  {"00:00", "02:00"},
		"0,59 2 * * *": {"00:00", "00:59"},
		"0 */2 * * *":  {"00:00", "03:00"},
		"0 3 * * *":    {"02:00"},
		"30 * * * *":   {"23:30", "00:30", "01:30", "02:30"},
		"@hourly":      {"00:00", "01:00", "02:00", "03:00"},
	} {
		s, err := Parse(line, "Europe/Berlin", now)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for at := s.Next(from); !at.After(to); at = s.Next(at) {
			got = append(got, at.UTC().Format("15:04"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
