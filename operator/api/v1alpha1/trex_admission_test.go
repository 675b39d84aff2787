package v1alpha1_test

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// virtualFunctions are ports that mode DPDK can take.
const virtualFunctions = "{west: {attachment: SRIOV, sriov: {resourceName: example.com/west}}, east: {attachment: SRIOV, sriov: {resourceName: example.com/east}}}"

func TestBadTRexIsRefusedWithFieldAndRemedy(t *testing.T) {
	const dpdk = "{driver: TRex, cpu: 4, trex: {hugepages: {memory: 2Gi}}}"
	for name, test := range map[string]struct {
		generator, ports string
		want             []string
	}{
		"TRex without its settings":       {"{driver: TRex}", "", []string{"spec.generator.driver", "set trex.mode AFPacket, or DPDK with trex.hugepages"}},
		"settings without TRex":           {"{trex: {mode: AFPacket}}", "", []string{"spec.generator.trex", "set driver TRex, or leave trex out"}},
		"settings with XDP":               {"{driver: XDP, trex: {mode: AFPacket}}", "", []string{"spec.generator.trex", "set driver TRex, or leave trex out"}},
		"XDP's threads":                   {"{driver: TRex, trex: {mode: AFPacket}, xdp: {threads: 2}}", "", []string{"spec.generator.xdp", "set trex.coresPerPort instead of threads"}},
		"XDP's receive ring":              {"{driver: TRex, trex: {mode: AFPacket}, xdp: {ringFrames: 256}}", "", []string{"spec.generator.xdp", "leave xdp out"}},
		"XDP's interrupts":                {"{driver: TRex, trex: {mode: AFPacket}, xdp: {interruptMicroseconds: 0}}", "", []string{"spec.generator.xdp", "leave xdp out"}},
		"XDP's way out":                   {"{driver: TRex, trex: {mode: AFPacket}, xdp: {transmitPath: Direct}}", "", []string{"spec.generator.xdp", "leave xdp out"}},
		"an unknown mode":                 {"{driver: TRex, trex: {mode: RawSocket}}", "", []string{"spec.generator.trex.mode", "Unsupported value", "AFPacket"}},
		"DPDK on bridges":                 {dpdk, "{}", []string{"spec.ports.west", "spec.ports.east", "use attachment SRIOV", "AFPacket"}},
		"DPDK on one bridge":              {dpdk, "{west: {attachment: SRIOV, sriov: {resourceName: a/b}}}", []string{"spec.ports.east", "use attachment SRIOV"}},
		"DPDK on a whole NIC":             {dpdk, "{west: {attachment: HostDevice, hostDevice: {pciAddress: '0000:03:00.0'}}, east: {attachment: SRIOV, sriov: {resourceName: a/b}}}", []string{"spec.ports.west", "device plugin gives"}},
		"DPDK and a loop":                 {dpdk, "{west: {attachment: SRIOV, sriov: {resourceName: a/b}}, east: {attachment: SRIOV, sriov: {resourceName: a/b}}, calibrationNetworks: [{name: a}, {name: b}]}", []string{"spec.ports.calibrationNetworks", "west and east alone"}},
		"DPDK without hugepages":          {"{driver: TRex, cpu: 4, trex: {}}", virtualFunctions, []string{"spec.generator.trex.hugepages", "set hugepages.memory"}},
		"AFPacket with hugepages":         {"{driver: TRex, trex: {mode: AFPacket, hugepages: {memory: 2Gi}}}", "", []string{"spec.generator.trex.hugepages", "leave them out"}},
		"hugepages of unknown size":       {"{driver: TRex, cpu: 4, trex: {hugepages: {memory: 2Gi, pageSize: 4Ki}}}", virtualFunctions, []string{"spec.generator.trex.hugepages.pageSize", "Unsupported value"}},
		"hugepages without memory":        {"{driver: TRex, cpu: 4, trex: {hugepages: {pageSize: 1Gi}}}", virtualFunctions, []string{"spec.generator.trex.hugepages.memory", "Required value"}},
		"half a page":                     {"{driver: TRex, cpu: 4, trex: {hugepages: {memory: 1536Mi}}}", virtualFunctions, []string{"spec.generator.trex.hugepages.memory", "multiple of pageSize"}},
		"part of a byte":                  {"{driver: TRex, cpu: 4, trex: {hugepages: {memory: 1073741824500m}}}", virtualFunctions, []string{"spec.generator.trex.hugepages.memory", "should match"}},
		"too few hugepages":               {"{driver: TRex, cpu: 4, trex: {hugepages: {memory: 512Mi, pageSize: 2Mi}}}", virtualFunctions, []string{"spec.generator.trex.hugepages.memory", "1Gi to 16Ti"}},
		"DPDK on shared CPUs":             {"{driver: TRex, trex: {hugepages: {memory: 2Gi}}}", virtualFunctions, []string{"spec.generator.trex", "set cpu to 2 + 2 x trex.coresPerPort"}},
		"DPDK on parts of CPUs":           {"{driver: TRex, cpu: 4500m, trex: {hugepages: {memory: 2Gi}}}", virtualFunctions, []string{"spec.generator.cpu", "must be a whole number"}},
		"too few CPUs for three cores":    {"{driver: TRex, cpu: '7', trex: {coresPerPort: 3, hugepages: {memory: 2Gi}}}", virtualFunctions, []string{"spec.generator.cpu", "raise cpu, or lower coresPerPort"}},
		"AFPacket with two threads":       {"{driver: TRex, cpu: 6, trex: {mode: AFPacket, coresPerPort: 2}}", "", []string{"spec.generator.trex.coresPerPort", "leave coresPerPort at 1"}},
		"no core":                         {"{driver: TRex, trex: {mode: AFPacket, coresPerPort: 0}}", "", []string{"spec.generator.trex.coresPerPort", "greater than or equal to 1"}},
		"too many cores":                  {"{driver: TRex, cpu: 64, trex: {mode: AFPacket, coresPerPort: 17}}", "", []string{"spec.generator.trex.coresPerPort", "less than or equal to 16"}},
		"little memory":                   {"{driver: TRex, memory: 256Mi, trex: {mode: AFPacket}}", "", []string{"spec.generator.memory", "at least 512Mi"}},
		"a configuration that is no text": {"{driver: TRex, trex: {mode: AFPacket, extraConfiguration: [1]}}", "", []string{"spec.generator.trex.extraConfiguration", "must be of type string"}},
		"a long configuration":            {"{driver: TRex, trex: {mode: AFPacket, extraConfiguration: 'a: " + strings.Repeat("x", 4096) + "'}}", "", []string{"spec.generator.trex.extraConfiguration", "may not be more than 4096 bytes"}},
		"a setting that TRex has not got": {"{driver: TRex, trex: {mode: AFPacket, turbo: true}}", "", []string{"unknown field", "turbo"}},
	} {
		t.Run(name, func(t *testing.T) {
			fields := map[string]string{"spec.generator": test.generator}
			if test.ports != "" {
				fields["spec.ports"] = test.ports
			}
			err := create(object(t, goodTestbed, fields))
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("does not say %q: %s", want, clip(err.Error()))
				}
			}
		})
	}
}

