package testbed

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/testing/gitopstest"
)

// TestGitOpsHealth checks how GitOps tools see a testbed, with the expressions and scripts of config/gitops.
func TestGitOpsHealth(t *testing.T) {
	tests := map[string]struct {
		scope  *scope
		want   gitopstest.Verdict
		argoCD string
	}{
		"ready": {newScope(),
			gitopstest.Verdict{Kstatus: status.CurrentStatus, Flux: status.CurrentStatus}, "Healthy"},
		"cordoned": {newScope(func(s *scope) { s.nodes[0].Spec.Unschedulable = true }),
			gitopstest.Verdict{Kstatus: status.InProgressStatus, Flux: status.InProgressStatus}, "Progressing"},
		// kstatus would wait permanently, but a user has to correct the testbed first.
		"no node matches": {newScope(func(s *scope) { s.testbed.Spec.Generator.NodeSelector = map[string]string{"name": "x"} }),
			gitopstest.Verdict{Kstatus: status.InProgressStatus, Flux: status.FailedStatus}, "Degraded"},
	}
	recorded := map[string]gitopstest.ArgoCD{}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			testbed := test.scope.testbed.DeepCopy()
			testbed.Status = summarize(test.scope, decide(test.scope))
			ready := meta.FindStatusCondition(testbed.Status.Conditions, v1alpha1.ConditionReady)
			object := gitopstest.Stored(t, "Testbed", testbed)
			if diff := cmp.Diff(test.want, gitopstest.Judge(t, object)); diff != "" {
				t.Error(diff)
			}
			recorded[name] = gitopstest.ArgoCD{Health: test.argoCD, Message: ready.Reason + ": " + ready.Message, Object: object}
			if name == "ready" {
				testbed.Generation++
				recorded["changed"] = gitopstest.ArgoCD{Health: "Progressing", Message: gitopstest.UnseenMessage, Object: gitopstest.Stored(t, "Testbed", testbed)}
			}
		})
	}
	made := gitopstest.New("Testbed")
	if diff := cmp.Diff(gitopstest.Verdict{Kstatus: status.CurrentStatus, Flux: status.UnknownStatus}, gitopstest.Judge(t, made)); diff != "" {
		t.Errorf("a testbed that was just made: %s", diff)
	}
	recorded["just made"] = gitopstest.ArgoCD{Health: "Progressing", Message: gitopstest.UnseenMessage, Object: made}
	leaving := newScope(func(s *scope) { s.testbed.DeletionTimestamp = ptr.To(metav1.NewTime(epoch)) })
	testbed := leaving.testbed.DeepCopy()
	testbed.Status = summarize(leaving, decide(leaving))
	recorded["deleted"] = gitopstest.ArgoCD{Health: "Progressing", Message: gitopstest.DeletedMessage, Object: gitopstest.Stored(t, "Testbed", testbed)}
	gitopstest.CompareArgoCD(t, "Testbed", recorded)
}
