package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestTCP measures only TCP: a router between two ends with iperf3, one connection and four, both
// directions at once.
func TestTCP(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, `apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: tcp}
spec:
  experiment:
    testbedRef: {name: lab}
    startupSeconds: 120
    deadlineSeconds: 600
    chain: [{name: r1, function: Router}]
    measurements:
      repeats: 2
      tcp: {streams: [1, 4], durationSeconds: 3, omitSeconds: 1, directions: Both}
    acceptance:
    - {name: carries, metric: TCPGoodputBitsPerSecond, atLeast: 1000000}
`)
	run := ends(t, ns, "tcp", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if len(run.Status.Results) != 0 {
		t.Errorf("%d frame sizes were measured, and none was asked for", len(run.Status.Results))
	}
	if run.Status.TCP == nil || len(run.Status.TCP.Streams) != 2 || len(run.Status.TCP.Ends) != 2 {
		t.Fatalf("the result is %+v", run.Status.TCP)
	}
	for i, streams := range []int32{1, 4} {
		result := run.Status.TCP.Streams[i]
		if result.Streams != streams || len(result.Directions) != 2 {
			t.Fatalf("result %d is %+v", i, result)
		}
		for _, d := range result.Directions {
			if d.RoundTripTime == nil || d.RoundTripTime.MinNanoseconds <= 0 || d.RoundTripTime.MinNanoseconds > d.RoundTripTime.MaxNanoseconds {
				t.Errorf("%d connections %s: round trip time is %+v", streams, d.Direction, d.RoundTripTime)
			}
			if len(d.Statistics) != 2 || d.Statistics[0].N != 2 || len(d.Intervals) != 3 || d.SenderCPUPartsPerMillion <= 0 {
				t.Errorf("%d connections %s: %+v", streams, d.Direction, d)
			}
		}
	}
	checkTCPUse(t, run, 2)
	if len(run.Status.Acceptance) != 2 || run.Status.Acceptance[1].Streams != 4 {
		t.Errorf("verdicts are %+v", run.Status.Acceptance)
	}
	nothingLeft(t, ns)
	freed(t, ns)
}

// TestTCPEndIsKilled checks that a missing end fails the run with its own reason.
func TestTCPEndIsKilled(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("killed", "  measurements: {tcp: {durationSeconds: 60}}\n"))
	until(t, ns, "killed", waitForStart, "measuring", func(run *v1alpha1.BenchmarkRun) bool {
		return finished(run) || condition(run, v1alpha1.ConditionMeasured).Reason == v1alpha1.ReasonMeasuring
	})
	for _, pod := range pods(t, ns, "endpoint") {
		must(t, cluster.Delete(t.Context(), &pod))
		break
	}
	ends(t, ns, "killed", metav1.ConditionFalse, v1alpha1.ReasonEndpointFailed)
	nothingLeft(t, ns)
	freed(t, ns)
}

// TestTCPSettingIsRefused checks that a setting that the kernel refuses is reported with its field.
func TestTCPSettingIsRefused(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("refused", "  measurements: {tcp: {congestionControl: nosuch, durationSeconds: 1}}\n"))
	run := ends(t, ns, "refused", metav1.ConditionFalse, v1alpha1.ReasonTCPSettingRefused)
	if message := condition(run, v1alpha1.ConditionSucceeded).Message; !strings.Contains(message, "measurements.tcp.congestionControl") {
		t.Errorf("the message does not name the field: %s", message)
	}
	nothingLeft(t, ns)
}
