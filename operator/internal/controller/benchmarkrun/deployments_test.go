package benchmarkrun

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// deployed makes it the state after a number of deployments were ready, and asks for a least number.
func deployed(number, wanted int) with {
	return withRecords(func(r *records) {
		calibrated(r)
		r.progress.Deployment = wanted
		r.deployments = nil
		for n := range number {
			r.deployments = append(r.deployments, measure.Deployment{Number: n + 1, ReadyAt: epoch.Add(time.Millisecond), Functions: []measure.DeployedFunction{{Name: "one", UID: "u", Node: "b"}}})
		}
	})
}

// of makes it a pod of a deployment.
func of(number string, state func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		state(p)
		p.Labels = map[string]string{v1alpha1.LabelDeployment: number}
	}
}

func TestDecideDeployments(t *testing.T) {
	measured := withRecords(func(r *records) { r.chainOpen = true })
	checkDecisions(t, map[string]decisionTest{
		"the first measures":         {newScope(launched, deployed(1, 1), measured, functions(ready, ready), measurers(pod("m", running))), actWait, "", maxUse(newScope().run)},
		"any will do":                {newScope(launched, deployed(1, 0), measured, functions(ready, ready), measurers(pod("m", running))), actWait, "", maxUse(newScope().run)},
		"another is asked for":       {newScope(launched, deployed(1, 2), measured, functions(ready, ready)), actReplaceChain, v1alpha1.ReasonRedeploying, 0},
		"the old one broke before":   {newScope(launched, deployed(1, 2), measured, functions(ready, restarted(1, "Error"))), actFinish, v1alpha1.ReasonChainFailed, 0},
		"done, and none is needed":   {newScope(launched, deployed(1, 2), measured, withRecords(done), functions(ready, ready)), actFinish, v1alpha1.ReasonSucceeded, 0},
		"closed, old pods are there": {newScope(launched, deployed(1, 2), functions(ready, ready)), actReplaceChain, v1alpha1.ReasonRedeploying, 0},
		"closed, one is left":        {newScope(launched, deployed(1, 2), functions(ready, leaving(ready))), actReplaceChain, v1alpha1.ReasonRedeploying, 0},
		"old pods go":                {newScope(launched, deployed(1, 2), functions(leaving(ready), leaving(ready)), after(time.Hour)), actWait, v1alpha1.ReasonRedeploying, 330 * time.Second},
		"one old pod is gone":        {newScope(launched, deployed(1, 2), functions(leaving(ready), leaving(ready)), withoutPod, after(time.Hour)), actWait, v1alpha1.ReasonRedeploying, 330 * time.Second},
		"old pods never go":          {newScope(launched, deployed(1, 2), functions(leaving(ready), leaving(ready)), after(2*time.Hour)), actFinish, v1alpha1.ReasonPodStuck, 0},
		"old pods are gone":          {newScope(launched, deployed(1, 2)), actLaunchChain, "", 0},
		"new pods start":             {newScope(launched, deployed(1, 2), functions(of("2", ready), of("2", running)), measurers(pod("m", running))), actWait, v1alpha1.ReasonPending, 300 * time.Second},
		"a new pod is missing":       {newScope(launched, deployed(1, 2), functions(of("2", ready), of("2", ready)), withoutPod), actLaunchChain, "", 0},
		"new pods never start":       {newScope(launched, deployed(1, 2), functions(of("2", ready), of("2", running)), after(300*time.Second)), actFinish, v1alpha1.ReasonChainNotReady, 0},
		"new pods are ready":         {newScope(launched, deployed(1, 2), functions(of("2", ready), of("2", ready))), actOpenChain, "", 0},
		"the second measures":        {newScope(launched, deployed(2, 2), measured, functions(of("2", ready), of("2", ready)), measurers(pod("m", running))), actWait, "", maxUse(newScope().run)},
		"resumed, the next is made":  {newScope(launched, deployed(2, 2), functions(of("2", leaving(ready)), of("2", leaving(ready))), after(time.Hour)), actWait, v1alpha1.ReasonRedeploying, 330 * time.Second},
		"suspended":                  {newScope(launched, deployed(1, 2), functions(of("2", ready), of("2", running)), suspended), actStopPods, v1alpha1.ReasonSuspended, podCheckInterval},
		"deleted":                    {newScope(launched, deployed(1, 2), functions(leaving(ready), leaving(ready)), deleted), actStopPods, "", podCheckInterval},
	})
}

