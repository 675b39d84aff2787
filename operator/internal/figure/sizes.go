package figure

import "vnfbench.io/operator/api/v1alpha1"

// Table is how the report shows the figures of a measurement, in a row for each size.
type Table struct {
	Title   string
	Columns []Column
	Notes   []string
	// Deviations say how the measurement differs from its standard, whatever its settings are.
	Deviations []string
}

// Column shows the figures of a metric.
type Column struct {
	// Head is the column's head without the unit.
	Head   string
	Metric v1alpha1.Metric
	// Samples shows how many samples the figures have instead of their values.
	Samples bool
}

// lossOfCurve is the loss at a point of the frame loss rate.
const lossOfCurve v1alpha1.Metric = "FrameLossRatePartsPerMillion"

// ofSizes are the metrics of sizeMeasurements.
var ofSizes = []Metric{
	{"FrameLossRateMaximumFramesPerSecond", FramesPerSecond, Neither, OfSize, "maximum load", 0},
	{"FrameLossRateIntendedFramesPerSecond", FramesPerSecond, Neither, OfSize, "intended load", Shown},
	{"FrameLossRateOfferedFramesPerSecond", FramesPerSecond, Neither, OfSize, "offered load", Shown},
	{"FrameLossRateForwardingFramesPerSecond", FramesPerSecond, Higher, OfSize, "forwarding rate", Shown},
	{lossOfCurve, PartsPerMillion, Lower, OfSize, "loss", Shown},
	{"FrameLossRateAwayPartsPerMillion", PartsPerMillion, Neither, OfSize, "time without a core to send", 0},
	{v1alpha1.MetricBackToBack, Number, Higher, OfSize, "back-to-back frames", Judged | Compared | Default | Shown},
	{"BackToBackMinFrames", Number, Higher, OfSize, "shortest burst", 0},
	{"BackToBackMaxFrames", Number, Higher, OfSize, "longest burst", 0},
	{"BackToBackStandardDeviationFrames", Number, Lower, OfSize, "standard deviation of bursts", 0},
	{"BackToBackStepFrames", Number, Neither, OfSize, "precision of bursts", 0},
	{"BackToBackLongestBurstFrames", Number, Neither, OfSize, "longest burst that was possible", 0},
	{"BackToBackMaximumFramesPerSecond", FramesPerSecond, Neither, OfSize, "rate within a burst", 0},
	{"BackToBackThroughputFramesPerSecond", FramesPerSecond, Neither, OfSize, "throughput for the correction", 0},
	{"BackToBackImpliedBufferNanoseconds", Nanoseconds, Neither, OfSize, "implied buffer", 0},
	{"BackToBackCorrectedBufferNanoseconds", Nanoseconds, Neither, OfSize, "corrected buffer", 0},
	{v1alpha1.MetricReceiveRate, FramesPerSecond, Higher, OfSize, "receive rate", Judged | Compared | Default | Shown},
	{"ReceiveRateIntendedFramesPerSecond", FramesPerSecond, Neither, OfSize, "intended load of the receive rate", Shown},
	{"ReceiveRateMinFramesPerSecond", FramesPerSecond, Higher, OfSize, "lowest receive rate", 0},
	{"ReceiveRateMaxFramesPerSecond", FramesPerSecond, Higher, OfSize, "highest receive rate", 0},
	{"ReceiveRateStandardDeviationFramesPerSecond", FramesPerSecond, Lower, OfSize, "standard deviation of the receive rate", 0},
	{"ReceiveRateOfferedFramesPerSecond", FramesPerSecond, Neither, OfSize, "offered load of the receive rate", Shown},
	{"ReceiveRateLossPartsPerMillion", PartsPerMillion, Lower, OfSize, "loss at the maximum load", Shown},
	{"ReceiveRateUpperBoundFramesPerSecond", FramesPerSecond, Higher, OfSize, "most of the receive rate without other work on the core that sends, if that costs at most twice its time (assumed)", 0},
	{"ReceiveRateHeldPartsPerMillion", PartsPerMillion, Neither, OfSize, "time in which other work had the core that sends, at the maximum load", 0},
	{v1alpha1.MetricRecovery, Milliseconds, Lower, OfSize, "recovery time, at most", Judged | Shown | Shared},
	{"RecoveryLowerBoundMilliseconds", Milliseconds, Lower, OfSize, "recovery time, at least", Shown},
	{"RecoveryResolutionMilliseconds", Milliseconds, Neither, OfSize, "resolution of the recovery time", 0},
	{"RecoveryOverloadFramesPerSecond", FramesPerSecond, Neither, OfSize, "load of the overload", Shown},
	{"RecoveryOverloadLossPartsPerMillion", PartsPerMillion, Lower, OfSize, "loss of the overload", Shown},
	{"RecoveryReducedFramesPerSecond", FramesPerSecond, Neither, OfSize, "load after the overload", 0},
	{"RecoveryCleanFrames", Number, Neither, OfSize, "frames after the overload without loss", 0},
	{"RecoveryTrials", Number, Neither, OfSize, "trials after the overload", 0},
	{"RecoveryLossyTrials", Number, Lower, OfSize, "trials after the overload with loss", 0},
}

