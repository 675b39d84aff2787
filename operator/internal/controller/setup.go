// Package controller wires the controllers to a manager: what they cache, the
// index that both use, and their metrics.
package controller

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/benchmarkrun"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/controller/suite"
	"vnfbench.io/operator/internal/controller/suiterun"
	"vnfbench.io/operator/internal/controller/testbed"
	"vnfbench.io/operator/internal/plan"
)

// Scheme knows every kind that the operator reads or makes. Networks are
// unstructured, because a cluster may not know them.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kubevirtv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, v1alpha1.AddToScheme(scheme)
}

// CacheOptions returns options that save memory: of pods, Jobs, ConfigMaps, Roles and RoleBindings only those
// with a run's label are watched, and of the last three only which they are and whose. Of what tenants write the cache
// keeps what decisions need, and of nodes no images. No namespaces means all of them. A cache that cannot read calls onError.
func CacheOptions(namespaces []string, onError toolscache.WatchErrorHandlerWithContext) (cache.Options, error) {
	ofRun, err := having(v1alpha1.LabelRun)
	if err != nil {
		return cache.Options{}, err
	}
	return cache.Options{
		DefaultTransform:         cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: onError,
		DefaultNamespaces:        configs(namespaces),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:         {Label: ofRun, Transform: benchmarkrun.Cached},
			&batchv1.Job{}:        {Label: ofRun, Transform: benchmarkrun.Cached},
			&corev1.ConfigMap{}:   {Label: ofRun, Transform: benchmarkrun.Cached},
			&rbacv1.Role{}:        {Label: ofRun, Transform: benchmarkrun.Cached},
			&rbacv1.RoleBinding{}: {Label: ofRun, Transform: benchmarkrun.Cached},

			&corev1.Node{}:                {Transform: withoutImages},
			&v1alpha1.BenchmarkRun{}:      {Transform: benchmarkrun.Cached},
			&v1alpha1.BenchmarkSuite{}:    {Transform: benchmarkrun.Cached},
			&v1alpha1.BenchmarkSuiteRun{}: {Transform: benchmarkrun.Cached},
		},
	}, nil
}

// withoutImages drops the images that a node has, which are most of its bytes.
func withoutImages(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		node.ManagedFields, node.Status.Images = nil, nil
	}
	return object, nil
}

// configs returns the configuration of a cache of the namespaces; nil for all.
func configs(namespaces []string) map[string]cache.Config {
	var found map[string]cache.Config
	for _, namespace := range namespaces {
		if found == nil {
			found = map[string]cache.Config{}
		}
		found[namespace] = cache.Config{}
	}
	return found
}

// having selects the objects that have a label.
func having(label string) (labels.Selector, error) {
	requirement, err := labels.NewRequirement(label, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	return labels.NewSelector().Add(*requirement), nil
}

// vmCacheOptions returns the options of the cache of runs' virtual machines, of which it has nothing
// else.
func vmCacheOptions(namespaces []string, onError toolscache.WatchErrorHandlerWithContext) (cache.Options, error) {
	ofRun, err := having(v1alpha1.LabelRun)
	return cache.Options{
		DefaultTransform:         benchmarkrun.Cached,
		DefaultWatchErrorHandler: onError,
		DefaultNamespaces:        configs(namespaces),
		DefaultLabelSelector:     ofRun,
	}, err
}

// vmCache makes the cache of runs' virtual machines, separate from the manager's
// cache: a kind that the cluster does not know would keep that one from starting.
func vmCache(mgr ctrl.Manager, namespaces []string, onError toolscache.WatchErrorHandlerWithContext) func() (cache.Cache, error) {
	return func() (cache.Cache, error) {
		options, err := vmCacheOptions(namespaces, onError)
		if err != nil {
			return nil, err
		}
		options.Scheme, options.Mapper, options.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
		return cache.New(mgr.GetConfig(), options)
	}
}

// gauges returns the metrics of what is stored.
func gauges(cache, reader client.Reader, leading <-chan struct{}) []prometheus.Collector {
	return []prometheus.Collector{
		&suite.Gauges{Cache: cache, Leading: leading}, &benchmarkrun.Gauges{Cache: cache, Reader: reader, Leading: leading},
	}
}

// Setup registers the controllers. Metrics go to the registry. home is the operator's own namespace, subjects reads the labels of images.
// namespaces and onError are those of CacheOptions.
func Setup(ctx context.Context, mgr ctrl.Manager, clock clock.PassiveClock, defaults plan.Defaults, home string, subjects *subject.Reader, namespaces []string, onError toolscache.WatchErrorHandlerWithContext, registry prometheus.Registerer) error {
	for index, of := range map[string]client.IndexerFunc{queue.IndexTestbed: queue.TestbedOf, queue.IndexUnfinished: queue.UnfinishedOf} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.BenchmarkRun{}, index, of); err != nil {
			return fmt.Errorf("indexing runs by testbed: %w", err)
		}
	}
	metrics, ofSuites := benchmarkrun.NewMetrics(), suiterun.NewMetrics(mgr.GetClient(), mgr.Elected())
	for _, collector := range append(gauges(mgr.GetClient(), mgr.GetAPIReader(), mgr.Elected()), metrics, ofSuites) {
		if err := registry.Register(collector); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	if defaults.AwaitsArchive {
		if err := registry.Register(awaitingArchive(mgr.GetClient(), mgr.Elected())); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	clientset, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("making a client for consoles: %w", err)
	}
	runs := &benchmarkrun.Reconciler{
		VMs:     &benchmarkrun.VMs{Mapper: mgr.GetRESTMapper(), NewCache: vmCache(mgr, namespaces, onError), Add: mgr.Add},
		Console: benchmarkrun.PodConsole{Clientset: clientset},
		Issuer:  benchmarkrun.ClusterIssuer{Client: clientset.Discovery().RESTClient()},
		Client:  mgr.GetClient(), Reader: mgr.GetAPIReader(), Clock: clock, Metrics: metrics, Defaults: defaults,
		Recorder:  mgr.GetEventRecorder("vnfbench"),
		Namespace: home, Namespaces: namespaces,
	}
	if err := runs.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the BenchmarkRun controller: %w", err)
	}
	testbeds := &testbed.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Clock: clock, Defaults: defaults,
		Recorder:  mgr.GetEventRecorder("vnfbench"),
		Namespace: home,
	}
	if err := testbeds.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the Testbed controller: %w", err)
	}
	executions := &suiterun.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Planner: runs, Subjects: subjects, Clock: clock, Metrics: ofSuites,
		Recorder: mgr.GetEventRecorder("vnfbench"),
	}
	if err := executions.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the BenchmarkSuiteRun controller: %w", err)
	}
	suites := &suite.Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Subjects: subjects, Clock: clock, Recorder: mgr.GetEventRecorder("vnfbench"), AwaitsArchive: defaults.AwaitsArchive}
	if err := suites.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the BenchmarkSuite controller: %w", err)
	}
	return nil
}
