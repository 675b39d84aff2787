package benchmarkrun

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
)

// scope is everything that was read for one reconciliation of one run. What
// follows is computed from it alone.
type scope struct {
	now   time.Time
	run   *v1alpha1.BenchmarkRun
	names plan.Names

	// testbed is the one that the run names, or else the cluster's default; nil
	// where there is none.
	testbed *v1alpha1.Testbed
	// refused says that the testbed does not allow the run's namespace.
	refused bool
	// position in the testbed's queue, 1 for the next; before is how many runs hold it or come first.
	position, before int

	// plan is nil before it is stored; planErr says that it cannot be read.
	plan    *plan.Plan
	planErr error
	// baseline is the run that spec.experiment.baseline names, read until its figures are
	// kept in the status; nil where there is none.
	baseline *v1alpha1.BenchmarkRun
	// input is what a plan is made from; read only while there is none.
	input *plan.Input

	// records is nil where there is no results' ConfigMap; recordsErr says that it cannot be read.
	records    *records
	recordsErr error
	// holder is the measurer that wrote them, also where they cannot be read; nil before the first.
	holder *measure.Holder
	// figures are what the records come to.
	figures procedure.Figures
	// foreign says why the records of a measurer that is done are not a whole
	// measurement to this operator: it is of another version. nil: they are.
	foreign error

	job *batchv1.Job
	// measurers and functions are the run's pods, the newest first.
	measurers []corev1.Pod
	functions []corev1.Pod
	// machines are the run's virtual machines; their launchers' pods are among functions.
	machines []kubevirtv1.VirtualMachineInstance
	// kubeVirt says that the cluster knows virtual machines; read only where the run has one.
	kubeVirt bool
	// console is what a guest said last, by the name of its function, or of itself
	// where it is a neighbour; read only where that machine ends the run.
	console map[string]string
	// events of the object that has not started in time.
	events []corev1.Event
}

func (s *scope) hasFinalizer() bool {
	return controllerutil.ContainsFinalizer(s.run, v1alpha1.Finalizer)
}

// podsRemain says that something of the run may still use the testbed.
func (s *scope) podsRemain() bool {
	return s.job != nil || len(s.measurers) > 0 || len(s.functions) > 0 || len(s.machines) > 0
}

// launched says that the results' ConfigMap has been made before.
func (s *scope) launched() bool { return s.job != nil || s.run.Status.ResultsRef != nil }

// holds says that the run may make objects: the testbed's status names it.
func (s *scope) holds() bool { return s.testbed != nil && queue.Holds(s.testbed, s.run) }

// testbedName is that of the testbed that the run uses; "" while it has none.
func (s *scope) testbedName() string {
	if name := s.run.TestbedName(); name != "" || s.testbed == nil {
		return name
	}
	return s.testbed.Name
}

