package envtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	_ "gocloud.dev/blob/memblob"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/controller/archiving"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/records"
	"vnfbench.io/operator/internal/report"
)

// bucket is an archive in memory that can be away.
type bucket struct {
	*archive.Archive
	mutex sync.Mutex
	away  error
}

func newBucket(l *lab) *bucket {
	a, err := archive.Open(l.ctx, "mem://")
	l.Expect(err).NotTo(HaveOccurred())
	return &bucket{Archive: a}
}

func (b *bucket) set(away error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.away = away
}

func (b *bucket) Store(ctx context.Context, key string, text []byte) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.away != nil {
		return b.away
	}
	return b.Archive.Store(ctx, key, text)
}

// startResults starts what cmd/results runs, with its rights, and returns what ends it.
func (l *lab) startResults(into archiving.Store) (stop func()) {
	l.t.Helper()
	return l.startResultsWith(into, func(reader client.Reader) client.Reader { return reader })
}

// startResultsWith is startResults with another reader of the API server.
func (l *lab) startResultsWith(into archiving.Store, from func(client.Reader) client.Reader) (stop func()) {
	l.t.Helper()
	mgr, err := ctrl.NewManager(results, ctrl.Options{
		Scheme: cluster.Scheme(), Cache: archiving.CacheOptions([]string{l.namespace}, nil), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	l.Expect(err).NotTo(HaveOccurred())
	archiver := &archiving.Archiver{Client: mgr.GetClient(), Reader: from(mgr.GetAPIReader()), Archive: into, Clock: clock.RealClock{}, Metrics: archiving.NewMetrics(mgr.GetClient()), Version: "1.2.3"}
	l.Expect(archiver.SetupWithManager(mgr)).To(Succeed())
	ctx, cancel := context.WithCancel(l.ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				l.t.Errorf("the results service ended: %v", err)
			}
		})
	}
	l.t.Cleanup(stop)
	return stop
}

// stored reads a run's document from an archive.
func (l *lab) stored(b *bucket, run *v1alpha1.BenchmarkRun) report.Document {
	l.t.Helper()
	text, err := b.Read(l.ctx, archive.RunKey(run.Namespace, run.Name, string(run.UID)))
	l.Expect(err).NotTo(HaveOccurred())
	doc, err := document.Read(bytes.NewReader(text))
	l.Expect(err).NotTo(HaveOccurred())
	return doc
}

// TestArchiveThatIsAway checks that runs are measured while the archive is away, that the condition says so and nothing else changes, that the document
// is stored when the archive is back, also by a service that was started again, and that it replays.
func TestArchiveThatIsAway(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	b := newBucket(l)
	b.set(fmt.Errorf("%w: connection refused", archive.ErrUnavailable))
	stop := l.startResults(b)
	first, second := l.run("first"), l.run("second")
	for _, run := range []*v1alpha1.BenchmarkRun{first, second} {
		l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
		l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
		l.expect(run, v1alpha1.ConditionArchived, "False/ArchiveUnavailable")
		l.Expect(l.message(run, v1alpha1.ConditionArchived)).To(ContainSubstring("connection refused"))
		l.Expect(conditionText(run.Status.Conditions, v1alpha1.ConditionSucceeded)).To(Equal("True/Succeeded"))
		l.Expect(conditionText(run.Status.Conditions, v1alpha1.ConditionStalled)).To(BeEmpty())
	}
	stop()
	b.set(fmt.Errorf("%w: no such bucket", archive.ErrNoBucket))
	stop = l.startResults(b)
	l.expect(first, v1alpha1.ConditionArchived, "False/BucketNotFound")
	b.set(nil)
	for _, run := range []*v1alpha1.BenchmarkRun{first, second} {
		l.expect(run, v1alpha1.ConditionArchived, "True/Stored")
		doc := l.stored(b, run)
		l.Expect(l.message(run, v1alpha1.ConditionArchived)).To(HavePrefix(archive.RunKey(run.Namespace, run.Name, string(run.UID)) + ", "))
		done, err := report.Replay(doc)
		l.Expect(err).NotTo(HaveOccurred())
		l.Expect(done.Differences).To(BeEmpty())
		l.Expect(doc.Trials).NotTo(BeEmpty())
		l.Expect(doc.Versions.Report).To(Equal("1.2.3"))
	}
	// The operator writes the status again, and the condition, which is not its own, stays.
	l.patch(first, `{"spec":{"ttlSecondsAfterFinished":86400}}`)
	l.Eventually(func() int64 { l.Expect(l.get(first)).To(Succeed()); return first.Status.ObservedGeneration }).Should(Equal(first.Generation))
	l.Expect(conditionText(first.Status.Conditions, v1alpha1.ConditionArchived)).To(Equal("True/Stored"))
	stop()
	// Another archiver does not store what is stored.
	b.set(errors.New("a document is stored again"))
	l.startResults(b)
	l.Consistently(l.state(first, v1alpha1.ConditionArchived)).Should(Equal("True/Stored"))
}

