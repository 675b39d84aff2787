package figure

import "vnfbench.io/operator/api/v1alpha1"

func (w *walk) tcp(result *v1alpha1.TCPResult) {
	if result == nil {
		return
	}
	for _, s := range result.Streams {
		key := Key{FigureKey: v1alpha1.FigureKey{Streams: s.Streams}}
		for _, d := range s.Directions {
			key.Direction = d.Direction
			w.tcpDirection(key, d)
		}
	}
}

func (w *walk) tcpDirection(key Key, d v1alpha1.TCPDirectionResult) {
	p := w.at(key).doubtful(d.Doubts...)
	p.statistics = d.Statistics
	p.add(v1alpha1.MetricTCPGoodput, d.GoodputBitsPerSecond)
	p.add("TCPSentBitsPerSecond", d.SentBitsPerSecond)
	p.add(v1alpha1.MetricTCPRetransmits, d.Retransmits)
	p.add("TCPEfficiencyPartsPerMillion", d.EfficiencyPartsPerMillion)
	// Without an estimate of the sender's kernel there are no samples.
	trip := p.from(0).doubtful(v1alpha1.DoubtNotCounted)
	t := v1alpha1.TCPRoundTripTime{}
	if d.RoundTripTime != nil {
		t, trip = *d.RoundTripTime, p
	}
	trip.add("TCPRoundTripTimeMinNanoseconds", t.MinNanoseconds)
	trip.add(v1alpha1.MetricTCPRoundTripTimeMean, t.MeanNanoseconds)
	trip.add("TCPRoundTripTimeMaxNanoseconds", t.MaxNanoseconds)
	p.add("TCPSenderCPUPartsPerMillion", d.SenderCPUPartsPerMillion)
	p.add("TCPReceiverCPUPartsPerMillion", d.ReceiverCPUPartsPerMillion)
	p.add("TCPMaximumSegmentBytes", int64(d.MaximumSegmentBytes))
	for n, i := range d.Intervals {
		key.Interval = int32(n + 1)
		p := w.at(key)
		p.add("IntervalStartMilliseconds", i.StartMilliseconds)
		p.add("TCPSentBitsPerSecond", i.SentBitsPerSecond)
		p.add(v1alpha1.MetricTCPRetransmits, i.Retransmits)
	}
}

func (w *walk) connections(result *v1alpha1.ConnectionsResult) {
	if result == nil {
		return
	}
	for _, l := range result.Loads {
		key := Key{FigureKey: v1alpha1.FigureKey{Load: l.Name}}
		p := w.at(key).doubtful(l.Doubts...)
		p.statistics = l.Statistics
		p.add("ConnectionsIntendedPerSecond", l.IntendedConnectionsPerSecond)
		p.addKnown("ConnectionsAttemptedPerSecond", l.AttemptedConnectionsPerSecond)
		p.addKnown(v1alpha1.MetricConnectionsEstablished, l.EstablishedConnectionsPerSecond)
		p.addKnown("ConnectionsIntendedConcurrent", l.IntendedConcurrentConnections)
		p.add("ConnectionsConcurrent", l.ConcurrentConnections)
		p.addKnown(v1alpha1.MetricConnectionsHeld, l.HeldConnections)
		p.add("ConnectionsAttempted", l.Attempted)
		p.add("ConnectionsEstablished", l.Established)
		p.add("ConnectionsCompleted", l.Completed)
		p.add("ConnectionsReset", l.Reset)
		p.add("ConnectionsTimedOut", l.TimedOut)
		p.add("ConnectionsUnfinished", l.Unfinished)
		p.add(v1alpha1.MetricConnectionsFailed, l.FailedPartsPerMillion)
		p.add("ConnectionsForwardBitsPerSecond", l.ForwardBitsPerSecond)
		p.add("ConnectionsReverseBitsPerSecond", l.ReverseBitsPerSecond)
		p.add("ConnectionsRetransmits", l.Retransmits)
		p.add("ConnectionsGeneratorCPUPartsPerMillion", l.GeneratorCPUPartsPerMillion)
	}
}

// cpu adds what the node and the functions used in the trials of one key.
func (w *walk) cpu(c v1alpha1.CPUResult) {
	key := Key{FigureKey: c.FigureKey}
	w.at(key).addKnown("CPUSentFrames", c.SentFrames)
	w.at(key).addKnown("CPUSendingPartsPerMillion", c.SendingPartsPerMillion)
	if n := c.Node; n != nil {
		p := w.at(key).from(max(1, int64(c.Trials)))
		p.add("NodeCPUs", int64(n.CPUs))
		p.add("NodeUserMilliCPU", n.UserMilliCPU)
		p.add("NodeSystemMilliCPU", n.SystemMilliCPU)
		p.add("NodeIRQMilliCPU", n.IRQMilliCPU)
		p.add("NodeSoftirqMilliCPU", n.SoftirqMilliCPU)
		p.addKnown("NodeSoftirqThreadsMilliCPU", n.SoftirqThreadsMilliCPU)
		p.add("NodeGuestMilliCPU", n.GuestMilliCPU)
		p.add("NodeStealMilliCPU", n.StealMilliCPU)
		p.nodeFrameCost(n.PerFrame)
	}
	for _, f := range c.Functions {
		key.Function = f.Name
		w.at(key).from(max(1, int64(c.Trials))).function(f)
	}
}

