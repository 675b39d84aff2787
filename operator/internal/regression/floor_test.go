package regression

import (
	"math"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/series"
)

// floors adds runs that are a share off and show only what the device does at least.
func (h *history) floors(count int, share float64) *history {
	first := len(h.points)
	h.add(count, share)
	for i := first; i < len(h.points); i++ {
		p := &h.points[i]
		p.Value, p.Bound = int64(math.Round(100_000*(1+share))), figure.AtLeast
		if h.lower {
			p.Bound = figure.AtMost
		}
	}
	return h
}

// on sets the platform of the runs from one on.
func (h *history) on(platform string, from int) *history {
	for i := from; i < len(h.points); i++ {
		h.points[i].Platform = platform
	}
	return h
}

// TestAFallFromAFloor checks that a device that did more than the generator could say does not become worse unseen, whatever its values were before.
func TestAFallFromAFloor(t *testing.T) {
	delays := newHistory("delay")
	delays.lower = true
	irregular := newHistory("a").floors(30, 0)
	for i := range irregular.points {
		irregular.points[i].Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtIrregularResult}
	}
	for name, test := range map[string]struct {
		history *history
		verdict Verdict
		reason  Reason
	}{
		"one run after months at the generator's ceiling": {newHistory("a").floors(60, 0).add(1, -0.8), VerdictInconclusive, ReasonBelowFloor},
		"eleven runs":                      {newHistory("a").floors(60, 0).add(11, -0.8), VerdictInconclusive, ReasonBelowFloor},
		"forty runs":                       {newHistory("a").floors(60, 0).add(40, -0.8), VerdictInconclusive, ReasonBelowFloor},
		"values, floors, the same values":  {newHistory("a").add(30, -0.2).floors(20, 0).add(3, -0.2), VerdictInconclusive, ReasonBelowFloor},
		"values right below the floor":     {newHistory("a").floors(30, 0).add(20, -0.005), VerdictPass, ReasonNoChange},
		"values below it by the margin":    {newHistory("a").floors(30, 0).add(20, -0.02), VerdictInconclusive, ReasonBelowFloor},
		"the floor is back, and less":      {newHistory("a").floors(30, 0).add(20, -0.2).floors(5, 0).add(20, -0.002), VerdictPass, ReasonNoChange},
		"the floor is back, and the fall":  {newHistory("a").floors(30, 0).add(12, 0).floors(5, 0).add(1, -0.2), VerdictInconclusive, ReasonUnconfirmed},
		"some floors by chance":            {newHistory("a").add(10, -0.02).floors(2, 0).add(20, -0.02), VerdictPass, ReasonNoChange},
		"a lower floor":                    {newHistory("a").floors(30, -0.5).add(20, 0), VerdictPass, ReasonNoChange},
		"a floor that is irregular":        {irregular.add(20, -0.8), VerdictPass, ReasonNoChange},
		"another platform":                 {newHistory("a").floors(30, 0).on("old", 0).add(20, -0.8).on("new", 30), VerdictPass, ReasonNoChange},
		"the platform of the floor":        {newHistory("a").floors(30, 0).on("old", 0).add(20, -0.8).on("old", 30), VerdictInconclusive, ReasonBelowFloor},
		"a delay that was at most so much": {delays.floors(30, 0).add(20, 0.3), VerdictInconclusive, ReasonBelowFloor},
	} {
		j := test.history.judge(t)
		if j.Verdict != test.verdict || j.Reason != test.reason || (j.Reason == ReasonBelowFloor) != (j.BelowFloor != "" && j.Request == nil) && j.Reason != ReasonUnconfirmed {
			t.Errorf("%s: %s, %s: %s", name, j.Verdict, j.Reason, j.Message)
		}
	}
	near := newHistory("a").floors(30, 0).add(1, 0)
	near.points[30].Value = 98_020
	if j := near.judge(t); j.Reason != ReasonBelowFloor {
		t.Errorf("one run that is 3.8 standard errors below: %s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
	j := newHistory("a").floors(60, 0).add(11, -0.8).judge(t)
	if want := `run "night-59" has no value, and shows that the device does at least as well as 100000 frames/s; since run "night-60" it is worse than that by 80 % or more: mend it, or accept it`; j.Message != want {
		t.Errorf("got %q", j.Message)
	}
}

// TestAFloorAtTheFallenLevel checks that a last run without a value ends no fall, unless it is a floor at the level before that.
func TestAFloorAtTheFallenLevel(t *testing.T) {
	irregular := newHistory("a").floors(60, 0).add(12, -0.8)
	irregular.points[71].Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtIrregularResult}
	for name, test := range map[string]struct {
		history     *history
		below, open bool
	}{
		"below a floor":                    {newHistory("a").floors(60, 0).add(11, -0.8).floors(1, -0.8), true, false},
		"below a floor, and in doubt":      {irregular, true, false},
		"at the floor again":               {newHistory("a").floors(60, 0).add(11, -0.8).floors(1, 0), false, false},
		"a question is open":               {newHistory("a").add(40, 0).add(6, -0.05).floors(1, -0.05), false, true},
		"the level before the question":    {newHistory("a").add(40, 0).add(6, -0.05).floors(1, 0), false, false},
		"a question was given up":          {newHistory("a").add(40, 0).add(20, -0.05).floors(1, -0.05), false, true},
		"the level before what was closed": {newHistory("a").add(40, 0).add(20, -0.05).floors(1, 0), false, false},
		"a break":                          {newHistory("a").add(40, 0).add(20, -0.05).floors(1, -0.05).on("old", 0).on("new", 40), false, true},
		"the level before the break":       {newHistory("a").add(40, 0).add(20, -0.05).floors(1, 0).on("old", 0).on("new", 40), false, false},
		"a quiet series":                   {newHistory("a").add(40, 0).floors(1, -0.05), false, false},
	} {
		j := test.history.judge(t)
		if j.Verdict != VerdictInconclusive || j.Reason != ReasonNoValue || (j.BelowFloor != "") != test.below || j.Open != test.open || strings.Contains(j.Message, "no interleaved runs say why") != test.open {
			t.Errorf("%s: %s, %s: %s, below %q, open %t", name, j.Verdict, j.Reason, j.Message, j.BelowFloor, j.Open)
		}
	}
}

