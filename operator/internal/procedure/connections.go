package procedure

import (
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

const (
	// connectionsRecordBytes is what a record of connections takes.
	connectionsRecordBytes = 1200
	// connectionsOverhead is what a trial takes in addition to what counts: the first second, and
	// the waits at its end.
	connectionsOverhead = 4 * time.Second
	// reachedPercent of the intended rate count as reached: a scheduler that opens
	// single connections is never exact.
	reachedPercent = 99
)

// connectionsOf measures many connections with an exchange in each, after
// everything else.
type connectionsOf struct{ base }

var connectionsMeasurement = connectionsOf{base{name: measure.StageConnections}}

func (connectionsOf) place() place                           { return afterSizes }
func (connectionsOf) repetition() repetition                 { return repeatedly }
func (connectionsOf) path(phase) Path                        { return PathStateful }
func (connectionsOf) check(instr measure.Instructions) error { return validateConnections(instr) }
func (connectionsOf) recordBytes(measure.Instructions) int   { return connectionsRecordBytes }

// phases returns one for each load.
func (connectionsOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	if instr.Connections == nil {
		return nil
	}
	var out []phase
	for i := range instr.Connections.Loads {
		load := &instr.Connections.Loads[i]
		out = append(out, phase{load: v1alpha1.LatencyLoad{Name: load.Name}, stateful: true, connections: load})
	}
	return out
}

func (connectionsOf) title(w *replay, ph phase) string {
	return excerpt.Text(fmt.Sprintf("connections at load %s%s", ph.load.Name, w.ofRepeat(ph)), maxStageBytes)
}

func (connectionsOf) reportRun(w *replay, figures *Figures) {
	figures.Connections = w.connectionsResult()
}

func (connectionsOf) cpuGroups(p *part) []cpuGroup {
	key := v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsEstablished, Load: p.load.Name}
	if ptr.Deref(p.connections.ConcurrentConnections, 0) > 0 {
		key.Metric = v1alpha1.MetricConnectionsHeld
	}
	return []cpuGroup{{key, []measure.Record{*p.last()}}}
}

func (connectionsOf) warn(w *replay, d *warningList, _ measure.Size, _ []*part) { w.warnConnections(d) }

func validateConnections(instr measure.Instructions) error {
	if instr.Connections == nil {
		return nil
	}
	if instr.Stateful == nil {
		return fmt.Errorf("%w: connections without a generator that makes them", ErrInstructions)
	}
	if len(instr.Connections.Loads) == 0 {
		return fmt.Errorf("%w: connections without a load", ErrInstructions)
	}
	seen := map[string]bool{}
	for _, load := range instr.Connections.Loads {
		switch {
		case load.Name == "" || seen[load.Name]:
			return fmt.Errorf("%w: load %q of the connections has no name, or another load has it too", ErrInstructions, load.Name)
		case load.ConnectionsPerSecond < 1 || load.RequestBytes < 1 || load.ResponseBytes < 1 || ptr.Deref(load.ConcurrentConnections, 0) < 0:
			return fmt.Errorf("%w: load %q of the connections has no rate or no exchange", ErrInstructions, load.Name)
		case load.DurationSeconds < 1:
			return fmt.Errorf("%w: load %q of the connections lasts less than a second", ErrInstructions, load.Name)
		}
		seen[load.Name] = true
	}
	return nil
}

// connectionsTrial returns what a trial of a load offers.
func connectionsTrial(load *v1alpha1.ConnectionsLoad) *measure.ConnectionsTrial {
	return &measure.ConnectionsTrial{
		ConnectionsPerSecond: load.ConnectionsPerSecond, RequestBytes: int(load.RequestBytes), ResponseBytes: int(load.ResponseBytes),
		ConcurrentConnections: ptr.Deref(load.ConcurrentConnections, 0),
	}
}

// expected returns the time of one trial: held connections are opened, held, and closed at the
// rate at which they were opened.
func (connectionsOf) expected(w *replay, ph phase) time.Duration {
	return time.Duration(seconds(ph.connections.DurationSeconds)+2*connectionsTrial(ph.connections).RampNanoseconds()+w.settle()) + connectionsOverhead
}

