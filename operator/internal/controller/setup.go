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

// CacheOptions returns options that save memory: of pods, Jobs, ConfigMaps, Roles and RoleBindings only the
// operator's own are watched, and of runs that are over the figures are left out. No namespaces means all
// of them. A cache that cannot read calls
// onError.
func CacheOptions(namespaces []string, onError toolscache.WatchErrorHandlerWithContext) (cache.Options, error) {
	ofRun, err := labels.NewRequirement(v1alpha1.LabelRun, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	ofTestbed, err := labels.NewRequirement(v1alpha1.LabelTestbed, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	options := cache.Options{
		DefaultTransform:         cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: onError,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:         {Label: labels.NewSelector().Add(*ofRun)},
			&corev1.ConfigMap{}:   {Label: labels.NewSelector().Add(*ofRun)},
			&batchv1.Job{}:        {Label: labels.NewSelector().Add(*ofTestbed)},
			&rbacv1.Role{}:        {Label: labels.NewSelector().Add(*ofRun)},
			&rbacv1.RoleBinding{}: {Label: labels.NewSelector().Add(*ofRun)},

			&v1alpha1.BenchmarkRun{}: {Transform: benchmarkrun.Cached},
		},
	}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options, nil
}

// vmCacheOptions returns the options of the cache of runs' virtual machines, of which it has nothing
// else.
func vmCacheOptions(namespaces []string, onError toolscache.WatchErrorHandlerWithContext) (cache.Options, error) {
	options, err := CacheOptions(namespaces, onError)
	if err != nil {
		return options, err
	}
	ofRun, err := labels.NewRequirement(v1alpha1.LabelRun, selection.Exists, nil)
	if err != nil {
		return options, err
	}
	options.ByObject = nil
	options.DefaultLabelSelector = labels.NewSelector().Add(*ofRun)
	return options, nil
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

// Setup registers both controllers. Metrics go to the registry. home is the operator's own namespace.
// namespaces and onError are those of CacheOptions.
func Setup(ctx context.Context, mgr ctrl.Manager, clock clock.PassiveClock, defaults plan.Defaults, home string, namespaces []string, onError toolscache.WatchErrorHandlerWithContext, registry prometheus.Registerer) error {
	for index, of := range map[string]client.IndexerFunc{queue.IndexTestbed: queue.TestbedOf, queue.IndexUnfinished: queue.UnfinishedOf} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.BenchmarkRun{}, index, of); err != nil {
			return fmt.Errorf("indexing runs by testbed: %w", err)
		}
	}
	metrics := benchmarkrun.NewMetrics()
	for _, collector := range []prometheus.Collector{metrics, &benchmarkrun.Gauges{Cache: mgr.GetClient(), Reader: mgr.GetAPIReader(), Leading: mgr.Elected()}} {
		if err := registry.Register(collector); err != nil {
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
		Client:  mgr.GetClient(), Reader: mgr.GetAPIReader(), Clock: clock, Metrics: metrics, Defaults: defaults,
		Recorder:  mgr.GetEventRecorder("vnfbench"),
		Namespace: home, Namespaces: namespaces,
	}
	if err := runs.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the BenchmarkRun controller: %w", err)
	}
	testbeds := &testbed.Reconciler{
		Client: mgr.GetClient(), Clock: clock, Defaults: defaults,
		Recorder: mgr.GetEventRecorder("vnfbench"),
	}
	if err := testbeds.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the Testbed controller: %w", err)
	}
	return nil
}