// latenessOfSizes are the waits before the departure of sizeMeasurements.
var latenessOfSizes = []Lateness{
	{"FrameLossRate", OfSize, "frame loss rate"},
	{"BackToBack", OfSize, "back-to-back frames"},
	{"ReceiveRate", OfSize, "receive rate"},
	{"Recovery", OfSize, "trials after the overload"},
}

// sizeMeasurement is a measurement whose figures belong to a size alone.
type sizeMeasurement struct {
	// table is empty if the report has a section of another form.
	table Table
	// judged is the metric that criteria name, and missing why a run that measured it may have no
	// figure of it; both are empty where it always has one.
	judged  v1alpha1.Metric
	missing string
	add     func(w *walk, key Key, frame v1alpha1.FrameResult)
}

// sizeMeasurements are those measurements in the order of the report.
var sizeMeasurements = []sizeMeasurement{
	{add: (*walk).frameLossRate},
	{table: Table{Title: "Back-to-back frames (RFC 9004)", Columns: []Column{
		{Head: "Mean frames", Metric: v1alpha1.MetricBackToBack}, {Head: "Min", Metric: "BackToBackMinFrames"},
		{Head: "Max", Metric: "BackToBackMaxFrames"}, {Head: "Stdev", Metric: "BackToBackStandardDeviationFrames"},
		{Head: "Searches", Metric: v1alpha1.MetricBackToBack, Samples: true}, {Head: "Step", Metric: "BackToBackStepFrames"},
		{Head: "Burst", Metric: "BackToBackMaximumFramesPerSecond"}, {Head: "Throughput", Metric: "BackToBackThroughputFramesPerSecond"},
		{Head: "Implied buffer", Metric: "BackToBackImpliedBufferNanoseconds"},
		{Head: "Corrected buffer", Metric: "BackToBackCorrectedBufferNanoseconds"},
	}, Notes: []string{
		"Where the way to the device (section Generator) is Inline, the buffer includes the generator's receive ring, which represents that of a network card.",
	}}, judged: v1alpha1.MetricBackToBack, missing: "the device does not bound the throughput without loss, so there is no burst to search for",
		add: (*walk).backToBack},
	{table: Table{Title: "Forwarding rate at maximum load", Columns: []Column{
		{Head: "Intended", Metric: "ReceiveRateIntendedFramesPerSecond"}, {Head: "Mean", Metric: v1alpha1.MetricReceiveRate},
		{Head: "Min", Metric: "ReceiveRateMinFramesPerSecond"}, {Head: "Max", Metric: "ReceiveRateMaxFramesPerSecond"},
		{Head: "Stdev", Metric: "ReceiveRateStandardDeviationFramesPerSecond"},
		{Head: "Trials", Metric: v1alpha1.MetricReceiveRate, Samples: true}, {Head: "Loss", Metric: "ReceiveRateLossPartsPerMillion"},
	}, Notes: []string{"The loss is that of the worst trial."}}, add: (*walk).receiveRate},
	{table: Table{Title: "Recovery after an overload (RFC 2544 section 26.5, in trials)", Columns: []Column{
		{Head: "Overload", Metric: "RecoveryOverloadFramesPerSecond"}, {Head: "Its loss", Metric: "RecoveryOverloadLossPartsPerMillion"},
		{Head: "Reduced", Metric: "RecoveryReducedFramesPerSecond"}, {Head: "At least", Metric: "RecoveryLowerBoundMilliseconds"},
		{Head: "At most", Metric: v1alpha1.MetricRecovery}, {Head: "Resolution", Metric: "RecoveryResolutionMilliseconds"},
		{Head: "Trials", Metric: "RecoveryTrials"}, {Head: "With loss", Metric: "RecoveryLossyTrials"},
	}, Notes: []string{
		"The last lost frame was sent between the two times after the overload. Without an upper one, the warnings have the reason.",
	}, Deviations: []string{
		"recovery: the time is bounded by short trials with pauses between them, in which the device rests; RFC 2544 section 26.5 reduces the load without a pause, times the last lost frame, and repeats that",
	}}, add: (*walk).recovery},
}

