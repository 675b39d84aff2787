package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// everything requests each procedure and kind of traffic once, as short as possible.
const everything = `apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: everything}
spec:
  experiment:
    testbedRef: {name: lab}
    deadlineSeconds: 900
    chain: [{name: r1, function: Router}]
    traffic:
      frameBytes: [128]
      imix: [{name: SimpleIMIX}]
      flows: 1000
      flowVariation: [SourceAddress, SourcePort]
      flowOrder: Random
      reversePercent: 50
    measurements:
      warmUpMilliseconds: 100
      settleMilliseconds: 50
      repeats: 2
      throughput:
        maximumFramesPerSecond: 20000
        goals: [{name: PDR, lossPartsPerMillion: 1000, trialMilliseconds: 200, durationSumMilliseconds: 200, widthPartsPerMillion: 200000}]
      latency:
        trialMilliseconds: 500
        loads: [{name: half, goal: PDR, percent: 50}, {name: line, rate: {layer2BitsPerSecond: 2000000}}]
      fixedLoad:
        durationSeconds: 1
        discardSeconds: 0
        repeats: 2
        profiles: [{name: branch, size: '128', framesPerSecond: 2000}]
      frameLossRate: {stepPercent: 10, trialMilliseconds: 200, maximumFramesPerSecond: 5000}
      receiveRate: {trials: 2, trialMilliseconds: 200}
      soak: {size: '128', framesPerSecond: 2000, durationSeconds: 4, intervalSeconds: 1}
`

func TestEveryProcedure(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, everything)
	run := ends(t, ns, "everything", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if len(run.Status.Results) != 2 {
		t.Fatalf("%d results, want one for 128 bytes and one for the mix", len(run.Status.Results))
	}
	for _, result := range run.Status.Results {
		checkResult(t, result, 1, 2)
		for _, goal := range result.Throughput {
			measured := len(goal.Statistics) == 1 && goal.Statistics[0].N == 2
			// A repeat that is a floor has no place in a mean.
			floors := goal.Censored != nil && goal.Censored.N == 2 && len(goal.Censored.Values) == 2
			if measured == floors {
				t.Errorf("%d bytes: statistics of %s are %+v and repeats that are floors %+v, want one of them, of two repeats",
					result.FrameBytes, goal.Goal, goal.Statistics, goal.Censored)
			}
		}
		if result.FrameLossRate == nil || len(result.FrameLossRate.Points) < 2 {
			t.Errorf("%d bytes: the loss curve is %+v", result.FrameBytes, result.FrameLossRate)
		}
		if result.ReceiveRate == nil || len(result.ReceiveRate.Trials) != 2 || result.ReceiveRate.MeanFramesPerSecond <= 0 {
			t.Errorf("%d bytes: the receive rate is %+v", result.FrameBytes, result.ReceiveRate)
		}
	}
	size, mix := run.Status.Results[0], run.Status.Results[1]
	if mix.Mix != "SimpleIMIX" {
		t.Errorf("the second result is that of mix %q", mix.Mix)
	}
	if len(size.FixedLoad) != 1 || len(size.FixedLoad[0].Repeats) != 2 {
		t.Errorf("fixed loads are %+v, want two repeats of one", size.FixedLoad)
	}
	if size.Soak == nil || len(size.Soak.Intervals) != 4 {
		t.Errorf("the soak is %+v, want four intervals", size.Soak)
	}
	for _, load := range size.Latency {
		var forward, reverse int64
		for _, d := range load.Directions {
			if d.Direction == "Forward" {
				forward = d.SentFrames
			} else {
				reverse = d.SentFrames
			}
		}
		if load.Load == "line" && (reverse < forward*45/100 || reverse > forward*55/100) {
			t.Errorf("sent %d frames forward and %d in reverse, want half", forward, reverse)
		}
	}
	nothingLeft(t, ns)
}
