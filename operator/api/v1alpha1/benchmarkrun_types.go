package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BenchmarkRunSpec is one experiment, and how long its object is kept.
type BenchmarkRunSpec struct {
	// suspend stops the run where it is and releases the testbed. When suspend is false again,
	// the run continues, and makes what was under way again. Default false.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend,omitempty"`

	// ttlSecondsAfterFinished is how long the run is kept after it has ended. Absent: it is
	// not deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// experiment is what is measured, where and how. It cannot be changed: figures belong to
	// one experiment.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a run's experiment is immutable, only suspend and ttlSecondsAfterFinished may change: apply the change under a new name, or delete the run first"
	Experiment Experiment `json:"experiment,omitzero"`
}

// Experiment is everything that decides what is measured. It is immutable as a whole, so a field
// that a later version adds cannot be changed either.
type Experiment struct {
	// testbedRef names the Testbed, whose spec.namespaces must allow the run's namespace.
	// Absent: the cluster's default Testbed when the operator first sees the run;
	// status.testbedRef then names it.
	// +optional
	TestbedRef *TestbedReference `json:"testbedRef,omitempty"`

	// startupSeconds is how long pods may take until frames pass through the
	// chain. Default 300.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=3600
	StartupSeconds int32 `json:"startupSeconds,omitempty"`

	// deadlineSeconds is how long the measurer may take in total, restarts included. Default
	// 86400 (a day).
	// +optional
	// +kubebuilder:default=86400
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=604800
	DeadlineSeconds int32 `json:"deadlineSeconds,omitempty"`

	// chain lists the network functions from west to east, one to eight.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Chain []NetworkFunction `json:"chain,omitempty"`

	// traffic is what the frames look like. Default: UDP over IPv4, both
	// directions, frames of 64, 512 and 1518 bytes.
	// +optional
	// +kubebuilder:default={}
	Traffic Traffic `json:"traffic,omitzero"`

	// measurements are what is measured. Default: profile Standard, which is
	// throughput without loss (NDR) and with at most 0.1 % loss (PDR), and latency
	// at idle and at 50 % and 90 % of PDR.
	// +optional
	// +kubebuilder:default={profile: Standard}
	Measurements Measurements `json:"measurements,omitzero"`

	// noisyNeighbors are loads on the node of the chain, next to the chain and all at once,
	// while frames are sent through it. Absent: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	NoisyNeighbors []NoisyNeighbor `json:"noisyNeighbors,omitempty"`

	// acceptance is what the results must reach for the run to succeed. Absent:
	// every measured result succeeds.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Acceptance []Criterion `json:"acceptance,omitempty"`

	// baseline is an earlier run. Figures that are worse than its figures by more than is
	// allowed are not accepted. Absent: none.
	// +optional
	Baseline *Baseline `json:"baseline,omitempty"`

	// onInconclusive is how the run ends if no verdict is Failed and one is Inconclusive: Fail ends it
	// with the reason Inconclusive, Allow lets it succeed. Default Fail.
	// +optional
	// +kubebuilder:default=Fail
	OnInconclusive OnInconclusive `json:"onInconclusive,omitempty"`
}

