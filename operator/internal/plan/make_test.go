package plan_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	xdp "vnfbench.io/operator/internal/traffic/xdp/planning"
)

func mustMake(t *testing.T, in plan.Input) *plan.Plan {
	t.Helper()
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var options = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()}

func TestRoundTrip(t *testing.T) {
	in := plantest.Input(4)
	in.Testbed.Spec.Generator.Tolerations = []corev1.Toleration{{Key: "traffic", Operator: corev1.TolerationOpExists}}
	in.Testbed.Spec.Generator.CPU = "1500m"
	in.Defaults.ImagePullSecrets = []string{"registry"}
	p := mustMake(t, in)
	back, err := plan.Parse(p.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back, options); diff != "" {
		t.Errorf("the plan changed on its way through JSON (-made +read):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":        "{",
		"another layout": `{"version": 99}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plan.Parse([]byte(text))
			if err == nil {
				t.Error("no error")
			}
			if of := errors.Is(err, plan.ErrVersion); of != (name == "another layout") {
				t.Errorf("of another version is %t: %v", of, err)
			}
		})
	}
}

func TestInstructions(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Measurements.Throughput.MaximumFramesPerSecond = new(int64(500_000))
	in.Testbed.Spec.Generator.XDP.Threads = 2
	p := mustMake(t, in)
	got := p.Instructions
	got.Chain, got.Calibration, got.CalibrationTrials = measure.Path{}, nil, 0
	got.CalibrationMilliseconds, got.CalibrateLoads, got.DelayCalibrationTrials, got.RateAgainAfterSeconds = 0, false, 0, 0
	if got.DeadlineSeconds != 86400 || got.OrderSeed == 0 {
		t.Errorf("a deadline of %d s, and the seed %d", got.DeadlineSeconds, got.OrderSeed)
	}
	got.DeadlineSeconds, got.OrderSeed = 0, 0
	goal := v1alpha1.Goal{Name: "NDR", TrialMilliseconds: 1000, DurationSumMilliseconds: 1000, WidthPartsPerMillion: 20000}
	pdr := goal
	pdr.Name, pdr.LossPartsPerMillion = "PDR", 1000
	want := measure.Instructions{
		Run:               "benchmarks/routers",
		Digest:            p.Digest,
		LinkBitsPerSecond: 1e10,
		Driver:            driverSettings(t, "XDP", xdp.Settings{Threads: 2, TransmitPath: "Auto"}),
		StartupSeconds:    300,
		Sizes:             []measure.Size{measure.FrameSize(64), measure.FrameSize(512), measure.FrameSize(1518)},
		Measurements: v1alpha1.Measurements{
			WarmUpMilliseconds: new(int32(1000)), SettleMilliseconds: 100, Repeats: 1,
			Throughput: &v1alpha1.Throughput{
				Method:                 "MLRsearch",
				Goals:                  []v1alpha1.Goal{goal, pdr},
				MinimumFramesPerSecond: 1000,
				MaximumFramesPerSecond: new(int64(500_000)),
				MaximumSearchSeconds:   1200,
			},
			Latency: &v1alpha1.Latency{
				TrialMilliseconds: 5000,
				Loads: []v1alpha1.LatencyLoad{
					{Name: "idle", FramesPerSecond: new(int64(1000))},
					{Name: "pdr50", Goal: "PDR", Percent: new(int32(50))},
					{Name: "pdr90", Goal: "PDR", Percent: new(int32(90))},
				},
			},
		},
	}
	if diff := cmp.Diff(want, got, options); diff != "" {
		t.Errorf("instructions (-want +got):\n%s", diff)
	}
}

// TestScheduling checks that a testbed's choice of scheduling reaches the driver. The default, and a testbed older than the
// field, leave no trace.
func TestScheduling(t *testing.T) {
	for scheduling, want := range map[v1alpha1.TransmitScheduling]string{
		"": "", v1alpha1.SchedulingAuto: "", v1alpha1.SchedulingFair: "Fair", v1alpha1.SchedulingRealTime: "RealTime",
	} {
		in := plantest.Input(1)
		in.Testbed.Spec.Generator.XDP.Scheduling = scheduling
		var got xdp.Settings
		if err := mustMake(t, in).Instructions.Driver.Decode(&got); err != nil || got.Scheduling != want {
			t.Errorf("%q: the driver gets %q, %v, want %q", scheduling, got.Scheduling, err, want)
		}
	}
}

// TestLossVerification checks that loss verification is only for its method, and complete without settings.
func TestLossVerification(t *testing.T) {
	spec := &v1alpha1.LossVerification{MaximumRepeats: 3, LossThresholdFrames: new(int64(0))}
	for name, test := range map[string]struct {
		method v1alpha1.SearchMethod
		given  *v1alpha1.LossVerification
		want   *v1alpha1.LossVerification
	}{
		"another method": {v1alpha1.MethodTST009, nil, nil},
		"by default":     {v1alpha1.MethodTST009WithLossVerification, nil, &v1alpha1.LossVerification{MaximumRepeats: 1}},
		"as given":       {v1alpha1.MethodTST009WithLossVerification, spec, spec},
	} {
		in := plantest.Input(1)
		throughput := in.Run.Spec.Experiment.Measurements.Throughput
		throughput.Method, throughput.LossVerification = test.method, test.given
		got := mustMake(t, in).Instructions.Throughput
		if diff := cmp.Diff(test.want, got.LossVerification); diff != "" || got.Method != test.method {
			t.Errorf("%s: method %s, %s", name, got.Method, diff)
		}
	}
}

// TestRepeats checks that a single measurement has the same digest with repeats of 1 as without.
func TestRepeats(t *testing.T) {
	digests := map[string]int32{}
	for repeats, want := range map[int32]int32{0: 1, 1: 1, 5: 5} {
		in := plantest.Input(1)
		in.Run.Spec.Experiment.Measurements.Repeats = repeats
		p := mustMake(t, in)
		if p.Instructions.Repeats != want {
			t.Errorf("%d repeats: got %d", repeats, p.Instructions.Repeats)
		}
		digests[p.Digest] = repeats
	}
	if len(digests) != 2 {
		t.Errorf("got %d digests, want one for a single measurement and one for five", len(digests))
	}
}

func TestWarmUpLeftOut(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Measurements.WarmUpMilliseconds = new(int32(0))
	if got := mustMake(t, in).Instructions.WarmUpMilliseconds; *got != 0 {
		t.Errorf("warm-up of %d ms, want none", *got)
	}
}

func TestDirections(t *testing.T) {
	for directions, want := range map[v1alpha1.Directions][]measure.Direction{
		v1alpha1.DirectionsBoth:    {measure.Forward, measure.Reverse},
		v1alpha1.DirectionsForward: {measure.Forward},
		v1alpha1.DirectionsReverse: {measure.Reverse},
	} {
		t.Run(string(directions), func(t *testing.T) {
			in := plantest.Input(1)
			in.Run.Spec.Experiment.Traffic.Directions = directions
			p := mustMake(t, in)
			for _, path := range []measure.Path{p.Instructions.Chain, *p.Instructions.Calibration} {
				var got []measure.Direction
				for _, stream := range path.Streams {
					got = append(got, stream.Direction)
				}
				if !slices.Equal(got, want) {
					t.Errorf("streams %v, want %v", got, want)
				}
			}
		})
	}
}

func TestResources(t *testing.T) {
	in := plantest.Input(1)
	in.Run.Spec.Experiment.Chain[0].Memory, in.Testbed.Spec.Generator.Memory = "", ""
	p := mustMake(t, in)
	if want := (plan.Resources{RequestMilliCPU: 1000, MemoryBytes: 256 << 20}); p.Generator.Resources != want {
		t.Errorf("the generator's are %+v, want %+v", p.Generator.Resources, want)
	}
	if want := (plan.Resources{RequestMilliCPU: 100, MemoryBytes: 64 << 20}); p.Functions[0].Resources != want {
		t.Errorf("the function's are %+v, want %+v", p.Functions[0].Resources, want)
	}
	in.Run.Spec.Experiment.Chain[0].CPU = "2"
	p = mustMake(t, in)
	if want := (plan.Resources{RequestMilliCPU: 2000, LimitMilliCPU: 2000, MemoryBytes: 64 << 20}); p.Functions[0].Resources != want {
		t.Errorf("with a CPU of 2 the function's are %+v, want %+v", p.Functions[0].Resources, want)
	}
}

func TestImages(t *testing.T) {
	in := plantest.Input(2)
	in.Testbed.Spec.Generator.Image = "mine/traffic"
	in.Testbed.Spec.SystemUnderTest.FunctionImage = "mine/router"
	p := mustMake(t, in)
	got := []string{p.Generator.Image, p.Functions[0].Image, p.Functions[1].Image}
	if want := []string{"mine/traffic", "mine/router", "mine/router"}; !slices.Equal(got, want) {
		t.Errorf("images %v, want %v", got, want)
	}
}

// TestNetworksOfAnotherNamespace checks that networks of other namespaces are joined there, and
// are part of the digest. Naming the run's own namespace changes nothing.
func TestNetworksOfAnotherNamespace(t *testing.T) {
	networks := func(namespace string) *plan.Plan {
		in := plantest.Input(1)
		in.Networks = map[string]bool{"wan": true, "lab/wan": true}
		in.NetworkResources = map[string]string{"lab/wan": "example.com/wan"}
		plantest.Offer(&in.Nodes[0], "example.com/wan", 2)
		in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("wan", "")
		in.Testbed.Spec.Ports.West.NetworkAttachmentDefinition.GeneratorRef.Namespace = namespace
		return mustMake(t, in)
	}
	for _, end := range []plan.End{networks("lab").Segments[0].West, networks("lab").Segments[0].East} {
		if end.NetworkKey() != "lab/wan" || end.ResourceName != "example.com/wan" {
			t.Errorf("the end joins %q with resource %q", end.NetworkKey(), end.ResourceName)
		}
	}
	own, none := networks(plantest.Namespace), networks("")
	if own.Segments[0].West.NetworkKey() != "wan" || own.Digest != none.Digest || own.Digest == networks("lab").Digest {
		t.Errorf("the run's own namespace: %+v", own.Segments[0].West)
	}
}

// TestExistingNetworks checks that the user's networks replace a bridge, and that without two
// bridges there is no calibration.
func TestExistingNetworks(t *testing.T) {
	in := plantest.Input(2)
	in.Networks = map[string]bool{"west-net": true, "west-device": true, "east-net": true}
	in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("west-net", "west-device")
	in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("east-net", "")
	p := mustMake(t, in)
	if p.Calibration != nil || p.Instructions.Calibration != nil {
		t.Error("there is a calibration")
	}
	type end struct {
		Function, Network string
		Existing          bool
	}
	var got []end
	for i, segment := range p.Segments {
		for _, e := range []plan.End{segment.West, segment.East} {
			got = append(got, end{e.Function, e.Network, e.Existing})
		}
		if hasBridge := segment.Bridge != ""; hasBridge != (i == 1) {
			t.Errorf("segment %d has bridge %q", i, segment.Bridge)
		}
	}
	base := p.Names().Base
	want := []end{
		{"", "west-net", true},
		{"router-1", "west-device", true},
		{"router-1", base + "-net-1-west", false},
		{"router-2", base + "-net-1-east", false},
		{"router-2", "east-net", true},
		{"", "east-net", true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

// TestMixedPorts checks that a bridge on one side keeps everything on one node.
func TestMixedPorts(t *testing.T) {
	in := plantest.Input(1)
	in.Networks = map[string]bool{"east-net": true}
	in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("east-net", "")
	in.Nodes = []corev1.Node{plantest.Node("node-b"), plantest.Node("node-a")}
	in.Testbed.Spec.SystemUnderTest.NodeSelector = map[string]string{corev1.LabelHostname: "node-b"}
	p := mustMake(t, in)
	if p.GeneratorNode != "node-b" || p.DeviceNode != "node-b" {
		t.Errorf("generator on %q, device on %q, want both on node-b", p.GeneratorNode, p.DeviceNode)
	}
	if p.Segments[0].Bridge == "" || p.Segments[1].Bridge != "" || p.Calibration != nil {
		t.Errorf("bridges %q and %q, calibration %v, want a bridge in the west alone", p.Segments[0].Bridge, p.Segments[1].Bridge, p.Calibration)
	}
}

// TestInstructionsCarryMeasurements checks that the instructions have the API's own words.
func TestInstructionsCarryMeasurements(t *testing.T) {
	in := plantest.Input(1)
	m := &in.Run.Spec.Experiment.Measurements
	m.FixedLoad = &v1alpha1.FixedLoad{DurationSeconds: 60, Repeats: 3, Profiles: []v1alpha1.LoadProfile{{Name: "a", Size: "64", Layer2BitsPerSecond: new(int64(25_000_000))}}}
	m.FrameLossRate = &v1alpha1.FrameLossRate{StepPercent: 5, TrialMilliseconds: 60_000}
	m.BackToBack = &v1alpha1.BackToBack{Repeats: 5, StepFrames: 100, MaximumBurstMilliseconds: 200, Attempts: 2}
	m.ReceiveRate = &v1alpha1.ReceiveRate{TrialMilliseconds: 1000, Trials: 10}
	m.Soak = &v1alpha1.Soak{Size: "512", Goal: "NDR", Percent: new(int32(90)), DurationSeconds: 600, IntervalSeconds: 300}
	got := mustMake(t, in).Instructions
	for name, same := range map[string]bool{
		"fixed load": cmp.Equal(m.FixedLoad, got.FixedLoad), "frame loss rate": cmp.Equal(m.FrameLossRate, got.FrameLossRate),
		"back-to-back": cmp.Equal(m.BackToBack, got.BackToBack), "receive rate": cmp.Equal(m.ReceiveRate, got.ReceiveRate), "soak": cmp.Equal(m.Soak, got.Soak),
	} {
		if !same {
			t.Errorf("%s is not what the run asks for", name)
		}
	}
	if rate := got.ProfileRate(m.FixedLoad.Profiles[0], measure.FrameSize(64)); rate != 48_828 {
		t.Errorf("25 Mbit/s on layer 2 are %d frames/s of 64 bytes, want 48828", rate)
	}
}

// TestBaselineLoads checks that the measurer gets the baseline's rates, and that a run with them has the digest of one
// without: it measures the same device.
func TestBaselineLoads(t *testing.T) {
	in := plantest.Input(1)
	without := mustMake(t, in)
	in.BaselineLoads = []measure.BaselineLoad{{Size: "64", Load: "pdr50", FramesPerSecond: 1000}}
	with := mustMake(t, in)
	if diff := cmp.Diff(in.BaselineLoads, with.Instructions.BaselineLoads); diff != "" || with.Digest != without.Digest {
		t.Errorf("%s and %s: %s", with.Digest, without.Digest, diff)
	}
}

func TestCalibrationOfAProfile(t *testing.T) {
	for profile, want := range map[v1alpha1.MeasurementProfile]measure.Instructions{
		v1alpha1.ProfileQuick:    {CalibrationTrials: 3, DelayCalibrationTrials: 3, CalibrationMilliseconds: 300},
		v1alpha1.ProfileStandard: {CalibrationTrials: 3, DelayCalibrationTrials: 3, CalibrationMilliseconds: 1000, CalibrateLoads: true, RateAgainAfterSeconds: 300},
	} {
		in := plantest.Input(1)
		in.Run.Spec.Experiment.Measurements = v1alpha1.Measurements{Profile: profile}
		got := mustMake(t, in).Instructions
		if got.CalibrationTrials != want.CalibrationTrials || got.DelayCalibrationTrials != want.DelayCalibrationTrials || got.CalibrationMilliseconds != want.CalibrationMilliseconds || got.CalibrateLoads != want.CalibrateLoads ||
			got.RateAgainAfterSeconds != want.RateAgainAfterSeconds {
			t.Errorf("%s: %+v", profile, got)
		}
	}
}
