package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of a suite.
const (
	// MaxSuiteCells is the number of cells that a matrix can have.
	MaxSuiteCells = 500
	// MaxSuiteMeasurements is the number of BenchmarkRuns that one execution can need, without attempts that are made again.
	MaxSuiteMeasurements = 2000
	// MaxExperimentBytes bounds spec.template.experiment and each patch, as JSON.
	MaxExperimentBytes = 32 << 10
	// MaxRunNowBytes bounds status.lastRunNow, to which the operator cuts the annotation.
	MaxRunNowBytes = 253
)

// SuiteTemplate is what one execution of a suite measures, and in which order.
type SuiteTemplate struct {
	// subject says what is tested. Absent: not known.
	// +optional
	Subject *SuiteSubject `json:"subject,omitempty"`

	// experiment is written as spec.experiment of a BenchmarkRun, and is what all cells have in common.
	// The operator checks each cell before the first one is measured. At most 32 KiB.
	// +required
	// +kubebuilder:validation:Type=object
	Experiment apiextensionsv1.JSON `json:"experiment,omitzero"`

	// matrix makes a cell for each combination of its axes' values. Absent: one cell, which is the experiment itself.
	// +optional
	Matrix Matrix `json:"matrix,omitzero"`

	// repeats is how often each cell is measured, each time by a BenchmarkRun with its own deployment. Cells times repeats is at most 2000. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	Repeats int32 `json:"repeats,omitempty"`

	// order is how the cells follow each other within a repeat (a block), which has every cell once. Random, the default, orders each block again by the seed; Declared takes the order of the matrix.
	// +optional
	// +kubebuilder:default=Random
	Order MeasurementOrder `json:"order,omitempty"`

	// seed decides the random order. Absent: each execution has another one, which status.seed names.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	Seed *int64 `json:"seed,omitempty"`

	// controlCell names a cell that is measured twice in each repeat, the second time with "-control" after its
	// name: their difference is what chance adds (an A/A control). Absent: none.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	ControlCell string `json:"controlCell,omitempty"`

	// maximumAttempts is how often a measurement is tried that fails for a cause that may pass, as an image that cannot be
	// pulled. A verdict is never tried again. Default 2.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	MaximumAttempts int32 `json:"maximumAttempts,omitempty"`

	// failFast ends the execution with the first measurement that fails. Default false: the others are still made.
	// +optional
	// +kubebuilder:default=false
	FailFast bool `json:"failFast,omitempty"`

	// maximumDurationMinutes is how long the execution may take, waiting included. Then its active BenchmarkRun is deleted,
	// and the rest is skipped. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=43200
	MaximumDurationMinutes *int32 `json:"maximumDurationMinutes,omitempty"`
}

// Subject is what a suite tests: a version of a network function.
type Subject struct {
	// name of what is tested.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name,omitempty"`

	// version is the release, as 1.4.2. Absent: not known.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Version string `json:"version,omitempty"`

	// revision is the commit or the image's digest. Absent: not known.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Revision string `json:"revision,omitempty"`

	// url leads to the revision. Absent: none.
	// +optional
	// +kubebuilder:validation:MaxLength=500
	URL string `json:"url,omitempty"`

	// time is when the revision was made. Runs of one that is older than one measured before are in no verdict.
	// Absent, or after the measurement: not known.
	// +optional
	Time RevisionTime `json:"time,omitempty"`

	// image with its digest. fromImage sets it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
}

// SuiteSubject is what a suite tests, as its author or the labels of an image say it.
// +kubebuilder:validation:XValidation:rule="has(self.name) || has(self.fromImage)",message="subject needs a name or fromImage",fieldPath=".name"
// +kubebuilder:validation:XValidation:rule="!has(self.image) || !has(self.fromImage)",message="fromImage sets image; leave it out",fieldPath=".image"
type SuiteSubject struct {
	Subject `json:",inline"`

	// fromImage takes absent fields from the OCI labels of an image.
	// +optional
	FromImage *SubjectImage `json:"fromImage,omitempty"`
}

// SubjectImage names the image whose labels say what is tested.
type SubjectImage struct {
	// function whose custom.containerDisk or custom.container has the image.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Function string `json:"function,omitempty"`
}

