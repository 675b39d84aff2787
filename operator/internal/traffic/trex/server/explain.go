//go:build linux

package server

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// lastWords are the lines of TRex v3.08 and DPDK 25.07 that say why a server ended. It
// has no exit codes that distinguish the causes.
var lastWords = []struct{ words, reason, remedy string }{
	{"error while loading shared libraries", v1alpha1.ReasonTRexMissing, "unpack TRex's whole release into the image, with its folder so, on a base image with glibc"},
	{"is not recognized", v1alpha1.ReasonTRexMissing, "build the image with TRex v3.08, whose options these are"},
	{"there is not enough huge-pages memory", v1alpha1.ReasonHugepagesMissing, "raise the testbed's hugepages, and free some on the node"},
	{"Not enough memory available", v1alpha1.ReasonHugepagesMissing, "raise the testbed's hugepages, and free some on the node"},
	{"Cannot get hugepage information", v1alpha1.ReasonHugepagesMissing, "see whether other pods use the node's hugepages"},
	{"could not allocate memory for mbufs", v1alpha1.ReasonTRexServerFailed, "raise the traffic pod's memory, or limit_memory of the extra configuration"},
	{"VFIO group is not viable", v1alpha1.ReasonDeviceUnusable, "bind every device of the IOMMU group to vfio-pci on the node"},
	{"Cannot open VFIO container", v1alpha1.ReasonDeviceUnusable, "let the device plugin give the devices of VFIO"},
	{"Could not find all interfaces", v1alpha1.ReasonDeviceUnusable, "see in the traffic pod's log what DPDK says of the devices"},
	{"is not supported. Please consult the documentation", v1alpha1.ReasonDeviceUnusable, "use a NIC that TRex has a driver for"},
	{"does not support more than one core by dual interfaces", v1alpha1.ReasonTooFewCores, "set coresPerPort to 1: the driver of these ports has one queue"},
	{"could not set PACKET_RX_RING", v1alpha1.ReasonTRexServerFailed, "raise the traffic pod's memory"},
	{"unable to bind ZMQ server", v1alpha1.ReasonTRexServerFailed, "see what else listens on port 4501 in the pod's network"},
	{"can't bind to ZMQ socket", v1alpha1.ReasonTRexServerFailed, "see what else listens on port 4500 in the pod's network"},
}

// explain makes a failure of a faulty server, with its last lines.
func explain(what string, lines []string, extra string) error {
	f := &measure.Failure{Reason: v1alpha1.ReasonTRexServerFailed, Remedy: "look at the traffic pod's log"}
	if strings.TrimSpace(extra) != "" {
		f.Remedy += ", and try without the testbed's extraConfiguration"
	}
	last := tail(lines)
search:
	for i := len(lines) - 1; i >= 0; i-- {
		for _, known := range lastWords {
			if strings.Contains(lines[i], known.words) {
				f.Reason, f.Remedy = known.reason, known.remedy
				if !strings.Contains(last, lines[i]) {
					last = tail(lines[i:i+1]) + " | ... | " + last
				}
				break search
			}
		}
	}
	f.Err = fmt.Errorf("the TRex server %s", what)
	if last != "" {
		f.Err = fmt.Errorf("%w; its last lines: %s", f.Err, last)
	}
	return f
}
