// Package liveness says whether the control loops come back from what they work on: the library's metrics of their queues go in, and
// a health check comes out.
package liveness

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Timeout is how long a loop may work on one object. The longest reconciliation that was measured is the plan of 500 cells of a suite, with a
// request for each: some 10 s at 50 requests per second, and minutes where the API server takes a second for each.
const Timeout = 15 * time.Minute

// Workers reads how long the loops have been working on one object.
type Workers struct {
	longest *prometheus.Registry
	timeout time.Duration
}

// New returns the check of the loops whose queues report to the registry, which is the library's. Other metrics there are not
// read: some list objects.
func New(registry prometheus.Registerer, timeout time.Duration) (*Workers, error) {
	// The library does not export its metric. A registry returns it to who registers the same again.
	same := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Subsystem: metrics.WorkQueueSubsystem, Name: metrics.LongestRunningProcessorKey,
		Help: "How many seconds has the longest running processor for workqueue been running.",
	}, []string{"name", "controller"})
	err := registry.Register(same)
	var registered prometheus.AlreadyRegisteredError
	if !errors.As(err, &registered) {
		return nil, fmt.Errorf("the registry has no metric %s_%s with this help and these labels: %w",
			metrics.WorkQueueSubsystem, metrics.LongestRunningProcessorKey, cmp.Or(err, errors.New("it was not registered before")))
	}
	w := &Workers{longest: prometheus.NewRegistry(), timeout: timeout}
	return w, w.longest.Register(registered.ExistingCollector)
}

// Check returns an error while a loop has been working on one object for too long. It is a health check of which the aggregate
// shows no errors, so it logs them too.
func (w *Workers) Check(request *http.Request) error {
	families, err := w.longest.Gather()
	if err != nil {
		return fmt.Errorf("reading how long the control loops work: %w", err)
	}
	var hanging []error
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			seconds := metric.GetGauge().GetValue()
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && seconds > w.timeout.Seconds() {
					hanging = append(hanging, fmt.Errorf("controller %q has been working on one object for %.0f s, more than %s", label.GetValue(), seconds, w.timeout))
				}
			}
		}
	}
	err = errors.Join(hanging...)
	if err != nil {
		ctrl.LoggerFrom(request.Context()).Error(err, "A control loop hangs")
	}
	return err
}
