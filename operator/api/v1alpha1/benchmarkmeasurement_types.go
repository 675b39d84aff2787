package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of a BenchmarkMeasurement.
const (
	// MaxMeasurementPoints is the number of points that one object has. A measurement with more of them has several objects.
	MaxMeasurementPoints = 200
	// MaxMeasurementPointsBytes bounds the points of one object, as JSON.
	MaxMeasurementPointsBytes = 256 << 10
	// MaxMeasurementParts is the number of objects that one measurement has.
	MaxMeasurementParts = 32
)

// BenchmarkMeasurementSpec is what one measurement of a suite found. It cannot be changed.
type BenchmarkMeasurementSpec struct {
	// suite is the name of the BenchmarkSuite.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Suite string `json:"suite,omitempty"`

	// execution is the name of the BenchmarkSuiteRun.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Execution string `json:"execution,omitempty"`

	// cell is the name of the cell of the matrix.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cell string `json:"cell,omitempty"`

	// repeat is the number of the repeat, from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	Repeat int32 `json:"repeat,omitempty"`

	// run is the name of the BenchmarkRun.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Run string `json:"run,omitempty"`

	// runUID is the UID of the BenchmarkRun.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	RunUID string `json:"runUID,omitempty"`

	// testbed is the name of the Testbed on which it was measured.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Testbed string `json:"testbed,omitempty"`

	// completionTime is when the BenchmarkRun ended.
	// +required
	CompletionTime metav1.Time `json:"completionTime,omitzero"`

	// subject is what was tested. Absent: the suite does not say.
	// +optional
	Subject *Subject `json:"subject,omitempty"`

	// experiment is that of the cell, as spec.experiment of a BenchmarkRun, with which the same version can be deployed again.
	// +required
	// +kubebuilder:validation:Type=object
	Experiment apiextensionsv1.JSON `json:"experiment,omitzero"`

	// part is the number of this object among those of the measurement, from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	Part int32 `json:"part,omitempty"`

	// common has the fields that all points of the measurement share, as its platform.
	// +required
	// +kubebuilder:validation:Type=object
	Common apiextensionsv1.JSON `json:"common,omitzero"`

	// points are the figures, each with its further fields. Together with common, a point is as "kubectl vnfbench series" writes
	// it. They have at most 256 KiB.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=200
	Points []apiextensionsv1.JSON `json:"points,omitempty"`
}

// BenchmarkMeasurement keeps the figures of one measurement of a suite as points of series. The operator makes it; no one can change it, and
// it stays when the run, the execution, the suite and the operator are deleted.
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=bmm
// +kubebuilder:printcolumn:name="Suite",type=string,JSONPath=`.spec.suite`
// +kubebuilder:printcolumn:name="Execution",type=string,JSONPath=`.spec.execution`
// +kubebuilder:printcolumn:name="Cell",type=string,JSONPath=`.spec.cell`
// +kubebuilder:printcolumn:name="Repeat",type=integer,JSONPath=`.spec.repeat`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.spec.subject.revision`
// +kubebuilder:printcolumn:name="Testbed",type=string,JSONPath=`.spec.testbed`,priority=1
// +kubebuilder:printcolumn:name="Completed",type=date,JSONPath=`.spec.completionTime`
type BenchmarkMeasurement struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what was measured.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a measurement is immutable: what was measured does not change"
	Spec BenchmarkMeasurementSpec `json:"spec,omitzero"`
}

// BenchmarkMeasurementList is a list of BenchmarkMeasurements.
// +kubebuilder:object:root=true
type BenchmarkMeasurementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []BenchmarkMeasurement `json:"items"`
}
