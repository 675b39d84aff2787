package testbed

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

type with func(*scope)

// newScope returns a testbed with bridges on a cluster of one node.
func newScope(changes ...with) *scope {
	testbed := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{
		Name: "bench", UID: "bench-uid", Finalizers: []string{v1alpha1.Finalizer},
	}}
	testbed.Spec.Ports.West.Attachment = v1alpha1.PortBridge
	testbed.Spec.Ports.East.Attachment = v1alpha1.PortBridge
	s := &scope{
		now:     clocktesting.NewFakePassiveClock(epoch).Now(),
		testbed: testbed, nodes: []corev1.Node{node("a")}, namespaces: []corev1.Namespace{namespace("lab"), namespace("bench")}, home: home, cleanups: map[string]*batchv1.Job{}, clean: map[string]bool{},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func namespace(name string) corev1.Namespace {
	return corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}
}

// allows restricts the testbed to the namespace of a name.
func allows(name string) with {
	return func(s *scope) {
		s.testbed.Spec.Namespaces = v1alpha1.TestbedNamespaces{From: v1alpha1.NamespacesFromSelector, Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: name},
		}}
	}
}

func of(namespace string) func(*v1alpha1.BenchmarkRun) {
	return func(r *v1alpha1.BenchmarkRun) { r.Namespace = namespace }
}

func node(name string, changes ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, change := range changes {
		change(&n)
	}
	return n
}

func run(name string, second int, changes ...func(*v1alpha1.BenchmarkRun)) with {
	return func(s *scope) {
		r := v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(second) * time.Second)),
		}}
		for _, change := range changes {
			change(&r)
		}
		s.runs = append(s.runs, r)
	}
}

func is(kind string, status metav1.ConditionStatus) func(*v1alpha1.BenchmarkRun) {
	return func(r *v1alpha1.BenchmarkRun) {
		meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Test"})
	}
}

func startedAfter(d time.Duration) func(*v1alpha1.BenchmarkRun) {
	return func(r *v1alpha1.BenchmarkRun) { r.Status.StartTime = ptr.To(metav1.NewTime(epoch.Add(d))) }
}
func suspended(r *v1alpha1.BenchmarkRun) { r.Spec.Suspend = true }
func goes(r *v1alpha1.BenchmarkRun)      { r.DeletionTimestamp = ptr.To(metav1.NewTime(epoch)) }

func active(name string) with {
	return func(s *scope) {
		s.testbed.Status.ActiveRuns = append(s.testbed.Status.ActiveRuns, v1alpha1.ActiveRun{Namespace: "lab", Name: name, UID: name, Since: metav1.NewTime(epoch)})
	}
}

func deleted(s *scope)     { s.testbed.DeletionTimestamp = ptr.To(metav1.NewTime(epoch)) }
func noFinalizer(s *scope) { s.testbed.Finalizers = nil }

// usedOn says which nodes have bridges, each as "namespace/node".
func usedOn(places ...string) with {
	return func(s *scope) {
		for _, place := range places {
			namespace, node, _ := strings.Cut(place, "/")
			s.testbed.Status.BridgeNodes = append(s.testbed.Status.BridgeNodes, v1alpha1.BridgeNode{Name: node, Namespace: namespace})
		}
	}
}

// cleanup is the Job for a node in the operator's namespace.
func cleanup(node string, kind batchv1.JobConditionType) with {
	return cleanupIn(home, node, kind)
}

// home is the operator's namespace.
const home = "vnfbench-system"

func cleanupIn(namespace, node string, kind batchv1.JobConditionType) with {
	return func(s *scope) {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, CreationTimestamp: metav1.NewTime(epoch)}}
		if kind != "" {
			job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
		}
		s.cleanups[node], s.clean[node] = job, kind == batchv1.JobComplete
	}
}

// notBelieved says that the Job of a node is not the operator's.
func notBelieved(node string) with { return func(s *scope) { s.clean[node] = false } }

// madeAfter says when the Job of a node was made.
func madeAfter(node string, d time.Duration) with {
	return func(s *scope) { s.cleanups[node].CreationTimestamp = metav1.NewTime(epoch.Add(d)) }
}

func after(d time.Duration) with { return func(s *scope) { s.now = epoch.Add(d) } }

