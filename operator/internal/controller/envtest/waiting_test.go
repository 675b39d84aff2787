package envtest

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// tolerated is the taint of a test's own nodes, which keeps the other tests' runs away.
var tolerated = corev1.Taint{Key: "own", Effect: corev1.TaintEffectNoSchedule}

// ownNode makes a node that only the lab's testbed uses.
func (l *lab) ownNode(suffix string) *corev1.Node {
	l.t.Helper()
	node, err := makeNode(l.namespace+suffix, map[string]string{"role": l.namespace}, tolerated)
	l.Expect(err).NotTo(HaveOccurred())
	return node
}

// ownTestbed makes a testbed on the lab's own nodes.
func (l *lab) ownTestbed(changes ...func(*v1alpha1.Testbed)) *v1alpha1.Testbed {
	return l.testbed(append([]func(*v1alpha1.Testbed){func(t *v1alpha1.Testbed) {
		tolerations := []corev1.Toleration{{Key: "own", Operator: corev1.TolerationOpExists}}
		t.Spec.Generator.NodeSelector, t.Spec.SystemUnderTest.NodeSelector = map[string]string{"role": l.namespace}, map[string]string{"role": l.namespace}
		t.Spec.Generator.Tolerations, t.Spec.SystemUnderTest.Tolerations = tolerations, tolerations
	}}, changes...)...)
}

// six makes a queue of six runs.
func (l *lab) six(changes ...func(*v1alpha1.BenchmarkRun)) (runs []*v1alpha1.BenchmarkRun) {
	for i := range 6 {
		runs = append(runs, l.run(fmt.Sprintf("run-%d", i), changes...))
	}
	return runs
}

// TestFullQuotaDoesNotEndAQueue checks that a quota that is full for a while ends none of six runs.
func TestFullQuotaDoesNotEndAQueue(t *testing.T) {
	l := newLab(t, nil)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "pods"}}
	allow := func(pods string) {
		hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse(pods)}
		quota.Spec.Hard = hard
		if quota.UID == "" {
			l.Expect(cluster.Create(l.ctx, quota)).To(Succeed())
		}
		// No controller counts here.
		quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
		l.Expect(cluster.Status().Update(l.ctx, quota)).To(Succeed())
	}
	allow("0")
	l.testbed()
	runs := l.six()
	l.expect(runs[0], v1alpha1.ConditionChainReady, "Unknown/Waiting")
	l.Expect(l.message(runs[0], v1alpha1.ConditionSucceeded)).To(ContainSubstring("exceeded quota: pods"))
	l.Eventually(l.events(runs[0])).Should(ContainElement(v1alpha1.ReasonWaiting))
	for _, run := range runs[1:] {
		l.expect(run, v1alpha1.ConditionAdmitted, "False/Queued")
	}
	l.Expect(cluster.Delete(l.ctx, quota)).To(Succeed())
	for _, run := range runs {
		l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	}
}

// TestWebhookThatIsAway checks that a run waits for a webhook, and ends with a reason if it stays away.
func TestWebhookThatIsAway(t *testing.T) {
	l := newLab(t, nil)
	webhook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "away.test.io", ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:9/")},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: l.namespace}},
		Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}}},
		SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To[int32](1),
	}}}
	l.Expect(cluster.Create(l.ctx, webhook)).To(Succeed())
	t.Cleanup(func() { l.Expect(client.IgnoreNotFound(cluster.Delete(l.ctx, webhook))).To(Succeed()) })
	l.testbed()
	first := l.run("first")
	l.pendsThenFails(first, "failed calling webhook", v1alpha1.ReasonLaunchFailed)
	second := l.run("second")
	l.expect(second, v1alpha1.ConditionChainReady, "Unknown/Waiting")
	l.Expect(cluster.Delete(l.ctx, webhook)).To(Succeed())
	l.expect(second, v1alpha1.ConditionPlanned, "True/Planned")
}

// TestPluginThatRestarts checks that a queue waits while the device plugin of the testbed is away.
func TestPluginThatRestarts(t *testing.T) {
	l := newLab(t, nil)
	node := l.ownNode("")
	offer := func(number string) {
		patch := fmt.Appendf(nil, `{"status":{"capacity":{"x.io/vf":"8"},"allocatable":{"x.io/vf":%q}}}`, number)
		l.Expect(cluster.Status().Patch(l.ctx, node, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
	}
	offer("8")
	testbed := l.ownTestbed(func(testbed *v1alpha1.Testbed) {
		port := v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: "x.io/vf"}}
		testbed.Spec.Ports.West, testbed.Spec.Ports.East = port, port
		testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentSRIOV}
		testbed.Spec.SystemUnderTest.SRIOV = &v1alpha1.DeviceSRIOV{WestResourceName: "x.io/vf", EastResourceName: "x.io/vf"}
	})
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("True/Ready"))
	offer("0")
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("False/ResourceMissing"))
	runs := l.six()
	for _, run := range runs {
		l.expect(run, v1alpha1.ConditionAdmitted, "False/TestbedNotReady")
		l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("x.io/vf"))
	}
	l.Expect(l.get(testbed)).To(Succeed())
	l.Expect(testbed.Status.ActiveRuns).To(BeEmpty())
	offer("8")
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("True/Ready"))
	for _, run := range runs {
		l.expect(run, v1alpha1.ConditionPlanned, "True/Planned")
		l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
	}
}

