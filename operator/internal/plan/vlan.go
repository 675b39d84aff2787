package plan

import (
	"cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// tagSegment gives the ends of an outer segment the tag of the testbed's port.
// Segments between functions have none.
func tagSegment(in Input, index int, segment *Segment) {
	ports := in.Testbed.Spec.Ports
	if index == 0 {
		tagPort(ports.West, &segment.West, &segment.East)
	}
	if index == len(in.Run.Spec.Experiment.Chain) {
		tagPort(ports.East, &segment.East, &segment.West)
	}
}

// tagPort tags both ends of a link alike, except for what the user says about an existing
// network. A virtual function's tag is added by its NIC.
func tagPort(port v1alpha1.TestbedPort, generator, device *End) {
	if port.Attachment == v1alpha1.PortSRIOV {
		return
	}
	generator.Tag = tagOf(port)
	if network := port.NetworkAttachmentDefinition; network != nil {
		device.Tag = generator.Tag
		if network.DeviceVLAN != nil {
			device.Tag = int(*network.DeviceVLAN)
		}
		return
	}
	if device.ResourceName != "" {
		device.VLAN = generator.Tag
		return
	}
	device.Tag = generator.Tag
}

func tagOf(port v1alpha1.TestbedPort) int {
	if port.VLAN == nil {
		return 0
	}
	return int(*port.VLAN)
}

// calibrationTag returns the tag of both of the calibration's ports. Nothing between them could
// change a tag.
func calibrationTag(in Input) int {
	return cmp.Or(tagOf(in.Testbed.Spec.Ports.West), tagOf(in.Testbed.Spec.Ports.East))
}

// taggedPorts returns the measurer's ports, of which only the tags are known yet.
func taggedPorts(in Input) [2]measure.Port {
	return [2]measure.Port{{VLAN: tagOf(in.Testbed.Spec.Ports.West)}, {VLAN: tagOf(in.Testbed.Spec.Ports.East)}}
}

// taggedPort returns the name of a testbed's port with a tag, and "" where none has one.
func taggedPort(in Input) string {
	switch {
	case tagOf(in.Testbed.Spec.Ports.West) != 0:
		return InterfaceWest
	case tagOf(in.Testbed.Spec.Ports.East) != 0:
		return InterfaceEast
	}
	return ""
}

// maxFrameBytes returns the largest frame that the testbed's driver sends on it. A tag is
// part of that frame, but not of its size.
func maxFrameBytes(in Input) int {
	most := limitsOf(in.Testbed).MaxFrameBytes
	if taggedPort(in) != "" {
		most -= measure.VLANTagBytes
	}
	return most
}
