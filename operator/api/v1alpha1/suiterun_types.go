package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BenchmarkSuiteRunSpec is one execution of a suite.
// +kubebuilder:validation:XValidation:rule="has(self.confirmation) == has(oldSelf.confirmation) && (!has(self.confirmation) || self.confirmation == oldSelf.confirmation)",message="spec.confirmation is immutable: what an execution was made for does not change"
type BenchmarkSuiteRunSpec struct {
	// suspend makes no further BenchmarkRun, and suspends the active one. When suspend is false again, the execution
	// continues. While the suite is suspended, the operator sets it to true. Default false.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend,omitempty"`

	// confirmation says which question of its suite the execution answers. The operator alone makes such executions: the figures of
	// one that someone else makes are in no series. It cannot be changed. Absent: it is an execution of the matrix.
	// +optional
	Confirmation *SuiteConfirmation `json:"confirmation,omitempty"`

	// template is what is measured. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the template of an execution is immutable, only suspend may change: make another BenchmarkSuiteRun, or change the BenchmarkSuite"
	Template SuiteTemplate `json:"template,omitzero"`
}

// MeasurementState is the state of a cell or of one of its measurements.
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Skipped
type MeasurementState string

// States of cells and measurements.
const (
	// MeasurementPending has not begun.
	MeasurementPending MeasurementState = "Pending"
	// MeasurementRunning has a BenchmarkRun; a cell: not all of its measurements have ended.
	MeasurementRunning MeasurementState = "Running"
	// MeasurementSucceeded has a BenchmarkRun that succeeded; a cell: all of them have.
	MeasurementSucceeded MeasurementState = "Succeeded"
	// MeasurementFailed has a BenchmarkRun that failed, for the last time; a cell: at least one has.
	MeasurementFailed MeasurementState = "Failed"
	// MeasurementSkipped is not made, because the execution has ended before; a cell: at least one was not made.
	MeasurementSkipped MeasurementState = "Skipped"
)

// BenchmarkSuiteRunStatus is the progress of an execution, and its table of cells.
type BenchmarkSuiteRunStatus struct {
	// conditions: Succeeded is the summary; Planned is the milestone before the first BenchmarkRun; Reconciling and Stalled are
	// present only while they are true. Archived says whether the archive has the execution's document; the results service sets it.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// seed decides the order. With the same seed, another execution of the same template has the same order.
	// +optional
	Seed int64 `json:"seed,omitempty"`

	// subject is what is tested, as the labels of the image said it when the execution began, with the fields that the template gives. Absent:
	// the template has no subject.fromImage, or the labels were not read yet.
	// +optional
	Subject *Subject `json:"subject,omitempty"`

	// startTime is when the operator first saw the execution.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when it ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// plannedCells is the number of cells that were tried as a BenchmarkRun and planned. The first measurement begins when all
	// are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PlannedCells int32 `json:"plannedCells,omitempty"`

	// estimatedSeconds is how long all measurements take by the plans of their cells, without the start of their chains.
	// +optional
	// +kubebuilder:validation:Minimum=0
	EstimatedSeconds int64 `json:"estimatedSeconds,omitempty"`

	// remainingSeconds is how long the rest takes, by the plans and by how long the measurements so far have taken compared with theirs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RemainingSeconds int64 `json:"remainingSeconds,omitempty"`

	// counts are the measurements by their state.
	// +optional
	Counts MeasurementCounts `json:"counts,omitzero"`

	// activeRun names the BenchmarkRun that is being made. Absent: none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ActiveRun string `json:"activeRun,omitempty"`

	// cells are those of the matrix in its order, and then the control cell.
	// +optional
	// +kubebuilder:validation:MaxItems=501
	Cells []SuiteCell `json:"cells,omitempty"`

	// controlDifferencePartsPerMillion is by how much the mean rate of the control cell differs from that of the cell that
	// it repeats: one draw of what chance alone changes here. Absent: there is no control cell, or a mean is missing.
	// +optional
	ControlDifferencePartsPerMillion *int64 `json:"controlDifferencePartsPerMillion,omitempty"`
}

// MeasurementCounts are numbers of measurements.
type MeasurementCounts struct {
	// total of all cells and repeats.
	Total int32 `json:"total"`
	// succeeded measurements.
	Succeeded int32 `json:"succeeded"`
	// failed measurements.
	Failed int32 `json:"failed"`
	// skipped measurements.
	Skipped int32 `json:"skipped"`
}

