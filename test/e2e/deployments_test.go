package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestRepeatsHaveADeploymentEach measures two repeats, and checks that the second has its own launch of the chain, and the
// traffic pod of the first.
func TestRepeatsHaveADeploymentEach(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("redeployed", `  measurements:
    warmUpMilliseconds: 200
    repeats: 2
    repeatScope: Chain
    latency:
      trialMilliseconds: 1000
      loads:
      - {name: idle, framesPerSecond: 1000}
      - {name: busy, framesPerSecond: 4000}
`))
	run := ends(t, ns, "redeployed", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	deployments := run.Status.Deployments
	if len(deployments) != 2 {
		t.Fatalf("the deployments are %+v, want two", deployments)
	}
	first, second := deployments[0], deployments[1]
	for i, d := range deployments {
		// Warm-up and two loads of one size; what was interrupted is made again.
		if d.Number != int32(i+1) || d.Trials < 3 || len(d.Functions) != 1 || d.Functions[0].Runtime != v1alpha1.RuntimePod || d.Functions[0].Node != run.Status.Plan.DeviceNode {
			t.Errorf("deployment %+v, want one pod on node %q and at least 3 trials", d, run.Status.Plan.DeviceNode)
		}
	}
	if len(first.Functions) == 1 && len(second.Functions) == 1 && first.Functions[0].UID == second.Functions[0].UID {
		t.Errorf("both deployments are pod %s", first.Functions[0].UID)
	}
	if !first.ReadyTime.Before(&second.ReadyTime) {
		t.Errorf("ready at %s and at %s", first.ReadyTime, second.ReadyTime)
	}
	if run.Status.Progress == nil || run.Status.Progress.MeasurerRestarts != 0 || len(run.Status.Sessions) != 0 {
		t.Errorf("progress %+v and sessions %+v, want one measurer", run.Status.Progress, run.Status.Sessions)
	}
	for _, result := range run.Status.Results {
		checkResult(t, result, 0, 2)
		for _, load := range result.Latency {
			for _, d := range load.Directions {
				if len(d.Statistics) == 0 || d.Statistics[0].N != 2 {
					t.Errorf("%s, %s: statistics are %+v, want those of two deployments", load.Load, d.Direction, d.Statistics)
				}
			}
		}
	}
	out, code := command(t, "kubectl-vnfbench", "-n", ns, "report", "redeployed")
	if code != 0 || !strings.Contains(out, "each on its own deployment of the chain") || !strings.Contains(out, second.Functions[0].UID) {
		t.Errorf("report ended with code %d and printed:\n%s", code, out)
	}
	nothingLeft(t, ns)
	freed(t, ns)
}
