package procedure

import (
	"fmt"
	"time"

	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

// progress is Progress of one side.
//
// Every phase has a fixed share of the whole: the time that the instructions
// alone let expect. What is over counts in full, so percent never falls from
// one phase to the next. Only inside a search may it fall, when the device
// turns out to be noisier than hoped; the measurer then goes on reporting what
// it has reported. It is 100 only when every trial has been made. The time in
// which the chain starts is not in it: nothing here can know it.
func progress(instr measure.Instructions, records []measure.Record) measure.Progress {
	w := play(instr, records)
	out := measure.Progress{Trials: len(records), Calibrated: true}
	if len(w.parts) == 0 {
		out.Calibrated = instr.Calibration == nil
		return out
	}
	var whole, passed float64
	var left time.Duration
	for i, ph := range phases(instr) {
		expected := w.expected(ph, lineRate(instr, ph.frameBytes))
		whole += expected.Seconds()
		if i < len(w.parts) && w.parts[i].over {
			passed += expected.Seconds()
			continue
		}
		out.Calibrated = out.Calibrated && ph.path() != PathCalibration
		share, remaining := 0.0, expected
		if i < len(w.parts) {
			share, remaining = w.within(w.parts[i], expected)
		}
		passed += share * expected.Seconds()
		left += remaining
	}
	out.Stage = w.stage()
	out.RemainingSeconds = int64((left + time.Second - 1) / time.Second)
	out.Percent = 100
	if w.open() != nil && whole > 0 {
		out.Percent = min(99, int(100*passed/whole))
	}
	return out
}

// expected is the time of a phase before anything of it is known.
func (w *walk) expected(ph phase, highest uint64) time.Duration {
	settle := time.Duration(w.instr.SettleNanoseconds)
	switch ph.stage {
	case measure.StageWarmUp:
		return time.Duration(w.instr.WarmUpNanoseconds) + settle
	case measure.StageTCP:
		return w.expectedTCP()
	case measure.StageConnections:
		return w.expectedConnections(ph.connections)
	case measure.StageLatency:
		return w.cost(w.instr.Latency.Trials(), w.instr.Latency.TrialNanoseconds)
	case measure.StageThroughput:
		if asked := w.instr.Maximum(ph.frameBytes); asked > 0 {
			highest = min(highest, asked)
		}
		estimate, err := search.Remaining(w.searchConfigFor(ph.frameBytes, highest), nil)
		if err != nil {
			return settle
		}
		return estimate.Time
	}
	if k, ok := kindOf(ph.stage); ok {
		return k.expected(w, ph)
	}
	return calibrationDuration + settle
}

// within is the open part's share of its own time, and what it still needs.
func (w *walk) within(p *part, expected time.Duration) (float64, time.Duration) {
	if _, ok := kindOf(p.stage); (ok || p.stage == measure.StageLatency) && expected > 0 {
		return 1 - min(1, p.left.Seconds()/expected.Seconds()), p.left
	}
	if p.stage != measure.StageThroughput || len(p.history) == 0 {
		return 0, expected
	}
	estimate, err := search.Remaining(p.config, p.history)
	if err != nil {
		return 0, expected
	}
	var spent time.Duration
	for _, trial := range p.history {
		spent += trial.Cost
	}
	if spent+estimate.Time <= 0 {
		return 0, estimate.Time
	}
	return spent.Seconds() / (spent + estimate.Time).Seconds(), estimate.Time
}

// stage is one short sentence about what is being done.
func (w *walk) stage() string {
	p := w.open()
	if p == nil {
		return "every trial has been made"
	}
	switch p.stage {
	case measure.StageCalibrateRate, measure.StageCalibrateLatency:
		return "calibration, " + size(w.instr, p.frameBytes)
	case measure.StageWarmUp:
		return "warm-up, " + size(w.instr, p.frameBytes) + w.ofRepeat(p.phase)
	case measure.StageTCP:
		return connections(p.streams) + w.ofRepeat(p.phase)
	case measure.StageConnections:
		return excerpt.Text(fmt.Sprintf("connections at load %s%s", p.load.Name, w.ofRepeat(p.phase)), maxStageBytes)
	case measure.StageThroughput:
		return "throughput, " + size(w.instr, p.frameBytes) + w.ofRepeat(p.phase)
	}
	if k, ok := kindOf(p.stage); ok {
		return excerpt.Text(fmt.Sprintf("%s, %s", named(k.noun, p.phase), size(w.instr, p.frameBytes)), maxStageBytes)
	}
	return excerpt.Text(fmt.Sprintf("latency at load %s, %s%s", p.load.Name, size(w.instr, p.frameBytes), w.ofRepeat(p.phase)), maxStageBytes)
}