// Matrix spans the cells of a suite.
type Matrix struct {
	// axes are applied in their order: a later one may set a field within what an earlier one has set, and must not replace it. Absent: one cell.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Axes []Axis `json:"axes,omitempty"`

	// exclude leaves out the cells that have all values of one of these combinations.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Exclude []Combination `json:"exclude,omitempty"`

	// include adds cells.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Include []IncludedCell `json:"include,omitempty"`
}

// AxisKind is what an axis's values are.
// +kubebuilder:validation:Enum=Category;Numeric
type AxisKind string

// Kinds of axes.
const (
	// AxisCategory has values without an order.
	AxisCategory AxisKind = "Category"
	// AxisNumeric has numbers, over which figures can be drawn and fitted.
	AxisNumeric AxisKind = "Numeric"
)

// Axis is one thing that differs between cells. It has either path and values, or variants.
type Axis struct {
	// name of the axis, which names of cells begin with where a value is a number.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// kind is Category (the default) or Numeric, with numbers or lists of one.
	// +optional
	// +kubebuilder:default=Category
	Kind AxisKind `json:"kind,omitempty"`

	// path of the field that values are set to, as chain[fw].firewall.rules, where fw names an item of the list, and a,b two. Absent: the axis has variants.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Path string `json:"path,omitempty"`

	// values of the field: numbers, texts, booleans, or lists of them.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Values []apiextensionsv1.JSON `json:"values,omitempty"`

	// variants are named patches of the experiment.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Variants []Variant `json:"variants,omitempty"`
}

// Variant is a value of an axis that changes several fields at once.
type Variant struct {
	// name of the variant.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// patch is a JSON merge patch (RFC 7396) of the experiment: it replaces lists as a whole, and null removes a field. At most 32 KiB.
	// +required
	// +kubebuilder:validation:Type=object
	Patch apiextensionsv1.JSON `json:"patch,omitzero"`
}

// AxisLabel is a value of an axis as a text: a variant's name, or the value as it is written.
// +kubebuilder:validation:MaxLength=63
type AxisLabel string

// Combination has values of axes, by the axes' names.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=8
type Combination map[string]AxisLabel

// IncludedCell is a further cell.
type IncludedCell struct {
	// name of the cell.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// values of axes that the cell has. An axis that is not named leaves the experiment as it is.
	// +optional
	Values Combination `json:"values,omitempty"`

	// patch is a JSON merge patch of the experiment, after the values, which it must not replace. At most 32 KiB. Absent: none.
	// +optional
	// +kubebuilder:validation:Type=object
	Patch *apiextensionsv1.JSON `json:"patch,omitempty"`
}

// RunOn is which changes of a suite make an execution.
// +kubebuilder:validation:Enum=Change;Revision;Never
type RunOn string

// Values of RunOn.
const (
	// RunOnChange makes an execution for each change of spec.template, the first version included.
	RunOnChange RunOn = "Change"
	// RunOnRevision makes one where spec.template.subject.revision changes, or another template names an image with another revision.
	RunOnRevision RunOn = "Revision"
	// RunOnNever leaves it to the schedule and the annotation.
	RunOnNever RunOn = "Never"
)

// ConcurrencyPolicy is what happens to an execution that is due while another one is active.
// +kubebuilder:validation:Enum=Forbid;Replace
type ConcurrencyPolicy string

