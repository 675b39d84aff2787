package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/series"
)

// history makes the points of one series. The figure changes by a share from a run on.
type history struct {
	figure string
	lower  bool
	points []series.Point
	random *rand.Rand
}

func newHistory(name string) *history {
	return &history{figure: name, random: rand.New(rand.NewPCG(uint64(len(name)), 5))}
}

// add adds runs whose value is a share of 100,000 off.
func (h *history) add(count int, share float64) *history {
	for range count {
		number := len(h.points)
		h.points = append(h.points, h.point(fmt.Sprintf("night-%d", number), number, share))
	}
	return h
}

func (h *history) point(run string, number int, share float64) series.Point {
	return series.Point{
		Key: series.Key{Experiment: "router", Testbed: "lab", Figure: h.figure}, Run: run, Execution: run,
		Time: time.Date(2026, 1, 1, number, 0, 0, 0, time.UTC), Unit: "frames/s", LowerIsBetter: h.lower,
		Value:   int64(math.Round(100_000 * (1 + share) * math.Exp(0.003*h.random.NormFloat64()))),
		Subject: series.Subject{Name: "r1", Revision: fmt.Sprintf("rev%d", number)},
	}
}

// legs adds the pairs that a request asks for.
func (h *history) legs(r Request, before, after float64) *history {
	for pair := range r.Pairs {
		for side, share := range map[series.Side]float64{series.Old: before, series.New: after} {
			p := h.point(fmt.Sprintf("leg-%s-%d-%s", r.Run, pair, side), 1000+pair, share)
			p.Leg = &series.Leg{Run: r.Run, Cause: string(r.Cause), OldRun: r.OldRun, Side: side, Pair: pair + 1}
			h.points = append(h.points, p)
		}
	}
	return h
}

func (h *history) judge(t *testing.T, acknowledgements ...Acknowledgement) Judgment {
	t.Helper()
	all, err := series.Group(h.points)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d series: %v", len(all), err)
	}
	j, err := Judge(Default(), all[0], acknowledgements)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// confirmed adds runs that are a share off, and the legs that the judge asks for, until it asks no more.
func (h *history) confirmed(t *testing.T, count int, before, after float64) *history {
	t.Helper()
	for range count {
		runs := 0
		for _, p := range h.points {
			if p.Leg == nil {
				runs++
			}
		}
		h.points = append(h.points, h.point(fmt.Sprintf("night-%d", runs), runs, after))
		for range 10 {
			j := h.judge(t)
			if j.Request == nil {
				break
			}
			var kept []series.Point
			for _, p := range h.points {
				if p.Leg == nil || p.Leg.Run != j.Request.Run {
					kept = append(kept, p)
				}
			}
			h.points = kept
			h.legs(*j.Request, before, after)
		}
	}
	return h
}

func TestVerdicts(t *testing.T) {
	floor := newHistory("a").add(30, 0)
	floor.points[29].Bound = figure.AtLeast
	irregular := newHistory("a").add(30, 0)
	irregular.points[29].Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtIrregularResult}
	oldFloor := newHistory("a").add(30, 0)
	oldFloor.points[10].Bound, oldFloor.points[10].Value = figure.AtLeast, 10
	platform := newHistory("a").add(33, 0)
	for i := range platform.points {
		platform.points[i].Platform = map[bool]string{true: "linux 6.12", false: "linux 6.18"}[i < 30]
	}
	for name, test := range map[string]struct {
		history *history
		verdict Verdict
		reason  Reason
		words   string
	}{
		"nothing yet":                {newHistory("a").add(5, 0), VerdictNotEnoughData, ReasonFewRuns, "there are 5 runs with a value, and a verdict takes 6 more"},
		"quiet":                      {newHistory("a").add(40, 0), VerdictPass, ReasonNoChange, "no change of 2.0 % was confirmed in 40 runs that vary by 0.3 %"},
		"a fall without legs":        {newHistory("a").add(40, 0).add(3, -0.05), VerdictInconclusive, ReasonUnconfirmed, "run r1 rev36 and r1 rev42 again by turns, 2 times each"},
		"a confirmed fall":           {newHistory("a").add(40, 0).confirmed(t, 3, 0, -0.05), VerdictRegression, ReasonConfirmed, `with r1 rev40 (after r1 rev39), first in run "night-40"`},
		"a confirmed rise":           {newHistory("a").add(40, 0).confirmed(t, 3, 0, 0.05), VerdictImprovement, ReasonConfirmed, "it rose by"},
		"the last run is a floor":    {floor, VerdictInconclusive, ReasonNoValue, "a floor: the device may do better"},
		"the last run is irregular":  {irregular, VerdictInconclusive, ReasonNoValue, "the search was irregular"},
		"an earlier one was a floor": {oldFloor, VerdictPass, ReasonNoChange, "29 runs"},
		"another platform":           {platform, VerdictInconclusive, ReasonPlatform, `the platform changed at run "night-30": runs before and after it do not compare, and a verdict takes 8 more runs, or run r1 rev26 and r1 rev30 again by turns, 2 times each`},
	} {
		j := test.history.judge(t)
		if j.Verdict != test.verdict || j.Reason != test.reason || !strings.Contains(j.Message, test.words) {
			t.Errorf("%s: %s, %s: %s\nwant %s, %s, %q", name, j.Verdict, j.Reason, j.Message, test.verdict, test.reason, test.words)
		}
	}
}

