package envtest

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
)

func inNamespace(l *lab) client.InNamespace { return client.InNamespace(l.namespace) }

func component(name string) client.MatchingLabels {
	return client.MatchingLabels{v1alpha1.LabelComponent: name}
}

// phases are the places of a run's life where something can interrupt it. prepare makes a
// run stay there, reached waits for it, and proceed lets it continue.
var phases = map[string]struct {
	prepare func(*node)
	reached func(*lab, *v1alpha1.BenchmarkRun)
	proceed func(*node)
}{
	"measurer starts": {
		prepare: func(n *node) { n.starts[chain.ComponentMeasurer] = nil },
		reached: func(l *lab, run *v1alpha1.BenchmarkRun) {
			l.Eventually(l.objects).Should(ContainElement(HavePrefix("v1.Pod/")))
		},
		proceed: func(n *node) { delete(n.starts, chain.ComponentMeasurer); clear(n.seen) },
	},
	"calibration": {
		prepare: func(n *node) { n.silent[pathCalibration] = true },
		reached: func(l *lab, run *v1alpha1.BenchmarkRun) {
			l.Eventually(func() *v1alpha1.LocalReference { l.Expect(l.get(run)).To(Succeed()); return run.Status.ResultsRef }).ShouldNot(BeNil())
		},
		proceed: func(n *node) { n.silent[pathCalibration] = false },
	},
	"chain starts": {
		prepare: func(n *node) { n.starts[chain.ComponentFunction] = nil },
		reached: func(l *lab, run *v1alpha1.BenchmarkRun) { l.functionPod() },
		proceed: func(n *node) {
			delete(n.starts, chain.ComponentFunction)
			for uid := range n.seen {
				if n.measurers[uid] == nil {
					delete(n.seen, uid)
				}
			}
		},
	},
	"measuring": {
		prepare: func(n *node) { n.silent[pathChain] = true },
		reached: func(l *lab, run *v1alpha1.BenchmarkRun) {
			l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
		},
		proceed: func(n *node) { n.silent[pathChain] = false },
	},
}

func TestDeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			l.node.set(phase.prepare)
			testbed := l.testbed()
			run := l.run("run")
			phase.reached(l, run)
			l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
			l.Eventually(func() bool { return apierrors.IsNotFound(l.get(run)) }).Should(BeTrue())
			l.Eventually(l.objects).Should(BeEmpty())
			l.Eventually(func() []v1alpha1.ActiveRun { l.Expect(l.get(testbed)).To(Succeed()); return testbed.Status.ActiveRuns }).Should(BeEmpty())
		})
	}
	t.Run("finished", func(t *testing.T) {
		l := newLab(t, nil)
		l.testbed()
		run := l.run("run")
		l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
		l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
		l.Eventually(l.objects).Should(BeEmpty())
	})
	t.Run("without a testbed", func(t *testing.T) {
		l := newLab(t, nil)
		run := l.run("run")
		l.expect(run, v1alpha1.ConditionAdmitted, "False/TestbedNotFound")
		l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
		l.Eventually(func() bool { return apierrors.IsNotFound(l.get(run)) }).Should(BeTrue())
	})
}

func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			l.node.set(phase.prepare)
			testbed := l.testbed()
			run := l.run("run")
			phase.reached(l, run)
			l.setSuspend(run, true)
			l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
			l.Eventually(func() []v1alpha1.ActiveRun { l.Expect(l.get(testbed)).To(Succeed()); return testbed.Status.ActiveRuns }).Should(BeEmpty())
			l.expectOnlyRecords()
			l.node.set(phase.proceed)
			l.setSuspend(run, false)
			l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
		})
	}
}

// TestResumeBeforeAllIsGone checks that a run that is resumed before its pods are gone waits for them, however long it has been
// measured, and continues after its trials.
func TestResumeBeforeAllIsGone(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run", func(run *v1alpha1.BenchmarkRun) { run.Spec.Experiment.StartupSeconds = 5 })
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	time.Sleep(6 * time.Second)
	l.node.set(func(n *node) { n.holding = true })
	l.setSuspend(run, true)
	l.Eventually(func() bool { return l.pods(chain.ComponentFunction)[0].DeletionTimestamp != nil }).Should(BeTrue())
	l.setSuspend(run, false)
	l.Consistently(l.state(run, v1alpha1.ConditionSucceeded)).Should(HavePrefix("Unknown/"))
	l.node.set(func(n *node) { n.holding, n.silent[pathChain] = false, false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

func TestOperatorRestart(t *testing.T) {
	t.Parallel()
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			l.node.set(phase.prepare)
			l.testbed()
			run := l.run("run")
			phase.reached(l, run)
			l.stop()
			l.node.set(phase.proceed)
			l.startOperator()
			l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
			l.Expect(run.Status.Progress.MeasurerRestarts).To(BeZero(), "the measurer does not notice")
		})
	}
}

// TestLostAdmission checks that a testbed's status that a user has edited does not leave two runs on it.
func TestLostAdmission(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	testbed := l.testbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	pod := l.functionPod()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"activeRuns":null}}`))
	l.Expect(cluster.Status().Patch(l.ctx, testbed, patch)).To(Succeed())
	l.goes(pod)
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

func TestTerminatingNamespaceIsNotHeldUp(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	testbed := l.testbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.Expect(cluster.Delete(l.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}})).To(Succeed())
	l.Expect(cluster.Delete(l.ctx, testbed)).To(Succeed())
	l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(run)) }).Should(BeTrue())
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(testbed)) }).Should(BeTrue())
}