func TestTRexIsAdmitted(t *testing.T) {
	for name, test := range map[string]struct{ generator, ports string }{
		"AFPacket":               {"{driver: TRex, trex: {mode: AFPacket}}", "{}"},
		"AFPacket on half a CPU": {"{driver: TRex, cpu: 500m, trex: {mode: AFPacket}}", "{}"},
		"AFPacket on a NIC":      {"{driver: TRex, cpu: 6, trex: {mode: AFPacket}}", "{west: {attachment: HostDevice, hostDevice: {pciAddress: '0000:03:00.0'}}}"},
		"XDP's own defaults":     {"{driver: TRex, xdp: {threads: 0, transmitPath: Auto, ringFrames: 1024}, trex: {mode: AFPacket}}", "{}"},
		"DPDK":                   {"{driver: TRex, image: 'registry.example/trex:v3.08', cpu: '8', trex: {coresPerPort: 3, hugepages: {memory: 4Gi}}}", virtualFunctions},
		"DPDK with small pages":  {"{driver: TRex, cpu: 4, trex: {hugepages: {memory: 1026Mi, pageSize: 2Mi}}}", virtualFunctions},
		"DPDK on networks":       {"{driver: TRex, cpu: 4, trex: {mode: DPDK, hugepages: {memory: 1Gi}}}", "{west: {attachment: NetworkAttachmentDefinition, networkAttachmentDefinition: {generatorRef: {name: w}}}, east: {attachment: NetworkAttachmentDefinition, networkAttachmentDefinition: {generatorRef: {name: e}}}}"},
		"extra configuration":    {"{driver: TRex, trex: {mode: AFPacket, extraConfiguration: 'rx_desc: 4096'}}", "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := create(object(t, goodTestbed, map[string]string{"spec.generator": test.generator, "spec.ports": test.ports})); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTRexDefaults(t *testing.T) {
	o := object(t, goodTestbed, map[string]string{"spec.generator": "{driver: TRex, cpu: 4, trex: {hugepages: {memory: 2Gi}}}", "spec.ports": virtualFunctions})
	if err := create(o); err != nil {
		t.Fatal(err)
	}
	testbed := &v1alpha1.Testbed{}
	if err := convert(o, testbed); err != nil {
		t.Fatal(err)
	}
	g := testbed.Spec.Generator
	if g.TRex.Mode != v1alpha1.TRexDPDK || g.TRex.CoresPerPort != 1 || g.TRex.Hugepages.PageSize != "1Gi" || g.Memory != "" {
		t.Errorf("the defaults are %+v", g)
	}
}
