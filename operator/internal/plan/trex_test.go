package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/traffic/trex/planning"
)

func TestTRexSettings(t *testing.T) {
	small := func(in *plan.Input) {
		pages := in.Testbed.Spec.Generator.TRex.Hugepages
		pages.PageSize, pages.Memory = "2Mi", new(resource.MustParse("1026Mi"))
		in.Nodes[1].Status.Allocatable["hugepages-2Mi"] = resource.MustParse("2Gi")
	}
	for name, test := range map[string]struct {
		in     plan.Input
		change func(*plan.Input)
		want   planning.Settings
	}{
		"AFPacket": {plantest.TRexAFPacket(), func(*plan.Input) {}, planning.Settings{Mode: planning.AFPacket, CoresPerPort: 1}},
		"DPDK": {plantest.TRexDPDK(), func(*plan.Input) {}, planning.Settings{
			Mode: planning.DPDK, CoresPerPort: 3, HugepagesMebibytes: 4096, Resources: [2]string{"openshift.io/gen_west", "openshift.io/gen_east"},
		}},
		"small pages": {plantest.TRexDPDK(), small, planning.Settings{
			Mode: planning.DPDK, CoresPerPort: 3, HugepagesMebibytes: 1026, Resources: [2]string{"openshift.io/gen_west", "openshift.io/gen_east"},
		}},
		"extra configuration": {plantest.TRexAFPacket(), extra(`{"rx_desc":4096,"memory":{"mbuf_64":100}}`), planning.Settings{
			Mode: planning.AFPacket, CoresPerPort: 1, ExtraConfiguration: "memory:\n  mbuf_64: 100\nrx_desc: 4096\n",
		}},
		"an empty one": {plantest.TRexAFPacket(), extra(`{}`), planning.Settings{Mode: planning.AFPacket, CoresPerPort: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			test.change(&test.in)
			want := driverSettings(t, "TRex", test.want)
			if diff := cmp.Diff(want, mustMake(t, test.in).Instructions.Driver); diff != "" {
				t.Errorf("the driver's settings (-want +got):\n%s", diff)
			}
		})
	}
}

