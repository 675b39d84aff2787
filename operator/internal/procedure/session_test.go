package procedure

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// goOn continues after the records in a session, at most for a number of trials.
func (b *bench) goOn(t *testing.T, instr measure.Instructions, records []measure.Record, session string, most int) []measure.Record {
	t.Helper()
	for range most {
		step, err := NextIn(instr, records, session)
		if err != nil {
			t.Fatalf("after %d trials: %v", len(records), err)
		}
		if step.Done {
			return records
		}
		record := b.trial(t, step, len(records))
		record.Measurer = session
		records = append(records, record)
	}
	return records
}

// sessionless compares figures without what several sessions add.
var sessionless = cmp.Options{
	cmpopts.IgnoreFields(Figures{}, "Sessions"),
	cmpopts.IgnoreSliceElements(func(w v1alpha1.Warning) bool { return w.Code == v1alpha1.WarningSeveralSessions }),
	// A soak that continued has the gap in its times.
	cmpopts.IgnoreFields(v1alpha1.SoakInterval{}, "StartSeconds"),
	// It is left out where the throughput is of an earlier session.
	cmpopts.IgnoreFields(v1alpha1.BackToBackResult{}, "CorrectedBufferNanoseconds"),
}

const calibratedEarlier = "and with it the highest load, is that of an earlier session."

// Wherever a measurement is stopped, the figures are those of one that was not, and nothing but a
// soak has trials of two sessions.
func TestSessions(t *testing.T) {
	once := everything()
	once.Sizes = sizes(64)
	for name, instr := range map[string]measure.Instructions{"everything": once, "repeats": repeatedInstructions(2)} {
		t.Run(name, func(t *testing.T) {
			device := buffered{500_000, 3000}
			undisturbed := newBench(device).goOn(t, instr, nil, "a", maxSteps)
			want := Results(instr, undisturbed)
			if want.Sessions != nil {
				t.Errorf("one session is listed: %+v", want.Sessions)
			}
			for cut := 1; cut < len(undisturbed); cut++ {
				// The second session warms up before anything else on the chain.
				records := newBench(device).goOn(t, instr, slices.Clone(undisturbed[:cut]), "b", maxSteps)
				first := slices.IndexFunc(records[cut:], func(r measure.Record) bool { return !r.Stage.Calibrates() })
				atTheEnd := first < 0 && records[cut].Stage == measure.StageCalibrateLoad
				if !atTheEnd && (first < 0 || records[cut+first].Stage != measure.StageWarmUp) {
					t.Errorf("cut at %d: the second session begins with %s", cut, records[cut].Stage)
				}
				got := Results(instr, records)
				if diff := cmp.Diff(want, got, sessionless); diff != "" {
					t.Fatalf("cut at %d, in stage %s: %s", cut, undisturbed[cut-1].Stage, diff)
				}
				checkSevered(t, instr, records, cut)
				checkShared(t, instr, records, got)
				if p := Progress(instr, records); p.Percent != 100 || p.Trials != len(records) {
					t.Errorf("cut at %d: %+v", cut, p)
				}
				discarded := len(records) - len(undisturbed)
				for _, r := range records {
					if isResumed(r) {
						discarded--
					}
				}
				late := slices.ContainsFunc(records[cut:], func(r measure.Record) bool {
					return r.Stage == measure.StageCalibrateRate || r.Stage == measure.StageCalibrateLatency
				})
				if said := strings.Contains(got.Warnings[0].Message, calibratedEarlier); said == late {
					t.Errorf("cut at %d: the calibration is of the second session: %t, and %s", cut, late, got.Warnings[0].Message)
				}
				if s := got.Sessions; len(s) != 2 || s[0].Trials != int32(cut) || s[1].Trials != int32(len(records)-cut) ||
					s[0].DiscardedTrials != int32(discarded) || s[1].DiscardedTrials != 0 {
					t.Errorf("cut at %d: %+v, %d discarded", cut, s, discarded)
				}
			}
		})
	}
}

// replayOf returns the only side of a measurement.
func replayOf(instr measure.Instructions, records []measure.Record) *replay {
	sides, _ := replaySides(instr, records, "")
	return sides[0]
}

// checkShared fails where the warning does not name what rests on a throughput of another session, or names
// anything else.
func checkShared(t *testing.T, instr measure.Instructions, records []measure.Record, got Figures) {
	t.Helper()
	message := got.Warnings[0].Message
	sessions := map[measure.Stage]string{}
	for _, p := range replayOf(instr, records).parts {
		if len(p.counted) > 0 && (p.stage() != stageSoak || p.load.Goal != "") {
			sessions[p.stage()] = sessionOf(p.counted[0])
		}
	}
	for stage, said := range map[measure.Stage]string{
		stageRecovery: "Recovery of 64 bytes", stageSoak: "Soak of 64 bytes", stageBackToBack: "There is no corrected buffer of 64 bytes,",
		measure.StageCalibrateLoad: string(measure.StageCalibrateLoad),
	} {
		session, measured := sessions[stage]
		later := measured && !stage.Calibrates() && session != sessions[measure.StageThroughput]
		if strings.Contains(message, said) != later {
			t.Errorf("%s is of a later session than the throughput: %t, and %s", stage, later, message)
		}
		if b := got.Frames[0].BackToBack; stage == stageBackToBack && b != nil && (b.CorrectedBufferNanoseconds == nil) != later {
			t.Errorf("bursts are of a later session: %t, and the corrected buffer is %v", later, b.CorrectedBufferNanoseconds)
		}
	}
}