// TestLabelThatFlips checks that a queue waits for startupSeconds when a node loses its label, and not when it never had one.
func TestLabelThatFlips(t *testing.T) {
	l := newLab(t, nil)
	node := l.ownNode("")
	label := func(value string) {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"role":%q}}}`, value)
		l.Expect(cluster.Patch(l.ctx, node, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
	}
	testbed := l.ownTestbed()
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("True/Ready"))
	label("other")
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("False/NodesNotReady"))
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionAdmitted, "False/TestbedNotReady")
	label(l.namespace)
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	// The time of the next run begins when this one has given the testbed back.
	l.Eventually(func() ([]v1alpha1.ActiveRun, error) { err := l.get(testbed); return testbed.Status.ActiveRuns, err }).Should(BeEmpty())

	label("other")
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("False/NodesNotReady"))
	late := l.run("late")
	l.expect(late, v1alpha1.ConditionAdmitted, "False/TestbedNotReady")
	l.clock.by.Add(int64(startupSeconds+1) * 1e9)
	l.Expect(cluster.Patch(l.ctx, testbed, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"test/passed":"1"}}}`)))).To(Succeed())
	l.expect(late, v1alpha1.ConditionSucceeded, "False/NoMatchingNode")
}

// TestFullNodeIsNotChosen checks that a run goes to a node that has room next to the pods of others.
func TestFullNodeIsNotChosen(t *testing.T) {
	l := newLab(t, nil)
	full, free := l.ownNode("-a"), l.ownNode("-b")
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: l.namespace}, Spec: corev1.PodSpec{
		NodeName: full.Name, Containers: []corev1.Container{{Name: "c", Image: "registry.test/other:1", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3500m")}}}},
	}}
	l.Expect(cluster.Create(l.ctx, other)).To(Succeed())
	t.Cleanup(func() { l.Expect(cluster.Delete(l.ctx, other, client.GracePeriodSeconds(0))).To(Succeed()) })
	l.ownTestbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(run.Status.Plan.DeviceNode).To(Equal(free.Name))
}

// TestRightsAreAppliedAgain deletes the measurer's rights while it measures.
func TestRightsAreAppliedAgain(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	for _, list := range []client.ObjectList{&rbacv1.RoleBindingList{}, &rbacv1.RoleList{}} {
		found := func() []client.Object {
			l.Expect(cluster.List(l.ctx, list, client.InNamespace(l.namespace))).To(Succeed())
			var objects []client.Object
			switch list := list.(type) {
			case *rbacv1.RoleBindingList:
				for i := range list.Items {
					objects = append(objects, &list.Items[i])
				}
			case *rbacv1.RoleList:
				for i := range list.Items {
					objects = append(objects, &list.Items[i])
				}
			}
			return objects
		}
		before := found()
		l.Expect(before).To(HaveLen(1))
		uid := before[0].GetUID()
		l.Expect(cluster.Delete(l.ctx, before[0])).To(Succeed())
		l.Eventually(func() bool { now := found(); return len(now) == 1 && now[0].GetUID() != uid }).Should(BeTrue(), "%T", list)
	}
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	l.expectOnlyRecords()
}

