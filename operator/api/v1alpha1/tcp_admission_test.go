package v1alpha1_test

import (
	"strings"
	"testing"
)

func TestTCPIsAdmitted(t *testing.T) {
	for name, test := range map[string]struct{ measurements, acceptance string }{
		"alone":       {"{tcp: {}}", ""},
		"with frames": {"{throughput: {}, tcp: {streams: [1, 4, 128], directions: Both, durationSeconds: 100, omitSeconds: 0}}", ""},
		"settings":    {"{tcp: {mssBytes: 1400, congestionControl: cubic, windowBytes: 65536, targetBitsPerSecond: 1000000}}", ""},
		"criteria": {"{repeats: 2, tcp: {streams: [1, 4]}}",
			"[{name: a, metric: TCPGoodputBitsPerSecond, atLeast: 1}, {name: b, metric: TCPRetransmits, streams: 4, atMost: 0, statistic: ConfidenceLimit}, {name: c, metric: TCPRoundTripTimeMeanNanoseconds, streams: 1, atMost: 1}]"},
		"criterion on the default number": {"{tcp: {}}", "[{name: a, metric: TCPGoodputBitsPerSecond, streams: 1, atLeast: 1}]"},
	} {
		if err := measuring(t, test.measurements, test.acceptance); err != nil {
			t.Errorf("%s: %s", name, clip(err.Error()))
		}
	}
}

func TestBadTCPIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		measurements, acceptance string
		want                     []string
	}{
		"129 connections":     {"{tcp: {streams: [129]}}", "", []string{"spec.experiment.measurements.tcp.streams[0]", "less than or equal to 128"}},
		"a number twice":      {"{tcp: {streams: [2, 2]}}", "", []string{"spec.experiment.measurements.tcp.streams", "names a value twice"}},
		"no number":           {"{tcp: {streams: []}}", "", []string{"spec.experiment.measurements.tcp.streams", "at least 1 items"}},
		"unknown direction":   {"{tcp: {directions: WestToEast}}", "", []string{"spec.experiment.measurements.tcp.directions", "Unsupported value"}},
		"too long":            {"{tcp: {durationSeconds: 3601}}", "", []string{"durationSeconds", "less than or equal to 3600"}},
		"an algorithm's name": {"{tcp: {congestionControl: 'a b'}}", "", []string{"congestionControl", "should match"}},
		"a tiny segment":      {"{tcp: {mssBytes: 100}}", "", []string{"mssBytes", "greater than or equal to 536"}},
		"another number":      {"{tcp: {}}", "[{name: a, metric: TCPGoodputBitsPerSecond, streams: 4, atLeast: 1}]", []string{"spec.experiment.acceptance", "needs measurements.tcp, and one of its streams"}},
		"not measured":        {"{throughput: {}}", "[{name: a, metric: TCPRetransmits, atMost: 1}]", []string{"spec.experiment.acceptance", "needs measurements.tcp"}},
		"with a frame size":   {"{tcp: {}}", "[{name: a, metric: TCPRetransmits, size: '64', atMost: 1}]", []string{"size", "no meaning for a TCP or Connections metric"}},
		"with a load":         {"{tcp: {}}", "[{name: a, metric: TCPRetransmits, load: idle, atMost: 1}]", []string{"load", "forbidden with those"}},
		"streams of frames":   {"{throughput: {}, tcp: {}}", "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, streams: 1, atLeast: 1}]", []string{"streams is only for the TCP metrics"}},
		"a limit of the time": {"{repeats: 2, tcp: {}}", "[{name: a, metric: TCPRoundTripTimeMeanNanoseconds, statistic: ConfidenceLimit, atMost: 1}]", []string{"statistic", "ConfidenceLimit is only for"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := measuring(t, test.measurements, test.acceptance)
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("does not say %q: %s", want, clip(err.Error()))
				}
			}
		})
	}
}
