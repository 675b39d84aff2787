package regression

import (
	"fmt"
	"math"
	"slices"

	"vnfbench.io/operator/internal/series"
)

// floorFall is a fall below what a run without a value showed that the device does at least.
type floorFall struct {
	// floor is that run, first the first run that is worse.
	floor, first series.Point
	// size is how far the last runs are below it at least; below 0.
	size float64
}

// floorOf is the highest floor of a platform; its level is minus infinity where there is none.
type floorOf struct {
	point series.Point
	level float64
	// count is how many of the recent runs were floors at most when it was.
	count int
	// recent says which of the last runs were floors.
	recent []bool
	// since is the first value after the last floor that was not below it, fallen the first of the last values that are below; -1 where they are not.
	since, fallen int
}

// belowFloor returns the fall of the last values, whatever runs without a value are after them, below the highest floor before them on their platform; nil where there is none of half the effect, or
// someone accepted it. Confirmed changes since the floor are no part of it. A new level of the environment ends a floor, and so does an accepted one.
func (j *judging) belowFloor() *floorFall {
	if len(j.points) == 0 || !slices.ContainsFunc(j.series.Runs, series.Point.IsFloor) {
		return nil
	}
	events := map[int][]Event{}
	for _, e := range j.walk.events {
		events[e.First] = append(events[e.First], e)
	}
	floors := map[string]*floorOf{}
	next := 0
	for _, p := range j.series.Runs {
		f := floors[p.Platform]
		if f == nil {
			f = &floorOf{level: math.Inf(-1), fallen: -1}
			floors[p.Platform] = f
		}
		if p.NoValue() != "" {
			if p.IsFloor() {
				f.raise(p, j.settings.alarmSize(), next)
			}
			continue
		}
		at := next
		next++
		for _, e := range events[at] {
			switch {
			case e.Kind == Regression || e.Kind == Improvement || e.Kind == Minor:
				for _, f := range floors {
					f.level += e.Low
				}
			case e.Kind == Shift || e.isUnanswered() && j.isAccepted(e.Question):
				f.level = math.Inf(-1)
			}
		}
		f.note(false)
		switch {
		case p.LogValue()-f.level > -j.settings.alarmSize():
			f.fallen = -1
		case f.fallen < 0:
			f.fallen = at
			size := j.walk.mean(at, min(at+window, len(j.points))-1) - f.level
			fall := j.placeOf(Question{First: at, At: at}, size)
			fall.at = len(j.points) - 1
			j.floors = append(j.floors, fall)
			if j.take(fall, Accepted) != "" {
				f.level, f.fallen = math.Inf(-1), -1
			}
		}
	}
	f := floors[j.points[len(j.points)-1].Platform]
	if f.fallen < 0 {
		return nil
	}
	// A value right below the floor may be chance, so the values since the floor count, and not those alone that are below it.
	first := max(f.since, j.walk.start, len(j.points)-window)
	size := j.walk.mean(first, len(j.points)-1) - f.level
	var before []float64
	for i := max(0, f.fallen-longest); i < f.fallen; i++ {
		before = append(before, j.walk.runs[i].Value)
	}
	// The runs with floors vary as those with values do.
	noise := base{count: f.count, deviation: min(newBase(before).deviation, j.walk.baseline(len(j.points)-1).deviation)}
	if -size < max(j.settings.alarmSize(), floorLimit*noise.error(len(j.points)-first)) {
		return nil
	}
	return &floorFall{floor: f.point, first: j.points[f.fallen], size: size}
}

// note adds a run to the recent ones.
func (f *floorOf) note(isFloor bool) {
	f.recent = append(f.recent, isFloor)
	f.recent = f.recent[max(0, len(f.recent)-floorRuns):]
}

// raise takes a floor, which is higher than the one before where most of the recent runs are floors: the device reaches a bound in some of them by chance,
// and its level may be below it. One that is not lower by a size shows that the device is back. next is the first value after it.
func (f *floorOf) raise(p series.Point, size float64, next int) {
	f.note(true)
	count := 0
	for _, isFloor := range f.recent {
		if isFloor {
			count++
		}
	}
	if p.LogValue() >= f.level && 2*count > len(f.recent) {
		if p.LogValue() > f.level {
			f.count = 0
		}
		f.point, f.level, f.count = p, p.LogValue(), max(f.count, count)
	}
	if p.LogValue()-f.level > -size {
		f.since, f.fallen = next, -1
	}
}

// belowFloorWords says which run did better.
func (j *judging) belowFloorWords() string {
	f := j.floor
	return fmt.Sprintf("run %q has no value, and shows that the device does at least as well as %d %s; since run %q it is worse than that by %s or more: mend it, or accept it",
		f.floor.Run, f.floor.Value, f.floor.Unit, f.first.Run, percent(j.partsPerMillion(f.size)))
}