// TestDeploymentsInStatus checks that the status and the events say which deployment the chain is.
func TestDeploymentsInStatus(t *testing.T) {
	asked := newScope(launched, deployed(1, 2), withRecords(func(r *records) {
		r.chainOpen, r.trials = true, []measure.Record{{}, {Deployment: 1}, {Deployment: 1}}
	}), functions(ready, ready))
	before := summarize(newScope(launched, deployed(1, 1), withRecords(func(r *records) { r.chainOpen = true }), functions(ready, ready)), decision{action: actWait})
	after := summarize(asked, decide(asked))
	condition := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionChainReady)
	if condition.Status != metav1.ConditionUnknown || condition.Reason != v1alpha1.ReasonRedeploying || condition.Message != "the chain is deleted, to be launched again as deployment 2" {
		t.Errorf("%+v", condition)
	}
	if events := eventsBetween(&before, &after); len(events) != 1 || events[0].reason != v1alpha1.ReasonRedeploying {
		t.Errorf("%+v", events)
	}

	ready := newScope(launched, deployed(1, 2), withRecords(func(r *records) { r.trials = []measure.Record{{}, {Deployment: 1}, {Deployment: 1}} }),
		functions(of("2", ready), of("2", ready)), func(s *scope) { s.chainPods[0].UID, s.chainPods[0].Spec.NodeName = "new", "c" })
	got := summarize(ready, decide(ready)).Deployments
	want := []v1alpha1.Deployment{
		{Number: 1, ReadyTime: metav1.NewTime(epoch), Trials: 2, Functions: []v1alpha1.DeployedFunction{{Name: "one", Runtime: v1alpha1.RuntimePod, UID: "u", Node: "b"}}},
		{Number: 2, ReadyTime: metav1.NewTime(epoch), Functions: []v1alpha1.DeployedFunction{
			{Name: "one", Runtime: v1alpha1.RuntimePod, UID: "new", Node: "c"}, {Name: "two", Runtime: v1alpha1.RuntimePod},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDeploymentsDiffer checks that an image that was replaced between two deployments is named.
func TestDeploymentsDiffer(t *testing.T) {
	s := newScope(launched, deployed(3, 3), withRecords(func(r *records) {
		r.chainOpen = true
		for i, image := range []string{"registry.test/vnf@sha256:a", "registry.test/vnf@sha256:b", ""} {
			r.deployments[i].Functions = []measure.DeployedFunction{{Name: "one", ImageID: image}, {Name: "two", ImageID: "sha256:d"}}
		}
	}), functions(of("3", ready), of("3", ready)))
	got := summarize(s, decide(s)).Warnings
	want := `Function "one" has another image since deployment 2: sha256:b, before sha256:a. Figures over both are not those of one program. Name images by their digests.`
	if len(got) != 1 || got[0].Code != v1alpha1.WarningDeploymentsDiffer || got[0].Message != want {
		t.Errorf("%+v", got)
	}
}

// TestDeploymentsAreBounded checks that numbers continue when the oldest are left out.
func TestDeploymentsAreBounded(t *testing.T) {
	s := newScope(launched, deployed(maxDeployments, 0), functions(ready, ready))
	all := s.opened()
	if len(all) != maxDeployments || all[0].Number != 2 || all[maxDeployments-1].Number != maxDeployments+1 {
		t.Errorf("%d from %d to %d", len(all), all[0].Number, all[len(all)-1].Number)
	}
	s.records.deployments = all
	if got := s.records.deployment(); got != maxDeployments+2 {
		t.Errorf("the next is %d", got)
	}
	long := measure.DeployedFunction{Node: strings.Repeat("n", 253), ImageID: strings.Repeat("i", 512)}
	for i := range all {
		all[i].Functions = slices.Repeat([]measure.DeployedFunction{long}, maxFunctions)
	}
	text, err := deploymentsText(all)
	if err != nil {
		t.Fatal(err)
	}
	var kept []measure.Deployment
	if err := measure.Unmarshal(text, &kept); err != nil || len(kept) < 10 || kept[len(kept)-1].Number != maxDeployments+1 {
		t.Errorf("%d deployments of %d are kept: %v", len(kept), len(all), err)
	}
}