// TestbedReference names a Testbed.
type TestbedReference struct {
	// name of the Testbed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// LocalReference names an object of the same namespace.
type LocalReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// BenchmarkRunStatus is the progress of the run and its results.
type BenchmarkRunStatus struct {
	// conditions: Succeeded is the summary; Admitted, Planned, ChainReady, Measured and
	// Accepted are the milestones; Reconciling and Stalled are present only while they are
	// true. Archived says whether the archive has the run's document; the results service sets it.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// testbedRef names the Testbed that the run uses: that of the spec, or the cluster's
	// default when the operator first saw the run. It does not change.
	// +optional
	TestbedRef *TestbedReference `json:"testbedRef,omitempty"`

	// queuePosition is the place in the testbed's queue, where 1 is next. From 10 on it is rounded
	// down to 10, 20, 50, 100, 200 and so on. Absent: the run does not wait.
	// +optional
	// +kubebuilder:validation:Minimum=1
	QueuePosition *int32 `json:"queuePosition,omitempty"`

	// startTime is when the run first got its testbed.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// plan says where the run is measured and with what plan, so that it can be repeated.
	// +optional
	Plan *PlanSummary `json:"plan,omitempty"`

	// progress of the measurement while it runs.
	// +optional
	Progress *Progress `json:"progress,omitempty"`

	// sessions of a measurement that was suspended or restarted.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Sessions []Session `json:"sessions,omitempty"`

	// summary has the figures of the first frame size, for the printer columns.
	// +optional
	Summary *ResultSummary `json:"summary,omitempty"`

	// generator says how the traffic was made.
	// +optional
	Generator *GeneratorReport `json:"generator,omitempty"`

	// chain describes each function as it ran, in the chain's order.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Chain []FunctionReport `json:"chain,omitempty"`

	// deployments are the latest 32 launches of the chain.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Deployments []Deployment `json:"deployments,omitempty"`

	// device describes what the chain ran on, as its node reported it.
	// +optional
	Device *DeviceReport `json:"device,omitempty"`

	// noisyNeighbors says what the neighbors did and what they changed. Absent: there are
	// none, or nothing is known yet.
	// +optional
	NoisyNeighbors *NoisyNeighborsReport `json:"noisyNeighbors,omitempty"`

	// results holds one entry for each size that has been measured.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Results []FrameResult `json:"results,omitempty"`

	// tcp is what measurements.tcp found.
	// +optional
	TCP *TCPResult `json:"tcp,omitempty"`

	// connections is what measurements.connections found.
	// +optional
	Connections *ConnectionsResult `json:"connections,omitempty"`

	// cpu is what the chain's node and functions used at each figure, sizes first. Absent where
	// the node and the functions did not report it.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	CPU []CPUResult `json:"cpu,omitempty"`

	// baseline has the earlier run's figures next to this run's, with
	// spec.experiment.baseline.
	// +optional
	Baseline *BaselineReport `json:"baseline,omitempty"`

	// acceptance has one verdict for each criterion and figure. Verdicts on the baseline have
	// the criterion baseline.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	Acceptance []Verdict `json:"acceptance,omitempty"`

	// warnings are doubts about figures.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Warnings []Warning `json:"warnings,omitempty"`

	// resultsRef names the ConfigMap that holds every trial. It is deleted with the run.
	// +optional
	ResultsRef *LocalReference `json:"resultsRef,omitempty"`

	// secrets has the UID of each Secret that the operator made for the chain and has not deleted, by its name; empty until the
	// UID is known. The operator may not read Secrets: it deletes those with this UID, and by name where it is empty.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Secrets map[string]ObjectUID `json:"secrets,omitempty"`
}

// ObjectUID is the UID of an object.
// +kubebuilder:validation:MaxLength=64
type ObjectUID string

// BenchmarkRun is one experiment: a chain of network functions on a testbed,
// measured once.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bmr,categories=vnfbench
// +kubebuilder:printcolumn:name="Testbed",type=string,JSONPath=`.status.testbedRef.name`,priority=1
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Progress",type=integer,JSONPath=`.status.progress.percent`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.summary.size`,priority=1
// +kubebuilder:printcolumn:name="Goal",type=string,JSONPath=`.status.summary.goal`
// +kubebuilder:printcolumn:name="Frames/s",type=integer,JSONPath=`.status.summary.framesPerSecond`
// +kubebuilder:printcolumn:name="P99(ns)",type=integer,JSONPath=`.status.summary.p99Nanoseconds`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Queue",type=integer,JSONPath=`.status.queuePosition`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(self.spec.experiment.baseline) || self.spec.experiment.baseline.runRef.name != self.metadata.name",message="a run cannot be its own baseline: name an earlier run",fieldPath=".spec.experiment.baseline.runRef"
type BenchmarkRun struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the experiment.
	// +required
	Spec BenchmarkRunSpec `json:"spec,omitzero"`

	// status is the run's progress and results.
	// +optional
	Status BenchmarkRunStatus `json:"status,omitzero"`
}

// BenchmarkRunList is a list of BenchmarkRuns.
// +kubebuilder:object:root=true
type BenchmarkRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []BenchmarkRun `json:"items"`
}

// TestbedName returns the name of the Testbed that the run uses, or "" while it names none and no
// default has been found.
func (r *BenchmarkRun) TestbedName() string {
	if ref := r.Spec.Experiment.TestbedRef; ref != nil {
		return ref.Name
	}
	if ref := r.Status.TestbedRef; ref != nil {
		return ref.Name
	}
	return ""
}
