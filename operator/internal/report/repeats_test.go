package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// repeated returns the fixture's first frame size, measured three times: the same
// trials again, each with its own deployment, and slightly different rates and
// delays. Its figures are the procedure's own.
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
	instr.RepeatScope, run.Spec.Experiment.Measurements.RepeatScope = v1alpha1.RepeatChain, v1alpha1.RepeatChain
	var records []measure.Record
	for repeat := range repeats {
		for _, r := range all {
			warmOrLoad := r.Stage == measure.StageWarmUp || r.Stage == measure.StageLatency
			if r.Trial.FrameBytes != 64 || !warmOrLoad && (repeat > 0 || r.Stage == measure.StageThroughput) {
				continue
			}
			r.Index, r.Repeat = len(records), repeat
			if r.Stage != measure.StageCalibrateRate && r.Stage != measure.StageCalibrateLatency {
				r.Deployment = repeat + 1
			}
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
	run.Status.Deployments = deploymentsOf(records)
	figures := procedure.Results(instr, records)
	if len(figures.Frames) != 1 || len(figures.Frames[0].Latency) != len(instr.Latency.Loads) {
		t.Fatalf("got %+v", figures.Frames)
	}
	throughput := run.Status.Results[0].Throughput
	throughput[0].Statistics = []v1alpha1.Statistics{{
		Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 3, Mean: 231_480, StandardDeviation: 1_000,
		CoefficientOfVariationPartsPerMillion: 4_320, ConfidenceLow: new(int64(228_995)), ConfidenceHigh: new(int64(233_965)),
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

// TestWithoutInterval checks that the report and the CSV say why a throughput has no interval.
func TestWithoutInterval(t *testing.T) {
	for limit, note := range map[v1alpha1.StatisticsLimit]string{
		v1alpha1.LimitedByDrift: "no interval: they drift", v1alpha1.LimitedByLossInversion: "no interval: a higher load met the goal",
		v1alpha1.LimitedByTooFewRepeats: "no interval: too few repeats",
	} {
		s := v1alpha1.Statistics{
			Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 2, Mean: 2000, LimitedBy: limit, Resolution: new(int64(20)),
			Minimum: 1000, Maximum: 3000, Values: []int64{3000, 1000},
		}
		doc := Document{Results: []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64, Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", Statistics: []v1alpha1.Statistics{s}}}}}}
		got := strings.Join(throughputRepeats(doc).rows[0], "|")
		if want := "64|NDR|0.020|" + note + "|2|2.000|0.000|0.00|-|-|1.000|3.000|3.000 1.000"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if cells := strings.Join(statisticsCells(&s), "|"); !strings.Contains(cells, "|0|||20|"+string(limit)+"|1000|") {
			t.Errorf("got %s", cells)
		}
	}
}

// deploymentsOf returns deployments of one function, a minute apart.
func deploymentsOf(records []measure.Record) (list []v1alpha1.Deployment) {
	for _, r := range records {
		if r.Deployment > len(list) {
			list = append(list, v1alpha1.Deployment{
				Number: int32(r.Deployment), ReadyTime: metav1.Date(2026, 3, 1, 12, r.Deployment, 0, 0, time.UTC),
				Functions: []v1alpha1.DeployedFunction{{Name: "router", Runtime: v1alpha1.RuntimePod, UID: fmt.Sprintf("pod-%d", r.Deployment), Node: "node-b"}},
			})
		}
		if r.Deployment > 0 {
			list[r.Deployment-1].Trials++
		}
	}
	return list
}