// SuiteCell is one cell of an execution.
type SuiteCell struct {
	// name of the cell, with which the names of its BenchmarkRuns end.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// values of the axes, by the axes' names.
	// +optional
	Values map[string]AxisLabel `json:"values,omitempty"`

	// state is Pending, Running, Succeeded, Failed or Skipped.
	// +required
	State MeasurementState `json:"state,omitempty"`

	// estimatedSeconds is how long one measurement takes by the plan.
	// +optional
	EstimatedSeconds int64 `json:"estimatedSeconds,omitempty"`

	// figure says which size and goal the figures are of, as "64 NDR".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure,omitempty"`

	// framesPerSecond is the mean of the first size's throughput over the repeats in which it is a value. Absent: in none.
	// +optional
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// p99Nanoseconds is the mean of the first size's 99th percentile of the delay over the repeats in which it is a value. Absent: in none.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`

	// goodputBitsPerSecond is the mean of the goodput of the first number of TCP connections over the repeats in which it is a value. Absent: in none.
	// +optional
	GoodputBitsPerSecond *int64 `json:"goodputBitsPerSecond,omitempty"`

	// measurements are the repeats, in their order.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	Measurements []SuiteMeasurement `json:"measurements,omitempty"`
}

// SuiteMeasurement is one repeat of a cell.
type SuiteMeasurement struct {
	// state is Pending, Running, Succeeded, Failed or Skipped.
	// +required
	State MeasurementState `json:"state,omitempty"`

	// attempts is how many BenchmarkRuns were made for it.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// reason is that of the last BenchmarkRun's condition Succeeded.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Reason string `json:"reason,omitempty"`

	// seconds is how long the last BenchmarkRun had its testbed.
	// +optional
	Seconds int64 `json:"seconds,omitempty"`

	// framesPerSecond is the first size's throughput.
	// +optional
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// rateNote says why framesPerSecond is no value: then it is in no mean. Absent: it is one.
	// +optional
	RateNote FigureNote `json:"rateNote,omitempty"`

	// rateDoubts are the doubts about framesPerSecond.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	RateDoubts []DoubtCode `json:"rateDoubts,omitempty"`

	// p99Nanoseconds is the first size's 99th percentile of the delay.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`

	// p99Note says why p99Nanoseconds is no value: then it is in no mean. Absent: it is one.
	// +optional
	P99Note FigureNote `json:"p99Note,omitempty"`

	// p99Doubts are the doubts about p99Nanoseconds.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	P99Doubts []DoubtCode `json:"p99Doubts,omitempty"`

	// goodputBitsPerSecond is that of the first number of TCP connections, in the worse direction.
	// +optional
	GoodputBitsPerSecond *int64 `json:"goodputBitsPerSecond,omitempty"`

	// goodputNote says why goodputBitsPerSecond is no value: then it is in no mean. Absent: it is one.
	// +optional
	GoodputNote FigureNote `json:"goodputNote,omitempty"`

	// goodputDoubts are the doubts about goodputBitsPerSecond.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	GoodputDoubts []DoubtCode `json:"goodputDoubts,omitempty"`
}

// NotedFigure is a figure of a measurement, and why it is no value.
// +kubebuilder:object:generate=false
type NotedFigure struct {
	// Value is nil where there is none.
	Value *int64
	// Note is "" where the figure is a value.
	Note   FigureNote
	Doubts []DoubtCode
}

// Rate returns the throughput.
func (m SuiteMeasurement) Rate() NotedFigure {
	return NotedFigure{m.FramesPerSecond, m.RateNote, m.RateDoubts}
}

// P99 returns the 99th percentile of the delay.
func (m SuiteMeasurement) P99() NotedFigure {
	return NotedFigure{m.P99Nanoseconds, m.P99Note, m.P99Doubts}
}

// Goodput returns the goodput of TCP.
func (m SuiteMeasurement) Goodput() NotedFigure {
	return NotedFigure{m.GoodputBitsPerSecond, m.GoodputNote, m.GoodputDoubts}
}

// BenchmarkSuiteRun is one execution of a suite. The operator makes it for a BenchmarkSuite; one that is made by hand is
// executed too.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bmsr,categories=vnfbench
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Total",type=integer,JSONPath=`.status.counts.total`
// +kubebuilder:printcolumn:name="Done",type=integer,JSONPath=`.status.counts.succeeded`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.counts.failed`
// +kubebuilder:printcolumn:name="Left(s)",type=integer,JSONPath=`.status.remainingSeconds`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.activeRun`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name: the name of an execution has at most 63 characters, because a label of its runs has it: shorten it"
type BenchmarkSuiteRun struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what is measured.
	// +required
	Spec BenchmarkSuiteRunSpec `json:"spec,omitzero"`

	// status is the progress and the table of cells.
	// +optional
	Status BenchmarkSuiteRunStatus `json:"status,omitzero"`
}

// Subject returns what the execution tests. It is nil where that is not said, or where the labels of its image were not read yet.
func (r *BenchmarkSuiteRun) Subject() *Subject {
	switch given := r.Spec.Template.Subject; {
	case r.Status.Subject != nil:
		return r.Status.Subject
	case given == nil || given.FromImage != nil:
		return nil
	default:
		return &given.Subject
	}
}

// BenchmarkSuiteRunList is a list of BenchmarkSuiteRuns.
// +kubebuilder:object:root=true
type BenchmarkSuiteRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []BenchmarkSuiteRun `json:"items"`
}