// TestVerdictsBeginWhereAChangeCanBeSuspected adds runs one by one, and checks that no verdict but NotEnoughData is given where a fall of a half would
// not be suspected, and that the number of missing runs is right.
func TestVerdictsBeginWhereAChangeCanBeSuspected(t *testing.T) {
	change := []Acknowledgement{{Kind: Accepted, Revision: "rev40"}}
	for name, test := range map[string]struct {
		before func() *history
		first  int
	}{
		"a new series":         {func() *history { return newHistory("a") }, 11},
		"a level after a fall": {func() *history { return newHistory("a").add(40, 0).confirmed(t, 1, 0, -0.05) }, 4},
	} {
		for runs := 1; runs <= 12; runs++ {
			j := test.before().add(runs, -0.05).judge(t, change...)
			if runs < test.first {
				want := fmt.Sprintf("and a verdict takes %d more", test.first-runs)
				if j.Verdict != VerdictNotEnoughData || j.Reason != ReasonFewRuns || !strings.Contains(j.Message, want) {
					t.Errorf("%s, %d runs: %s, %s: %s\nwant %q", name, runs, j.Verdict, j.Reason, j.Message, want)
				}
			} else if j.Verdict != VerdictPass {
				t.Errorf("%s, %d runs: %s, %s: %s", name, runs, j.Verdict, j.Reason, j.Message)
			}
			fallen := test.before().add(runs-1, -0.05).add(1, -0.5).judge(t, change...)
			if isSuspected := fallen.Verdict == VerdictInconclusive; isSuspected != (runs >= test.first) {
				t.Errorf("%s: run %d fell by half: %s, %s: %s", name, runs, fallen.Verdict, fallen.Reason, fallen.Message)
			}
		}
	}
}

// TestLowerIsBetter checks that a delay that rises is a regression, and that its words say so.
func TestLowerIsBetter(t *testing.T) {
	h := newHistory("delay")
	h.lower = true
	j := h.add(40, 0).confirmed(t, 3, 0, 0.05).judge(t)
	if j.Verdict != VerdictRegression || !strings.Contains(j.Message, "it rose by 5") && !strings.Contains(j.Message, "it rose by 4") {
		t.Errorf("%s: %s", j.Verdict, j.Message)
	}
	if c := j.Change; c.LowPartsPerMillion > c.ChangePartsPerMillion || c.HighPartsPerMillion < c.ChangePartsPerMillion || c.ChangePartsPerMillion < 40_000 {
		t.Errorf("got %+v", c)
	}
}

func TestAcknowledgements(t *testing.T) {
	fallen := func() *history { return newHistory("a").add(40, 0).confirmed(t, 6, 0, -0.05) }
	for name, test := range map[string]struct {
		list []Acknowledgement
		want Verdict
		word string
	}{
		"none":                      {nil, VerdictRegression, ""},
		"accepted by revision":      {[]Acknowledgement{{Kind: Accepted, Revision: "rev40"}}, VerdictPass, ""},
		"expected by run":           {[]Acknowledgement{{Kind: Expected, Run: "night-40", Figure: "a"}}, VerdictPass, ""},
		"of another figure":         {[]Acknowledgement{{Kind: Accepted, Revision: "rev40", Figure: "b"}}, VerdictRegression, ""},
		"of another revision":       {[]Acknowledgement{{Kind: Accepted, Revision: "rev20"}}, VerdictRegression, ""},
		"said to be fixed, and not": {[]Acknowledgement{{Kind: Fixed, Revision: "rev42"}}, VerdictRegression, "the old level is not back"},
	} {
		if j := fallen().judge(t, test.list...); j.Verdict != test.want || !strings.Contains(j.Message, test.word) {
			t.Errorf("%s: %s: %s, want %s", name, j.Verdict, j.Message, test.want)
		}
	}
	// A second fall after an accepted one is a new regression.
	twice := fallen().confirmed(t, 12, -0.05, -0.05).confirmed(t, 3, -0.05, -0.1)
	if j := twice.judge(t, Acknowledgement{Kind: Accepted, Revision: "rev40"}); j.Verdict != VerdictRegression || len(j.Changes) != 2 || j.Changes[0].Acknowledged != Accepted {
		t.Errorf("%s: %s, %+v", j.Verdict, j.Message, j.Changes)
	}
}

