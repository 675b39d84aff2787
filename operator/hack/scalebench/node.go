package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/measurer"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/traffic/simulated"
	"vnfbench.io/operator/internal/trialstore"
)

// stepInterval is the time between two steps of the node.
const stepInterval = 50 * time.Millisecond

// node does what the Job controller, the scheduler and the kubelet do: every pod is ready at once,
// and gone at once.
type node struct {
	*cluster
	progress *progress
	// trial is how long a trial takes. With a speed it takes its own time, divided by that.
	trial time.Duration
	speed float64
	// held keeps pods from starting.
	held atomic.Bool
	// seen are the pods that were started.
	seen map[types.UID]bool
	// problem is the first that a measurer met.
	problem atomic.Pointer[error]
}

// run steps until the context ends.
func (n *node) run(ctx context.Context) error {
	n.seen = map[types.UID]bool{}
	for ctx.Err() == nil {
		if err := n.step(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("playing the node: %w", err)
		}
		if problem := n.problem.Load(); problem != nil {
			return *problem
		}
		if err := clock.Sleep(ctx, stepInterval); err != nil {
			return nil
		}
	}
	return nil
}

func (n *node) step(ctx context.Context) error {
	var jobs batchv1.JobList
	var pods corev1.PodList
	if err := n.client.List(ctx, &jobs, client.InNamespace(namespace)); err != nil {
		return err
	}
	if err := n.client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range jobs.Items {
		if err := n.stepJob(ctx, &jobs.Items[i], pods.Items); err != nil {
			return err
		}
	}
	for i := range pods.Items {
		if err := n.stepPod(ctx, &pods.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// stepJob makes the Job's pod, and deletes it with the Job. A Job whose pod has ended stays as it
// is: the results have said so before.
func (n *node) stepJob(ctx context.Context, job *batchv1.Job, pods []corev1.Pod) error {
	var mine *corev1.Pod
	for i := range pods {
		if metav1.IsControlledBy(&pods[i], job) {
			mine = &pods[i]
		}
	}
	switch {
	case job.DeletionTimestamp.IsZero() && mine == nil:
		pod := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: job.Spec.Template.Spec}
		pod.Namespace, pod.Name = job.Namespace, job.Name+"-0"
		if err := controllerutil.SetControllerReference(job, pod, n.client.Scheme()); err != nil {
			return err
		}
		return n.client.Create(ctx, pod)
	case job.DeletionTimestamp.IsZero():
		return nil
	case mine != nil:
		return n.client.Delete(ctx, mine)
	}
	job.Finalizers = nil
	return n.client.Update(ctx, job)
}

func (n *node) stepPod(ctx context.Context, pod *corev1.Pod) error {
	if !pod.DeletionTimestamp.IsZero() {
		return n.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
	}
	if n.seen[pod.UID] || n.held.Load() {
		return nil
	}
	if pod.Spec.NodeName == "" {
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodeName}}
		if err := n.client.SubResource("binding").Create(ctx, pod.DeepCopy(), binding); err != nil {
			return err
		}
	}
	if err := n.setReady(ctx, pod); err != nil {
		return err
	}
	if pod.Labels[v1alpha1.LabelComponent] == chain.ComponentMeasurer {
		go n.measure(ctx, pod.DeepCopy())
	}
	n.seen[pod.UID] = true
	return nil
}

func (n *node) setReady(ctx context.Context, pod *corev1.Pod) error {
	before := client.MergeFrom(pod.DeepCopy())
	now := metav1.Now()
	container := pod.Spec.Containers[0]
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "192.0.2.1", []corev1.PodIP{{IP: "192.0.2.1"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: container.Name, Image: container.Image, ImageID: "sha256:0", Ready: true, Started: new(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}
	return n.client.Status().Patch(ctx, pod, before)
}

// measure runs the measurer of a pod.
func (n *node) measure(ctx context.Context, pod *corev1.Pod) {
	if err := n.runMeasurer(ctx, pod); err != nil && ctx.Err() == nil {
		err = fmt.Errorf("measuring in pod %q: %w", pod.Name, err)
		n.problem.CompareAndSwap(nil, &err)
	}
}

func (n *node) runMeasurer(ctx context.Context, pod *corev1.Pod) error {
	clients, err := kubernetes.NewForConfig(n.measurerConfig())
	if err != nil {
		return err
	}
	run := &v1alpha1.BenchmarkRun{}
	if err := n.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pod.Annotations[v1alpha1.AnnotationRun]}, run); err != nil {
		return err
	}
	names := plan.NamesOf(run)
	stored := &corev1.ConfigMap{}
	if err := n.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.Plan}, stored); err != nil {
		return err
	}
	m := &measurer.Measurer{Drivers: n, Log: slog.New(slog.DiscardHandler), Results: trialstore.Config{
		ConfigMaps: clients.CoreV1().ConfigMaps(namespace), Name: names.Results, Measurer: pod.Name, UID: string(pod.UID),
	}}
	if err := json.Unmarshal([]byte(stored.Data[plan.KeyInstructions]), &m.Instructions); err != nil {
		return err
	}
	return m.Run(ctx)
}

const (
	capacityFramesPerSecond  = 200_000
	generatorFramesPerSecond = 1_000_000
)

// Open opens the simulated device on the chain, and only the generator on the calibration's path.
func (n *node) Open(_ context.Context, opening measure.Opening) (measure.Driver, error) {
	capacity := float64(capacityFramesPerSecond)
	if opening.Path.Ports[0].Interface == plan.InterfaceCalibrationWest {
		capacity = generatorFramesPerSecond
	}
	return slow{simulated.New(simulated.Config{
		Device:                   simulated.HardCap{CapacityFramesPerSecond: capacity},
		Directions:               []measure.Direction{measure.Forward, measure.Reverse},
		GeneratorFramesPerSecond: generatorFramesPerSecond, Seed: 1,
	}), n.takes}, nil
}

// takes returns how long a trial takes.
func (n *node) takes(trial measure.Trial) time.Duration {
	if n.speed > 0 {
		return time.Duration(float64(trial.DurationNanoseconds) / n.speed)
	}
	return n.trial
}

// slow is a driver whose trials take their time.
type slow struct {
	measure.Driver
	takes func(measure.Trial) time.Duration
}

// Measure implements measure.Driver.
func (s slow) Measure(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	if err := clock.Sleep(ctx, s.takes(trial)); err != nil {
		return measure.Outcome{}, err
	}
	return s.Driver.Measure(ctx, trial)
}
