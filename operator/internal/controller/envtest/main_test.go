// Package envtest runs the controllers against a real API server. cluster_test.go
// simulates kubelet, Job controller and garbage collector; the measurer is the
// real one on a simulated device.
package envtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller"
)

// The API server that all tests share: for tests with every right and without a cache, for
// the operator with the rights of its installation.
var (
	config   *rest.Config
	operator *rest.Config
	results  *rest.Config
	cluster  client.WithWatch
)

// installKubeVirt adds the kind of KubeVirt that runs need, which the cluster does not know
// before.
var installKubeVirt func() error

func TestMain(m *testing.M) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "KUBEBUILDER_ASSETS is not set, so there is no API server to test against: run \"make test\"")
		os.Exit(1)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	log := logr.Discard()
	if os.Getenv("VNFBENCH_TEST_LOGS") != "" {
		log = klog.Background()
	}
	ctrl.SetLogger(log)
	environment := &envtest.Environment{
		CRDDirectoryPaths:     []string{"../../../../config/crd/bases", "testdata"},
		ErrorIfCRDPathMissing: true,
		CRDInstallOptions:     envtest.CRDInstallOptions{MaxTime: testTimeout},
		// The default of 20 s is short for an API server that starts on a busy machine.
		ControlPlaneStartTimeout: testTimeout, ControlPlaneStopTimeout: testTimeout,
	}
	var err error
	if config, err = environment.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server:", err)
		return 1
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	installKubeVirt = func() error {
		_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{"testdata/kubevirt"}, ErrorIfPathMissing: true, MaxTime: testTimeout})
		return err
	}
	config.QPS = -1
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "preparing the cluster:", err)
		return 1
	}
	if operator, err = operatorUser(environment); err != nil {
		fmt.Fprintln(os.Stderr, "making the operator's user:", err)
		return 1
	}
	if results, err = resultsUser(environment); err != nil {
		fmt.Fprintln(os.Stderr, "making the user of the results service:", err)
		return 1
	}
	if err := installOwnerPolicy(); err != nil {
		fmt.Fprintln(os.Stderr, "installing the policy on owners:", err)
		return 1
	}
	return m.Run()
}

// prepare makes the client and the cluster's one node.
func prepare() error {
	scheme, err := controller.Scheme()
	if err != nil {
		return err
	}
	if cluster, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	_, err = makeNode(nodeName, map[string]string{"role": "lab"})
	return err
}

// makeNode makes a node that is ready.
func makeNode(name string, labels map[string]string, taints ...corev1.Taint) (*corev1.Node, error) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if err := cluster.Create(context.Background(), node); err != nil {
		return nil, err
	}
	// Admission taints a new node until a controller marks it as ready.
	node.Spec.Taints = taints
	if err := cluster.Update(context.Background(), node); err != nil {
		return nil, err
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}
	return node, cluster.Status().Update(context.Background(), node)
}

const nodeName = "node-a"

// installOwnerPolicy installs the policy that says who may name a suite as owner, and waits until it is in force: until it refuses a run of
// a user who may make runs.
func installOwnerPolicy() error {
	ctx := context.Background()
	manifest, err := os.ReadFile("../../../../config/admission/benchmarksuite-owner.yaml")
	if err != nil {
		return err
	}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return err
		}
		if err := cluster.Create(ctx, object); err != nil {
			return err
		}
	}
	if err := cluster.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "canary"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "vnfbench-editor"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "canary"}},
	}); err != nil {
		return err
	}
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: "canary", Groups: []string{"system:authenticated"}}
	canary, err := client.New(impersonating, client.Options{Scheme: cluster.Scheme()})
	if err != nil {
		return err
	}
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "canary", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BenchmarkSuiteRun", Name: "none", UID: "none"},
	}}}
	run.Spec.Experiment.TestbedRef = &v1alpha1.TestbedReference{Name: "none"}
	run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{{Name: "router", Function: v1alpha1.FunctionRouter}}
	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, testTimeout, true, func(context.Context) (bool, error) {
		err := canary.Create(ctx, run.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "vnfbench-benchmarksuite-owner"), nil
	})
}

// operatorUser makes a user who has exactly the roles of an installation, so that a verb
// that is missing there fails a test here.
func operatorUser(environment *envtest.Environment) (*rest.Config, error) {
	user, err := environment.AddUser(envtest.User{Name: "operator"}, &rest.Config{QPS: -1})
	if err != nil {
		return nil, err
	}
	var documents [][]byte
	for _, file := range []string{"role.yaml", "bindings.yaml", "users.yaml"} {
		manifest, err := os.ReadFile("../../../../config/rbac/" + file)
		if err != nil {
			return nil, err
		}
		documents = append(documents, bytes.Split(manifest, []byte("\n---\n"))...)
	}
	for _, document := range documents {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(document, role); err != nil {
			return nil, err
		}
		if role.Name == "vnfbench-editor" || role.Name == "vnfbench-admin" {
			if err := cluster.Create(context.Background(), role); err != nil {
				return nil, err
			}
		}
		if (role.Name == "vnfbench-api-server" || role.Name == "vnfbench-metrics-certificate") && role.Rules != nil {
			if err := bindInNamespace(role); err != nil {
				return nil, err
			}
		}
		if role.Name != "vnfbench-manager" && role.Name != "vnfbench-nodes" || role.Rules == nil {
			continue
		}
		// The operator of each lab has its own namespace for Leases, so what is a Role in an
		// installation holds everywhere here.
		role.Namespace, role.Kind = "", "ClusterRole"
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
		}
		for _, object := range []client.Object{role, binding} {
			if err := cluster.Create(context.Background(), object); err != nil {
				return nil, err
			}
		}
	}
	return user.Config(), nil
}

// resultsUser makes a user who has exactly the role of the results service.
func resultsUser(environment *envtest.Environment) (*rest.Config, error) {
	user, err := environment.AddUser(envtest.User{Name: "results"}, &rest.Config{QPS: -1})
	if err != nil {
		return nil, err
	}
	manifest, err := os.ReadFile("../../../../charts/vnfbench/files/rbac/results/role.yaml")
	if err != nil {
		return nil, err
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(manifest, role); err != nil {
		return nil, err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "results"}},
	}
	return user.Config(), errors.Join(cluster.Create(context.Background(), role), cluster.Create(context.Background(), binding))
}

// bindInNamespace gives the operator's user a Role in the namespace that it has in an installation.
func bindInNamespace(role *rbacv1.ClusterRole) error {
	in := metav1.ObjectMeta{Namespace: role.Namespace, Name: role.Name}
	if err := cluster.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: role.Namespace}}); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	return errors.Join(
		cluster.Create(context.Background(), &rbacv1.Role{ObjectMeta: in, Rules: role.Rules}),
		cluster.Create(context.Background(), &rbacv1.RoleBinding{
			ObjectMeta: in,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
		}),
	)
}
