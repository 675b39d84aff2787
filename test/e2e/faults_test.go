package e2e

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// outage is how long a disk is full or a network is cut: less than what a run waits for an API server
// or for a pod to start.
const outage = 15 * time.Second

// leaderElectionID is the operators' Lease.
const leaderElectionID = "manager.vnfbench.io"

// nothing is what a fault met that came too early or too late.
const nothing = "nothing there"

// afterFunction returns the ends of a run whose function was killed.
func afterFunction(at moment) []string {
	switch {
	case at.met == nothing:
		return continues(at)
	case at.measuring():
		return []string{v1alpha1.ReasonChainFailed}
	}
	// Before the chain is used its container is started again; after the last trial it is not needed.
	return []string{v1alpha1.ReasonSucceeded, v1alpha1.ReasonChainFailed}
}

func afterResults(at moment) []string {
	if at.met == nothing || at.stage == v1alpha1.ConditionSucceeded {
		return continues(at)
	}
	if at.stage == v1alpha1.ConditionAdmitted || at.stage == v1alpha1.ConditionPlanned || at.measuring() {
		return []string{v1alpha1.ReasonResultsLost}
	}
	// After the last trial the verdict may be there before the deletion is seen.
	return []string{v1alpha1.ReasonResultsLost, v1alpha1.ReasonSucceeded}
}

// afterTestbed returns the ends of a run whose testbed was deleted: a run that holds it is measured to its end.
func afterTestbed(at moment) []string {
	if at.stage == "" {
		return []string{v1alpha1.ReasonSucceeded, v1alpha1.ReasonTestbedNotFound}
	}
	return continues(at)
}

func (c *campaign) killComponent(component string) string {
	found := pods(c.t, c.ns, component)
	for i := range found {
		killPod(c.t, &found[i])
	}
	if len(found) == 0 {
		return nothing
	}
	return fmt.Sprintf("%s, %s", found[0].Name, found[0].Status.Phase)
}

func (c *campaign) killLeader() string {
	leader := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: leaderPod(c.t)}}
	must(c.t, retry(c.t, func() error {
		return client.IgnoreNotFound(cluster.Get(c.t.Context(), client.ObjectKeyFromObject(leader), leader))
	}))
	killPod(c.t, leader)
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), leader, client.GracePeriodSeconds(0))))
	return leader.Name
}

func (c *campaign) deleteLease() string {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: leaderElectionID}}
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), lease)))
	return lease.Name
}

// killDaemon kills a program of the node, which process 1 starts again, and waits until the cluster answers
// and its node is ready.
func (c *campaign) killDaemon(name string) string {
	id := c.onNode(fmt.Sprintf(`for p in /proc/[0-9]*; do
	[ "$(cat $p/comm 2>/dev/null)" = %s ] && [ "$(awk '/^PPid:/ {print $2}' $p/status)" = 1 ] && kill -9 ${p#/proc/} && echo ${p#/proc/}
done; true`, name))
	if id == "" {
		c.t.Fatalf("no %s runs in the node", name)
	}
	c.settles(name, "ok", func() string {
		out, code := kubectl(c.t, "get", "--raw", "/readyz")
		if code != 0 {
			return "not ready"
		}
		return out
	})
	if out, code := kubectl(c.t, "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=2m"); code != 0 {
		c.t.Errorf("after %s: %s", name, out)
	}
	return "process " + id
}

// deleteConfigMap deletes the ConfigMap of the run whose name ends so: that of the results or of the plan.
func (c *campaign) deleteConfigMap(suffix string) string {
	found := c.configMap(suffix)
	if found == nil {
		return nothing
	}
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), found)))
	return found.Name
}

func (c *campaign) deleteJob() string {
	jobs := &batchv1.JobList{}
	must(c.t, retry(c.t, func() error { return cluster.List(c.t.Context(), jobs, client.InNamespace(c.ns)) }))
	if len(jobs.Items) == 0 {
		return nothing
	}
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), &jobs.Items[0], client.PropagationPolicy(metav1.DeletePropagationBackground))))
	return jobs.Items[0].Name
}

func (c *campaign) deleteTestbed() string {
	tb := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: testbedName(c.ns, "lab")}}
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), tb)))
	return tb.Name
}

func (c *campaign) deleteNamespace() string {
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.ns}})))
	return c.ns
}

// deleteWithOrphan has the garbage collector take the owner off all that the run has.
func (c *campaign) deleteWithOrphan() string {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: c.run}}
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), run, client.PropagationPolicy(metav1.DeletePropagationOrphan))))
	return run.Name
}

// deleteNodeLease lets another testbed's run have the node: in a campaign there is none.
func (c *campaign) deleteNodeLease() string {
	leases := &coordinationv1.LeaseList{}
	must(c.t, retry(c.t, func() error { return cluster.List(c.t.Context(), leases, client.InNamespace(systemNamespace)) }))
	for i := range leases.Items {
		if lease := &leases.Items[i]; strings.HasPrefix(lease.Name, "node-") {
			must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), lease)))
			return lease.Name
		}
	}
	return nothing
}

func (c *campaign) deleteRoleBinding() string {
	bindings := &rbacv1.RoleBindingList{}
	must(c.t, retry(c.t, func() error { return cluster.List(c.t.Context(), bindings, client.InNamespace(c.ns)) }))
	if len(bindings.Items) == 0 {
		return nothing
	}
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), &bindings.Items[0])))
	return bindings.Items[0].Name
}

// fillQuota lets the namespace have no more pods, and deletes the measurer's, which its Job then cannot replace.
func (c *campaign) fillQuota() string {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "full"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	must(c.t, cluster.Create(c.t.Context(), quota))
	c.settles("quota", "counted", func() string {
		if err := cluster.Get(c.t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil || len(quota.Status.Hard) == 0 {
			return "not counted"
		}
		return "counted"
	})
	met, found := nothing, pods(c.t, c.ns, "measurer")
	for i := range found {
		met = found[i].Name
		must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), &found[i])))
	}
	time.Sleep(outage)
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), quota)))
	return met
}

// keepOne has the operator delete the runs before this one.
func (c *campaign) keepOne() string {
	tb := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: testbedName(c.ns, "lab")}}
	must(c.t, cluster.Patch(c.t.Context(), tb, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"historyLimit":1}}`))))
	return tb.Name
}

// fillDisk makes the file systems full in which containerd and the CNI plugins keep their state. Both are in
// the memory of the node: they get the size that they use, so nothing is written to the disk of the machine.
func (c *campaign) fillDisk() string {
	out := c.onNode(fmt.Sprintf(`trap 'for d in /run /var/lib/cni/networks; do mount -o remount,size=50%% $d; done' EXIT
for d in /run /var/lib/cni/networks; do mount -o remount,size=$(df -k --output=used $d | tail -1 | tr -d ' ')k $d || exit 1; done
df -k --output=avail /run | tail -1
sleep %d`, int(outage.Seconds())))
	return "free: " + out + " KiB"
}

// partition drops what pods send to the API server. The kubelet still reaches the pods.
func (c *campaign) partition() string {
	c.onNode(fmt.Sprintf(`trap 'nft delete table inet campaign' EXIT
nft add table inet campaign
nft add chain inet campaign input '{ type filter hook input priority -10; }'
nft add rule inet campaign input ip saddr 10.0.0.0/8 tcp dport 6443 drop
sleep %d`, int(outage.Seconds())))
	return "cut off"
}
