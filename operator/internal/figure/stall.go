package figure

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// tails are the shares of the frames, in parts per million, whose delays decide a figure: those
// beyond a percentile, and any frame for a mean and a maximum.
var tails = map[v1alpha1.Metric]int64{
	v1alpha1.MetricLatencyMean:              0,
	v1alpha1.MetricLatencyP50:               500_000,
	v1alpha1.MetricLatencyP90:               100_000,
	v1alpha1.MetricLatencyP99:               10_000,
	v1alpha1.MetricLatencyP999:              1_000,
	v1alpha1.MetricLatencyP9999:             100,
	v1alpha1.MetricLatencyMax:               0,
	v1alpha1.MetricLatencyOfSentP99:         10_000,
	v1alpha1.MetricLatencyOfSentP999:        1_000,
	v1alpha1.MetricDelayVariationP99:        10_000,
	v1alpha1.MetricPacketDelayVariationP99:  10_000,
	v1alpha1.MetricPacketDelayVariationP999: 1_000,
	v1alpha1.MetricJitterMean:               0,
	v1alpha1.MetricJitterP99:                0, // one late frame is in dozens of its values
	v1alpha1.MetricJitterMax:                0,
	v1alpha1.MetricTaggedFrameMean:          0,
}

// stalled returns the doubt about a delay of which the generator's late frames alone may decide;
// nil where they are too few. A frame's delay counts from when it was due.
func stalled(metric v1alpha1.Metric, awayPartsPerMillion int64) *Doubt {
	tail, isDelay := tails[metric]
	if !isDelay || awayPartsPerMillion == 0 || awayPartsPerMillion < tail {
		return nil
	}
	doubt, _ := NewDoubt(v1alpha1.DoubtInterruptedTrials, metric)
	doubt.Text = fmt.Sprintf("other work held the generator's core for %s ppm of a trial", Thousands(awayPartsPerMillion))
	return &doubt
}

// starved reports whether network work that the kernel left undone may decide a delay: a frame that waited for it is late by more
// than measure.StarvedDelay. The frames that decide a smaller percentile, or a smallest or largest delay, did not wait.
func starved(metric v1alpha1.Metric, nanoseconds int64) bool {
	switch metric {
	case v1alpha1.MetricLatencyMin, v1alpha1.MetricLatencyP50, v1alpha1.MetricLatencyP90, v1alpha1.MetricLatencyP99,
		v1alpha1.MetricLatencyP999, v1alpha1.MetricLatencyP9999, v1alpha1.MetricLatencyMax,
		v1alpha1.MetricLatencyOfSentP99, v1alpha1.MetricLatencyOfSentP999:
		return nanoseconds > measure.StarvedDelay.Nanoseconds()
	}
	return true
}

// partlyExplained limits a doubt about a loss: the frames that were due while other work held a core that sends are
// no more than its share of a trial, and explain measure.ExplainedTimes as many.
func (p place) partlyExplained(doubt Doubt, lossPartsPerMillion int64) Doubt {
	doubt.AtLeast = new(max(0, lossPartsPerMillion-measure.ExplainedTimes*p.awayPartsPerMillion))
	doubt.Text = fmt.Sprintf("other work held the generator's core for %s ppm of a trial, which may explain the loss down to %s ppm",
		Thousands(p.awayPartsPerMillion), Thousands(*doubt.AtLeast))
	return doubt
}

// held says how far a rate may be above the value, of a device that works on the core that sends. That is no limit of the doubt: it rests on
// an assumption.
func (p place) held(doubt Doubt) Doubt {
	doubt.Text = fmt.Sprintf("other work held the core that sends, on which the device works too, so that the rate is up to %s without it if other work costs at most twice its time (assumed)", Thousands(*p.upper))
	return doubt
}

// away returns the place for figures of trials in which other work held a core that sends.
func (p place) away(partsPerMillion int64) place {
	if partsPerMillion > 0 {
		p.walk.at(p.key).add("AwayPartsPerMillion", partsPerMillion)
	}
	p.awayPartsPerMillion = partsPerMillion
	return p
}
