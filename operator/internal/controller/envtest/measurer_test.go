package envtest

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/measurer"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/traffic/simulated"
	"vnfbench.io/operator/internal/trialstore"
)

// capacityFramesPerSecond is what the simulated chain forwards.
const capacityFramesPerSecond = 200_000

// Paths whose trials a test can hold.
const (
	pathCalibration = "calibration"
	pathChain       = "chain"
)

// capacityOf returns what the simulated chain of a run forwards.
func (n *node) capacityOf(run *v1alpha1.BenchmarkRun, otherwise float64) float64 {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.capacity == nil {
		return otherwise
	}
	return n.capacity(run)
}

// measure runs the real measurer for a pod, on a simulated device.
func (n *node) measure(pod *corev1.Pod) {
	ctx, cancel := context.WithCancelCause(context.Background())
	n.measurers[pod.UID] = func() { cancel(measurer.ErrStopped) }
	n.t.Cleanup(func() { cancel(measurer.ErrStopped) })
	pod = pod.DeepCopy()
	go func() {
		err := n.runMeasurer(ctx, pod)
		code := measurer.ExitCode(err)
		if code == measurer.ExitStopped {
			return
		}
		end := succeeds
		if err != nil {
			end = ends(int32(code), "Error", mustJSON(measurer.StateOf(err)))
		}
		_ = n.patchStatus(context.Background(), pod.Name, end)
	}()
}

func (n *node) runMeasurer(ctx context.Context, pod *corev1.Pod) error {
	// It has the rights of the pod and no others.
	account := rest.CopyConfig(config)
	account.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + n.namespace + ":" + pod.Spec.ServiceAccountName,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + n.namespace, "system:authenticated"},
	}
	clients, err := kubernetes.NewForConfig(account)
	if err != nil {
		return err
	}
	run := &v1alpha1.BenchmarkRun{}
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: n.namespace, Name: pod.Annotations[v1alpha1.AnnotationRun]}, run); err != nil {
		return err
	}
	names := plan.NamesOf(run)
	stored := &corev1.ConfigMap{}
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: n.namespace, Name: names.Plan}, stored); err != nil {
		return err
	}
	m := &measurer.Measurer{Drivers: opener{n, run}, Log: slog.New(slog.DiscardHandler), Results: trialstore.Config{
		ConfigMaps: clients.CoreV1().ConfigMaps(n.namespace), Name: names.Results, Measurer: pod.Name, UID: string(pod.UID),
	}}
	if err := json.Unmarshal([]byte(stored.Data[plan.KeyInstructions]), &m.Instructions); err != nil {
		return err
	}
	return m.Run(ctx)
}

// opener opens the simulated device on the chain, and only the generator on the
// calibration's path.
type opener struct {
	node *node
	run  *v1alpha1.BenchmarkRun
}

func (o opener) Open(_ context.Context, opening measure.Opening) (measure.Driver, error) {
	switch {
	case opening.Endpoints != nil:
		return o.openEndpoints(*opening.Endpoints)
	case opening.Stateful != nil:
		return o.openStateful(*opening.Stateful)
	}
	path := *opening.Path
	name, capacity := pathChain, float64(capacityFramesPerSecond)
	if path.Ports[0].Interface == plan.InterfaceCalibrationWest {
		name, capacity = pathCalibration, 1_000_000
	}
	if name == pathChain {
		capacity = o.node.capacityOf(o.run, capacity)
	}
	driver := simulated.New(simulated.Config{
		Device:                   simulated.HardCap{CapacityFramesPerSecond: capacity},
		Directions:               []measure.Direction{measure.Forward, measure.Reverse},
		GeneratorFramesPerSecond: 1_000_000, Seed: 1,
	})
	return held{driver, o.node, name, o.run}, nil
}

// held is a driver whose trials a test can hold.
type held struct {
	measure.Driver
	node *node
	path string
	run  *v1alpha1.BenchmarkRun
}

func (h held) Measure(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	for {
		h.node.mutex.Lock()
		silent, withoutVariation := h.node.silent[h.path] || h.node.holds != nil && h.node.holds(h.run), h.node.withoutVariation
		h.node.mutex.Unlock()
		if !silent {
			outcome, err := h.Driver.Measure(ctx, trial)
			for i := range outcome.Directions {
				if withoutVariation {
					outcome.Directions[i].DelayVariation = measure.Delays{}
				}
			}
			return outcome, err
		}
		select {
		case <-ctx.Done():
			return measure.Outcome{}, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