func driverSettings(t *testing.T, name string, settings any) measure.DriverSettings {
	t.Helper()
	written, err := measure.NewDriverSettings(name, settings)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func extra(json string) func(*plan.Input) {
	return func(in *plan.Input) {
		in.Testbed.Spec.Generator.TRex.ExtraConfiguration = &runtime.RawExtension{Raw: []byte(json)}
	}
}

// TestTRexPod checks image, resources and hugepages, with and without settings for them.
func TestTRexPod(t *testing.T) {
	const mebibyte = 1 << 20
	trexPod := generator.Pod{
		Capabilities: []corev1.Capability{"IPC_LOCK", "NET_ADMIN", "NET_RAW"},
		Directories:  []generator.Directory{{Name: "scratch", Path: "/tmp", MaxBytes: 64 * mebibyte}, {Name: "dpdk", Path: "/var/run/dpdk", MaxBytes: 64 * mebibyte}},
	}
	p := mustMake(t, plantest.TRexAFPacket())
	want := plan.Generator{Image: plantest.TRexImage, Resources: plan.Resources{RequestMilliCPU: 1000, MemoryBytes: 1024 * mebibyte}, Pod: trexPod}
	if diff := cmp.Diff(want, p.Generator); diff != "" {
		t.Errorf("AFPacket (-want +got):\n%s", diff)
	}
	if p.Calibration == nil {
		t.Error("two bridges, and no calibration")
	}
	in := plantest.TRexDPDK()
	in.Testbed.Spec.Generator.Image, in.Defaults.GeneratorImages = "registry.example/own:1", map[v1alpha1.GeneratorDriver]string{v1alpha1.DriverTRex: "registry.example/default:1"}
	p = mustMake(t, in)
	trexPod.OwnsPorts, trexPod.Hugepages = true, &generator.Hugepages{PageSize: "1Gi", Bytes: 4096 * mebibyte}
	want = plan.Generator{
		Image:     "registry.example/own:1",
		Resources: plan.Resources{RequestMilliCPU: 8000, LimitMilliCPU: 8000, MemoryBytes: 1024 * mebibyte},
		Pod:       trexPod,
	}
	if diff := cmp.Diff(want, p.Generator); diff != "" {
		t.Errorf("DPDK (-want +got):\n%s", diff)
	}
	if p.Calibration != nil {
		t.Error("a calibration on virtual functions")
	}
	if got, want := p.DevicesOf(""), (map[string]int64{"openshift.io/gen_west": 1, "openshift.io/gen_east": 1}); !cmp.Equal(got, want) {
		t.Errorf("the traffic pod takes %v, want %v", got, want)
	}
}

func TestTRexIsRefused(t *testing.T) {
	pages := func(node int, allocatable string) func(*plan.Input) {
		return func(in *plan.Input) {
			in.Nodes[node].Status.Allocatable["hugepages-1Gi"] = resource.MustParse(allocatable)
		}
	}
	for name, test := range map[string]struct {
		in      plan.Input
		change  func(*plan.Input)
		reason  string
		message []string
		remedy  string
	}{
		"no image": {
			plantest.TRexAFPacket(), func(in *plan.Input) { in.Defaults.GeneratorImages = nil },
			v1alpha1.ReasonImageMissing, []string{`testbed "lab"`, "ships no image"}, "spec.generator.image",
		},
		"packets in fragments": {
			plantest.TRexAFPacket(), func(in *plan.Input) { in.Run.Spec.Experiment.Traffic.Packets = []v1alpha1.Packet{{PayloadBytes: 4096}} },
			v1alpha1.ReasonNotOfferedByDriver, []string{"spec.experiment.traffic.packets", "packets in fragments", "driver TRex"}, "driver XDP",
		},
		"many flows in random order": {
			plantest.TRexAFPacket(), randomFlows(32_767, v1alpha1.FlowSourceAddress, v1alpha1.FlowSourcePort),
			v1alpha1.ReasonNotOfferedByDriver, []string{"spec.experiment.traffic.flows", "32767 flows in random order", "SourceAddress distinguishes 32766"}, "flowOrder Sequential",
		},
		"a verdict on IPDV": {
			plantest.TRexAFPacket(), func(in *plan.Input) {
				in.Run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{{Name: "steady", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricDelayVariationP99}}}
			},
			v1alpha1.ReasonNotOfferedByDriver, []string{"spec.experiment.acceptance", `DelayVariationP99Nanoseconds ("steady")`}, "use PacketDelayVariationP99Nanoseconds",
		},
		"a verdict on jitter": {
			plantest.TRexAFPacket(), func(in *plan.Input) {
				in.Run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{{Name: "steady", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricJitterMax}}}
			},
			v1alpha1.ReasonNotOfferedByDriver, []string{"spec.experiment.acceptance", `JitterMaxNanoseconds ("steady")`}, "driver XDP",
		},
		"other ports for the server": {
			plantest.TRexAFPacket(), extra(`{"zmq_rpc_port":5555}`),
			v1alpha1.ReasonInvalidGeneratorConfiguration, []string{"extraConfiguration", "zmq_rpc_port", "zmq_pub_port"}, "leave zmq_rpc_port out",
		},
		"other interfaces": {
			plantest.TRexAFPacket(), extra(`{"interfaces":["eth0","eth1"]}`),
			v1alpha1.ReasonInvalidGeneratorConfiguration, []string{"extraConfiguration", "interfaces"}, "spec.ports",
		},
		"a long configuration": {
			plantest.TRexAFPacket(), extra(`{"a":"` + strings.Repeat("x", 4096) + `"}`),
			v1alpha1.ReasonInvalidGeneratorConfiguration, []string{"4100 bytes"}, "4096 bytes",
		},
		"no mapping": {
			plantest.TRexAFPacket(), extra(`[1]`),
			v1alpha1.ReasonInvalidGeneratorConfiguration, []string{"extraConfiguration is none"}, "mapping",
		},
		"no hugepages": {
			plantest.TRexDPDK(), pages(1, "0"),
			v1alpha1.ReasonInsufficientHugepages, []string{"4294967296 bytes of hugepages-1Gi", "has 0 bytes"}, "spec.generator.trex.hugepages.memory",
		},
		"hugepages on the device's node alone": {
			plantest.TRexDPDK(), func(in *plan.Input) {
				pages(0, "8Gi")(in)
				pages(1, "2Gi")(in)
				in.Testbed.Spec.Generator.NodeSelector = map[string]string{corev1.LabelHostname: "generator"}
			},
			v1alpha1.ReasonInsufficientHugepages, []string{`"generator", has 2147483648 bytes`}, "restart its kubelet",
		},
		"no virtual function": {
			plantest.TRexDPDK(), func(in *plan.Input) { plantest.Offer(&in.Nodes[1], "openshift.io/gen_west", 0) },
			v1alpha1.ReasonResourceMissing, []string{"1 of openshift.io/gen_west"}, "device plugin",
		},
		"too few CPUs": {
			plantest.TRexDPDK(), func(in *plan.Input) { in.Nodes[1].Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("6") },
			v1alpha1.ReasonInsufficientCPU, []string{"8000m", "6000m"}, "spec.generator.cpu",
		},
		"networks that give no device": {
			plantest.TRexDPDK(), func(in *plan.Input) {
				withExistingNetworks(in)
				plantest.Attach(in, v1alpha1.AttachmentVeth)
				in.NetworkResources = map[string]string{"west-net": "openshift.io/gen_west"}
			},
			v1alpha1.ReasonResourceMissing, []string{"port east", "names no resource"}, "k8s.v1.cni.cncf.io/resourceName",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.change(&test.in)
			expectFailure(t, failureOf(t, test.in), test.reason, test.message, test.remedy)
		})
	}
}