// withoutRecords is a reader that may not read ConfigMaps.
type withoutRecords struct{ client.Reader }

func (w withoutRecords) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, is := into.(*corev1.ConfigMap); is {
		return apierrors.NewForbidden(corev1.Resource("configmaps"), key.Name, errors.New("no role allows it"))
	}
	return w.Reader.Get(ctx, key, into, options...)
}

// TestArchiveWithoutTheRightToReadRecords checks that the condition says so, and that the document is stored, with its trials, when the right is there.
func TestArchiveWithoutTheRightToReadRecords(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	b := newBucket(l)
	stop := l.startResultsWith(b, func(reader client.Reader) client.Reader { return withoutRecords{reader} })
	run := l.run("first")
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expect(run, v1alpha1.ConditionArchived, "False/RecordsForbidden")
	l.Expect(l.message(run, v1alpha1.ConditionArchived)).To(ContainSubstring("right to get ConfigMaps"))
	stop()
	l.startResults(b)
	l.expect(run, v1alpha1.ConditionArchived, "True/Stored")
	l.Expect(l.stored(b, run).Trials).NotTo(BeEmpty())
}

// TestArchiveOfRecordsOfOthers checks that a plan or trials that another writer made instead of the run's are in no document, and that the figures
// are.
func TestArchiveOfRecordsOfOthers(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	foreign := map[string]func(run *v1alpha1.BenchmarkRun){
		"results": func(run *v1alpha1.BenchmarkRun) {
			results := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Results}}
			l.Expect(l.get(results)).To(Succeed())
			l.Expect(cluster.Delete(l.ctx, results)).To(Succeed())
			forged := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: results.Name, Labels: results.Labels}, Data: results.Data}
			l.Expect(cluster.Create(l.ctx, forged)).To(Succeed())
		},
		"trials": func(run *v1alpha1.BenchmarkRun) {
			results := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Results}}
			l.patch(results, `{"data":{"trial-000000.json":"{"}}`)
		},
		"plan": func(run *v1alpha1.BenchmarkRun) {
			planned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Plan}}
			l.Expect(l.get(planned)).To(Succeed())
			l.Expect(cluster.Delete(l.ctx, planned)).To(Succeed())
			planned.ResourceVersion, planned.UID = "", ""
			planned.Data[plan.KeyPlan] = strings.Replace(planned.Data[plan.KeyPlan], `"version":`, `"version": `, 1)
			l.Expect(cluster.Create(l.ctx, planned)).To(Succeed())
		},
		"nothing": func(run *v1alpha1.BenchmarkRun) {
			results := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Results}}
			l.Expect(cluster.Delete(l.ctx, results)).To(Succeed())
		},
	}
	runs := map[string]*v1alpha1.BenchmarkRun{}
	for name, forge := range foreign {
		run := l.run(name)
		l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
		forge(run)
		runs[name] = run
	}
	b := newBucket(l)
	l.startResults(b)
	for name, run := range runs {
		l.expect(run, v1alpha1.ConditionArchived, "True/StoredWithoutTrials")
		doc := l.stored(b, run)
		l.Expect(doc.Trials).To(BeEmpty(), name)
		l.Expect(doc.Inputs).To(BeNil(), name)
		l.Expect(doc.Results).NotTo(BeEmpty(), name)
		want := map[string]string{"results": "another writer", "trials": "trial-", "plan": "not the one that the operator made", "nothing": "not found"}[name]
		l.Expect(l.message(run, v1alpha1.ConditionArchived)).To(ContainSubstring(want))
	}
}

