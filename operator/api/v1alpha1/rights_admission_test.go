package v1alpha1_test

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// as returns a client of a user with the given rules in namespace default. It waits until the API server, which learns
// of roles by watching them, lets the user do what the first one says.
func as(t *testing.T, user string, rules ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, rbacv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	admin, err := client.New(serverConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: user}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		if err := admin.Create(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := admin.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		})
	}
	config := rest.CopyConfig(serverConfig)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	impersonating, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	first := &authorizationv1.ResourceAttributes{Namespace: meta.Namespace, Verb: rules[0].Verbs[0], Group: rules[0].APIGroups[0], Resource: rules[0].Resources[0]}
	if err := wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: first}}
		err := impersonating.Create(ctx, review)
		return review.Status.Allowed, err
	}); err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(impersonating, "Strict")
}

// mayMakeRuns is what vnfbench-editor gives in a namespace.
var mayMakeRuns = rbacv1.PolicyRule{APIGroups: []string{"vnfbench.io"}, Resources: []string{"benchmarkruns"}, Verbs: []string{"create", "update", "patch"}}

// TestCustomNeedsTheRightToCreatePods: a function Custom runs a disk or an image of the user with Secrets and claims
// of the namespace, so who may only make runs may not have one.
func TestCustomNeedsTheRightToCreatePods(t *testing.T) {
	mayMakePods := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}
	editor, edit := as(t, "only-runs", mayMakeRuns), as(t, "runs-and-pods", mayMakeRuns, mayMakePods)
	chains := map[string]string{
		"image":       customChain("containerDisk: example/vyos:1"),
		"pull secret": customChain("containerDisk: example/vyos:1, imagePullSecretRef: {name: registry}"),
		"secret":      customChain("containerDisk: example/vyos:1, userDataSecretRef: {name: passwords}"),
		"claim":       customChain("persistentVolumeClaimRef: {name: database}"),
		"data volume": customChain("dataVolumeRef: {name: database}"),
		"container":   containerChain("container: {image: example/vpp:1, capabilities: [NET_ADMIN]}, userDataSecretRef: {name: passwords}"),
	}
	for name, custom := range chains {
		t.Run(name, func(t *testing.T) {
			run := func() client.Object {
				return object(t, goodRun, map[string]string{"spec.experiment.chain": custom})
			}
			err := editor.Create(context.Background(), run(), client.DryRunAll)
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "only-runs may not create pods in namespace default") {
				t.Errorf("without the right to create pods: %v", err)
			}
			if err := edit.Create(context.Background(), run(), client.DryRunAll); err != nil {
				t.Errorf("with the right to create pods: %v", err)
			}
		})
	}
	if err := editor.Create(context.Background(), object(t, goodRun, nil), client.DryRunAll); err != nil {
		t.Errorf("a router: %v", err)
	}
}

// TestFinalizerOfARunIsKept: without its finalizer, a run that is deleted frees its testbed while its pods use it. So
// who may only make runs may not remove it, and may do all else.
func TestFinalizerOfARunIsKept(t *testing.T) {
	editor := as(t, "edits-runs", mayMakeRuns)
	manager := as(t, "finalizes-runs", mayMakeRuns, rbacv1.PolicyRule{APIGroups: []string{"vnfbench.io"}, Resources: []string{"benchmarkruns"}, Verbs: []string{"delete"}},
		rbacv1.PolicyRule{APIGroups: []string{"vnfbench.io"}, Resources: []string{"benchmarkruns/finalizers"}, Verbs: []string{"update"}})
	run := object(t, goodRun, nil)
	run.SetName("with-finalizer")
	run.SetFinalizers([]string{v1alpha1.Finalizer, "example.com/theirs"})
	if err := editor.Create(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	patch := func(c client.Client, text string) error {
		return c.Patch(context.Background(), run.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	}
	replaced := run.DeepCopy()
	replaced.SetFinalizers(nil)
	for name, err := range map[string]error{
		"all":      patch(editor, `{"metadata":{"finalizers":null}}`),
		"ours":     patch(editor, `{"metadata":{"finalizers":["example.com/theirs"]}}`),
		"replaced": editor.Update(context.Background(), replaced),
	} {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "edits-runs may not update benchmarkruns/finalizers in namespace default") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"suspend": `{"spec":{"suspend":true}}`,
		"theirs":  `{"metadata":{"finalizers":["` + v1alpha1.Finalizer + `"]}}`,
	} {
		if err := patch(editor, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := patch(manager, `{"metadata":{"finalizers":null}}`); err != nil {
		t.Errorf("with the right: %v", err)
	}
	if err := manager.Delete(context.Background(), run); err != nil {
		t.Error(err)
	}
}
