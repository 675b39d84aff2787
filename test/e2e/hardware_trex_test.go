package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// trexNetwork returns the network of a TRex port: a whole card, which the device plugin gives from a pool whose cards are
// bound to vfio-pci. The plugin host-device finds no interface and leaves it alone.
func trexNetwork(side string) string {
	return fmt.Sprintf(`apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: %[1]s-generator
  annotations: {k8s.v1.cni.cncf.io/resourceName: openshift.io/trex_%[1]s}
spec:
  config: '{"cniVersion": "1.0.0", "name": "%[1]s-generator", "type": "host-device"}'`, side)
}

// TestHardwareTRex measures a router on virtual functions from a TRex that drives two whole cards by DPDK, through
// vfio-pci and the machine's IOMMU.
func TestHardwareTRex(t *testing.T) {
	needHardware(t)
	image := os.Getenv("VNFBENCH_E2E_TREX_IMAGE")
	if image == "" {
		t.Skip("NOT RUN: no TRex was tried. Bring one: make e2e-hardware TREX_TARBALL=v3.08.tar.gz TREX_SHA256=...")
	}
	ns, networks := namespace(t), namespace(t) // nothing is to be left in the first
	testbed := hardwareTestbed(existingNetworks(t, networks, trexNetwork, "dut"), "attachments: [Veth]")
	testbed = strings.Replace(testbed, `cpu: "1"}`, fmt.Sprintf(`cpu: "4", driver: TRex, image: %s, trex: {hugepages: {memory: 1Gi, pageSize: 2Mi}}}`, image), 1)
	run := measureHardwareIn(t, ns, testbed, "trex", hardwareRun("trex", routerOnNetworks), nil)
	checkPCI(t, run, v1alpha1.PCIFunctionPhysical, [2]string{"0000:07:00.0", "0000:08:00.0"})
	if g := run.Status.Generator; g.TransmitPath != "DPDK" || g.ReceiveMode != "Software" {
		t.Errorf("the transmit path is %q and the receive mode %q, want DPDK and Software, because QEMU's 82576 has no filters for TRex", g.TransmitPath, g.ReceiveMode)
	}
}