// Tables returns the tables of the report, in their order.
func Tables() []Table {
	var out []Table
	for _, m := range sizeMeasurements {
		if m.table.Title != "" {
			out = append(out, m.table)
		}
	}
	return out
}

// WhyMissing returns why a run that measured a metric may have no figure of it; "" for no such reason.
func WhyMissing(metric v1alpha1.Metric) string {
	for _, m := range sizeMeasurements {
		if m.judged == metric {
			return m.missing
		}
	}
	return ""
}

func (w *walk) frameLossRate(key Key, frame v1alpha1.FrameResult) {
	r := frame.FrameLossRate
	if r == nil {
		return
	}
	w.at(key).add("FrameLossRateMaximumFramesPerSecond", r.MaximumFramesPerSecond)
	for _, point := range r.Points {
		key.Percent = point.Percent
		p := w.at(key)
		p.add("FrameLossRateIntendedFramesPerSecond", point.IntendedFramesPerSecond)
		p.add("FrameLossRateOfferedFramesPerSecond", point.OfferedFramesPerSecond)
		result := p.doubtful(point.Doubts...)
		result.awayPartsPerMillion = point.AwayPartsPerMillion
		result.add("FrameLossRateForwardingFramesPerSecond", point.ForwardingFramesPerSecond)
		result.add(lossOfCurve, point.LossPartsPerMillion)
		if point.AwayPartsPerMillion > 0 {
			p.add("FrameLossRateAwayPartsPerMillion", point.AwayPartsPerMillion)
		}
		p.quantiles("FrameLossRateLateness", point.Lateness)
	}
}

func (w *walk) backToBack(key Key, frame v1alpha1.FrameResult) {
	r := frame.BackToBack
	if r == nil {
		return
	}
	p := w.at(key)
	mean := p.from(max(1, int64(len(r.Bursts)))).doubtful(r.Doubts...)
	mean.values, mean.load = r.Bursts, r.MaximumFramesPerSecond
	if r.MaxFrames == r.LongestBurstFrames {
		mean = mean.bounded(AtLeast, string(v1alpha1.DoubtLongestBurst)).doubtful(v1alpha1.DoubtLongestBurst)
	}
	mean.add(v1alpha1.MetricBackToBack, r.MeanFrames)
	p.add("BackToBackMinFrames", r.MinFrames)
	p.add("BackToBackMaxFrames", r.MaxFrames)
	p.add("BackToBackStandardDeviationFrames", r.StandardDeviationFrames)
	p.add("BackToBackStepFrames", r.StepFrames)
	p.add("BackToBackLongestBurstFrames", r.LongestBurstFrames)
	p.add("BackToBackMaximumFramesPerSecond", r.MaximumFramesPerSecond)
	p.add("BackToBackThroughputFramesPerSecond", r.ThroughputFramesPerSecond)
	p.add("BackToBackImpliedBufferNanoseconds", r.ImpliedBufferNanoseconds)
	p.addKnown("BackToBackCorrectedBufferNanoseconds", r.CorrectedBufferNanoseconds)
	p.quantiles("BackToBackLateness", r.Lateness)
	for i, burst := range r.Bursts {
		key.Repeat = int32(i + 1)
		w.at(key).add(v1alpha1.MetricBackToBack, burst)
	}
}