// testbedTrouble is why the testbed takes no runs at the moment, or "". One
// that no node matches takes them, so that they fail and say so.
func (s *scope) testbedTrouble() string {
	ready := meta.FindStatusCondition(s.testbed.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status == "True" || ready.Reason == v1alpha1.ReasonNoMatchingNode {
		return ""
	}
	return ready.Message
}

// startup is how long pods may take.
func (s *scope) startup() time.Duration {
	return time.Duration(s.run.Spec.Experiment.StartupSeconds) * time.Second
}

// function is the newest pod of a function, or nil.
func (s *scope) function(name string) *corev1.Pod { return s.pod(s.names.Function(name)) }

// pod is the newest of a name among functions and ends of TCP connections, or nil.
func (s *scope) pod(wanted string) *corev1.Pod {
	for i := range s.functions {
		if s.functions[i].Name == wanted {
			return &s.functions[i]
		}
	}
	return nil
}

// exists says that a function has its pod or its virtual machine.
func (s *scope) exists(f *v1alpha1.NetworkFunction) bool {
	if f.Runtime == v1alpha1.RuntimeVirtualMachine {
		return s.machine(f.Name) != nil
	}
	return s.function(f.Name) != nil
}

// startTrouble is why a function that exists is not ready yet, or nil.
func (s *scope) startTrouble(f *v1alpha1.NetworkFunction) *trouble {
	if f.Runtime == v1alpha1.RuntimeVirtualMachine {
		machine := s.machine(f.Name)
		if t := diagnoseMachineStart(machine, s.launcher(machine), s.startup(), functionInside); t != nil {
			return withConsole(t, s.console[f.Name])
		}
		return booting(machine, bootOf(f), s.now)
	}
	return diagnoseStart(s.function(f.Name), s.startup(), v1alpha1.ReasonChainNotReady)
}

// bootOf is how long a machine must have run at least; 0 for one that says
// itself when it is ready.
func bootOf(f *v1alpha1.NetworkFunction) time.Duration {
	if f.Custom == nil || f.Custom.Readiness == nil {
		return 0
	}
	return time.Duration(f.Custom.Readiness.BootSeconds) * time.Second
}

// readyTrouble is why a function that was ready no longer forwards, or nil.
func (s *scope) readyTrouble(f *v1alpha1.NetworkFunction) *trouble {
	if f.Runtime == v1alpha1.RuntimeVirtualMachine {
		machine := s.machine(f.Name)
		return withConsole(diagnoseMachineReady(f.Name, machine, s.launcher(machine)), s.console[f.Name])
	}
	return diagnoseReady(f.Name, s.function(f.Name))
}

// missingFunctions are the functions of the chain that have no pod and no virtual
// machine, and the ends of TCP connections that have no pod.
func (s *scope) missingFunctions() []string {
	var missing []string
	for i := range s.run.Spec.Experiment.Chain {
		f := &s.run.Spec.Experiment.Chain[i]
		if !s.exists(f) {
			missing = append(missing, f.Name)
		}
	}
	for _, end := range s.endpoints() {
		if s.pod(s.names.Endpoint(end)) == nil {
			missing = append(missing, end)
		}
	}
	return missing
}

// brokenFunction says which function of a chain that was ready no longer
// forwards, and why, or nil.
func (s *scope) brokenFunction() *trouble {
	for i := range s.run.Spec.Experiment.Chain {
		if t := s.readyTrouble(&s.run.Spec.Experiment.Chain[i]); t != nil {
			return t
		}
	}
	return s.brokenEndpoint()
}

// functionTrouble is the trouble that ends first among functions, their
// observer and their neighbours, that are not ready, or nil.
func (s *scope) functionTrouble() *trouble {
	var first *trouble
	for i := range s.run.Spec.Experiment.Chain {
		f := &s.run.Spec.Experiment.Chain[i]
		if !s.exists(f) {
			continue
		}
		if t := s.startTrouble(f); t != nil && (first == nil || t.at.Before(first.at)) {
			first = t
		}
	}
	for _, pod := range s.endpointPods() {
		if t := diagnoseStart(pod, s.startup(), v1alpha1.ReasonChainNotReady); t != nil && (first == nil || t.at.Before(first.at)) {
			first = t
		}
	}
	if t := s.observerTrouble(); t != nil && (first == nil || t.at.Before(first.at)) {
		first = t
	}
	if t, _ := s.neighborTrouble(); t != nil && (first == nil || t.at.Before(first.at)) {
		first = t
	}
	return first
}

// measurerTrouble is why the newest measurer has not started, or nil. One that
// has started bounds itself.
func (s *scope) measurerTrouble() *trouble {
	if s.job == nil {
		return nil
	}
	if len(s.measurers) == 0 {
		// The Job waits longer and longer before each new pod.
		if s.job.Status.Failed > 0 || s.holder != nil {
			return nil
		}
		return &trouble{v1alpha1.ReasonPodStuck, sentence("Job %q has made no pod", s.job.Name), s.job.CreationTimestamp.Add(s.startup())}
	}
	newest := &s.measurers[0]
	if started(newest) || newest.Status.Phase == corev1.PodFailed || newest.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	return diagnoseStart(newest, s.startup(), v1alpha1.ReasonPodStuck)
}

// jobEnd is why a Job that has ended did not measure, or nil while it goes on.
func (s *scope) jobEnd() *finding {
	if s.job == nil {
		return nil
	}
	for _, c := range s.job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch {
		case c.Type == batchv1.JobFailed && c.Reason == batchv1.JobReasonDeadlineExceeded:
			return found(v1alpha1.ReasonDeadlineExceeded, "the measurer took longer than spec.experiment.deadlineSeconds, %d: raise it, or measure less", s.run.Spec.Experiment.DeadlineSeconds)
		case c.Type == batchv1.JobFailed:
			reason, message := diagnoseMeasurer(s.measurers)
			return &finding{reason, message}
		case c.Type == batchv1.JobComplete:
			return found(v1alpha1.ReasonMeasurerFailed, "the measurer ended without saying that it was done")
		}
	}
	return nil
}

