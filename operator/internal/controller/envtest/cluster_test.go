package envtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
)

// node simulates what a cluster does with the Jobs and pods of one namespace.
type node struct {
	t         *testing.T
	namespace string

	mutex sync.Mutex
	// starts set a pod's state, by its component or by the end of its function's pod name;
	// absent: it runs and is ready, and a measurer measures.
	starts map[string]func(*corev1.Pod)
	// holding keeps pods that are being deleted.
	holding bool
	// silent are stages whose trials do not end.
	silent map[string]bool
	// holds says which runs have trials that do not end; absent: none.
	holds func(*v1alpha1.BenchmarkRun) bool
	// capacity is what the chain of a run forwards, in frames per second; absent: capacityFramesPerSecond.
	capacity func(*v1alpha1.BenchmarkRun) float64
	// withoutVariation leaves out what TRex does not count.
	withoutVariation bool

	// machine sets a virtual machine's state; absent: it runs and is ready.
	vm func(*kubevirtv1.VirtualMachineInstance)
	// kubeVirt is true if there are virtual machines to simulate.
	kubeVirt bool

	seen      map[types.UID]bool
	measurers map[types.UID]context.CancelFunc
	// changed has an entry if something has changed since the last step began.
	changed chan struct{}
}

// startNode simulates until the test ends.
func startNode(t *testing.T, namespace string) *node {
	n := &node{
		t: t, namespace: namespace, starts: map[string]func(*corev1.Pod){}, silent: map[string]bool{},
		seen: map[types.UID]bool{}, measurers: map[types.UID]context.CancelFunc{}, changed: make(chan struct{}, 1),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for _, kind := range []client.ObjectList{
		&batchv1.JobList{}, &corev1.PodList{}, &v1alpha1.BenchmarkRunList{}, &v1alpha1.BenchmarkSuiteRunList{}, &v1alpha1.BenchmarkSuiteList{},
	} {
		all.Go(func() { n.watch(ctx, kind) })
	}
	all.Go(func() {
		for ctx.Err() == nil {
			err := n.step(ctx)
			if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				t.Errorf("playing the cluster: %v", err)
				return
			}
			time.Sleep(stepInterval)
			if err == nil {
				n.awaitChange(ctx)
			}
		}
	})
	return n
}

const (
	// stepInterval is the least time between two steps, which each list everything in the namespace.
	stepInterval = 20 * time.Millisecond
	// vmInterval is the time between two steps where there are virtual machines, which are not watched: KubeVirt may come later.
	vmInterval = 100 * time.Millisecond
)

// watch says that something has changed for each change of an object of a kind, until the context ends.
func (n *node) watch(ctx context.Context, kind client.ObjectList) {
	for ctx.Err() == nil {
		if changes, err := cluster.Watch(ctx, kind, client.InNamespace(n.namespace)); err == nil {
			for range changes.ResultChan() {
				n.change()
			}
		}
		// What changes until it watches again is among the first events then.
		time.Sleep(stepInterval)
	}
}

// change asks for a step.
func (n *node) change() {
	select {
	case n.changed <- struct{}{}:
	default: // one is asked for already
	}
}

// awaitChange waits until there may be something to do.
func (n *node) awaitChange(ctx context.Context) {
	n.mutex.Lock()
	var vms <-chan time.Time
	if n.kubeVirt {
		vms = time.After(vmInterval)
	}
	n.mutex.Unlock()
	select {
	case <-n.changed:
	case <-vms:
	case <-ctx.Done():
	}
}

// set changes how the node behaves from now on.
func (n *node) set(change func(*node)) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	change(n)
	n.change()
}

func (n *node) step(ctx context.Context) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	var jobs batchv1.JobList
	var pods corev1.PodList
	if err := cluster.List(ctx, &jobs, client.InNamespace(n.namespace)); err != nil {
		return err
	}
	if err := cluster.List(ctx, &pods, client.InNamespace(n.namespace)); err != nil {
		return err
	}
	for i := range jobs.Items {
		if err := n.stepJob(ctx, &jobs.Items[i], pods.Items); err != nil {
			return fmt.Errorf("job %s: %w", jobs.Items[i].Name, err)
		}
	}
	if err := n.collect(ctx); err != nil {
		return err
	}
	if n.kubeVirt {
		if err := n.stepVMs(ctx, pods.Items); err != nil {
			return err
		}
	}
	for i := range pods.Items {
		if err := n.stepPod(ctx, &pods.Items[i]); err != nil {
			return fmt.Errorf("pod %s: %w", pods.Items[i].Name, err)
		}
	}
	return nil
}

