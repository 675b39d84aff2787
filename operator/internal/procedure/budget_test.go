package procedure

import (
	"encoding/json"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// Trials that are made again take from the time that a search may take, and from no other.
func TestAlwaysInterrupted(t *testing.T) {
	const most = 30
	instr := onOneCore()
	instr.Throughput.MaximumSearchSeconds = most
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Stage == measure.StageThroughput && r.Trial.IntendedFramesPerSecond > 1000 {
			lose(r, 0, 300)
			preempt(r)
		}
		r.Outcome = Compact(*r)
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	var searching, longest time.Duration
	for _, r := range records {
		if r.Stage == measure.StageThroughput {
			took := time.Duration(r.Outcome.TotalNanoseconds)
			searching, longest = searching+took, max(longest, took)
		}
	}
	if searching < (most/2)*time.Second || searching > most*time.Second+(maxInterrupted+1)*longest {
		t.Errorf("the search took %v of %d s, its longest trial %v", searching, most, longest)
	}
	for _, r := range Results(instr, records).Frames[0].Throughput {
		if r.UpperBoundCause == v1alpha1.CauseDeviceLoss {
			t.Errorf("%+v", r)
		}
	}
}

// A part makes no more trials again than count, or ten where fewer count.
func TestTrialsMadeAgain(t *testing.T) {
	for _, test := range []struct{ counted, again int }{{1, 5}, {2, 10}, {3, 10}, {12, 11}, {40, 39}} {
		p, s, again := &part{phase: phase{measurement: throughputMeasurement}}, sorter{}, 0
		for len(p.counted) < test.counted {
			r := measure.Record{Stage: measure.StageThroughput, Outcome: measure.Outcome{
				TotalNanoseconds: int64(time.Second), SendingNanoseconds: int64(time.Second),
				Directions: []measure.DirectionOutcome{{IntendedFrames: 1000, SentFrames: 1000, ReceivedFrames: 900}},
			}}
			preempt(&r)
			if !s.counts(p, r) {
				again++
			}
		}
		spent := time.Duration(0)
		for _, before := range p.before {
			spent += before
		}
		if again != test.again || len(p.invalid) != again || spent != time.Duration(again)*time.Second {
			t.Errorf("%d trials count, %d were made again, want %d; they took %v", test.counted, again, test.again, spent)
		}
	}
}

// A soak makes an interrupted interval again once: the next may be as long.
func TestInterruptedSoak(t *testing.T) {
	instr := soakOf(time.Minute, 10*time.Second)
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		lose(r, 0, 300)
		preempt(r)
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	intervals := 0
	for _, r := range records {
		if r.Stage == stageSoak {
			intervals++
		}
	}
	if soak := Results(instr, records).Frames[0].Soak; len(soak.Intervals) != 6 || intervals != 12 {
		t.Errorf("%d intervals of %d count", len(soak.Intervals), intervals)
	}
}

// What never counts is stored without its delays, and no figure changes by that.
func TestCompactWhatDoesNotCount(t *testing.T) {
	run := func(compact bool) ([]measure.Record, Figures) {
		instr, n := onOneCore(), 0
		b := newBench(hardCap())
		b.spoil = func(r *measure.Record) {
			n++
			if r.Stage != measure.StageWarmUp && n%7 == 0 {
				invalidate(r)
			}
			if r.Stage == measure.StageThroughput && n%3 == 0 {
				lose(r, 0, 300)
				preempt(r)
			}
			if compact {
				r.Outcome = Compact(*r)
			}
		}
		records, err := b.run(t, instr, nil)
		if err != nil {
			t.Fatal(err)
		}
		return records, Results(instr, records)
	}
	whole, want := run(false)
	kept, got := run(true)
	if a, b := asJSON(t, want), asJSON(t, got); a != b {
		t.Errorf("the figures differ:\n%s\n%s", a, b)
	}
	without := 0
	for i, r := range kept {
		if invalidReason(r) != "" && r.Stage != measure.StageWarmUp || r.Stage == measure.StageThroughput && interrupted(r) {
			without++
			if n := len(asJSON(t, r)); n > countsBytes {
				t.Errorf("trial %d does not count and takes %d bytes", i, n)
			}
		} else if asJSON(t, r) != asJSON(t, whole[i]) {
			t.Errorf("trial %d counts and is not whole", i)
		}
	}
	if without < 5 {
		t.Errorf("%d trials do not count", without)
	}
}

// An interrupted trial of a search counts where its verdict is clear, and its peak is the throughput's then.
func TestCompactKeepsThePeak(t *testing.T) {
	r := measure.Record{Stage: measure.StageThroughput, Outcome: measure.Outcome{
		SendingNanoseconds: int64(time.Second), AwayNanoseconds: int64(time.Millisecond),
		Directions: []measure.DirectionOutcome{{
			IntendedFrames: 1000, SentFrames: 1000, ReceivedFrames: 500, MostInMillisecond: 7, Latency: measure.Delays{Samples: 500},
		}},
	}}
	preempt(&r)
	if p := (&part{}); !(&sorter{}).counts(p, r) {
		t.Error("it does not count")
	}
	r.Outcome = Compact(r)
	if got := r.Outcome.Directions[0]; got.Latency.Samples != 0 || peakOf([]measure.Record{r}) != 7000 {
		t.Errorf("%+v", got)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
