// Package installation checks in a cluster whether the operator works there: a client and the names of its Deployments go in, and the result
// of each check comes out. It makes nothing: what the API server takes and refuses is asked by dry runs.
package installation

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/manifests"
)

// firstRun is the Testbed and the run that the chart's notes show. `make generate` copies it from the chart.
//
//go:embed first-run.yaml
var firstRun []byte

// Installation is what is checked.
type Installation struct {
	Client    client.Client
	Discovery discovery.DiscoveryInterface
	// Namespace has the Deployments, and the runs of dry runs.
	Namespace   string
	Deployments []string
}

// Result is the result of one check.
type Result struct {
	// Check says what is checked.
	Check string
	// Err is nil if the installation is as it should be.
	Err error
}

// period is how often checks are repeated until all succeed: pods start, and the API server takes a moment to enforce new rules.
const period = time.Second

// Wait checks until every check succeeds or the time is over, and returns the last results.
func (i *Installation) Wait(ctx context.Context, timeout time.Duration) []Result {
	var results []Result
	// Its error says that the time is over, which the results say in more detail. Requests have the time limits of their clients, so that
	// the last ones end with what they find.
	_ = wait.PollUntilContextTimeout(ctx, period, timeout, true, func(context.Context) (bool, error) {
		results = i.Check(ctx)
		return !slices.ContainsFunc(results, func(r Result) bool { return r.Err != nil }), nil
	})
	return results
}

// Check makes each check once.
func (i *Installation) Check(ctx context.Context) []Result {
	var results []Result
	for _, name := range i.Deployments {
		results = append(results, Result{fmt.Sprintf("Deployment %s/%s is ready", i.Namespace, name), i.ready(ctx, name)})
	}
	results = append(results, Result{"the API server serves the kinds of " + v1alpha1.GroupVersion.String(), i.served()})
	objects, err := examples()
	if err != nil {
		return append(results, Result{"reading the examples", err})
	}
	for _, kind := range []string{"Testbed", "BenchmarkRun"} {
		results = append(results, Result{fmt.Sprintf("a valid %s is admitted", kind), i.create(ctx, objects[kind])})
	}
	for _, r := range refusals {
		object := objects[r.kind].DeepCopy()
		if err := unstructured.SetNestedField(object.Object, r.value, strings.Split(r.field, ".")...); err != nil {
			return append(results, Result{"changing " + r.field, err})
		}
		results = append(results, Result{fmt.Sprintf("a %s is refused: %s", r.kind, r.message), refused(i.create(ctx, object), r.message)})
	}
	return results
}

// ready returns why a Deployment is not ready: the kubelet asks its pods for /readyz.
func (i *Installation) ready(ctx context.Context, name string) error {
	var d appsv1.Deployment
	if err := i.Client.Get(ctx, client.ObjectKey{Namespace: i.Namespace, Name: name}, &d); err != nil {
		return err
	}
	want := ptr.Deref(d.Spec.Replicas, 1)
	switch status := d.Status; {
	case status.ObservedGeneration < d.Generation:
		return errors.New("its change was not seen yet: look at the controller manager of the cluster")
	case status.UpdatedReplicas < want || status.AvailableReplicas < want:
		return fmt.Errorf("%d of %d pods are up to date, and %d are available: look at `kubectl -n %s describe deployment,pods`", status.UpdatedReplicas, want, status.AvailableReplicas, i.Namespace)
	}
	return nil
}

// served returns which kinds of this version the API server lacks.
func (i *Installation) served() error {
	crds, err := manifests.CRDs()
	if err != nil {
		return err
	}
	list, err := i.Discovery.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if err != nil {
		return err
	}
	var missing []string
	for _, crd := range crds {
		has := false
		for _, resource := range list.APIResources {
			has = has || resource.Name == crd.Spec.Names.Plural
		}
		if !has {
			missing = append(missing, crd.Spec.Names.Plural)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("it lacks %s: apply the CustomResourceDefinitions of this version", strings.Join(missing, ", "))
	}
	return nil
}

// examples returns the objects of the first run by their kinds. Their names are generated, so that they are not those of objects that exist.
func examples() (map[string]*unstructured.Unstructured, error) {
	objects := map[string]*unstructured.Unstructured{}
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(firstRun))); ; {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if text, err = yaml.YAMLToJSONStrict(text); err == nil {
			err = object.UnmarshalJSON(text)
		}
		if err != nil {
			return nil, err
		}
		object.SetGenerateName(object.GetName() + "-")
		object.SetName("")
		objects[object.GetKind()] = object
	}
}

// create asks the API server to create an object, by a dry run.
func (i *Installation) create(ctx context.Context, object *unstructured.Unstructured) error {
	object = object.DeepCopy()
	if object.GetKind() != "Testbed" {
		object.SetNamespace(i.Namespace)
	}
	return i.Client.Create(ctx, object, client.DryRunAll)
}

// refusals are changes of the examples that the API server has to refuse: by a schema, and by an admission policy of each kind.
var refusals = []struct {
	kind, field string
	value       any
	message     string
}{
	{"BenchmarkRun", "spec.experiment.chain", []any{}, "spec.experiment.chain in body should have at least 1 items"},
	{"BenchmarkRun", "spec.experiment.measurements", map[string]any{}, "spec.experiment.measurements measures nothing"},
	{"Testbed", "spec.generator.xdp", map[string]any{"scheduling": "RealTime"}, "spec.generator.cpu must be a whole number of at least 2 with xdp.scheduling RealTime"},
}

// refused returns nil if the error says what it should.
func refused(err error, message string) error {
	switch {
	case err == nil:
		return errors.New("it is admitted: install the CustomResourceDefinitions and the admission policies of this version (crds.install)")
	case !strings.Contains(err.Error(), message):
		return fmt.Errorf("it is refused for another reason: %w", err)
	}
	return nil
}
