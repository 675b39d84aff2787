package figure

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// Side is a set of sides of a value.
type Side int

// The sides.
const (
	Above Side = 1 << iota
	Below
	either = Above | Below
)

// Doubt is a reason why the device's value may not be the one that was found.
type Doubt struct {
	Code v1alpha1.DoubtCode
	// Side is where the device's value may be, seen from the one that was found.
	Side Side
	// AtMost limits how far above it may be; nil where nothing does.
	AtMost *int64
	// AtLeast limits how far below it may be; nil where nothing does.
	AtLeast *int64
	// Text is the reason in one clause, and Remedy what to do about it.
	Text, Remedy string
}

// words explain a doubt to people.
type words struct{ text, remedy string }

var doubtWords = map[v1alpha1.DoubtCode]words{
	v1alpha1.DoubtGeneratorCeiling:  {"the generator may be the limit", "give the generator more CPU, or do what the warning GeneratorCeiling says"},
	v1alpha1.DoubtMaximumLoad:       {"the highest load tried was still good", "raise the maximum load or use a faster link"},
	v1alpha1.DoubtLongestBurst:      {"the longest burst tried lost nothing", "raise measurements.backToBack.maximumBurstMilliseconds"},
	v1alpha1.DoubtEndpointCeiling:   {"an end of the connections may be the limit", "give the ends faster CPUs"},
	v1alpha1.DoubtIrregularResult:   {"the search ended before its bounds were close enough", "give it more time with maximumSearchSeconds, or a wider goal"},
	v1alpha1.DoubtLoadNotReached:    {"the generator did not send the whole load", "lower the load, or give the generator more CPU"},
	v1alpha1.DoubtQueueGrowing:      {"a queue still grew at the end of a trial, so longer trials have longer delays and may lose frames", "lower the load"},
	v1alpha1.DoubtLoadOfFloor:       {"the load is a share of a throughput that is a floor or irregular", "give the load in framesPerSecond"},
	v1alpha1.DoubtUnsteadyPacing:    {"the generator did not send at a steady rate", "give the generator dedicated CPUs, and measure again"},
	v1alpha1.DoubtInterruptedTrials: {"frames went missing or left late while other work held the generator's core", "give the generator dedicated CPUs, and measure again"},
	v1alpha1.DoubtPartlyInterrupted: {"other work held the generator's core, which explains a part of the loss", "give the generator dedicated CPUs, and measure again"},
	v1alpha1.DoubtSoftirqStarved:    {"the kernel may have left network work of a core that sends undone, so that frames were late", "set the testbed's generator.xdp.scheduling to Fair, or use Linux 6.5 or newer, and measure again"},
	v1alpha1.DoubtLateFrames:        {"frames still arrived when a trial had settled", "raise measurements.settleMilliseconds"},
	v1alpha1.DoubtFramesUnaccounted: {"frames arrived that are none of a trial's, or too late to be known", "keep other traffic off the path, and measure again"},
	v1alpha1.DoubtFramesUncounted:   {"more than 1 % of the lost frames are in no counter of the generator or of a function's port", "look at the functions' other counters, such as those of rules, connections, routes and queueing disciplines"},
	v1alpha1.DoubtStretchedTrials:   {"trials took longer than they were asked to", "look for a node that is short of CPU, and measure again"},
	v1alpha1.DoubtCalibrationDrift:  {"the core that sends, on which the device works too, was faster or slower after the measurement than before it, so a part may have been measured on a slow core", "look for other work on the node and for frequencies that are not pinned, and measure again"},
	v1alpha1.DoubtRefragmented:      {"fragments arrived with other bounds than they were sent with", "give the device's ports the MTU of the testbed's"},
	v1alpha1.DoubtDrift:             {"the repeats rise or fall one after the other, so the device or the testbed changed while it was measured", "warm up for longer, look for what changes with time, and measure again"},
	v1alpha1.DoubtLossInversion:     {"in every repeat a load above the upper bound met the goal, so the limit is not one number", "measure the loss at each load with measurements.frameLossRate"},
	v1alpha1.DoubtTooFewRepeats:     {"two searches of a method that halves can both end too low, and their interval would hold the limit too rarely", "set measurements.repeats to 3 or more, 5 to see a drift too, or throughput.method to MLRsearch"},
	v1alpha1.DoubtLoadsDiffer:       {"the repeats measured at loads that differ by more than the goal's widthPartsPerMillion", "give the load in framesPerSecond"},
	v1alpha1.DoubtPartlyCounted:     {"the generator looked at a part of the frames alone", "use a generator that looks at all of them, or a load of which it times every frame"},
	v1alpha1.DoubtNotMeasured:       {"the generator or the time did not allow it", "see the run's warnings"},
	v1alpha1.DoubtNotCounted:        {"the generator does not count it on this path", "name another metric, or use a generator that counts it"},
}

// NewDoubt returns the doubt of a code about a metric, and false where it does not concern it.
func NewDoubt(code v1alpha1.DoubtCode, metric v1alpha1.Metric) (Doubt, bool) {
	d := Doubt{Code: code, Side: sideOf(code, Describe(metric))}
	w, known := doubtWords[code]
	if !known {
		w = words{"of " + string(code), "measure again"}
	}
	d.Text, d.Remedy = w.text, w.remedy
	return d, d.Side != 0 || code == v1alpha1.DoubtFramesUncounted && isLoss(metric)
}

