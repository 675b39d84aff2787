package envtest

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// nodeHolder returns who holds the node.
func (l *lab) nodeHolder() string {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "node-" + nodeName}}
	if err := l.get(lease); err != nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

func identityOf(run *v1alpha1.BenchmarkRun) string {
	return run.Namespace + "/" + run.Name + "/" + string(run.UID)
}

// TestOneRunMeasuresOnANode: two Testbeds choose the same node. The second run waits with the first one's names, and
// starts when that is suspended.
func TestOneRunMeasuresOnANode(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	other := l.testbed(func(t *v1alpha1.Testbed) { t.Name = l.namespace + "-other" })
	first := l.run("first")
	l.expect(first, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.Expect(l.nodeHolder()).To(Equal(identityOf(first)))
	second := l.run("second", func(r *v1alpha1.BenchmarkRun) { r.Spec.Experiment.TestbedRef.Name = other.Name })
	l.expect(second, v1alpha1.ConditionChainReady, "Unknown/NodeBusy")
	want := fmt.Sprintf("waiting for node %q, on which run %q of Testbed %q measures", nodeName, l.namespace+"/first", l.namespace)
	l.Expect(l.message(second, v1alpha1.ConditionChainReady)).To(Equal(want))
	l.Expect(l.message(second, v1alpha1.ConditionSucceeded)).To(Equal(want))
	l.expect(second, v1alpha1.ConditionAdmitted, "True/Admitted")

	l.setSuspend(first, true)
	l.expect(second, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.Expect(l.nodeHolder()).To(Equal(identityOf(second)))
	l.setSuspend(first, false)
	l.expect(first, v1alpha1.ConditionChainReady, "Unknown/NodeBusy")

	l.Expect(cluster.Delete(l.ctx, second)).To(Succeed())
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(first, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Eventually(l.nodeHolder).Should(BeEmpty())
}

// TestNodeOfARunThatIsGone: the Lease of a node names a run that does not exist, or that has ended. The next run
// takes it over.
func TestNodeOfARunThatIsGone(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	lease := func(holder string) {
		l.Expect(cluster.Create(l.ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "node-" + nodeName},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder},
		})).To(Succeed())
	}
	lease(l.namespace + "/gone/0b4a1c1e")
	ended := l.run("ended")
	l.expect(ended, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Eventually(l.nodeHolder).Should(BeEmpty())
	l.expect(ended, v1alpha1.ConditionAdmitted, "False/Released")
	lease(identityOf(ended))
	next := l.run("next")
	l.expect(next, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Eventually(l.nodeHolder).Should(BeEmpty())
	l.expect(next, v1alpha1.ConditionAdmitted, "False/Released")

	lease("a person")
	blocked := l.run("blocked")
	l.expect(blocked, v1alpha1.ConditionChainReady, "Unknown/NodeBusy")
	l.Expect(l.message(blocked, v1alpha1.ConditionChainReady)).To(ContainSubstring(`has the holder "a person", which is no run: delete it`))
	l.Expect(cluster.DeleteAllOf(l.ctx, &coordinationv1.Lease{}, client.InNamespace(l.namespace))).To(Succeed())
	l.expect(blocked, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// TestRunGoesToAnIdleNode: a run does not wait for a node while another is idle, neither when it is planned nor when it
// waits already.
func TestRunGoesToAnIdleNode(t *testing.T) {
	l := newLab(t, nil)
	first, second := l.ownNode("-a"), l.ownNode("-b")
	hold := func(node string) *coordinationv1.Lease {
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "node-" + node},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("a person")},
		}
		l.Expect(cluster.Create(l.ctx, lease)).To(Succeed())
		return lease
	}
	hold(first.Name)
	l.ownTestbed()
	planned := l.run("planned")
	l.expect(planned, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(planned.Status.Plan.DeviceNode).To(Equal(second.Name))
	l.expect(planned, v1alpha1.ConditionAdmitted, "False/Released")

	busy := hold(second.Name)
	waits := l.run("waits")
	l.expect(waits, v1alpha1.ConditionChainReady, "Unknown/NodeBusy")
	l.Expect(waits.Status.Plan.DeviceNode).To(Equal(first.Name))
	l.Expect(cluster.Delete(l.ctx, busy)).To(Succeed())
	l.expect(waits, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(waits.Status.Plan.DeviceNode).To(Equal(second.Name))
}
