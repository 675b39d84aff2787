// Package figure lists the numbers of a run. Of is the only walk over the typed
// results that makes figures of them. Acceptance, the baseline, the comparison of
// neighbors, CSV, the comparison of runs, Prometheus and JUnit all read its list.
// Only some tables of a report read the typed results, for the words and facts next
// to the numbers. Metrics describes every number by its name.
package figure

import (
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// Key identifies a figure in a run. No two figures of a run share a key.
type Key struct {
	v1alpha1.FigureKey
	// Direction is Forward or Reverse; empty where both directions make one figure.
	Direction string
	// Repeat counts repeats, searches and trials from 1; 0 is all of them.
	Repeat int32
	// Percent of the maximum load, for a point of the loss curve.
	Percent int32
	// Interval counts the parts of a trial from 1; 0 is all of them.
	Interval int32
	// Function of the chain, and the name of one of that function's Counters.
	Function, Counter string
	// Neighbor and its Stressor.
	Neighbor, Stressor string
	// Side is empty for the figures of the run. SideWithout marks those without its
	// neighbors, and SideBaseline those of the earlier run.
	Side string
}

// The sides that are compared with the run's figures.
const (
	SideWithout  = "WithoutNeighbors"
	SideBaseline = "Baseline"
)

// Bound describes how a value relates to the true one.
type Bound string

const (
	// Exact means that the value is what was found.
	Exact Bound = "Exact"
	// AtLeast means that the true value is this or higher, AtMost that it is this or lower.
	AtLeast Bound = "AtLeast"
	AtMost  Bound = "AtMost"
)

// Figure is one number with everything needed to read it.
type Figure struct {
	Key
	// Value is in Unit. It has no meaning where Known is false.
	Value int64
	Unit  Unit
	// Samples is how many frames or trials the value is formed from. 0 means that
	// there were none, and so there is no value.
	Samples int64
	// Absent means that the samples are too few to form a value.
	Absent bool
	// Statistics over the repeats; nil where there are none.
	Statistics *v1alpha1.Statistics
	// Values are those of the repeats, searches or trials that the value is the mean of; nil
	// where it is no mean.
	Values []int64
	// LoadFramesPerSecond is the load of each direction at which a figure of a load was
	// measured.
	LoadFramesPerSecond int64
	Bound               Bound
	// UpperBound is the most that the device does without other work on a core that sends, if that work costs at most
	// measure.ExplainedTimes its time, where the value is what it did next to that work; nil where that is not known.
	UpperBound *int64
	// Cause is why the value is not better, such as UpperBoundCause. The set is
	// open.
	Cause string
	// Doubts are why the device's value may be another one. WhyAbsent returns which of them
	// explains that there is no value.
	Doubts []Doubt
}

// IsFloor reports whether the device may do better than the value.
func (f Figure) IsFloor() bool { return f.Bound == AtLeast && Describe(f.Metric).Better != Lower }

// Known reports whether there is a value.
func (f Figure) Known() bool { return f.Samples > 0 && !f.Absent }

// Results are the typed results that have figures. An absent part has none.
type Results struct {
	Frames      []v1alpha1.FrameResult
	TCP         *v1alpha1.TCPResult
	Connections *v1alpha1.ConnectionsResult
	CPU         []v1alpha1.CPUResult
	Neighbors   *v1alpha1.NoisyNeighborsReport
	Baseline    *v1alpha1.BaselineReport
	Calibration []v1alpha1.CalibrationFrame
}

// Of returns the figures of a run's status in the order of its results.
func Of(status v1alpha1.BenchmarkRunStatus) []Figure {
	results := Results{
		Frames: status.Results, TCP: status.TCP, Connections: status.Connections, CPU: status.CPU,
		Neighbors: status.NoisyNeighbors, Baseline: status.Baseline,
	}
	if status.Generator != nil {
		results.Calibration = status.Generator.Calibration
	}
	return results.Figures()
}

// Figures returns the figures of the results in their order.
func (r Results) Figures() []Figure {
	w := &walk{}
	for _, frame := range r.Frames {
		w.frame(frame)
	}
	w.tcp(r.TCP)
	w.connections(r.Connections)
	for _, c := range r.CPU {
		w.cpu(c)
	}
	w.neighbors(r.Neighbors)
	w.baseline(r.Baseline)
	for _, c := range r.Calibration {
		p := w.at(Key{FigureKey: v1alpha1.FigureKey{Size: c.Size}})
		p.add("CalibrationMaximumFramesPerSecond", c.MaximumFramesPerSecond)
		p.addKnown("CalibrationLowestFramesPerSecond", c.LowestFramesPerSecond)
		p.addKnown("CalibrationFinalFramesPerSecond", c.FinalFramesPerSecond)
		p.add("CalibrationLatencyBiasNanoseconds", c.LatencyBiasNanoseconds)
		p.addKnown("CalibrationLatencyBiasLowestNanoseconds", c.LowestLatencyBiasNanoseconds)
		p.addKnown("CalibrationLatencyBiasHighestNanoseconds", c.HighestLatencyBiasNanoseconds)
	}
	return w.figures
}

// walk collects figures.
type walk struct{ figures []Figure }

// place adds figures that share all of a key but the metric.
type place struct {
	walk       *walk
	key        Key
	samples    int64
	statistics []v1alpha1.Statistics
	bound      Bound
	cause      string
	values     []int64
	load       int64
	doubts     []v1alpha1.DoubtCode
	// awayPartsPerMillion is the share of a trial for which other work held a core that sends.
	awayPartsPerMillion int64
	// atMost limits how far above the value of an irregular search the device's may be, and upper how far above a rate that other work on a
	// core that sends has lowered.
	atMost, upper *int64
}

func (w *walk) at(key Key) place { return place{walk: w, key: key, samples: 1, bound: Exact} }

// from returns the place for figures that are formed from this many samples.
func (p place) from(samples int64) place {
	p.samples = samples
	return p
}

// bounded returns the place for figures with a bound and its cause.
func (p place) bounded(bound Bound, cause string) place {
	p.bound, p.cause = bound, cause
	return p
}

func (p place) add(metric v1alpha1.Metric, value int64) {
	f := Figure{Key: p.key, Value: value, Unit: Describe(metric).Unit, Samples: p.samples, Bound: p.bound, Cause: p.cause, Values: p.values, LoadFramesPerSecond: p.load, UpperBound: p.upper}
	f.Metric = metric
	for i := range p.statistics {
		if p.statistics[i].Metric == metric {
			f.Statistics = &p.statistics[i]
			f.Values = p.statistics[i].Values
		}
	}
	for _, code := range p.doubts {
		doubt, concerns := NewDoubt(code, metric)
		if code == v1alpha1.DoubtIrregularResult && metric == v1alpha1.MetricThroughputFramesPerSecond {
			doubt.AtMost = p.atMost
		}
		if code == v1alpha1.DoubtUnsteadyPacing && p.upper != nil {
			doubt = p.held(doubt)
		}
		if code == v1alpha1.DoubtPartlyInterrupted {
			doubt, concerns = p.partlyExplained(doubt, value), concerns && value > 0 && p.awayPartsPerMillion > 0
		}
		if code == v1alpha1.DoubtFramesUncounted {
			concerns = concerns && value > 0
		}
		if code == v1alpha1.DoubtSoftirqStarved {
			concerns = concerns && starved(metric, value)
		}
		if concerns {
			f.Doubts = append(f.Doubts, doubt)
		}
	}
	if doubt := stalled(metric, p.awayPartsPerMillion); doubt != nil && !slices.Contains(p.doubts, doubt.Code) {
		f.Doubts = append(f.Doubts, *doubt)
	}
	p.walk.figures = append(p.walk.figures, f)
}

// addKnown adds a figure that is not always known.
func (p place) addKnown(metric v1alpha1.Metric, value *int64) {
	if value != nil {
		p.add(metric, *value)
	}
}
