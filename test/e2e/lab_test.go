// Package e2e measures network functions in the lab: a real cluster, the operator installed by its
// chart, real frames. `make e2e` runs it.
//
// Every test has a separate namespace and testbed and checks at its end that its runs leave
// nothing. Tests assert what is true of a figure (order, bounds, causes), never how fast this
// machine is.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

const systemNamespace = "vnfbench-system"

var cluster client.WithWatch

func TestMain(m *testing.M) {
	flag.Parse()
	// The list of the tests needs no cluster.
	if flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("LAB") == "" {
		fmt.Fprintln(os.Stderr, "KUBECONFIG and LAB are not set: run these tests by `make e2e`, which brings up the lab")
		os.Exit(1)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	var err error
	if cluster, err = client.NewWithWatch(config.GetConfigOrDie(), client.Options{Scheme: scheme}); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := namespacesLeave(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = 1
	}
	os.Exit(code)
}

// leaving has the namespaces that are being deleted.
var leaving struct {
	sync.Mutex
	names []string
}

// namespace makes a namespace. At the test's end it removes its runs, waits until they are gone, and
// lets the namespace go; TestMain fails where one hangs.
func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
	}}
	must(t, cluster.Create(t.Context(), ns))
	t.Cleanup(func() {
		if t.Failed() {
			diagnose(t.Logf, ns.Name)
		}
		ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
		defer cancel()
		if err := deleteRuns(ctx, ns.Name); err != nil {
			diagnose(t.Logf, ns.Name)
			t.Errorf("deleting the runs of namespace %s: %v", ns.Name, err)
		}
		// A test may have deleted it.
		if err := client.IgnoreNotFound(cluster.Delete(ctx, ns)); err != nil {
			t.Errorf("deleting namespace %s: %v", ns.Name, err)
		}
		leaving.Lock()
		defer leaving.Unlock()
		leaving.names = append(leaving.names, ns.Name)
	})
	return ns.Name
}

// namespacesLeave waits until the namespaces of all tests are gone, and returns an error for the
// first one that is not. Kubernetes begins with each of them only after 5 seconds, so no test waits
// for its own.
func namespacesLeave() error {
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	for _, name := range leaving.names {
		ns := &corev1.Namespace{}
		for {
			err := cluster.Get(ctx, client.ObjectKey{Name: name}, ns)
			if apierrors.IsNotFound(err) {
				break
			}
			if ctx.Err() != nil {
				diagnose(func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }, name)
				return fmt.Errorf("namespace %s hangs: %v: %v", name, ns.Status.Conditions, err)
			}
			time.Sleep(500 * time.Millisecond)
		}
	}
	return nil
}

// deleteRuns deletes the runs of a namespace, with the suites that make them, and waits until their
// pods are gone too: Kubernetes looks after objects with a finalizer, in a namespace that is being
// deleted, only every 8 seconds.
func deleteRuns(ctx context.Context, ns string) error {
	for _, kind := range []client.Object{&v1alpha1.BenchmarkSuite{}, &v1alpha1.BenchmarkSuiteRun{}, &v1alpha1.BenchmarkRun{}} {
		if err := client.IgnoreNotFound(cluster.DeleteAllOf(ctx, kind, client.InNamespace(ns))); err != nil {
			return err
		}
	}
	for list, of := range map[client.ObjectList]client.HasLabels{&v1alpha1.BenchmarkRunList{}: nil, &corev1.PodList{}: {v1alpha1.LabelComponent}} {
		for {
			if err := cluster.List(ctx, list, client.InNamespace(ns), of); err != nil {
				return err
			}
			if meta.LenList(list) == 0 {
				break
			}
			time.Sleep(250 * time.Millisecond)
		}
	}
	return nil
}

// testbedName returns the name of a test's own testbed: testbeds are cluster-scoped.
func testbedName(ns, name string) string { return name + "-" + ns }

