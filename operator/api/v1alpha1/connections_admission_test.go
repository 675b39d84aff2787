package v1alpha1_test

import (
	"strings"
	"testing"
)

const twoLoads = "{repeats: 2, connections: {loads: [{name: web, connectionsPerSecond: 1000}, {name: table, connectionsPerSecond: 500, concurrentConnections: 20000}]}}"

func TestConnectionsAreAdmitted(t *testing.T) {
	for name, test := range map[string]struct{ measurements, acceptance string }{
		"alone":       {"{connections: {loads: [{name: web, connectionsPerSecond: 1000}]}}", ""},
		"with frames": {"{throughput: {}, connections: {loads: [{name: web, connectionsPerSecond: 1, requestBytes: 64, responseBytes: 1048576, durationSeconds: 3600}]}}", ""},
		"criteria": {twoLoads,
			"[{name: a, metric: ConnectionsEstablishedPerSecond, load: web, atLeast: 990, statistic: ConfidenceLimit}, {name: b, metric: ConnectionsHeld, load: table, atLeast: 20000}, {name: c, metric: ConnectionsFailedPartsPerMillion, load: table, atMost: 10}]"},
		"a load with the name of a latency load": {"{throughput: {}, latency: {}, connections: {loads: [{name: idle, connectionsPerSecond: 1}]}}",
			"[{name: a, metric: ConnectionsFailedPartsPerMillion, load: idle, atMost: 1}, {name: b, metric: LatencyP99Nanoseconds, load: idle, atMost: 1}]"},
	} {
		if err := measuring(t, test.measurements, test.acceptance); err != nil {
			t.Errorf("%s: %s", name, clip(err.Error()))
		}
	}
}

func TestBadConnectionsAreRefused(t *testing.T) {
	load := func(fields string) string {
		return "{connections: {loads: [{name: web, connectionsPerSecond: 1000" + fields + "}]}}"
	}
	for name, test := range map[string]struct {
		measurements, acceptance string
		want                     []string
	}{
		"no load":           {"{connections: {loads: []}}", "", []string{"spec.experiment.measurements.connections.loads", "at least 1 items"}},
		"no rate":           {"{connections: {loads: [{name: web}]}}", "", []string{"connectionsPerSecond", "Required value"}},
		"a name twice":      {"{connections: {loads: [{name: a, connectionsPerSecond: 1}, {name: a, connectionsPerSecond: 2}]}}", "", []string{"loads[1]", "Duplicate"}},
		"a tiny request":    {load(", requestBytes: 63"), "", []string{"requestBytes", "greater than or equal to 64"}},
		"a huge response":   {load(", responseBytes: 1048577"), "", []string{"responseBytes", "less than or equal to 1048576"}},
		"opened too slowly": {load(", concurrentConnections: 600001"), "", []string{"concurrentConnections", "raise connectionsPerSecond, or lower concurrentConnections"}},
		"too long":          {load(", durationSeconds: 3601"), "", []string{"durationSeconds", "less than or equal to 3600"}},
		"not measured":      {"{throughput: {}}", "[{name: a, metric: ConnectionsHeld, load: web, atLeast: 1}]", []string{"spec.experiment.acceptance", "needs one of measurements.connections.loads"}},
		"another load":      {twoLoads, "[{name: a, metric: ConnectionsFailedPartsPerMillion, load: other, atMost: 1}]", []string{"needs one of measurements.connections.loads"}},
		"held, of a rate":   {twoLoads, "[{name: a, metric: ConnectionsHeld, load: web, atLeast: 1}]", []string{"ConnectionsHeld one with concurrentConnections"}},
		"a rate, of held":   {twoLoads, "[{name: a, metric: ConnectionsEstablishedPerSecond, load: table, atLeast: 1}]", []string{"ConnectionsEstablishedPerSecond one without"}},
		"without a load":    {twoLoads, "[{name: a, metric: ConnectionsHeld, atLeast: 1}]", []string{"load is required"}},
		"with a frame size": {twoLoads, "[{name: a, metric: ConnectionsHeld, load: table, size: '64', atLeast: 1}]", []string{"size has no meaning for a TCP or Connections metric"}},
		"a frames' metric":  {"{throughput: {}, connections: {loads: [{name: web, connectionsPerSecond: 1}]}}", "[{name: a, metric: LatencyP99Nanoseconds, load: web, atMost: 1}]", []string{"which no measurement has"}},
		"a limit of failed": {twoLoads, "[{name: a, metric: ConnectionsFailedPartsPerMillion, load: web, statistic: ConfidenceLimit, atMost: 1}]", []string{"statistic", "ConfidenceLimit is only for"}},
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
