package benchmarkrun

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// hostileMeta returns the metadata of an object on which all is large that a user may write.
func hostileMeta() metav1.ObjectMeta {
	long := func() string { return strings.Repeat("a", 50<<10) }
	m := metav1.ObjectMeta{Namespace: "lab", Name: "mine", UID: "uid", GenerateName: long(), Labels: map[string]string{}, Annotations: map[string]string{}}
	for i := range 1000 {
		m.Labels[fmt.Sprintf("a/%d", i)] = strings.Repeat("b", 63)
		m.Finalizers = append(m.Finalizers, fmt.Sprintf("a/%d", i))
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{Name: strings.Repeat("c", 253), UID: types.UID(fmt.Sprint(i))})
	}
	m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{Name: long(), UID: types.UID(long()), Controller: ptr.To(true)})
	m.Annotations["a"], m.Annotations[v1alpha1.AnnotationRun] = long(), long()
	m.Labels[v1alpha1.LabelRun] = "uid"
	return m
}

// TestCachedObjectsAreBounded checks how much memory the cache keeps of objects that a user makes as large as possible.
func TestCachedObjectsAreBounded(t *testing.T) {
	const most = 160 << 10
	long := func() string { return strings.Repeat("a", 200<<10) }
	container := func(i int) corev1.Container {
		return corev1.Container{Name: fmt.Sprint(i), Image: long()[:20<<10], Env: []corev1.EnvVar{{Name: "a", Value: long()[:20<<10]}}}
	}
	podSpec := func() corev1.PodSpec {
		spec := corev1.PodSpec{NodeName: "node"}
		for i := range 50 {
			spec.Containers = append(spec.Containers, container(i))
		}
		return spec
	}
	for name, test := range map[string]struct {
		most   int
		object func() client.Object
	}{
		"pod": {most, func() client.Object { return &corev1.Pod{ObjectMeta: hostileMeta(), Spec: podSpec()} }},
		"Job": {16 << 10, func() client.Object {
			return &batchv1.Job{ObjectMeta: hostileMeta(), Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: podSpec()}}}
		}},
		"machine": {16 << 10, func() client.Object {
			vm := &kubevirtv1.VirtualMachineInstance{ObjectMeta: hostileMeta()}
			vm.Spec.Domain.CPU = &kubevirtv1.CPU{Model: long()}
			for range 50 {
				vm.Spec.Volumes = append(vm.Spec.Volumes, kubevirtv1.Volume{Name: long()[:20<<10]})
				vm.Spec.Domain.Devices.Interfaces = append(vm.Spec.Domain.Devices.Interfaces, kubevirtv1.Interface{Name: "mine", Model: long()[:20<<10]})
			}
			return vm
		}},
		"ConfigMap": {4 << 10, func() client.Object { return &metav1.PartialObjectMetadata{ObjectMeta: hostileMeta()} }},
		"run":       {16 << 10, func() client.Object { return &v1alpha1.BenchmarkRun{ObjectMeta: hostileMeta()} }},
		"suite": {16 << 10, func() client.Object {
			return &v1alpha1.BenchmarkSuite{ObjectMeta: hostileMeta(), Spec: v1alpha1.BenchmarkSuiteSpec{Template: largeTemplate()}}
		}},
		"execution": {16 << 10, func() client.Object {
			e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: hostileMeta(), Spec: v1alpha1.BenchmarkSuiteRunSpec{Template: largeTemplate()}}
			for range v1alpha1.MaxSuiteCells {
				e.Status.Cells = append(e.Status.Cells, v1alpha1.SuiteCell{Name: long()[:40], Measurements: make([]v1alpha1.SuiteMeasurement, 4)})
			}
			return e
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kept := bytesOf(func() any {
				kept, err := Cached(test.object())
				if err != nil {
					t.Fatal(err)
				}
				return kept
			})
			t.Logf("%d bytes", kept)
			if kept > test.most {
				t.Errorf("the cache keeps %d bytes, want at most %d", kept, test.most)
			}
			object := test.object()
			if _, err := Cached(object); err != nil || object.GetUID() != "uid" || object.GetName() != "mine" {
				t.Errorf("the cache has %q, %v", object.GetName(), err)
			}
		})
	}
}

// largeTemplate returns a template of about 500 KiB.
func largeTemplate() v1alpha1.SuiteTemplate {
	large := func() apiextensionsv1.JSON {
		return apiextensionsv1.JSON{Raw: []byte(`{"a":"` + strings.Repeat("b", v1alpha1.MaxExperimentBytes) + `"}`)}
	}
	template := v1alpha1.SuiteTemplate{Subject: &v1alpha1.SuiteSubject{Subject: v1alpha1.Subject{Revision: "abc"}}, Experiment: large(), Matrix: v1alpha1.Matrix{Axes: []v1alpha1.Axis{{Name: "a"}}}}
	for i := range 15 {
		template.Matrix.Axes[0].Variants = append(template.Matrix.Axes[0].Variants, v1alpha1.Variant{Name: fmt.Sprint(i), Patch: large()})
	}
	return template
}

