package benchmarkrun

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/queue"
)

// vmSyncTimeout is how long a reconciliation waits for the first list of
// virtual machines.
const vmSyncTimeout = 10 * time.Second

// VMs reads the virtual machines of runs. A cluster may not know the kind, and may
// learn it later: the cache and its watch start when the first run asks and the kind
// exists.
type VMs struct {
	// Mapper knows the cluster's kinds, and searches again for a kind that it does not know.
	Mapper meta.RESTMapper
	// NewCache makes a cache that only holds runs' virtual machines.
	NewCache func() (cache.Cache, error)
	// Add starts the cache, and stops it with the manager.
	Add func(manager.Runnable) error

	controller controller.Controller
	// runOf returns the run that a virtual machine wakes.
	runOf handler.MapFunc
	mutex sync.Mutex
	// started is the cache, of which there is one however often its watch fails; cache is the same
	// once it is watched.
	started, cache cache.Cache
}

// reader returns the cache, or nil if the cluster does not know the kind.
func (m *VMs) reader() (client.Reader, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.cache != nil {
		return m.cache, nil
	}
	kind := kubevirtv1.VirtualMachineInstanceGroupVersionKind
	if _, err := m.Mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("looking for the kind %s: %w", kind.Kind, err)
	}
	if m.started == nil {
		made, err := m.NewCache()
		if err != nil {
			return nil, fmt.Errorf("making the cache of virtual machines: %w", err)
		}
		if err := m.Add(made); err != nil {
			return nil, fmt.Errorf("starting the cache of virtual machines: %w", err)
		}
		m.started = made
	}
	enqueue := handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, vm *kubevirtv1.VirtualMachineInstance) []reconcile.Request {
		return m.runOf(ctx, vm)
	})
	if err := m.controller.Watch(source.Kind(m.started, &kubevirtv1.VirtualMachineInstance{}, enqueue)); err != nil {
		return nil, fmt.Errorf("watching virtual machines: %w", err)
	}
	m.cache = m.started
	return m.cache, nil
}

// usesVMs reports whether a function of the chain or a neighbor is a virtual machine.
func (s *scope) usesVMs() bool {
	for i := range s.run.Spec.Experiment.Chain {
		if s.run.Spec.Experiment.Chain[i].Runtime == v1alpha1.RuntimeVirtualMachine {
			return true
		}
	}
	return slices.ContainsFunc(s.run.Spec.Experiment.NoisyNeighbors, func(n v1alpha1.NoisyNeighbor) bool { return n.Runtime == v1alpha1.RuntimeVirtualMachine })
}

// readVMs reads the run's virtual machines, if it has any.
func (r *Reconciler) readVMs(ctx context.Context, s *scope) error {
	if !s.usesVMs() || r.VMs == nil {
		return nil
	}
	reader, err := r.VMs.reader()
	if err != nil || reader == nil {
		return err
	}
	s.kubeVirt = true
	ctx, cancel := context.WithTimeout(ctx, vmSyncTimeout)
	defer cancel()
	var list kubevirtv1.VirtualMachineInstanceList
	mine := client.MatchingLabels{v1alpha1.LabelRun: string(s.run.UID)}
	if err := reader.List(ctx, &list, client.InNamespace(s.run.Namespace), mine); err != nil {
		return fmt.Errorf("listing the run's virtual machines: %w", err)
	}
	s.vms = list.Items
	return nil
}

// vm returns a function's virtual machine, or nil.
func (s *scope) vm(function string) *kubevirtv1.VirtualMachineInstance {
	return s.vmNamed(s.names.Function(function))
}

func (s *scope) vmNamed(wanted string) *kubevirtv1.VirtualMachineInstance {
	for i := range s.vms {
		if s.vms[i].Name == wanted {
			return &s.vms[i]
		}
	}
	return nil
}

// launcher returns the newest pod in which KubeVirt runs a VM, or nil.
func (s *scope) launcher(vm *kubevirtv1.VirtualMachineInstance) *corev1.Pod {
	if vm == nil {
		return nil
	}
	for i := range s.chainPods {
		if metav1.IsControlledBy(&s.chainPods[i], vm) {
			return &s.chainPods[i]
		}
	}
	return nil
}

// ofVM reports whether a pod is a VM's launcher: KubeVirt ends it with the
// VM, and in order, unless something keeps the VM.
func (s *scope) ofVM(pod *corev1.Pod) bool {
	for i := range s.vms {
		if metav1.IsControlledBy(pod, &s.vms[i]) && !s.isOverdue(&s.vms[i]) {
			return true
		}
	}
	return false
}

// Console reads the end of what a guest or a user's own container printed.
type Console interface {
	// Tail returns the last lines that a container of a pod has logged, or, where previous is set, the one before it.
	Tail(ctx context.Context, namespace, pod, container string, previous bool) (string, error)
}

// readConsole reads what a guest or a user's own container printed last before the run gives it up, unless the installation leaves that out. Without it
// the verdict is the same.
func (r *Reconciler) readConsole(ctx context.Context, s *scope) error {
	name, vm := s.failedVM()
	pod, container := s.launcher(vm), chain.ContainerConsole
	if s.userContainer(name) != nil {
		pod, container = s.pod(name), chain.ContainerFunction
	}
	if pod == nil || r.Console == nil || r.Defaults.WithoutConsoles {
		return nil
	}
	text, err := r.Console.Tail(ctx, pod.Namespace, pod.Name, container, container == chain.ContainerFunction && wasRestarted(pod))
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Leaving out the guest's console", "Pod", klog.KObj(pod), "cause", err.Error())
		return nil
	}
	s.console = map[string]string{name: lastLines(text)}
	return nil
}

// failedVM returns the virtual machine that ends the run now, or nil, and the name of the workload that does.
func (s *scope) failedVM() (string, *kubevirtv1.VirtualMachineInstance) {
	if s.plan == nil || s.records == nil || s.records.done || queue.Finished(s.run) || !s.run.DeletionTimestamp.IsZero() {
		return "", nil
	}
	if failure := s.records.failure; failure != nil {
		if name := s.silentVM(failure.Reason); name != "" {
			return s.names.Function(name), s.vm(name)
		}
		return "", nil
	}
	if w := s.expired(s.chainWorkloads()); w != nil {
		return w.Name(), s.vmNamed(w.Name())
	}
	return "", nil
}

// silentVM names the first user's own VM or container in a chain that no probe frame passed or
// that answered nothing, or "". Nothing in it can say why, but its console may.
func (s *scope) silentVM(reason string) string {
	if reason != v1alpha1.ReasonNoPathThroughChain && reason != v1alpha1.ReasonNextHopUnresolved {
		return ""
	}
	for i := range s.run.Spec.Experiment.Chain {
		if f := &s.run.Spec.Experiment.Chain[i]; f.Function == v1alpha1.FunctionCustom {
			return f.Name
		}
	}
	return ""
}

// withGuest adds to the measurer's own failure what a silent VM printed last.
func (s *scope) withGuest(reason, message string) string {
	name := s.silentVM(reason)
	return addConsole(message, fmt.Sprintf("the console of %q", name), s.console[s.names.Function(name)])
}