// ownTestbed gives a testbed, or a run's reference to one, the name that it has only in the test.
// The testbed is removed at the test's end, before the namespace.
func ownTestbed(t *testing.T, ns string, o *unstructured.Unstructured) {
	t.Helper()
	if o.GetKind() == "BenchmarkRun" {
		if name, found, _ := unstructured.NestedString(o.Object, "spec", "experiment", "testbedRef", "name"); found {
			must(t, unstructured.SetNestedField(o.Object, testbedName(ns, name), "spec", "experiment", "testbedRef", "name"))
		}
		return
	}
	o.SetNamespace("")
	o.SetName(testbedName(ns, o.GetName()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
		defer cancel()
		tb := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: o.GetName()}}
		if err := client.IgnoreNotFound(cluster.Delete(ctx, tb)); err != nil {
			t.Errorf("deleting testbed %s: %v", tb.Name, err)
		}
		// A remaining run holds it until the namespace is deleted, which deletes the run.
		for range 40 {
			if apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(tb), tb)) {
				return
			}
			time.Sleep(500 * time.Millisecond)
		}
	})
}

// apply creates the objects of a YAML text in a namespace, with testbeds of the test's own.
func apply(t *testing.T, ns, text string) {
	t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(document), &o.Object))
		o.SetNamespace(ns)
		if kind := o.GetKind(); kind == "Testbed" || kind == "BenchmarkRun" {
			ownTestbed(t, ns, o)
		}
		must(t, client.WithFieldValidation(cluster, metav1.FieldValidationStrict).Create(t.Context(), o))
	}
}

func applyFile(t *testing.T, ns, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	apply(t, ns, string(text))
}

func testbed(t *testing.T, ns string) {
	t.Helper()
	applyFile(t, ns, "../../config/samples/testbed.yaml")
}

// shortRun returns a run of a few seconds. extra is further parts of its experiment, with the
// indentation of a spec.
func shortRun(name, extra string) string {
	return fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: %s}
spec:
  experiment:
    testbedRef: {name: lab}
    startupSeconds: 120
    deadlineSeconds: 600
    chain: [{name: r1, function: Router}]
    traffic: {frameBytes: [128]}
  %s`, name, strings.ReplaceAll(extra, "\n", "\n  "))
}

// stepTimeout is the time limit for steps that take seconds on an idle machine: only a step that hangs
// takes so long.
const stepTimeout = 5 * time.Minute

// eightSeconds measures long enough that a call of the API can disturb it.
const eightSeconds = `  measurements:
    warmUpMilliseconds: 200
    latency:
      trialMilliseconds: 1000
      loads:
      - {name: l1, framesPerSecond: 1000}
      - {name: l2, framesPerSecond: 1500}
      - {name: l3, framesPerSecond: 2000}
      - {name: l4, framesPerSecond: 2500}
      - {name: l5, framesPerSecond: 3000}
      - {name: l6, framesPerSecond: 3500}
      - {name: l7, framesPerSecond: 4000}
      - {name: l8, framesPerSecond: 4500}
