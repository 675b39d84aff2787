package envtest

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/trialstore"
)

// redeployed makes it a run of two repeats with a deployment each.
func redeployed(run *v1alpha1.BenchmarkRun) {
	run.Spec.Experiment.Measurements.Repeats = 2
	run.Spec.Experiment.Measurements.RepeatScope = v1alpha1.RepeatChain
}

// deploymentsOf returns how many deployments of a run were ready.
func (l *lab) deploymentsOf(run *v1alpha1.BenchmarkRun) func() int {
	return func() int {
		l.Expect(l.get(run)).To(Succeed())
		return len(run.Status.Deployments)
	}
}

// redeployments are the phases between two deployments. Each is reached from a first deployment
// that measures.
var redeployments = map[string]struct {
	hold    func(*node)
	reached func(*lab, *v1alpha1.BenchmarkRun)
	proceed func(*node)
}{
	"the old chain goes": {
		hold: func(n *node) { n.holding, n.silent[pathChain] = true, false },
		reached: func(l *lab, run *v1alpha1.BenchmarkRun) {
			l.expect(run, v1alpha1.ConditionChainReady, "Unknown/Redeploying")
			l.Eventually(func() bool { return l.functionPod().DeletionTimestamp != nil }).Should(BeTrue())
		},
		proceed: func(n *node) { n.holding = false },
	},
	"the new chain starts": {
		hold:    func(n *node) { n.starts[chain.ComponentFunction], n.silent[pathChain] = nil, false },
		reached: reachSecond,
		proceed: startFunctions,
	},
	"the new chain measures": {
		hold: func(n *node) { n.starts[chain.ComponentFunction], n.silent[pathChain] = nil, false },
		reached: func(l *lab, run *v1alpha1.BenchmarkRun) {
			reachSecond(l, run)
			l.node.set(func(n *node) { n.silent[pathChain] = true; startFunctions(n) })
			l.Eventually(l.deploymentsOf(run)).Should(Equal(2))
			l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
		},
		proceed: func(n *node) { n.silent[pathChain] = false },
	},
}

// reachSecond waits for the pod of the second deployment.
func reachSecond(l *lab, _ *v1alpha1.BenchmarkRun) {
	l.Eventually(func() []string {
		var numbers []string
		for _, pod := range l.pods(chain.ComponentFunction) {
			numbers = append(numbers, pod.Labels[v1alpha1.LabelDeployment])
		}
		return numbers
	}).Should(Equal([]string{"2"}))
}

// startFunctions lets the functions start that a phase holds.
func startFunctions(n *node) {
	delete(n.starts, chain.ComponentFunction)
	for uid := range n.seen {
		if n.measurers[uid] == nil {
			delete(n.seen, uid)
		}
	}
}

// inRedeployment calls a test with a run that stays in each of the phases.
func inRedeployment(t *testing.T, test func(l *lab, run *v1alpha1.BenchmarkRun, proceed func(*node))) {
	t.Parallel()
	for name, phase := range redeployments {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			l.testbed()
			run := l.run("run", redeployed)
			l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
			l.node.set(phase.hold)
			phase.reached(l, run)
			test(l, run, phase.proceed)
		})
	}
}

// recordsOf returns the trials of a run.
func (l *lab) recordsOf(run *v1alpha1.BenchmarkRun) []measure.Record {
	l.t.Helper()
	stored := &corev1.ConfigMap{}
	l.Expect(cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: run.Status.ResultsRef.Name}, stored)).To(Succeed())
	records, err := trialstore.Read(stored, func(name string, _ types.UID) (*corev1.ConfigMap, error) {
		chunk := &corev1.ConfigMap{}
		return chunk, cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: name}, chunk)
	})
	l.Expect(err).NotTo(HaveOccurred())
	return records
}

// expectDeployments waits for the run's success, and checks that no deployment has trials of two
// repeats, and that the status has a number of them.
func (l *lab) expectDeployments(run *v1alpha1.BenchmarkRun, number int) {
	l.t.Helper()
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(run.Status.Deployments).To(HaveLen(number))
	uids, trials, repeatOf := map[string]bool{}, int32(0), map[int]int{}
	for i, d := range run.Status.Deployments {
		l.Expect(d.Number).To(BeEquivalentTo(i + 1))
		l.Expect(d.ReadyTime.IsZero()).To(BeFalse())
		l.Expect(d.Functions).To(HaveLen(1))
		l.Expect(d.Functions[0].Node).To(Equal(nodeName))
		uids[d.Functions[0].UID] = true
		trials += d.Trials
	}
	l.Expect(uids).To(HaveLen(number), "each has its own pod or virtual machine")
	calibrations := int32(0)
	for _, r := range l.recordsOf(run) {
		if r.Deployment == 0 {
			calibrations++
			continue
		}
		if repeat, known := repeatOf[r.Deployment]; known {
			l.Expect(r.Repeat).To(Equal(repeat), "deployment %d has trials of two repeats", r.Deployment)
		}
		repeatOf[r.Deployment] = r.Repeat
	}
	l.Expect(repeatOf).To(HaveLen(number), "each has trials")
	l.Expect(trials + calibrations).To(BeEquivalentTo(len(l.recordsOf(run))))
	l.Expect(run.Status.Results[0].Throughput[0].Statistics).To(HaveLen(1))
	l.Expect(run.Status.Results[0].Throughput[0].Statistics[0].N).To(BeEquivalentTo(2))
}

