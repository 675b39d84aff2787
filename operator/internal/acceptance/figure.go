package acceptance

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// throughputFigures are the metrics that belong to a goal.
var throughputFigures = map[v1alpha1.Metric]func(v1alpha1.ThroughputResult) int64{
	v1alpha1.MetricThroughputFramesPerSecond:     func(t v1alpha1.ThroughputResult) int64 { return t.FramesPerSecond },
	v1alpha1.MetricThroughputLayer1BitsPerSecond: func(t v1alpha1.ThroughputResult) int64 { return t.Layer1BitsPerSecond },
}

// frameFigures are the metrics that belong to a frame size alone.
var frameFigures = map[v1alpha1.Metric]func(v1alpha1.FrameResult) (int64, error){
	v1alpha1.MetricBackToBack: func(f v1alpha1.FrameResult) (int64, error) {
		if f.BackToBack == nil {
			return 0, fmt.Errorf("back-to-back frames were not measured")
		}
		return f.BackToBack.MeanFrames, nil
	},
	v1alpha1.MetricReceiveRate: func(f v1alpha1.FrameResult) (int64, error) {
		if f.ReceiveRate == nil {
			return 0, fmt.Errorf("the receive rate was not measured")
		}
		return f.ReceiveRate.MeanFramesPerSecond, nil
	},
}

// directionFigure is a metric that belongs to a load. samples says how many
// frames it rests on: with none there is no figure.
type directionFigure struct {
	value   func(v1alpha1.DirectionResult) int64
	samples func(v1alpha1.DirectionResult) int64
}

func latencySamples(d v1alpha1.DirectionResult) int64   { return d.Latency.Samples }
func variationSamples(d v1alpha1.DirectionResult) int64 { return d.DelayVariation.Samples }

// jitterSamples are the delays where their variation was not counted, as by some generators,
// whose jitter is never 0 where there is one.
func jitterSamples(d v1alpha1.DirectionResult) int64 {
	if d.DelayVariation.Samples == 0 && d.JitterNanoseconds > 0 {
		return d.Latency.Samples
	}
	return d.DelayVariation.Samples
}

func sentFrames(d v1alpha1.DirectionResult) int64 { return d.SentFrames }

func latency(value func(v1alpha1.Delays) int64) directionFigure {
	return directionFigure{
		value:   func(d v1alpha1.DirectionResult) int64 { return value(d.Latency) },
		samples: latencySamples,
	}
}

var loadFigures = map[v1alpha1.Metric]directionFigure{
	v1alpha1.MetricLatencyMin:   latency(func(d v1alpha1.Delays) int64 { return d.MinNanoseconds }),
	v1alpha1.MetricLatencyMean:  latency(func(d v1alpha1.Delays) int64 { return d.MeanNanoseconds }),
	v1alpha1.MetricLatencyP50:   latency(func(d v1alpha1.Delays) int64 { return d.P50Nanoseconds }),
	v1alpha1.MetricLatencyP90:   latency(func(d v1alpha1.Delays) int64 { return d.P90Nanoseconds }),
	v1alpha1.MetricLatencyP99:   latency(func(d v1alpha1.Delays) int64 { return d.P99Nanoseconds }),
	v1alpha1.MetricLatencyP999:  latency(func(d v1alpha1.Delays) int64 { return d.P999Nanoseconds }),
	v1alpha1.MetricLatencyP9999: latency(func(d v1alpha1.Delays) int64 { return d.P9999Nanoseconds }),
	v1alpha1.MetricLatencyMax:   latency(func(d v1alpha1.Delays) int64 { return d.MaxNanoseconds }),
	v1alpha1.MetricDelayVariationP99: {
		value:   func(d v1alpha1.DirectionResult) int64 { return d.DelayVariation.P99Nanoseconds },
		samples: variationSamples,
	},
	v1alpha1.MetricPacketDelayVariationP99: {
		value:   func(d v1alpha1.DirectionResult) int64 { return d.PacketDelayVariationP99Nanoseconds },
		samples: latencySamples,
	},
	v1alpha1.MetricPacketDelayVariationP999: {
		value:   func(d v1alpha1.DirectionResult) int64 { return d.PacketDelayVariationP999Nanoseconds },
		samples: latencySamples,
	},
	v1alpha1.MetricJitter: {
		value:   func(d v1alpha1.DirectionResult) int64 { return d.JitterNanoseconds },
		samples: jitterSamples,
	},
	v1alpha1.MetricTaggedFrameMean: {
		value: func(d v1alpha1.DirectionResult) int64 {
			if d.TaggedFrames == nil {
				return 0
			}
			return d.TaggedFrames.MeanNanoseconds
		},
		samples: func(d v1alpha1.DirectionResult) int64 {
			if d.TaggedFrames == nil {
				return 0
			}
			return d.TaggedFrames.ReceivedFrames
		},
	},
	v1alpha1.MetricLoss: {
		value:   func(d v1alpha1.DirectionResult) int64 { return d.LossPartsPerMillion },
		samples: sentFrames,
	},
	v1alpha1.MetricReordered: {
		value:   func(d v1alpha1.DirectionResult) int64 { return d.ReorderedFrames },
		samples: latencySamples,
	},
	v1alpha1.MetricDuplicate: {
		value:   func(d v1alpha1.DirectionResult) int64 { return d.DuplicateFrames },
		samples: latencySamples,
	},
}

