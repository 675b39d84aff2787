package plan

import (
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// attachmentsOf lists the attachments that a port can have for each runtime, the usual one first.
var attachmentsOf = map[v1alpha1.Runtime][]v1alpha1.Attachment{
	v1alpha1.RuntimePod: {v1alpha1.AttachmentVeth, v1alpha1.AttachmentSRIOV, v1alpha1.AttachmentHostDevice},
	v1alpha1.RuntimeVirtualMachine: {
		v1alpha1.AttachmentVirtio, v1alpha1.AttachmentE1000e, v1alpha1.AttachmentE1000, v1alpha1.AttachmentRTL8139,
		v1alpha1.AttachmentSRIOV, v1alpha1.AttachmentHostDevice,
	},
}

// fillAttachments sets the attachments that a chain leaves out: that of the other end of the link
// if it is a device, or else the first that the testbed offers for the function's runtime. An
// attachment that nothing offers stays absent, and a later check refuses it under the name of the
// runtime's usual attachment.
func fillAttachments(chain []v1alpha1.NetworkFunction, testbed *v1alpha1.Testbed) {
	offered, ports := testbed.Spec.SystemUnderTest.Attachments, testbed.Spec.Ports
	for i := range chain {
		f := &chain[i]
		west, east := devicePort(ports.West.Attachment), devicePort(ports.East.Attachment)
		if i > 0 {
			west = deviceAttachment(chain[i-1].East.Attachment)
		}
		if i < len(chain)-1 {
			east = deviceAttachment(chain[i+1].West.Attachment)
		}
		fillAttachment(&f.West, f.Runtime, west, offered)
		fillAttachment(&f.East, f.Runtime, east, offered)
	}
}

// fillAttachment sets one port's attachment where it is absent.
func fillAttachment(port *v1alpha1.FunctionPort, runtime v1alpha1.Runtime, other v1alpha1.Attachment, offered []v1alpha1.Attachment) {
	if port.Attachment != "" {
		return
	}
	if port.Queues == nil {
		port.Attachment = other
	}
	if port.Attachment != "" {
		return
	}
	for _, candidate := range attachmentsOf[runtime] {
		// Only Virtio has queues.
		if slices.Contains(offered, candidate) && (port.Queues == nil || candidate == v1alpha1.AttachmentVirtio) {
			port.Attachment = candidate
			return
		}
	}
}

// devicePort returns the attachment that a function needs at a traffic port that is a device, and
// nothing at a bridge or an existing network.
func devicePort(port v1alpha1.PortAttachment) v1alpha1.Attachment {
	switch port {
	case v1alpha1.PortSRIOV:
		return v1alpha1.AttachmentSRIOV
	case v1alpha1.PortHostDevice:
		return v1alpha1.AttachmentHostDevice
	}
	return ""
}

// deviceAttachment returns an attachment if it is a device, else nothing.
func deviceAttachment(attachment v1alpha1.Attachment) v1alpha1.Attachment {
	if attachment == v1alpha1.AttachmentSRIOV || attachment == v1alpha1.AttachmentHostDevice {
		return attachment
	}
	return ""
}
