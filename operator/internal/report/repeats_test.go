package report

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// repeated returns the fixture's first frame size, measured three times: the same
// trials again, with slightly different rates and delays. Its figures are the
// procedure's own.
func repeated(t *testing.T) (*v1alpha1.BenchmarkRun, []measure.Record) {
	t.Helper()
	const calibration, repeats = 2, 3
	run, all := fixture(t)
	run.Spec.Experiment.Traffic.FrameBytes, run.Spec.Experiment.Measurements.Repeats, run.Spec.Experiment.Acceptance = []int32{64}, repeats, nil
	instr := measure.Instructions{Sizes: []measure.Size{measure.FrameSize(64)}, LinkBitsPerSecond: 10_000_000_000, Calibration: &measure.Path{}}
	instr.WarmUpMilliseconds, instr.Repeats = new(int32(1)), repeats
	instr.Latency = &v1alpha1.Latency{TrialMilliseconds: 5000}
	for _, l := range run.Spec.Experiment.Measurements.Latency.Loads {
		load := v1alpha1.LatencyLoad{Name: l.Name}
		for _, r := range all {
			if r.Load == l.Name && r.Trial.FrameBytes == 64 {
				load.FramesPerSecond = new(int64(r.Trial.IntendedFramesPerSecond))
			}
		}
		instr.Latency.Loads = append(instr.Latency.Loads, load)
	}
	var records []measure.Record
	for repeat := range repeats {
		for _, r := range all {
			warmOrLoad := r.Stage == measure.StageWarmUp || r.Stage == measure.StageLatency
			if r.Trial.FrameBytes != 64 || !warmOrLoad && (repeat > 0 || r.Stage == measure.StageThroughput) {
				continue
			}
			r.Index, r.Repeat = len(records), repeat
			directions := append([]measure.DirectionOutcome{}, r.Outcome.Directions...)
			for i := range directions {
				directions[i].Latency.P50Nanoseconds += uint64(40 * repeat)
				directions[i].Latency.P99Nanoseconds += uint64(300 * repeat * repeat)
			}
			r.Outcome.Directions = directions
			records = append(records, r)
		}
	}
	if len(records) < calibration+repeats {
		t.Fatalf("got %d records", len(records))
	}
	figures := procedure.Results(instr, records)
	if len(figures.Frames) != 1 || len(figures.Frames[0].Latency) != len(instr.Latency.Loads) {
		t.Fatalf("got %+v", figures.Frames)
	}
	throughput := run.Status.Results[0].Throughput
	throughput[0].Statistics = []v1alpha1.Statistics{{
		Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 3, Mean: 231_480, StandardDeviation: 1_000,
		CoefficientOfVariationPartsPerMillion: 4_320, ConfidenceLow: 228_995, ConfidenceHigh: 233_965,
		Resolution: new(int64(2_883)), LimitedBy: v1alpha1.LimitedByResolution,
		Minimum: 230_480, Maximum: 232_480, Values: []int64{230_480, 232_480, 231_480},
	}}
	throughput[1].Censored = &v1alpha1.CensoredRepeats{Repeats: 2, N: 3, Values: []int64{240_101, 250_000, 250_000}}
	run.Status.Results, run.Status.CPU = figures.Frames, figures.CPU
	run.Status.Results[0].Throughput = throughput
	run.Status.Acceptance, run.Status.Warnings = nil, nil
	run.Status.Generator.CPUs, run.Status.Generator.IsolatedCPUs, run.Status.Generator.ScalingGovernors = 4, 2, []string{"performance"}
	conditions(run, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "there are no acceptance criteria", v1alpha1.ConditionSucceeded)
	conditions(run, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "there are no acceptance criteria", v1alpha1.ConditionAccepted)
	meta.RemoveStatusCondition(&run.Status.Conditions, v1alpha1.ConditionStalled)
	return run, records
}
