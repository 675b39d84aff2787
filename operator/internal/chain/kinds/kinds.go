// Package kinds names what the operator makes in the cluster, for programs that read it and do not run in a pod: package chain, which
// makes it, is for Linux alone.
package kinds

import "k8s.io/apimachinery/pkg/runtime/schema"

// NetworkAttachmentDefinition is Multus' kind. This project needs too little of it for a
// client library.
var NetworkAttachmentDefinition = schema.GroupVersionKind{
	Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition",
}

// AnnotationResource names for Multus the device plugin's resource of a network.
const AnnotationResource = "k8s.v1.cni.cncf.io/resourceName"

// Values of v1alpha1.LabelComponent.
const (
	ComponentMeasurer = "measurer"
	ComponentFunction = "function"
	ComponentObserver = "observer"
	ComponentEndpoint = "endpoint"
	ComponentNeighbor = "neighbor"
	ComponentCleanup  = "cleanup"
)
