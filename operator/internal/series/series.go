package series

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Series is every point of one key, in the order of time.
type Series struct {
	Key
	// Runs are the scheduled runs, those without a value too.
	Runs []Point
	// Legs are the interleaved runs.
	Legs []Point
}

// Refused is a series whose points do not make one, and why.
type Refused struct {
	Series
	Err error
}

// Group makes series of points, in the order of their keys. The points of a series have one unit and one better side, and no two
// have the same run.
func Group(points []Point) ([]Series, error) {
	all, refused := Split(points)
	if len(refused) > 0 {
		return nil, refused[0].Err
	}
	return all, nil
}

// Split makes series of points as Group does, and puts those aside whose points do not make one.
func Split(points []Point) (all []Series, refused []Refused) {
	var g Grouper
	for _, p := range points {
		g.Add(p)
	}
	return g.Split()
}

// Grouper makes series of points that come one after the other, so that no list of all points is in memory next to the series. Its zero
// value has none.
type Grouper struct{ byKey map[Key]*Series }

// Add adds a point to its series.
func (g *Grouper) Add(p Point) {
	if g.byKey == nil {
		g.byKey = map[Key]*Series{}
	}
	s := g.byKey[p.Key]
	if s == nil {
		s = &Series{Key: p.Key}
		g.byKey[p.Key] = s
	}
	if p.Leg == nil {
		s.Runs = append(s.Runs, p)
	} else {
		s.Legs = append(s.Legs, p)
	}
}

// Split returns the series of the points that were added, as the function Split does, and has no points afterwards.
func (g *Grouper) Split() (all []Series, refused []Refused) {
	out := slices.SortedFunc(maps.Values(g.byKey), func(a, b *Series) int {
		return cmp.Or(strings.Compare(a.Experiment, b.Experiment), strings.Compare(a.Testbed, b.Testbed), strings.Compare(a.Figure, b.Figure))
	})
	g.byKey = nil
	for _, s := range out {
		byTime := func(a, b Point) int { return a.Time.Compare(b.Time) }
		slices.SortStableFunc(s.Runs, byTime)
		slices.SortStableFunc(s.Legs, byTime)
		if err := s.check(); err != nil {
			refused = append(refused, Refused{*s, err})
			continue
		}
		all = append(all, *s)
	}
	return all, refused
}

// Forward returns the runs in their order, without those that tested an older version than a run before them. A time of a version that is not known, or
// after the measurement, orders nothing.
func (s Series) Forward() []Point {
	out := make([]Point, 0, len(s.Runs))
	var newest time.Time
	for i := range s.Runs {
		if isForward(&s.Runs[i], &newest) {
			out = append(out, s.Runs[i])
		}
	}
	return out
}

// LastForward returns the number of the last run that Forward returns.
func (s Series) LastForward() (last int) {
	var newest time.Time
	for i := range s.Runs {
		if isForward(&s.Runs[i], &newest) {
			last = i
		}
	}
	return last
}

// isForward reports whether a run tested no older version than the newest one before it, and notes the time of its version.
func isForward(p *Point, newest *time.Time) bool {
	if p.SubjectTime.IsZero() || p.SubjectTime.After(p.Time) {
		return true
	}
	if p.SubjectTime.Before(*newest) {
		return false
	}
	*newest = p.SubjectTime
	return true
}

// check returns an error where points do not make one series.
func (s Series) check() error {
	runs := map[string]bool{}
	all := slices.Concat(s.Runs, s.Legs)
	for _, p := range all {
		switch {
		case runs[p.Run]:
			return fmt.Errorf("series %s has run %q twice: leave one out, or give it another name", s.Key, p.Run)
		case p.Unit != all[0].Unit:
			return fmt.Errorf("series %s has the units %q and %q: give each its own figure", s.Key, all[0].Unit, p.Unit)
		case p.LowerIsBetter != all[0].LowerIsBetter:
			return fmt.Errorf("series %s has points with both values of lowerIsBetter: give every point the same value", s.Key)
		}
		runs[p.Run] = true
	}
	return nil
}
