package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
)

// connections returns a run of connections alone, in two repeats.
func connections(t *testing.T) (*v1alpha1.BenchmarkRun, []measure.Record) {
	run, _ := fixture(t)
	run.Spec.Experiment.Measurements = v1alpha1.Measurements{
		SettleMilliseconds: 100, Repeats: 2,
		Connections: &v1alpha1.Connections{Loads: []v1alpha1.ConnectionsLoad{
			{Name: "web", ConnectionsPerSecond: 5000, RequestBytes: 128, ResponseBytes: 1024, DurationSeconds: 10},
			{Name: "table", ConnectionsPerSecond: 2000, ConcurrentConnections: new(int64(100_000)), RequestBytes: 64, ResponseBytes: 64, DurationSeconds: 30},
		}},
	}
	run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{
		{Name: "rate", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsEstablished, Load: "web"}, AtLeast: new(int64(4900))},
		{Name: "table", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsHeld, Load: "table"}, AtLeast: new(int64(100_000))},
		{Name: "whole", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsFailed, Load: "web"}, AtMost: new(int64(10))},
	}
	run.Status.Results, run.Status.Summary, run.Status.Generator = nil, nil, nil
	run.Status.Connections = connectionsResults()
	run.Status.CPU = []v1alpha1.CPUResult{{FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsEstablished, Load: "web"}, Trials: 2, Node: &v1alpha1.NodeCPU{CPUs: 8, SoftirqMilliCPU: 610}}}
	run.Status.Acceptance = acceptance.Evaluate(run.Spec.Experiment, figure.Of(run.Status))
	conditions(run, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted, acceptance.Message(run.Status.Acceptance), v1alpha1.ConditionSucceeded, v1alpha1.ConditionAccepted)
	run.Status.Warnings = []v1alpha1.Warning{{Code: v1alpha1.WarningLoadNotReached, Message: "The generator began less."}}
	return run, connectionsRecords()
}

func connectionsResults() *v1alpha1.ConnectionsResult {
	return &v1alpha1.ConnectionsResult{
		Program: &v1alpha1.Program{Name: v1alpha1.ProgramTRex, Version: "v3.08"},
		Loads: []v1alpha1.ConnectionsLoadResult{
			{
				Name: "web", IntendedConnectionsPerSecond: 5000, AttemptedConnectionsPerSecond: new(int64(4998)), EstablishedConnectionsPerSecond: new(int64(4950)),
				ConcurrentConnections: 61, Attempted: 115_000, Established: 114_000, Completed: 113_000, Reset: 900, TimedOut: 1000, Unfinished: 100,
				FailedPartsPerMillion: 17_392, ForwardBitsPerSecond: 5_068_800, ReverseBitsPerSecond: 40_550_400, Retransmits: 41, GeneratorCPUPartsPerMillion: 223_000,
				Statistics: []v1alpha1.Statistics{{
					Metric: v1alpha1.MetricConnectionsEstablished, N: 2, Mean: 4950, StandardDeviation: 14, CoefficientOfVariationPartsPerMillion: 2857,
					ConfidenceLow: new(int64(4823)), ConfidenceHigh: new(int64(5077)), Minimum: 4940, Maximum: 4960, Values: []int64{4940, 4960},
				}},
			},
			{
				Name: "table", IntendedConnectionsPerSecond: 2000, IntendedConcurrentConnections: new(int64(100_000)), HeldConnections: new(int64(65_536)),
				ConcurrentConnections: 65_536, Attempted: 200_000, Established: 131_072, Completed: 131_072, TimedOut: 68_928, FailedPartsPerMillion: 344_640,
				Retransmits: 137_856, GeneratorCPUPartsPerMillion: 101_000,
			},
		},
	}
}

func connectionsRecords() []measure.Record {
	at := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	return []measure.Record{
		{
			Index: 0, Stage: measure.StageConnections, Load: "web", Measurer: "m",
			Trial: measure.Trial{DurationNanoseconds: 1e10, Connections: &measure.ConnectionsTrial{ConnectionsPerSecond: 5000, RequestBytes: 128, ResponseBytes: 1024}},
			Outcome: measure.Outcome{StartedAt: at, SendingNanoseconds: 1e10, TotalNanoseconds: 12e9, Connections: &measure.ConnectionsOutcome{
				CountedNanoseconds: 1e10, CountedAttempts: 49_980, CountedEstablished: 49_500, ForwardBytes: 6_336_000, ReverseBytes: 50_688_000,
				Attempts: 57_500, Established: 57_000, Completed: 56_500, Reset: 450, TimedOut: 500, Unfinished: 50, Concurrent: 61, Retransmits: 20, GeneratorCPUPartsPerMillion: 223_000,
			}},
		},
		{
			Index: 1, Stage: measure.StageConnections, Load: "table", Measurer: "m",
			Trial: measure.Trial{DurationNanoseconds: 3e10, Connections: &measure.ConnectionsTrial{ConnectionsPerSecond: 2000, RequestBytes: 64, ResponseBytes: 64, ConcurrentConnections: 100_000}},
			Outcome: measure.Outcome{StartedAt: at.Add(time.Minute), SendingNanoseconds: 3e10, TotalNanoseconds: 140e9, Connections: &measure.ConnectionsOutcome{
				CountedNanoseconds: 3e10, Attempts: 100_000, Established: 65_536, Completed: 65_536, TimedOut: 34_464, Concurrent: 65_536, HeldAtEnd: 65_536, Retransmits: 68_928,
			}},
		},
	}
}