// measurerEnded says that the Job is over.
func (s *scope) measurerEnded() bool {
	return s.job != nil && slices.ContainsFunc(s.job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete) && c.Status == corev1.ConditionTrue
	})
}

// stuck is the object that has not started in time, whose events say why, or nil.
func (s *scope) stuck() client.Object {
	if s.records == nil || s.records.failure != nil || s.records.done {
		return nil
	}
	if t := s.measurerTrouble(); t != nil && t.over(s.now) {
		if len(s.measurers) == 0 {
			return s.job
		}
		return &s.measurers[0]
	}
	for i := range s.run.Spec.Experiment.Chain {
		if f := &s.run.Spec.Experiment.Chain[i]; s.exists(f) && !s.records.chainOpen {
			if t := s.startTrouble(f); t != nil && t.over(s.now) {
				return s.objectOf(f)
			}
		}
	}
	for _, pod := range s.endpointPods() {
		if t := diagnoseStart(pod, s.startup(), v1alpha1.ReasonChainNotReady); t != nil && t.over(s.now) && !s.records.chainOpen {
			return pod
		}
	}
	if t := s.observerTrouble(); t != nil && t.over(s.now) && !s.records.chainOpen {
		return s.observer()
	}
	if t, object := s.neighborTrouble(); t != nil && t.over(s.now) && !s.records.chainOpen {
		return object
	}
	return nil
}

// objectOf is the object of a function that exists whose events say why it does
// not start: a virtual machine's pod, once there is one.
func (s *scope) objectOf(f *v1alpha1.NetworkFunction) client.Object {
	if f.Runtime != v1alpha1.RuntimeVirtualMachine {
		return s.function(f.Name)
	}
	return s.objectOfMachine(s.machine(f.Name))
}

func (s *scope) objectOfMachine(machine *kubevirtv1.VirtualMachineInstance) client.Object {
	if pod := s.launcher(machine); pod != nil {
		return pod
	}
	return machine
}

// verdicts judge the figures by the run's own thresholds.
func (s *scope) verdicts() []v1alpha1.Verdict {
	verdicts := acceptance.Evaluate(s.run.Spec.Experiment.Acceptance, s.run.Spec.Experiment.Traffic.MeasuredFrameBytes(), s.figures.Frames)
	verdicts = append(verdicts, acceptance.EvaluateTCP(s.run.Spec.Experiment.Acceptance, s.run.Spec.Experiment.Measurements.TCP, s.figures.TCP)...)
	verdicts = append(verdicts, acceptance.EvaluateConnections(s.run.Spec.Experiment.Acceptance, s.figures.Connections)...)
	return append(verdicts, s.baselineVerdicts()...)
}

// verdict is the outcome of a run that was measured.
func (s *scope) verdict() *finding {
	verdicts := s.verdicts()
	reason := v1alpha1.ReasonSucceeded
	if len(acceptance.Failed(verdicts)) > 0 {
		reason = v1alpha1.ReasonNotAccepted
	}
	return &finding{reason, acceptance.Message(verdicts)}
}
