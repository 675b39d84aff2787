package envtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/gomega"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/subject"
)

// push stores an image with a revision in the lab's registry, and returns its name with its digest.
func (l *lab) push(image, revision string) string {
	l.t.Helper()
	made, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{
		"org.opencontainers.image.title": "vyos", "org.opencontainers.image.version": "1.5", "org.opencontainers.image.revision": revision,
		"org.opencontainers.image.source": "https://git.example/vyos", "org.opencontainers.image.created": "2026-01-31T12:00:00Z",
	}})
	l.Expect(err).NotTo(HaveOccurred())
	ref, err := name.ParseReference(image, name.Insecure)
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(remote.Write(ref, made)).To(Succeed())
	digest, err := made.Digest()
	l.Expect(err).NotTo(HaveOccurred())
	return ref.Context().Digest(digest.String()).Name()
}

// ofImage makes a suite boot an image that says what is tested.
func ofImage(image string) func(*v1alpha1.BenchmarkSuite) {
	return func(s *v1alpha1.BenchmarkSuite) {
		of := &s.Spec.Template
		of.Subject = &v1alpha1.SuiteSubject{Subject: v1alpha1.Subject{Version: "given"}, FromImage: &v1alpha1.SubjectImage{Function: "router"}}
		of.Experiment.Raw = []byte(strings.Replace(string(of.Experiment.Raw), `"function":"Router"`, fmt.Sprintf(`"function":"Custom","runtime":"VirtualMachine","custom":{"containerDisk":%q}`, image), 1))
	}
}

// takesSubjectsFromLabels follows a suite whose image says what is tested: the measurements have it, and with runOn Revision another tag makes an
// execution only if it has another revision.
func (l *lab) takesSubjectsFromLabels() {
	host := strings.TrimPrefix(l.registry.URL, "http://")
	pushed := l.push(host+"/vyos:1", "one")
	s := l.suite("vyos", "", ofImage(host+"/vyos:1"), func(s *v1alpha1.BenchmarkSuite) { s.Spec.RunOn = v1alpha1.RunOnRevision })
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(s.Status.ImageRevision).To(HaveField("Revision", "one"))
	l.Expect(s.Status.LastExecution).To(And(HaveField("Revision", "one"), HaveField("Trigger", v1alpha1.TriggerRevision)))
	e := l.execution("vyos-1")
	l.Expect(l.get(e)).To(Succeed())
	l.Expect(e.Status.Subject).To(And(HaveField("Name", "vyos"), HaveField("Version", "given"), HaveField("Revision", "one"),
		HaveField("URL", "https://git.example/vyos"), HaveField("Image", pushed), HaveField("Time", v1alpha1.RevisionTime("2026-01-31T12:00:00Z"))))
	objects, points := l.kept()
	l.Expect(objects).To(HaveLen(1))
	l.Expect(objects[0].Spec.Subject).To(Equal(e.Status.Subject))
	l.Expect(points).NotTo(BeEmpty())
	l.Expect(points).To(HaveEach(And(HaveField("Subject.Revision", "one"), HaveField("Subject.Image", pushed))))

	// The same revision under another tag is measured already.
	l.push(host+"/vyos:1-again", "one")
	l.redefine(s, ofOther(host+"/vyos:1", host+"/vyos:1-again"))
	l.Eventually(func() int64 { l.Expect(l.get(s)).To(Succeed()); return s.Status.ObservedGeneration }).Should(Equal(s.Generation))
	l.Consistently(l.executionNames).Should(HaveLen(1))
	l.push(host+"/vyos:2", "two")
	l.redefine(s, ofOther(host+"/vyos:1-again", host+"/vyos:2"))
	l.expectSuite(l.execution("vyos-2"), v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Eventually(func() string { l.Expect(l.get(s)).To(Succeed()); return s.Status.LastExecution.Revision }).Should(Equal("two"))
}

// ofOther names another image.
func ofOther(before, after string) func(*v1alpha1.BenchmarkSuite) {
	return func(s *v1alpha1.BenchmarkSuite) {
		s.Spec.Template.Experiment.Raw = []byte(strings.Replace(string(s.Spec.Template.Experiment.Raw), before, after, 1))
	}
}

// TestLabelsThatCannotBeRead checks that a suite of a registry that is not allowed says so and makes nothing, and that an execution waits for a registry,
// and ends when it has waited long enough.
func TestLabelsThatCannotBeRead(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	s := l.suite("elsewhere", "", ofImage("registry.elsewhere.example/vyos:1"))
	l.expectSuite(s, v1alpha1.ConditionReady, "False/RegistryNotAllowed")
	for _, of := range []string{"benchmarksuite", "benchmarksuiterun"} {
		l.Expect(workersOf(l, of)).To(Equal(float64(concurrentReconciles+subject.AtOnce)), "workers that do not wait for registries stay for others")
	}
	l.Expect(messageOf(s, v1alpha1.ConditionSucceeded)).To(And(ContainSubstring("registry.elsewhere.example"), ContainSubstring("subjectImages.registries")))
	l.Consistently(l.executionNames).Should(BeEmpty())

	host := strings.TrimPrefix(l.registry.URL, "http://")
	absent := l.suite("absent", "", ofImage(host+"/vyos:none"))
	e := l.execution("absent-1")
	l.expectSuite(e, v1alpha1.ConditionPlanned, "Unknown/ImageLabelsUnreadable")
	l.later(time.Hour, e)
	l.expectSuite(e, v1alpha1.ConditionSucceeded, "False/ImageLabelsUnreadable")
	l.expectSuite(absent, v1alpha1.ConditionSucceeded, "False/ImageLabelsUnreadable")
	l.Expect(l.runNames()).To(BeEmpty())
}

// workersOf returns how many objects a controller works on at the same time.
func workersOf(l *lab, controller string) float64 {
	families, err := ctrlmetrics.Registry.Gather()
	l.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "controller_runtime_max_concurrent_reconciles" && metric.GetLabel()[0].GetValue() == controller {
				return metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}
