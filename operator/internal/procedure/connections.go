package procedure

import (
	"fmt"
	"math"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

const (
	// connectionsRecordBytes is what a record of connections takes.
	connectionsRecordBytes = 1200
	// connectionsOverhead is what a trial takes beside what counts: the first
	// second, and what is waited for at its end.
	connectionsOverhead = 4 * time.Second
	// reachedPercent of the intended rate count as reached: a scheduler that opens
	// single connections is never exact.
	reachedPercent = 99
)

// connectionPhases are one for each load, behind everything else.
func connectionPhases(instr measure.Instructions) []phase {
	if instr.Connections == nil {
		return nil
	}
	var out []phase
	for i := range instr.Connections.Loads {
		load := &instr.Connections.Loads[i]
		out = append(out, phase{stage: measure.StageConnections, load: measure.LoadInstruction{Name: load.Name}, stateful: true, connections: load})
	}
	return out
}

func validateConnections(instr measure.Instructions) error {
	if instr.Connections == nil {
		return nil
	}
	if instr.Stateful == nil {
		return fmt.Errorf("%w: connections without a generator that makes them", ErrInstructions)
	}
	if err := instr.Connections.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrInstructions, err)
	}
	return nil
}

// expectedConnections is the time of one trial: held connections are opened, held,
// and closed as they were opened.
func (w *walk) expectedConnections(load *measure.ConnectionLoad) time.Duration {
	return time.Duration(load.DurationNanoseconds+2*load.RampNanoseconds()+w.instr.SettleNanoseconds) + connectionsOverhead
}

// fillConnections takes the first record that the generator does not doubt.
func (w *walk) fillConnections(p *part, records []measure.Record) error {
	p.next = measure.Trial{
		DurationNanoseconds: p.connections.DurationNanoseconds, SettleNanoseconds: w.instr.SettleNanoseconds,
		Connections: &p.connections.ConnectionsTrial,
	}
	if err := p.once(records); err != nil || !p.over {
		return err
	}
	outcome := p.last().Outcome.Connections
	if outcome == nil {
		return fmt.Errorf("%w: record %d is no trial of connections", ErrRecords, p.last().Index)
	}
	if outcome.Attempts > 0 && outcome.Established == 0 {
		return &measure.Failure{
			Reason: v1alpha1.ReasonChainFailed,
			Err:    fmt.Errorf("none of %d connections of load %s came through", outcome.Attempts, p.connections.Name),
			Remedy: "look at the logs of the chain's functions",
		}
	}
	return nil
}

// connectionsResult is what the trials so far came to, or nil.
func (w *walk) connectionsResult() *v1alpha1.ConnectionsResult {
	if w.instr.Connections == nil {
		return nil
	}
	out := &v1alpha1.ConnectionsResult{}
	for _, load := range w.instr.Connections.Loads {
		var group []measure.ConnectionsOutcome
		var records []measure.Record
		for _, p := range w.parts {
			if p.stage == measure.StageConnections && p.load.Name == load.Name && p.over {
				records = append(records, *p.last())
				group = append(group, *p.last().Outcome.Connections)
			}
		}
		if len(group) == 0 {
			continue
		}
		result := combineConnections(load, group)
		if used, found := usedIn(records); found {
			used.Figure, used.Name = v1alpha1.CPUAtConnections, load.Name
			result.CPU = &used
		}
		out.Loads = append(out.Loads, result)
		out.Program = programOf(group[len(group)-1].Program)
	}
	if len(out.Loads) == 0 {
		return nil
	}
	return out
}

// combineConnections makes one result of the repeats of a load.
func combineConnections(load measure.ConnectionLoad, group []measure.ConnectionsOutcome) v1alpha1.ConnectionsLoadResult {
	out := v1alpha1.ConnectionsLoadResult{
		Name: load.Name, IntendedConnectionsPerSecond: load.ConnectionsPerSecond, ConcurrentConnections: math.MaxInt64,
		ForwardBitsPerSecond: downMean(group, func(o measure.ConnectionsOutcome) int64 {
			return measure.BitsPerSecond(o.ForwardBytes, o.CountedNanoseconds)
		}),
		ReverseBitsPerSecond: downMean(group, func(o measure.ConnectionsOutcome) int64 {
			return measure.BitsPerSecond(o.ReverseBytes, o.CountedNanoseconds)
		}),
	}
	held := int64(math.MaxInt64)
	for _, o := range group {
		out.Attempted += o.Attempts
		out.Established += o.Established
		out.Completed += o.Completed
		out.Reset += o.Reset
		out.TimedOut += o.TimedOut
		out.Unfinished += o.Unfinished
		out.Retransmits += o.Retransmits
		out.ConcurrentConnections = min(out.ConcurrentConnections, o.Concurrent)
		held = min(held, o.HeldAtEnd)
		out.GeneratorCPUPartsPerMillion = max(out.GeneratorCPUPartsPerMillion, o.GeneratorCPUPartsPerMillion)
	}
	out.FailedPartsPerMillion = lossPartsPerMillion(uint64(max(0, out.Reset+out.TimedOut+out.Unfinished)), uint64(max(0, out.Attempted)))
	if load.ConcurrentConnections > 0 {
		out.IntendedConcurrentConnections, out.HeldConnections = new(load.ConcurrentConnections), &held
		return out
	}
	established := downMean(group, measure.ConnectionsOutcome.EstablishedPerSecond)
	out.AttemptedConnectionsPerSecond = new(downMean(group, measure.ConnectionsOutcome.AttemptsPerSecond))
	out.EstablishedConnectionsPerSecond = &established
	out.Statistics = summarized(v1alpha1.MetricConnectionsEstablished, values(group, measure.ConnectionsOutcome.EstablishedPerSecond), established)
	return out
}

// downMean is a rate's mean, rounded down: rates are never flattered.
func downMean[T any](list []T, figure func(T) int64) int64 {
	return int64(math.Floor(statistics.Mean(values(list, figure))))
}

// warnConnections says where the generator did less than it was asked to.
func (w *walk) warnConnections(d *doubtful) {
	result := w.connectionsResult()
	if result == nil {
		return
	}
	for _, p := range w.parts {
		if p.stage != measure.StageConnections || !p.over || p.connections.ConcurrentConnections == 0 {
			continue
		}
		// A generator that is late opens the last of them when all should be open.
		if late := p.last().Outcome.Connections.CountedAttempts; late*100 > p.connections.ConcurrentConnections*(100-reachedPercent) {
			d.add(v1alpha1.WarningLoadNotReached, 0,
				"At load %s the generator opened %d of %d connections late, in the time that counts, so those held and at once may be too few.",
				p.load.Name, late, p.connections.ConcurrentConnections)
		}
	}
	for _, l := range result.Loads {
		if began := l.AttemptedConnectionsPerSecond; began != nil && *began*100 < l.IntendedConnectionsPerSecond*reachedPercent {
			d.add(v1alpha1.WarningLoadNotReached, 0,
				"At load %s the generator began %d of %d connections/s, so the device may do better, and what it does at the whole load is not known.",
				l.Name, *began, l.IntendedConnectionsPerSecond)
		}
		if l.GeneratorCPUPartsPerMillion >= wholeCPU {
			d.add(v1alpha1.WarningEndpointCeiling, 0,
				"At load %s the generator's threads, which are all clients and servers, were busy for %d %% of the time, so they may be the limit, and the device may do better.",
				l.Name, l.GeneratorCPUPartsPerMillion/10_000)
		}
	}
}
