package measure

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

// reasons are those that a measurer gives. A user who may write ConfigMaps in a run's namespace may
// store another one; it must neither end a run as Succeeded nor be no reason of a condition at all.
var reasons = map[string]bool{
	v1alpha1.ReasonCannotLoadBPF:                 true,
	v1alpha1.ReasonCannotTransmit:                true,
	v1alpha1.ReasonCapabilityMissing:             true,
	v1alpha1.ReasonChainFailed:                   true,
	v1alpha1.ReasonChainNotReady:                 true,
	v1alpha1.ReasonControlPortsOpen:              true,
	v1alpha1.ReasonDeviceUnusable:                true,
	v1alpha1.ReasonEndpointFailed:                true,
	v1alpha1.ReasonFrameTooLarge:                 true,
	v1alpha1.ReasonFrameTooSmall:                 true,
	v1alpha1.ReasonGeneratorUnreliable:           true,
	v1alpha1.ReasonHugepagesMissing:              true,
	v1alpha1.ReasonInvalidGeneratorConfiguration: true,
	v1alpha1.ReasonInvalidPath:                   true,
	v1alpha1.ReasonInvalidTrial:                  true,
	v1alpha1.ReasonLoadAboveLineRate:             true,
	v1alpha1.ReasonLockedMemoryLimit:             true,
	v1alpha1.ReasonMeasurerFailed:                true,
	v1alpha1.ReasonNeighborNotStarted:            true,
	v1alpha1.ReasonNextHopUnresolved:             true,
	v1alpha1.ReasonNoPathThroughChain:            true,
	v1alpha1.ReasonNotRoot:                       true,
	v1alpha1.ReasonPortBusy:                      true,
	v1alpha1.ReasonPortDown:                      true,
	v1alpha1.ReasonPortMissing:                   true,
	v1alpha1.ReasonResourceMissing:               true,
	v1alpha1.ReasonResultsLost:                   true,
	v1alpha1.ReasonResultsNotStored:              true,
	v1alpha1.ReasonResultsTooLarge:               true,
	v1alpha1.ReasonTCPSettingRefused:             true,
	v1alpha1.ReasonTRexMissing:                   true,
	v1alpha1.ReasonTRexServerFailed:              true,
	v1alpha1.ReasonTRexVersion:                   true,
	v1alpha1.ReasonTooFewCores:                   true,
}

// Checked returns the failure with a reason that a measurer gives: MeasurerFailed for any other,
// which is then in the message.
func (f FailureState) Checked() FailureState {
	if reasons[f.Reason] {
		return f
	}
	return FailureState{v1alpha1.ReasonMeasurerFailed, fmt.Sprintf("the results give reason %.100q, which no measurer gives: %s", f.Reason, f.Message)}
}
