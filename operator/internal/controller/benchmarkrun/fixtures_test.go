package benchmarkrun

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// with changes a scope; newScope applies the changes in their order.
type with func(*scope)

// newScope returns a new run on a testbed that is ready.
func newScope(changes ...with) *scope {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: "lab", Name: "run", UID: "run-uid", Generation: 3,
		CreationTimestamp: metav1.NewTime(epoch), Finalizers: []string{v1alpha1.Finalizer},
	}}
	run.Spec.Experiment.TestbedRef = &v1alpha1.TestbedReference{Name: "bench"}
	run.Spec.Experiment.StartupSeconds = 300
	run.Spec.Experiment.DeadlineSeconds = 86400
	run.Spec.Experiment.Traffic.FrameBytes = []int32{64}
	run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{{Name: "one"}, {Name: "two"}}
	testbed := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: "bench", UID: "bench-uid"}}
	s := &scope{
		now: clocktesting.NewFakePassiveClock(epoch).Now(),
		run: run, names: plan.NamesOf(run), testbed: testbed, position: 1,
	}
	for _, change := range changes {
		change(s)
	}
	completePlan(s)
	return s
}

// completePlan gives a plan the workloads that the run names.
func completePlan(s *scope) {
	if s.plan == nil {
		return
	}
	outline := plan.Outline(s.run)
	if s.plan.Run = outline.Run; s.plan.Functions == nil {
		s.plan.Functions = outline.Functions
	}
	if s.plan.Instructions.Stateful == nil {
		s.plan.Endpoints = outline.Endpoints
	}
}

func after(d time.Duration) with { return func(s *scope) { s.now = epoch.Add(d) } }

func condition(kind string, status metav1.ConditionStatus, reason string) with {
	return func(s *scope) {
		s.run.Status.Conditions = append(s.run.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(epoch)})
	}
}

func noFinalizer(s *scope) { s.run.Finalizers = nil }
func deleted(s *scope)     { s.run.DeletionTimestamp = ptr.To(metav1.NewTime(epoch)) }
func suspended(s *scope)   { s.run.Spec.Suspend = true }
func noTestbed(s *scope)   { s.testbed, s.position = nil, 0 }
func namesNone(s *scope)   { s.run.Spec.Experiment.TestbedRef = nil }
func refused(s *scope)     { s.refused, s.position = true, 0 }
func withPlan(s *scope) {
	s.plan = &plan.Plan{Digest: "sha256:1", GeneratorNode: "a", DeviceNode: "b", Testbed: plan.Reference{UID: "bench-uid"}}
	s.storedDigest = "sha256:2"
}
func testbedDeleted(s *scope) {
	s.testbed.DeletionTimestamp = ptr.To(metav1.NewTime(epoch))
}

func ttl(seconds int32) with {
	return func(s *scope) { s.run.Spec.TTLSecondsAfterFinished = &seconds }
}

// held makes the testbed's status name the run.
func held(s *scope) {
	s.position = 0
	s.testbed.Status.ActiveRuns = []v1alpha1.ActiveRun{{Name: s.run.Name, UID: string(s.run.UID)}}
}

// admitted makes the run record that it holds its testbed.
func admitted(s *scope) {
	held(s)
	condition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.ReasonAdmitted)(s)
	s.run.Status.StartTime = ptr.To(metav1.NewTime(epoch))
}

func finished(status metav1.ConditionStatus, reason string) with {
	return func(s *scope) {
		condition(v1alpha1.ConditionSucceeded, status, reason)(s)
		s.run.Status.CompletionTime = ptr.To(metav1.NewTime(epoch))
	}
}

func withJob(conditions ...batchv1.JobCondition) with {
	return func(s *scope) {
		s.job = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: s.names.Job, CreationTimestamp: metav1.NewTime(epoch)}}
		s.job.Status.Conditions = conditions
	}
}

func jobFailed(reason string) batchv1.JobCondition {
	return batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: reason}
}

func withRecords(change func(*records)) with {
	return func(s *scope) {
		if s.records == nil {
			s.records = &records{}
		}
		if change != nil {
			change(s.records)
		}
	}
}

func calibrated(r *records) {
	r.progress = &measure.Progress{Stage: "waiting for the chain", Calibrated: true}
}
func open(r *records) { calibrated(r); r.chainOpen = true }
func done(r *records) { open(r); r.done = true }
func gaveUp(reason string) func(*records) {
	return func(r *records) { r.failure = &measure.FailureState{Reason: reason, Message: "the measurer says why"} }
}

// launched makes it a run whose measurer has been applied.
func launched(s *scope) {
	admitted(s)
	withPlan(s)
	withJob()(s)
	withRecords(nil)(s)
}

// pod makes a pod of the run, created at the epoch.
func pod(name string, changes ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(epoch), Labels: map[string]string{v1alpha1.LabelDeployment: "1"}}}
	p.Status.Phase = corev1.PodPending
	for _, change := range changes {
		change(&p)
	}
	return p
}

func running(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
}

func ready(p *corev1.Pod) {
	running(p)
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
}

func unready(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		running(p)
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: message})
	}
}

func unreadySince(since time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		unready("x")(p)
		p.Status.Conditions[len(p.Status.Conditions)-1].LastTransitionTime = metav1.NewTime(since)
	}
}

func unscheduled(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message})
	}
}

func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Image: "registry/image:1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

func ended(code int32, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}}}
	}
}

func restarted(code int32, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		ready(p)
		p.Status.ContainerStatuses[0].RestartCount = 1
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}
	}
}

func evicted(p *corev1.Pod) {
	p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
}

func measurers(pods ...corev1.Pod) with { return func(s *scope) { s.measurers = pods } }

// observed changes the observer's pod.
func observed(change func(*corev1.Pod)) with {
	return func(s *scope) { s.chainPods[len(s.chainPods)-1] = pod(s.names.Observer, change) }
}

// withObserver makes it a plan with an observer, whose pod is ready.
func withObserver(s *scope) {
	s.plan.Observer = &plan.Observer{}
	s.chainPods = append(s.chainPods, pod(s.names.Observer, ready))
}

// withoutPod removes the last pod.
func withoutPod(s *scope) { s.chainPods = s.chainPods[:len(s.chainPods)-1] }

// functions gives the two functions of the chain a pod each.
func functions(one, two func(*corev1.Pod)) with {
	return func(s *scope) {
		s.chainPods = []corev1.Pod{pod(s.names.Function("one"), one), pod(s.names.Function("two"), two)}
	}
}

// planned makes it a plan of an operator with a protocol; heldBy adds a measurer with one
// that has started.
func planned(protocol string) with {
	return func(s *scope) { s.plan.Protocol, s.plan.Generator.Image = protocol, "registry.test/measurer:1" }
}

func heldBy(protocol string) with {
	return func(s *scope) { s.holder = &measure.Holder{Measurer: "m-1", Protocol: protocol} }
}

// leaving makes it a pod that was deleted an hour after the epoch, with a grace of 30 s.
func leaving(state func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		state(p)
		p.DeletionTimestamp = ptr.To(metav1.NewTime(epoch.Add(time.Hour + 30*time.Second)))
	}
}

func jobLeaving(s *scope) { s.job.DeletionTimestamp = ptr.To(metav1.NewTime(epoch.Add(time.Hour))) }
