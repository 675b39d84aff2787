// Package schedule reads cron lines: a line and a time zone go in; the times at which it fires come out.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	// The images have no time zones.
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

// ErrNeverFires is the error of a line whose date does not exist.
var ErrNeverFires = errors.New("it never fires: no date in the next five years fits")

// Schedule is a cron line.
type Schedule struct {
	cron.Schedule
	// repeats has the zone of a line with fixed hours: such a line fires once in an hour that the clock shows twice.
	repeats *time.Location
}

// anyHour is the bit of a field of cron.SpecSchedule that is "*".
const anyHour = 1 << 63

// Next returns the next time after a time, or zero if there is none in the next five years.
func (s Schedule) Next(after time.Time) time.Time {
	at := s.Schedule.Next(after)
	for !at.IsZero() && s.repeats != nil && isShownAgain(at.In(s.repeats)) {
		at = s.Schedule.Next(at)
	}
	return at
}

// isShownAgain reports whether the clock of a zone has shown a time before: it was set back, as at the end of summer time.
func isShownAgain(at time.Time) bool {
	start, _ := at.ZoneBounds()
	if start.IsZero() {
		return false
	}
	_, is := at.Zone()
	_, was := start.Add(-time.Second).Zone()
	return at.Sub(start) < time.Duration(was-is)*time.Second
}

// Parse reads a line of five fields, or a word such as @daily, in a time zone.
func Parse(line, zone string, now time.Time) (Schedule, error) {
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return Schedule{}, fmt.Errorf("the time zone %q is not known: use one as Europe/Berlin or UTC", zone)
	}
	if strings.Contains(line, "TZ=") {
		return Schedule{}, fmt.Errorf("the schedule %q names a time zone: use the field timeZone", line)
	}
	if strings.HasPrefix(line, "@every") {
		return Schedule{}, fmt.Errorf("the schedule %q has no fixed times: use five fields, as \"0 */4 * * *\"", line)
	}
	parsed, err := cron.ParseStandard(line)
	if err != nil {
		return Schedule{}, fmt.Errorf("the schedule %q cannot be read: %w", line, err)
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Schedule{}, fmt.Errorf("the schedule %q has no fixed times: use five fields", line)
	}
	fields.Location = location
	s := Schedule{Schedule: fields}
	if fields.Hour&anyHour == 0 {
		s.repeats = location
	}
	if !s.Next(now).IsZero() {
		return s, nil
	}
	return Schedule{}, fmt.Errorf("the schedule %q: %w", line, ErrNeverFires)
}

// Latest returns the last time after a time at which the schedule has fired until now, or zero if it has not.
func (s Schedule) Latest(after, now time.Time) time.Time {
	// The search begins close to now and doubles its distance, so that years of every minute cost little.
	for back := time.Minute; ; back *= 2 {
		from := now.Add(-back)
		if from.Before(after) {
			from = after
		}
		var latest time.Time
		for at := s.Next(from); !at.IsZero() && !at.After(now); at = s.Next(at) {
			latest = at
		}
		if !latest.IsZero() || !from.After(after) {
			return latest
		}
	}
}