// checkSevered fails where a figure rests on two sessions.
func checkSevered(t *testing.T, instr measure.Instructions, records []measure.Record, cut int) {
	t.Helper()
	parts := replayOf(instr, records).parts
	for _, p := range parts {
		if p.stage() == stageSoak {
			continue
		}
		for _, o := range parts {
			if !o.inUnitOf(p.phase) {
				continue
			}
			for _, r := range o.counted {
				if sessionOf(r) != sessionOf(p.counted[0]) {
					t.Fatalf("cut at %d: stages %s and %s of one unit are of two sessions", cut, p.stage(), o.stage())
				}
			}
		}
	}
}

// A measurement that is stopped again and again still discards only what was under way each time.
func TestManySessions(t *testing.T) {
	instr := repeatedInstructions(2)
	b := newBench(hardCap())
	var records []measure.Record
	for _, session := range []string{"a", "b", "c", "d", "e"} {
		records = b.goOn(t, instr, records, session, 12)
	}
	records = b.goOn(t, instr, records, "f", maxSteps)
	figures := Results(instr, records)
	want := Results(instr, newBench(hardCap()).goOn(t, instr, nil, "a", maxSteps))
	if diff := cmp.Diff(want, figures, sessionless); diff != "" {
		t.Error(diff)
	}
	message := figures.Warnings[0].Message
	if figures.Warnings[0].Code != v1alpha1.WarningSeveralSessions || len(figures.Sessions) < 3 ||
		!strings.Contains(message, "sessions; ") || !strings.HasSuffix(message, calibratedEarlier) {
		t.Errorf("%+v, %s", figures.Sessions, message)
	}
	if Progress(instr, records).Percent != 100 {
		t.Error("not at the end")
	}
}

// A soak continues after the session's own warm-up, and the warning says so.
func TestSoakOverSessions(t *testing.T) {
	instr := soakOf(time.Minute, 10*time.Second)
	instr.WarmUpMilliseconds = new(int32(1000))
	b := newBench(hardCap())
	records := b.goOn(t, instr, nil, "a", 6)
	records = b.goOn(t, instr, records, "b", maxSteps)
	if r := records[6]; r.Stage != measure.StageWarmUp || r.Load != loadResumed || r.Trial.DurationNanoseconds != int64(time.Second) {
		t.Errorf("%+v", r)
	}
	figures := Results(instr, records)
	if soak := figures.Frames[0].Soak; len(soak.Intervals) != 6 || !strings.Contains(figures.Warnings[0].Message, "The soak of 64 bytes has intervals of several sessions.") {
		t.Errorf("%+v, %+v", soak, figures.Warnings)
	}
}

// What neighbors did in trials that another session made again is in no figure and no warning.
func TestNeighborsOfAnUnfinishedSession(t *testing.T) {
	instr := instructions()
	instr.Calibration, instr.Sizes, instr.Neighbors = nil, sizes(64), []measure.NeighborLoad{{Name: "a"}}
	b, stopped := newBench(hardCap()), true
	b.spoil = func(r *measure.Record) {
		if r.Stage == measure.StageThroughput {
			r.Evidence = &measure.Evidence{Neighbors: []measure.NeighborEvidence{{Name: "a", Stopped: stopped}}}
		}
	}
	records := b.goOn(t, instr, nil, "a", 4)
	stopped = false
	records = b.goOn(t, instr, records, "b", maxSteps)
	figures := Results(instr, records)
	again := 0
	for _, r := range records {
		if r.Evidence != nil && sessionOf(r) == "b" {
			again++
		}
	}
	if got := figures.Neighbors.Loads[0].Trials; got != int32(again) {
		t.Errorf("the neighbor is known in %d trials, want %d", got, again)
	}
	for _, w := range figures.Warnings {
		if w.Code == v1alpha1.WarningNeighborStopped {
			t.Errorf("%+v", w)
		}
	}
}

// What ended the measurement ends it in every session.
func TestFailureInAnotherSession(t *testing.T) {
	b := newBench(simulated.HardCap{CapacityFramesPerSecond: 400_000})
	b.spoil = func(r *measure.Record) {
		if r.Stage == measure.StageThroughput {
			invalidate(r)
		}
		r.Measurer = "a"
	}
	records, err := b.run(t, instructions(), nil)
	if measure.ReasonOf(err) != v1alpha1.ReasonGeneratorUnreliable {
		t.Fatal(err)
	}
	if _, again := NextIn(instructions(), records, "b"); measure.ReasonOf(again) != v1alpha1.ReasonGeneratorUnreliable {
		t.Errorf("got %v", again)
	}
}
