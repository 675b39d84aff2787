package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestbedSpec says where traffic is made, where network functions run, and how the two are
// joined.
type TestbedSpec struct {
	// namespaces are those whose BenchmarkRuns may use this testbed. One run holds it at a
	// time; the others wait in the order of their creation, whatever their namespace.
	// Default: all namespaces.
	// +optional
	// +kubebuilder:default={from: All}
	Namespaces TestbedNamespaces `json:"namespaces,omitzero"`

	// historyLimit is how many finished runs of the testbed are kept. Beyond it, the oldest of the namespace
	// with most of them is deleted; baselines and runs with the annotation vnfbench.io/keep=true stay. Default 200.
	// +optional
	// +kubebuilder:default=200
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	HistoryLimit int32 `json:"historyLimit,omitempty"`

	// generator is what makes and receives traffic. Default: the XDP driver on any node.
	// +optional
	// +kubebuilder:default={}
	Generator Generator `json:"generator,omitzero"`

	// ports are the two traffic ports, west and east of the chain. Default: two bridges.
	// +optional
	// +kubebuilder:default={}
	Ports TestbedPorts `json:"ports,omitzero"`

	// systemUnderTest says where network functions run and what their ports can be. Default: any node, Veth.
	// +optional
	// +kubebuilder:default={}
	SystemUnderTest SystemUnderTest `json:"systemUnderTest,omitzero"`
}

// NamespacesFrom says how namespaces are chosen.
// +kubebuilder:validation:Enum=All;Selector
type NamespacesFrom string

const (
	// NamespacesFromAll lets runs of every namespace use the testbed.
	NamespacesFromAll NamespacesFrom = "All"
	// NamespacesFromSelector lets runs of namespaces with certain labels use the testbed.
	NamespacesFromSelector NamespacesFrom = "Selector"
)

