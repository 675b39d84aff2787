package study_test

import (
	"math"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/study"
)

// levelsOfVCPE are what is left of the delay after each level of tuning of a simulated platform.
var levelsOfVCPE = map[v1alpha1.AxisLabel]float64{
	"baseline": 1, "pinned": 0.5, "hugepages": 0.5, "numa": 0.45, "realtime": 0.2, "emulator": 0.05, "quiet": 0.02,
}

// platform simulates delays of a platform. What all of a repeat share is in every level.
type platform struct{ untunable bool }

func (p platform) delays(values v1alpha1.Combination, repeat int) map[string]float64 {
	left := levelsOfVCPE[values["level"]]
	if p.untunable {
		left = 1
	}
	round := 1 + 0.2*float64(repeat)
	out := map[string]float64{}
	for _, profile := range []string{"b64", "b256", "imix", "b1500", "long"} {
		// The scatter of a level is another one in each repeat.
		noise := round * (1 + 0.002*math.Sin(float64(repeat)*(10+100*left)))
		out["mean-"+profile], out["p99-"+profile], out["max-"+profile], out["jitter-"+profile], out["loss-"+profile] = 100_000*left*noise, 300_000*left*noise, 9_000_000*left*noise, 5_000_000*left*noise, 0
	}
	return out
}

// TestStepsOfTuning checks that the effect of each level is found, block by block: rounds differ by much more than levels do.
func TestStepsOfTuning(t *testing.T) {
	r := evaluated(t, "vcpe", executeWithCriteria(t, "vcpe", "full", unmeasured, platform{}.delays))
	steps := answer(t, r, "mean-two-b64").Steps
	want := []struct {
		to    string
		share float64
	}{{"pinned", -0.5}, {"hugepages", 0}, {"numa", -0.1}, {"realtime", -1 + 0.2/0.45}, {"emulator", -0.75}, {"quiet", -0.6}}
	if len(steps) != len(want) {
		t.Fatalf("%+v", steps)
	}
	for i, step := range steps {
		if step.To != want[i].to || step.Share.Low > want[i].share || step.Share.High < want[i].share || step.Share.High-step.Share.Low > 0.02 || step.Blocks != 5 {
			t.Errorf("%+v, want %+v", step, want[i])
		}
	}
	for id, want := range map[string]study.Verdict{
		"mean-one-b256-tuned": study.SameDirection, "jitter-one-tuned": study.Reproduced, "loss-two": study.Reproduced, "within-g114": study.Reproduced,
	} {
		if c := claim(t, r, id); c.Verdict != want {
			t.Errorf("%+v, want %s", c, want)
		}
	}
	flat := evaluated(t, "vcpe", executeWithCriteria(t, "vcpe", "full", unmeasured, platform{untunable: true}.delays))
	for _, id := range []string{"mean-two-imix-tuned", "max-one-tuned", "jitter-two-tuned"} {
		if c := claim(t, flat, id); c.Verdict != study.NotReproduced {
			t.Errorf("tuning changes nothing: %+v", c)
		}
	}
	if a := answer(t, flat, "max-two-b256"); !strings.HasPrefix(a.Measured, "pinned no effect is shown, ") {
		t.Errorf("%+v", a)
	}
}

// TestAmounts checks that what no repeat may exceed is judged by every repeat, and not by their mean.
func TestAmounts(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*report.SuiteMeasurement, int)
		why    string
	}{
		"one repeat is outside": {func(m *report.SuiteMeasurement, k int) { m.Figures[k].Value = 180_000_000 }, "a repeat is outside of the expected range, at most 100"},
		"one repeat has none":   {func(m *report.SuiteMeasurement, k int) { m.Figures = nil }, "not every repeat has a value; repeats without a value, left out: 1"},
	} {
		docs := executeWithCriteria(t, "vcpe", "full", unmeasured, func(values v1alpha1.Combination, repeat int) map[string]float64 {
			out := platform{}.delays(values, repeat)
			for name := range out {
				out[name] = 1_000_000 * (1 + 0.001*float64(repeat))
			}
			return out
		})
		if c := claim(t, evaluated(t, "vcpe", docs), "within-g114"); c.Verdict != study.Reproduced {
			t.Errorf("%+v", c)
		}
		for _, doc := range docs {
			for i := range doc.Cells {
				if doc.Cells[i].Name != "baseline" || doc.Execution.Suite != "vcpe-two" {
					continue
				}
				m := &doc.Cells[i].Measurements[0]
				for k := range m.Figures {
					if m.Figures[k].Criterion == "max-b256" {
						tc.change(m, k)
						break
					}
				}
			}
		}
		if c := claim(t, evaluated(t, "vcpe", docs), "within-g114"); c.Verdict != study.CannotBeShown || c.Why != tc.why {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestFiguresOfCriteria checks which figures of criteria are no values.
func TestFiguresOfCriteria(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*report.SuiteMeasurement)
		why    string
		left   int
	}{
		"a doubt":       {func(m *report.SuiteMeasurement) { m.Figures[0].Note = v1alpha1.NoteDoubtful }, "repeats without a value, left out: 1", 4},
		"a bound":       {func(m *report.SuiteMeasurement) { m.Figures[0].Note = v1alpha1.NoteAtLeast }, "a figure of cell pinned is a bound (AtLeast)", 0},
		"no figure":     {func(m *report.SuiteMeasurement) { m.Figures = m.Figures[1:] }, "repeats without a value, left out: 1", 4},
		"of many sizes": {func(m *report.SuiteMeasurement) { m.Figures = append(m.Figures, m.Figures[0]) }, "criterion mean-b64 of cell pinned is about 2 figures: give it a size", 0},
		"not measured":  {func(m *report.SuiteMeasurement) { m.Figures[0].Value = 0 }, "repeat 1 of baseline and pinned has 100000 and 0: only numbers above 0 have shares", 0},
	} {
		docs := executeWithCriteria(t, "vcpe", "full", unmeasured, platform{}.delays)
		for _, doc := range docs {
			for i := range doc.Cells {
				if doc.Cells[i].Name == "pinned" && doc.Execution.Suite == "vcpe-one" {
					tc.change(&doc.Cells[i].Measurements[0])
				}
			}
		}
		a := answer(t, evaluated(t, "vcpe", docs), "mean-one-b64")
		if a.Why != tc.why || (tc.left == 0) != (len(a.Steps) == 0) || tc.left > 0 && a.Steps[0].Blocks != tc.left {
			t.Errorf("%s: %+v", name, a)
		}
	}
	nothing := evaluated(t, "vcpe", execute(t, "vcpe", "lab", unmeasured))
	for id, want := range map[string]string{"mean-one-b256": "too few measurements: 0 repeats have both baseline and pinned, and it takes 2", "g114-long-quiet": "the cell with level=quiet has no figures"} {
		if a := answer(t, nothing, id); a.Why != want || a.Measured != "" || a.Estimate != nil || a.Steps != nil {
			t.Errorf("%+v", a)
		}
	}
}
