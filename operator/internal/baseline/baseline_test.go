package baseline

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// rates are the API's default.
var rates = []v1alpha1.Metric{
	v1alpha1.MetricThroughputFramesPerSecond, v1alpha1.MetricBackToBack, v1alpha1.MetricReceiveRate, v1alpha1.MetricTCPGoodput,
	v1alpha1.MetricConnectionsEstablished, v1alpha1.MetricConnectionsHeld,
}

// runOf was measured: NDR at a rate, and at load idle a p99 and a loss.
func runOf(framesPerSecond, p99, loss int64) *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "then"}}
	run.Spec.Experiment.TestbedRef = &v1alpha1.TestbedReference{Name: "lab"}
	run.Spec.Experiment.Traffic.FrameBytes = []int32{64}
	run.Spec.Experiment.Measurements.SettleMilliseconds = 100
	run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionMeasured, Status: metav1.ConditionTrue}}
	run.Status.Results = framesOf(framesPerSecond, p99, loss)
	return run
}

func framesOf(framesPerSecond, p99, loss int64) []v1alpha1.FrameResult {
	return []v1alpha1.FrameResult{{
		Size: "64", FrameBytes: 64,
		Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", FramesPerSecond: framesPerSecond, Regularity: v1alpha1.Regular, UpperBoundCause: v1alpha1.CauseDeviceLoss}},
		Latency: []v1alpha1.LatencyResult{{Load: "idle", Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: v1alpha1.DirectionResult{
			SentFrames: 1000, ReceivedFrames: 1000, LossPartsPerMillion: loss,
			Latency:        v1alpha1.Delays{Samples: 1000, MeanNanoseconds: p99 / 2, P99Nanoseconds: p99},
			DelayVariation: v1alpha1.Delays{Samples: 999}, Jitter: &v1alpha1.Jitter{},
		}}}}},
	}}
}

// nowOf is a run with the same experiment and a baseline.
func nowOf(percent int32, metrics ...v1alpha1.Metric) *v1alpha1.BenchmarkRun {
	run := runOf(0, 0, 0)
	run.Name, run.Status = "now", v1alpha1.BenchmarkRunStatus{}
	run.Spec.Experiment.Baseline = &v1alpha1.Baseline{RunRef: v1alpha1.LocalReference{Name: "then"}, MaximumRegressionPercent: &percent, Metrics: metrics}
	return run
}

func TestVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		percent         int32
		metrics         []v1alpha1.Metric
		then            *v1alpha1.BenchmarkRun
		rate, p99, loss int64
		failed          []string
	}{
		"as good":                       {5, rates, runOf(1000, 9000, 0), 1000, 90000, 50, nil},
		"just within":                   {5, rates, runOf(1000, 0, 0), 950, 0, 0, nil},
		"one frame below":               {5, rates, runOf(1000, 0, 0), 949, 0, 0, []string{"ThroughputFramesPerSecond of NDR is 949, at least 950 required"}},
		"rounded towards the tolerance": {5, rates, runOf(999, 0, 0), 949, 0, 0, []string{"at least 950 required"}},
		"no tolerance":                  {0, rates, runOf(1000, 0, 0), 999, 0, 0, []string{"at least 1000 required"}},
		"all may go":                    {100, rates, runOf(1000, 0, 0), 0, 0, 0, nil},
		"a delay is worse when higher":  {10, []v1alpha1.Metric{v1alpha1.MetricLatencyP99}, runOf(1000, 9000, 0), 1, 9901, 0, []string{"LatencyP99Nanoseconds at idle is 9901, at most 9900 allowed"}},
		"and no worse within":           {10, []v1alpha1.Metric{v1alpha1.MetricLatencyP99}, runOf(1000, 9000, 0), 1, 9900, 0, nil},
		"no loss before, some now":      {5, []v1alpha1.Metric{v1alpha1.MetricLoss}, runOf(1000, 0, 0), 1000, 0, 1, []string{"LossPartsPerMillion at idle is 1, at most 0 allowed"}},
		"better is never worse":         {0, append(rates[:1:1], v1alpha1.MetricLatencyP99, v1alpha1.MetricLoss), runOf(1000, 9000, 7), 2000, 1, 0, nil},
		"as large as a number can be":   {100, []v1alpha1.Metric{v1alpha1.MetricLatencyP99}, runOf(1, math.MaxInt64, 0), 1, math.MaxInt64, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run := nowOf(test.percent, test.metrics...)
			verdicts := Verdicts(run.Spec.Experiment.Baseline, Figures(test.then, nil), figure.Results{Frames: framesOf(test.rate, test.p99, test.loss)}.Figures())
			if len(verdicts) != len(Criteria(run.Spec.Experiment.Baseline, Figures(test.then, nil))) || len(verdicts) == 0 {
				t.Fatalf("verdicts %+v", verdicts)
			}
			var failed []string
			for _, v := range verdicts {
				if v.Criterion != v1alpha1.BaselineCriterion || v.Size != "64" {
					t.Errorf("verdict %+v", v)
				}
				if v.Result == v1alpha1.VerdictFailed {
					failed = append(failed, v.Message)
				}
			}
			if len(failed) != len(test.failed) {
				t.Fatalf("failed %q, want %q", failed, test.failed)
			}
			for i := range failed {
				if !strings.Contains(failed[i], test.failed[i]) {
					t.Errorf("failed %q, want %q", failed[i], test.failed[i])
				}
			}
		})
	}
}

