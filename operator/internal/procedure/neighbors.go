package procedure

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// A run that compares is measured in two sides: everything without neighbours,
// then everything beside them. Each side is a whole measurement over its own
// records and the calibration, which both share; so a device that changes in
// the course of a side changes nothing of the other's rules, and a figure means
// the same on both sides.
const (
	sideWithout = false
	sideWith    = true
)

// of are the records of a side, with those of the calibration.
func of(side bool, records []measure.Record) []measure.Record {
	var out []measure.Record
	for _, r := range records {
		if calibrates(r.Stage) || r.Neighbors == side {
			out = append(out, r)
		}
	}
	return out
}

func calibrates(stage measure.Stage) bool {
	return stage == measure.StageCalibrateRate || stage == measure.StageCalibrateLatency
}

// Next says what comes after the records. A *measure.Failure means that the
// measurement cannot go on; it comes again from the same records.
func Next(instr measure.Instructions, records []measure.Record) (Step, error) {
	if instr.Compares() {
		step, err := next(instr, of(sideWithout, records))
		if err != nil || !step.Done {
			if begun := slices.IndexFunc(records, func(r measure.Record) bool { return r.Neighbors }); err == nil && begun >= 0 {
				err = fmt.Errorf("%w: record %d was made beside neighbours before all was measured without them", ErrRecords, begun)
			}
			return step, err
		}
		records = of(sideWith, records)
	}
	step, err := next(instr, records)
	step.Neighbors = instr.Beside() && err == nil && !step.Done && step.Path != PathCalibration
	return step, err
}

// Progress is how far the measurement is; of one that compares, both sides
// count alike.
func Progress(instr measure.Instructions, records []measure.Record) measure.Progress {
	if !instr.Compares() {
		return progress(instr, records)
	}
	without, with := progress(instr, of(sideWithout, records)), progress(instr, of(sideWith, records))
	out := measure.Progress{
		Trials: len(records), Calibrated: without.Calibrated,
		Percent:          (without.Percent + with.Percent) / 2,
		RemainingSeconds: without.RemainingSeconds + with.RemainingSeconds,
		Stage:            with.Stage,
	}
	switch {
	case without.Percent < 100 && !without.Calibrated:
		out.Stage = without.Stage
	case without.Percent < 100:
		out.Stage = excerpt.Text(without.Stage+", without neighbours", maxStageBytes)
	case with.Percent < 100:
		out.Stage = excerpt.Text(with.Stage+", beside neighbours", maxStageBytes)
	}
	return out
}

// Results reads the records while the measurement goes on as well as after it,
// and after a failure: what is final is there, nothing else. Of several repeats
// the figures are those of the repeats so far, which their statistics count.
// Where neighbours are compared, the figures are those beside them; those
// without stand in the comparison.
func Results(instr measure.Instructions, records []measure.Record) Figures {
	if !instr.Beside() {
		return results(instr, records)
	}
	if !instr.Compares() {
		out := results(instr, records)
		out.Neighbors = &v1alpha1.NoisyNeighborsReport{Loads: loads(instr, records)}
		out.Warnings = append(out.Warnings, warnNeighbors(instr, records)...)
		return out
	}
	without, out := results(instr, of(sideWithout, records)), results(instr, of(sideWith, records))
	out.Neighbors = &v1alpha1.NoisyNeighborsReport{
		Loads: loads(instr, records),
		Comparison: comparison.Of(
			comparison.Side{Frames: without.Frames, TCP: without.TCP, Connections: without.Connections},
			comparison.Side{Frames: out.Frames, TCP: out.TCP, Connections: out.Connections}),
	}
	out.Warnings = append(out.Warnings, warnNeighbors(instr, records)...)
	for _, w := range without.Warnings {
		if !slices.ContainsFunc(out.Warnings, func(o v1alpha1.Warning) bool { return o.Message == w.Message }) && len(out.Warnings) < mostWarnings {
			w.Message = excerpt.Text("Without neighbours: "+w.Message, maxWarningBytes)
			out.Warnings = append(out.Warnings, w)
		}
	}
	return out
}