// Values of ConcurrencyPolicy.
const (
	// ConcurrencyForbid skips one that the schedule asks for, and lets any other wait.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace deletes the active one.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// BenchmarkSuiteSpec says what a suite measures, and when.
type BenchmarkSuiteSpec struct {
	// suspend starts no execution, and suspends the active one. When it is false again, that one continues, unless someone else
	// suspended it. Default false.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend,omitempty"`

	// runOn is which changes make an execution: Change, Revision or Never. Default Change.
	// +optional
	// +kubebuilder:default=Change
	RunOn RunOn `json:"runOn,omitempty"`

	// schedule is a cron line with five fields, or one as @daily, by which executions are made. Absent: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule,omitempty"`

	// timeZone of the schedule, as Europe/Berlin. Default UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`

	// concurrencyPolicy is what happens to an execution that is due while another one is active: Forbid skips one of the
	// schedule and lets any other wait, Replace deletes the active one. Default Forbid.
	// +optional
	// +kubebuilder:default=Forbid
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// startingDeadlineSeconds is how late an execution of the schedule may start, as after an outage. A later one is
	// skipped. Default 3600.
	// +optional
	// +kubebuilder:default=3600
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=604800
	StartingDeadlineSeconds int32 `json:"startingDeadlineSeconds,omitempty"`

	// succeededHistoryLimit is how many executions are kept that succeeded, with their BenchmarkRuns. Default 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SucceededHistoryLimit *int32 `json:"succeededHistoryLimit,omitempty"`

	// failedHistoryLimit is how many executions are kept that failed, with their BenchmarkRuns. Default 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	FailedHistoryLimit *int32 `json:"failedHistoryLimit,omitempty"`

	// regression says how the series of the suite are judged when an execution has ended, and which regressions fail it. Absent:
	// nothing is judged.
	// +optional
	Regression *SuiteRegression `json:"regression,omitempty"`

	// template is what an execution measures.
	// +required
	Template SuiteTemplate `json:"template,omitzero"`
}

// SuiteTrigger is why an execution was made.
// +kubebuilder:validation:Enum=Change;Revision;Schedule;Annotation
type SuiteTrigger string

// Triggers of executions.
const (
	TriggerChange     SuiteTrigger = "Change"
	TriggerRevision   SuiteTrigger = "Revision"
	TriggerSchedule   SuiteTrigger = "Schedule"
	TriggerAnnotation SuiteTrigger = "Annotation"
)

// BenchmarkSuiteStatus says what became of a suite.
type BenchmarkSuiteStatus struct {
	// conditions: Ready says that executions can be made; Succeeded is that of the latest execution; Reconciling and Stalled are
	// present only while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// cells is the number of cells of the matrix.
	// +optional
	Cells int32 `json:"cells,omitempty"`

	// executions is how many executions were made so far. The latest has this number at the end of its name.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Executions int64 `json:"executions,omitempty"`

	// lastExecution describes the latest execution.
	// +optional
	LastExecution *SuiteExecution `json:"lastExecution,omitempty"`

	// nextScheduleTime is when the schedule makes the next execution. Absent: none, or the suite is suspended.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// lastScheduleTime is the last time of the schedule that was acted on or skipped, or when the schedule was changed.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// observedSchedule is the schedule with its time zone since lastScheduleTime. Absent: there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=170
	ObservedSchedule string `json:"observedSchedule,omitempty"`

	// lastRunNow is the value of the annotation vnfbench.io/run-now that was acted on last.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LastRunNow string `json:"lastRunNow,omitempty"`

	// imageRevision is what labels say, for runOn Revision.
	// +optional
	ImageRevision *ImageRevision `json:"imageRevision,omitempty"`

	// regression is what is known of the series. Absent: spec.regression is absent, or no execution has ended yet.
	// +optional
	Regression *RegressionStatus `json:"regression,omitempty"`
}

// ImageRevision is the revision that the labels of an image gave.
type ImageRevision struct {
	// templateDigest is that of the template.
	// +required
	// +kubebuilder:validation:MaxLength=64
	TemplateDigest string `json:"templateDigest,omitempty"`

	// revision of the image.
	// +required
	// +kubebuilder:validation:MaxLength=200
	Revision string `json:"revision,omitempty"`
}

// SuiteExecution describes one execution of a suite.
type SuiteExecution struct {
	// name of the BenchmarkSuiteRun.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// trigger is why it was made.
	// +required
	Trigger SuiteTrigger `json:"trigger,omitempty"`

	// templateDigest is that of the template that it measures.
	// +required
	// +kubebuilder:validation:MaxLength=64
	TemplateDigest string `json:"templateDigest,omitempty"`

	// revision is that of its subject.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Revision string `json:"revision,omitempty"`
}

// BenchmarkSuite is a set of experiments that is measured again and again: a matrix of cells, and when it is executed.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bms,categories=vnfbench
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Cells",type=integer,JSONPath=`.status.cells`
// +kubebuilder:printcolumn:name="Latest",type=string,JSONPath=`.status.lastExecution.name`
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`,priority=1
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`,priority=1
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspend`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40",message="metadata.name: the name of a suite has at most 40 characters, because the names of its runs begin with it: shorten it"
type BenchmarkSuite struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says what the suite measures, and when.
	// +required
	Spec BenchmarkSuiteSpec `json:"spec,omitzero"`

	// status says what became of it.
	// +optional
	Status BenchmarkSuiteStatus `json:"status,omitzero"`
}

// BenchmarkSuiteList is a list of BenchmarkSuites.
// +kubebuilder:object:root=true
type BenchmarkSuiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []BenchmarkSuite `json:"items"`
}
