package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// stays is the node with the control plane, and goes the worker, which tests end.
const stays, goes = "node1", "node2"

// minutes measures longer than Kubernetes takes to see that a node is lost.
var minutes = steadyLoads(15000)

// twoNodes skips a test unless the lab is to have two nodes. A lab that then has not two that are ready is an error.
func twoNodes(t *testing.T) {
	t.Helper()
	if os.Getenv("VNFBENCH_E2E_NODES") != "2" {
		t.Skip("NOT RUN: nothing was tried on two nodes. `make e2e-nodes` does, with VNFBENCH_E2E_NODES=2")
	}
	for _, name := range []string{stays, goes} {
		if !nodeReady(t, name) {
			t.Fatalf("VNFBENCH_E2E_NODES is 2, and %s is not ready: run this by `make e2e-nodes`", name)
		}
	}
}

func nodeReady(t *testing.T, name string) bool {
	t.Helper()
	node := &corev1.Node{}
	must(t, retry(t, func() error { return cluster.Get(t.Context(), client.ObjectKey{Name: name}, node) }))
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// nodesTestbed makes a testbed whose generator and functions run on the named nodes, by bridges. generator is more of its
// spec.generator.
func nodesTestbed(t *testing.T, ns, name, generatorNode, functionsNode, generator string) {
	t.Helper()
	apply(t, ns, fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: Testbed
metadata: {name: %s}
spec:
  namespaces: {from: All}
  generator: {driver: XDP, nodeSelector: {kubernetes.io/hostname: %s}%s}
  systemUnderTest: {nodeSelector: {kubernetes.io/hostname: %s}}
  ports:
    linkBitsPerSecond: 10000000000
    mtuBytes: 1500
    west: {attachment: Bridge}
    east: {attachment: Bridge}
`, name, generatorNode, generator, functionsNode))
}

// onNode returns a run of shortRun that uses the testbed of that name.
func onNode(name, testbed, extra string) string {
	return strings.Replace(shortRun(name, extra), "testbedRef: {name: lab}", "testbedRef: {name: "+testbed+"}", 1)
}

// labDoes runs the lab program, also in the cleanup of a test, whose context has ended.
func labDoes(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(os.Getenv("LAB"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("lab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// loseNode ends the worker as a power failure does. At the end of the test it is there again.
func loseNode(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { returnNode(t) })
	labDoes(t, "kill", "--node", goes)
}

// returnNode starts the worker again, if it does not run, and waits until it is ready.
func returnNode(t *testing.T) {
	t.Helper()
	labDoes(t, "up")
}

// TestNodesTakeRuns measures on each node, and checks where the pods of the run are.
func TestNodesTakeRuns(t *testing.T) {
	twoNodes(t)
	for _, node := range []string{goes, stays} {
		t.Run(node, func(t *testing.T) {
			ns := namespace(t)
			nodesTestbed(t, ns, "placed", node, node, "")
			apply(t, ns, onNode("placed", "placed", eightSeconds))
			until(t, ns, "placed", waitForStart, "measuring", trialsOfChain(5))
			for _, component := range []string{"measurer", "function", "observer"} {
				found := pods(t, ns, component)
				if len(found) != 1 {
					t.Errorf("%d pods are the run's %s, want one", len(found), component)
				}
				for _, pod := range found {
					if pod.Spec.NodeName != node {
						t.Errorf("pod %s is on %s, want %s", pod.Name, pod.Spec.NodeName, node)
					}
				}
			}
			run := ends(t, ns, "placed", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
			if plan := run.Status.Plan; plan == nil || plan.GeneratorNode != node || plan.DeviceNode != node {
				t.Errorf("the plan is %+v, want %s for both", plan, node)
			}
			if len(run.Status.Results) != 1 {
				t.Fatalf("%d results, want one", len(run.Status.Results))
			}
			checkResult(t, run.Status.Results[0], 0, 8)
			nothingLeft(t, ns)
		})
	}
}

// TestNodesAreJoinedByNoBridge asks for a generator on one node and a function on the other, with a bridge between them.
func TestNodesAreJoinedByNoBridge(t *testing.T) {
	twoNodes(t)
	ns := namespace(t)
	nodesTestbed(t, ns, "split", stays, goes, "")
	apply(t, ns, onNode("split", "split", eightSeconds))
	run := ends(t, ns, "split", metav1.ConditionFalse, v1alpha1.ReasonNoMatchingNode)
	message := condition(run, v1alpha1.ConditionSucceeded).Message
	for _, want := range []string{"Bridge", "on one node", "spec.ports"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message does not say %q: %s", want, message)
		}
	}
	nothingLeft(t, ns)
}

// TestNodesLeases has three Testbeds, two of them on one node: there the second run waits, and names the first, while the
// third measures on the other node. Each node has one Lease, which names its run, and the next run takes it over.
func TestNodesLeases(t *testing.T) {
	twoNodes(t)
	noLease(t) // of a test before
	ns := namespace(t)
	for name, node := range map[string]string{"first": goes, "second": goes, "elsewhere": stays} {
		nodesTestbed(t, ns, name, node, node, "")
	}
	apply(t, ns, onNode("first", "first", minutes))
	first := until(t, ns, "first", waitForStart, "measuring", trialsOfChain(1))
	holds(t, map[string]*v1alpha1.BenchmarkRun{goes: first})

	apply(t, ns, onNode("elsewhere", "elsewhere", longTrials))
	apply(t, ns, onNode("second", "second", longTrials))
	second := until(t, ns, "second", waitForStart, "waiting for the node", func(run *v1alpha1.BenchmarkRun) bool {
		c := condition(run, v1alpha1.ConditionChainReady)
		return finished(run) || c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonNodeBusy
	})
	waits := fmt.Sprintf("waiting for node %q, on which run %q of Testbed %q measures", goes, ns+"/first", testbedName(ns, "first"))
	if c := condition(second, v1alpha1.ConditionChainReady); c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonNodeBusy || c.Message != waits {
		t.Errorf("ChainReady of the second run is %s with reason %s: %s; want Unknown with %s: %s", c.Status, c.Reason, c.Message, v1alpha1.ReasonNodeBusy, waits)
	}

	// The run on the other node does not wait.
	elsewhere := until(t, ns, "elsewhere", waitForStart, "measuring", trialsOfChain(1))
	for _, run := range []*v1alpha1.BenchmarkRun{elsewhere, getRun(t, ns, "first")} {
		if finished(run) {
			t.Fatalf("run %s had ended before two of them measured at once: this test says nothing", run.Name)
		}
	}
	holds(t, map[string]*v1alpha1.BenchmarkRun{goes: first, stays: elsewhere})
	on := map[string]string{}
	for _, pod := range pods(t, ns, "measurer") {
		on[pod.Spec.NodeName] += pod.Labels[v1alpha1.LabelRun]
	}
	if want := map[string]string{goes: string(first.UID), stays: string(elsewhere.UID)}; !maps.Equal(on, want) {
		t.Errorf("the measurers of the nodes are those of the runs %v, want %v", on, want)
	}
	ends(t, ns, "elsewhere", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)

	ends(t, ns, "first", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	until(t, ns, "second", waitForStart, "measuring", trialsOfChain(1))
	holds(t, map[string]*v1alpha1.BenchmarkRun{goes: second})
	ends(t, ns, "second", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	nothingLeft(t, ns)
	noLease(t)
}

// leaseOf returns the name of a node's Lease, which is in the operator's namespace.
func leaseOf(node string) string { return "node-" + node }

// leases returns whom the Leases of nodes name, by the names of the Leases.
func leases(t *testing.T) map[string]string {
	t.Helper()
	list := &coordinationv1.LeaseList{}
	must(t, retry(t, func() error { return cluster.List(t.Context(), list, client.InNamespace(systemNamespace)) }))
	holders := map[string]string{}
	for _, lease := range list.Items {
		if strings.HasPrefix(lease.Name, leaseOf("")) { // the others are those of leaders
			holders[lease.Name] = ptr.Deref(lease.Spec.HolderIdentity, "no run")
		}
	}
	return holders
}

// leasesOf returns the Leases that there are when runs have nodes.
func leasesOf(runs map[string]*v1alpha1.BenchmarkRun) map[string]string {
	want := map[string]string{}
	for node, run := range runs {
		want[leaseOf(node)] = run.Namespace + "/" + run.Name + "/" + string(run.UID)
	}
	return want
}

// holds checks that the nodes that have a Lease are those given, and that each names its run.
func holds(t *testing.T, runs map[string]*v1alpha1.BenchmarkRun) {
	t.Helper()
	if got, want := leases(t), leasesOf(runs); !maps.Equal(got, want) {
		t.Errorf("the Leases of nodes name %v, want %v", got, want)
	}
}

// noLease waits until no node has a Lease: a run gives its nodes back after its end.
func noLease(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(stepTimeout); len(leases(t)) > 0 && time.Now().Before(deadline); {
		time.Sleep(500 * time.Millisecond)
	}
	holds(t, nil)
}

// TestNodesWithoutAnImage gives a node an image that the other does not have. Runs with it succeed on the one, and end with a reason on the other.
func TestNodesWithoutAnImage(t *testing.T) {
	twoNodes(t)
	const image = "localhost/only-on-node1:1"
	images := []string{"shell", "--node", stays, "--", "ctr", "-n", "k8s.io", "images"}
	labDoes(t, append(images, "tag", "--force", measurerImage(t), image)...)
	t.Cleanup(func() { labDoes(t, append(images, "remove", image)...) })
	for node, want := range map[string]struct {
		status metav1.ConditionStatus
		reason string
	}{
		stays: {metav1.ConditionTrue, v1alpha1.ReasonSucceeded},
		goes:  {metav1.ConditionFalse, v1alpha1.ReasonImageUnavailable},
	} {
		t.Run(node, func(t *testing.T) {
			ns := namespace(t)
			nodesTestbed(t, ns, "lab", node, node, ", image: '"+image+"'")
			apply(t, ns, strings.Replace(shortRun("pulls", eightSeconds), "startupSeconds: 120", "startupSeconds: 60", 1))
			run := ends(t, ns, "pulls", want.status, want.reason)
			message := condition(run, v1alpha1.ConditionSucceeded).Message
			if want.status == metav1.ConditionFalse && (!strings.Contains(message, image) || !strings.Contains(message, `on node "`+node+`"`)) {
				t.Errorf("the message does not name the image and the node: %s", message)
			}
			t.Logf("on %s: %s", node, message)
			nothingLeft(t, ns)
			freed(t, ns)
		})
	}
}

// measurerImage returns the image of the measurer that the operator is installed with.
func measurerImage(t *testing.T) string {
	t.Helper()
	out, code := kubectl(t, "-n", systemNamespace, "get", "deployment", "vnfbench", "-o", "jsonpath={.spec.template.spec.containers[0].args}")
	if code != 0 {
		t.Fatalf("reading the operator's arguments: %s", out)
	}
	_, rest, found := strings.Cut(out, "--traffic-image=")
	if !found {
		t.Fatalf("the operator's arguments do not name the measurer's image: %s", out)
	}
	image, _, _ := strings.Cut(rest, `"`)
	return image
}

// TestNodesLoseTheLeader loses the node of the operator that leads while a run measures on the other one: the operator there
// takes over and completes the run.
func TestNodesLoseTheLeader(t *testing.T) {
	twoNodes(t)
	leadFrom(t, goes)
	ns := namespace(t)
	nodesTestbed(t, ns, "lab", stays, stays, "")
	apply(t, ns, shortRun("led", longTrials))
	until(t, ns, "led", waitForStart, "measuring", trialsOfChain(3))
	if finished(getRun(t, ns, "led")) {
		t.Fatal("the run had ended before its leader was lost: this test says nothing")
	}
	before := leaderPod(t)
	leader := &corev1.Pod{}
	must(t, cluster.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: before}, leader))
	if leader.Spec.NodeName != goes {
		t.Fatalf("%s leads by now, which is on %s: this test says nothing", before, leader.Spec.NodeName)
	}
	loseNode(t)
	lost := time.Now()
	for leaderPod(t) == before {
		if time.Since(lost) > stepTimeout {
			t.Fatalf("%s still leads %s after its node was lost", before, stepTimeout)
		}
		time.Sleep(500 * time.Millisecond)
	}
	t.Logf("another operator leads %.0f s after the node of the first was lost", time.Since(lost).Seconds())
	ends(t, ns, "led", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	nothingLeft(t, ns)
	freed(t, ns)
	returnNode(t)
	operatorsReady(t)
}

// leadFrom makes the operator on a node the leader, by ending the others until it leads.
func leadFrom(t *testing.T, node string) {
	t.Helper()
	operatorsReady(t)
	deadline := time.Now().Add(stepTimeout)
	for {
		pod := &corev1.Pod{}
		err := cluster.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: leaderPod(t)}, pod)
		if err == nil && pod.Spec.NodeName == node {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no operator on %s leads: %s is on %q: %v", node, pod.Name, pod.Spec.NodeName, err)
		}
		if err == nil && pod.DeletionTimestamp.IsZero() {
			must(t, client.IgnoreNotFound(cluster.Delete(t.Context(), pod)))
		}
		time.Sleep(time.Second)
	}
	operatorsReady(t)
}

