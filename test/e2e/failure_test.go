package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// waitForStart is many times longer than a start takes on an idle machine.
const waitForStart = 5 * time.Minute

// longTrials measure long enough that a program can start and disturb them, however slow the
// machine.
var longTrials = steadyLoads(4000)

func TestKilledMeasurerContinues(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("killed", longTrials))
	before := until(t, ns, "killed", waitForStart, "measuring", trials(5))
	kill(t, ns, "measurer")
	run := ends(t, ns, "killed", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if run.Status.Progress == nil || run.Status.Progress.MeasurerRestarts < 1 {
		t.Errorf("progress is %+v, want a restart of the measurer", run.Status.Progress)
	}
	if before.Status.Plan.Digest != run.Status.Plan.Digest {
		t.Error("the plan changed on the way")
	}
	if len(run.Status.Results) == 1 {
		checkResult(t, run.Status.Results[0], 0, 8)
	}
	nothingLeft(t, ns)
}

func TestKilledOperatorContinues(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("orphaned", eightSeconds))
	until(t, ns, "orphaned", waitForStart, "measuring", trials(3))
	killOperator(t)
	ends(t, ns, "orphaned", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	nothingLeft(t, ns)
}

// kill kills a component's container from outside the pod.
func kill(t *testing.T, ns, component string) {
	t.Helper()
	for _, pod := range pods(t, ns, component) {
		killPod(t, &pod)
	}
}

func killPod(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	for _, status := range pod.Status.ContainerStatuses {
		_, id, found := strings.Cut(status.ContainerID, "//")
		if !found || status.State.Running == nil {
			continue
		}
		if out, code := command(t, os.Getenv("LAB"), "shell", "--", "ctr", "-n", "k8s.io", "task", "kill", "-s", "SIGKILL", id); code != 0 {
			t.Logf("killing %s: %s", pod.Name, out)
		}
	}
}