func (p place) function(f v1alpha1.FunctionCPU) {
	p.addKnown("ProcessMilliCPU", f.ProcessMilliCPU)
	p.addKnown("ProcessNanosecondsPerFrame", f.ProcessNanosecondsPerFrame)
	if g := f.Guest; g != nil {
		p.add("GuestUserMilliCPU", g.UserMilliCPU)
		p.add("GuestSystemMilliCPU", g.SystemMilliCPU)
		p.add("GuestIRQMilliCPU", g.IRQMilliCPU)
		p.add("GuestSoftirqMilliCPU", g.SoftirqMilliCPU)
		p.add("GuestStealMilliCPU", g.StealMilliCPU)
		p.guestFrameCost(g.PerFrame)
	}
	if d := f.Domain; d != nil {
		p.addKnown("DomainVCPUMilliCPU", d.VCPUMilliCPU)
		p.addKnown("DomainGuestMilliCPU", d.GuestMilliCPU)
		p.addKnown("DomainEmulatorMilliCPU", d.EmulatorMilliCPU)
		p.addKnown("DomainIOThreadMilliCPU", d.IOThreadMilliCPU)
		p.addKnown("DomainVhostMilliCPU", d.VhostMilliCPU)
		p.addKnown("DomainOtherMilliCPU", d.OtherMilliCPU)
		p.domainFrameCost(d.PerFrame)
	}
	p.addKnown("FunctionDroppedFrames", f.DroppedFrames)
	p.addKnown("FunctionSentFrames", f.SentFrames)
	for _, counter := range f.Counters {
		p.key.Counter = counter.Name
		p.add("FunctionCounter", counter.Value)
	}
}

func (p place) nodeFrameCost(c *v1alpha1.NodeFrameCost) {
	if c == nil {
		return
	}
	p.add("NodeUserNanosecondsPerFrame", c.UserNanoseconds)
	p.add("NodeSystemNanosecondsPerFrame", c.SystemNanoseconds)
	p.add("NodeIRQNanosecondsPerFrame", c.IRQNanoseconds)
	p.add("NodeSoftirqNanosecondsPerFrame", c.SoftirqNanoseconds)
	p.addKnown("NodeSoftirqThreadsNanosecondsPerFrame", c.SoftirqThreadsNanoseconds)
	p.add("NodeGuestNanosecondsPerFrame", c.GuestNanoseconds)
	p.add("NodeStealNanosecondsPerFrame", c.StealNanoseconds)
	p.addKnown("NodeCyclesPerFrame", c.Cycles)
}

func (p place) guestFrameCost(c *v1alpha1.GuestFrameCost) {
	if c == nil {
		return
	}
	p.add("GuestUserNanosecondsPerFrame", c.UserNanoseconds)
	p.add("GuestSystemNanosecondsPerFrame", c.SystemNanoseconds)
	p.add("GuestIRQNanosecondsPerFrame", c.IRQNanoseconds)
	p.add("GuestSoftirqNanosecondsPerFrame", c.SoftirqNanoseconds)
	p.add("GuestStealNanosecondsPerFrame", c.StealNanoseconds)
}

func (p place) domainFrameCost(c *v1alpha1.DomainFrameCost) {
	if c == nil {
		return
	}
	p.addKnown("DomainVCPUNanosecondsPerFrame", c.VCPUNanoseconds)
	p.addKnown("DomainGuestNanosecondsPerFrame", c.GuestNanoseconds)
	p.addKnown("DomainEmulatorNanosecondsPerFrame", c.EmulatorNanoseconds)
	p.addKnown("DomainIOThreadNanosecondsPerFrame", c.IOThreadNanoseconds)
	p.addKnown("DomainVhostNanosecondsPerFrame", c.VhostNanoseconds)
	p.addKnown("DomainOtherNanosecondsPerFrame", c.OtherNanoseconds)
}

func (w *walk) neighbors(report *v1alpha1.NoisyNeighborsReport) {
	if report == nil {
		return
	}
	for _, n := range report.Loads {
		p := w.at(Key{Neighbor: n.Name})
		p.add("NeighborTrials", int64(n.Trials))
		p.addKnown("NeighborIntendedMilliCPU", n.IntendedMilliCPU)
		p.addKnown("NeighborMilliCPU", n.MilliCPU)
		p.addKnown("NeighborIntendedFramesPerSecond", n.IntendedFramesPerSecond)
		p.addKnown("NeighborSentFramesPerSecond", n.SentFramesPerSecond)
		p.addKnown("NeighborReceivedFramesPerSecond", n.ReceivedFramesPerSecond)
		for _, s := range n.Stressors {
			p := w.at(Key{Neighbor: n.Name, Stressor: s.Name})
			p.add("StressorOperations", s.Operations)
			p.add("StressorOperationsPerSecond", s.OperationsPerSecond)
		}
	}
	for _, d := range report.Comparison {
		w.at(Key{FigureKey: d.FigureKey, Side: SideWithout}).addKnown(d.Metric, d.Without)
	}
}

func (w *walk) baseline(report *v1alpha1.BaselineReport) {
	if report == nil {
		return
	}
	for _, f := range report.Figures {
		w.at(Key{FigureKey: f.FigureKey, Side: SideBaseline}).doubtful(f.Doubts...).add(f.Metric, f.Baseline)
	}
}
