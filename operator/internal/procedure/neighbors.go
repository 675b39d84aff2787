package procedure

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
)

// A run that compares is measured in two sides: everything without noisy neighbors, then
// everything with them. Each side is a whole measurement over its own records and the
// calibration, which both share. So a device that changes during one side does not affect the
// other's rules, and a figure means the same on both sides.
const (
	sideWithout = false
	sideWith    = true
)

// of returns the records of a side, with those of the calibration.
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

// Next returns what comes after the records. A *measure.Failure means that the measurement cannot
// continue; the same records cause it again.
func Next(instr measure.Instructions, records []measure.Record) (Step, error) {
	if instr.Compares() {
		step, err := next(instr, of(sideWithout, records))
		if err != nil || !step.Done {
			if begun := slices.IndexFunc(records, func(r measure.Record) bool { return r.Neighbors }); err == nil && begun >= 0 {
				err = fmt.Errorf("%w: record %d was made with neighbors before all was measured without them", ErrRecords, begun)
			}
			return step, err
		}
		records = of(sideWith, records)
	}
	step, err := next(instr, records)
	step.Neighbors = instr.HasNeighbors() && err == nil && !step.Done && step.Path != PathCalibration
	return step, err
}

// Progress returns how far the measurement is; if it compares, both sides count alike.
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
		out.Stage = excerpt.Text(without.Stage+", without neighbors", maxStageBytes)
	case with.Percent < 100:
		out.Stage = excerpt.Text(with.Stage+", with neighbors", maxStageBytes)
	}
	return out
}

// Results reads the records during the measurement as well as after it, and after a failure: it
// returns what is final, nothing else. With several repeats the figures are those of the repeats
// so far, which their statistics count. Where neighbors are compared, the figures are those with
// them; those without are in the comparison.
func Results(instr measure.Instructions, records []measure.Record) Figures {
	if !instr.HasNeighbors() {
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
		Loads:      loads(instr, records),
		Comparison: differences(without.list(), out.list()),
	}
	out.Warnings = append(out.Warnings, warnNeighbors(instr, records)...)
	for _, w := range without.Warnings {
		if !slices.ContainsFunc(out.Warnings, func(o v1alpha1.Warning) bool { return o.Message == w.Message }) && len(out.Warnings) < maxWarnings {
			w.Message = excerpt.Text("Without neighbors: "+w.Message, maxWarningBytes)
			out.Warnings = append(out.Warnings, w)
		}
	}
	return out
}

// maxDifferences is the API's bound of the comparison.
const maxDifferences = 512

// differences pairs the figures without and with the neighbors.
func differences(without, with []figure.Figure) []v1alpha1.NoisyNeighborDifference {
	var out []v1alpha1.NoisyNeighborDifference
	for _, c := range figure.Join(without, with) {
		if len(out) < maxDifferences {
			out = append(out, v1alpha1.NoisyNeighborDifference{
				FigureKey: c.FigureKey, Without: c.Before, With: c.After, DifferencePartsPerMillion: figure.Difference(c.Before, c.After),
			})
		}
	}
	return out
}

// list returns the figures as a list that others can be joined with.
func (f Figures) list() []figure.Figure {
	return figure.Results{Frames: f.Frames, TCP: f.TCP, Connections: f.Connections, CPU: f.CPU}.Figures()
}

// company is what one neighbor did in the trials that are used.
type company struct {
	load                              measure.NeighborLoad
	trials, known, stopped            int
	milliseconds, cpu, sent, received int64
}

// accompanied adds up what is known of each neighbor. Trials that the generator doubts are made
// again and do not count.
func accompanied(instr measure.Instructions, records []measure.Record) []company {
	out := make([]company, len(instr.Neighbors))
	for i, load := range instr.Neighbors {
		c := company{load: load}
		for _, r := range records {
			// Without evidence no neighbor was asked, or there was no room for the answer.
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

// each returns a sum per second, over the milliseconds of the trials.
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

// minPercent of what was asked of a neighbor counts as reached.
const minPercent = 90

// warnNeighbors warns where a neighbor did not do what was asked for. Nothing can be said about
// memory and disk: their load is as fast as the node allows.
func warnNeighbors(instr measure.Instructions, records []measure.Record) []v1alpha1.Warning {
	d := &warningList{seen: map[string]bool{}}
	for _, c := range accompanied(instr, records) {
		if lost := c.stopped + c.trials - c.known; lost > 0 {
			d.add(v1alpha1.WarningNeighborStopped, wholeRun,
				"In %d of %d trials neighbor %q did not load, or did not say that it did, so their figures may be those without it.", lost, c.trials, c.load.Name)
		}
		if c.milliseconds == 0 {
			continue
		}
		if intended, got := c.load.IntendedMilliCPU(), c.each(c.cpu); intended > 0 && got*100 < intended*minPercent {
			d.add(v1alpha1.WarningNeighborLoadNotReached, wholeRun,
				"Neighbor %q took %d of the %d thousandths of a CPU that it was asked to take: the node gave it no more.", c.load.Name, got, intended)
		}
		if intended, got := c.load.IntendedFramesPerSecond(), c.each(c.received); intended > 0 && got*100 < intended*minPercent {
			d.add(v1alpha1.WarningNeighborLoadNotReached, wholeRun,
				"Neighbor %q sent %d and received %d of the %d frames/s that it was asked for: the node gave it no more.", c.load.Name, c.each(c.sent), got, intended)
		}
	}
	return d.list
}
