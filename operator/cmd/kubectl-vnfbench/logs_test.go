package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain/kinds"
)

// clusterWithPods returns a cluster whose containers have logs: their name, what they are called with, and a token.
func clusterWithPods(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return &cluster{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), namespace: "lab",
		openLog: func(_ context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error) {
			if pod.Name == "broken" {
				return nil, errors.New("refused")
			}
			return io.NopCloser(strings.NewReader(fmt.Sprintf("%s previous=%t tail=%v\x1b[2J\nabout lab/router password=hidden\nlast", options.Container, options.Previous, options.TailLines != nil))), nil
		}}
}

// podOf returns a pod of a run with one container.
func podOf(run *v1alpha1.BenchmarkRun, name, component string, change func(*corev1.ContainerStatus)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: name, UID: "uid-of-" + "pod", Labels: map[string]string{v1alpha1.LabelRun: string(run.UID), v1alpha1.LabelComponent: component}}}
	status := corev1.ContainerStatus{Name: component, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	if change != nil {
		change(&status)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	return pod
}

// TestLogs checks which containers are read, and how their lines are named.
func TestLogs(t *testing.T) {
	run := runNamed("router", 1, nil)
	waiting := func(s *corev1.ContainerStatus) { s.State = corev1.ContainerState{} }
	restarted := func(s *corev1.ContainerStatus) {
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
	}
	other := runNamed("other", 1, func(r *v1alpha1.BenchmarkRun) { r.UID = "other" })
	c := clusterWithPods(t, run, other, podOf(run, "r-measurer", kinds.ComponentMeasurer, restarted), podOf(run, "r-fn-r1", kinds.ComponentFunction, nil), podOf(run, "r-observer", kinds.ComponentObserver, waiting), podOf(other, "o-fn", kinds.ComponentFunction, waiting))
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"logs router", exitSucceeded, "[r-fn-r1/function] function previous=false tail=false[2J\n[r-fn-r1/function] about lab/router password=hidden\n[r-fn-r1/function] last\n[r-measurer/measurer] measurer previous=false"},
		{"logs router --component measurer --tail 5", exitSucceeded, "measurer previous=false tail=true[2J\nabout"},
		{"logs router --previous", exitSucceeded, "measurer previous=true"},
		{"logs router --component function -f", exitSucceeded, "function previous=false"},
		{"logs router --component neighbor", exitError, "error: BenchmarkRun \"router\" has 3 pods, and none"},
		{"logs other", exitError, "error: BenchmarkRun \"other\" has 1 pod, and none"},
		{"logs router --component measurers", exitError, "error: unknown component"},
		{"logs router -f -p", exitError, "error: --follow and --previous exclude"},
		{"logs router --tail -2", exitError, "error: --tail is -2"},
		{"logs nothing", exitError, "error: BenchmarkRun \"nothing\" does not exist"},
	} {
		if code, out, errOut := commandOver(t, c, "", strings.Fields(test.args)...); code != test.code || !strings.HasPrefix(out+errOut, test.want) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s%s", test.args, code, test.code, test.want, out, errOut)
		}
	}
	if code, out, errOut := commandOver(t, clusterWithPods(t, run), "", "logs", "router"); code != exitError || !strings.Contains(out+errOut, "has no pod") {
		t.Errorf("without pods: exit code %d: %s%s", code, out, errOut)
	}
	if code, _, errOut := commandOver(t, clusterWithPods(t, run, podOf(run, "broken", kinds.ComponentMeasurer, nil)), "", "logs", "router"); code != exitError || !strings.Contains(errOut, "refused") {
		t.Errorf("with a log that cannot be read: exit code %d: %s", code, errOut)
	}
}
