package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestKilledLeaderContinues runs two operators and kills the leader in the middle of a run: the other
// one, which is already running, completes the run.
func TestKilledLeaderContinues(t *testing.T) {
	scale(t, 2)
	t.Cleanup(func() { scale(t, 1) })
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("led", eightSeconds))
	until(t, ns, "led", waitForStart, "measuring", trials(3))

	leader := leaderPod(t)
	pod := &corev1.Pod{}
	must(t, cluster.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: leader}, pod))
	others := operators(t)
	delete(others, leader)
	if len(others) != 1 {
		t.Fatalf("next to the leader %s there are %v, want one operator", leader, others)
	}
	killPod(t, pod)
	must(t, client.IgnoreNotFound(cluster.Delete(t.Context(), pod, client.GracePeriodSeconds(0))))
	killed := time.Now()

	ends(t, ns, "led", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	now := leaderPod(t)
	if now == leader {
		t.Errorf("%s still leads, and is dead", now)
	}
	t.Logf("the run ended %.0f s after its operator; %s leads, of the other replica: %t", time.Since(killed).Seconds(), now, others[now])
	nothingLeft(t, ns)
}

// scale sets the operator's replicas and waits until exactly that many are ready.
func scale(t *testing.T, replicas int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "vnfbench"}}
	if err := cluster.Patch(ctx, deployment, patch); err != nil {
		t.Fatal(err)
	}
	for {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
		if err == nil && deployment.Status.ObservedGeneration == deployment.Generation && deployment.Status.ReadyReplicas == replicas && deployment.Status.Replicas == replicas {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%d operators are ready, want %d: %v", deployment.Status.ReadyReplicas, replicas, err)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// operators returns the names of the operator's pods.
func operators(t *testing.T) map[string]bool {
	t.Helper()
	list := &corev1.PodList{}
	must(t, retry(t, func() error {
		return cluster.List(t.Context(), list, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/name": "vnfbench"})
	}))
	found := map[string]bool{}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp.IsZero() {
			found[pod.Name] = true
		}
	}
	return found
}

// leaderPod returns the pod that holds the operators' Lease.
func leaderPod(t *testing.T) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	must(t, retry(t, func() error {
		return cluster.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: leaderElectionID}, lease)
	}))
	if lease.Spec.HolderIdentity == nil {
		t.Fatal("no operator holds the operators' Lease")
	}
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return name
}
