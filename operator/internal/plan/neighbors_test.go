package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

func neighborInput() plan.Input {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.NoisyNeighbors = []v1alpha1.NoisyNeighbor{
		{Name: "cpu", Kind: v1alpha1.NeighborCPU, Workers: 2, LoadPercent: new(int32(80))},
		{Name: "memory", Kind: v1alpha1.NeighborMemory, Workers: 1, Memory: "1Gi"},
		{Name: "disk", Kind: v1alpha1.NeighborDisk, Workers: 1, CPU: "50m"},
		{Name: "frames", Kind: v1alpha1.NeighborNetwork, Workers: 1, BitsPerSecond: new(int64(100_000_000))},
		{Name: "one-way", Kind: v1alpha1.NeighborNetwork, Workers: 1, FramesPerSecond: new(int64(7)), FrameBytes: new(int32(9018)), Directions: v1alpha1.DirectionsReverse},
	}
	// The largest of a lab's nodes.
	in.Nodes[0].Status.Allocatable["cpu"], in.Nodes[0].Status.Allocatable["memory"] = resource.MustParse("4"), resource.MustParse("8Gi")
	return in
}

func TestNeighbors(t *testing.T) {
	p := mustMake(t, neighborInput())
	var loads []measure.NeighborLoad
	for _, n := range p.Neighbors {
		loads = append(loads, n.Load)
		if n.Image != "registry.example/neighbor:v1" || (n.Network != nil) != (n.Load.Kind == "Network") || n.Resources.LimitMilliCPU < n.Resources.RequestMilliCPU {
			t.Errorf("%+v", n)
		}
	}
	want := []measure.NeighborLoad{
		{Name: "cpu", Kind: "CPU", Workers: 2, LoadPercent: 80},
		{Name: "memory", Kind: "Memory", Workers: 1, Bytes: 1 << 30},
		{Name: "disk", Kind: "Disk", Workers: 1, Bytes: 256 << 20},
		// 100 Mbit/s of 512 bytes, rounded down.
		{Name: "frames", Kind: "Network", FramesPerSecond: 24414, FrameBytes: 512, Directions: "Both"},
		{Name: "one-way", Kind: "Network", FramesPerSecond: 7, FrameBytes: 9018, Directions: "Reverse"},
	}
	if diff := cmp.Diff(want, loads); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, p.Instructions.Neighbors); diff != "" || p.Instructions.Compares() {
		t.Error(diff)
	}
	if r := p.Neighbors[0].Resources; r.RequestMilliCPU != 100 || r.LimitMilliCPU != 2100 {
		t.Errorf("two workers have %+v", r)
	}
	if r := p.Neighbors[1].Resources; r.MemoryBytes <= 1<<30 || r.MemoryBytes > 1<<30+200<<20 {
		t.Errorf("a worker of 1Gi has %+v", r)
	}
	if n := p.Neighbors[2]; n.Resources.RequestMilliCPU != 50 || n.ScratchBytes < 256<<20*3/2 {
		t.Errorf("the disk has %+v", n)
	}
	if mtu := p.Neighbors[4].Network.West.MTUBytes; mtu != 9000 {
		t.Errorf("frames of 9018 bytes go over an MTU of %d", mtu)
	}
}

// neighborVMs returns those of neighborInput, as virtual machines.
func neighborVMs() plan.Input {
	in := neighborInput()
	in.KubeVirt = true
	in.Nodes[0].Labels["kubevirt.io/schedulable"] = "true"
	for i := range in.Run.Spec.Experiment.NoisyNeighbors {
		in.Run.Spec.Experiment.NoisyNeighbors[i].Runtime = v1alpha1.RuntimeVirtualMachine
	}
	in.Run.Spec.Experiment.NoisyNeighbors[4].Attachment = v1alpha1.AttachmentE1000e
	return in
}

// TestNeighborVMs checks that a neighbor in a virtual machine has a vCPU for each of its threads, what its guest needs in
// addition to its load, and the same load.
func TestNeighborVMs(t *testing.T) {
	p, pods := mustMake(t, neighborVMs()), mustMake(t, neighborInput())
	if diff := cmp.Diff(pods.Instructions.Neighbors, p.Instructions.Neighbors); diff != "" {
		t.Error(diff)
	}
	for i, want := range []struct {
		vcpus      int32
		milliCPU   int64
		attachment v1alpha1.Attachment
		scratch    bool
	}{
		{2, 200, "", false}, {1, 100, "", false}, {1, 50, "", true},
		{2, 200, v1alpha1.AttachmentVirtio, false}, {1, 100, v1alpha1.AttachmentE1000e, false},
	} {
		n := p.Neighbors[i]
		least := n.Load.Bytes
		if n.Load.Kind != "Memory" {
			least = 0
		}
		if !n.IsVM() || n.VM.VCPUs != want.vcpus || n.VM.RequestMilliCPU() != want.milliCPU || n.Attachment != want.attachment || n.ScratchBytes > 0 != want.scratch {
			t.Errorf("%+v with %+v", n, n.VM)
		}
		// 192 MiB boot; more than half a gibibyte in addition to the load would be waste.
		if rest := n.VM.MemoryBytes - least; rest < 192<<20 || rest > 512<<20 || n.Resources.MemoryBytes <= n.VM.MemoryBytes {
			t.Errorf("%s has %d bytes without its load and requests %+v", n.Load.Name, rest, n.Resources)
		}
		if n.Image != "registry.example/neighbor-guest:v1" || n.Resources.RequestMilliCPU <= want.milliCPU {
			t.Errorf("%+v", n)
		}
	}
}

