package benchmarkrun

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/measure"
)

// TestCreateSecret checks that a Secret that exists is the run's only where the stored status has its name, whatever the cache has, that
// what is recorded is kept, and that a status that the API server does not keep has a reason.
func TestCreateSecret(t *testing.T) {
	type secrets = map[string]v1alpha1.ObjectUID
	isTaken := func(err error) bool { return errors.As(err, new(*apply.Taken)) }
	for name, test := range map[string]struct {
		cached, stored secrets
		exists         bool
		// before is called before the status is patched.
		before func(c client.Client, run *v1alpha1.BenchmarkRun) error
		made   bool
		fails  func(error) bool
		after  secrets
	}{
		"made":                        {made: true, after: secrets{"keys": "new"}},
		"it is another's":             {exists: true, fails: isTaken},
		"it is the run's":             {cached: secrets{"keys": "u"}, stored: secrets{"keys": "u"}, exists: true, after: secrets{"keys": "u"}},
		"the operator ended":          {cached: secrets{"keys": ""}, stored: secrets{"keys": ""}, exists: true, after: secrets{"keys": ""}},
		"the cache is late":           {stored: secrets{"keys": "u"}, exists: true, after: secrets{"keys": "u"}},
		"the cache has a deleted one": {cached: secrets{"keys": "u"}, exists: true, fails: isTaken},
		"another operator recorded it": {exists: true, fails: apierrors.IsConflict, after: secrets{"keys": "u"},
			before: func(c client.Client, run *v1alpha1.BenchmarkRun) error {
				run.Status.Secrets = secrets{"keys": "u"}
				return c.Status().Update(t.Context(), run)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope()
			s.run.Status.Secrets = test.stored
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: "keys", UID: "new"}}
			objects := []client.Object{s.run}
			if test.exists {
				objects = append(objects, secret.DeepCopy())
			}
			c := interceptor.NewClient(fakeCluster(t, objects...).(client.WithWatch), interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
					if test.before != nil {
						run := &v1alpha1.BenchmarkRun{}
						if err := errors.Join(c.Get(ctx, client.ObjectKeyFromObject(object), run), test.before(c, run)); err != nil {
							return err
						}
					}
					return c.SubResource(sub).Patch(ctx, object, patch, options...)
				},
			})
			s.run.Status.Secrets = test.cached
			made, err := (&Reconciler{Client: c, Reader: c}).createSecret(t.Context(), s, secret)
			if made != test.made || (err != nil) != (test.fails != nil) || err != nil && !test.fails(err) {
				t.Errorf("made %v, %v", made, err)
			}
			run := &v1alpha1.BenchmarkRun{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.run), run); err != nil {
				t.Fatal(err)
			}
			uid, recorded := run.Status.Secrets["keys"]
			if want, wanted := test.after["keys"]; uid != want || recorded != wanted {
				t.Errorf("recorded %v", run.Status.Secrets)
			}
		})
	}
}

// TestOlderDefinitionsKeepNoSecrets checks that no Secret is made where the API server drops its record, and that the run says why.
func TestOlderDefinitionsKeepNoSecrets(t *testing.T) {
	s := newScope()
	c := interceptor.NewClient(fakeCluster(t, s.run).(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return nil
		},
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: "keys"}}
	_, err := (&Reconciler{Client: c, Reader: c}).createSecret(t.Context(), s, secret.DeepCopy())
	if refused := refusal(err); measure.ReasonOf(err) != v1alpha1.ReasonVersionMismatch || reasonOf(refused) != v1alpha1.ReasonVersionMismatch {
		t.Errorf("%v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret: %v", err)
	}
}

// TestSecretsThatNothingRecorded checks that a Secret that the status does not have is deleted only where a workload that uses it is there.
func TestSecretsThatNothingRecorded(t *testing.T) {
	s := newScope()
	experiment := &s.run.Spec.Experiment
	experiment.Chain = nil
	for name, custom := range map[string]*v1alpha1.CustomFunction{
		"machine": nil, "deleted": nil, "absent": nil, "own": {}, "own-seed": {UserData: "#cloud-config"}, "own-net": {NetworkData: "version: 2"},
	} {
		experiment.Chain = append(experiment.Chain, v1alpha1.NetworkFunction{Name: name, Runtime: v1alpha1.RuntimeVirtualMachine, Custom: custom})
		if vm := (kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: s.names.Function(name)}}); name != "absent" {
			if name == "deleted" {
				vm.DeletionTimestamp = new(metav1.NewTime(s.now))
			}
			s.vms = append(s.vms, vm)
		}
	}
	experiment.NoisyNeighbors = []v1alpha1.NoisyNeighbor{{Name: "loud", Runtime: v1alpha1.RuntimeVirtualMachine}}
	s.vms = append(s.vms, kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: s.names.Neighbor("loud")}})
	objects := []client.Object{s.run, secretNamed(s, s.names.Neighbor("loud"))}
	for _, function := range experiment.Chain {
		objects = append(objects, secretNamed(s, s.names.Function(function.Name)))
	}
	c := fakeCluster(t, objects...)
	if err := (&Reconciler{Client: c, Reader: c}).deleteSecrets(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var left corev1.SecretList
	if err := c.List(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, secret := range left.Items {
		names = append(names, secret.Name)
	}
	want := []string{s.names.Function("absent"), s.names.Function("deleted"), s.names.Function("own")}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("%v stay, want %v", names, want)
	}
}

func secretNamed(s *scope, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: name}}
}