// TestCachedSuites checks what the controllers read of a suite and of an execution from the cache.
func TestCachedSuites(t *testing.T) {
	suite := &v1alpha1.BenchmarkSuite{Spec: v1alpha1.BenchmarkSuiteSpec{Suspend: true, Template: largeTemplate()}, Status: v1alpha1.BenchmarkSuiteStatus{Executions: 7}}
	counts := v1alpha1.VerdictCounts{Pass: 2, Regression: 1}
	suite.Status.Regression = &v1alpha1.RegressionStatus{Execution: "nightly-7", Counts: counts, Verdicts: []v1alpha1.SeriesVerdict{{Cell: "a"}}, Cells: []v1alpha1.CellVerdict{{Name: "a"}}}
	execution := &v1alpha1.BenchmarkSuiteRun{Spec: v1alpha1.BenchmarkSuiteRunSpec{Suspend: true, Template: largeTemplate()}}
	execution.Status = v1alpha1.BenchmarkSuiteRunStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded}}, Counts: v1alpha1.MeasurementCounts{Total: 2}, Cells: []v1alpha1.SuiteCell{{Name: "a"}},
		StartTime: ptr.To(metav1.NewTime(epoch)), CompletionTime: ptr.To(metav1.NewTime(epoch)),
	}
	wantSuite, want := suite.DeepCopy(), execution.DeepCopy()
	wantSuite.Spec.Template, want.Spec.Template, want.Status.Cells = v1alpha1.SuiteTemplate{}, v1alpha1.SuiteTemplate{}, nil
	wantSuite.Status.Regression = &v1alpha1.RegressionStatus{Counts: counts}
	for _, object := range []any{suite, execution} {
		if _, err := Cached(object); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(wantSuite, suite) + cmp.Diff(want, execution); diff != "" {
		t.Error(diff)
	}
}

// TestCachedWorkloads checks what decisions read of a pod and of a virtual machine.
func TestCachedWorkloads(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "run", UID: "job-uid", Controller: ptr.To(true)}
	meta := metav1.ObjectMeta{
		Namespace: "lab", Name: "run", UID: "uid", ResourceVersion: "7", Generation: 2, CreationTimestamp: metav1.NewTime(epoch), DeletionTimestamp: ptr.To(metav1.NewTime(epoch)),
		Labels:      map[string]string{v1alpha1.LabelRun: "run-uid", v1alpha1.LabelComponent: "measurer", v1alpha1.LabelDeployment: "1"},
		Annotations: map[string]string{v1alpha1.AnnotationRun: "run"}, Finalizers: []string{"a/b"}, OwnerReferences: []metav1.OwnerReference{owner},
	}
	same := func(want, got any) {
		t.Helper()
		if _, err := Cached(got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	p := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "node", TerminationGracePeriodSeconds: ptr.To[int64](5), Containers: []corev1.Container{{Name: "measurer", Image: "a:1"}}}}
	p.Status = corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: "Evicted", Message: "the node is full", PodIP: "192.0.2.1",
		Conditions:            []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "a", Message: "b", LastTransitionTime: metav1.NewTime(epoch)}},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: ": not found"}}}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "measurer", Image: "a:1", ImageID: "a@sha256:1", RestartCount: 1, LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "{}"}}}},
	}
	same(p.DeepCopy(), p)
	job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Suspend: ptr.To(true), ActiveDeadlineSeconds: ptr.To[int64](5)}}
	job.Status = batchv1.JobStatus{Failed: 1, Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonDeadlineExceeded}}}
	same(job.DeepCopy(), job)
	vm := &kubevirtv1.VirtualMachineInstance{ObjectMeta: meta}
	vm.Spec.Domain.CPU = &kubevirtv1.CPU{Model: "host-model"}
	vm.Spec.Domain.Devices.Interfaces = []kubevirtv1.Interface{{Name: "west", Model: "virtio"}, {Name: "east", InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{SRIOV: &kubevirtv1.InterfaceSRIOV{}}}}
	vm.Spec.Domain.Devices.HostDevices = []kubevirtv1.HostDevice{{Name: "east"}}
	vm.Status = kubevirtv1.VirtualMachineInstanceStatus{
		Phase: kubevirtv1.Running, Reason: "a", NodeName: "node", LauncherContainerImageVersion: "launcher:1", Machine: &kubevirtv1.Machine{Type: "q35"},
		Conditions:                []kubevirtv1.VirtualMachineInstanceCondition{{Type: kubevirtv1.VirtualMachineInstanceReady, Status: corev1.ConditionTrue, Message: "b"}},
		PhaseTransitionTimestamps: []kubevirtv1.VirtualMachineInstancePhaseTransitionTimestamp{{Phase: kubevirtv1.Running, PhaseTransitionTimestamp: metav1.NewTime(epoch)}},
		Interfaces:                []kubevirtv1.VirtualMachineInstanceNetworkInterface{{Name: "west", MAC: "02:00:00:00:00:01", QueueCount: 2}},
		CurrentCPUTopology:        &kubevirtv1.CPUTopology{Cores: 2}, Memory: &kubevirtv1.MemoryStatus{},
	}
	same(vm.DeepCopy(), vm)
}

// TestFinalizersOfOthersStay checks that the operator's finalizer comes and goes, and those stay that the cache does not have.
func TestFinalizersOfOthersStay(t *testing.T) {
	s := newScope(noFinalizer)
	s.run.Finalizers = []string{"mine.example/hold"}
	c := fakeCluster(t, s.run)
	r := &Reconciler{Client: c, Reader: c}
	for _, test := range []struct {
		action action
		want   []string
	}{
		{actAddFinalizer, []string{"mine.example/hold", v1alpha1.Finalizer}},
		{actRemoveFinalizer, []string{"mine.example/hold"}},
	} {
		stored := &v1alpha1.BenchmarkRun{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.run), stored); err != nil {
			t.Fatal(err)
		}
		s.run = cached(t, stored.DeepCopy())
		if _, err := r.act(t.Context(), s, decision{action: test.action}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.run), stored); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(stored.Finalizers, test.want) || s.run.ResourceVersion != stored.ResourceVersion || s.hasFinalizer() != (test.action == actAddFinalizer) {
			t.Errorf("%s: %q, and the run has %q", test.action, stored.Finalizers, s.run.Finalizers)
		}
	}
}