func TestTCP(t *testing.T) {
	tcp := func(bitsPerSecond int64) *v1alpha1.TCPResult {
		return &v1alpha1.TCPResult{Streams: []v1alpha1.TCPStreamsResult{{Streams: 4, Directions: []v1alpha1.TCPDirectionResult{{GoodputBitsPerSecond: bitsPerSecond}}}}}
	}
	then := runOf(1000, 0, 0)
	then.Status.Results, then.Status.TCP = nil, tcp(1e9)
	run := nowOf(5, rates...)
	for bitsPerSecond, want := range map[int64]v1alpha1.VerdictResult{951e6: v1alpha1.VerdictPassed, 949e6: v1alpha1.VerdictFailed} {
		verdicts := Verdicts(run.Spec.Experiment.Baseline, Figures(then, nil), figure.Results{TCP: tcp(bitsPerSecond)}.Figures())
		if len(verdicts) != 1 || verdicts[0].Result != want || verdicts[0].Streams != 4 {
			t.Errorf("%d: %+v, want %s", bitsPerSecond, verdicts, want)
		}
	}
}

func TestConnections(t *testing.T) {
	of := func(perSecond, failed int64) *v1alpha1.ConnectionsResult {
		return &v1alpha1.ConnectionsResult{Loads: []v1alpha1.ConnectionsLoadResult{
			{Name: "rate", EstablishedConnectionsPerSecond: &perSecond, FailedPartsPerMillion: failed},
		}}
	}
	then := runOf(0, 0, 0)
	then.Status.Results, then.Status.Connections = nil, of(1000, 0)
	run := nowOf(5, append(rates[:len(rates):len(rates)], v1alpha1.MetricConnectionsFailed)...)
	if reason := WhyIncomparable(run, then, nil, nil); reason != "" {
		t.Fatal(reason)
	}
	for _, test := range []struct {
		perSecond, failed int64
		want              []v1alpha1.VerdictResult
	}{
		{950, 0, []v1alpha1.VerdictResult{v1alpha1.VerdictPassed, v1alpha1.VerdictPassed}},
		{949, 1, []v1alpha1.VerdictResult{v1alpha1.VerdictFailed, v1alpha1.VerdictFailed}},
	} {
		var got []v1alpha1.VerdictResult
		for _, v := range Verdicts(run.Spec.Experiment.Baseline, Figures(then, nil), figure.Results{Connections: of(test.perSecond, test.failed)}.Figures()) {
			if v.Load != "rate" || v.Size != "" {
				t.Errorf("verdict %+v", v)
			}
			got = append(got, v.Result)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d/s, %d failed: %s", test.perSecond, test.failed, diff)
		}
	}
}

func TestMeasured(t *testing.T) {
	kept := Figures(runOf(1000, 8000, 0), nil)
	got := Measured(kept, figure.Results{Frames: framesOf(900, 8800, 3)}.Figures())
	want := []v1alpha1.BaselineFigure{
		{FigureKey: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, Baseline: 1000, Cause: "DeviceLoss", Regularity: v1alpha1.Regular, Measured: new(int64(900)), DifferencePartsPerMillion: new(int64(-100_000))},
		{FigureKey: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricLoss, Load: "idle"}, Baseline: 0, Measured: new(int64(3))},
		{FigureKey: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricLatencyMean, Load: "idle"}, Baseline: 4000, Measured: new(int64(4400)), DifferencePartsPerMillion: new(int64(100_000))},
		{FigureKey: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricLatencyP99, Load: "idle"}, Baseline: 8000, Measured: new(int64(8800)), DifferencePartsPerMillion: new(int64(100_000))},
		{FigureKey: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricJitterP99, Load: "idle"}, Baseline: 0, Measured: new(int64(0))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if kept[0].Measured != nil {
		t.Error("what was kept has changed")
	}
	if again := Measured(got, nil); again[0].Measured != nil || again[0].DifferencePartsPerMillion != nil {
		t.Errorf("without figures: %+v", again[0])
	}
}

