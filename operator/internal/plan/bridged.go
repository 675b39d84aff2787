package plan

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

// isBridging reports whether a function joins its segments on layer 2, so that the functions on
// both sides of it are next to each other.
func isBridging(function v1alpha1.NetworkFunction) bool {
	return plannerOf(function.Function).bridges(function)
}

// network returns the number of the IP network of a segment: segments that bridging functions
// join are one network, with the number of the westernmost.
func network(chain []v1alpha1.NetworkFunction, segment int) int {
	for segment > 0 && isBridging(chain[segment-1]) {
		segment--
	}
	return segment
}

// nextWest returns the port that a frame reaches to the west over a segment, and nextEast the
// one to the east: that of the next function that routes, or the generator's.
func nextWest(chain []v1alpha1.NetworkFunction, segments []Segment, segment int) End {
	return segments[network(chain, segment)].West
}

func nextEast(chain []v1alpha1.NetworkFunction, segments []Segment, segment int) End {
	for segment < len(chain) && isBridging(chain[segment]) {
		segment++
	}
	return segments[segment].East
}

// checkBridges refuses virtual functions as ports of a function that bridges. A NIC hands a virtual function no frames for
// other MAC addresses, and drops what it sends from one. A user's own networks may allow both.
func checkBridges(in Input) error {
	chain, ports := in.Run.Spec.Experiment.Chain, in.Testbed.Spec.Ports
	for i, function := range chain {
		if !isBridging(function) {
			continue
		}
		for _, port := range []struct {
			name       string
			attachment v1alpha1.Attachment
			outer      bool
			network    way
		}{
			{InterfaceWest, function.EffectiveAttachment(function.West), i == 0, wayOfPort(ports.West)},
			{InterfaceEast, function.EffectiveAttachment(function.East), i == len(chain)-1, wayOfPort(ports.East)},
		} {
			if port.attachment != v1alpha1.AttachmentSRIOV || port.outer && port.network == wayAny {
				continue
			}
			other := "attachments of a bridge for both ends of that link"
			if port.outer {
				other = port.name + ".attachment HostDevice"
			}
			return fail(v1alpha1.ReasonIncompatibleAttachments,
				fmt.Sprintf("set firewall.forwarding Routed of function %q in the run's spec.experiment.chain, or %s", function.Name, other),
				"function %q bridges, and its port %s is SRIOV: a NIC hands a virtual function no frames for other MAC addresses, and drops what it sends from one",
				function.Name, port.name)
		}
	}
	return nil
}
