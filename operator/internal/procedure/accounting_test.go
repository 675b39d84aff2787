package procedure

import (
	"slices"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// What neither the generator nor a port of a function counted is named; where a counter is missing,
// nothing is.
func TestUncounted(t *testing.T) {
	evidence := func(drops int64) *measure.Evidence {
		return &measure.Evidence{Functions: []measure.FunctionEvidence{{
			Name: "router", Process: &measure.CPUTime{}, Ports: []measure.PortEvidence{{Name: "west", ReceiveDroppedFrames: drops}, {Name: "east", SendDroppedFrames: 1}},
		}}}
	}
	with := func(e *measure.Evidence, change func(*measure.Evidence)) *measure.Evidence { change(e); return e }
	for name, c := range map[string]struct {
		hop      measure.Hop
		evidence *measure.Evidence
		known    bool
		want     uint64
	}{
		"all counted":                {measure.HopInline, evidence(399), true, 0},
		"almost all":                 {measure.HopInline, evidence(389), true, 10},
		"some not":                   {measure.HopInline, evidence(388), true, 11},
		"the ring is not the device": {measure.HopSeparate, evidence(399), true, 600},
		"more than lost":             {measure.HopInline, evidence(9000), true, 0},
		"no evidence":                {evidence: nil},
		"no function":                {evidence: &measure.Evidence{}},
		"shortened":                  {evidence: with(evidence(0), func(e *measure.Evidence) { e.Shortened = true })},
		"one did not answer":         {evidence: with(evidence(0), func(e *measure.Evidence) { e.Notes = []string{"no answer"} })},
		"a virtual machine":          {evidence: with(evidence(0), func(e *measure.Evidence) { e.Functions[0].Process = nil })},
		"a custom one":               {evidence: with(evidence(0), func(e *measure.Evidence) { e.Functions[0].Ports = nil })},
	} {
		r := measure.Record{Evidence: c.evidence, Outcome: measure.Outcome{Hop: c.hop, Directions: []measure.DirectionOutcome{
			{SentFrames: 5000, ReceivedFrames: 4500, OverflowFrames: 400, RefusedFrames: 50, LeftFrames: 50},
			{SentFrames: 5000, ReceivedFrames: 4500, OverflowFrames: 100},
		}}}
		if a, known := accountOf(r); known != c.known || a.uncounted != c.want {
			t.Errorf("%s: %d frames not counted, known: %t; want %d, %t", name, a.uncounted, known, c.want, c.known)
		}
		for _, stage := range []measure.Stage{measure.StageLatency, measure.StageThroughput} {
			r.Stage = stage
			doubtful := slices.Contains(doubtsOf([]measure.Record{r}), v1alpha1.DoubtFramesUncounted)
			if want := c.want > 10 && stage == measure.StageLatency; doubtful != want {
				t.Errorf("%s: doubtful in stage %s: %t, want %t", name, stage, doubtful, want)
			}
		}
	}
}

// TestUncountedOfAFigure checks that a figure is in doubt by what all of its trials lost together, and that trials without an account say
// nothing.
func TestUncountedOfAFigure(t *testing.T) {
	trial := func(lost uint64, counted int64) measure.Record {
		return measure.Record{Stage: stageFixedLoad, Evidence: &measure.Evidence{Functions: []measure.FunctionEvidence{{
			Process: &measure.CPUTime{}, Ports: []measure.PortEvidence{{Name: "west", SendDroppedFrames: counted}},
		}}}, Outcome: measure.Outcome{Directions: []measure.DirectionOutcome{{SentFrames: 100_000, ReceivedFrames: 100_000 - lost}}}}
	}
	unknown := trial(5000, 0)
	unknown.Evidence = nil
	for name, c := range map[string]struct {
		records []measure.Record
		want    bool
	}{
		"a frame of a small loss":        {[]measure.Record{trial(10, 9), trial(5000, 5000)}, false},
		"a frame of a small loss alone":  {[]measure.Record{trial(10, 9)}, true},
		"more than 1 % of all":           {[]measure.Record{trial(10, 9), trial(5000, 4940)}, true},
		"another trial counted too much": {[]measure.Record{trial(5000, 4940), trial(10, 900)}, true},
		"a trial without an account":     {[]measure.Record{trial(5000, 5000), unknown}, false},
		"one next to an open one":        {[]measure.Record{trial(10, 9), unknown}, true},
	} {
		if got := slices.Contains(doubtsOf(c.records), v1alpha1.DoubtFramesUncounted); got != c.want {
			t.Errorf("%s: doubtful: %t, want %t", name, got, c.want)
		}
	}
}

func TestWarnUncounted(t *testing.T) {
	instr := onOneCore()
	b, lossy := newBench(hardCap()), 0
	b.spoil = func(r *measure.Record) {
		if r.Stage != measure.StageThroughput || r.Outcome.LossRatio() == 0 {
			return
		}
		lossy++
		counted := int64(0)
		for i := range r.Outcome.Directions {
			counted += int64(r.Outcome.Directions[i].LostFrames())
		}
		if lossy == 2 {
			counted -= 4000
		}
		r.Evidence = &measure.Evidence{Functions: []measure.FunctionEvidence{{
			Process: &measure.CPUTime{}, Ports: []measure.PortEvidence{{Name: "west", SendDroppedFrames: counted}},
		}}}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, w := range Results(instr, records).Warnings {
		if w.Code == v1alpha1.WarningFramesUnaccounted {
			found++
			t.Log(w.Message)
		}
	}
	if found != 1 || lossy < 2 {
		t.Errorf("%d warnings, %d trials with loss", found, lossy)
	}
}
