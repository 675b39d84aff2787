package envtest

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/series"
)

// kept returns the BenchmarkMeasurements of the lab in the order of their names, and their points.
func (l *lab) kept() ([]v1alpha1.BenchmarkMeasurement, []series.Point) {
	l.t.Helper()
	var objects []v1alpha1.BenchmarkMeasurement
	points, err := series.ReadMeasurements(l.ctx, cluster, l.namespace, "", func(m *v1alpha1.BenchmarkMeasurement) { objects = append(objects, *m) })
	l.Expect(err).NotTo(HaveOccurred())
	return objects, points
}

func namesOf(objects []v1alpha1.BenchmarkMeasurement) (names []string) {
	for _, o := range objects {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return names
}

// TestMeasurementsOutliveTheirSuite checks what is kept of an execution, that it stays when the suite is deleted with everything below it, and that
// a new suite of the same name continues the series.
func TestMeasurementsOutliveTheirSuite(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	const text = twoSizes + "subject: {name: router, revision: 3f2a}"
	s := l.suite("nightly", text)
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expectSuite(l.executes("hand", ""), v1alpha1.ConditionSucceeded, "True/Succeeded")
	objects, points := l.kept()
	l.Expect(namesOf(objects)).To(Equal([]string{"nightly-1-size-128-1", "nightly-1-size-64-1"}))
	for _, m := range objects {
		l.Expect(m.OwnerReferences).To(BeEmpty())
		l.Expect(m.Labels).To(And(HaveKeyWithValue(v1alpha1.LabelSuite, "nightly"), HaveKeyWithValue(v1alpha1.LabelSuiteRun, "nightly-1"), HaveKeyWithValue(v1alpha1.LabelCell, m.Spec.Cell), HaveKeyWithValue(v1alpha1.LabelRepeat, "1")))
		l.Expect(string(m.Spec.Experiment.Raw)).To(ContainSubstring(`"name":"router"`))
		l.Expect(m.Spec.Subject.Revision).To(Equal("3f2a"))
	}
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "nightly-1-size-64-1"}}
	l.Expect(l.get(run)).To(Succeed())
	t.Logf("%d bytes of points, and %d that they share", len(objects[0].Spec.Points)*len(objects[0].Spec.Points[0].Raw), len(objects[0].Spec.Common.Raw))
	l.Expect(points).To(ContainElement(And(
		HaveField("Figure", "ThroughputFramesPerSecond 64 NDR"), HaveField("Run", run.Name), HaveField("Execution", "nightly-1"), HaveField("Testbed", l.namespace),
		HaveField("Value", run.Status.Results[0].Throughput[0].FramesPerSecond), HaveField("Subject.Revision", "3f2a"),
		HaveField("CalibrationLevel", BeNumerically(">", 0)),
	)))

	l.Expect(cluster.Delete(l.ctx, s)).To(Succeed())
	l.Eventually(l.executionNames).Should(Equal([]string{"hand"}))
	l.Eventually(l.runNames).Should(HaveLen(1))
	after, _ := l.kept()
	l.Expect(namesOf(after)).To(Equal(namesOf(objects)))

	l.expectSuite(l.suite("nightly", text), v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(l.executionNames()).To(Equal([]string{"hand", "nightly-2"}))
	_, points = l.kept()
	all, err := series.Group(points)
	l.Expect(err).NotTo(HaveOccurred())
	for _, one := range all {
		l.Expect(one.Runs).To(HaveLen(2), one.String())
	}
}

// TestMeasurementsCannotBeForged: a tenant with the built-in role edit reads measurements, and creates, changes and deletes none. Who administers the
// namespace deletes them, and no one changes one.
func TestMeasurementsCannotBeForged(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	l.expectSuite(l.suite("nightly", ""), v1alpha1.ConditionSucceeded, "True/Succeeded")
	objects, _ := l.kept()
	l.Expect(objects).To(HaveLen(1))
	forge := func(c client.Client) map[string]error {
		added, changed := objects[0].DeepCopy(), objects[0].DeepCopy()
		added.ObjectMeta = metav1.ObjectMeta{Namespace: l.namespace, Name: "forged", Labels: objects[0].Labels}
		changed.Spec.Points[0].Raw = []byte(`{"value":1}`)
		return map[string]error{
			"create": c.Create(l.ctx, added), "update": c.Update(l.ctx, changed),
			"patch": c.Patch(l.ctx, objects[0].DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"vnfbench.io/suite":"other"}}}`))),
			"apply": c.Patch(l.ctx, &v1alpha1.BenchmarkMeasurement{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BenchmarkMeasurement"},
				ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "applied"}, Spec: *objects[0].Spec.DeepCopy()}, client.Apply, client.FieldOwner("mallory")), //nolint:staticcheck // A tenant's client is free to apply so.
		}
	}
	mallory := l.tenant()
	var list v1alpha1.BenchmarkMeasurementList
	l.Expect(mallory.List(l.ctx, &list, inNamespace(l))).To(Succeed())
	l.Expect(list.Items).To(HaveLen(1))
	attempts := forge(mallory)
	attempts["delete"] = mallory.Delete(l.ctx, objects[0].DeepCopy())
	attempts["deletecollection"] = mallory.DeleteAllOf(l.ctx, &v1alpha1.BenchmarkMeasurement{}, inNamespace(l))
	for verb, err := range attempts {
		if !apierrors.IsForbidden(err) {
			t.Errorf("a tenant may %s: %v", verb, err)
		}
	}

	admin := l.tenant("vnfbench-admin")
	for verb, err := range forge(admin) {
		if !apierrors.IsForbidden(err) {
			t.Errorf("an administrator of the namespace may %s: %v", verb, err)
		}
	}
	if err := forge(cluster)["update"]; !apierrors.IsInvalid(err) {
		t.Errorf("an administrator of the cluster changed a measurement: %v", err)
	}
	l.Expect(admin.Delete(l.ctx, objects[0].DeepCopy())).To(Succeed())
}

// TestMeasurementOfAnotherName checks that a measurement whose name is taken by other contents fails, and takes nothing.
func TestMeasurementOfAnotherName(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	e := l.suite("first", "")
	l.expectSuite(e, v1alpha1.ConditionSucceeded, "True/Succeeded")
	objects, _ := l.kept()
	taken := objects[0].DeepCopy()
	taken.ObjectMeta = metav1.ObjectMeta{Namespace: l.namespace, Name: "second-1-base-1"}
	l.Expect(cluster.Create(l.ctx, taken)).To(Succeed())
	l.suite("second", "")
	second := l.execution("second-1")
	l.expectSuite(second, v1alpha1.ConditionSucceeded, "False/MeasurementsFailed")
	l.Expect(second.Status.Cells[0].Measurements[0].Reason).To(Equal(v1alpha1.ReasonPointsNotKept))
	l.Expect(second.Status.Cells[0].FramesPerSecond).NotTo(BeNil())
	after, _ := l.kept()
	l.Expect(after).To(HaveLen(2))
}
