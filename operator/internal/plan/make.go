package plan

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// What pods request where their spec leaves it out.
const (
	defaultGeneratorMilliCPU = 1000
	defaultFunctionMilliCPU  = 100
	observerMilliCPU         = 10
)

const (
	defaultFunctionMemory v1alpha1.ByteQuantity = "64Mi"
	observerMemory        v1alpha1.ByteQuantity = "32Mi"
)

// agentAudience comes before a run's UID, so that a token of one run is worth nothing at the agents of another.
const agentAudience = "vnfbench.io/run/"

var defaultAPIServerPorts = []int32{443, 6443}

// Make decides everything about a run. Its error is a *measure.Failure with a
// reason of the API, and the field to change in its remedy.
func Make(in Input) (p *Plan, err error) {
	// A cluster may have an older schema than this operator, which admits what no check here expects. A
	// panic would come again at each reconciliation, and the run could neither end nor give its testbed back.
	defer func() {
		if problem := recover(); problem != nil {
			p, err = nil, &measure.Failure{
				Reason: v1alpha1.ReasonInvalidConfiguration, Err: &Panic{problem, debug.Stack()},
				Remedy: "apply the CustomResourceDefinitions of the operator's version; if they are, report the operator's log as a fault",
			}
		}
	}()
	return makePlan(in)
}

// Panic is the error of a run that no check expects.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("the run cannot be planned: %v", p.Value) }

func makePlan(in Input) (*Plan, error) {
	in.Run = in.Run.DeepCopy()
	in.Run.Spec.Experiment.Measurements = in.Run.Spec.Experiment.Measurements.Filled()
	fillAttachments(in.Run.Spec.Experiment.Chain, in.Testbed)
	for _, check := range []func(Input) error{checkRepeats, checkQuantities, checkGenerator, checkMACAddresses, checkDiscovery, checkAttachments, checkRealtime, checkLinks, checkBridges, checkFrames, checkLoads, checkNetworks, checkKubeVirt, checkTCP, checkStateful, checkNeighbors} {
		if err := check(in); err != nil {
			return nil, err
		}
	}
	run, testbed := in.Run, in.Testbed
	p := &Plan{
		Version:          Version,
		Protocol:         in.Defaults.Protocol,
		Run:              Reference{Namespace: run.Namespace, Name: run.Name, UID: run.UID},
		Testbed:          Reference{Name: testbed.Name, UID: testbed.UID},
		OperatorVersion:  in.Defaults.Version,
		TestbedSpec:      specOf(testbed),
		Generator:        trafficPod(in),
		DeadlineSeconds:  int64(run.Spec.Experiment.DeadlineSeconds),
		ImagePullPolicy:  in.Defaults.ImagePullPolicy,
		ImagePullSecrets: in.Defaults.ImagePullSecrets,
		APIServerPorts:   in.Defaults.APIServerPorts,

		APIServerAddresses:  in.Defaults.APIServerAddresses,
		PriorityClassName:   in.Defaults.PriorityClassName,
		APIServerDiscovered: in.Defaults.APIServerDiscovered,
	}
	if len(p.APIServerPorts) == 0 {
		p.APIServerPorts = defaultAPIServerPorts
	}
	p.Observer = observerOf(in)
	p.Segments, p.Calibration = layOut(in)
	driver, err := driverOf(in, p.Segments)
	if err != nil {
		return nil, err
	}
	for i := range run.Spec.Experiment.Chain {
		if err := plannerOf(run.Spec.Experiment.Chain[i].Function).layOut(in, i, p.Segments); err != nil {
			return nil, err
		}
	}
	for i := range run.Spec.Experiment.Chain {
		p.Functions = append(p.Functions, functionOf(in, i, p.Segments))
	}
	addEndpoints(in, p)
	if err := checkSeeds(in, p.Functions); err != nil {
		return nil, err
	}
	if err := checkRights(p); err != nil {
		return nil, err
	}
	if err := checkPools(p); err != nil {
		return nil, err
	}
	p.Neighbors = neighborsOf(in)
	if in.Defaults.AgentTokens && p.hasAgents() {
		p.AgentAudience = agentAudience + string(run.UID)
	}
	generator, device, err := chooseNodes(in, p)
	if err != nil {
		return nil, err
	}
	p.GeneratorNode, p.DeviceNode = generator.Name, device.Name
	p.Platform = Platform{Generator: describe(generator), Device: describe(device)}
	p.Instructions = instruct(in, p)
	p.Instructions.Driver = driver
	// Instructions with HopSeparate omit the field, and so does their digest.
	if hop, _ := p.Hop(); hop != measure.HopSeparate {
		p.Instructions.Chain.Hop, p.Instructions.Chain.PodsFirst = hop, hop == measure.HopTap && p.podsFirst()
	}
	if err := checkSize(p.Instructions); err != nil {
		return nil, err
	}
	p.Digest = digest(p)
	p.Instructions.Digest = p.Digest
	for _, end := range p.Endpoints {
		if err := end.Config.Validate(); err != nil {
			return nil, measure.Failf(v1alpha1.ReasonInvalidConfiguration, "", "the %s end of TCP connections cannot have this configuration: %w", end.Config.Name, err)
		}
	}
	for _, function := range p.Functions {
		if function.IsCustom() {
			continue
		}
		if err := function.Config.Validate(); err != nil {
			return nil, measure.Failf(v1alpha1.ReasonInvalidConfiguration, "", "function %q cannot have this configuration: %w", function.Name, err)
		}
	}
	return p, nil
}

