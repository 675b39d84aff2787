package regression

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/series"
)

// TestGroups checks that figures that moved at one place are one sentence, and that the others are not in it.
func TestGroups(t *testing.T) {
	var points []series.Point
	for name, share := range map[string]float64{"throughput 64": -0.05, "throughput 512": -0.04, "goodput": 0, "burst": 0} {
		points = append(points, newHistory(name).add(40, 0).confirmed(t, 3, 0, share).points...)
	}
	all, err := series.Group(points)
	if err != nil {
		t.Fatal(err)
	}
	got, err := JudgeAll(Default(), all, []Acknowledgement{{Kind: Accepted, Revision: "rev7"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Groups) != 1 || got.Groups[0].Verdict != VerdictRegression || len(got.Groups[0].Figures) != 2 {
		t.Fatalf("got the groups %+v", got.Groups)
	}
	if text := got.Groups[0].Message; !strings.HasPrefix(text, "2 of 4 figures of testbed lab became worse with r1 rev40 (after r1 rev39)") ||
		!strings.Contains(text, "router: throughput 64 fell by") || strings.Index(text, "throughput 64") > strings.Index(text, "throughput 512") {
		t.Errorf("got %q", text)
	}
	if len(got.Unused) != 1 {
		t.Errorf("the acknowledgement of a revision without a change is in %+v", got.Unused)
	}
}

func TestFalseDiscoveries(t *testing.T) {
	judgment := func(chance float64) *Judgment {
		return &Judgment{Verdict: VerdictRegression, Reason: ReasonConfirmed, Change: &Change{Chance: chance}}
	}
	for name, test := range map[string]struct {
		chances  []float64
		quiet    int
		believed int
	}{
		"one figure":                         {[]float64{0.01}, 0, 1},
		"one of many, hardly":                {[]float64{0.01}, 99, 0},
		"one of many, clearly":               {[]float64{0.0001}, 99, 1},
		"those of many that moved together":  {[]float64{0.01, 0.01, 0.008, 0.002, 0.001, 0.012, 0.011, 0.009, 0.01, 0.01, 0.01, 0.01}, 28, 12},
		"a weak one of those that are clear": {[]float64{0.0001, 0.0001, 0.04}, 97, 2},
	} {
		var family []*Judgment
		for _, chance := range test.chances {
			family = append(family, judgment(chance))
		}
		for range test.quiet {
			family = append(family, &Judgment{Verdict: VerdictPass})
		}
		unbelieved, limit := Default().chances(family)
		if believed := len(test.chances) - len(unbelieved); believed != test.believed {
			t.Errorf("%s: %d are believed, want %d", name, believed, test.believed)
		}
		// One that has the limit's chance is believed.
		for _, j := range unbelieved[:min(1, len(unbelieved))] {
			j.Change.Chance = limit
			if again, _ := Default().chances(family); len(again) != len(unbelieved)-1 {
				t.Errorf("%s: %d are left of %d with the chance %g", name, len(again), len(unbelieved), limit)
			}
		}
	}
}

// TestTheFamilyAsksForPairs checks that a change that its family explains as chance asks for more pairs, and that these decide.
func TestTheFamilyAsksForPairs(t *testing.T) {
	settings := Default()
	settings.FalseDiscoveryRate = 1e-12
	h := newHistory("a").add(40, 0).confirmed(t, 1, 0, -0.05)
	judge := func() Judgment {
		all, err := series.Group(h.points)
		if err != nil {
			t.Fatal(err)
		}
		found, err := JudgeAll(settings, all, nil)
		if err != nil {
			t.Fatal(err)
		}
		return found.Judgments[0]
	}
	first := h.judge(t)
	j := judge()
	if first.Verdict != VerdictRegression || j.Verdict != VerdictInconclusive || j.Reason != ReasonFamilyChance || j.Request == nil || j.Request.Pairs <= first.Change.Pairs ||
		!strings.Contains(j.Message, "which chance explains after 3 pairs among the 1 figures of this execution: run r1 rev36 and r1 rev40 again by turns, 4 times each") {
		t.Fatalf("%s: %s, %s: %s, %+v", first.Verdict, j.Verdict, j.Reason, j.Message, j.Request)
	}
	for range len(looks) {
		if j.Request == nil {
			break
		}
		h.points = h.points[:41]
		h.legs(*j.Request, 0, -0.05)
		j = judge()
	}
	if j.Verdict != VerdictRegression || j.Change.Chance > settings.FalseDiscoveryRate || j.Change.Pairs <= first.Change.Pairs {
		t.Errorf("with more pairs: %s, %s: %s, %+v", j.Verdict, j.Reason, j.Message, j.Change)
	}
}

// TestANamespaceIsAFamily checks that executions of two namespaces that have one name are two families.
func TestANamespaceIsAFamily(t *testing.T) {
	settings := Default()
	settings.FalseDiscoveryRate = 1e-12
	points := newHistory("a").add(40, 0).confirmed(t, 1, 0, -0.05).points
	for _, p := range newHistory("b").add(41, 0).points {
		p.Namespace = "other"
		points = append(points, p)
	}
	all, err := series.Group(points)
	if err != nil {
		t.Fatal(err)
	}
	got, err := JudgeAll(settings, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(got.Judgments, func(j Judgment) bool { return j.Figure == "a" })
	if i < 0 || len(got.Judgments) != 2 || !strings.Contains(got.Judgments[i].Message, "among the 1 figures of this execution") {
		t.Errorf("%+v", got.Judgments)
	}
}

// TestUnusedAcknowledgements checks which acknowledgements are named: those that match nothing, of each kind.
func TestUnusedAcknowledgements(t *testing.T) {
	loss := int32(1)
	points := newHistory("fallen").add(40, 0).confirmed(t, 6, 0, -0.05).points
	quiet, open := newHistory("quiet").add(46, 0), newHistory("open").add(40, 0).add(6, -0.05)
	points = append(points, quiet.points...)
	for name, test := range map[string]struct {
		one  Acknowledgement
		open bool
		want bool
	}{
		"accepted":                               {Acknowledgement{Kind: Accepted, Revision: "rev40"}, false, false},
		"accepted, misspelled":                   {Acknowledgement{Kind: Accepted, Revision: "rev4O"}, false, true},
		"accepted, and no change":                {Acknowledgement{Kind: Accepted, Revision: "rev20"}, false, true},
		"fixed":                                  {Acknowledgement{Kind: Fixed, Revision: "rev43"}, false, false},
		"fixed by a run":                         {Acknowledgement{Kind: Fixed, Run: "night-43"}, false, false},
		"fixed, misspelled":                      {Acknowledgement{Kind: Fixed, Revision: "rev4E"}, false, true},
		"fixed, of no series":                    {Acknowledgement{Kind: Fixed, Revision: "rev43", Figure: "other"}, false, true},
		"expected, with a change":                {Acknowledgement{Kind: Expected, Revision: "rev40"}, false, false},
		"expected, with a larger change":         {Acknowledgement{Kind: Expected, Revision: "rev40", MaximumLossPercent: &loss}, false, true},
		"expected, and no change":                {Acknowledgement{Kind: Expected, Revision: "rev20"}, false, true},
		"expected, and not measured":             {Acknowledgement{Kind: Expected, Revision: "rev99"}, false, false},
		"expected, measured just now":            {Acknowledgement{Kind: Expected, Revision: "rev45"}, false, false},
		"expected, and a question is open":       {Acknowledgement{Kind: Expected, Revision: "rev40"}, true, false},
		"expected, and another question is open": {Acknowledgement{Kind: Expected, Revision: "rev20", Figure: "quiet"}, true, true},
	} {
		kept := points
		if test.open {
			kept = append(slices.Clone(quiet.points), open.points...)
		}
		all, err := series.Group(kept)
		if err != nil {
			t.Fatal(err)
		}
		got, err := JudgeAll(Default(), all, []Acknowledgement{test.one})
		if err != nil || (len(got.Unused) == 1) != test.want {
			t.Errorf("%s: %+v, %v", name, got.Unused, err)
		}
	}
}

// TestUnusedReadsWhatIsSelected checks that an acknowledgement costs nothing for the series that it does not select, and for those without a change.
func TestUnusedReadsWhatIsSelected(t *testing.T) {
	var points []series.Point
	for i := range 20 {
		points = append(points, newHistory(fmt.Sprint("figure ", i)).add(20, 0).points...)
	}
	all, err := series.Group(points)
	if err != nil {
		t.Fatal(err)
	}
	found, err := JudgeAll(Default(), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]Acknowledgement{
		"of another figure": {{Kind: Accepted, Run: "night-3", Figure: "other"}}, "of a series without a change": {{Kind: Accepted, Run: "night-3"}},
	} {
		if got := testing.AllocsPerRun(10, func() { unused(found.Judgments, all, list) }); got > 5 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

// BenchmarkJudgeAll judges 1,000 series with 100 points each.
func BenchmarkJudgeAll(b *testing.B) {
	var points []series.Point
	for i := range 1000 {
		points = append(points, newHistory(fmt.Sprint("figure ", i)).add(100, 0).points...)
	}
	for b.Loop() {
		all, err := series.Group(points)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := JudgeAll(Default(), all, nil); err != nil {
			b.Fatal(err)
		}
	}
}
