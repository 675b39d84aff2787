package series

import (
	"bytes"
	"cmp"
	"errors"
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
// have the same run: of equal points one counts, and a run of the name of an earlier one gets "#2" after its name.
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
	named := g.named()
	out := slices.SortedFunc(maps.Values(g.byKey), func(a, b *Series) int {
		return cmp.Or(strings.Compare(a.Experiment, b.Experiment), strings.Compare(a.Testbed, b.Testbed), strings.Compare(a.Figure, b.Figure), strings.Compare(a.Namespace, b.Namespace))
	})
	g.byKey = nil
	for _, s := range out {
		byTime := func(a, b Point) int { return a.Time.Compare(b.Time) }
		slices.SortStableFunc(s.Runs, byTime)
		slices.SortStableFunc(s.Legs, byTime)
		s.settle()
		if err := errors.Join(s.checkNamespace(named[s.Key]), s.check()); err != nil {
			refused = append(refused, Refused{*s, err})
			continue
		}
		all = append(all, *s)
	}
	return all, refused
}

// named returns a namespace that has a series too, by the key of that series without a namespace.
func (g *Grouper) named() map[Key]string {
	namespaces := map[Key]string{}
	for key := range g.byKey {
		if bare := key.bare(); bare != key {
			namespaces[bare] = max(namespaces[bare], key.Namespace)
		}
	}
	return namespaces
}

// checkNamespace returns an error for points without a namespace whose series a namespace has too: nothing says whether they are of it.
func (s Series) checkNamespace(namespace string) error {
	if namespace == "" {
		return nil
	}
	return fmt.Errorf("series %s has points without a namespace, and points of namespace %q: %s", s.Key, namespace, nameIt(namespace))
}

// nameIt says how points get a namespace.
func nameIt(namespace string) string {
	return fmt.Sprintf("add those without one with `kubectl vnfbench series --namespace %s` where they are of it, and keep them in another folder or file where not", namespace)
}

// settle drops points that are there twice, and gives runs other names that have the name of an earlier one and another UID. A leg is of the latest
// run of its name before it.
func (s *Series) settle() {
	names := map[string]bool{}
	for _, p := range s.Runs {
		names[p.Run] = true
	}
	for _, p := range s.Legs {
		names[p.Run] = true
	}
	if len(names) == len(s.Runs)+len(s.Legs) {
		return
	}
	known := map[string][]Point{}
	named := func(points []Point) (out []Point) {
		for _, p := range points {
			same := known[p.Run]
			if slices.ContainsFunc(same, func(q Point) bool { return equal(p, q) }) {
				continue
			}
			known[p.Run] = append(same, p)
			// A point without a UID may be of either run, so it keeps the name, and check refuses it.
			if suffix := fmt.Sprintf("#%d", len(same)+1); len(same) > 0 && p.RunUID != "" && !slices.ContainsFunc(same, func(q Point) bool { return q.RunUID == "" || q.RunUID == p.RunUID }) {
				p.Run += suffix
				if p.Execution != "" {
					p.Execution += suffix
				}
			}
			out = append(out, p)
		}
		return out
	}
	s.Runs = named(s.Runs)
	latest := func(name string, before time.Time) string {
		number := 0
		for _, p := range known[name] {
			if !p.Time.After(before) {
				number++
			}
		}
		if number > 1 {
			name += fmt.Sprintf("#%d", number)
		}
		return name
	}
	s.Legs = named(s.Legs)
	for i, p := range s.Legs {
		leg := *p.Leg
		leg.Run, leg.OldRun = latest(leg.Run, p.Time), latest(leg.OldRun, p.Time)
		s.Legs[i].Leg = &leg
	}
}

// equal reports whether two points say the same.
func equal(a, b Point) bool {
	first, err := encode(a)
	if err != nil {
		return false
	}
	second, err := encode(b)
	return err == nil && bytes.Equal(first, second)
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

// Newest returns the run that shows how the device is now: the last one that counts. Where other work of the machine disturbed
// that one, and more than half of the runs of its execution have a value, it is the last of those: one disturbed repeat of several
// leaves nothing unknown.
func (s Series) Newest() Point {
	last := s.Runs[s.LastForward()]
	if last.Execution == "" || !last.isDisturbed() {
		return last
	}
	runs, values, newest := 0, 0, last
	for _, p := range s.Forward() {
		if p.Execution != last.Execution {
			continue
		}
		if runs++; p.NoValue() == "" {
			values++
			newest = p
		}
	}
	if 2*values > runs {
		return newest
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