// TestRetentionAwaitsTheArchive checks that neither the time to live nor the limit of a testbed's history deletes a run that is not archived, that an event
// says so after a while, and that both delete it when it is.
func TestRetentionAwaitsTheArchive(t *testing.T) {
	l := newLab(t, nil)
	l.stop()
	l.awaitsArchive = true
	l.startOperator()
	testbed := l.testbed(func(t *v1alpha1.Testbed) { t.Spec.HistoryLimit = 1 })
	brief := l.run("brief", func(r *v1alpha1.BenchmarkRun) { r.Spec.TTLSecondsAfterFinished = ptr.To[int32](1) })
	oldest, latest := l.run("middle"), l.run("newest")
	for _, run := range []*v1alpha1.BenchmarkRun{brief, oldest, latest} {
		l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
		l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	}
	l.passes(time.Hour, brief)
	l.Eventually(l.events(brief)).Should(ContainElement(v1alpha1.ReasonKeptUnarchived))
	l.patch(testbed, `{"metadata":{"annotations":{"test/wake":"1"}}}`)
	l.Eventually(l.events(testbed)).Should(ContainElement(v1alpha1.ReasonKeptUnarchived))
	for _, run := range []*v1alpha1.BenchmarkRun{brief, oldest, latest} {
		l.Expect(l.get(run)).To(Succeed())
		l.Expect(run.DeletionTimestamp.IsZero()).To(BeTrue(), run.Name)
	}
	b := newBucket(l)
	l.startResults(b)
	l.goes(brief)
	l.goes(oldest)
	l.expect(latest, v1alpha1.ConditionArchived, "True/Stored")
	l.Expect(latest.DeletionTimestamp.IsZero()).To(BeTrue())
	count := 0
	l.Expect(b.List(l.ctx, func(archive.Entry) error { count++; return nil })).To(Succeed())
	l.Expect(count).To(Equal(3))
	// Who deletes a run does not wait for the archive.
	b.set(fmt.Errorf("%w: away", archive.ErrUnavailable))
	unarchived := l.run("unarchived")
	l.expect(unarchived, v1alpha1.ConditionArchived, "False/ArchiveUnavailable")
	l.Expect(cluster.Delete(l.ctx, unarchived)).To(Succeed())
	l.isGone(unarchived)
	l.Expect(queue.Archived(unarchived)).To(BeFalse())
}

// TestArchivedExecution checks that the document of an execution is stored after those of its runs, and read again; and that a limit of the suite's history
// waits for it.
func TestArchivedExecution(t *testing.T) {
	l := newLab(t, nil)
	l.stop()
	l.awaitsArchive = true
	l.startOperator()
	l.testbed()
	b := newBucket(l)
	b.set(fmt.Errorf("%w: away", archive.ErrUnavailable))
	l.startResults(b)
	suite := l.suite("sizes", twoSizes, func(s *v1alpha1.BenchmarkSuite) { s.Spec.SucceededHistoryLimit = ptr.To[int32](0) })
	l.expectSuite(suite, v1alpha1.ConditionSucceeded, "True/Succeeded")
	execution := l.execution("sizes-1")
	l.Consistently(func() error { return l.get(execution) }).Should(Succeed())
	l.Expect(execution.DeletionTimestamp.IsZero()).To(BeTrue())
	var runs v1alpha1.BenchmarkRunList
	l.Expect(cluster.List(l.ctx, &runs, client.InNamespace(l.namespace))).To(Succeed())
	l.Expect(runs.Items).To(HaveLen(2))
	b.set(nil)
	l.goes(execution)
	text, err := b.Read(l.ctx, archive.SuiteKey(l.namespace, execution.Name, string(execution.UID)))
	l.Expect(err).NotTo(HaveOccurred())
	doc, err := document.ReadSuite(bytes.NewReader(text))
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(doc.Execution.Suite).To(Equal("sizes"))
	l.Expect(doc.Completeness).To(Equal(report.Complete))
	l.Expect(doc.Cells).To(HaveLen(2))
	for i := range runs.Items {
		l.stored(b, &runs.Items[i])
	}
}

// TestArchivedTrialsAreRemoved checks that the trials of a run go when the archive has its whole document, and not before or without them, that the figures and the
// plan stay, and that readers learn where the trials are.
func TestArchivedTrialsAreRemoved(t *testing.T) {
	l := newLab(t, nil)
	l.stop()
	l.removesTrials = true
	l.startOperator()
	l.testbed()
	b := newBucket(l)
	b.set(fmt.Errorf("%w: away", archive.ErrUnavailable))
	stop := l.startResults(b)
	whole, damaged := l.run("a-whole"), l.run("b-damaged")
	trials := func(run *v1alpha1.BenchmarkRun) func() error {
		return func() error {
			return l.get(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Results}})
		}
	}
	for _, run := range []*v1alpha1.BenchmarkRun{whole, damaged} {
		l.expect(run, v1alpha1.ConditionArchived, "False/ArchiveUnavailable")
		l.Expect(trials(run)()).To(Succeed())
	}
	stop()
	l.patch(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(damaged).Results}}, `{"data":{"trial-000000.json":"{"}}`)
	b.set(nil)
	l.startResults(b)
	l.expect(damaged, v1alpha1.ConditionArchived, "True/StoredWithoutTrials")
	l.Eventually(trials(whole)).Should(Satisfy(apierrors.IsNotFound))
	l.Consistently(trials(damaged)).Should(Succeed())
	l.Expect(l.get(whole)).To(Succeed())
	l.Expect(whole.Status.Results).NotTo(BeEmpty())
	l.Expect(l.get(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(whole).Plan}})).To(Succeed())
	_, err := records.Read(l.ctx, cluster, whole, "")
	l.Expect(err).To(MatchError(ContainSubstring("the archive of results has them: runs/" + l.namespace + "/a-whole.")))
	l.Expect(l.stored(b, whole).Trials).NotTo(BeEmpty())
}