// hasAgents reports whether the measurer asks anyone. A user's own machine or container has no agent.
func (p *Plan) hasAgents() bool {
	return p.Observer != nil || len(p.Endpoints)+len(p.Neighbors) > 0 ||
		slices.ContainsFunc(p.Functions, func(f Function) bool { return !f.IsCustom() })
}

// observerOf returns the pod that runs with the chain. Its image is the operator's own also where
// functions have others.
func observerOf(in Input) *Observer {
	device := in.Testbed.Spec.SystemUnderTest
	if device.Observer == v1alpha1.ObserverDisabled {
		return nil
	}
	return &Observer{
		CountsCycles: device.Observer == v1alpha1.ObserverEnabledWithCycles,
		Image:        in.Defaults.FunctionImage,
		Resources:    Resources{RequestMilliCPU: observerMilliCPU, MemoryBytes: observerMemory.Bytes()},
		Tolerations:  device.Tolerations,
	}
}

func functionOf(in Input, index int, segments []Segment) Function {
	spec := in.Run.Spec.Experiment.Chain[index]
	function := Function{
		Name:           spec.Name,
		Runtime:        spec.Runtime,
		WestAttachment: spec.EffectiveAttachment(spec.West),
		EastAttachment: spec.EffectiveAttachment(spec.East),
		Image:          cmp.Or(in.Testbed.Spec.SystemUnderTest.FunctionImage, in.Defaults.FunctionImage),
		Resources:      resourcesOf(spec.CPU, defaultFunctionMilliCPU, spec.Memory, defaultFunctionMemory),
		Tolerations:    in.Testbed.Spec.SystemUnderTest.Tolerations,
		Config:         configure(in, index, segments),
	}
	function.Resources.MemoryBytes += plannerOf(spec.Function).memoryBytes(function)
	switch {
	case spec.Runtime == v1alpha1.RuntimeVirtualMachine:
		applyVM(in, &function, &spec)
	case spec.Custom != nil && spec.Custom.Container != nil:
		applyContainer(&function, spec.Custom.Effective(), in.Defaults)
	}
	return function
}

// resourcesOf gives a pod that names its CPU a limit of the same size, so that it is of the class
// Guaranteed and can get dedicated cores.
func resourcesOf(cpu v1alpha1.CPUQuantity, defaultMilliCPU int64, memory, defaultMemory v1alpha1.ByteQuantity) Resources {
	return Resources{
		RequestMilliCPU: cmp.Or(cpu.MilliCPU(), defaultMilliCPU), LimitMilliCPU: cpu.MilliCPU(),
		MemoryBytes: cmp.Or(memory, defaultMemory).Bytes(),
	}
}

func describe(node *corev1.Node) Node {
	info := node.Status.NodeInfo
	return Node{
		Name:                    node.Name,
		Architecture:            info.Architecture,
		KernelVersion:           info.KernelVersion,
		OSImage:                 info.OSImage,
		ContainerRuntimeVersion: info.ContainerRuntimeVersion,
		KubeletVersion:          info.KubeletVersion,
		CapacityMilliCPU:        node.Status.Capacity.Cpu().MilliValue(),
	}
}

// specOf returns the testbed's spec as the plan keeps it: who may use the testbed is not for the
// run's namespace to read, and how many runs it keeps changes no figure.
func specOf(testbed *v1alpha1.Testbed) v1alpha1.TestbedSpec {
	spec := *testbed.Spec.DeepCopy()
	spec.Namespaces, spec.HistoryLimit = v1alpha1.TestbedNamespaces{}, 0
	return spec
}

// mtuOf returns the MTU of a function's port: its own, or the testbed's.
func mtuOf(port v1alpha1.FunctionPort, testbed *v1alpha1.Testbed) int {
	if port.MTUBytes != nil {
		return int(*port.MTUBytes)
	}
	return int(testbed.Spec.Ports.MTUBytes)
}