// company is what one neighbour did beside the trials that are used.
type company struct {
	load                              measure.NeighborLoad
	trials, known, stopped            int
	milliseconds, cpu, sent, received int64
}

// accompanied adds up what is known of each neighbour. Trials that the
// generator doubts are made again and do not count.
func accompanied(instr measure.Instructions, records []measure.Record) []company {
	out := make([]company, len(instr.Neighbors))
	for i, load := range instr.Neighbors {
		c := company{load: load}
		for _, r := range records {
			// Without evidence nobody was asked, or there was no room for the answer.
			if !r.Neighbors || r.Evidence == nil || !r.Outcome.Valid() {
				continue
			}
			c.trials++
			at := slices.IndexFunc(r.Evidence.Neighbors, func(e measure.NeighborEvidence) bool { return e.Name == load.Name })
			if at < 0 {
				continue
			}
			e := r.Evidence.Neighbors[at]
			c.known++
			if e.Stopped {
				c.stopped++
			}
			c.milliseconds += e.ElapsedMilliseconds
			c.cpu += e.CPUMilliseconds
			c.sent += e.SentFrames
			c.received += e.ReceivedFrames
		}
		out[i] = c
	}
	return out
}

// each is a sum in each second, of so many milliseconds.
func (c company) each(sum int64) int64 { return sum * 1000 / c.milliseconds }

func loads(instr measure.Instructions, records []measure.Record) []v1alpha1.NoisyNeighborReport {
	var out []v1alpha1.NoisyNeighborReport
	for _, c := range accompanied(instr, records) {
		report := v1alpha1.NoisyNeighborReport{Name: c.load.Name, Kind: v1alpha1.NoisyNeighborKind(c.load.Kind), Trials: int32(c.known)}
		if intended := c.load.IntendedMilliCPU(); intended > 0 {
			report.IntendedMilliCPU = &intended
		}
		if intended := c.load.IntendedFramesPerSecond(); intended > 0 {
			report.IntendedFramesPerSecond = &intended
		}
		if c.milliseconds > 0 {
			report.MilliCPU = new(c.each(c.cpu))
			if c.load.Kind == measure.NeighborNetwork {
				report.SentFramesPerSecond, report.ReceivedFramesPerSecond = new(c.each(c.sent)), new(c.each(c.received))
			}
		}
		out = append(out, report)
	}
	return out
}

// leastPercent of what was asked of a neighbour is taken as reached.
const leastPercent = 90

// warnNeighbors says where a neighbour was not what was asked for. Of memory and
// disk nothing can be said: their load is as fast as the node lets it be.
func warnNeighbors(instr measure.Instructions, records []measure.Record) []v1alpha1.Warning {
	d := &doubtful{seen: map[string]bool{}}
	for _, c := range accompanied(instr, records) {
		if lost := c.stopped + c.trials - c.known; lost > 0 {
			d.add(v1alpha1.WarningNeighborStopped, 0,
				"In %d of %d trials neighbour %q did not load, or did not say that it did, so their figures may be those without it.", lost, c.trials, c.load.Name)
		}
		if c.milliseconds == 0 {
			continue
		}
		if intended, got := c.load.IntendedMilliCPU(), c.each(c.cpu); intended > 0 && got*100 < intended*leastPercent {
			d.add(v1alpha1.WarningNeighborLoadNotReached, 0,
				"Neighbour %q took %d of the %d thousandths of a CPU that it was asked to take: the node gave it no more.", c.load.Name, got, intended)
		}
		if intended, got := c.load.IntendedFramesPerSecond(), c.each(c.received); intended > 0 && got*100 < intended*leastPercent {
			d.add(v1alpha1.WarningNeighborLoadNotReached, 0,
				"Neighbour %q sent %d and received %d of the %d frames/s that it was asked for: the node gave it no more.", c.load.Name, c.each(c.sent), got, intended)
		}
	}
	return d.list
}