// TestHistoryLimit checks that the oldest finished runs are deleted, without those that others need or someone keeps.
func TestHistoryLimit(t *testing.T) {
	l := newLab(t, nil)
	l.testbed(func(t *v1alpha1.Testbed) { t.Spec.HistoryLimit = 1 })
	last := l.run("d-last", func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Suspend = true
		run.Spec.Experiment.Baseline = &v1alpha1.Baseline{RunRef: v1alpha1.LocalReference{Name: "a-baseline"}, MaximumRegressionPercent: ptr.To[int32](90)}
	})
	keep := func(run *v1alpha1.BenchmarkRun) { run.Annotations = map[string]string{v1alpha1.AnnotationKeep: "true"} }
	baseline := l.run("a-baseline")
	l.expect(baseline, v1alpha1.ConditionAdmitted, "False/Released")
	kept, oldest := l.run("b-kept", keep), l.run("c-oldest")
	l.expect(kept, v1alpha1.ConditionAdmitted, "False/Released")
	l.expect(oldest, v1alpha1.ConditionAdmitted, "False/Released")
	l.setSuspend(last, false)
	l.expect(last, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.goes(oldest)
	l.Eventually(l.events(oldest)).Should(ContainElement(v1alpha1.ReasonHistoryLimit))
	l.Consistently(func() []string {
		var runs v1alpha1.BenchmarkRunList
		l.Expect(cluster.List(l.ctx, &runs, client.InNamespace(l.namespace))).To(Succeed())
		var names []string
		for _, run := range runs.Items {
			if run.DeletionTimestamp.IsZero() {
				names = append(names, run.Name)
			}
		}
		return names
	}).Should(ConsistOf("a-baseline", "b-kept", "d-last"))
}

// fullQuota makes a quota that is full for some kinds of objects. No controller counts here.
func (l *lab) fullQuota(kinds ...corev1.ResourceName) *corev1.ResourceQuota {
	l.t.Helper()
	none := corev1.ResourceList{}
	for _, kind := range kinds {
		none[kind] = resource.MustParse("0")
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "full"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	l.Expect(cluster.Create(l.ctx, quota)).To(Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	l.Expect(cluster.Status().Update(l.ctx, quota)).To(Succeed())
	return quota
}

// TestQuotaThatIsFullDuringARun checks that a run whose namespace takes no more objects of any kind ends with its figures, releases
// its testbed and can be deleted.
func TestQuotaThatIsFullDuringARun(t *testing.T) {
	l := newLab(t, nil)
	run, tenant := l.measuring()
	l.fullQuota("count/configmaps", "count/events", "count/events.events.k8s.io", "count/pods", "count/jobs.batch", "count/secrets", "count/serviceaccounts",
		"count/roles.rbac.authorization.k8s.io", "count/rolebindings.rbac.authorization.k8s.io")
	more := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "more"}}
	l.Eventually(func() error { return client.IgnoreAlreadyExists(tenant.Create(l.ctx, more.DeepCopy())) }).Should(MatchError(ContainSubstring("exceeded quota")))
	l.node.set(func(n *node) { delete(n.silent, pathChain) })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	l.Expect(run.Status.Results).NotTo(BeEmpty())
	l.Eventually(l.objects).ShouldNot(ContainElement(MatchRegexp("^v1.(Pod|Job|Secret)/")))
	l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
	l.isGone(run)
}

// TestQuotaWithoutRoomForResults checks that a run that may not make the ConfigMaps of its plan and its results waits within its bound,
// ends with a reason that names the quota, and gives its testbed to a run for which there is room.
func TestQuotaWithoutRoomForResults(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	quota := l.fullQuota("count/configmaps")
	run := l.run("run")
	l.pendsThenFails(run, "exceeded quota: full", v1alpha1.ReasonPodForbidden)
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("exceeded quota: full"))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	l.Expect(cluster.Delete(l.ctx, quota)).To(Succeed())
	// It cannot be measured: the operator's clock is ahead of that of its pods.
	l.expect(l.run("next"), v1alpha1.ConditionPlanned, "True/Planned")
}

// TestPriorityClassIsMissing checks that a run waits for the PriorityClass of the installation, and the next ones do in the queue; that
// they are measured when it is made; and that a run ends within its bound when it stays away.
func TestPriorityClassIsMissing(t *testing.T) {
	l := newLab(t, nil)
	l.stop()
	l.priorityClass = l.namespace
	l.startOperator()
	l.testbed()
	first := l.run("first")
	l.expect(first, v1alpha1.ConditionChainReady, "Unknown/Waiting")
	l.Expect(l.message(first, v1alpha1.ConditionChainReady)).To(And(ContainSubstring("the PriorityClass of the installation"), ContainSubstring(l.namespace)))
	second := l.run("second")
	l.expect(second, v1alpha1.ConditionAdmitted, "False/Queued")
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}, Value: 1, PreemptionPolicy: new(corev1.PreemptNever)}
	l.Expect(cluster.Create(l.ctx, class)).To(Succeed())
	l.expect(first, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expect(second, v1alpha1.ConditionSucceeded, "True/Succeeded")

	l.Expect(cluster.Delete(l.ctx, class)).To(Succeed())
	third := l.run("third")
	l.pendsThenFails(third, "no PriorityClass", v1alpha1.ReasonPodForbidden)
	l.Expect(l.message(third, v1alpha1.ConditionSucceeded)).To(ContainSubstring("runPriorityClassName"))
}
