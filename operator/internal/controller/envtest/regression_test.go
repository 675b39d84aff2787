package envtest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// ofRules returns a change that gives a suite a firewall with some rules, a revision and a number of repeats.
func ofRules(rules int, revision string, repeats int32) func(*v1alpha1.BenchmarkSuite) {
	return func(s *v1alpha1.BenchmarkSuite) {
		of := &s.Spec.Template
		of.Subject, of.Repeats = &v1alpha1.SuiteSubject{Subject: v1alpha1.Subject{Name: "fw", Revision: revision}}, repeats
		start := bytes.Index(of.Experiment.Raw, []byte(`"chain":[`))
		end := start + bytes.IndexByte(of.Experiment.Raw[start:], ']') + 1
		chain := fmt.Appendf(nil, `"chain":[{"name":"fw","function":"Firewall","firewall":{"mode":"Stateless","rules":%d}}]`, rules)
		of.Experiment.Raw = bytes.Replace(of.Experiment.Raw, of.Experiment.Raw[start:end], chain, 1)
	}
}

// redefine stores another version of a suite.
func (l *lab) redefine(s *v1alpha1.BenchmarkSuite, change func(*v1alpha1.BenchmarkSuite)) {
	l.t.Helper()
	l.Eventually(func() error {
		if err := l.get(s); err != nil {
			return err
		}
		change(s)
		return cluster.Update(l.ctx, s)
	}).Should(Succeed())
}

// TestRegressionOfASuite follows a suite whose device forwards less with more rules. A quiet execution raises nothing, and a change is suspected. When
// the suite is deleted in the middle of the confirmation, its measurements alone are left, and a suite of the same name continues: the change is
// confirmed by interleaved runs, named with its revision, fails the suite, and can be accepted. An execution by hand that claims to be a confirmation
// is in no series.
func TestRegressionOfASuite(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) {
		n.capacity = func(run *v1alpha1.BenchmarkRun) float64 {
			return capacityFramesPerSecond - 50*float64(run.Spec.Experiment.Chain[0].Firewall.Rules)
		}
	})
	l.testbed()
	gated := func(s *v1alpha1.BenchmarkSuite) {
		s.Spec.Regression = &v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}}}
	}
	s := l.suite("watch", "", ofRules(10, "one", 10), gated)
	l.Eventually(l.runNames).Should(HaveLen(5))
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.redefine(s, ofRules(10, "two", 1))
	l.Eventually(func() string {
		l.Expect(l.get(s)).To(Succeed())
		return s.Status.Regression.Execution
	}).Should(Equal("watch-2"))
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(s.Status.Regression.Counts.Pass).To(BeNumerically(">", 0), "%+v", s.Status.Regression)
	l.Expect(s.Status.Regression.Counts.Regression).To(BeZero())
	l.Expect(s.Status.Regression.ExtraRuns).To(BeZero())
	l.Expect(l.executionNames()).To(Equal([]string{"watch-1", "watch-2"}))

	l.node.set(func(n *node) {
		n.holds = func(run *v1alpha1.BenchmarkRun) bool { return strings.Contains(run.Name, "-confirm-") }
	})
	l.redefine(s, ofRules(1000, "three", 1))
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "Unknown/Confirming")
	l.Eventually(l.runNames).Should(ContainElement(HavePrefix("watch-3-confirm-1-")))
	l.Expect(cluster.Delete(l.ctx, s)).To(Succeed())
	l.Eventually(l.runNames).Should(BeEmpty())
	l.Eventually(l.executionNames).Should(BeEmpty())
	l.Eventually(l.objects).Should(BeEmpty())
	objects, _ := l.kept()
	l.Expect(objects).To(HaveLen(12)) // ten, one and one

	l.node.set(func(n *node) { n.holds = nil })
	s = l.suite("watch", "", ofRules(1000, "three", 1), gated)
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "False/RegressionFound")
	l.Expect(messageOf(s, v1alpha1.ConditionSucceeded)).To(ContainSubstring(`with fw three (after fw two), first in run "watch-3-base-1"`))
	judged := s.Status.Regression
	l.Expect(judged.Execution).To(Equal("watch-4"))
	l.Expect(judged.Confirmation).To(BeNil())
	l.Expect(judged.ExtraRuns).To(BeNumerically(">=", 6))
	l.Expect(judged.Verdicts[0]).To(And(HaveField("Verdict", "Regression"), HaveField("Gated", true), HaveField("Cell", "base"), HaveField("Change.Revision", "three"), HaveField("Change.PartsPerMillion", BeNumerically("<", -200_000))))
	l.Expect(judged.Cells).To(Equal([]v1alpha1.CellVerdict{{Name: "base", Verdict: "Regression", Gated: true}}))
	l.Eventually(l.events(s)).Should(ContainElements("ConfirmationMade", "RegressionConfirmed", "RegressionFound"))
	first := l.execution("watch-4-confirm-1")
	l.Expect(l.get(first)).To(Succeed())
	third := l.execution("watch-4")
	l.Expect(l.get(third)).To(Succeed())
	l.Expect(metav1.IsControlledBy(first, third)).To(BeTrue())
	_, points := l.kept()
	legs := 0
	for _, p := range points {
		if p.Leg != nil && strings.HasPrefix(p.Figure, "Throughput") {
			legs++
			l.Expect(p.Subject.Revision).To(Equal(map[bool]string{true: "three", false: p.Subject.Revision}[p.Leg.Side == "New"]))
		}
	}
	l.Expect(legs).To(BeNumerically("==", judged.ExtraRuns))

	forged := l.execution("watch-4-confirm-9")
	forged.Labels, forged.OwnerReferences = first.Labels, first.OwnerReferences
	forged.Spec = *first.Spec.DeepCopy()
	forged.Spec.Confirmation.FirstPair, forged.Spec.Template.Repeats = 9, 1
	l.Expect(cluster.Create(l.ctx, forged)).To(Succeed())
	l.expectSuite(forged, v1alpha1.ConditionSucceeded, "True/Succeeded")
	_, after := l.kept()
	l.Expect(after).To(HaveLen(len(points)))

	l.redefine(s, func(s *v1alpha1.BenchmarkSuite) {
		s.Spec.Regression.Acknowledgements = []v1alpha1.Acknowledgement{{Kind: "Accepted", Revision: "three", Note: "the new rule set"}}
	})
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
}
