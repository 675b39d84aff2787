package page_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/documenttest"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// example returns the document of a run with most of what a page shows: a firewall and a router with a soft limit, repeats, a loss
// curve, series, processors and verdicts. Its figures are simulated.
func example(t testing.TB) report.Document {
	in := plantest.Input(2)
	experiment := &in.Run.Spec.Experiment
	in.Run.Name = "edge-router"
	experiment.Chain[0].Name, experiment.Chain[0].Function, experiment.Chain[1].Name = "firewall", v1alpha1.FunctionFirewall, "router"
	experiment.Traffic.FrameBytes = []int32{64, 1518}
	experiment.Measurements.Repeats = 3
	experiment.Measurements.FrameLossRate = &v1alpha1.FrameLossRate{StepPercent: 10, TrialMilliseconds: 1000}
	random := rand.New(rand.NewPCG(7, 7))
	device := simulated.Noisy{Device: simulated.SoftKnee{KneeFramesPerSecond: 380_000, CapacityFramesPerSecond: 460_000, MaxLossRatio: 0.02}, Strength: simulated.Mild}
	doc := documenttest.MakeOn(t, in, device, "1.2.3", func(_ measure.Instructions, records []measure.Record, r *measure.Record) {
		r.Measurer = "edge-router-traffic"
		if r.Stage == measure.StageThroughput && len(records)%11 == 5 && (len(records) == 0 || records[len(records)-1].Outcome.Valid()) {
			r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtSteal, Detail: "the hypervisor took 3 ms", Invalid: true})
		}
		for i := range r.Outcome.Directions {
			if d := &r.Outcome.Directions[i]; r.Stage == measure.StageLatency {
				d.Series = slots(random, *d)
			}
		}
	})
	doc.GeneratedAt = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	doc.Succeeded.Message = "every measurement was made and every criterion passed"
	doc.Run.StartTime = new(metav1.NewTime(doc.Run.CreationTime.Add(time.Minute)))
	doc.Plan = &v1alpha1.PlanSummary{Digest: "sha256:2f1d9c6f0c3e58c0a4b7e3f5f1a0d7a4a7c1e9b5d3f2a1c0b9e8d7c6b5a4f3e2", GeneratorNode: "node-a", DeviceNode: "node-a", OrderSeed: new(int64(4711))}
	doc.Chain = []v1alpha1.FunctionReport{{Name: "firewall", Runtime: v1alpha1.RuntimePod, Node: "node-a", ImageID: "registry.example/vnf@sha256:9b1c"}, {Name: "router", Runtime: v1alpha1.RuntimePod, Node: "node-a", ImageID: "registry.example/vnf@sha256:9b1c"}}
	doc.Generator = &v1alpha1.GeneratorReport{Driver: "XDP", TransmitPath: "Direct", Hop: "Inline", RingFrames: 1024, ImageID: "registry.example/traffic@sha256:77aa", Fingerprint: &v1alpha1.Fingerprint{Digest: "sha256:51ab", CPUModel: "Example CPU", CPUs: 8, Kernel: "6.12.0"}}
	doc.Device = &v1alpha1.DeviceReport{Fingerprint: doc.Generator.Fingerprint}
	doc.Acceptance = []v1alpha1.Verdict{{Criterion: "fast", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Size: "64", Goal: "NDR"}, Result: v1alpha1.VerdictPassed, Message: "ThroughputFramesPerSecond is above 300000"}}
	doc.CPU = nil
	for _, frame := range doc.Results {
		use := func(key v1alpha1.FigureKey, softirq int64) {
			key.Size = frame.Size
			doc.CPU = append(doc.CPU, v1alpha1.CPUResult{FigureKey: key, Trials: 3, Node: &v1alpha1.NodeCPU{CPUs: 8, UserMilliCPU: 120, SystemMilliCPU: 180, IRQMilliCPU: 30, SoftirqMilliCPU: softirq, StealMilliCPU: 40}})
		}
		for _, l := range frame.Throughput {
			use(v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: l.Goal}, 1650)
		}
		for i, l := range frame.Latency {
			use(v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyMean, Load: l.Load}, int64(200+650*i))
		}
	}
	return doc
}

// slots returns a series that is like a direction's delays, with one stall.
func slots(random *rand.Rand, d measure.DirectionOutcome) *measure.Series {
	s := &measure.Series{SlotNanoseconds: 1e8}
	const n = 50
	for i := range n {
		due := d.SentFrames / n
		mean := float64(d.Latency.MeanNanoseconds) * (0.9 + 0.2*random.Float64())
		longest, missing := float64(d.Latency.P99Nanoseconds)*(1+random.Float64()*2), uint64(0)
		if i == 31 && d.LostFrames() > 0 {
			missing, longest = d.LostFrames(), longest*20
		}
		received := due - min(due, missing)
		tail := received / 50
		s.Add(measure.Slot{
			DueFrames: due, SentFrames: due, ReceivedFrames: received, DelaySum: uint64(mean) * received, MaxNanoseconds: uint64(longest),
			Delays: []measure.DelayCount{{Nanoseconds: uint64(mean), Frames: received - tail}, {Nanoseconds: uint64(longest), Frames: tail}},
		})
	}
	return s
}

// examplePages returns pages by their names.
func examplePages(t *testing.T) map[string]string {
	hostileNames := copied(t, made(t))
	var suite report.SuiteDocument
	fill(reflect.ValueOf(&suite).Elem(), 0)
	studied, ofStudy := exampleStudy()
	hostileNames.Run.Name, hostileNames.Succeeded.Message = hostile, hostile
	return map[string]string{
		"run":           written(t, example(t)),
		"small":         written(t, made(t)),
		"largest":       written(t, documenttest.Largest(t)),
		"hostile":       written(t, hostileNames),
		"suite":         writtenSuite(t, exampleSuite()),
		"hostile-suite": writtenSuite(t, suite),
		"study":         writtenStudy(t, studied, ofStudy),
		"comparison":    writtenComparison(t, columnsOf(t, 420_000, 400_000, 330_000)),
		"waiting":       written(t, report.Document{Run: report.Run{Namespace: "bench", Name: "waiting"}, Completeness: report.Partial, Succeeded: report.Outcome{Status: metav1.ConditionUnknown}}),
	}
}
