package benchmarkrun

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
)

// scope is everything that was read for one reconciliation of one run. What follows is
// computed only from it.
type scope struct {
	now   time.Time
	run   *v1alpha1.BenchmarkRun
	names plan.Names
	// workloadNames are those of launches, once they are computed.
	workloadNames []string

	// awaitsArchive keeps the run until it is archived, whatever its time to live.
	awaitsArchive bool
	// archived are the ConfigMaps with trials that the archive has too; read only where they are to be deleted.
	archived []chain.Object

	// testbed is the one that the run names, or else the cluster's default; nil if there is
	// none.
	testbed *v1alpha1.Testbed
	// refused is true if the testbed does not allow the run's namespace.
	refused bool
	// position in the testbed's queue, 1 for the next, 0 for a run that does not wait; before is the
	// number of runs that hold it or come first.
	position, before int

	// plan is nil before it is stored, and while the run is not measured; planErr is set if it cannot be read.
	plan    *plan.Plan
	planErr error
	// made is the plan that this reconciliation made.
	made *plan.Plan
	// storedDigest is that of the ConfigMap which the plan was read from, or that made belongs in.
	storedDigest string
	// baseline is the run that spec.experiment.baseline names, read until its figures are in
	// the status; nil if there is none.
	baseline *v1alpha1.BenchmarkRun
	// baselineTestbed is the testbed's spec when that run was planned, and baselineOperator the version of the operator that did; empty
	// where they are not known.
	baselineTestbed  *v1alpha1.TestbedSpec
	baselineOperator string
	// input is what a plan is made from; read only while there is none.
	input *plan.Input

	// issuer makes the cluster's tokens of service accounts; read only when a chain is planned or launched whose agents
	// ask for one. issuerErr is set if it cannot be read.
	issuer    *caller.Issuer
	issuerErr error

	// servers are where the API server is, for the measurer's NetworkPolicy; read before it is launched, and while it runs if
	// serversDue, from time to time. serversErr is set if they cannot be read.
	servers    []chain.Server
	serversDue bool
	serversErr error
	// policyLate is true if the NetworkPolicy of a measurer that runs names another place, or is gone.
	policyLate bool

	// records is nil if there is no results' ConfigMap, and while the run does not have its
	// testbed; recordsErr is set if it cannot be read.
	records    *records
	recordsErr error
	// stack is that of a panic over the records; nil if there was none.
	stack []byte
	// holder is the measurer that wrote them, even if they cannot be read; nil before the
	// first.
	holder *measure.Holder
	// figures are computed from the records.
	figures procedure.Figures
	// later is how long the next report of the measurement has to wait; 0: it is due. stale is true if the figures
	// are those of an earlier report, without the newest records.
	later time.Duration
	stale bool
	// foreign says why the records of a measurer that is done are not a complete measurement to
	// this operator: it is of another version. nil: they are.
	foreign error

	job *batchv1.Job
	// measurers and chainPods are the run's pods, the newest first.
	measurers []corev1.Pod
	chainPods []corev1.Pod
	// vms are the run's virtual machines; their launchers' pods are among chainPods.
	vms []kubevirtv1.VirtualMachineInstance
	// unready says since when objects of the chain are not ready, as far as this operator has seen.
	unready map[types.UID]time.Time
	// kubeVirt is true if the cluster knows virtual machines; read only if the run has one.
	kubeVirt bool
	// console is what a guest or a user's own container printed last, by the name of its workload; read only if
	// that one ends the run.
	console map[string]string
	// withoutConsoles leaves what guests and users' containers print out of the run's messages.
	withoutConsoles bool
	// events are those of the object that has not started in time.
	events []corev1.Event
	// jobEvents are those of the Job, while it has to create a pod.
	jobEvents []corev1.Event
	// rightsLost is true if the rights of a measurer that has a pod were deleted.
	rightsLost bool
}

func (s *scope) hasFinalizer() bool {
	return controllerutil.ContainsFinalizer(s.run, v1alpha1.Finalizer)
}

