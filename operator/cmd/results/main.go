// Command results is the results service: it stores the documents of runs and executions that have ended in the archive, and serves pages over it.
//
// It is a separate program, because the drivers of object storage are large and their credentials are not the operator's.
package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/commandline"
	"vnfbench.io/operator/internal/controller/archiving"
	"vnfbench.io/operator/internal/controller/liveness"
	"vnfbench.io/operator/internal/controller/watches"
)

// version is set by the linker in a release.
var version = "development"

// Rights: runs and executions, which are watched; a suite, which says whether the series after its execution are judged; the plans and trials of
// runs, in ConfigMaps whose names only their run says; and the condition that the service writes.
//
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarkruns;benchmarksuiteruns,verbs=get;list;watch
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarksuites,verbs=get
// +kubebuilder:rbac:groups=vnfbench.io,resources=benchmarkruns/status;benchmarksuiteruns/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get

func main() {
	commandline.Main("results", parse, func(o *options) *commandline.Log { return &o.log }, run)
}

// run returns when the context ends.
func run(ctx context.Context, o *options) error {
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	store, err := archive.Open(ctx, o.archiveURL)
	if err != nil {
		return err
	}
	// The process ends with it.
	defer func() { _ = store.Close() }()
	now := &clock.Server{}
	cluster.Wrap(now.Wrap)
	clients, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return fmt.Errorf("making a client for the service's rights: %w", err)
	}
	reviews := clients.AuthorizationV1().SelfSubjectAccessReviews()
	readable, unreadable, err := watches.Readable(ctx, reviews, o.namespaces)
	if err != nil {
		return err
	}
	rejoin := &watches.Rejoin{Reviews: reviews, Unreadable: unreadable}
	watched := watches.New(now, readable...)
	settings, err := o.manager(watched, readable)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cluster, settings)
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	if len(unreadable) > 0 {
		if err := mgr.Add(rejoin); err != nil {
			return err
		}
	}
	if len(o.namespaces) > 0 && len(readable) == 0 {
		// None in the list would mean all.
		if err := mgr.AddReadyzCheck("namespaces", rejoin.Ready); err != nil {
			return err
		}
		return mgr.Start(ctx)
	}
	kept := archiving.Store(store)
	if o.pagesBindAddress != "" {
		served := &pages{options: o, config: cluster, archive: store, log: ctrl.Log.WithName("pages")}
		if err := mgr.Add(served); err != nil {
			return err
		}
		kept = served
	}
	counted := archiving.NewMetrics(mgr.GetClient())
	archiver := &archiving.Archiver{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Archive: kept, Clock: now, Metrics: counted, Version: version}
	if err := archiver.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := errors.Join(metrics.Registry.Register(watched), metrics.Registry.Register(counted)); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	workers, err := liveness.New(metrics.Registry, liveness.Timeout)
	if err != nil {
		return err
	}
	if err := errors.Join(mgr.AddHealthzCheck("workers", workers.Check), mgr.AddReadyzCheck("watches", watched.Ready)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// manager turns the command line into the settings of what watches the cluster.
func (o *options) manager(watched *watches.Watches, namespaces []string) (ctrl.Options, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return ctrl.Options{}, err
	}
	return ctrl.Options{
		Scheme: scheme, Cache: archiving.CacheOptions(namespaces, watched.Handle),
		Metrics:                 metricsserver.Options{BindAddress: o.metricsBindAddress},
		Controller:              config.Controller{MaxConcurrentReconciles: 1},
		HealthProbeBindAddress:  o.probeBindAddress,
		GracefulShutdownTimeout: &o.shutdownTimeout,
	}, nil
}