// soakFigures are those of a soak's worst interval.
var soakFigures = map[v1alpha1.Metric]func(v1alpha1.WorstCase) int64{
	v1alpha1.MetricLoss:        func(w v1alpha1.WorstCase) int64 { return w.LossPartsPerMillion },
	v1alpha1.MetricLatencyMean: func(w v1alpha1.WorstCase) int64 { return w.LatencyMeanNanoseconds },
	v1alpha1.MetricLatencyP99:  func(w v1alpha1.WorstCase) int64 { return w.LatencyP99Nanoseconds },
	v1alpha1.MetricLatencyMax:  func(w v1alpha1.WorstCase) int64 { return w.LatencyMaxNanoseconds },
	v1alpha1.MetricJitter:      func(w v1alpha1.WorstCase) int64 { return w.JitterNanoseconds },
}

// Figure returns the value that a criterion would judge for one frame size. The error says, for
// people, why there is none.
func Figure(criterion v1alpha1.Criterion, frameBytes int32, results []v1alpha1.FrameResult) (int64, error) {
	for _, result := range results {
		if result.FrameBytes != frameBytes {
			continue
		}
		if criterion.Statistic == v1alpha1.StatisticConfidenceLimit {
			return confidenceLimit(criterion, result)
		}
		if value, ok := throughputFigures[criterion.Metric]; ok {
			return throughputFigure(criterion.Goal, value, result.Throughput)
		}
		if value, ok := frameFigures[criterion.Metric]; ok {
			return value(result)
		}
		if value, ok := loadFigures[criterion.Metric]; ok {
			return loadFigure(criterion, value, result)
		}
		return 0, fmt.Errorf("this version does not know the metric")
	}
	return 0, fmt.Errorf("%d bytes were not measured", frameBytes)
}

func throughputFigure(goal string, value func(v1alpha1.ThroughputResult) int64, results []v1alpha1.ThroughputResult) (int64, error) {
	for _, result := range results {
		if result.Goal == goal {
			return value(result), nil
		}
	}
	return 0, fmt.Errorf("the goal was not measured")
}

func loadFigure(criterion v1alpha1.Criterion, figure directionFigure, frame v1alpha1.FrameResult) (int64, error) {
	for _, result := range frame.Latency {
		if result.Load == criterion.Load {
			return worse(figure, criterion.AtLeast != nil, result.Directions)
		}
	}
	if criterion.Load == measure.SoakLoad && frame.Soak != nil {
		value, ok := soakFigures[criterion.Metric]
		if !ok {
			return 0, fmt.Errorf("a soak has no such figure")
		}
		return value(frame.Soak.Worst), nil
	}
	for _, result := range frame.FixedLoad {
		if result.Profile != criterion.Load {
			continue
		}
		var directions []v1alpha1.DirectionResult
		for _, repeat := range result.Repeats {
			directions = append(directions, repeat.Directions...)
		}
		return worse(figure, criterion.AtLeast != nil, directions)
	}
	return 0, fmt.Errorf("the load was not measured")
}

// worse is the figure of the direction that is nearer to missing the
// threshold: the larger one, or the smaller one where a minimum is asked for.
// One direction without a figure leaves none, because a device that starves a
// direction must not hide behind the other.
func worse(figure directionFigure, smaller bool, directions []v1alpha1.DirectionResult) (int64, error) {
	if len(directions) == 0 {
		return 0, fmt.Errorf("the load has no directions")
	}
	var worst int64
	for i, direction := range directions {
		if figure.samples(direction) == 0 {
			return 0, fmt.Errorf("no frames to form it from in direction %s", direction.Direction)
		}
		value := figure.value(direction)
		if i == 0 || (smaller && value < worst) || (!smaller && value > worst) {
			worst = value
		}
	}
	return worst, nil
}