func TestWhyIncomparable(t *testing.T) {
	for name, test := range map[string]struct {
		change func(run, then *v1alpha1.BenchmarkRun)
		want   []string
	}{
		"none": {func(*v1alpha1.BenchmarkRun, *v1alpha1.BenchmarkRun) {}, nil},
		"another chain": {func(run, _ *v1alpha1.BenchmarkRun) {
			run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{{Name: "other"}}
		}, nil},
		"measured and not accepted": {func(_, then *v1alpha1.BenchmarkRun) {
			then.Status.Conditions = append(then.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse})
		}, nil},
		"not measured": {func(_, then *v1alpha1.BenchmarkRun) {
			then.Status.Conditions[0].Status = metav1.ConditionUnknown
		}, []string{`spec.experiment.baseline.runRef "then"`, "condition Measured is True"}},
		"other traffic": {func(run, _ *v1alpha1.BenchmarkRun) {
			run.Spec.Experiment.Traffic.FrameBytes = []int32{128}
		}, []string{"spec.experiment.traffic differs", "make it the same here"}},
		"another testbed, other measurements": {func(run, _ *v1alpha1.BenchmarkRun) {
			run.Spec.Experiment.TestbedRef = &v1alpha1.TestbedReference{Name: "other"}
			run.Spec.Experiment.Measurements.Repeats = 3
		}, []string{"spec.experiment.testbedRef and spec.experiment.measurements differ"}},
		"settings that one of them leaves to its defaults": {func(run, then *v1alpha1.BenchmarkRun) {
			run.Spec.Experiment.Measurements = v1alpha1.Measurements{Profile: v1alpha1.ProfileQuick}
			then.Spec.Experiment.Measurements = run.Spec.Experiment.Measurements.Filled()
		}, nil},
		"no such figure": {func(run, _ *v1alpha1.BenchmarkRun) {
			run.Spec.Experiment.Baseline.Metrics = []v1alpha1.Metric{v1alpha1.MetricTCPGoodput}
		}, []string{"spec.experiment.baseline.metrics (TCPGoodputBitsPerSecond)", "name metrics that both measure"}},
	} {
		t.Run(name, func(t *testing.T) {
			run, then := nowOf(5, rates...), runOf(1000, 0, 0)
			test.change(run, then)
			got := WhyIncomparable(run, then, nil, nil)
			if (got == "") != (test.want == nil) {
				t.Fatalf("got %q", got)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("got %q, want %q in it", got, want)
				}
			}
		})
	}
	if got := WhyIncomparable(nowOf(5, rates...), nil, nil, nil); !strings.Contains(got, "no such BenchmarkRun") {
		t.Errorf("of no run: %q", got)
	}
}

// TestWhyIncomparableOfAnotherTestbed checks that each setting that bounds or times the traffic is compared and named,
// and no other.
func TestWhyIncomparableOfAnotherTestbed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(now *v1alpha1.TestbedSpec)
		want   string
	}{
		"the same":             {func(*v1alpha1.TestbedSpec) {}, ""},
		"a list that is empty": {func(now *v1alpha1.TestbedSpec) { now.Ports.CalibrationNetworks = []v1alpha1.NetworkReference{} }, ""},
		"a faster link":        {func(now *v1alpha1.TestbedSpec) { now.Ports.LinkBitsPerSecond = 25e9 }, "spec.ports.linkBitsPerSecond"},
		"a larger MTU":         {func(now *v1alpha1.TestbedSpec) { now.Ports.MTUBytes = 9000 }, "spec.ports.mtuBytes"},
		"another port":         {func(now *v1alpha1.TestbedSpec) { now.Ports.West.VLAN = new(int32(7)) }, "spec.ports.west"},
		"the other port":       {func(now *v1alpha1.TestbedSpec) { now.Ports.East.Attachment = v1alpha1.PortSRIOV }, "spec.ports.east"},
		"another loop": {func(now *v1alpha1.TestbedSpec) {
			now.Ports.CalibrationNetworks = []v1alpha1.NetworkReference{{Name: "a"}, {Name: "b"}}
		}, "spec.ports.calibrationNetworks"},
		"a smaller ring": {func(now *v1alpha1.TestbedSpec) { now.Generator.XDP.RingFrames = 64 }, "spec.generator.xdp"},
		"more CPU":       {func(now *v1alpha1.TestbedSpec) { now.Generator.CPU = "4" }, "spec.generator.cpu"},
		"another driver": {func(now *v1alpha1.TestbedSpec) {
			now.Generator.Driver, now.Generator.TRex = v1alpha1.DriverTRex, &v1alpha1.TRexGenerator{}
		}, "spec.generator.driver and spec.generator.trex"},
		"who may use it, and where it runs": {func(now *v1alpha1.TestbedSpec) {
			now.HistoryLimit, now.Generator.Memory, now.Generator.NodeSelector = 7, "1Gi", map[string]string{"a": "b"}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			then := &v1alpha1.TestbedSpec{
				Generator: v1alpha1.Generator{Driver: v1alpha1.DriverXDP, XDP: v1alpha1.XDPGenerator{RingFrames: 1024}},
				Ports:     v1alpha1.TestbedPorts{LinkBitsPerSecond: 10e9, MTUBytes: 1500},
			}
			now := then.DeepCopy()
			test.change(now)
			want := ""
			if test.want != "" {
				want = `spec.experiment.baseline.runRef "then" was measured with other settings of Testbed "lab", ` + test.want +
					": measure the baseline again and name that run, or set the testbed as it was"
			}
			run, earlier := nowOf(5, rates...), runOf(1000, 0, 0)
			if got := WhyIncomparable(run, earlier, then, now); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := WhyIncomparable(run, earlier, nil, now); got != "" {
				t.Errorf("of unknown settings: %q", got)
			}
		})
	}
}
