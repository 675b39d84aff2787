package envtest

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// TestPlanOfAnotherVersion checks that an operator that finds the plan of another version in the middle of a run reports it, and
// gives the testbed to the next run.
func TestPlanOfAnotherVersion(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("a-run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")

	l.changePlan(run, "version", plan.Version+1)

	l.expect(run, v1alpha1.ConditionSucceeded, "False/VersionMismatch")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("apply the run under a new name"))
	next := l.run("b-next")
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(next, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// TestMeasurerOfAnotherVersion checks that what a measurer writes first shows that it was built with another version than the
// operator. An image with TRex is the user's, who has to build it again.
func TestMeasurerOfAnotherVersion(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed(byTRex(trexImage))
	run := l.run("a-run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")

	// The operator is the other version here: the measurer is of this one.
	l.changePlan(run, "protocol", "another")
	l.expect(run, v1alpha1.ConditionSucceeded, "False/VersionMismatch")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(And(ContainSubstring(trexImage), ContainSubstring("make trex-image")))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
}

// TestRunOfAnOlderOperator checks that a plan without a digest in the status, which an operator of before wrote or an
// older definition dropped, ends the run with the remedy, and does not accuse another writer.
func TestRunOfAnOlderOperator(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.setSuspend(run, true)
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
	l.Expect(conditionText(run.Status.Conditions, v1alpha1.ConditionPlanned)).To(Equal("True/Planned"), "a suspended run keeps what it has reached")
	l.Expect(cluster.Status().Patch(l.ctx, run, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"plan":{"storedDigest":null}}}`)))).To(Succeed())
	l.setSuspend(run, false)
	l.expect(run, v1alpha1.ConditionSucceeded, "False/VersionMismatch")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("apply those of its version"))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
}

// changePlan sets a value of a run's plan. Its ConfigMap is immutable: it is made again
// while no run uses it.
func (l *lab) changePlan(run *v1alpha1.BenchmarkRun, key string, value any) {
	l.t.Helper()
	l.setSuspend(run, true)
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
	stored := &corev1.ConfigMap{}
	l.Expect(cluster.Get(l.ctx, client.ObjectKey{Namespace: run.Namespace, Name: plan.NamesOf(run).Plan}, stored)).To(Succeed())
	layout := map[string]any{}
	l.Expect(json.Unmarshal([]byte(stored.Data[plan.KeyPlan]), &layout)).To(Succeed())
	layout[key] = value
	stored.Data[plan.KeyPlan] = mustJSON(layout)
	l.Expect(cluster.Delete(l.ctx, stored)).To(Succeed())
	stored.ResourceVersion, stored.UID = "", ""
	l.Expect(cluster.Create(l.ctx, stored)).To(Succeed())
	// The operator of the other version wrote this into the status.
	patch := fmt.Appendf(nil, `{"status":{"plan":{"storedDigest":%q}}}`, plan.Sum(stored.Data))
	l.Expect(cluster.Status().Patch(l.ctx, run, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
	l.setSuspend(run, false)
}
