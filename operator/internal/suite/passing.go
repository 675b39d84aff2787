package suite

import "vnfbench.io/operator/api/v1alpha1"

// passing are the reasons of runs that could not measure, for causes that may be gone at the next attempt: nodes, images,
// pods that ended, an operator that was replaced. What follows from the experiment or from its figures comes again.
var passing = map[string]bool{
	v1alpha1.ReasonNoMatchingNode:           true,
	v1alpha1.ReasonResourceMissing:          true,
	v1alpha1.ReasonInsufficientCPU:          true,
	v1alpha1.ReasonInsufficientMemory:       true,
	v1alpha1.ReasonInsufficientStorage:      true,
	v1alpha1.ReasonInsufficientHugepages:    true,
	v1alpha1.ReasonIssuerNotReadable:        true,
	v1alpha1.ReasonAPIServerNotReadable:     true,
	v1alpha1.ReasonPodForbidden:             true,
	v1alpha1.ReasonLaunchFailed:             true,
	v1alpha1.ReasonUnschedulable:            true,
	v1alpha1.ReasonImageUnavailable:         true,
	v1alpha1.ReasonPodStuck:                 true,
	v1alpha1.ReasonChainNotReady:            true,
	v1alpha1.ReasonChainFailed:              true,
	v1alpha1.ReasonNeighborNotStarted:       true,
	v1alpha1.ReasonVirtualMachineNotStarted: true,
	v1alpha1.ReasonEndpointFailed:           true,
	v1alpha1.ReasonPortDown:                 true,
	v1alpha1.ReasonPortBusy:                 true,
	v1alpha1.ReasonGeneratorUnreliable:      true,
	v1alpha1.ReasonTRexServerFailed:         true,
	v1alpha1.ReasonMeasurerFailed:           true,
	v1alpha1.ReasonResultsNotStored:         true,
	v1alpha1.ReasonResultsLost:              true,
	v1alpha1.ReasonVersionMismatch:          true,
}

// MayPass reports whether a measurement whose run failed with a reason may succeed when it is tried again.
func MayPass(reason string) bool { return passing[reason] }
