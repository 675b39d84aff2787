// Package comparison puts the figures of two measurements of the same things
// side by side. Results of both go in; a list of differences comes out, each
// with the figure that acceptance would judge.
package comparison

import (
	"math"
	"math/bits"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/measure"
)

// Side is one of the two measurements.
type Side struct {
	Frames      []v1alpha1.FrameResult
	TCP         *v1alpha1.TCPResult
	Connections *v1alpha1.ConnectionsResult
}

// mostRows is the API's bound of the list.
const mostRows = 512

// loadMetrics are those of a load that are compared.
var loadMetrics = []v1alpha1.Metric{
	v1alpha1.MetricLoss, v1alpha1.MetricLatencyMean, v1alpha1.MetricLatencyP99, v1alpha1.MetricJitter,
}

// Of are the figures that one of the sides has, in the order of the results.
// The side without neighbours says what there is to compare, because it is
// measured first.
func Of(without, with Side) []v1alpha1.NoisyNeighborDifference {
	var out []v1alpha1.NoisyNeighborDifference
	add := func(row v1alpha1.NoisyNeighborDifference) {
		row.Without, row.With = without.Figure(row), with.Figure(row)
		if row.Without == nil && row.With == nil || len(out) >= mostRows {
			return
		}
		if row.Without != nil && row.With != nil {
			row.DifferencePartsPerMillion = Difference(*row.Without, *row.With)
		}
		out = append(out, row)
	}
	for _, frame := range without.Frames {
		row := v1alpha1.NoisyNeighborDifference{FrameBytes: frame.FrameBytes}
		for _, t := range frame.Throughput {
			row.Metric, row.Goal = v1alpha1.MetricThroughputFramesPerSecond, t.Goal
			add(row)
		}
		row.Goal = ""
		for _, load := range loadsOf(frame) {
			for _, metric := range loadMetrics {
				row.Metric, row.Load = metric, load
				add(row)
			}
		}
		row.Load = ""
		for _, metric := range []v1alpha1.Metric{v1alpha1.MetricBackToBack, v1alpha1.MetricReceiveRate} {
			row.Metric = metric
			add(row)
		}
	}
	if without.TCP != nil {
		for _, streams := range without.TCP.Streams {
			for _, metric := range []v1alpha1.Metric{v1alpha1.MetricTCPGoodput, v1alpha1.MetricTCPRetransmits, v1alpha1.MetricTCPRoundTripTimeMean} {
				add(v1alpha1.NoisyNeighborDifference{Streams: streams.Streams, Metric: metric})
			}
		}
	}
	if without.Connections != nil {
		for _, load := range without.Connections.Loads {
			for _, metric := range []v1alpha1.Metric{v1alpha1.MetricConnectionsEstablished, v1alpha1.MetricConnectionsHeld, v1alpha1.MetricConnectionsFailed} {
				add(v1alpha1.NoisyNeighborDifference{Load: load.Name, Metric: metric})
			}
		}
	}
	return out
}

// loadsOf are the names of a frame size's loads.
func loadsOf(frame v1alpha1.FrameResult) []string {
	var out []string
	for _, load := range frame.Latency {
		out = append(out, load.Load)
	}
	for _, profile := range frame.FixedLoad {
		out = append(out, profile.Profile)
	}
	if frame.Soak != nil {
		out = append(out, measure.SoakLoad)
	}
	return out
}

// Figure is the side's, of what the row says, nil where it has none.
func (s Side) Figure(row v1alpha1.NoisyNeighborDifference) *int64 {
	criterion := v1alpha1.Criterion{Metric: row.Metric, Goal: row.Goal, Load: row.Load}
	if row.Metric == v1alpha1.MetricTCPGoodput {
		// The slower direction is the worse one.
		criterion.AtLeast = new(int64(0))
	} else {
		criterion.AtMost = new(int64(0))
	}
	var value int64
	var err error
	switch {
	case acceptance.AboutTCP(criterion):
		value, err = acceptance.TCPFigure(criterion, row.Streams, s.TCP)
	case acceptance.AboutConnections(criterion):
		value, err = acceptance.ConnectionsFigure(criterion, s.Connections)
	default:
		value, err = acceptance.Figure(criterion, row.FrameBytes, s.Frames)
	}
	if err != nil {
		return nil
	}
	return &value
}

// Difference is (with - without) / without in parts per million, rounded toward
// zero; nil where without is 0.
func Difference(without, with int64) *int64 {
	if without <= 0 || with < 0 {
		return nil
	}
	sign, apart := int64(1), with-without
	if apart < 0 {
		sign, apart = -1, -apart
	}
	high, low := bits.Mul64(uint64(apart), 1_000_000)
	if high >= uint64(without) {
		return new(sign * math.MaxInt64)
	}
	quotient, _ := bits.Div64(high, low, uint64(without))
	return new(sign * int64(min(quotient, math.MaxInt64)))
}