func randomFlows(count int32, fields ...v1alpha1.FlowField) func(*plan.Input) {
	return func(in *plan.Input) {
		traffic := &in.Run.Spec.Experiment.Traffic
		traffic.Flows, traffic.FlowVariation, traffic.FlowOrder, traffic.FlowSeed = count, fields, v1alpha1.FlowsRandom, 1
	}
}

// TestTRexIsOffered checks that what TRex does make is not refused.
func TestTRexIsOffered(t *testing.T) {
	for name, change := range map[string]func(*plan.Input){
		"random flows that one field distinguishes": randomFlows(32_766, v1alpha1.FlowSourceAddress, v1alpha1.FlowSourcePort),
		"a million flows in sequence": func(in *plan.Input) {
			randomFlows(1_000_000, v1alpha1.FlowSourceAddress, v1alpha1.FlowSourcePort)(in)
			in.Run.Spec.Experiment.Traffic.FlowOrder = v1alpha1.FlowsSequential
		},
		"a tag": func(in *plan.Input) { in.Testbed.Spec.Ports.West.VLAN = new(int32(7)) },
		"a mix": func(in *plan.Input) {
			in.Run.Spec.Experiment.Traffic.IMIX = []v1alpha1.FrameMix{{Name: v1alpha1.MixSimple}}
		},
		"a verdict on packet delay variation": func(in *plan.Input) {
			in.Run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{{Name: "steady", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricPacketDelayVariationP99}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := plantest.TRexAFPacket()
			change(&in)
			mustMake(t, in)
		})
	}
}

// TestCheckGenerator checks that what forbids every run is reported for the testbed itself, before there is a run.
func TestCheckGenerator(t *testing.T) {
	if failure := plan.CheckGenerator(plantest.Testbed(), plan.Defaults{}); failure != nil {
		t.Errorf("driver XDP: %v", failure)
	}
	in := plantest.TRexAFPacket()
	if failure := plan.CheckGenerator(in.Testbed, in.Defaults); failure != nil {
		t.Errorf("with an image: %v", failure)
	}
	if failure := plan.CheckGenerator(in.Testbed, plan.Defaults{}); failure == nil || failure.Reason != v1alpha1.ReasonImageMissing {
		t.Errorf("without an image: %v", failure)
	}
}