// operatorsReady waits until an operator is ready on each of the two nodes.
func operatorsReady(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(stepTimeout)
	for {
		on := map[string]int{}
		list := &corev1.PodList{}
		must(t, retry(t, func() error {
			return cluster.List(t.Context(), list, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/name": "vnfbench"})
		}))
		for _, pod := range list.Items {
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp.IsZero() {
					on[pod.Spec.NodeName]++
				}
			}
		}
		if on[stays] == 1 && on[goes] == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("operators are ready on %v, want one on each node: run this by `make e2e-nodes`", on)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// TestNodesLoseARun loses the node on which a run measures: the run ends with a reason, keeps its testbed and the Lease of the
// node while its pods are on a node that does not answer, and gives both back when the node is there again.
func TestNodesLoseARun(t *testing.T) {
	twoNodes(t)
	leadFrom(t, stays)
	ns := namespace(t)
	nodesTestbed(t, ns, "lab", goes, goes, "")
	apply(t, ns, shortRun("lost", minutes))
	until(t, ns, "lost", waitForStart, "measuring", trialsOfChain(5))
	loseNode(t)
	lost := time.Now()
	run := ends(t, ns, "lost", metav1.ConditionFalse, v1alpha1.ReasonChainFailed)
	message := condition(run, v1alpha1.ConditionSucceeded).Message
	t.Logf("the run ended %.0f s after its node was lost: %s", time.Since(lost).Seconds(), message)
	if !strings.Contains(message, goes) {
		t.Errorf("the message does not name the node: %s", message)
	}
	// Its pods cannot end: the kubelet that would end them is away. The next run waits for them, and for the node.
	apply(t, ns, shortRun("next", eightSeconds))
	waiting := until(t, ns, "next", stepTimeout, "waiting", func(run *v1alpha1.BenchmarkRun) bool {
		return condition(run, v1alpha1.ConditionAdmitted).Status == metav1.ConditionFalse
	})
	held := getRun(t, ns, "lost")
	if c := condition(held, v1alpha1.ConditionAdmitted); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "pods") {
		t.Errorf("the run does not hold its testbed because of its pods, which a node that is away may still run: Admitted is %+v", c)
	} else {
		t.Logf("meanwhile, of the run that ended: %s; of the next: %s", c.Message, condition(waiting, v1alpha1.ConditionAdmitted).Message)
	}
	holds(t, map[string]*v1alpha1.BenchmarkRun{goes: held})
	returnNode(t)
	returned := time.Now()
	ends(t, ns, "next", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	t.Logf("the next run ended %.0f s after the node was there again", time.Since(returned).Seconds())
	nothingLeft(t, ns)
	freed(t, ns)
	noLease(t)
}

// TestNodesReturnAtOnce restarts the node on which a run measures, before Kubernetes takes it for lost.
func TestNodesReturnAtOnce(t *testing.T) {
	twoNodes(t)
	leadFrom(t, stays)
	ns := namespace(t)
	nodesTestbed(t, ns, "lab", goes, goes, "")
	apply(t, ns, shortRun("restarted", minutes))
	until(t, ns, "restarted", waitForStart, "measuring", trialsOfChain(5))
	loseNode(t)
	returnNode(t)
	ends(t, ns, "restarted", metav1.ConditionFalse, v1alpha1.ReasonChainFailed)
	nothingLeft(t, ns)
	freed(t, ns)
}
