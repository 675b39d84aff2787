// Package iperf makes TCP connections through the chain: a measure.Driver whose generator
// is two machines with iperf3 at the ends of the measured path. It asks their agents over
// the pod network, and reads iperf3's output.
package iperf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"vnfbench.io/operator/internal/measure"
)

// output is the part of iperf3's JSON that this package reads. Times are in seconds,
// round trip times in microseconds.
type output struct {
	Start struct {
		Version string `json:"version"`
		// MSS is present if the test asked for it, MSSDefault if not.
		MSS        int `json:"tcp_mss"`
		MSSDefault int `json:"tcp_mss_default"`
	} `json:"start"`
	Intervals []struct {
		Sum struct {
			Start       float64 `json:"start"`
			Seconds     float64 `json:"seconds"`
			Bytes       float64 `json:"bytes"`
			Retransmits int64   `json:"retransmits"`
			Omitted     bool    `json:"omitted"`
		} `json:"sum"`
	} `json:"intervals"`
	End struct {
		Streams []struct {
			Sender struct {
				MinRTT  float64 `json:"min_rtt"`
				MeanRTT float64 `json:"mean_rtt"`
				MaxRTT  float64 `json:"max_rtt"`
			} `json:"sender"`
		} `json:"streams"`
		Sent     *total `json:"sum_sent"`
		Received *total `json:"sum_received"`
		CPU      struct {
			Host float64 `json:"host_total"`
		} `json:"cpu_utilization_percent"`
		CongestionControl string `json:"sender_tcp_congestion"`
	} `json:"end"`
	// Error is present if the test failed, also with figures of a part of it.
	Error string `json:"error"`
}

type total struct {
	Seconds     float64 `json:"seconds"`
	Bytes       float64 `json:"bytes"`
	Retransmits int64   `json:"retransmits"`
}

// toolError is iperf3's own sentence about why a test failed.
type toolError string

func (e toolError) Error() string { return string(e) }

func read(text []byte) (*output, error) {
	out := &output{}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("reading iperf3's output: %w", err)
	}
	if out.Error != "" {
		return nil, toolError(out.Error)
	}
	return out, nil
}

// Parse makes one direction's figures from the output of the sending client and the
// receiving server. A missing value is an error: a test that was cut short has no
// figures.
func Parse(direction measure.Direction, client, server []byte) (measure.TCPDirectionOutcome, error) {
	d := measure.TCPDirectionOutcome{Direction: direction}
	sender, err := read(client)
	if err != nil {
		return d, fmt.Errorf("the sender: %w", err)
	}
	receiver, err := read(server)
	if err != nil {
		return d, fmt.Errorf("the receiver: %w", err)
	}
	switch {
	case sender.End.Sent == nil || sender.End.Sent.Seconds <= 0:
		return d, errors.New("the sender reported no total")
	case receiver.End.Received == nil || receiver.End.Received.Seconds <= 0:
		return d, errors.New("the receiver reported no total")
	}
	d.SentBytes, d.SentNanoseconds = int64(sender.End.Sent.Bytes), nanoseconds(sender.End.Sent.Seconds)
	d.ReceivedBytes, d.ReceivedNanoseconds = int64(receiver.End.Received.Bytes), nanoseconds(receiver.End.Received.Seconds)
	d.Retransmits = sender.End.Sent.Retransmits
	d.SenderCPUPartsPerMillion = int64(math.Ceil(sender.End.CPU.Host * 1e4))
	d.ReceiverCPUPartsPerMillion = int64(math.Ceil(receiver.End.CPU.Host * 1e4))
	d.MaximumSegmentBytes = max(sender.Start.MSS, sender.Start.MSSDefault)
	d.CongestionControl = sender.End.CongestionControl
	readRoundTrips(&d, sender)
	d.Intervals = intervals(sender)
	if !isPossible(sender, receiver) {
		return d, errors.New("iperf3 reported a figure that is negative or too large")
	}
	return d, nil
}

// maxReported is more than any figure in the units of an outcome, and small enough for an exact number.
const maxReported = 1 << 53

// isPossible reports whether all figures that are taken from iperf3's outputs fit.
func isPossible(sender, receiver *output) bool {
	sent, received := sender.End.Sent, receiver.End.Received
	values := []float64{
		sent.Bytes, sent.Seconds * 1e9, float64(sent.Retransmits), received.Bytes, received.Seconds * 1e9,
		sender.End.CPU.Host * 1e4, receiver.End.CPU.Host * 1e4,
	}
	for _, interval := range sender.Intervals {
		sum := interval.Sum
		values = append(values, sum.Start*1e9, sum.Seconds*1e9, sum.Bytes, float64(sum.Retransmits))
	}
	for _, stream := range sender.End.Streams {
		rtt := stream.Sender
		values = append(values, rtt.MinRTT*1e3, rtt.MeanRTT*1e3, rtt.MaxRTT*1e3)
	}
	return !slices.ContainsFunc(values, func(v float64) bool { return v < 0 || v > maxReported })
}

func nanoseconds(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }

func intervals(sender *output) []measure.TCPInterval {
	var list []measure.TCPInterval
	for _, interval := range sender.Intervals {
		sum := interval.Sum
		// A remainder of the last millisecond is not an interval.
		if sum.Omitted || sum.Seconds < 0.01 {
			continue
		}
		list = append(list, measure.TCPInterval{
			StartNanoseconds: nanoseconds(sum.Start), Nanoseconds: nanoseconds(sum.Seconds),
			Bytes: int64(sum.Bytes), Retransmits: sum.Retransmits,
		})
	}
	return list[:min(len(list), measure.MaximumTCPIntervals)]
}

// readRoundTrips takes the extremes over all connections and the mean of their means. It
// ignores connections without a sample, which have zeros.
func readRoundTrips(d *measure.TCPDirectionOutcome, sender *output) {
	sum, n := 0.0, 0
	for _, stream := range sender.End.Streams {
		rtt := stream.Sender
		if rtt.MaxRTT <= 0 {
			continue
		}
		least, most := int64(rtt.MinRTT*1e3), int64(rtt.MaxRTT*1e3)
		if n == 0 || least < d.RTTMinNanoseconds {
			d.RTTMinNanoseconds = least
		}
		d.RTTMaxNanoseconds = max(d.RTTMaxNanoseconds, most)
		sum, n = sum+rtt.MeanRTT*1e3, n+1
	}
	if n > 0 {
		d.RTTMeanNanoseconds = int64(math.Ceil(sum / float64(n)))
	}
}