func unreadable(s *scope) {
	s.testbed.Spec.Namespaces = v1alpha1.TestbedNamespaces{From: v1alpha1.NamespacesFromSelector, Selector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}},
	}}
}

func TestAdmit(t *testing.T) {
	admitted, finished := is(v1alpha1.ConditionAdmitted, metav1.ConditionTrue), is(v1alpha1.ConditionSucceeded, metav1.ConditionTrue)
	tests := map[string]struct {
		scope  *scope
		active string
		queued int32
	}{
		"no run":                         {newScope(), "", 0},
		"the first":                      {newScope(run("b", 2), run("a", 1), run("c", 3)), "a", 2},
		"the holder keeps it":            {newScope(active("b"), run("b", 2, admitted), run("a", 1)), "b", 1},
		"not begun yet":                  {newScope(active("b"), run("b", 2), run("a", 1)), "b", 1},
		"finished, not released":         {newScope(active("b"), run("b", 2, admitted, finished), run("c", 3)), "b", 1},
		"released":                       {newScope(active("b"), run("b", 2, finished), run("c", 3)), "c", 0},
		"holder deleted, not released":   {newScope(active("b"), run("b", 2, admitted, goes), run("c", 3)), "b", 1},
		"holder deleted":                 {newScope(active("b"), run("c", 3)), "c", 0},
		"holder suspended, tearing down": {newScope(active("b"), run("b", 2, admitted, suspended), run("c", 3)), "b", 1},
		"holder suspended and torn down": {newScope(active("b"), run("b", 2, suspended), run("c", 3)), "c", 0},
		"suspended before it began":      {newScope(run("b", 2, suspended), run("c", 3)), "c", 0},
		"being deleted":                  {newScope(run("b", 2, goes), run("c", 3)), "c", 0},
		"another has not released it":    {newScope(run("b", 2, admitted, suspended), run("c", 3)), "", 1},
		"testbed being deleted":          {newScope(deleted, run("c", 3)), "", 1},
		"of two namespaces":              {newScope(run("b", 1, of("bench")), run("a", 2)), "b", 1},
		"a namespace is not allowed":     {newScope(allows("lab"), run("b", 1, of("bench")), run("a", 2)), "a", 0},
		"the holder's no longer is":      {newScope(allows("lab"), active("b"), run("b", 1, of("bench"), admitted), run("a", 2)), "b", 1},
		"a selector that cannot be read": {newScope(unreadable, run("a", 2)), "", 0},
		"no node ever":                   {newScope(func(s *scope) { s.nodes = nil }, run("c", 3)), "c", 0},
		"no node now":                    {newScope(func(s *scope) { s.nodes[0].Spec.Unschedulable = true }, run("c", 3)), "", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := summarize(test.scope, decide(test.scope))
			var names []string
			for _, a := range status.ActiveRuns {
				names = append(names, a.Name)
			}
			if got := strings.Join(names, ","); got != test.active || status.QueuedRuns != test.queued {
				t.Errorf("active %q and %d queued, want %q and %d", got, status.QueuedRuns, test.active, test.queued)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	twoNodes := func(s *scope) { s.nodes = append(s.nodes, node("b")) }
	tests := map[string]struct {
		scope *scope
		want  decision
	}{
		"new":              {newScope(noFinalizer), decision{action: actAddFinalizer}},
		"nothing to do":    {newScope(), decision{action: actWait}},
		"deleted, unused":  {newScope(deleted), decision{action: actRemoveFinalizer}},
		"deleted and gone": {newScope(deleted, noFinalizer), decision{action: actWait}},
		"held": {newScope(deleted, active("r"), run("r", 1, is(v1alpha1.ConditionAdmitted, metav1.ConditionTrue))),
			decision{action: actWait, deleting: `waiting for run "lab/r", which holds it: delete or suspend the run to continue`}},
		"one has not released it": {newScope(deleted, run("r", 1, is(v1alpha1.ConditionAdmitted, metav1.ConditionTrue), suspended)),
			decision{action: actWait, deleting: `waiting for the pods of run "lab/r" to end`}},
		"used":           {newScope(deleted, usedOn("lab/a", "bench/b"), twoNodes), decision{action: actCleanUp, nodes: []string{"a", "b"}, after: cleanupInterval, deleting: "removing its bridges from node a, b"}},
		"a node is gone": {newScope(deleted, usedOn("lab/gone")), decision{action: actRemoveFinalizer}},
		"cleaning": {newScope(deleted, usedOn("lab/a"), cleanup("a", ""), after(30*time.Second)),
			decision{action: actWait, after: cleanupInterval, deleting: "removing its bridges from node a"}},
		"one of two is cleaning": {newScope(deleted, usedOn("lab/a", "bench/b"), twoNodes, cleanup("a", ""), after(30*time.Second)),
			decision{action: actCleanUp, nodes: []string{"b"}, busy: true, after: cleanupInterval, deleting: "removing its bridges from node b, a"}},
		"one of two failed": {newScope(deleted, usedOn("lab/a", "bench/b"), twoNodes, cleanup("a", batchv1.JobFailed)),
			decision{action: actCleanUp, nodes: []string{"b"}, left: []string{"a"}, after: cleanupInterval, deleting: "removing its bridges from node b"}},
		"failed in the run's namespace": {newScope(deleted, usedOn("lab/a"), cleanupIn("lab", "a", batchv1.JobFailed)),
			decision{action: actCleanUp, nodes: []string{"a"}, after: cleanupInterval, deleting: "removing its bridges from node a"}},
		"hangs in the run's namespace": {newScope(deleted, usedOn("lab/a"), cleanupIn("lab", "a", ""), after(cleanupTimeout)),
			decision{action: actCleanUp, nodes: []string{"a"}, after: cleanupInterval, deleting: "removing its bridges from node a"}},
		"not believed in the run's namespace": {newScope(deleted, usedOn("lab/a"), cleanupIn("lab", "a", batchv1.JobComplete), notBelieved("a")),
			decision{action: actCleanUp, nodes: []string{"a"}, after: cleanupInterval, deleting: "removing its bridges from node a"}},
		// A user makes the Job of the run's namespace again each minute.
		"made again in the run's namespace": {newScope(deleted, usedOn("lab/a"), cleanupIn("lab", "a", ""), madeAfter("a", cleanupTimeout-time.Second), after(cleanupTimeout)),
			decision{action: actCleanUp, nodes: []string{"a"}, after: cleanupInterval, deleting: "removing its bridges from node a"}},
		"another node is not clean yet": {newScope(deleted, usedOn("lab/a", "lab/b"), twoNodes, cleanupIn("lab", "a", batchv1.JobComplete), cleanup("b", ""), after(30*time.Second)),
			decision{action: actWait, after: cleanupInterval, deleting: "removing its bridges from node b"}},
		"clean":          {newScope(deleted, usedOn("lab/a"), cleanup("a", batchv1.JobComplete)), decision{action: actRemoveFinalizer}},
		"cleanup failed": {newScope(deleted, usedOn("lab/a"), cleanup("a", batchv1.JobFailed)), decision{action: actRemoveFinalizer, left: []string{"a"}}},
		"cleanup hangs":  {newScope(deleted, usedOn("lab/a"), cleanup("a", ""), after(cleanupTimeout)), decision{action: actRemoveFinalizer, left: []string{"a"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := decide(test.scope)
			if diff := cmp.Diff(admitNext(test.scope), got.admission, cmp.AllowUnexported(admission{})); diff != "" {
				t.Error(diff)
			}
			// TestAdmit checks what follows from it.
			got.admission = admission{}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(decision{}, admission{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBridgeNodes checks that the status keeps the nodes with bridges and whose run was there last, also when that
// run is gone, and forgets a node that is.
func TestBridgeNodes(t *testing.T) {
	planned := func(r *v1alpha1.BenchmarkRun) {
		r.Status.Plan = &v1alpha1.PlanSummary{GeneratorNode: "a", DeviceNode: "b"}
	}
	three := func(s *scope) { s.nodes = append(s.nodes, node("b"), node("c")) }
	tests := map[string]struct {
		scope *scope
		want  string
	}{
		"unused":               {newScope(), ""},
		"a run is planned":     {newScope(run("r", 1, planned)), "lab/a,lab/b"},
		"nodes add up":         {newScope(three, usedOn("bench/c"), run("r", 1, planned)), "lab/a,lab/b,bench/c"},
		"its runs are gone":    {newScope(three, usedOn("lab/a", "lab/b")), "lab/a,lab/b"},
		"a node is gone":       {newScope(usedOn("lab/a", "lab/b")), "lab/a"},
		"of another namespace": {newScope(usedOn("lab/a", "lab/b"), run("r", 1, planned), run("s", 2, planned, of("bench"), startedAfter(time.Second))), "bench/a,bench/b"},
	}
	for name, test := range tests {
		var got []string
		for _, n := range summarize(test.scope, decide(test.scope)).BridgeNodes {
			got = append(got, n.Namespace+"/"+n.Name)
		}
		if text := strings.Join(got, ","); text != test.want {
			t.Errorf("%s: %s, want %s", name, text, test.want)
		}
	}
}

// TestCleanupNamespaces checks where the Job that removes bridges can be.
func TestCleanupNamespaces(t *testing.T) {
	going := namespace("going")
	going.DeletionTimestamp = ptr.To(metav1.NewTime(epoch))
	s := newScope(func(s *scope) { s.namespaces = []corev1.Namespace{namespace("lab"), going} })
	for used, want := range map[string]string{"lab": "lab,vnfbench-system", "going": "vnfbench-system", "gone": "vnfbench-system", home: "vnfbench-system"} {
		if got := strings.Join(s.cleanupNamespaces(used), ","); got != want {
			t.Errorf("after a run of %q: %s, want %s", used, got, want)
		}
	}
}

func TestReady(t *testing.T) {
	selects := func(generator, device string) with {
		return func(s *scope) {
			s.testbed.Spec.Generator.NodeSelector = map[string]string{"name": generator}
			s.testbed.Spec.SystemUnderTest.NodeSelector = map[string]string{"name": device}
		}
	}
	two := func(s *scope) { s.nodes = []corev1.Node{node("b"), node("a")} }
	existing := func(s *scope) {
		s.testbed.Spec.Ports.West.Attachment = v1alpha1.PortNetworkAttachmentDefinition
		s.testbed.Spec.Ports.East.Attachment = v1alpha1.PortNetworkAttachmentDefinition
	}
	tainted := func(s *scope) {
		s.nodes[0].Spec.Taints = []corev1.Taint{{Key: "lab", Effect: corev1.TaintEffectNoSchedule}}
	}
	tolerant := func(s *scope) {
		tolerations := []corev1.Toleration{{Key: "lab", Operator: corev1.TolerationOpExists}}
		s.testbed.Spec.Generator.Tolerations, s.testbed.Spec.SystemUnderTest.Tolerations = tolerations, tolerations
	}
	pools := func(pools ...corev1.ResourceName) with {
		return func(s *scope) {
			s.testbed.Spec.Ports.West = v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: "x.io/west"}}
			s.testbed.Spec.Ports.East = v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: "x.io/east"}}
			s.nodes[0].Status.Allocatable = corev1.ResourceList{}
			for _, pool := range pools {
				s.nodes[0].Status.Allocatable[pool] = resource.MustParse("2")
			}
		}
	}
	tests := map[string]struct {
		scope *scope
		ready string
		nodes string
	}{
		"any node":             {newScope(two), "True/Ready", "a,b"},
		"one of two":           {newScope(two, selects("b", "b")), "True/Ready", "b"},
		"no generator":         {newScope(selects("x", "a")), "False/NoMatchingNode", ""},
		"no device":            {newScope(selects("a", "x")), "False/NoMatchingNode", ""},
		"bridges need one":     {newScope(two, selects("a", "b")), "False/NoMatchingNode", ""},
		"networks reach":       {newScope(two, existing, selects("a", "b")), "True/Ready", "a,b"},
		"tainted":              {newScope(tainted), "False/NoMatchingNode", ""},
		"tainted, tolerated":   {newScope(tainted, tolerant), "True/Ready", "a"},
		"cordoned":             {newScope(func(s *scope) { s.nodes[0].Spec.Unschedulable = true }), "False/NodesNotReady", ""},
		"the node is not well": {newScope(func(s *scope) { s.nodes[0].Status.Conditions = nil }), "False/NodesNotReady", ""},
		"being deleted":        {newScope(deleted), "False/Deleting", "a"},
		"no selector to read":  {newScope(unreadable), "False/InvalidNamespaceSelector", ""},
		"pools are there":      {newScope(pools("x.io/west", "x.io/east")), "True/Ready", "a"},
		"a pool is missing":    {newScope(pools("x.io/west")), "False/ResourceMissing", "a"},
		"cordoned, no pools":   {newScope(pools(), func(s *scope) { s.nodes[0].Spec.Unschedulable = true }), "False/NodesNotReady", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := summarize(test.scope, decide(test.scope))
			c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
			var names []string
			for _, n := range status.Nodes {
				names = append(names, n.Name)
			}
			if got := string(c.Status) + "/" + c.Reason; got != test.ready || strings.Join(names, ",") != test.nodes {
				t.Errorf("Ready is %s (%s) with nodes %v, want %s with %s", got, c.Message, names, test.ready, test.nodes)
			}
		})
	}
}

// TestRunsAreAdmittedWithoutResources checks that a missing resource does not hold back a run: it fails, and says why.
func TestRunsAreAdmittedWithoutResources(t *testing.T) {
	s := newScope(run("r", 1), func(s *scope) {
		s.testbed.Spec.Ports.West = v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: "x.io/west"}}
	})
	status := summarize(s, decide(s))
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready.Reason != v1alpha1.ReasonResourceMissing || !strings.Contains(ready.Message, "x.io/west") || !strings.Contains(ready.Message, "device plugin") {
		t.Errorf("Ready: %s, %s", ready.Reason, ready.Message)
	}
	if len(status.ActiveRuns) != 1 {
		t.Errorf("%d runs hold the testbed", len(status.ActiveRuns))
	}
}

func TestNodesAreBounded(t *testing.T) {
	s := newScope()
	for i := range 40 {
		s.nodes = append(s.nodes, node(strings.Repeat("n", i+1)))
	}
	if n := len(summarize(s, decide(s)).Nodes); n != maxNodes {
		t.Errorf("%d nodes in the status, want %d", n, maxNodes)
	}
}

func TestCalibrationIsTheLatest(t *testing.T) {
	calibrated := func(second int, rate int64) func(*v1alpha1.BenchmarkRun) {
		return func(r *v1alpha1.BenchmarkRun) {
			r.Status.StartTime = ptr.To(metav1.NewTime(epoch.Add(time.Duration(second) * time.Second)))
			r.Status.Generator = &v1alpha1.GeneratorReport{Calibration: []v1alpha1.CalibrationFrame{{Size: "64", MaximumFramesPerSecond: rate}}}
		}
	}
	s := newScope(run("old", 0, calibrated(10, 1)), run("new", 1, calibrated(20, 2)), run("none", 2))
	status := summarize(s, decide(s))
	if c := status.Calibration; c == nil || *c.RunRef != (v1alpha1.NamespacedRunReference{Namespace: "lab", Name: "new"}) || c.Frames[0].MaximumFramesPerSecond != 2 {
		t.Errorf("calibration is %+v, want the newer run's", c)
	}
	if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionCalibrated) {
		t.Error("Calibrated is not True")
	}
	s.testbed.Status, s.runs = status, nil
	if c := summarize(s, decide(s)).Calibration; c == nil || *c.RunRef != (v1alpha1.NamespacedRunReference{Namespace: "lab", Name: "new"}) {
		t.Error("the calibration is forgotten with the run that made it")
	}
}

// TestGeneratorWithoutImage checks that the testbed reports what no node can fix, and runs do not wait for it.
func TestGeneratorWithoutImage(t *testing.T) {
	trex := func(s *scope) {
		s.testbed.Spec.Generator = v1alpha1.Generator{Driver: v1alpha1.DriverTRex, TRex: &v1alpha1.TRexGenerator{Mode: v1alpha1.TRexAFPacket, CoresPerPort: 1}}
	}
	s := newScope(trex, run("r", 1))
	status := summarize(s, decide(s))
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready.Reason != v1alpha1.ReasonImageMissing || !strings.Contains(ready.Message, "spec.generator.image") {
		t.Errorf("Ready: %s, %s", ready.Reason, ready.Message)
	}
	if len(status.ActiveRuns) != 1 {
		t.Errorf("%d runs hold the testbed", len(status.ActiveRuns))
	}
	s.defaults.GeneratorImages = map[v1alpha1.GeneratorDriver]string{v1alpha1.DriverTRex: "registry.example/trex:1"}
	if !meta.IsStatusConditionTrue(summarize(s, decide(s)).Conditions, v1alpha1.ConditionReady) {
		t.Error("not Ready with the operator's image")
	}
}
