package procedure

import (
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

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
