package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// trexNetwork returns the network of a TRex port: a whole card, which the device plugin gives from a pool whose cards are
// bound to vfio-pci. The plugin host-device finds no interface and leaves it alone.
func trexNetwork(side string) string {
	return fmt.Sprintf(`apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: trex-%[1]s
  annotations: {k8s.v1.cni.cncf.io/resourceName: openshift.io/trex_%[1]s}
spec:
  config: '{"cniVersion": "1.0.0", "name": "trex-%[1]s", "type": "host-device"}'`, side)
}

// TestHardwareTRex measures a router on virtual functions from a TRex that drives two whole cards by DPDK, through
// vfio-pci and the machine's IOMMU.
func TestHardwareTRex(t *testing.T) {
	needHardware(t)
	image := os.Getenv("VNFBENCH_E2E_TREX_IMAGE")
	if image == "" {
		t.Skip("NOT RUN: no TRex was tried. Bring one: make e2e-hardware TREX_TARBALL=v3.08.tar.gz TREX_SHA256=...")
	}
	networks := namespace(t)
	apply(t, networks, trexNetwork("west"))
	apply(t, networks, trexNetwork("east"))
	const port = "%[1]s: {attachment: NetworkAttachmentDefinition, networkAttachmentDefinition: {generatorRef: {name: trex-%[1]s, namespace: %[2]s}}}"
	testbed := hardwareTestbed(fmt.Sprintf(port, "west", networks)+", "+fmt.Sprintf(port, "east", networks), deviceVirtualFunctions)
	testbed = strings.Replace(testbed, `cpu: "1"}`, fmt.Sprintf(`cpu: "4", driver: TRex, image: %s, trex: {hugepages: {memory: 1Gi, pageSize: 2Mi}}}`, image), 1)
	run := measureHardware(t, testbed, "trex", routerOnFunctions)
	if g := run.Status.Generator; g.TransmitPath != "DPDK" {
		t.Errorf("the transmit path is %q, want DPDK: %+v", g.TransmitPath, g)
	}
	checkReceiveMode(t, run, "Hardware")
}
