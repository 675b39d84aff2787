package envtest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	stdlog "log"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

const (
	// testTimeout is many times what anything here takes on an idle machine. Only failures wait
	// for its end.
	testTimeout = 10 * time.Minute
	// interval is the time between two looks. Each is a request, and tests that run at the same time make many.
	interval = 100 * time.Millisecond
)

// lab is one test's namespace with its testbed, its node and its operator.
type lab struct {
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
	node      *node
	clock     *ahead
	stop      func()
	// rights are the operator's, and watched its namespaces: as default those of an installation for all namespaces, and the lab's own.
	rights  *rest.Config
	watched []string
	// priorityClass is the PriorityClass of runs; none as default.
	priorityClass string
	// awaitsArchive keeps what has ended until it is archived.
	awaitsArchive bool
	// removesTrials deletes trials that are archived.
	removesTrials bool
	// registry has the images whose labels the operator may read.
	registry *httptest.Server
	// cached has the type of each object that the operator's caches hold.
	cached sync.Map
}

// ahead is the operator's clock: the real one, plus the time that a test has let pass. No
// real time decides what a test sees.
type ahead struct {
	clock.RealClock
	by atomic.Int64
}

func (a *ahead) Now() time.Time                  { return a.RealClock.Now().Add(time.Duration(a.by.Load())) }
func (a *ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }

// passes lets time pass, and makes the operator check the run again: its own timers run by
// the real clock. The cache has no annotations of others.
func (l *lab) passes(d time.Duration, run *v1alpha1.BenchmarkRun) {
	l.t.Helper()
	l.clock.by.Add(int64(d))
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"vnfbench.io/run":"%d"}}}`, l.clock.by.Load())
	l.Expect(cluster.Patch(l.ctx, run, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
}

// newLab returns a lab for a test that runs in parallel with others.
func newLab(t *testing.T, labels map[string]string) *lab {
	t.Parallel()
	return startLab(t, labels)
}

// startLab makes the namespace and starts everything. Labels are the namespace's.
func startLab(t *testing.T, labels map[string]string) *lab {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "lab-", Labels: labels}}
	l := &lab{WithT: NewWithT(t), t: t, ctx: context.Background(), clock: &ahead{}, rights: operator}
	l.SetDefaultEventuallyTimeout(testTimeout)
	l.SetDefaultEventuallyPollingInterval(interval)
	l.SetDefaultConsistentlyDuration(500 * time.Millisecond)
	l.SetDefaultConsistentlyPollingInterval(interval / 2)
	l.Expect(cluster.Create(l.ctx, namespace)).To(Succeed())
	l.namespace, l.watched = namespace.Name, []string{namespace.Name}
	l.node = startNode(t, l.namespace)
	l.registry = httptest.NewServer(registry.New(registry.Logger(stdlog.New(io.Discard, "", 0))))
	t.Cleanup(l.registry.Close)
	l.startOperator()
	t.Cleanup(func() { l.stop() })
	return l
}

// startOperator starts a manager as cmd/manager does, with further runnables; l.stop ends it.
func (l *lab) startOperator(further ...func(ctrl.Manager) manager.Runnable) {
	scheme, err := controller.Scheme()
	l.Expect(err).NotTo(HaveOccurred())
	cached, err := controller.CacheOptions(l.watched, nil)
	l.Expect(err).NotTo(HaveOccurred())
	// Testbeds are cluster-scoped: each lab's operator only sees its own.
	cached.ByObject[&v1alpha1.Testbed{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{labelLab: l.namespace})}
	cached.NewInformer = func(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		l.cached.Store(fmt.Sprintf("%T", object), true)
		return toolscache.NewSharedIndexInformer(lw, object, resync, indexers)
	}
	mgr, err := ctrl.NewManager(l.rights, ctrl.Options{
		Scheme: scheme, Cache: cached, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true), MaxConcurrentReconciles: concurrentReconciles},
	})
	l.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(l.ctx)
	defaults := plan.Defaults{TrafficImage: "registry.test/measurer:1", FunctionImage: "registry.test/vnf:1", GuestImage: "registry.test/vnf-guest:1", EndpointImage: "registry.test/endpoint:1", NeighborImage: "registry.test/neighbor:1", NeighborGuestImage: "registry.test/neighbor-guest:1", Protocol: measure.Protocol(), AgentTokens: true, APIServerDiscovered: true, PriorityClassName: l.priorityClass, AwaitsArchive: l.awaitsArchive, RemovesTrials: l.removesTrials}
	allowed, err := subject.ParseRegistries([]string{l.registry.URL})
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(controller.Setup(ctx, mgr, l.clock, defaults, l.namespace, subject.NewReader(allowed, ""), l.watched, nil, prometheus.NewRegistry())).To(Succeed())
	for _, add := range further {
		l.Expect(mgr.Add(add(mgr))).To(Succeed())
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	l.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Errorf("the manager ended: %v", err)
		}
		l.stop = func() {}
	}
}

// concurrentReconciles are those of the operator: more than one, as in an installation.
const concurrentReconciles = 4

// labelLab on a testbed names the lab that it belongs to.
const labelLab = "test/lab"

// testbed makes a testbed that has the name of the lab's namespace.
func (l *lab) testbed(changes ...func(*v1alpha1.Testbed)) *v1alpha1.Testbed {
	testbed := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: l.namespace, Labels: map[string]string{labelLab: l.namespace}}}
	for _, change := range changes {
		change(testbed)
	}
	l.t.Helper()
	l.Expect(cluster.Create(l.ctx, testbed)).To(Succeed())
	return testbed
}

// runOf returns a run with a chain of one router, 64 bytes and a quick search.
func runOf(l *lab, name string) *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	run.Spec.Experiment.TestbedRef = &v1alpha1.TestbedReference{Name: l.namespace}
	run.Spec.Experiment.StartupSeconds = startupSeconds
	run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{{Name: "router", Function: v1alpha1.FunctionRouter}}
	run.Spec.Experiment.Traffic.FrameBytes = []int32{64}
	run.Spec.Experiment.Measurements.Throughput = &v1alpha1.Throughput{Goals: []v1alpha1.Goal{{Name: "NDR", WidthPartsPerMillion: 50_000}}}
	run.Spec.Experiment.Measurements.Latency = &v1alpha1.Latency{Loads: []v1alpha1.LatencyLoad{{Name: "idle", FramesPerSecond: ptr.To[int64](1000)}}}
	return run
}

// run makes a run, as runOf has it and with changes.
func (l *lab) run(name string, changes ...func(*v1alpha1.BenchmarkRun)) *v1alpha1.BenchmarkRun {
	run := runOf(l, name)
	for _, change := range changes {
		change(run)
	}
	l.t.Helper()
	l.Expect(cluster.Create(l.ctx, run)).To(Succeed())
	return run
}

// get reads an object again.
func (l *lab) get(object client.Object) error {
	return cluster.Get(l.ctx, client.ObjectKeyFromObject(object), object)
}

// goes waits until an object is deleted, or being deleted. Another object of the same name
// may already exist: the UID distinguishes them.
func (l *lab) goes(object client.Object) {
	l.t.Helper()
	uid := object.GetUID()
	l.Eventually(func() (bool, error) {
		if err := l.get(object); err != nil {
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}
		return object.GetUID() != uid || !object.GetDeletionTimestamp().IsZero(), nil
	}).Should(BeTrue(), "%T %s is deleted", object, object.GetName())
}

// state returns a function for a run's condition as "status/reason", or why it cannot be
// read.
func (l *lab) state(run *v1alpha1.BenchmarkRun, kind string) func() string {
	return func() string {
		if err := l.get(run); err != nil {
			return err.Error()
		}
		return conditionText(run.Status.Conditions, kind)
	}
}

func (l *lab) testbedState(testbed *v1alpha1.Testbed, kind string) func() string {
	return func() string {
		if err := l.get(testbed); err != nil {
			return err.Error()
		}
		return conditionText(testbed.Status.Conditions, kind)
	}
}

func conditionText(conditions []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason
}

func (l *lab) message(run *v1alpha1.BenchmarkRun, kind string) string {
	l.t.Helper()
	l.Expect(l.get(run)).To(Succeed())
	return meta.FindStatusCondition(run.Status.Conditions, kind).Message
}

// expect waits for a run's condition.
func (l *lab) expect(run *v1alpha1.BenchmarkRun, kind, want string) {
	l.t.Helper()
	l.Eventually(l.state(run, kind)).Should(Equal(want), func() string {
		return fmt.Sprintf("condition %s of run %q; it has %+v", kind, run.Name, run.Status.Conditions)
	})
}

// setSuspend changes spec.suspend.
func (l *lab) setSuspend(run *v1alpha1.BenchmarkRun, suspend bool) {
	l.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspend)
	l.Expect(cluster.Patch(l.ctx, run, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
}

// functionPod waits for the router's pod.
func (l *lab) functionPod() *corev1.Pod {
	l.t.Helper()
	var pods corev1.PodList
	l.Eventually(func() int {
		l.Expect(cluster.List(l.ctx, &pods, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelComponent: chain.ComponentFunction})).To(Succeed())
		return len(pods.Items)
	}).Should(Equal(1))
	return &pods.Items[0]
}

// kubelet writes a pod's status.
func (l *lab) kubelet(pod *corev1.Pod, change func(*corev1.Pod)) {
	l.t.Helper()
	l.Expect(l.node.patchStatus(l.ctx, pod.Name, change)).To(Succeed())
}

// objects returns all in the namespace except what is made by hand, as "Kind/name".
func (l *lab) objects() []string {
	networks := &unstructured.UnstructuredList{}
	networks.SetGroupVersionKind(chain.NetworkAttachmentDefinition)
	var found []string
	for _, list := range []client.ObjectList{
		&batchv1.JobList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{},
		&corev1.SecretList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &networkingv1.NetworkPolicyList{}, networks,
	} {
		if err := cluster.List(l.ctx, list, client.InNamespace(l.namespace)); err != nil {
			return []string{err.Error()}
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return []string{err.Error()}
		}
		for _, item := range items {
			kind := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", item), "*"), "{}")
			found = append(found, kind+"/"+item.(client.Object).GetName())
		}
	}
	return found
}

// expectOnlyRecords waits until a released run has nothing but its ConfigMaps. Where a test let time pass, the operator's clock is
// ahead, and what is just being deleted no longer counts.
func (l *lab) expectOnlyRecords() {
	l.t.Helper()
	l.Eventually(l.objects).Should(Or(BeEmpty(), HaveEach(HavePrefix("v1.ConfigMap/"))))
}

// events returns a function for the reasons of the events about an object.
func (l *lab) events(object client.Object) func() []string {
	return func() []string {
		var events corev1.EventList
		// Those about testbeds are in the namespace default.
		namespace := cmp.Or(object.GetNamespace(), metav1.NamespaceDefault)
		if err := cluster.List(l.ctx, &events, client.InNamespace(namespace)); err != nil {
			return []string{err.Error()}
		}
		var reasons []string
		for _, e := range events.Items {
			if e.InvolvedObject.UID == object.GetUID() {
				reasons = append(reasons, e.Reason)
			}
		}
		return reasons
	}
}

func acceptance(atLeast int64) func(*v1alpha1.BenchmarkRun) {
	return func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{{Name: "fast", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, AtLeast: &atLeast}}
	}
}

// startupSeconds are more than any pod here takes, however busy the machine: if one does
// not start, the test lets them pass.
const startupSeconds = 600

// pendsThenFails waits until the operator has seen what keeps the chain, or the measurer,
// from starting, and then lets the start time pass.
func (l *lab) pendsThenFails(run *v1alpha1.BenchmarkRun, why, reason string) {
	l.t.Helper()
	l.Eventually(func() string {
		l.Expect(l.get(run)).To(Succeed())
		if c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionChainReady); c != nil {
			return c.Message
		}
		return ""
	}).Should(ContainSubstring(why))
	l.Expect(conditionText(run.Status.Conditions, v1alpha1.ConditionSucceeded)).To(HavePrefix("Unknown/"))
	l.passes(startupSeconds*time.Second, run)
	l.expect(run, v1alpha1.ConditionSucceeded, "False/"+reason)
}