func (w *walk) receiveRate(key Key, frame v1alpha1.FrameResult) {
	r := frame.ReceiveRate
	if r == nil {
		return
	}
	p := w.at(key)
	mean, loss := p.from(max(1, int64(len(r.Trials)))).doubtful(r.Doubts...), int64(0)
	mean.load, mean.upper = r.IntendedFramesPerSecond, r.UpperBoundFramesPerSecond
	for _, t := range r.Trials {
		loss = max(loss, t.LossPartsPerMillion)
		mean.values = append(mean.values, t.ForwardingFramesPerSecond)
	}
	if loss == 0 {
		mean = mean.bounded(AtLeast, string(r.MaximumOrigin)).doubtful(receiveRateFloor(r.MaximumOrigin))
	}
	mean.add(v1alpha1.MetricReceiveRate, r.MeanFramesPerSecond)
	p.add("ReceiveRateIntendedFramesPerSecond", r.IntendedFramesPerSecond)
	p.add("ReceiveRateMinFramesPerSecond", r.MinFramesPerSecond)
	p.add("ReceiveRateMaxFramesPerSecond", r.MaxFramesPerSecond)
	p.add("ReceiveRateStandardDeviationFramesPerSecond", r.StandardDeviationFramesPerSecond)
	p.add("ReceiveRateLossPartsPerMillion", loss)
	p.addKnown("ReceiveRateUpperBoundFramesPerSecond", r.UpperBoundFramesPerSecond)
	p.addKnown("ReceiveRateHeldPartsPerMillion", r.HeldPartsPerMillion)
	p.quantiles("ReceiveRateLateness", r.Lateness)
	for _, t := range r.Trials {
		key.Repeat = t.Trial
		p := w.at(key)
		p.add("ReceiveRateOfferedFramesPerSecond", t.OfferedFramesPerSecond)
		p.add(v1alpha1.MetricReceiveRate, t.ForwardingFramesPerSecond)
		p.add("ReceiveRateLossPartsPerMillion", t.LossPartsPerMillion)
	}
}

// receiveRateFloor returns what bounds a receive rate without loss.
func receiveRateFloor(origin v1alpha1.MaximumOrigin) v1alpha1.DoubtCode {
	if origin == v1alpha1.MaximumLineRate || origin == v1alpha1.MaximumSpec {
		return v1alpha1.DoubtMaximumLoad
	}
	return v1alpha1.DoubtGeneratorCeiling
}

// recovery adds an upper bound without samples if there is none. Only a device that did not
// recover is the reason for that.
func (w *walk) recovery(key Key, frame v1alpha1.FrameResult) {
	r := frame.Recovery
	if r == nil {
		return
	}
	p := w.at(key).bounded(Exact, string(r.End))
	switch {
	case r.UpperBoundMilliseconds != nil:
		p.bounded(AtMost, p.cause).doubtful(r.Doubts...).add(v1alpha1.MetricRecovery, *r.UpperBoundMilliseconds)
	case r.End == v1alpha1.RecoveryNotRecovered:
		p.from(0).add(v1alpha1.MetricRecovery, 0)
	default:
		p.doubtful(r.Doubts...).from(0).doubtful(v1alpha1.DoubtNotMeasured).add(v1alpha1.MetricRecovery, 0)
	}
	p.bounded(AtLeast, p.cause).addKnown("RecoveryLowerBoundMilliseconds", r.LowerBoundMilliseconds)
	p.addKnown("RecoveryResolutionMilliseconds", r.ResolutionMilliseconds)
	p.addKnown("RecoveryCleanFrames", r.CleanFrames)
	p.add("RecoveryOverloadFramesPerSecond", r.OverloadFramesPerSecond)
	p.add("RecoveryOverloadLossPartsPerMillion", r.OverloadLossPartsPerMillion)
	p.add("RecoveryReducedFramesPerSecond", r.ReducedFramesPerSecond)
	w.at(key).quantiles("RecoveryLateness", r.Lateness)
	p.add("RecoveryTrials", int64(r.Trials))
	p.add("RecoveryLossyTrials", int64(r.LossyTrials))
}
