package v1alpha1_test

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestBadTrafficIsRefusedWithFieldAndRemedy(t *testing.T) {
	run := func(kv ...string) map[string]string {
		fields := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			fields[kv[i]] = kv[i+1]
		}
		return fields
	}
	for name, test := range map[string]struct {
		fields map[string]string
		want   []string
	}{
		"no frame":                    {run("spec.experiment.traffic", "{frameBytes: []}"), []string{"spec.experiment.traffic.frameBytes", "add a frame size to frameBytes"}},
		"a range upside down":         {run("spec.experiment.traffic", "{frameRanges: [{from: 128, to: 64, step: 1}]}"), []string{"spec.experiment.traffic.frameRanges[0].to", "at least from"}},
		"a range without step":        {run("spec.experiment.traffic", "{frameRanges: [{from: 64, to: 128, step: 0}]}"), []string{"spec.experiment.traffic.frameRanges[0].step", "greater than or equal to 1"}},
		"a range of 33 sizes":         {run("spec.experiment.traffic", "{frameBytes: [], frameRanges: [{from: 64, to: 96, step: 1}]}"), []string{"spec.experiment.traffic.frameRanges", "more than 32 sizes"}},
		"a range and a size too many": {run("spec.experiment.traffic", "{frameBytes: [64], imix: [{name: SimpleIMIX}], frameRanges: [{from: 100, to: 130, step: 1}]}"), []string{"spec.experiment.traffic.frameRanges", "more than 32 sizes"}},
		"a range of tiny IPv6":        {run("spec.experiment.traffic", "{ipFamily: IPv6, frameBytes: [128], frameRanges: [{from: 81, to: 90, step: 1}]}"), []string{"spec.experiment.traffic.frameRanges", "at least 82 bytes"}},
		"a load in two units":         {run("spec.experiment.measurements", "{latency: {loads: [{name: a, rate: {lineRatePercent: 5, layer1BitsPerSecond: 1000000}}]}}"), []string{"spec.experiment.measurements.latency.loads[0].rate", "exactly one of"}},
		"a load without unit":         {run("spec.experiment.measurements", "{latency: {loads: [{name: a, rate: {}}]}}"), []string{"spec.experiment.measurements.latency.loads[0].rate", "exactly one of"}},
		"a load and its rate":         {run("spec.experiment.measurements", "{latency: {loads: [{name: a, framesPerSecond: 5, rate: {lineRatePercent: 5}}]}}"), []string{"spec.experiment.measurements.latency.loads[0]", "either framesPerSecond or goal"}},
		"above line rate":             {run("spec.experiment.measurements", "{latency: {loads: [{name: a, rate: {lineRatePercent: 101}}]}}"), []string{"lineRatePercent", "less than or equal to 100"}},
		"two minimum loads":           {run("spec.experiment.measurements", "{throughput: {minimumFramesPerSecond: 5, minimumLoad: {lineRatePercent: 1}}}"), []string{"spec.experiment.measurements.throughput.minimumLoad", "give either"}},
		"two maximum loads":           {run("spec.experiment.measurements", "{throughput: {maximumFramesPerSecond: 5000, maximumLoad: {lineRatePercent: 1}}}"), []string{"spec.experiment.measurements.throughput.maximumLoad", "give either"}},
		"more in reverse":             {run("spec.experiment.traffic", "{reversePercent: 101}"), []string{"spec.experiment.traffic.reversePercent", "less than or equal to 100"}},
		"nothing in reverse":          {run("spec.experiment.traffic", "{reversePercent: 0}"), []string{"spec.experiment.traffic.reversePercent", "greater than or equal to 1"}},
		"a share of one way":          {run("spec.experiment.traffic", "{directions: Forward, reversePercent: 10}"), []string{"spec.experiment.traffic.reversePercent", "only for directions Both"}},
		"unknown mix":                 {run("spec.experiment.traffic", "{imix: [{name: Complete}]}"), []string{"spec.experiment.traffic.imix[0].frames", "every other name needs frames"}},
		"a known mix with frames":     {run("spec.experiment.traffic", "{imix: [{name: SimpleIMIX, frames: [{frameBytes: 64, weight: 1}, {frameBytes: 65, weight: 1}]}]}"), []string{"spec.experiment.traffic.imix[0].frames", "SimpleIMIX has its own frames"}},
		"a mix twice":                 {run("spec.experiment.traffic", "{imix: [{name: SimpleIMIX}, {name: SimpleIMIX}]}"), []string{"spec.experiment.traffic.imix[1]", "Duplicate value"}},
		"a mix of one size":           {run("spec.experiment.traffic", "{imix: [{name: a, frames: [{frameBytes: 64, weight: 1}]}]}"), []string{"spec.experiment.traffic.imix[0].frames", "at least 2 items"}},
		"a mix without weight":        {run("spec.experiment.traffic", "{imix: [{name: a, frames: [{frameBytes: 64, weight: 1}, {frameBytes: 65, weight: 0}]}]}"), []string{"spec.experiment.traffic.imix[0].frames[1].weight", "greater than or equal to 1"}},
		"a mix of tiny IPv6":          {run("spec.experiment.traffic", "{ipFamily: IPv6, frameBytes: [128], imix: [{name: SimpleIMIX}]}"), []string{"spec.experiment.traffic.imix", "at least 82 bytes"}},
		"a mix named as a size":       {run("spec.experiment.traffic", "{imix: [{name: '64', frames: [{frameBytes: 64, weight: 1}, {frameBytes: 65, weight: 1}]}]}"), []string{"spec.experiment.traffic.imix[0].name", "give the mix another name"}},
		"a mix named as a packet":     {run("spec.experiment.traffic", "{imix: [{name: udp-4096, frames: [{frameBytes: 64, weight: 1}, {frameBytes: 65, weight: 1}]}]}"), []string{"spec.experiment.traffic.imix[0].name", "give the mix another name"}},
		"a packet that fits":          {run("spec.experiment.traffic", "{packets: [{payloadBytes: 1000}]}"), []string{"spec.experiment.traffic.packets[0].payloadBytes", "greater than or equal to 1024"}},
		"a packet beyond UDP":         {run("spec.experiment.traffic", "{packets: [{payloadBytes: 65508}]}"), []string{"spec.experiment.traffic.packets[0].payloadBytes", "less than or equal to 65507"}},
		"a packet twice":              {run("spec.experiment.traffic", "{packets: [{payloadBytes: 4096}, {payloadBytes: 4096}]}"), []string{"spec.experiment.traffic.packets[1]", "Duplicate value"}},
		"packets of many flows":       {run("spec.experiment.traffic", "{flows: 2, packets: [{payloadBytes: 4096}]}"), []string{"spec.experiment.traffic.packets", "set flows to 1"}},
		"acceptance of no packet": {run("spec.experiment.traffic", "{ipFamily: IPv6, frameBytes: [128], packets: [{payloadBytes: 4096}]}",
			"spec.experiment.acceptance", "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, size: '4162', atLeast: 1}]"),
			[]string{"spec.experiment.acceptance", "names size 4162"}},
		"no flow":               {run("spec.experiment.traffic", "{flows: 0}"), []string{"spec.experiment.traffic.flows", "greater than or equal to 1"}},
		"flows above a million": {run("spec.experiment.traffic", "{flows: 1000001, flowVariation: [SourcePort, SourceAddress]}"), []string{"spec.experiment.traffic.flows", "less than or equal to 1000000"}},
		"more flows than ports": {run("spec.experiment.traffic", "{flows: 64513}"), []string{"spec.experiment.traffic.flows", "vary a second header field"}},
		"more flows than hosts": {run("spec.experiment.traffic", "{flows: 32767, flowVariation: [SourceAddress]}"), []string{"spec.experiment.traffic.flows", "vary a second header field"}},
		"unknown flow field":    {run("spec.experiment.traffic", "{flows: 2, flowVariation: [Color]}"), []string{"spec.experiment.traffic.flowVariation[0]", "Unsupported value", "SourceAddress"}},
		"a flow field twice":    {run("spec.experiment.traffic", "{flows: 2, flowVariation: [SourcePort, SourcePort]}"), []string{"spec.experiment.traffic.flowVariation", "names a value twice"}},
		"unknown flow order":    {run("spec.experiment.traffic", "{flows: 2, flowOrder: Shuffled}"), []string{"spec.experiment.traffic.flowOrder", "Unsupported value", "Random"}},
		"acceptance of no mix's mean": {run("spec.experiment.traffic", "{imix: [{name: a, frames: [{frameBytes: 100, weight: 1}, {frameBytes: 200, weight: 3}]}]}",
			"spec.experiment.acceptance", "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, size: '176', atLeast: 1}]"),
			[]string{"spec.experiment.acceptance", "names size 176"}},
		"mix named as a frame size": {run("spec.experiment.traffic", "{imix: [{name: '64', frames: [{frameBytes: 100, weight: 1}, {frameBytes: 200, weight: 3}]}]}"),
			[]string{"spec.experiment.traffic.imix[0].name", "give the mix another name"}},
		"mix named as a packet": {run("spec.experiment.traffic", "{imix: [{name: udp-4096, frames: [{frameBytes: 100, weight: 1}, {frameBytes: 200, weight: 3}]}]}"),
			[]string{"spec.experiment.traffic.imix[0].name", "give the mix another name"}},
		"soak between two sizes": {run("spec.experiment.traffic", "{frameRanges: [{from: 64, to: 164, step: 50}]}",
			"spec.experiment.measurements", "{soak: {size: '100', framesPerSecond: 5}}"),
			[]string{"spec.experiment.measurements.soak.size", "which spec.experiment.traffic does not have"}},
		"soak of a size within a mix": {run("spec.experiment.traffic", "{imix: [{name: SimpleIMIX}]}",
			"spec.experiment.measurements", "{soak: {size: '594', framesPerSecond: 5}}"),
			[]string{"spec.experiment.measurements.soak.size", "which spec.experiment.traffic does not have"}},
		"profile above a range's last size": {run("spec.experiment.traffic", "{frameRanges: [{from: 64, to: 200, step: 50}]}",
			"spec.experiment.measurements", "{fixedLoad: {profiles: [{name: a, size: '200', framesPerSecond: 5}]}}"),
			[]string{"spec.experiment.measurements.fixedLoad.profiles", "names size 200"}},
		"profile of a mix's mean": {run("spec.experiment.traffic", "{imix: [{name: SimpleIMIX}]}",
			"spec.experiment.measurements", "{fixedLoad: {profiles: [{name: a, size: '362', framesPerSecond: 5}]}}"),
			[]string{"spec.experiment.measurements.fixedLoad.profiles", "which spec.experiment.traffic does not have"}},
		"a range above a port's MTU": {run("spec.experiment.traffic", "{frameRanges: [{from: 1500, to: 1600, step: 100}]}",
			"spec.experiment.chain", "[{name: r1, function: Router, west: {mtuBytes: 1500}}]"),
			[]string{"spec.experiment.traffic.frameRanges", "lower to, or raise the port's mtuBytes"}},
		"a mix above a port's MTU": {run("spec.experiment.traffic", "{frameBytes: [64], imix: [{name: SimpleIMIX}]}",
			"spec.experiment.chain", "[{name: r1, function: Router, east: {mtuBytes: 1400}}]"),
			[]string{"spec.experiment.traffic.imix", "raise the port's mtuBytes"}},
		"acceptance between two sizes": {run("spec.experiment.traffic", "{frameRanges: [{from: 64, to: 164, step: 50}]}",
			"spec.experiment.acceptance", "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, size: '100', atLeast: 1}]"),
			[]string{"spec.experiment.acceptance", "names size 100"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := create(object(t, goodRun, test.fields))
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

func TestTrafficIsAdmitted(t *testing.T) {
	for name, fields := range map[string]map[string]string{
		"with sizes": {"spec.experiment.traffic": "{imix: [{name: SimpleIMIX}]}"},
		"a packet alone, judged": {
			"spec.experiment.traffic":    "{frameBytes: [], packets: [{payloadBytes: 65507}, {payloadBytes: 4096}]}",
			"spec.experiment.acceptance": "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, size: udp-65507, atLeast: 1}]",
		},
		"alone": {"spec.experiment.traffic": "{frameBytes: [], imix: [{name: SimpleIMIX}]}"},
		"a range, judged": {
			"spec.experiment.traffic":    "{frameBytes: [], frameRanges: [{from: 64, to: 1518, step: 50}], imix: [{name: SimpleIMIX}]}",
			"spec.experiment.acceptance": "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, size: '114', atLeast: 1}]",
		},
		"a soak of a range's size": {
			"spec.experiment.traffic":      "{frameBytes: [], frameRanges: [{from: 64, to: 164, step: 50}]}",
			"spec.experiment.measurements": "{soak: {size: '114', framesPerSecond: 5}}",
		},
		"a soak of a mix, judged": {
			"spec.experiment.traffic":      "{frameBytes: [], imix: [{name: SimpleIMIX}]}",
			"spec.experiment.measurements": "{soak: {size: SimpleIMIX, framesPerSecond: 5}}",
			"spec.experiment.acceptance":   "[{name: a, metric: LossPartsPerMillion, load: soak, size: SimpleIMIX, atMost: 0}]",
		},
		"profiles of a range, mixes and a packet": {
			"spec.experiment.traffic": "{frameRanges: [{from: 100, to: 199, step: 50}], packets: [{payloadBytes: 4096}], imix: [{name: SimpleIMIX}, {name: a, frames: [{frameBytes: 100, weight: 1}, {frameBytes: 200, weight: 3}]}]}",
			"spec.experiment.measurements": "{fixedLoad: {profiles: [{name: a, size: '150', framesPerSecond: 5}, {name: b, size: SimpleIMIX, framesPerSecond: 5}, " +
				"{name: c, size: a, layer2BitsPerSecond: 1000000}, {name: d, size: udp-4096, framesPerSecond: 5}]}}",
		},
		"a range whose last size fits a port": {
			"spec.experiment.traffic": "{frameBytes: [64], frameRanges: [{from: 1418, to: 1600, step: 100}], imix: [{name: SimpleIMIX}]}",
			"spec.experiment.chain":   "[{name: r1, function: Router, west: {mtuBytes: 1500}, east: {mtuBytes: 1500}}]",
		},
		"loads in every unit": {"spec.experiment.measurements": "{throughput: {minimumLoad: {lineRatePercent: 1}, maximumLoad: {layer1BitsPerSecond: 1000000000}}, " +
			"latency: {loads: [{name: a, rate: {layer2BitsPerSecond: 25000000}}, {name: b, rate: {framesPerSecond: 7}}, {name: c, goal: PDR, percent: 5}]}}"},
		"judged by their names": {
			"spec.experiment.traffic":    "{imix: [{name: SimpleIMIX}, {name: a, frames: [{frameBytes: 100, weight: 1}, {frameBytes: 200, weight: 3}]}]}",
			"spec.experiment.acceptance": "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, size: a, atLeast: 1}, {name: b, metric: ThroughputFramesPerSecond, goal: NDR, size: SimpleIMIX, atLeast: 1}]",
		},
	} {
		if err := create(object(t, goodRun, fields)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnEmptyListOfSizesStays: a client that writes the object back must not
// bring the default sizes in.
func TestAnEmptyListOfSizesStays(t *testing.T) {
	o := object(t, goodRun, map[string]string{"spec.experiment.traffic": "{frameBytes: [], imix: [{name: SimpleIMIX}]}"})
	if err := create(o); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.BenchmarkRun{}
	if err := convert(o, run); err != nil {
		t.Fatal(err)
	}
	run.ResourceVersion, run.UID = "", ""
	if err := server.Create(context.Background(), run, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if got := run.Spec.Experiment.Traffic.FrameBytes; got == nil || len(got) != 0 {
		t.Errorf("frameBytes %v, want none", got)
	}
}
