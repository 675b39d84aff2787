package envtest

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
)

const pathStateful = "stateful"

// openStateful opens a generator that is both ends, and whose device holds 90 of
// 100 connections.
func (o opener) openStateful(between measure.Stateful) (measure.Driver, error) {
	if len(between.Path.Streams) != 2 {
		return nil, errors.New("there is no path with both directions")
	}
	return held{statefulEnds{}, o.node, pathStateful, o.run}, nil
}

type statefulEnds struct{ tcpEnds }

func (s statefulEnds) Measure(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	if trial.Connections == nil {
		return s.tcpEnds.Measure(ctx, trial)
	}
	out := &measure.ConnectionsOutcome{
		CountedNanoseconds: 1e9, CountedAttempts: trial.Connections.ConnectionsPerSecond, CountedEstablished: trial.Connections.ConnectionsPerSecond,
		Attempts: 100, Established: 100, Completed: 90, Reset: 10, Concurrent: 100, HeldAtEnd: 90, Program: measure.Program{Name: measure.ProgramTRex, Version: "v3.08"},
	}
	if trial.Connections.ConcurrentConnections > 0 {
		out.CountedAttempts, out.CountedEstablished = 0, 0
	}
	return measure.Outcome{SendingNanoseconds: trial.DurationNanoseconds, TotalNanoseconds: trial.DurationNanoseconds, Connections: out}, nil
}

// connectionsAlone only asks for TCP and connections.
func connectionsAlone(run *v1alpha1.BenchmarkRun) {
	tcpAlone(run)
	run.Spec.Experiment.Measurements.Connections = &v1alpha1.Connections{Loads: []v1alpha1.ConnectionsLoad{
		{Name: "rate", ConnectionsPerSecond: 1000}, {Name: "table", ConnectionsPerSecond: 100, ConcurrentConnections: ptr.To[int64](100)},
	}}
}

// TestConnectionsRun checks that TRex makes TCP connections itself: there are no pods at the ends, and the verdict
// on a load ends the run.
func TestConnectionsRun(t *testing.T) {
	l := newLab(t, nil)
	l.testbed(byTRex(trexImage))
	run := l.run("connections", connectionsAlone, func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{
			{Name: "rate", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsEstablished, Load: "rate"}, AtLeast: ptr.To[int64](1000)},
			{Name: "table", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricConnectionsHeld, Load: "table"}, AtLeast: ptr.To[int64](100)},
		}
	})
	l.expect(run, v1alpha1.ConditionSucceeded, "False/NotAccepted")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("ConnectionsHeld at table is 90, at least 100 required"))
	l.Expect(run.Status.TCP.Streams).To(HaveLen(2))
	l.Expect(run.Status.Connections.Program).To(Equal(&v1alpha1.Program{Name: v1alpha1.ProgramTRex, Version: "v3.08"}))
	l.Expect(run.Status.Connections.Loads).To(HaveLen(2))
	l.Expect(run.Status.Connections.Loads[0].EstablishedConnectionsPerSecond).To(HaveValue(BeEquivalentTo(1000)))
	l.Expect(run.Status.Connections.Loads[0].FailedPartsPerMillion).To(BeEquivalentTo(100_000))
	l.Expect(run.Status.Connections.Loads[1].HeldConnections).To(HaveValue(BeEquivalentTo(90)))
	l.Expect(run.Status.Acceptance).To(HaveLen(2))
	l.Expect(run.Status.Acceptance[1].Load).To(Equal("table"))
	l.Expect(l.pods(chain.ComponentEndpoint)).To(BeEmpty())
	l.Expect(l.results(run)).NotTo(HaveKey(measure.KeyEndpoints))
}

// TestConnectionsNeedTRex checks that a testbed whose generator has no own TCP refuses connections when the run is planned.
func TestConnectionsNeedTRex(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	run := l.run("connections", connectionsAlone)
	l.expect(run, v1alpha1.ConditionSucceeded, "False/NotOfferedByDriver")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("a testbed with driver TRex"))
}
