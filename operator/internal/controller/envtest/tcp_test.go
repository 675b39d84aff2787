package envtest

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

const pathEndpoints = "endpoints"

// openEndpoints opens two ends that carry a gigabit per second and connection.
func (o opener) openEndpoints(at measure.Endpoints) (measure.Driver, error) {
	if at.West.String() != podAddress+":8080" || at.East != at.West {
		return nil, fmt.Errorf("the ends are said to be at %s and %s", at.West, at.East)
	}
	return held{tcpEnds{}, o.node, pathEndpoints, o.run}, nil
}

type tcpEnds struct{}

func (tcpEnds) Measure(_ context.Context, trial measure.Trial) (measure.Outcome, error) {
	out := &measure.TCPOutcome{Ends: []measure.TCPEnd{{Name: "west", Program: measure.Program{Name: measure.ProgramIperf3, Version: "3.12"}}, {Name: "east"}}}
	for _, direction := range trial.TCP.Directions {
		bytes := int64(trial.TCP.Streams) * 125_000_000
		out.Directions = append(out.Directions, measure.TCPDirectionOutcome{
			Direction: direction, SentBytes: bytes, SentNanoseconds: 1e9, ReceivedBytes: bytes, ReceivedNanoseconds: 1e9,
		})
	}
	return measure.Outcome{SendingNanoseconds: trial.DurationNanoseconds, TotalNanoseconds: trial.DurationNanoseconds, TCP: out}, nil
}

func (tcpEnds) Description() measure.Description { return measure.Description{Driver: "iperf3"} }
func (tcpEnds) Close() error                     { return nil }

// tcpAlone only asks for TCP.
func tcpAlone(run *v1alpha1.BenchmarkRun) {
	run.Spec.Experiment.Measurements.Throughput, run.Spec.Experiment.Measurements.Latency = nil, nil
	run.Spec.Experiment.Measurements.TCP = &v1alpha1.TCP{Streams: []int32{1, 4}}
}

func (l *lab) pods(component string) []corev1.Pod {
	var list corev1.PodList
	l.Expect(cluster.List(l.ctx, &list, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelComponent: component})).To(Succeed())
	return list.Items
}

func (l *lab) results(run *v1alpha1.BenchmarkRun) map[string]string {
	stored := &corev1.ConfigMap{}
	l.Expect(cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: plan.NamesOf(run).Results}, stored)).To(Succeed())
	return stored.Data
}

func TestTCPRun(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	run := l.run("tcp", tcpAlone, func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{
			{Name: "good", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPGoodput}, AtLeast: ptr.To[int64](1_000_000_000)},
		}
	})
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(run.Status.Results).To(BeEmpty())
	l.Expect(run.Status.TCP.Streams).To(HaveLen(2))
	l.Expect(run.Status.TCP.Streams[1].Directions[0].GoodputBitsPerSecond).To(BeEquivalentTo(4_000_000_000))
	l.Expect(run.Status.TCP.Ends[0].Program).To(Equal(&v1alpha1.Program{Name: v1alpha1.ProgramIperf3, Version: "3.12"}))
	l.Expect(run.Status.Acceptance).To(HaveLen(2))
	l.Expect(run.Status.Acceptance[1].Streams).To(BeEquivalentTo(4))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	names := plan.NamesOf(run)
	l.Expect(l.objects()).To(ConsistOf("v1.ConfigMap/"+names.Plan, "v1.ConfigMap/"+names.Results))
}

// TestTCPSuspendAndResume checks that a run that was suspended starts new ends, and stores their addresses.
func TestTCPSuspendAndResume(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathEndpoints] = true })
	l.testbed()
	run := l.run("tcp", tcpAlone)
	l.Eventually(func() map[string]string { return l.tryResults(run) }).Should(HaveKey(measure.KeyEndpoints))
	l.Expect(l.pods(chain.ComponentEndpoint)).To(HaveLen(2))
	l.setSuspend(run, true)
	l.Eventually(func() []corev1.Pod { return l.pods(chain.ComponentEndpoint) }).Should(BeEmpty())
	l.Expect(l.results(run)).NotTo(Or(HaveKey(measure.KeyEndpoints), HaveKey(measure.KeyChain)))
	l.node.set(func(n *node) { n.silent[pathEndpoints] = false })
	l.setSuspend(run, false)
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

func (l *lab) tryResults(run *v1alpha1.BenchmarkRun) map[string]string {
	stored := &corev1.ConfigMap{}
	if cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: plan.NamesOf(run).Results}, stored) != nil {
		return nil
	}
	return stored.Data
}

func TestTCPEndIsLost(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathEndpoints] = true })
	l.testbed()
	run := l.run("tcp", tcpAlone)
	l.Eventually(func() map[string]string { return l.tryResults(run) }).Should(HaveKey(measure.KeyEndpoints))
	end := l.pods(chain.ComponentEndpoint)[0]
	l.kubelet(&end, restarted)
	l.expect(run, v1alpha1.ConditionSucceeded, "False/EndpointFailed")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("end of the TCP connections"))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
}
