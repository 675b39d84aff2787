//go:build linux

package agent

import (
	"testing"

	"vnfbench.io/operator/internal/measure"
)

func TestTool(t *testing.T) {
	for text, want := range map[string]struct {
		version   string
		perStream bool
	}{
		"iperf 3.12 (cJSON 1.7.15)\nLinux lab 6.1.0\n": {"3.12", false},
		"iperf 3.9\n":          {"3.9", false},
		"iperf 3.12.1\n":       {"3.12.1", false},
		"iperf 3.15":           {"3.15", false},
		"iperf 3.16 (cJSON)":   {"3.16", true},
		"iperf 3.18+ (cJSON)":  {"3.18+", true},
		"iperf 4.0":            {"4.0", true},
		"iperf unreleased":     {"unreleased", false},
		"another program 3.99": {"", false},
		"":                     {"", false},
	} {
		got := programOf(text)
		if want := (measure.Program{Name: measure.ProgramIperf3, Version: want.version}); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
		if perStream := threadPerConnection(got); perStream != want.perStream {
			t.Errorf("%q: a thread for each connection is %t, want %t", text, perStream, want.perStream)
		}
	}
}