// TestAFallThatIsGone checks that the old level ends a regression, and that it stays one until then.
func TestAFallThatIsGone(t *testing.T) {
	h := newHistory("a").add(40, 0).confirmed(t, 20, 0, -0.05)
	if j := h.judge(t); j.Verdict != VerdictRegression {
		t.Errorf("20 runs after a fall: %s: %s", j.Verdict, j.Message)
	}
	if j := h.confirmed(t, 6, -0.05, 0).judge(t); j.Verdict != VerdictPass || len(j.Changes) != 2 {
		t.Errorf("the old level is back: %s: %s", j.Verdict, j.Message)
	}
}

// TestAGeneratorThatDiffers checks the words where the two sides of the pairs had another generator, and where the history had.
func TestAGeneratorThatDiffers(t *testing.T) {
	h := newHistory("a").add(40, 0).add(1, -0.05)
	for range 10 {
		j := h.judge(t)
		if j.Request == nil {
			break
		}
		h.points = h.points[:41]
		h.legs(*j.Request, 0, -0.05)
		for i := 41; i < len(h.points); i++ {
			h.points[i].CalibrationLevel = map[series.Side]int64{series.Old: 1_000_000, series.New: 900_000}[h.points[i].Leg.Side]
		}
	}
	if j := h.judge(t); j.Verdict != VerdictInconclusive || j.Reason != ReasonGenerator || !strings.Contains(j.Message, "differs between the two sides") {
		t.Errorf("%s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
	h = newHistory("a").add(40, 0).add(1, -0.05)
	for i := range h.points {
		h.points[i].CalibrationLevel = map[bool]int64{true: 1_000_000, false: 900_000}[i < 40]
	}
	j := h.judge(t)
	if j.Verdict != VerdictInconclusive || j.Reason != ReasonGenerator || j.Request == nil || j.Request.Cause != GeneratorMoved ||
		!strings.Contains(j.Message, `calibration moved, which is no change of the device, at run "night-40"`) {
		t.Errorf("%s, %s: %s, %+v", j.Verdict, j.Reason, j.Message, j.Request)
	}
}

// TestAnOlderVersionIsNotNew checks that a night that measures an older version again is no new run: its lower figures raise no question, and do
// not hide what the newest version did.
func TestAnOlderVersionIsNotNew(t *testing.T) {
	made := func(h *history, from, days int) *history {
		for i := from; i < len(h.points); i++ {
			h.points[i].SubjectTime = time.Date(2025, 1, days, 0, 0, 0, 0, time.UTC)
			days += 1
		}
		return h
	}
	quiet := func() *history { return made(newHistory("a").add(40, 0), 0, 1) }
	if j := quiet().add(3, -0.05).judge(t); j.Verdict != VerdictInconclusive || j.OlderVersions != 0 {
		t.Errorf("versions of an unknown time: %s: %s", j.Verdict, j.Message)
	}
	if j := made(quiet().add(3, -0.05), 40, 41).judge(t); j.Verdict != VerdictInconclusive || j.OlderVersions != 0 {
		t.Errorf("newer versions: %s: %s", j.Verdict, j.Message)
	}
	j := made(quiet().add(3, -0.05), 40, 5).judge(t)
	const want = `; the last run, "night-42", tested a version of 2025-01-07T00:00:00Z and is left out, because run "night-39" tested one of 2025-02-09T00:00:00Z`
	if j.Verdict != VerdictPass || j.Runs != 40 || j.OlderVersions != 3 || !strings.HasSuffix(j.Message, want) {
		t.Errorf("older versions: %s, %d runs, %d older: %s", j.Verdict, j.Runs, j.OlderVersions, j.Message)
	}
	// The acknowledgement of a change is found although runs before it are left out.
	h := made(quiet().add(2, 0), 40, 5)
	h.confirmed(t, 6, 0, -0.05)
	all, err := series.Group(h.points)
	if err != nil {
		t.Fatal(err)
	}
	got, err := JudgeAll(Default(), all, []Acknowledgement{{Kind: Accepted, Revision: "rev42"}})
	if err != nil || len(got.Unused) > 0 || got.Judgments[0].Verdict != VerdictPass || got.Judgments[0].OlderVersions != 2 {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestTwoLegsOfOnePlace checks that the leg that was measured first counts, and that the message names both.
func TestTwoLegsOfOnePlace(t *testing.T) {
	h := newHistory("a").add(40, 0).confirmed(t, 1, 0, -0.05)
	want := h.judge(t)
	again := h.points[len(h.points)-1]
	again.Run, again.Value, again.Time = "another", 1, again.Time.Add(time.Hour)
	h.points = append(h.points, again)
	j := h.judge(t)
	if j.Verdict != VerdictRegression || j.Change.ChangePartsPerMillion != want.Change.ChangePartsPerMillion || !strings.Contains(j.Message, `and "another" are both the leg`) {
		t.Errorf("%s: %s, %+v", j.Verdict, j.Message, j.Change)
	}
}

// TestLegsOfAnotherOldRun checks that legs answer for the old version that they measured, and that legs without one are read.
func TestLegsOfAnotherOldRun(t *testing.T) {
	for old, answers := range map[string]bool{"night-20": false, "night-36": true, "": true} {
		h := newHistory("a").add(40, 0).add(1, -0.05)
		asked := *h.judge(t).Request
		if asked.OldRun != "night-36" {
			t.Fatalf("the old run is %s", asked.OldRun)
		}
		asked.Pairs = 3
		h.legs(asked, 0, -0.05)
		for _, p := range h.points[41:] {
			p.Leg.OldRun = old
		}
		if j := h.judge(t); (j.Verdict == VerdictRegression) != answers || (j.Request == nil) != answers {
			t.Errorf("legs of %q: %s: %s", old, j.Verdict, j.Message)
		}
	}
	// Further pairs name the old run, and the first ones do not.
	h := newHistory("a").add(40, 0).add(1, -0.05)
	asked := *h.judge(t).Request
	asked.Pairs = 3
	h.legs(asked, 0, -0.05)
	for _, p := range h.points[41:] {
		if p.Leg.Pair < 3 {
			p.Leg.OldRun = ""
		}
	}
	if j := h.judge(t); j.Verdict != VerdictRegression || j.Change.Pairs != 3 {
		t.Errorf("legs of both kinds: %s: %s", j.Verdict, j.Message)
	}
}

// TestNoRequestWithoutAValue checks that an open question is not asked when the last run has no value.
func TestNoRequestWithoutAValue(t *testing.T) {
	h := newHistory("a").add(40, 0).add(2, -0.05)
	h.points[41].Bound = figure.AtLeast
	if j := h.judge(t); j.Verdict != VerdictInconclusive || j.Reason != ReasonNoValue || j.Request != nil {
		t.Errorf("%s, %s: %s, %+v", j.Verdict, j.Reason, j.Message, j.Request)
	}
}

// TestADisturbedRepeat checks that a question of an execution is asked although other work disturbed its last repeat.
func TestADisturbedRepeat(t *testing.T) {
	h := newHistory("a").add(40, 0).add(3, -0.05)
	for i := range h.points[40:] {
		h.points[40+i].Execution = "the last night"
	}
	h.points[42].Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing}
	if j := h.judge(t); j.Verdict != VerdictInconclusive || j.Reason != ReasonUnconfirmed || j.Request == nil {
		t.Errorf("%s, %s: %s, %+v", j.Verdict, j.Reason, j.Message, j.Request)
	}
	h.points[41].Doubts = h.points[42].Doubts
	if j := h.judge(t); j.Verdict != VerdictInconclusive || j.Reason != ReasonNoValue || j.Request != nil {
		t.Errorf("two are disturbed: %s, %s: %s, %+v", j.Verdict, j.Reason, j.Message, j.Request)
	}
}

// TestAQuestionWithoutAnAnswer checks that a fall that no pairs explain stays one, hides no further one, and ends when someone accepts it.
func TestAQuestionWithoutAnAnswer(t *testing.T) {
	fallen := func(count int) *history { return newHistory("a").add(40, 0).add(count, -0.04) }
	for _, count := range []int{11, 12, 30} {
		j := fallen(count).judge(t)
		if j.Verdict != VerdictInconclusive || j.Reason != ReasonUnconfirmed || j.Request == nil || j.Request.Run != "night-50" ||
			!strings.Contains(j.Message, `the runs from "night-40" to "night-50" differ by`) {
			t.Errorf("%d runs: %s, %s: %s, %+v", count, j.Verdict, j.Reason, j.Message, j.Request)
		}
	}
	accepted := Acknowledgement{Kind: Accepted, Run: "night-40"}
	for count, want := range map[int]Verdict{1: VerdictNotEnoughData, 3: VerdictNotEnoughData, 11: VerdictPass, 30: VerdictPass} {
		h := fallen(count)
		if j := h.judge(t, accepted); j.Verdict != want || j.Request != nil {
			t.Errorf("%d runs that are accepted: %s, %s: %s, %+v", count, j.Verdict, j.Reason, j.Message, j.Request)
		}
		all, err := series.Group(h.points)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := JudgeAll(Default(), all, []Acknowledgement{accepted}); err != nil || len(got.Unused) > 0 {
			t.Errorf("unused: %+v, %v", got.Unused, err)
		}
	}
	if j := fallen(3).judge(t, Acknowledgement{Kind: Expected, Run: "night-40"}); j.Reason != ReasonUnconfirmed || j.Request == nil {
		t.Errorf("what is expected is asked: %s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
	for _, count := range []int{2, 5, 12, 30} {
		for name, list := range map[string][]Acknowledgement{"accepted": {accepted}, "not accepted": nil} {
			first := 40 + count
			j := fallen(count).add(1, -0.5).judge(t, list...)
			if j.Verdict != VerdictInconclusive || j.Request == nil || j.Request.Run != fmt.Sprint("night-", first) || j.Request.OldRun < "night-40" {
				t.Errorf("a further fall after %d runs, %s: %s, %s: %s, %+v", count, name, j.Verdict, j.Reason, j.Message, j.Request)
			}
			// The further one is confirmed, and then the first one is asked again, unless it is accepted.
			h := fallen(count).add(1, -0.5)
			for range 10 {
				j = h.judge(t, list...)
				if j.Request == nil || j.Request.Run != fmt.Sprint("night-", first) {
					break
				}
				h.points = h.points[:first+1]
				h.legs(*j.Request, -0.04, -0.5)
			}
			if j.Verdict != VerdictRegression || (j.Request == nil) != (list != nil) {
				t.Errorf("a further fall after %d runs that is confirmed, %s: %s, %s: %s, %+v", count, name, j.Verdict, j.Reason, j.Message, j.Request)
			}
		}
	}
	if j := fallen(11).confirmed(t, 1, 0, -0.04).judge(t); j.Verdict != VerdictRegression {
		t.Errorf("a late answer: %s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
}

// TestAClosedQuestionSeparatesMinorChanges checks that a slow change that was measured after a closed question adds to the minor ones before it.
func TestAClosedQuestionSeparatesMinorChanges(t *testing.T) {
	for name, test := range map[string]struct {
		between []Event
		want    float64
	}{"nothing between": {nil, -0.012}, "a closed question": {[]Event{{Kind: Closed}}, -0.020}} {
		j := &judging{settings: Default(), points: newHistory("a").add(5, 0).points}
		events := append([]Event{{Kind: Minor, Size: -0.008}}, test.between...)
		for _, e := range append(events, Event{Question: Question{Cause: Slow}, Kind: Regression, Size: -0.012}) {
			j.follow(e)
		}
		if math.Abs(j.level-test.want) > 1e-9 {
			t.Errorf("%s: the level is %v, want %v", name, j.level, test.want)
		}
	}
}

// onPlatform says which platform the runs have from a run on, also the legs.
func (h *history) onPlatform(from int) *history {
	for i := range h.points {
		h.points[i].Platform = map[bool]string{true: "linux 6.12", false: "linux 6.18"}[i < from]
	}
	return h
}

// TestABreakIsAskedFor checks that the old version is asked for on a new platform until there is an answer, however many runs there are, and that one
// without a fall ends when there are enough.
func TestABreakIsAskedFor(t *testing.T) {
	for runs := 1; runs <= 30; runs++ {
		quiet := newHistory("a").add(40, 0).add(runs, 0.01).onPlatform(40).judge(t)
		if want := map[bool]Verdict{true: VerdictPass, false: VerdictInconclusive}[runs >= 11]; quiet.Verdict != want || (quiet.Request == nil) != (runs >= 11) {
			t.Errorf("%d runs that did not fall: %s, %s: %s", runs, quiet.Verdict, quiet.Reason, quiet.Message)
		}
		j := newHistory("a").add(40, 0).add(runs, -0.3).onPlatform(40).judge(t)
		if j.Request != nil && (j.Request.LossPartsPerMillion < 290_000 || j.Request.LossPartsPerMillion > 310_000) ||
			!strings.Contains(j.Message, `the platform changed at run "night-40": the runs since then are worse than those before by 30 %, and no interleaved runs say whether that is the device: run r1 rev36 and r1 rev40 again`) {
			t.Errorf("%d runs: %s, %+v", runs, j.Message, j.Request)
		}
		if j.Verdict != VerdictInconclusive || j.Reason != ReasonPlatform || j.Request == nil || j.Request.Run != "night-40" || j.Request.Cause != PlatformChanged || j.Request.OldRun != "night-36" {
			t.Errorf("%d runs: %s, %s: %s, %+v", runs, j.Verdict, j.Reason, j.Message, j.Request)
		}
		accepted := newHistory("a").add(40, 0).add(runs, -0.3).onPlatform(40).judge(t, Acknowledgement{Kind: Accepted, Run: "night-40"})
		want, reason := VerdictNotEnoughData, ReasonPlatform
		if runs >= 11 {
			want, reason = VerdictPass, ReasonNoChange
		}
		if accepted.Verdict != want || accepted.Reason != reason || accepted.Request != nil {
			t.Errorf("%d runs that are accepted: %s, %s: %s, %+v", runs, accepted.Verdict, accepted.Reason, accepted.Message, accepted.Request)
		}
	}
	h := newHistory("a").add(40, 0).add(3, -0.3).onPlatform(40)
	for range 10 {
		j := h.judge(t)
		if j.Request == nil {
			break
		}
		h.points = h.points[:43]
		h.legs(*j.Request, 0, -0.3)
	}
	if j := h.judge(t); j.Verdict != VerdictRegression || j.Change.Run != "night-40" {
		t.Errorf("a fall on a new platform: %s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
}

// TestAFallAtABreakStays checks that a fall at a break that no one answered stays open until it is undone: by a confirmed change, or by a return to the
// platform and the level before it, and not by a rise on a third platform.
func TestAFallAtABreakStays(t *testing.T) {
	platforms := func(h *history, names ...string) *history {
		for i := range h.points {
			if h.points[i].Leg == nil {
				h.points[i].Platform = names[min(i/20, len(names)-1)]
			}
		}
		return h
	}
	for name, test := range map[string]struct {
		history *history
		want    Verdict
	}{
		"a small fall":                   {platforms(newHistory("a").add(20, 0).add(20, -0.005), "a", "b"), VerdictPass},
		"a fall":                         {platforms(newHistory("a").add(20, 0).add(20, -0.03), "a", "b"), VerdictInconclusive},
		"the old platform and level":     {platforms(newHistory("a").add(20, 0).add(20, -0.03).add(20, 0), "a", "b", "a"), VerdictPass},
		"the old platform, and the fall": {platforms(newHistory("a").add(20, 0).add(20, -0.03).add(20, -0.03), "a", "b", "a"), VerdictInconclusive},
		"a third platform":               {platforms(newHistory("a").add(20, 0).add(20, -0.03).add(20, 0), "a", "b", "c"), VerdictInconclusive},
	} {
		if j := test.history.judge(t); j.Verdict != test.want || (j.Verdict == VerdictInconclusive) != (j.Reason == ReasonPlatform) {
			t.Errorf("%s: %s, %s: %s", name, j.Verdict, j.Reason, j.Message)
		}
	}
	// The device becomes better on the new platform, and interleaved runs confirm it.
	h := platforms(newHistory("a").add(20, 0).add(20, -0.03), "a", "b")
	h.add(1, 0).points[40].Platform = "b"
	for range 10 {
		j := h.judge(t)
		if j.Request == nil {
			break
		}
		if j.Request.Cause != Step {
			t.Fatalf("%+v", j.Request)
		}
		h.points = h.points[:41]
		h.legs(*j.Request, -0.03, 0)
	}
	if j := h.judge(t); j.Verdict == VerdictInconclusive || j.Request != nil {
		t.Errorf("a confirmed rise: %s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
	// A generator that moved with a fall.
	moved := newHistory("a").add(40, 0).add(20, -0.05)
	for i := range moved.points {
		moved.points[i].CalibrationLevel = map[bool]int64{true: 1_000_000, false: 900_000}[i < 40]
	}
	if j := moved.judge(t); j.Verdict != VerdictInconclusive || j.Reason != ReasonGenerator || j.Request == nil || !strings.Contains(j.Message, "which is no change of the device, at run") {
		t.Errorf("a generator that moved: %s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
	// Pairs that do not decide are no answer.
	noisy := platforms(newHistory("a").add(20, 0).add(20, -0.014), "a", "b")
	asked := Request{Run: "night-20", Cause: PlatformChanged, OldRun: noisy.judge(t).Request.OldRun, Pairs: 48}
	noisy.legs(asked, 0, -0.017)
	for i := range noisy.points[40:] {
		p := &noisy.points[40+i]
		if (p.Leg.Side == series.New) == (p.Leg.Pair%2 == 0) {
			p.Value += 1500
		} else {
			p.Value -= 1500
		}
	}
	if j := noisy.judge(t); j.Verdict != VerdictInconclusive || j.Reason != ReasonPlatform || j.Request != nil || !strings.HasSuffix(j.Message, "say whether that is the device: accept it") {
		t.Errorf("pairs that do not decide: %s, %s: %s, %+v", j.Verdict, j.Reason, j.Message, j.Request)
	}
	if j := noisy.judge(t, Acknowledgement{Kind: Accepted, Run: "night-20"}); j.Verdict != VerdictPass {
		t.Errorf("pairs that do not decide, accepted: %s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
}

// TestARegressionThatIsGoneOnAnotherPlatform checks that a regression that was mended where the platform changed is asked for, and ends.
func TestARegressionThatIsGoneOnAnotherPlatform(t *testing.T) {
	h := newHistory("a").add(40, 0).confirmed(t, 20, 0, -0.05)
	last := len(h.points)
	h.add(3, 0)
	for i := range h.points {
		h.points[i].Platform = map[bool]string{true: "linux 6.12", false: "linux 6.18"}[i < last]
	}
	// The numbers of the history count its legs too.
	j := h.judge(t)
	if j.Verdict != VerdictRegression || j.Request == nil || j.Request.Cause != PlatformChanged {
		t.Fatalf("%s, %s: %s, %+v", j.Verdict, j.Reason, j.Message, j.Request)
	}
	all := len(h.points)
	for range 10 {
		if j = h.judge(t); j.Request == nil {
			break
		}
		h.points = h.points[:all]
		h.legs(*j.Request, -0.05, 0)
	}
	if j.Verdict != VerdictNotEnoughData || j.Reason != ReasonFewRuns {
		t.Errorf("%s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
	h.add(4, 0)
	for i := all; i < len(h.points); i++ {
		h.points[i].Platform = "linux 6.18"
	}
	if j = h.judge(t); j.Verdict != VerdictPass {
		t.Errorf("some runs later: %s, %s: %s", j.Verdict, j.Reason, j.Message)
	}
}

// TestAnAcknowledgementIsOfOneChange checks that the neighbors of a change, older ones and larger ones stay what they are.
func TestAnAcknowledgementIsOfOneChange(t *testing.T) {
	loss := func(percent int32) *int32 { return &percent }
	fallen := func() *history { return newHistory("a").add(40, 0).confirmed(t, 6, 0, -0.05) }
	for name, test := range map[string]struct {
		one  Acknowledgement
		want Verdict
	}{
		"of the version before":   {Acknowledgement{Kind: Expected, Revision: "rev39"}, VerdictRegression},
		"of two versions before":  {Acknowledgement{Kind: Expected, Revision: "rev38"}, VerdictRegression},
		"of the version after":    {Acknowledgement{Kind: Accepted, Revision: "rev41"}, VerdictRegression},
		"of the version itself":   {Acknowledgement{Kind: Expected, Revision: "rev40"}, VerdictPass},
		"of an improvement only":  {Acknowledgement{Kind: Expected, Revision: "rev40", MaximumLossPercent: loss(0)}, VerdictRegression},
		"of a smaller loss":       {Acknowledgement{Kind: Expected, Revision: "rev40", MaximumLossPercent: loss(4)}, VerdictRegression},
		"of a loss of that size":  {Acknowledgement{Kind: Expected, Revision: "rev40", MaximumLossPercent: loss(6)}, VerdictPass},
		"of a run of the version": {Acknowledgement{Kind: Accepted, Run: "night-40"}, VerdictPass},
	} {
		if j := fallen().judge(t, test.one); j.Verdict != test.want {
			t.Errorf("%s: %s: %s", name, j.Verdict, j.Message)
		}
	}
	// Three runs of each version: the place of a change is uncertain within its version.
	many := fallen()
	for i := range many.points {
		if p := &many.points[i]; p.Leg == nil {
			number := 0
			if _, err := fmt.Sscanf(p.Run, "night-%d", &number); err != nil {
				t.Fatal(err)
			}
			p.Subject.Revision = map[bool]string{true: "before", false: "after"}[number < 39]
		}
	}
	if j := many.judge(t, Acknowledgement{Kind: Expected, Revision: "after"}); j.Verdict != VerdictPass {
		t.Errorf("a version that began one run before: %s: %s", j.Verdict, j.Message)
	}
	// A second fall is accepted, and the first one is not.
	twice := fallen().confirmed(t, 12, -0.05, -0.05).confirmed(t, 6, -0.05, -0.1)
	j := twice.judge(t, Acknowledgement{Kind: Accepted, Revision: "rev58"})
	if j.Verdict != VerdictRegression || j.Change.Run != "night-40" || len(j.Changes) != 2 || j.Changes[1].Acknowledged != Accepted || j.LossPartsPerMillion < 40_000 || j.LossPartsPerMillion > 60_000 {
		t.Errorf("%s: %s, %+v", j.Verdict, j.Message, j.Changes)
	}
	if j := twice.judge(t, Acknowledgement{Kind: Accepted, Revision: "rev40"}, Acknowledgement{Kind: Accepted, Revision: "rev58"}); j.Verdict != VerdictPass {
		t.Errorf("both are accepted: %s: %s", j.Verdict, j.Message)
	}
	// The accepted change brings the old level back.
	back := fallen().confirmed(t, 12, -0.05, -0.05).confirmed(t, 6, -0.05, 0)
	if j := back.judge(t, Acknowledgement{Kind: Expected, Revision: "rev58"}); j.Verdict != VerdictPass || len(j.Changes) != 2 || j.Changes[1].Acknowledged != Expected {
		t.Errorf("the old level is back: %s: %s, %+v", j.Verdict, j.Message, j.Changes)
	}
}

// TestARevisionThatComesBack checks that a regression by a return to an earlier revision can be accepted, and said to be fixed, by its name, and that
// one acknowledgement does not accept a second return.
func TestARevisionThatComesBack(t *testing.T) {
	named := func(h *history, stretches ...string) *history {
		for i := range h.points {
			number := 0
			if _, err := fmt.Sscanf(h.points[i].Run, "night-%d", &number); err == nil {
				h.points[i].Subject.Revision = stretches[min(number/20, len(stretches)-1)]
			}
		}
		return h
	}
	// B is better than A, and the device returns to A.
	back := func() *history {
		h := newHistory("a").add(20, 0).confirmed(t, 20, 0, 0.05).confirmed(t, 6, 0.05, 0)
		return named(h, "A", "B", "A")
	}
	if j := back().judge(t); j.Verdict != VerdictRegression || j.Change.Run != "night-40" || j.Change.Subject.Revision != "A" {
		t.Fatalf("%s: %s", j.Verdict, j.Message)
	}
	for name, test := range map[string]struct {
		one  Acknowledgement
		want Verdict
		word string
	}{
		"accepted": {Acknowledgement{Kind: Accepted, Revision: "A"}, VerdictPass, ""},
		"expected": {Acknowledgement{Kind: Expected, Revision: "A"}, VerdictPass, ""},
		"of B":     {Acknowledgement{Kind: Accepted, Revision: "B"}, VerdictRegression, ""},
	} {
		h := back()
		j := h.judge(t, test.one)
		if j.Verdict != test.want || !strings.Contains(j.Message, test.word) {
			t.Errorf("%s: %s: %s", name, j.Verdict, j.Message)
		}
		all, err := series.Group(h.points)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := JudgeAll(Default(), all, []Acknowledgement{test.one}); err != nil || len(got.Unused) > 0 {
			t.Errorf("%s: unused: %+v, %v", name, got.Unused, err)
		}
	}
	// B is worse than A, and A does not bring the old level back.
	worse := func() *history {
		return named(newHistory("a").add(20, 0).confirmed(t, 30, 0, -0.05), "A", "B", "A")
	}
	for revision, isFixed := range map[string]bool{"A": true, "B": false} {
		if j := worse().judge(t, Acknowledgement{Kind: Fixed, Revision: revision}); j.Verdict != VerdictRegression || strings.Contains(j.Message, "the old level is not back") != isFixed {
			t.Errorf("fixed by %s: %s: %s", revision, j.Verdict, j.Message)
		}
	}
	// The device returns to A twice.
	twice := func() *history {
		h := newHistory("a").add(20, 0).confirmed(t, 20, 0, 0.05).confirmed(t, 20, 0.05, 0).confirmed(t, 20, 0, 0.05).confirmed(t, 6, 0.05, 0)
		return named(h, "A", "B", "A", "B", "A")
	}
	one := Acknowledgement{Kind: Accepted, Revision: "A"}
	if j := twice().judge(t, one); j.Verdict != VerdictRegression || j.Change.Run != "night-80" {
		t.Errorf("one acknowledgement of two returns: %s: %s, %+v", j.Verdict, j.Message, j.Changes)
	}
	if j := twice().judge(t, one, one); j.Verdict != VerdictPass {
		t.Errorf("an acknowledgement of each return: %s: %s, %+v", j.Verdict, j.Message, j.Changes)
	}
}

func TestReadAcknowledgements(t *testing.T) {
	got, err := ReadAcknowledgements(strings.NewReader("- {kind: Accepted, revision: 3f2a, figure: a, note: more rules}\n- {kind: Fixed, run: night-3}\n"))
	if err != nil || len(got) != 2 || got[0].Note != "more rules" {
		t.Errorf("got %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"- {kind: Maybe, run: a}":                            `acknowledgement 1: kind is "Maybe": give Expected, Accepted or Fixed`,
		"- {kind: Fixed}":                                    "give either revision or run",
		"- {kind: Fixed, run: a, revision: b}":               "give either revision or run",
		"- {kind: Fixed, run: a, figures: b}":                "figures",
		"- {kind: Expected, run: a, maximumLossPercent: -1}": "maximumLossPercent is -1: give 0 to 1000",
		strings.Repeat("# ", 1<<20):                          "more than 1048576 bytes",
		strings.Repeat("- {kind: Fixed}\n", 1001):            "give at most 1000",
	} {
		if _, err := ReadAcknowledgements(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}