func TestNeighborVMsNeedKubeVirt(t *testing.T) {
	in := neighborVMs()
	in.KubeVirt = false
	if _, err := plan.Make(in); measure.ReasonOf(err) != v1alpha1.ReasonKubeVirtNotInstalled || !strings.Contains(err.Error(), `neighbor "cpu" is a virtual machine`) || !strings.Contains(err.Error(), "spec.experiment.noisyNeighbors") {
		t.Errorf("got %v", err)
	}
	in = neighborVMs()
	delete(in.Nodes[0].Labels, "kubevirt.io/schedulable")
	if _, err := plan.Make(in); measure.ReasonOf(err) != v1alpha1.ReasonNoMatchingNode || !strings.Contains(err.Error(), "kubevirt.io/schedulable") {
		t.Errorf("got %v", err)
	}
}

// TestNeighborsPorts checks that ports of neighbors have separate MAC addresses and bridges.
func TestNeighborsPorts(t *testing.T) {
	in := neighborInput()
	in.Run.Spec.Experiment.Measurements.TCP = &v1alpha1.TCP{Streams: []int32{1}, DurationSeconds: 1}
	p := mustMake(t, in)
	segments := append(append([]plan.Segment{}, p.Segments...), *p.Calibration)
	for _, n := range p.Neighbors {
		if n.Network != nil {
			segments = append(segments, *n.Network)
		}
	}
	seen := map[string]bool{}
	for _, s := range segments {
		for _, value := range []string{s.Bridge, s.West.MAC, s.East.MAC, s.West.Network, s.East.Network} {
			if seen[value] {
				t.Errorf("%q is there twice", value)
			}
			seen[value] = true
		}
	}
	for _, end := range p.Endpoints {
		if seen[end.Port.MAC] {
			t.Errorf("%q is there twice", end.Port.MAC)
		}
	}
}

func TestNeighborsAreInTheDigest(t *testing.T) {
	bare, noisy := mustMake(t, plantest.Input(1)), mustMake(t, neighborInput())
	again := neighborInput()
	again.Run.Name, again.Run.UID = "other", "other"
	compared, image := neighborInput(), neighborInput()
	compared.Run.Spec.Experiment.Measurements.NoisyNeighbors = v1alpha1.NeighborsWithAndWithout
	image.Defaults.NeighborImage = "registry.example/neighbor:v2"
	guest, card := neighborVMs(), neighborVMs()
	guest.Defaults.NeighborGuestImage = "registry.example/neighbor-guest:v2"
	card.Run.Spec.Experiment.NoisyNeighbors[3].Attachment = v1alpha1.AttachmentE1000
	vms := mustMake(t, neighborVMs()).Digest
	if mustMake(t, guest).Digest == vms || mustMake(t, card).Digest == vms {
		t.Error("the digest does not depend on a machine's image or card")
	}
	if mustMake(t, again).Digest != noisy.Digest {
		t.Error("the digest depends on the run's name")
	}
	for name, other := range map[string]*plan.Plan{"none": bare, "compared": mustMake(t, compared), "image": mustMake(t, image), "machines": mustMake(t, neighborVMs())} {
		if other.Digest == noisy.Digest {
			t.Errorf("%s: the digests are equal", name)
		}
	}
	if !mustMake(t, compared).Instructions.Compares() {
		t.Error("it does not compare")
	}
}

func TestNeighborsNeedResources(t *testing.T) {
	in := neighborInput()
	in.Nodes[0].Status.Allocatable["memory"] = resource.MustParse("1Gi")
	_, err := plan.Make(in)
	if measure.ReasonOf(err) != v1alpha1.ReasonInsufficientMemory || !strings.Contains(err.Error(), "and the neighbors") || !strings.Contains(err.Error(), "lower memory in the run's spec.experiment.noisyNeighbors") {
		t.Errorf("got %v", err)
	}
}

// TestNeighborsNeedStorage checks that a neighbor does not fill the disk of a node that is smaller.
func TestNeighborsNeedStorage(t *testing.T) {
	in := neighborInput()
	in.Nodes[0].Status.Allocatable["ephemeral-storage"] = resource.MustParse("1Gi")
	mustMake(t, in)
	for i, n := range in.Run.Spec.Experiment.NoisyNeighbors {
		if n.Kind == v1alpha1.NeighborDisk {
			in.Run.Spec.Experiment.NoisyNeighbors[i].Disk = "1Gi"
		}
	}
	_, err := plan.Make(in)
	if measure.ReasonOf(err) != v1alpha1.ReasonInsufficientStorage || !strings.Contains(err.Error(), "lower disk in the run's spec.experiment.noisyNeighbors") {
		t.Errorf("got %v", err)
	}
}

func TestNeighborsWithoutAFrame(t *testing.T) {
	in := neighborInput()
	// The minimum that the API takes, in frames that are larger than it lets them be.
	in.Run.Spec.Experiment.NoisyNeighbors[3].BitsPerSecond, in.Run.Spec.Experiment.NoisyNeighbors[3].FrameBytes = new(int64(1000)), new(int32(9018))
	_, err := plan.Make(in)
	if measure.ReasonOf(err) != v1alpha1.ReasonInvalidLoadRange || !strings.Contains(err.Error(), `bitsPerSecond of neighbor "frames"`) {
		t.Errorf("got %v", err)
	}
}