// TestbedNamespaces says which namespaces' runs may use a testbed.
// +kubebuilder:validation:XValidation:rule="(has(self.from) && self.from == 'Selector') == has(self.selector)",message="selector is required with from Selector, and forbidden with from All",fieldPath=".selector"
type TestbedNamespaces struct {
	// from is All or Selector. A run of a namespace that is not chosen waits with reason
	// NamespaceNotAllowed. A run that holds the testbed keeps it when its namespace is no
	// longer chosen. Default All.
	// +optional
	// +kubebuilder:default=All
	From NamespacesFrom `json:"from,omitempty"`

	// selector chooses namespaces by their labels, with from Selector. The label
	// kubernetes.io/metadata.name holds a namespace's name.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// GeneratorDriver names what makes the traffic.
// +kubebuilder:validation:Enum=XDP;TRex
type GeneratorDriver string

const (
	// DriverXDP makes frames in the kernel; it needs no special NIC and no hugepages.
	DriverXDP GeneratorDriver = "XDP"
	// DriverTRex is Cisco's TRex, in an image that the lab builds: see docs/how-to/trex.md.
	DriverTRex GeneratorDriver = "TRex"
)

// Generator describes the traffic pod.
// +kubebuilder:validation:XValidation:rule="!has(self.trex) || (has(self.driver) && self.driver == 'TRex')",message="trex is only for driver TRex: set driver TRex, or leave trex out",fieldPath=".trex"
// +kubebuilder:validation:XValidation:rule="!has(self.driver) || self.driver != 'TRex' || has(self.trex)",message="driver TRex needs trex, which says what drives its ports: set trex.mode AFPacket, or DPDK with trex.hugepages",fieldPath=".driver"
// +kubebuilder:validation:XValidation:rule="!has(self.trex) || self.trex.mode != 'DPDK' || has(self.cpu)",message="trex.mode DPDK sends with threads that never sleep, each on its own CPU: set cpu to 2 + 2 x trex.coresPerPort whole CPUs or more",fieldPath=".trex"
type Generator struct {
	// driver is XDP (built in) or TRex, for which you build the image. Default XDP.
	// +optional
	// +kubebuilder:default=XDP
	Driver GeneratorDriver `json:"driver,omitempty"`

	// nodeSelector chooses the nodes that may make traffic, by their labels.
	// Absent: every schedulable node.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations of the traffic pod. Absent: none.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// image of the traffic pod. Absent: the one that the operator was installed with. For
	// driver TRex it is an image that you build, with TRex and the measurer; where neither
	// names one, runs end with ImageMissing.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// cpu is what the traffic pod requests and is limited to. Whole numbers give it dedicated
	// cores on a node with the static CPU manager. With trex.mode DPDK it is required, whole,
	// and at least 2 + 2 x trex.coresPerPort. Absent: it requests 1 and has no limit, so that
	// one-node labs work.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE]') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('100m')) && !quantity(string(self)).isGreaterThan(quantity('1024'))",message="cpu must be 100m to 1024: leave it out for no limit"
	CPU CPUQuantity `json:"cpu,omitempty"`

	// memory is what the traffic pod requests and is limited to, without hugepages. Default
	// 256Mi, with driver TRex 1Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE]') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('64Mi')) && !quantity(string(self)).isGreaterThan(quantity('16Ti'))",message="memory must be 64Mi to 16Ti: leave it out for the default"
	Memory ByteQuantity `json:"memory,omitempty"`

	// xdp sets driver XDP. Absent: every default.
	// +optional
	// +kubebuilder:default={}
	XDP XDPGenerator `json:"xdp,omitzero"`

	// trex sets driver TRex, for which it is required.
	// +optional
	TRex *TRexGenerator `json:"trex,omitempty"`
}

// TransmitPath is how XDP frames leave a port.
// +kubebuilder:validation:Enum=Auto;Direct;InnerVeth
type TransmitPath string

const (
	// TransmitAuto lets the driver find out with probe frames which way works.
	TransmitAuto TransmitPath = "Auto"
	// TransmitDirect redirects frames out of the port itself.
	TransmitDirect TransmitPath = "Direct"
	// TransmitInnerVeth sends frames through a veth pair inside the traffic
	// pod, for ports whose peer takes no XDP frames; costs about 2 microseconds.
	TransmitInnerVeth TransmitPath = "InnerVeth"
)

// XDPGenerator sets the XDP driver.
type XDPGenerator struct {
	// threads is the number of cores that send: 1 serves both directions alternately, 2 gives
	// each its own. Default 0: 2 if the pod has at least three CPUs, else 1.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2
	Threads int32 `json:"threads,omitempty"`

	// transmitPath is Auto, Direct or InnerVeth. Default Auto: the driver finds it out with
	// probe frames, and the result names it.
	// +optional
	// +kubebuilder:default=Auto
	TransmitPath TransmitPath `json:"transmitPath,omitempty"`

	// scheduling of the threads that send is Auto, Fair or RealTime. RealTime gives the
	// traffic pod the capability SYS_NICE, and needs generator.cpu in whole cores, one more
	// than threads that send. Where the node does not allow it, they are scheduled Fair, and
	// the result says so. Default Auto: Fair.
	// +optional
	// +kubebuilder:default=Auto
	Scheduling TransmitScheduling `json:"scheduling,omitempty"`

	// ringFrames is how many frames that are due may wait while the device holds the
	// core that sends, as in the receive ring of a network card. A frame that finds it
	// full is lost by a device that works on that core, and not sent elsewhere, where no
	// more wait than are due in 50 µs. Default 1024.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	RingFrames int32 `json:"ringFrames,omitempty"`

	// interruptMicroseconds is for how long the generator's ports may delay an interrupt for
	// frames that arrive, which is a part of each delay: 0 is right for latency. Absent: as
	// they are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	InterruptMicroseconds *int32 `json:"interruptMicroseconds,omitempty"`
}

// TestbedStatus is what the operator found and which runs hold the testbed.
type TestbedStatus struct {
	// conditions: Ready says whether the testbed can take a run, Calibrated
	// whether its generator has measured itself without a device.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// activeRuns hold the testbed now. Users who may read the testbed see
	// their namespaces and names.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	ActiveRuns []ActiveRun `json:"activeRuns,omitempty"`

	// queuedRuns is how many runs wait.
	// +optional
	// +kubebuilder:validation:Minimum=0
	QueuedRuns int32 `json:"queuedRuns"`

	// nodes that can make traffic and run network functions, at most 16 of them.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Nodes []TestbedNode `json:"nodes,omitempty"`

	// bridgeNodes are those on which runs may have left bridges. They are removed with the testbed.
	// +optional
	// +kubebuilder:validation:MaxItems=5000
	BridgeNodes []BridgeNode `json:"bridgeNodes,omitempty"`

	// calibration is the generator's own performance, port to port without a
	// device, as the latest run found it.
	// +optional
	Calibration *Calibration `json:"calibration,omitempty"`
}

// ActiveRun names a run that holds the testbed.
type ActiveRun struct {
	// namespace of the BenchmarkRun.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the BenchmarkRun.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid of the BenchmarkRun.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// since when it holds the testbed.
	// +required
	Since metav1.Time `json:"since,omitzero"`
}

// BridgeNode is a node with bridges of the testbed.
type BridgeNode struct {
	// name of the node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// namespace of the run that used the node last.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// TestbedNode describes a node. Figures of one node are not valid for another.
type TestbedNode struct {
	// name of the node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// kernelVersion, as the node reports it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	KernelVersion string `json:"kernelVersion,omitempty"`

	// osImage, as the node reports it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	OSImage string `json:"osImage,omitempty"`

	// containerRuntimeVersion, as the node reports it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ContainerRuntimeVersion string `json:"containerRuntimeVersion,omitempty"`

	// allocatableMilliCPU is what pods may use, in thousandths of a CPU.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AllocatableMilliCPU int64 `json:"allocatableMilliCPU,omitempty"`

	// fingerprint as the latest run on this node read it. Absent: no run has yet.
	// +optional
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`
}

// Calibration is what the generator reaches port to port without a device.
type Calibration struct {
	// time when it was measured.
	// +required
	Time metav1.Time `json:"time,omitzero"`

	// runRef names the run that measured it.
	// +optional
	RunRef *NamespacedRunReference `json:"runRef,omitempty"`

	// frames holds one entry for each size.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Frames []CalibrationFrame `json:"frames,omitempty"`
}

// NamespacedRunReference names a BenchmarkRun of any namespace.
type NamespacedRunReference struct {
	// namespace of the run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// CalibrationFrame is the calibration for one size.
type CalibrationFrame struct {
	// size names what was sent, as a run's results do: "64", a mix's name, "udp-4096".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Size string `json:"size,omitempty"`

	// maximumFramesPerSecond is the highest rate that arrived before the measurement, for each direction, both at once.
	// +required
	// +kubebuilder:validation:Minimum=0
	MaximumFramesPerSecond int64 `json:"maximumFramesPerSecond"`

	// lowestFramesPerSecond is what arrived in the slowest of the calibration's
	// trials before the measurement. Absent with one trial.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LowestFramesPerSecond *int64 `json:"lowestFramesPerSecond,omitempty"`

	// finalFramesPerSecond is what arrived in the trial after the measurement. Absent: it took less
	// than five minutes, its profile is Quick, or the trial failed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FinalFramesPerSecond *int64 `json:"finalFramesPerSecond,omitempty"`

	// latencyBiasNanoseconds is the median one-way delay without a device at 1,000 frames/s, of several trials the
	// median of theirs. It is not subtracted; bias of latency[], fixedLoad[] and soak is that at a load.
	// +required
	// +kubebuilder:validation:Minimum=0
	LatencyBiasNanoseconds int64 `json:"latencyBiasNanoseconds"`

	// lowestLatencyBiasNanoseconds is the lowest of theirs. Absent: one trial.
	// +optional
	LowestLatencyBiasNanoseconds *int64 `json:"lowestLatencyBiasNanoseconds,omitempty"`

	// highestLatencyBiasNanoseconds is the highest.
	// +optional
	HighestLatencyBiasNanoseconds *int64 `json:"highestLatencyBiasNanoseconds,omitempty"`
}

// Testbed is a place where BenchmarkRuns run: a traffic generator, two ports, and nodes for
// network functions. It belongs to the cluster's administrator: only it has settings that affect
// nodes. The annotation vnfbench.io/is-default-testbed: "true" makes it the testbed of runs that
// name none.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=tb,categories=vnfbench
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.spec.generator.driver`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.activeRuns[*].name`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.status.activeRuns[*].namespace`,priority=1
// +kubebuilder:printcolumn:name="Queued",type=integer,JSONPath=`.status.queuedRuns`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Testbed struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says what the testbed consists of. Default: every default.
	// +optional
	// +kubebuilder:default={}
	Spec TestbedSpec `json:"spec,omitzero"`

	// status is what the operator found.
	// +optional
	Status TestbedStatus `json:"status,omitzero"`
}

// TestbedList is a list of Testbeds.
// +kubebuilder:object:root=true
type TestbedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Testbed `json:"items"`
}
