package envtest

import (
	"fmt"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// TestAdmissionIsExclusive checks that a testbed never has two runs, though several runs and testbeds are
// worked on at the same time.
func TestAdmissionIsExclusive(t *testing.T) {
	l := newLab(t, nil)
	events, err := cluster.Watch(l.ctx, &v1alpha1.BenchmarkRunList{}, client.InNamespace(l.namespace))
	l.Expect(err).NotTo(HaveOccurred())
	defer events.Stop()

	const perTestbed = 4
	var runs []*v1alpha1.BenchmarkRun
	for _, name := range []string{l.namespace, l.namespace + "-b"} {
		l.testbed(func(t *v1alpha1.Testbed) { t.Name = name })
		for i := range perTestbed {
			runs = append(runs, l.run(fmt.Sprintf("%s-%d", name, i), func(run *v1alpha1.BenchmarkRun) { run.Spec.Experiment.TestbedRef.Name = name }))
		}
	}
	for _, run := range runs {
		l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	}

	// The events are every state in which the runs ever were, in their order.
	holders, admissions, ended := map[string]types.UID{}, map[types.UID]bool{}, map[types.UID]bool{}
	for len(ended) < len(runs) {
		run := (<-events.ResultChan()).Object.(*v1alpha1.BenchmarkRun)
		testbed := run.TestbedName()
		switch holder := holders[testbed]; {
		case queue.Occupies(run):
			l.Expect(holder).To(Or(BeEmpty(), Equal(run.UID)), "run %q is on Testbed %q together with another", run.Name, testbed)
			holders[testbed], admissions[run.UID] = run.UID, true
		case holder == run.UID:
			delete(holders, testbed)
			if queue.Finished(run) {
				ended[run.UID] = true
			}
		}
	}
	l.Expect(admissions).To(HaveLen(len(runs)))
}

// TestAdmissionRewritesFewRuns checks that the end of a run does not change the status of every run that waits.
func TestAdmissionRewritesFewRuns(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	testbed := l.testbed()
	first := l.run("a-first")
	l.expect(first, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	next := l.run("b-next")
	const waiting = 30
	for i := range waiting {
		l.run(fmt.Sprintf("c-%02d", i))
	}
	versions := func() map[string]string {
		var runs v1alpha1.BenchmarkRunList
		l.Expect(cluster.List(l.ctx, &runs, client.InNamespace(l.namespace))).To(Succeed())
		found := map[string]string{}
		for _, run := range runs.Items {
			if run.Name[0] == 'c' && run.Status.QueuePosition != nil {
				found[run.Name] = run.ResourceVersion
			}
		}
		return found
	}
	l.Eventually(versions).Should(HaveLen(waiting))
	l.Eventually(func() int32 { l.Expect(l.get(testbed)).To(Succeed()); return testbed.Status.QueuedRuns }).Should(Equal(int32(waiting + 1)))
	// A place is stored up to five seconds after it changed.
	rests := func() bool {
		before := versions()
		time.Sleep(6 * time.Second)
		return maps.Equal(before, versions())
	}
	l.Eventually(rests).Should(BeTrue(), "the queue is at rest")

	before := versions()
	l.Expect(cluster.Delete(l.ctx, first)).To(Succeed())
	l.expect(next, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.Eventually(rests).Should(BeTrue(), "the queue is at rest")
	changed := 0
	for name, version := range versions() {
		if before[name] != version {
			changed++
		}
	}
	// Those that are at the places 1 to 10 now, and the one that has left place 20.
	l.Expect(changed).To(BeNumerically("<=", 11))
	l.Expect(changed).To(BeNumerically(">=", 9))
}

// TestWritesOfARun counts the versions of a run and of its ConfigMaps: at most one for each trial, a report every five
// seconds, and a number that does not depend on the trials.
func TestWritesOfARun(t *testing.T) {
	const states, others = 40, 15
	l := newLab(t, nil)
	start := time.Now()
	runs, err := cluster.Watch(l.ctx, &v1alpha1.BenchmarkRunList{}, client.InNamespace(l.namespace))
	l.Expect(err).NotTo(HaveOccurred())
	defer runs.Stop()
	configMaps, err := cluster.Watch(l.ctx, &corev1.ConfigMapList{}, client.InNamespace(l.namespace), client.HasLabels{v1alpha1.LabelRun})
	l.Expect(err).NotTo(HaveOccurred())
	defer configMaps.Stop()
	l.testbed()
	run := l.run("run", func(r *v1alpha1.BenchmarkRun) { r.Spec.Experiment.Traffic.FrameBytes = []int32{64, 128, 256, 512} })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	var trials int
	_, err = fmt.Sscanf(meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionMeasured).Message, "%d trials", &trials)
	l.Expect(err).NotTo(HaveOccurred())

	statuses := 0
	for event := range runs.ResultChan() {
		statuses++
		if event.Object.(*v1alpha1.BenchmarkRun).ResourceVersion == run.ResourceVersion {
			break
		}
	}
	last := &corev1.ConfigMap{}
	l.Expect(cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: run.Status.ResultsRef.Name}, last)).To(Succeed())
	results := 0
	for event := range configMaps.ResultChan() {
		results++
		if event.Object.(*corev1.ConfigMap).ResourceVersion == last.ResourceVersion {
			break
		}
	}
	reports := int(time.Since(start)/(5*time.Second)) + 1
	t.Logf("%d trials, %d versions of the run with at most %d reports, %d of its ConfigMaps", trials, statuses, reports, results)
	l.Expect(trials).To(BeNumerically(">", 2*others))
	l.Expect(statuses).To(BeNumerically("<=", states+reports))
	l.Expect(results).To(BeNumerically("<=", trials+others))
}
