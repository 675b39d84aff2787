// Command manager runs the operator's controllers; `manager check` checks an installation.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/kubernetes"
	clocks "k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/commandline"
	"vnfbench.io/operator/internal/controller"
	"vnfbench.io/operator/internal/controller/benchmarkrun"
	"vnfbench.io/operator/internal/controller/certificate"
	"vnfbench.io/operator/internal/controller/liveness"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/controller/watches"
)

// version is set by the linker in a release.
var version = "development"

// leaderElectionID names the Lease by which managers elect a leader. The election and access to the
// metrics are options of an installation: their rules are in the chart and in
// config/rbac/bindings.yaml, not in the generated role.
const leaderElectionID = "manager.vnfbench.io"

func main() {
	if len(os.Args) > 1 && os.Args[1] == checkCommand {
		commandline.Main("manager "+checkCommand, parseCheck, func(o *checkOptions) *commandline.Log { return &o.log }, check)
		return
	}
	commandline.Main("manager", parse, func(o *options) *commandline.Log { return &o.log }, run)
}

// The release of a run and the start of the next take some 40 requests each. The API
// server's priority and fairness protects it; this only bounds a fault of the operator.
const (
	requestsPerSecond = 50
	requestBurst      = 100
)

// run returns when the context ends or the leadership is lost.
func run(ctx context.Context, o *options) error {
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	cluster.QPS, cluster.Burst = requestsPerSecond, requestBurst
	// The time limits of runs begin with times that the API server has written.
	now := &clock.Server{}
	cluster.Wrap(now.Wrap)
	home, err := o.ownNamespace()
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return fmt.Errorf("making a client for the operator's rights: %w", err)
	}
	reviews := clients.AuthorizationV1().SelfSubjectAccessReviews()
	readable, unreadable, err := watches.Readable(ctx, reviews, o.namespaces)
	if err != nil {
		return err
	}
	rejoin := &watches.Rejoin{Reviews: reviews, Unreadable: unreadable}
	// Without a namespace to watch, no controller starts and no cache: none in the list would mean all. Deleted runs are still let go.
	none := len(readable) == 0 && len(unreadable) > 0
	if !none {
		o.namespaces = readable
	}
	watched := watches.New(now, readable...)
	keeper := o.keeper(home, now)
	settings, err := o.manager(watched, keeper)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cluster, settings)
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	if none {
		err = mgr.AddReadyzCheck("namespaces", rejoin.Ready)
	} else {
		err = controller.Setup(ctx, mgr, now, o.defaults, home, subject.NewReader(o.registries, o.subjectFolder), o.namespaces, watched.Handle, metrics.Registry)
		watched.SetNamespaces(mgr.GetClient())
	}
	if err != nil {
		return err
	}
	if len(o.namespaces) > 0 {
		abandoned := &benchmarkrun.Abandoned{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Clock: now, Namespace: home, Namespaces: readable}
		if err := mgr.Add(abandoned); err != nil {
			return err
		}
	}
	if keeper != nil {
		keeper.Client, keeper.Reader = mgr.GetClient(), mgr.GetAPIReader()
		if err := mgr.Add(keeper); err != nil {
			return fmt.Errorf("adding the keeper of the metrics' certificate: %w", err)
		}
	}
	if len(unreadable) > 0 {
		if err := mgr.Add(rejoin); err != nil {
			return err
		}
	}
	if err := metrics.Registry.Register(watched); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	workers, err := liveness.New(metrics.Registry, liveness.Timeout)
	if err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("workers", workers.Check); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("watches", watched.Ready); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// namespaceFile has the namespace of the manager's pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace returns the namespace of the manager.
func (o *options) ownNamespace() (string, error) {
	if o.home != "" {
		return o.home, nil
	}
	text, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("finding the operator's own namespace, which flag -operator-namespace can name: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// keeper returns what keeps the certificate of the metrics, without clients; nil if nothing does.
func (o *options) keeper(home string, now clocks.PassiveClock) *certificate.Keeper {
	if o.metricsService == "" || o.metricsBindAddress == "0" {
		return nil
	}
	return &certificate.Keeper{
		Clock: now, Host: o.metricsService + "." + home + ".svc",
		Secret: client.ObjectKey{Namespace: home, Name: o.metricsService + "-certificate"},
	}
}

// manager turns the command line into the manager's settings. The keeper of the metrics' certificate may be nil.
func (o *options) manager(watched *watches.Watches, keeper *certificate.Keeper) (ctrl.Options, error) {
	scheme, err := controller.Scheme()
	if err != nil {
		return ctrl.Options{}, err
	}
	cached, err := controller.CacheOptions(o.namespaces, watched.Handle)
	if err != nil {
		return ctrl.Options{}, err
	}
	served := metricsserver.Options{BindAddress: o.metricsBindAddress, SecureServing: o.secureMetrics, CertDir: o.metricsCertificate}
	if o.secureMetrics {
		served.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	if keeper != nil {
		served.TLSOpts = append(served.TLSOpts, func(config *tls.Config) { config.GetCertificate = keeper.GetCertificate })
	}
	return ctrl.Options{
		Scheme: scheme, Cache: cached, Metrics: served,
		Controller:             config.Controller{MaxConcurrentReconciles: o.maxConcurrent},
		HealthProbeBindAddress: o.probeBindAddress,
		LeaderElection:         o.leaderElect,
		LeaderElectionID:       leaderElectionID,
		// The process ends together with the manager, so the next leader need not wait.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &o.shutdownTimeout,
	}, nil
}