// launched reports whether the results' ConfigMap has been made before.
func (s *scope) launched() bool { return s.job != nil || s.run.Status.ResultsRef != nil }

// holds reports whether the run may make objects: the testbed's status names it.
func (s *scope) holds() bool { return s.testbed != nil && queue.Holds(s.testbed, s.run) }

// measures reports whether the run uses its testbed and continues: only then are its plan and its
// figures read. What they hold can delay neither the queue, nor a suspension, nor a deletion.
func (s *scope) measures() bool { return s.holds() && queue.Occupies(s.run) && queue.Wants(s.run) }

// testbedName returns the name of the testbed that the run uses; "" while it has none.
func (s *scope) testbedName() string {
	if name := s.run.TestbedName(); name != "" || s.testbed == nil {
		return name
	}
	return s.testbed.Name
}

// testbedProblem returns why the testbed takes no runs at the moment, or "". A testbed that
// no node matches takes them, so that they fail and report it.
func (s *scope) testbedProblem() string {
	ready := queue.Ready(s.testbed)
	if ready == nil || ready.Status == "True" || ready.Reason == v1alpha1.ReasonNoMatchingNode {
		return ""
	}
	return ready.Message
}

// startup returns how long pods may take.
func (s *scope) startup() time.Duration {
	return time.Duration(s.run.Spec.Experiment.StartupSeconds) * time.Second
}

// function returns the newest pod of a function, or nil.
func (s *scope) function(name string) *corev1.Pod { return s.pod(s.names.Function(name)) }

// pod returns the newest of the chain's pods with a name, or nil.
func (s *scope) pod(wanted string) *corev1.Pod {
	for i := range s.chainPods {
		if s.chainPods[i].Name == wanted {
			return &s.chainPods[i]
		}
	}
	return nil
}

// jobEnd returns why a Job that has ended did not measure, or nil while it runs.
func (s *scope) jobEnd() *cause {
	if s.job == nil {
		return nil
	}
	for _, c := range s.job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch {
		case c.Type == batchv1.JobFailed && c.Reason == batchv1.JobReasonDeadlineExceeded:
			return newCause(v1alpha1.ReasonDeadlineExceeded, "the measurer took longer than spec.experiment.deadlineSeconds, %d: raise it, or measure less", s.run.Spec.Experiment.DeadlineSeconds)
		case c.Type == batchv1.JobFailed:
			reason, message := diagnoseMeasurer(s.measurers)
			return s.withAPIServer(&cause{reason, message})
		case c.Type == batchv1.JobComplete:
			return newCause(v1alpha1.ReasonMeasurerFailed, "the measurer ended without saying that it was done")
		}
	}
	return nil
}

// stuck returns the object that has not started in time, whose events say why, or nil.
func (s *scope) stuck() client.Object {
	if s.plan == nil || s.records == nil || s.records.failure != nil || s.records.done {
		return nil
	}
	if w := s.expired(s.starting()); w != nil {
		return s.eventObject(w)
	}
	return nil
}

// verdicts judges the figures by the run's own thresholds.
func (s *scope) verdicts() []v1alpha1.Verdict {
	return append(acceptance.Evaluate(s.run.Spec.Experiment, s.measured()), s.baselineVerdicts()...)
}

// verdict returns the outcome of a run that was measured.
func (s *scope) verdict() *cause {
	verdicts := s.verdicts()
	reason, message := v1alpha1.ReasonInconclusive, acceptance.Message(verdicts)
	switch acceptance.Worst(verdicts) {
	case v1alpha1.VerdictPassed:
		reason = v1alpha1.ReasonSucceeded
	case v1alpha1.VerdictFailed:
		reason = v1alpha1.ReasonNotAccepted
	default:
		if s.run.Spec.Experiment.OnInconclusive == v1alpha1.OnInconclusiveAllow {
			reason, message = v1alpha1.ReasonSucceeded, message+"; spec.experiment.onInconclusive allows this"
		}
	}
	return &cause{reason, message}
}
