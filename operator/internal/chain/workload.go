package chain

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/plan"
)

// Workload is one thing that the controller launches for a run: its objects, and
// the rules by which the controller judges it.
type Workload struct {
	// Component is the value of v1alpha1.LabelComponent.
	Component string
	// Object is the part that runs: a Pod, a VirtualMachineInstance or the measurer's Job.
	Object Object
	// Needs are made before Object, and deleted when the run no longer has a pod.
	Needs []Object
	// Port is the TCP port of its agent, and Policy the name of the NetworkPolicy
	// that opens this port to the measurer. Workloads of one component share them.
	Port   int32
	Policy string
	Rules
}

// Rules say what a workload's state means for its run.
type Rules struct {
	// Title is the name of the workload in messages after it was ready.
	Title string
	// NotStarted is the reason if a virtual machine does not start.
	NotStarted string
	// NotReady is the reason if the workload runs and does not become ready.
	NotReady string
	// Lost is the reason if it was ready and no longer is. If Lost is empty, the run continues
	// without it.
	Lost string
	// BootSeconds is the minimum time that a virtual machine or a user's container must have run; 0 for
	// what reports itself when it is ready.
	BootSeconds int32
	// FewerCPUs and LessMemory name the fields to lower if no node has enough for a virtual
	// machine.
	FewerCPUs, LessMemory string
	// Avoid says how to run without the workload, or is empty.
	Avoid string
}

// Render renders a plan as the list of what the controller launches: the measurer first,
// then what starts after the generator is calibrated. The controller walks this list for
// the dry run, the start, the diagnosis and the clean-up, so that another kind of workload
// is one more entry. The issuer is that of the cluster's tokens, whose keys the agents get; it is needed only for what
// is launched. So are the servers, where the API server is, of a plan that does not say it.
func Render(p *plan.Plan, issuer *caller.Issuer, servers ...Server) []Workload {
	rule := callerOf(p, issuer)
	chain := slices.Concat(functionWorkloads(p, rule), observerWorkloads(p, rule), endpointWorkloads(p, rule), neighborWorkloads(p, rule))
	workloads := append([]Workload{measurerWorkload(p, chain, servers)}, chain...)
	for i := range workloads {
		setPriorityClass(workloads[i].Object, p.PriorityClassName)
	}
	return workloads
}

// setPriorityClass sets the priority class of the pod that a workload is, or that is made for it.
func setPriorityClass(object Object, name string) {
	switch object := object.(type) {
	case *batchv1.Job:
		object.Spec.Template.Spec.PriorityClassName = name
	case *corev1.Pod:
		object.Spec.PriorityClassName = name
	case *kubevirtv1.VirtualMachineInstance:
		object.Spec.PriorityClassName = name
	}
}

// Name returns the name of the workload's object.
func (w *Workload) Name() string { return w.Object.GetName() }

// IsMeasurer reports whether the workload is the measurer, which starts before the chain.
func (w *Workload) IsMeasurer() bool { return w.Component == ComponentMeasurer }

// Objects returns the workload's objects, in the order in which they are made.
func (w *Workload) Objects() []Object { return append(slices.Clip(w.Needs), w.Object) }

// DryRun returns the object that admission may refuse permanently: the workload's own, or
// the pod that a Job makes.
func (w *Workload) DryRun() Object {
	job, isJob := w.Object.(*batchv1.Job)
	if !isJob {
		return w.Object
	}
	pod := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: job.Spec.Template.Spec}
	pod.Namespace, pod.Name = job.Namespace, job.Name
	return pod
}

func measurerWorkload(p *plan.Plan, chain []Workload, servers []Server) Workload {
	w := Workload{
		Component: ComponentMeasurer, Object: MeasurerJob(p),
		Needs: []Object{ServiceAccount(p), Role(p), RoleBinding(p)},
		Rules: Rules{NotReady: v1alpha1.ReasonPodStuck},
	}
	for _, policy := range networkPolicies(p, chain, servers) {
		w.Needs = append(w.Needs, policy)
	}
	for _, network := range Networks(p) {
		w.Needs = append(w.Needs, network)
	}
	return w
}

func functionWorkloads(p *plan.Plan, rule *caller.Rule) []Workload {
	var workloads []Workload
	for i := range p.Functions {
		function := p.Functions[i]
		w := Workload{Component: ComponentFunction, Port: portHTTP, Policy: p.Names().FunctionsPolicy, Rules: Rules{
			Title: fmt.Sprintf("function %q", function.Name), NotStarted: v1alpha1.ReasonVirtualMachineNotStarted,
			NotReady: v1alpha1.ReasonChainNotReady, Lost: v1alpha1.ReasonChainFailed,
			FewerCPUs: "fewer platform.vcpus", LessMemory: "less platform.memory",
		}}
		switch {
		// The Secret of a custom function holds text that no plan has; see Seed.
		case function.Container != nil:
			w.Object, w.Needs = customPod(p, function), []Object{customConfigMap(p, function)}
		case function.IsCustom():
			w.Object = customVM(p, function)
		case function.IsVM():
			w.Object, w.Needs = vm(p, function), []Object{vmSecret(p, function, rule)}
		default:
			w.Object, w.Needs = functionPod(p, function, rule), []Object{functionConfigMap(p, function)}
		}
		w.BootSeconds = function.Readiness().BootSeconds
		workloads = append(workloads, w)
	}
	return workloads
}

func observerWorkloads(p *plan.Plan, rule *caller.Rule) []Workload {
	if p.Observer == nil {
		return nil
	}
	return []Workload{{
		Component: ComponentObserver, Object: observerPod(p, rule), Port: observer.Port, Policy: p.Names().Observer,
		Rules: Rules{NotReady: v1alpha1.ReasonChainNotReady, Avoid: "a testbed with spec.systemUnderTest.observer Disabled does without this pod"},
	}}
}

func endpointWorkloads(p *plan.Plan, rule *caller.Rule) []Workload {
	var workloads []Workload
	for _, end := range p.Endpoints {
		workloads = append(workloads, Workload{
			Component: ComponentEndpoint, Object: endpointPod(p, end, rule), Needs: []Object{endpointConfigMap(p, end)},
			Port: endpoint.AgentPort, Policy: p.Names().EndpointsPolicy,
			Rules: Rules{
				Title:    "the " + end.Config.Name + " end of the TCP connections",
				NotReady: v1alpha1.ReasonChainNotReady, Lost: v1alpha1.ReasonEndpointFailed,
			},
		})
	}
	return workloads
}

func neighborWorkloads(p *plan.Plan, rule *caller.Rule) []Workload {
	var workloads []Workload
	for _, n := range p.Neighbors {
		w := Workload{Component: ComponentNeighbor, Port: neighbor.Port, Policy: p.Names().NeighborsPolicy, Rules: Rules{
			NotStarted: v1alpha1.ReasonNeighborNotStarted, NotReady: v1alpha1.ReasonNeighborNotStarted,
			FewerCPUs:  "fewer workers or less cpu in spec.experiment.noisyNeighbors",
			LessMemory: "less memory in spec.experiment.noisyNeighbors",
		}}
		if n.IsVM() {
			w.Object, w.Needs = neighborVM(p, n), []Object{neighborSecret(p, n, rule)}
		} else {
			w.Object = neighborPod(p, n, rule)
		}
		workloads = append(workloads, w)
	}
	return workloads
}