// fill takes the first record that the generator does not doubt.
func (connectionsOf) fill(w *replay, p *part, records []measure.Record) error {
	p.next = measure.Trial{
		DurationNanoseconds: seconds(p.connections.DurationSeconds), SettleNanoseconds: w.settle(),
		Connections: connectionsTrial(p.connections),
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

// connectionsResult returns the result of the trials so far, or nil.
func (w *replay) connectionsResult() *v1alpha1.ConnectionsResult {
	if w.instr.Connections == nil {
		return nil
	}
	out := &v1alpha1.ConnectionsResult{}
	for _, load := range w.instr.Connections.Loads {
		var group []measure.ConnectionsOutcome
		var records []measure.Record
		for _, p := range w.parts {
			if p.stage() == measure.StageConnections && p.load.Name == load.Name && p.over {
				records = append(records, *p.last())
				group = append(group, *p.last().Outcome.Connections)
			}
		}
		if len(group) == 0 {
			continue
		}
		result := combineConnections(load, group)
		result.Doubts = connectionsDoubts(result, group, doubtsOf(records))
		out.Loads = append(out.Loads, result)
		out.Program = programOf(group[len(group)-1].Program)
	}
	if len(out.Loads) == 0 {
		return nil
	}
	return out
}

// combineConnections combines the repeats of a load into one result.
func combineConnections(load v1alpha1.ConnectionsLoad, group []measure.ConnectionsOutcome) v1alpha1.ConnectionsLoadResult {
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
	if intended := ptr.Deref(load.ConcurrentConnections, 0); intended > 0 {
		out.IntendedConcurrentConnections, out.HeldConnections = &intended, &held
		return out
	}
	established := downMean(group, measure.ConnectionsOutcome.EstablishedPerSecond)
	out.AttemptedConnectionsPerSecond = new(downMean(group, measure.ConnectionsOutcome.AttemptsPerSecond))
	out.EstablishedConnectionsPerSecond = &established
	out.Statistics = summarized(v1alpha1.MetricConnectionsEstablished, values(group, measure.ConnectionsOutcome.EstablishedPerSecond), established)
	return out
}

// downMean returns a rate's mean, rounded down: rates are never flattered.
func downMean[T any](list []T, figure func(T) int64) int64 {
	return int64(math.Floor(statistics.Mean(values(list, figure))))
}

// warnConnections warns where the generator did less than it was asked to.
func (w *replay) warnConnections(d *warningList) {
	result := w.connectionsResult()
	if result == nil {
		return
	}
	for _, p := range w.parts {
		if p.stage() != measure.StageConnections || !p.over {
			continue
		}
		intended := ptr.Deref(p.connections.ConcurrentConnections, 0)
		if intended == 0 {
			continue
		}
		if late := p.last().Outcome.Connections.CountedAttempts; openedLate(late, intended) {
			d.add(v1alpha1.WarningLoadNotReached, wholeRun,
				"At load %s the generator opened %d of %d connections late, in the time that counts, so those held and at once may be too few.",
				p.load.Name, late, intended)
		}
	}
	for _, l := range result.Loads {
		if beganTooFew(l) {
			d.add(v1alpha1.WarningLoadNotReached, wholeRun,
				"At load %s the generator began %d of %d connections/s, so the device may do better, and what it does at the whole load is not known.",
				l.Name, *l.AttemptedConnectionsPerSecond, l.IntendedConnectionsPerSecond)
		}
		if slices.Contains(l.Doubts, v1alpha1.DoubtEndpointCeiling) {
			d.add(v1alpha1.WarningEndpointCeiling, wholeRun,
				"At load %s the generator's threads, which are all clients and servers, were busy for %d %% of the time, so they may be the limit, and the device may do better.",
				l.Name, l.GeneratorCPUPartsPerMillion/10_000)
		}
	}
}

// openedLate reports whether the generator was late with connections that are held: it opens the
// last of them when all should be open.
func openedLate(late, intended int64) bool { return late*100 > intended*(100-reachedPercent) }

// beganTooFew reports whether the generator began fewer connections each second than intended.
func beganTooFew(l v1alpha1.ConnectionsLoadResult) bool {
	began := l.AttemptedConnectionsPerSecond
	return began != nil && *began*100 < l.IntendedConnectionsPerSecond*reachedPercent
}

// connectionsDoubts adds where the generator did less than it was asked to, or was at its limit.
func connectionsDoubts(l v1alpha1.ConnectionsLoadResult, group []measure.ConnectionsOutcome, out []v1alpha1.DoubtCode) []v1alpha1.DoubtCode {
	late := func(o measure.ConnectionsOutcome) bool {
		return l.IntendedConcurrentConnections != nil && openedLate(o.CountedAttempts, *l.IntendedConcurrentConnections)
	}
	if beganTooFew(l) || slices.ContainsFunc(group, late) {
		out = append(out, v1alpha1.DoubtLoadNotReached)
	}
	if l.GeneratorCPUPartsPerMillion >= wholeCPU {
		out = append(out, v1alpha1.DoubtEndpointCeiling)
	}
	return distinct(out)
}