// stepJob acts as the Job controller, and as the garbage collector for its pods.
func (n *node) stepJob(ctx context.Context, job *batchv1.Job, pods []corev1.Pod) error {
	var mine []*corev1.Pod
	for i := range pods {
		if metav1.IsControlledBy(&pods[i], job) {
			mine = append(mine, &pods[i])
		}
	}
	if !job.DeletionTimestamp.IsZero() {
		for _, pod := range mine {
			if err := client.IgnoreNotFound(cluster.Delete(ctx, pod)); err != nil {
				return err
			}
		}
		if len(mine) > 0 {
			return nil
		}
		job.Finalizers = slices.DeleteFunc(job.Finalizers, func(name string) bool { return name == metav1.FinalizerDeleteDependents })
		return client.IgnoreNotFound(cluster.Update(ctx, job))
	}
	if len(job.Status.Conditions) > 0 {
		return nil
	}
	if len(mine) == 0 {
		return n.makePod(ctx, job)
	}
	switch pod := mine[0]; pod.Status.Phase {
	case corev1.PodSucceeded:
		return endJob(ctx, job, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, "CompletionsReached")
	case corev1.PodFailed:
		return endJob(ctx, job, batchv1.JobFailureTarget, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	}
	return nil
}

func (n *node) makePod(ctx context.Context, job *batchv1.Job) error {
	pod := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: job.Spec.Template.Spec}
	pod.Namespace, pod.Name = job.Namespace, job.Name+"-"+rand.String(5)
	if err := controllerutil.SetControllerReference(job, pod, cluster.Scheme()); err != nil {
		return err
	}
	return cluster.Create(ctx, pod)
}

// endJob ends a Job as the API server requires: the interim condition first.
func endJob(ctx context.Context, job *batchv1.Job, interim, final batchv1.JobConditionType, reason string) error {
	now := metav1.Now()
	job.Status.StartTime = &now
	for _, kind := range []batchv1.JobConditionType{interim, final} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastProbeTime: now, LastTransitionTime: now})
	}
	if final == batchv1.JobComplete {
		job.Status.CompletionTime = &now
		job.Status.Succeeded = 1
	} else {
		job.Status.Failed = 1
	}
	return cluster.Status().Update(ctx, job)
}

// stepPod acts as scheduler and kubelet.
func (n *node) stepPod(ctx context.Context, pod *corev1.Pod) error {
	if !pod.DeletionTimestamp.IsZero() {
		if stop := n.measurers[pod.UID]; stop != nil {
			stop()
		}
		if n.holding {
			return nil
		}
		return client.IgnoreNotFound(cluster.Delete(ctx, pod, client.GracePeriodSeconds(0)))
	}
	if n.seen[pod.UID] {
		return nil
	}
	if start := n.startOf(pod); start != nil {
		start(pod)
		c := pod.Status.Conditions
		scheduled := len(c) == 0 || c[0].Type != corev1.PodScheduled || c[0].Status == corev1.ConditionTrue
		if scheduled && pod.Spec.NodeName == "" {
			binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodeName}}
			if err := cluster.SubResource("binding").Create(ctx, pod.DeepCopy(), binding); err != nil {
				return err
			}
		}
		if err := n.patchStatus(ctx, pod.Name, start); err != nil {
			return err
		}
		if _, played := n.starts[chain.ComponentMeasurer]; !played && pod.Labels[v1alpha1.LabelComponent] == chain.ComponentMeasurer {
			n.measure(pod)
		}
	}
	// Only now: the next step tries again what failed before this point.
	n.seen[pod.UID] = true
	return nil
}

func (n *node) startOf(pod *corev1.Pod) func(*corev1.Pod) {
	component := pod.Labels[v1alpha1.LabelComponent]
	if start, found := n.starts[component]; found {
		return start
	}
	if component == chain.ComponentCleanup {
		return succeeds
	}
	return ready
}

// patchStatus writes a pod's status as the kubelet does.
func (n *node) patchStatus(ctx context.Context, name string, change func(*corev1.Pod)) error {
	pod := &corev1.Pod{}
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: n.namespace, Name: name}, pod); err != nil {
		return err
	}
	before := client.MergeFrom(pod.DeepCopy())
	change(pod)
	return cluster.Status().Patch(ctx, pod, before)
}

// Functions that start pods.

func status(pod *corev1.Pod, phase corev1.PodPhase, readiness corev1.ConditionStatus, container corev1.ContainerStatus) {
	now := metav1.Now()
	container.Name, container.Image, container.ImageID = pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Image, "sha256:0"
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{container}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: corev1.PodReady, Status: readiness, LastTransitionTime: now},
	}
}

func ready(pod *corev1.Pod) {
	status(pod, corev1.PodRunning, corev1.ConditionTrue, corev1.ContainerStatus{Ready: true, Started: ptr.To(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}})
	pod.Status.PodIP, pod.Status.PodIPs = podAddress, []corev1.PodIP{{IP: podAddress}}
}

// podAddress is every pod's: no program answers there, and the kernel says so at once. Where nothing said so, a run
// waited ten seconds for its functions.
const podAddress = "127.0.0.8"

func unready(pod *corev1.Pod) {
	ready(pod)
	pod.Status.Conditions[1].Status, pod.Status.Conditions[1].Message = corev1.ConditionFalse, "port west is down"
}

func pending(pod *corev1.Pod) { waits("ContainerCreating", "")(pod) }

func waits(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		status(pod, corev1.PodPending, corev1.ConditionFalse, corev1.ContainerStatus{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}})
	}
}

func unschedulable(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu.", LastTransitionTime: metav1.Now()}}
}

func ends(code int32, reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		phase := corev1.PodFailed
		if code == 0 {
			phase = corev1.PodSucceeded
		}
		status(pod, phase, corev1.ConditionFalse, corev1.ContainerStatus{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}})
	}
}

func succeeds(pod *corev1.Pod) { ends(0, "Completed", "")(pod) }

func restarted(pod *corev1.Pod) {
	ready(pod)
	pod.Status.ContainerStatuses[0].RestartCount = 1
	pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
}

func evicted(pod *corev1.Pod) {
	pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
}

func mustJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}
