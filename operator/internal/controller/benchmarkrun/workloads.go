package benchmarkrun

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/plan"
)

// workloads returns what the run launches, the measurer first. Without the plan, only the names of
// the objects are right, which is enough to delete them, and networks are left out.
func (s *scope) workloads() []chain.Workload {
	if s.plan == nil {
		return chain.Render(plan.Outline(s.run), nil)
	}
	return chain.Render(s.plan, s.issuer, s.servers...)
}

// measurerWorkload returns the first of the workloads, chainWorkloads the others.
func (s *scope) measurerWorkload() []chain.Workload { return s.workloads()[:1] }
func (s *scope) chainWorkloads() []chain.Workload   { return s.workloads()[1:] }

// starting returns the workloads whose start the run waits for now: the measurer's until
// the generator is calibrated, and again when its pod is replaced later.
func (s *scope) starting() []chain.Workload {
	if s.records.chainOpen || s.records.progress == nil || !s.records.progress.Calibrated {
		return s.measurerWorkload()
	}
	return s.chainWorkloads()
}

// missing returns those of the workloads that have no object in the cluster.
func (s *scope) missing(workloads []chain.Workload) []chain.Workload {
	var missing []chain.Workload
	for _, w := range workloads {
		if !s.exists(&w) {
			missing = append(missing, w)
		}
	}
	return missing
}

// exists reports whether a workload has its object in the cluster.
func (s *scope) exists(w *chain.Workload) bool {
	switch w.Object.(type) {
	case *batchv1.Job:
		return s.job != nil
	case *kubevirtv1.VirtualMachineInstance:
		return s.vmNamed(w.Name()) != nil
	}
	return s.pod(w.Name()) != nil
}

// eventObject returns the object whose events say why an existing workload does not start:
// the pod of a Job or of a virtual machine, once there is one.
func (s *scope) eventObject(w *chain.Workload) client.Object {
	switch w.Object.(type) {
	case *batchv1.Job:
		if len(s.measurers) == 0 {
			return s.job
		}
		return &s.measurers[0]
	case *kubevirtv1.VirtualMachineInstance:
		vm := s.vmNamed(w.Name())
		if pod := s.launcher(vm); pod != nil {
			return pod
		}
		return vm
	}
	return s.pod(w.Name())
}

// firstProblem returns the workload whose problem ends the run first, and that problem; nil
// if there is none.
func (s *scope) firstProblem(workloads []chain.Workload) (of *chain.Workload, first *problem) {
	for i := range workloads {
		if p := s.problemOf(&workloads[i]); p != nil && (first == nil || p.deadline.Before(first.deadline)) {
			of, first = &workloads[i], p
		}
	}
	return of, first
}

// expired returns the workload that ends the run now, or nil.
func (s *scope) expired(workloads []chain.Workload) *chain.Workload {
	if of, p := s.firstProblem(workloads); p != nil && p.expired(s.now) {
		return of
	}
	return nil
}

// problemOf returns why a workload is not ready, or nil. Once the chain is open,
// it returns why a workload of the chain is lost.
func (s *scope) problemOf(w *chain.Workload) *problem {
	switch lost := s.records.chainOpen && !w.IsMeasurer(); {
	case lost && w.Lost != "":
		return s.lostProblem(w)
	case lost || !s.exists(w):
		return nil
	}
	return s.startProblem(w)
}

// startProblem returns why a workload that exists is not ready yet, or nil.
func (s *scope) startProblem(w *chain.Workload) *problem {
	switch w.Object.(type) {
	case *batchv1.Job:
		return s.measurerProblem(w)
	case *kubevirtv1.VirtualMachineInstance:
		vm := s.vmNamed(w.Name())
		if p := diagnoseVMStart(vm, s.launcher(vm), s.startup(), w); p != nil {
			return withConsole(p, s.console[w.Name()])
		}
		return booting("virtual machine", vm.Name, runningSince(vm), w.BootSeconds, s.now)
	}
	pod := s.pod(w.Name())
	p := diagnoseStart(s.quotable(w.Name()), s.startup(), w.NotReady)
	if p == nil {
		return booting("pod", pod.Name, containersSince(pod), w.BootSeconds, s.now)
	}
	p = withLog(p, pod, s.console[w.Name()])
	if w.Avoid != "" {
		p.message = sentence("%s; %s", excerpt.Line(p.message, maxMessageBytes-100), w.Avoid)
	}
	return p
}

// lostProblem returns why a workload that was ready no longer is, or nil.
func (s *scope) lostProblem(w *chain.Workload) *problem {
	if _, isVM := w.Object.(*kubevirtv1.VirtualMachineInstance); isVM {
		vm := s.vmNamed(w.Name())
		return withConsole(s.sinceSeen(diagnoseVMLost(w.Title, w.Lost, vm, s.launcher(vm)), vm), s.console[w.Name()])
	}
	pod := s.pod(w.Name())
	return withLog(s.sinceSeen(diagnoseLost(w.Title, w.Lost, s.quotable(w.Name())), pod), pod, s.console[w.Name()])
}

// sinceSeen returns the problem of an object that is no longer ready, with a time to wait that begins when the operator saw
// it: the clock of the object's node may be late.
func (s *scope) sinceSeen(p *problem, object metav1.Object) *problem {
	if p == nil || p.deadline.IsZero() {
		return p
	}
	if since, seen := s.unready[object.GetUID()]; seen {
		p.deadline = since.Add(causeTimeout)
	}
	return p
}

// measurerProblem returns why the newest measurer has not started, or nil. A measurer that
// has started limits its own time.
func (s *scope) measurerProblem(w *chain.Workload) *problem {
	if refused := s.refusedPod(); refused != nil {
		return refused
	}
	if len(s.measurers) == 0 {
		// The Job waits longer before each new pod.
		if s.job.Status.Failed > 0 || s.holder != nil {
			return nil
		}
		return &problem{v1alpha1.ReasonPodStuck, sentence("Job %q has not created a pod", s.job.Name), s.job.CreationTimestamp.Add(s.startup())}
	}
	newest := &s.measurers[0]
	if started(newest) || hasEnded(newest) {
		return nil
	}
	return diagnoseStart(newest, s.startup(), w.NotReady)
}
