package main

import (
	"fmt"
	"math"
)

// target is what a figure of a cell must be.
type target struct {
	name  string
	value func(result) float64
	// most and least bound the value; a bound of 0 is none.
	most, least float64
	// chance reports whether the series that were drawn explain a miss: the target is within two standard errors.
	chance func(result) bool
}

// alarmTarget is at most 0.3 false alarms in 100 series up to a deviation of 1 %, and 1.5 at 2 %.
func alarmTarget(deviation float64) target {
	t := target{name: "false alarms", value: func(r result) float64 { return 100 * float64(r.alarms) / float64(r.series) }, most: 0.3}
	if deviation > 0.01 {
		t.most = 1.5
	}
	t.chance = func(r result) bool { return t.isFewer(r) }
	return t
}

// isFewer reports whether the false alarms are at most two standard errors more than those of the target.
func (t target) isFewer(r result) bool {
	expected := t.most * float64(r.series) / 100
	return float64(r.alarms) <= expected+2*math.Sqrt(expected)
}

// legTarget is at most 10 extra runs in 100 quiet ones at a deviation of 0.5 %.
func legTarget(deviation float64) target {
	if deviation != 0.005 {
		return target{}
	}
	return target{name: "extra runs", value: func(r result) float64 { return 100 * float64(r.legs) / float64(r.quietRuns) }, most: 10}
}

// foundTarget is a fall of 2 % found within three runs in 97 % of the series up to a deviation of 0.5 %, and in 95 % at 1 %.
func foundTarget(deviation, change float64) target {
	if change < 0.02 || deviation > 0.01 {
		return target{}
	}
	t := target{name: "found", value: func(r result) float64 { return 100 * float64(r.inTime) / float64(r.series) }, least: 97}
	if deviation > 0.005 {
		t.least = 95
	}
	t.chance = func(r result) bool { return t.isNear(r.inTime, r.series) }
	return t
}

// suiteAlarmTarget is at most one execution in 100 of a whole suite with a false alarm, at a deviation of up to 1 %.
func suiteAlarmTarget(deviation float64) target {
	if deviation > 0.01 {
		return target{}
	}
	t := target{name: "executions with a false alarm", value: func(r result) float64 { return 100 * float64(r.alarms) / float64(r.series) }, most: 1}
	t.chance = func(r result) bool { return t.isFewer(r) }
	return t
}

// suiteFoundTarget is a fall of 5 % of whole suites found within three executions in 95 % of the figures, at a deviation of up to 0.5 %.
func suiteFoundTarget(deviation, change float64) target {
	if change < 0.05 || deviation > 0.005 {
		return target{}
	}
	t := foundTarget(deviation, change)
	t.least = 95
	t.chance = func(r result) bool { return t.isNear(r.inTime, r.series) }
	return t
}

// slowTarget is a loss in small steps found in 95 % of the series up to a deviation of 0.5 %, and in 93 % at 1 %.
func slowTarget(deviation float64) target {
	if deviation > 0.01 {
		return target{}
	}
	t := target{name: "slow losses", value: func(r result) float64 { return 100 * float64(r.found) / float64(r.series) }, least: 95}
	if deviation > 0.005 {
		t.least = 93
	}
	t.chance = func(r result) bool { return t.isNear(r.found, r.series) }
	return t
}

// isNear reports whether what was found is at most two standard errors less than the least share of some series.
func (t target) isNear(found, series int) bool {
	share, n := t.least/100, float64(series)
	return float64(found) >= n*share-2*math.Sqrt(n*share*(1-share))
}

// bound is a target that is out of reach in one cell, and why.
type bound struct {
	target, shape string
	deviation     float64
	why           string
}

// bounds are the known ones. docs/methodology/regression.md explains them.
var bounds = []bound{
	{"extra runs", twoBands, 0.005, "three runs of the lower band in a row look like a fall, and the legs are in both bands"},
	{"extra runs", stickyBands, 0.005, "each boot into the other band is a change of the environment that takes an answer"},
	{"extra runs", drifting, 0.005, "a testbed that falls by 2 % in 100 runs is asked about for each percent, which takes 9.7 to 10.1"},
}

// judge compares a cell with a target. It returns words for a miss, and counts one that no bound explains.
func (b *bench) judge(t target, shape string, deviation float64, r result) string {
	if t.value == nil {
		return ""
	}
	v := t.value(r)
	if (t.most == 0 || v <= t.most) && v >= t.least {
		return ""
	}
	if t.chance != nil && t.chance(r) {
		return fmt.Sprintf("%s at %g %%: missed by chance", t.name, 100*deviation)
	}
	want := fmt.Sprintf("at least %g", t.least)
	if t.most > 0 {
		want = fmt.Sprintf("at most %g", t.most)
	}
	for _, known := range bounds {
		if known.target == t.name && known.shape == shape && known.deviation == deviation {
			return fmt.Sprintf("%s at %g %%: bound, %s", t.name, 100*deviation, known.why)
		}
	}
	b.missed++
	return fmt.Sprintf("MISSED %s at %g %%: %.2f, want %s", t.name, 100*deviation, v, want)
}