// isLoss reports whether a metric is the loss at a load.
func isLoss(metric v1alpha1.Metric) bool {
	return metric == v1alpha1.MetricLoss || metric == lossOfCurve
}

// sideOf returns where the device's value may be. What the generator did wrong can only have made
// the device look worse; a load that was not sent in full made it look better.
func sideOf(code v1alpha1.DoubtCode, m Metric) Side {
	better := Above
	if m.Better == Lower {
		better = Below
	}
	switch code {
	case v1alpha1.DoubtGeneratorCeiling, v1alpha1.DoubtMaximumLoad, v1alpha1.DoubtLongestBurst, v1alpha1.DoubtCalibrationDrift:
		return better
	case v1alpha1.DoubtUnsteadyPacing, v1alpha1.DoubtStretchedTrials, v1alpha1.DoubtInterruptedTrials, v1alpha1.DoubtFramesUnaccounted:
		// The smallest delay is that of a frame that met no burst.
		if m.Name == v1alpha1.MetricLatencyMin {
			return 0
		}
		return better
	case v1alpha1.DoubtPartlyInterrupted:
		if isLoss(m.Name) {
			return Below
		}
		return 0
	case v1alpha1.DoubtFramesUncounted:
		// What left the generator and is in no counter was lost by what is measured, most likely.
		return 0
	case v1alpha1.DoubtSoftirqStarved:
		if _, isDelay := tails[m.Name]; isDelay || m.Name == v1alpha1.MetricLatencyMin {
			return Below
		}
		return 0
	case v1alpha1.DoubtEndpointCeiling:
		if m.Better == Higher {
			return Above
		}
	case v1alpha1.DoubtLoadNotReached:
		// A burst that leaves slowly gives the device more time. A rate cannot exceed the load,
		// and delays and losses grow with it.
		if m.Name == v1alpha1.MetricBackToBack {
			return Below
		}
		return Above
	case v1alpha1.DoubtQueueGrowing:
		// The smallest delay is that of a frame before the queue.
		if m.Name == v1alpha1.MetricLatencyMin {
			return 0
		}
		return Above
	case v1alpha1.DoubtIrregularResult, v1alpha1.DoubtLoadOfFloor, v1alpha1.DoubtPartlyCounted, v1alpha1.DoubtLossInversion:
		return Above
	}
	return either
}

// fewSamples returns the doubt about a percentile of too few samples.
func fewSamples(metric v1alpha1.Metric, samples, least int64) Doubt {
	return Doubt{
		Code: v1alpha1.DoubtFewSamples, Side: either,
		Text:   fmt.Sprintf("%s needs %s timed frames in each trial, and %s were in all", Describe(metric).Words, Thousands(least), Thousands(samples)),
		Remedy: "make the trials longer or the load higher",
	}
}

// Thousands writes a whole number with a comma between groups of three digits.
func Thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// IsUncertain reports whether a doubt means that the value is not the one that was asked for: it
// is a floor, of an irregular search, or of a load that was not reached.
func IsUncertain(code v1alpha1.DoubtCode) bool {
	return isFloor(code) || code == v1alpha1.DoubtIrregularResult || code == v1alpha1.DoubtLoadNotReached
}

func isFloor(code v1alpha1.DoubtCode) bool {
	return slices.Contains([]v1alpha1.DoubtCode{
		v1alpha1.DoubtGeneratorCeiling, v1alpha1.DoubtMaximumLoad, v1alpha1.DoubtLongestBurst, v1alpha1.DoubtEndpointCeiling,
	}, code)
}

// Codes returns the codes of the figure's doubts, in their order.
func (f Figure) Codes() []v1alpha1.DoubtCode {
	var out []v1alpha1.DoubtCode
	for _, d := range f.Doubts {
		out = append(out, d.Code)
	}
	return out
}

// WhyAbsent returns the doubt that explains why there is no value; nil where the device is the
// reason. A generator that was slow or held up still sends frames, and a device returns some.
func (f Figure) WhyAbsent() *Doubt {
	for i, d := range f.Doubts {
		switch d.Code {
		case v1alpha1.DoubtNotCounted, v1alpha1.DoubtFewSamples, v1alpha1.DoubtNotMeasured:
			return &f.Doubts[i]
		}
		if f.Cause == lostInstead && d.Side&Below != 0 {
			return &f.Doubts[i]
		}
	}
	return nil
}

// lostInstead is why a percentile of sent frames has no value. The generator may have lost them.
const lostInstead = "more frames were lost than take longer than this percentile"

// DoubtText returns the words of a code, for a sentence.
func DoubtText(code v1alpha1.DoubtCode) string {
	d, _ := NewDoubt(code, v1alpha1.MetricThroughputFramesPerSecond)
	return d.Text
}

// doubtful returns the place for figures that these doubts concern, besides those that it has.
func (p place) doubtful(codes ...v1alpha1.DoubtCode) place {
	p.doubts = slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.doubts, codes))))
	return p
}

// addPercentile adds a percentile, which is not there with too few samples.
func (p place) addPercentile(metric v1alpha1.Metric, value *int64, least int64) {
	if value != nil || p.samples == 0 {
		known := int64(0)
		if value != nil {
			known = *value
		}
		p.add(metric, known)
		return
	}
	p.add(metric, 0)
	f := &p.walk.figures[len(p.walk.figures)-1]
	f.Absent, f.Doubts = true, []Doubt{fewSamples(metric, p.samples, least)}
}
