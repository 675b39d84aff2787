package controller

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// awaitingArchive returns the gauge of the runs that are kept because the archive does not have them yet. A process that does not lead shows 0.
func awaitingArchive(cache client.Reader, leading <-chan struct{}) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "vnfbench_runs_awaiting_archive",
		Help: "Runs that have ended, and are not deleted by their time to live or by a limit of history before the archive has them.",
	}, func() (waiting float64) {
		select {
		case <-leading:
		default:
			return 0
		}
		var runs v1alpha1.BenchmarkRunList
		// They are the cache's own: no one may change them.
		if err := cache.List(context.Background(), &runs, client.UnsafeDisableDeepCopy); err != nil {
			return 0
		}
		for i := range runs.Items {
			if run := &runs.Items[i]; queue.Finished(run) && !queue.Occupies(run) && !queue.Archived(run) {
				waiting++
			}
		}
		return waiting
	})
}