func killOperator(t *testing.T) {
	t.Helper()
	list := &corev1.PodList{}
	must(t, retry(t, func() error {
		return cluster.List(t.Context(), list, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/name": "vnfbench"})
	}))
	if len(list.Items) == 0 {
		t.Fatal("no operator is running")
	}
	for _, pod := range list.Items {
		killPod(t, &pod)
		// A new pod starts immediately; a restarted container waits longer the more often it is
		// killed.
		if err := cluster.Delete(t.Context(), &pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

func TestDeletedRunLeavesNothing(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	for i, moment := range []func(*v1alpha1.BenchmarkRun) bool{
		func(run *v1alpha1.BenchmarkRun) bool { return true },
		func(run *v1alpha1.BenchmarkRun) bool {
			return condition(run, v1alpha1.ConditionPlanned).Status == metav1.ConditionTrue
		},
		trials(4),
	} {
		name := fmt.Sprintf("deleted-%d", i)
		apply(t, ns, shortRun(name, eightSeconds))
		run := until(t, ns, name, waitForStart, "at its moment", moment)
		must(t, cluster.Delete(t.Context(), run))
		deadline := time.Now().Add(stepTimeout)
		for {
			err := cluster.Get(t.Context(), client.ObjectKeyFromObject(run), run)
			if apierrors.IsNotFound(err) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is not gone after %s: %v", name, stepTimeout, run.Finalizers)
			}
			time.Sleep(250 * time.Millisecond)
		}
		nothingLeft(t, ns)
		freed(t, ns)
	}
}

func TestBrokenRouterIsNamed(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("broken", longTrials))
	until(t, ns, "broken", waitForStart, "measuring", trialsOfChain(5))
	function := pods(t, ns, "function")
	if len(function) != 1 {
		t.Fatalf("%d function pods", len(function))
	}
	if out, code := kubectl(t, "-n", ns, "exec", function[0].Name, "--", "vnf", "link", "--port", "east", "--state", "down"); code != 0 {
		t.Fatalf("taking the port down: %s", out)
	}
	run := ends(t, ns, "broken", metav1.ConditionFalse, v1alpha1.ReasonChainFailed)
	if message := condition(run, v1alpha1.ConditionSucceeded).Message; !strings.Contains(message, "r1") || !strings.Contains(message, "east") {
		t.Errorf("the message does not name the function and its port: %s", message)
	}
	nothingLeft(t, ns)
	freed(t, ns)
}

func TestDeletedRouterPodIsNamed(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("evicted", longTrials))
	until(t, ns, "evicted", waitForStart, "measuring", trialsOfChain(5))
	for _, pod := range pods(t, ns, "function") {
		must(t, cluster.Delete(t.Context(), &pod))
	}
	ends(t, ns, "evicted", metav1.ConditionFalse, v1alpha1.ReasonChainFailed)
	nothingLeft(t, ns)
}

func TestSuspendAndResume(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("paused", eightSeconds))
	run := until(t, ns, "paused", waitForStart, "measuring", trials(4))
	patch := func(text string) {
		must(t, cluster.Patch(t.Context(), run, client.RawPatch("application/merge-patch+json", []byte(text))))
	}
	patch(`{"spec":{"suspend":true}}`)
	until(t, ns, "paused", stepTimeout, "suspended", func(run *v1alpha1.BenchmarkRun) bool {
		return condition(run, v1alpha1.ConditionAdmitted).Reason == v1alpha1.ReasonSuspended
	})
	nothingLeft(t, ns)
	freed(t, ns)
	patch(`{"spec":{"suspend":false}}`)
	run = ends(t, ns, "paused", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if run.Status.Progress == nil || run.Status.Progress.MeasurerRestarts < 1 {
		t.Errorf("progress is %+v, want that it continued where it was", run.Status.Progress)
	}
	if len(run.Status.Sessions) != 2 {
		t.Errorf("the sessions are %+v, want one before and one after", run.Status.Sessions)
	}
}

func TestImpossibleTestbedsAreNamed(t *testing.T) {
	tests := map[string]struct {
		spec   string
		reason string
		text   string
	}{
		"no such node":      {"{systemUnderTest: {nodeSelector: {color: blue}}}", v1alpha1.ReasonNoMatchingNode, "nodeSelector"},
		"no such image":     {"{generator: {image: 'localhost/nowhere:1'}}", v1alpha1.ReasonImageUnavailable, "localhost/nowhere:1"},
		"too many CPUs":     {"{generator: {cpu: '512'}}", v1alpha1.ReasonInsufficientCPU, "generator.cpu"},
		"no such network":   {"{ports: {west: {attachment: NetworkAttachmentDefinition, networkAttachmentDefinition: {generatorRef: {name: nowhere}}}, east: {attachment: NetworkAttachmentDefinition, networkAttachmentDefinition: {generatorRef: {name: nowhere}}}}}", v1alpha1.ReasonNetworkAttachmentMissing, "nowhere"},
		"link slower":       {"{ports: {linkBitsPerSecond: 1000000}}", v1alpha1.ReasonLoadAboveLineRate, "framesPerSecond"},
		"not that attached": {"{systemUnderTest: {attachments: [Virtio]}}", v1alpha1.ReasonAttachmentNotOffered, "attachments"},
		"frame too large":   {"{ports: {mtuBytes: 1280}}", v1alpha1.ReasonFrameTooLarge, "1518"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // none of them measures
			ns := namespace(t)
			apply(t, ns, "apiVersion: vnfbench.io/v1alpha1\nkind: Testbed\nmetadata: {name: lab}\nspec: "+test.spec)
			apply(t, ns, strings.NewReplacer("[128]", "[128, 1518]", "startupSeconds: 120", "startupSeconds: 30").Replace(shortRun("impossible", eightSeconds)))
			run := ends(t, ns, "impossible", metav1.ConditionFalse, test.reason)
			if message := condition(run, v1alpha1.ConditionSucceeded).Message; !strings.Contains(message, test.text) {
				t.Errorf("the message does not say %q: %s", test.text, message)
			}
			nothingLeft(t, ns)
		})
	}
}

func TestRestrictedNamespaceIsNamed(t *testing.T) {
	ns := namespace(t)
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	must(t, cluster.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`))))
	testbed(t, ns)
	apply(t, ns, shortRun("forbidden", eightSeconds))
	run := ends(t, ns, "forbidden", metav1.ConditionFalse, v1alpha1.ReasonPodForbidden)
	if message := condition(run, v1alpha1.ConditionSucceeded).Message; !strings.Contains(message, "PodSecurity") {
		t.Errorf("the message does not name Pod Security: %s", message)
	}
	nothingLeft(t, ns)
}

func TestUnknownTestbedIsWaitedFor(t *testing.T) {
	ns := namespace(t)
	apply(t, ns, shortRun("early", eightSeconds))
	until(t, ns, "early", waitForStart, "waiting", func(run *v1alpha1.BenchmarkRun) bool {
		return condition(run, v1alpha1.ConditionAdmitted).Reason == v1alpha1.ReasonTestbedNotFound
	})
	testbed(t, ns)
	ends(t, ns, "early", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
}

func TestLongestNames(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	name := strings.Repeat("long-name.", 25) + "end"
	apply(t, ns, shortRun(name, eightSeconds))
	ends(t, ns, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	nothingLeft(t, ns)
}