func TestRepeatsHaveADeploymentEach(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	run := l.run("run", redeployed)
	l.expectDeployments(run, 2)
	l.Expect(run.Status.Progress.MeasurerRestarts).To(BeZero())
	l.Eventually(l.events(run)).Should(ContainElement(v1alpha1.ReasonRedeploying))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
}

// TestRepeatsHaveAGatewayEach checks that a deployment gets keys that no other has used.
func TestRepeatsHaveAGatewayEach(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run", redeployed, gateways)
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	before := l.keys()
	l.Expect(before).NotTo(BeEmpty())
	l.node.set(func(n *node) { n.starts[chain.ComponentFunction], n.silent[pathChain] = nil, false })
	l.Eventually(func() int {
		second := 0
		for _, pod := range l.pods(chain.ComponentFunction) {
			if pod.Labels[v1alpha1.LabelDeployment] == "2" {
				second++
			}
		}
		return second
	}).Should(Equal(len(run.Spec.Experiment.Chain)))
	after := l.keys()
	l.Expect(after).To(HaveLen(len(before)))
	for name, key := range after {
		l.Expect(before).To(HaveKey(name))
		l.Expect(key).NotTo(Equal(before[name]), name)
	}
	l.node.set(startFunctions)
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

func TestOperatorRestartInRedeployment(t *testing.T) {
	inRedeployment(t, func(l *lab, run *v1alpha1.BenchmarkRun, proceed func(*node)) {
		l.stop()
		l.node.set(proceed)
		l.startOperator()
		l.expectDeployments(run, 2)
		l.Expect(run.Status.Progress.MeasurerRestarts).To(BeZero(), "the measurer does not notice")
	})
}

func TestMeasurerRestartInRedeployment(t *testing.T) {
	inRedeployment(t, func(l *lab, run *v1alpha1.BenchmarkRun, proceed func(*node)) {
		l.Expect(cluster.Delete(l.ctx, &l.pods(chain.ComponentMeasurer)[0])).To(Succeed())
		l.node.set(proceed)
		l.expectDeployments(run, 2)
		l.Expect(run.Status.Progress.MeasurerRestarts).To(BeEquivalentTo(1))
	})
}

func TestSuspendInRedeployment(t *testing.T) {
	inRedeployment(t, func(l *lab, run *v1alpha1.BenchmarkRun, proceed func(*node)) {
		ready := len(run.Status.Deployments)
		l.setSuspend(run, true)
		l.node.set(proceed)
		l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
		l.Eventually(func() int { return len(l.pods(chain.ComponentFunction)) }).Should(BeZero())
		l.setSuspend(run, false)
		l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
		for _, r := range l.recordsOf(run) {
			l.Expect(r.Repeat == 1).To(Equal(r.Deployment > 1), "trial %d of repeat %d has deployment %d", r.Index, r.Repeat, r.Deployment)
		}
		l.Expect(len(run.Status.Deployments)).To(BeNumerically(">=", ready))
	})
}

func TestDeletionInRedeployment(t *testing.T) {
	inRedeployment(t, func(l *lab, run *v1alpha1.BenchmarkRun, proceed func(*node)) {
		l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
		l.node.set(proceed)
		l.Eventually(func() bool { return apierrors.IsNotFound(l.get(run)) }).Should(BeTrue())
		l.Eventually(l.objects).Should(BeEmpty())
	})
}

// TestNextDeploymentDoesNotStart checks that a deployment that is not ready in time ends the run, and that the figures of the
// repeats before it stay.
func TestNextDeploymentDoesNotStart(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run", redeployed)
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.node.set(func(n *node) { n.starts[chain.ComponentFunction], n.silent[pathChain] = unready, false })
	l.pendsThenFails(run, "port west is down", v1alpha1.ReasonChainNotReady)
	l.Expect(run.Status.Results).To(HaveLen(1))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
}
