package testbed

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/gitopstest"
)

// What GitOps tools make of a testbed, with the expressions and scripts of config/gitops.
func TestGitOpsHealth(t *testing.T) {
	tests := map[string]struct {
		scope *scope
		want  gitopstest.Verdict
	}{
		"ready": {newScope(),
			gitopstest.Verdict{Kstatus: status.CurrentStatus, Flux: status.CurrentStatus, ArgoCD: "Healthy"}},
		"cordoned": {newScope(func(s *scope) { s.nodes[0].Spec.Unschedulable = true }),
			gitopstest.Verdict{Kstatus: status.InProgressStatus, Flux: status.InProgressStatus, ArgoCD: "Progressing"}},
		// kstatus would wait for ever; nothing will come of it until somebody corrects the testbed.
		"no node matches": {newScope(func(s *scope) { s.testbed.Spec.Generator.NodeSelector = map[string]string{"name": "x"} }),
			gitopstest.Verdict{Kstatus: status.InProgressStatus, Flux: status.FailedStatus, ArgoCD: "Degraded"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			testbed := test.scope.testbed.DeepCopy()
			testbed.Status = summarize(test.scope, decide(test.scope))
			ready := meta.FindStatusCondition(testbed.Status.Conditions, v1alpha1.ConditionReady)
			want := test.want
			want.ArgoCDMessage = ready.Reason + ": " + ready.Message
			if diff := cmp.Diff(want, gitopstest.Judge(t, "Testbed", testbed)); diff != "" {
				t.Error(diff)
			}
		})
	}
	created := map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Testbed", "metadata": map[string]any{"name": "lab", "generation": int64(1)}}
	want := gitopstest.Verdict{Kstatus: status.CurrentStatus, Flux: status.UnknownStatus, ArgoCD: "Progressing", ArgoCDMessage: "waiting for the operator"}
	if diff := cmp.Diff(want, gitopstest.JudgeContent(t, "Testbed", created)); diff != "" {
		t.Errorf("a testbed that was just made: %s", diff)
	}
}
