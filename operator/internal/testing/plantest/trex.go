package plantest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// TRexImage is the image of testbeds with driver TRex that name no other.
const TRexImage = "registry.example/trex:v3.08"

// TRexAFPacket returns a run of one router between two bridges, with frames by TRex through packet
// sockets.
func TRexAFPacket() plan.Input {
	in := Input(1)
	in.Defaults.GeneratorImages = map[v1alpha1.GeneratorDriver]string{v1alpha1.DriverTRex: TRexImage}
	generator := &in.Testbed.Spec.Generator
	generator.Driver, generator.Memory, generator.XDP = v1alpha1.DriverTRex, "", v1alpha1.XDPGenerator{TransmitPath: v1alpha1.TransmitAuto}
	generator.TRex = &v1alpha1.TRexGenerator{Mode: v1alpha1.TRexAFPacket, CoresPerPort: 1}
	return in
}

// TRexDPDK returns a run of one router on virtual functions, with frames by TRex on two separate
// ones, generator and device on two nodes.
func TRexDPDK() plan.Input {
	in := SRIOV(1)
	generator := &in.Testbed.Spec.Generator
	generator.Driver, generator.Image, generator.Memory = v1alpha1.DriverTRex, TRexImage, ""
	generator.CPU = "8"
	generator.TRex = &v1alpha1.TRexGenerator{
		Mode: v1alpha1.TRexDPDK, CoresPerPort: 3,
		Hugepages: &v1alpha1.TRexHugepages{Memory: "4Gi", PageSize: "1Gi"},
	}
	node := &in.Nodes[1]
	node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("16")
	node.Status.Allocatable["hugepages-1Gi"] = resource.MustParse("8Gi")
	return in
}