// TestMissingHugepages checks that a testbed reports that its nodes lack hugepages.
func TestMissingHugepages(t *testing.T) {
	in := plantest.TRexDPDK()
	if missing := plan.MissingResource(in.Testbed, in.Nodes); missing != nil {
		t.Errorf("got %v", missing)
	}
	in.Nodes[1].Status.Allocatable["hugepages-1Gi"] = resource.MustParse("3Gi")
	missing := plan.MissingResource(in.Testbed, in.Nodes)
	if missing == nil || missing.Reason != v1alpha1.ReasonInsufficientHugepages || !strings.Contains(missing.Error(), "4294967296 bytes of hugepages-1Gi for the generator") {
		t.Errorf("got %v", missing)
	}
}

// TestHugepagesAreShared checks that VMs with pages of the same size share the node's with the generator.
func TestHugepagesAreShared(t *testing.T) {
	shared := func(allocatable string) plan.Input {
		in := plantest.TRexDPDK()
		plantest.InVMs(&in)
		in.Run.Spec.Experiment.Chain[0].Platform = &v1alpha1.Platform{Memory: new(resource.MustParse("2Gi")), Hugepages: "1Gi"}
		node := plantest.Node("one")
		node.Labels["kubevirt.io/schedulable"] = "true"
		node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("32")
		node.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("64Gi")
		node.Status.Allocatable["hugepages-1Gi"] = resource.MustParse(allocatable)
		for _, pool := range []string{"gen_west", "gen_east", "dut_west", "dut_east"} {
			plantest.Offer(&node, "openshift.io/"+pool, 1)
		}
		in.Nodes = []corev1.Node{node}
		return in
	}
	mustMake(t, shared("6Gi"))
	expectFailure(t, failureOf(t, shared("5Gi")), v1alpha1.ReasonInsufficientHugepages, []string{"4294967296 bytes", "2147483648 bytes", "5368709120 bytes"}, "hugepages.memory")
}

// TestTRexSendsJumboFrames checks that TRex sends what fits the ports, also where driver XDP would not.
func TestTRexSendsJumboFrames(t *testing.T) {
	in := plantest.TRexDPDK()
	in.Testbed.Spec.Ports.MTUBytes, in.Run.Spec.Experiment.Traffic.FrameBytes = 9000, []int32{9018}
	mustMake(t, in)
	in.Testbed.Spec.Generator = plantest.Testbed().Spec.Generator
	expectFailure(t, failureOf(t, in), v1alpha1.ReasonFrameTooLarge, []string{"9018", "XDP driver"}, "3412")
}

func TestTRexDigest(t *testing.T) {
	original := mustMake(t, plantest.TRexDPDK()).Digest
	for name, change := range map[string]func(*v1alpha1.TRexGenerator){
		"cores":     func(trex *v1alpha1.TRexGenerator) { trex.CoresPerPort = 2 },
		"hugepages": func(trex *v1alpha1.TRexGenerator) { trex.Hugepages.Memory = new(resource.MustParse("2Gi")) },
		"page size": func(trex *v1alpha1.TRexGenerator) { trex.Hugepages.PageSize = "2Mi" },
		"extra configuration": func(trex *v1alpha1.TRexGenerator) {
			trex.ExtraConfiguration = &runtime.RawExtension{Raw: []byte(`{"rx_desc":4096}`)}
		},
	} {
		in := plantest.TRexDPDK()
		in.Nodes[1].Status.Allocatable["hugepages-2Mi"] = resource.MustParse("8Gi")
		change(in.Testbed.Spec.Generator.TRex)
		if mustMake(t, in).Digest == original {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	// No figure depends on the order in which the mapping was written.
	digest := func(json string) string {
		in := plantest.TRexDPDK()
		extra(json)(&in)
		return mustMake(t, in).Digest
	}
	if digest(`{"a":1,"b":2}`) != digest(`{"b":2,"a":1}`) {
		t.Error("the digest depends on the order of the configuration")
	}
}
