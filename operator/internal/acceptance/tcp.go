package acceptance

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

// tcpFigures are the metrics of TCP connections; false where there is no figure.
var tcpFigures = map[v1alpha1.Metric]func(v1alpha1.TCPDirectionResult) (int64, bool){
	v1alpha1.MetricTCPGoodput:     func(d v1alpha1.TCPDirectionResult) (int64, bool) { return d.GoodputBitsPerSecond, true },
	v1alpha1.MetricTCPRetransmits: func(d v1alpha1.TCPDirectionResult) (int64, bool) { return d.Retransmits, true },
	v1alpha1.MetricTCPRoundTripTimeMean: func(d v1alpha1.TCPDirectionResult) (int64, bool) {
		if d.RoundTripTime == nil {
			return 0, false
		}
		return d.RoundTripTime.MeanNanoseconds, true
	},
}

// AboutTCP says that a criterion looks at TCP connections.
func AboutTCP(criterion v1alpha1.Criterion) bool {
	_, ok := tcpFigures[criterion.Metric]
	return ok
}

// EvaluateTCP returns a verdict for each criterion about TCP, in their order, and
// each number of connections that it means. Without a figure the verdict is Failed.
func EvaluateTCP(criteria []v1alpha1.Criterion, asked *v1alpha1.TCP, result *v1alpha1.TCPResult) []v1alpha1.Verdict {
	var verdicts []v1alpha1.Verdict
	for _, criterion := range criteria {
		if !AboutTCP(criterion) {
			continue
		}
		for _, streams := range Streams(criterion, asked) {
			verdict := v1alpha1.Verdict{Criterion: criterion.Name, Streams: streams, Result: v1alpha1.VerdictFailed}
			measured, err := TCPFigure(criterion, streams, result)
			verdicts = append(verdicts, compare(verdict, criterion, measured, err))
		}
	}
	return verdicts
}

// Streams are the numbers of connections that a criterion means: its own, or
// every one that was asked for.
func Streams(criterion v1alpha1.Criterion, asked *v1alpha1.TCP) []int32 {
	switch {
	case criterion.Streams != nil:
		return []int32{*criterion.Streams}
	case asked != nil:
		return asked.Streams
	}
	return nil
}

// TCPFigure returns the value that a criterion would judge for a number of
// connections: that of the direction nearer to missing the threshold. The error
// says, for people, why there is none.
func TCPFigure(criterion v1alpha1.Criterion, streams int32, result *v1alpha1.TCPResult) (int64, error) {
	if result == nil {
		return 0, fmt.Errorf("TCP was not measured")
	}
	smaller := criterion.AtLeast != nil
	for _, s := range result.Streams {
		if s.Streams != streams || len(s.Directions) == 0 {
			continue
		}
		var worst int64
		for i, d := range s.Directions {
			value, err := tcpValue(criterion, d)
			if err != nil {
				return 0, fmt.Errorf("direction %s: %w", d.Direction, err)
			}
			if i == 0 || smaller && value < worst || !smaller && value > worst {
				worst = value
			}
		}
		return worst, nil
	}
	return 0, fmt.Errorf("%d connections were not measured", streams)
}

func tcpValue(criterion v1alpha1.Criterion, d v1alpha1.TCPDirectionResult) (int64, error) {
	if criterion.Statistic == v1alpha1.StatisticConfidenceLimit {
		return limitOf(criterion.Metric, d.Statistics, criterion.AtLeast != nil)
	}
	value, ok := tcpFigures[criterion.Metric](d)
	if !ok {
		return 0, fmt.Errorf("the sender's kernel told none")
	}
	return value, nil
}

// Subject names what a verdict is about: "64 bytes", "4 TCP connections", "load web".
func Subject(verdict v1alpha1.Verdict) string {
	switch {
	case verdict.Streams == 1:
		return "1 TCP connection"
	case verdict.Streams > 1:
		return fmt.Sprintf("%d TCP connections", verdict.Streams)
	case verdict.Load != "":
		return "load " + verdict.Load
	}
	return fmt.Sprintf("%d bytes", verdict.FrameBytes)
}