`

func getRun(t *testing.T, ns, name string) *v1alpha1.BenchmarkRun {
	t.Helper()
	run := &v1alpha1.BenchmarkRun{}
	must(t, retry(t, func() error {
		return cluster.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, run)
	}))
	return run
}

// retry repeats do while the API server, or the connection to it, restarts.
func retry(t *testing.T, do func() error) error {
	t.Helper()
	var err error
	for range 30 {
		if err = do(); err == nil || apierrors.IsNotFound(err) {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}

func condition(run *v1alpha1.BenchmarkRun, kind string) metav1.Condition {
	return conditionOf(run.Status.Conditions, kind)
}

func conditionOf(conditions []metav1.Condition, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{Status: "absent"}
}

// until waits until a condition is true of a run, and returns the run.
func until(t *testing.T, ns, name string, limit time.Duration, what string, holds func(*v1alpha1.BenchmarkRun) bool) *v1alpha1.BenchmarkRun {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		run := getRun(t, ns, name)
		if holds(run) {
			return run
		}
		if time.Now().After(deadline) {
			t.Fatalf("run %s: not %s after %s: Succeeded %s %s: %s", name, what, limit,
				condition(run, v1alpha1.ConditionSucceeded).Status, condition(run, v1alpha1.ConditionSucceeded).Reason, condition(run, v1alpha1.ConditionSucceeded).Message)
		}
		time.Sleep(250 * time.Millisecond)
	}
}

func finished(run *v1alpha1.BenchmarkRun) bool {
	status := condition(run, v1alpha1.ConditionSucceeded).Status
	return status == metav1.ConditionTrue || status == metav1.ConditionFalse
}

func trials(n int32) func(*v1alpha1.BenchmarkRun) bool {
	return func(run *v1alpha1.BenchmarkRun) bool {
		return finished(run) || run.Status.Progress != nil && run.Status.Progress.Trials >= n
	}
}

// trialsOfChain is trials of a run whose chain is ready: the first trials calibrate the generator without one.
func trialsOfChain(n int32) func(*v1alpha1.BenchmarkRun) bool {
	return func(run *v1alpha1.BenchmarkRun) bool {
		return finished(run) || condition(run, v1alpha1.ConditionChainReady).Status == metav1.ConditionTrue && trials(n)(run)
	}
}

// ends waits for a run's end and checks its verdict.
func ends(t *testing.T, ns, name string, status metav1.ConditionStatus, reason string) *v1alpha1.BenchmarkRun {
	t.Helper()
	run := until(t, ns, name, 10*time.Minute, "finished", finished)
	got := condition(run, v1alpha1.ConditionSucceeded)
	if got.Status != status || got.Reason != reason {
		t.Errorf("run %s: Succeeded is %s with reason %s, want %s with %s: %s", name, got.Status, got.Reason, status, reason, got.Message)
	}
	if stalled := condition(run, v1alpha1.ConditionStalled).Status == metav1.ConditionTrue; stalled != (status == metav1.ConditionFalse) {
		t.Errorf("run %s: Stalled is %v with Succeeded %s", name, stalled, status)
	}
	if got.Message == "" {
		t.Errorf("run %s: no message", name)
	}
	return run
}

// nothingLeft checks that a namespace contains no object of a run except its plan and results. It
// waits a short time for objects that are being deleted.
func nothingLeft(t *testing.T, ns string) {
	t.Helper()
	nads := &unstructured.UnstructuredList{}
	nads.SetGroupVersionKind(schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinitionList"})
	lists := map[string]client.ObjectList{
		"pods": &corev1.PodList{}, "jobs": &batchv1.JobList{}, "networks": nads,
		"roles": &rbacv1.RoleList{}, "role bindings": &rbacv1.RoleBindingList{}, "secrets": &corev1.SecretList{},
	}
	// An operator for some namespaces has its role bindings there, which are the chart's.
	others, err := labels.Parse("app.kubernetes.io/managed-by!=Helm")
	must(t, err)
	deadline := time.Now().Add(stepTimeout)
	for what, list := range lists {
		for {
			must(t, retry(t, func() error {
				return cluster.List(t.Context(), list, client.InNamespace(ns), client.MatchingLabelsSelector{Selector: others})
			}))
			n := meta.LenList(list)
			if n == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%d %s are left in %s", n, what, ns)
				break
			}
			time.Sleep(500 * time.Millisecond)
		}
	}
}

// freed checks that no run holds the testbed.
func freed(t *testing.T, ns string) {
	t.Helper()
	deadline := time.Now().Add(stepTimeout)
	for {
		tb := &v1alpha1.Testbed{}
		must(t, retry(t, func() error {
			return cluster.Get(t.Context(), client.ObjectKey{Name: testbedName(ns, "lab")}, tb)
		}))
		if len(tb.Status.ActiveRuns) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("testbed is still held by %v", tb.Status.ActiveRuns)
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// pods returns those of a component of any run in the namespace.
func pods(t *testing.T, ns, component string) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	must(t, retry(t, func() error {
		return cluster.List(t.Context(), list, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelComponent: component})
	}))
	return list.Items
}

// command runs a program and returns what it printed and its exit code.
func command(t *testing.T, name string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func kubectl(t *testing.T, args ...string) (string, int) {
	t.Helper()
	return command(t, os.Getenv("LAB"), append([]string{"kubectl", "--"}, args...)...)
}

// diagnose prints what a person would check first.
func diagnose(logf func(format string, args ...any), ns string) {
	for _, args := range [][]string{
		{"-n", ns, "get", "testbeds,benchmarkruns,pods,jobs", "-o", "wide"},
		{"-n", ns, "get", "benchmarkruns", "-o", "jsonpath={range .items[*]}{.metadata.name}: {.status.conditions}{\"\\n\"}{end}"},
		{"-n", ns, "get", "events", "--sort-by=.lastTimestamp"},
		{"-n", ns, "logs", "-l", v1alpha1.LabelComponent + "=measurer", "--tail=20"},
		{"-n", systemNamespace, "logs", "-l", "app.kubernetes.io/name=vnfbench", "--tail=30"},
	} {
		cmd := exec.Command(os.Getenv("LAB"), append([]string{"kubectl", "--"}, args...)...)
		out, _ := cmd.CombinedOutput()
		logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
