package installation

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/admission"
	"vnfbench.io/operator/internal/manifests"
)

// cluster returns an installation that works, in an API server that admits as this version's definitions and policies say.
func cluster(t *testing.T, admit func(context.Context, *unstructured.Unstructured) error) (*Installation, *appsv1.Deployment) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(appsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "operator", Generation: 2}}
	d.Spec.Replicas = ptr.To[int32](2)
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(d).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
			var o client.CreateOptions
			if o.ApplyOptions(options); len(o.DryRun) != 1 {
				t.Errorf("%s is created, and not by a dry run", object.GetObjectKind().GroupVersionKind().Kind)
			}
			return admit(ctx, object.(*unstructured.Unstructured))
		},
	}).Build()
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	kinds := &metav1.APIResourceList{GroupVersion: v1alpha1.GroupVersion.String()}
	for _, crd := range crds {
		kinds.APIResources = append(kinds.APIResources, metav1.APIResource{Name: crd.Spec.Names.Plural})
	}
	served := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{kinds}}}
	return &Installation{Client: c, Discovery: served, Namespace: "home", Deployments: []string{"operator"}}, d
}

// ofThisVersion returns what an API server says that has the definitions and policies of this version.
func ofThisVersion(t *testing.T) func(context.Context, *unstructured.Unstructured) error {
	t.Helper()
	server, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, o *unstructured.Unstructured) error {
		var texts []string
		for _, p := range server.Admit(ctx, o) {
			texts = append(texts, p.Field+" "+p.Message+": "+p.Remedy)
		}
		if len(texts) == 0 {
			return nil
		}
		return errors.New(strings.Join(texts, "; "))
	}
}

// failures returns the failed checks with their reasons.
func failures(results []Result) string {
	var lines []string
	for _, r := range results {
		if r.Err != nil {
			lines = append(lines, r.Check+": "+r.Err.Error())
		}
	}
	return strings.Join(lines, "\n")
}

// TestCheck checks what is said about installations that lack something. That an API server says what this version's policies say is checked in
// package v1alpha1, where there is one.
func TestCheck(t *testing.T) {
	admit := ofThisVersion(t)
	for name, test := range map[string]struct {
		spoil func(*Installation, *appsv1.Deployment)
		admit func(context.Context, *unstructured.Unstructured) error
		want  []string
	}{
		"it works": {},
		"a pod is not available": {
			spoil: func(_ *Installation, d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 },
			want:  []string{"Deployment home/operator is ready: 2 of 2 pods are up to date, and 1 are available"},
		},
		"an old pod is still there": {
			spoil: func(_ *Installation, d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 },
			want:  []string{"1 of 2 pods are up to date"},
		},
		"its change was not seen": {
			spoil: func(_ *Installation, d *appsv1.Deployment) { d.Generation = 3 },
			want:  []string{"its change was not seen yet"},
		},
		"no Deployment": {
			spoil: func(i *Installation, _ *appsv1.Deployment) { i.Deployments = []string{"other"} },
			want:  []string{`Deployment home/other is ready: deployments.apps "other" not found`},
		},
		"a kind is not served": {
			spoil: func(i *Installation, _ *appsv1.Deployment) {
				list := i.Discovery.(*fakediscovery.FakeDiscovery).Resources[0]
				list.APIResources = list.APIResources[1:]
			},
			want: []string{"the API server serves the kinds of vnfbench.io/v1alpha1: it lacks benchmarkmeasurements"},
		},
		"nothing is refused": {
			admit: func(context.Context, *unstructured.Unstructured) error { return nil },
			want: []string{
				"a BenchmarkRun is refused: spec.experiment.chain in body should have at least 1 items: it is admitted",
				"a BenchmarkRun is refused: spec.experiment.measurements measures nothing: it is admitted", "a Testbed is refused: spec.generator.cpu must",
			},
		},
		"everything is refused": {
			admit: func(context.Context, *unstructured.Unstructured) error { return errors.New("forbidden by quota") },
			want:  []string{"a valid Testbed is admitted: forbidden by quota", "a valid BenchmarkRun is admitted: forbidden by quota", "it is refused for another reason: forbidden by quota"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.admit == nil {
				test.admit = admit
			}
			i, d := cluster(t, test.admit)
			if test.spoil != nil {
				test.spoil(i, d)
				status := d.Status
				if err := i.Client.Update(t.Context(), d); err != nil {
					t.Fatal(err)
				}
				d.Status = status
				if err := i.Client.Status().Update(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			results := i.Check(t.Context())
			failed := failures(results)
			if len(results) != 7 || (failed == "") != (len(test.want) == 0) {
				t.Errorf("%d results, want 7; failed:\n%s", len(results), failed)
			}
			for _, want := range test.want {
				if !strings.Contains(failed, want) {
					t.Errorf("got:\n%s\nwant %q", failed, want)
				}
			}
		})
	}
}

// TestWait checks that checks are repeated until they succeed, and that the time ends.
func TestWait(t *testing.T) {
	i, _ := cluster(t, ofThisVersion(t))
	if failed := failures(i.Wait(t.Context(), time.Minute)); failed != "" {
		t.Error(failed)
	}
	asked := 0
	i, _ = cluster(t, func(context.Context, *unstructured.Unstructured) error { asked++; return nil })
	if failed := failures(i.Wait(t.Context(), period+period/2)); failed == "" || asked != 2*5 {
		t.Errorf("asked %d times, want 10; failed:\n%s", asked, failed)
	}
}
