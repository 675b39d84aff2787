// Package v1alpha1 holds the kinds of the API group vnfbench.io: Testbed says
// where traffic is made and where network functions run, BenchmarkRun is one
// experiment there. BenchmarkSuite is a matrix of experiments and when it is measured, and
// BenchmarkSuiteRun is one time that it is. BenchmarkMeasurement keeps the figures of one measurement
// of a suite for good.
//
// Every quantity is an integer that names its unit. What a field allows that
// this version cannot do yet is refused at admission, never ignored.
//
// +kubebuilder:object:generate=true
// +groupName=vnfbench.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "vnfbench.io", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Testbed{}, &TestbedList{}, &BenchmarkRun{}, &BenchmarkRunList{},
		&BenchmarkSuite{}, &BenchmarkSuiteList{}, &BenchmarkSuiteRun{}, &BenchmarkSuiteRunList{},
		&BenchmarkMeasurement{}, &BenchmarkMeasurementList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
