package regression

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"vnfbench.io/operator/internal/series"
)

// recorded are the legs of a series.
type recorded struct {
	points []series.Point
	legs   map[question]sides
	pairs  map[question][]Pair
	// twice names the first leg that is there twice; "" where there is none.
	twice string
}

// question is what legs answer. Legs that do not name the old run answer the question of the same run and cause, whatever old run it has.
type question struct {
	run    string
	cause  Cause
	oldRun string
}

// sides are the legs of a question, by the number of their pair.
type sides map[int]map[series.Side]series.Point

// newRecorded sorts the legs of a series by their questions. Of two legs with one place, the one that was measured first counts.
func newRecorded(s series.Series) *recorded {
	r := &recorded{legs: map[question]sides{}, pairs: map[question][]Pair{}}
	for _, p := range s.Legs {
		q := question{p.Leg.Run, Cause(p.Leg.Cause), p.Leg.OldRun}
		if r.legs[q] == nil {
			r.legs[q] = sides{}
		}
		pair := r.legs[q][p.Leg.Pair]
		if pair == nil {
			pair = map[series.Side]series.Point{}
			r.legs[q][p.Leg.Pair] = pair
		}
		if other, ok := pair[p.Leg.Side]; ok {
			r.twice = cmp.Or(r.twice, fmt.Sprintf("runs %q and %q are both the leg %s of pair %d for run %q, and the first one counts", other.Run, p.Run, p.Leg.Side, p.Leg.Pair, p.Leg.Run))
			continue
		}
		pair[p.Leg.Side] = p
	}
	return r
}

// pairsOf returns the pairs of a question in the order of their numbers. One with a leg that has no value is left out.
func (r *recorded) pairsOf(q question) []Pair {
	if known, ok := r.pairs[q]; ok {
		return known
	}
	named, unnamed := r.legs[q], r.legs[question{q.run, q.cause, ""}]
	leg := func(number int, side series.Side) (series.Point, bool) {
		p, ok := named[number][side]
		if !ok {
			p, ok = unnamed[number][side]
		}
		return p, ok && p.NoValue() == ""
	}
	numbers := slices.Sorted(maps.Keys(named))
	for number := range unnamed {
		if named[number] == nil {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	var pairs []Pair
	for _, number := range numbers {
		before, okBefore := leg(number, series.Old)
		after, okAfter := leg(number, series.New)
		if okBefore && okAfter {
			pairs = append(pairs, Pair{Old: legOf(before), New: legOf(after)})
		}
	}
	r.pairs[q] = pairs
	return pairs
}

func legOf(p series.Point) Leg {
	return Leg{Value: p.LogValue(), Calibration: p.LogCalibration(), Held: p.LogHeld()}
}

// Pairs implements Legs.
func (r *recorded) Pairs(q Question, count int) []Pair {
	found := r.pairsOf(question{r.points[q.At].Run, q.Cause, r.points[q.Old].Run})
	return found[:min(count, len(found))]
}
