package v1alpha1_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/internal/controller/installation"
)

// TestInstallation checks that the checks of `helm test` succeed with the definitions and policies of this version in a real API server, with
// the rights that the chart gives them, and make nothing.
func TestInstallation(t *testing.T) {
	ctx := t.Context()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(serverConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "operator"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "checked"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "manager"}}}}
	// As in charts/vnfbench/templates/tests/check.yaml, whose rules a test of the chart has too.
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "checking"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{d.Name}, Verbs: []string{"get"}},
		{APIGroups: []string{"vnfbench.io"}, Resources: []string{"benchmarkruns", "testbeds"}, Verbs: []string{"create"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "checking"}},
	}
	for _, object := range []client.Object{d, role, binding} {
		if err := admin.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := admin.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	if err := admin.Status().Update(ctx, d); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(serverConfig)
	config.Impersonate = rest.ImpersonationConfig{UserName: "checking", Groups: []string{"system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	i := &installation.Installation{Client: c, Discovery: kinds, Namespace: d.Namespace, Deployments: []string{d.Name}}
	results := i.Wait(ctx, time.Minute)
	if len(results) != 7 {
		t.Errorf("%d results, want 7", len(results))
	}
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Check, r.Err)
		}
	}
}