// TestAFallFromAFloorIsAccepted checks that an acknowledgement ends it, and only that of the first run of the fall, of its loss and of this floor.
func TestAFallFromAFloorIsAccepted(t *testing.T) {
	loss := func(percent int32) *int32 { return &percent }
	fallen := func() *history { return newHistory("a").floors(30, 0).add(20, -0.2) }
	for name, test := range map[string]struct {
		one  Acknowledgement
		want Verdict
	}{
		"by revision":         {Acknowledgement{Kind: Accepted, Revision: "rev30"}, VerdictPass},
		"by run":              {Acknowledgement{Kind: Accepted, Run: "night-30"}, VerdictPass},
		"expected":            {Acknowledgement{Kind: Expected, Revision: "rev30"}, VerdictInconclusive},
		"a later revision":    {Acknowledgement{Kind: Accepted, Revision: "rev31"}, VerdictInconclusive},
		"the floor's":         {Acknowledgement{Kind: Accepted, Revision: "rev29"}, VerdictInconclusive},
		"a loss of that size": {Acknowledgement{Kind: Accepted, Revision: "rev30", MaximumLossPercent: loss(22)}, VerdictPass},
		"a smaller loss":      {Acknowledgement{Kind: Accepted, Revision: "rev30", MaximumLossPercent: loss(10)}, VerdictInconclusive},
	} {
		h := fallen()
		if j := h.judge(t, test.one); j.Verdict != test.want {
			t.Errorf("%s: %s, %s: %s", name, j.Verdict, j.Reason, j.Message)
		}
		all, err := series.Group(h.points)
		if err != nil {
			t.Fatal(err)
		}
		got, err := JudgeAll(Default(), all, []Acknowledgement{test.one})
		if isUsed := test.want == VerdictPass || test.one.Kind == Expected; err != nil || (len(got.Unused) == 0) != isUsed {
			t.Errorf("%s: unused: %+v, %v", name, got.Unused, err)
		}
	}
	again := fallen().floors(5, 0).add(20, -0.2)
	if j := again.judge(t, Acknowledgement{Kind: Accepted, Revision: "rev30"}); j.Verdict != VerdictInconclusive || j.BelowFloor == "" || !strings.Contains(j.Message, `since run "night-55"`) {
		t.Errorf("another fall: %s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
}

// TestAConfirmedFallExplainsAFloor checks that a loss that interleaved runs found is not one below the floor too, after it was accepted, and that a larger
// one is.
func TestAConfirmedFallExplainsAFloor(t *testing.T) {
	for name, test := range map[string]struct {
		floor float64
		want  bool
	}{"the floor is near the level": {0.002, false}, "the floor is far above": {0.3, true}} {
		h := newHistory("a").floors(20, test.floor).add(20, 0).confirmed(t, 6, 0, -0.05)
		if j := h.judge(t); j.Verdict != VerdictRegression || (j.BelowFloor != "") != test.want {
			t.Errorf("%s: %s: %s, below %q", name, j.Verdict, j.Message, j.BelowFloor)
		}
		j := h.judge(t, Acknowledgement{Kind: Accepted, Revision: "rev40"})
		if want := map[bool]Verdict{true: VerdictInconclusive, false: VerdictPass}[test.want]; j.Verdict != want {
			t.Errorf("%s, accepted: %s, %s: %s", name, j.Verdict, j.Reason, j.Message)
		}
	}
}
