package chain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/vnf"
)

// ruleIn returns the rule that a workload's agent reads, nil if it has none.
func ruleIn(t *testing.T, w *chain.Workload) *caller.Rule {
	t.Helper()
	switch object := w.Object.(type) {
	case *corev1.Pod:
		for _, variable := range object.Spec.Containers[0].Env {
			if variable.Name != caller.Variable {
				continue
			}
			rule, err := caller.Parse([]byte(variable.Value))
			if err != nil {
				t.Fatal(err)
			}
			return rule
		}
	case *kubevirtv1.VirtualMachineInstance:
		data := w.Needs[0].(*corev1.Secret).Data["userdata"]
		if w.Component == chain.ComponentNeighbor {
			config, err := neighbor.ParseGuestConfig(data)
			if err != nil {
				t.Fatal(err)
			}
			return config.Caller
		}
		config, err := vnf.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return config.Caller
	}
	return nil
}

// TestAgentsKnowTheMeasurer checks that every agent of every kind of run, in a pod or a machine, gets whom it answers, that
// the measurer gets the token for that, and that no other pod gets one.
func TestAgentsKnowTheMeasurer(t *testing.T) {
	agents := map[string]int{}
	for _, c := range plantest.Cases() {
		p := mustMake(t, c.Input())
		workloads := chain.Render(p, plantest.Issuer())
		job := workloads[0].Object.(*batchv1.Job)
		if diff := cmp.Diff([]string{"", p.AgentAudience}, audiences(job.Spec.Template.Spec)); diff != "" {
			t.Errorf("%s: the measurer's tokens (-want +got):\n%s", c.Name, diff)
		}
		path := slices.IndexFunc(job.Spec.Template.Spec.Containers[0].Env, func(v corev1.EnvVar) bool {
			return v.Name == "AGENT_TOKEN_FILE" && v.Value == "/var/run/secrets/kubernetes.io/serviceaccount/agent-token"
		})
		if path < 0 {
			t.Errorf("%s: the measurer does not know where its token is", c.Name)
		}
		for i := range workloads[1:] {
			w := &workloads[1+i]
			if pod, is := w.Object.(*corev1.Pod); is && audiences(pod.Spec) != nil {
				t.Errorf("%s: pod %s has a token", c.Name, pod.Name)
			}
			if isCustom(p, w.Name()) {
				continue // none of our agents is in it
			}
			if diff := cmp.Diff(ruleOf(p), ruleIn(t, w), cmp.Transformer("content", compact)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", c.Name, w.Name(), diff)
			}
			agents[w.Component]++
		}
	}
	for _, component := range []string{chain.ComponentFunction, chain.ComponentObserver, chain.ComponentEndpoint, chain.ComponentNeighbor} {
		if agents[component] == 0 {
			t.Errorf("no case has an agent of %s", component)
		}
	}
}

// compact takes white space out of keys.
func compact(r caller.Rule) []string {
	return []string{r.Issuer, r.Audience, r.Subject, strings.Join(strings.Fields(string(r.Keys)), "")}
}

func isCustom(p *plan.Plan, name string) bool {
	return slices.ContainsFunc(p.Functions, func(f plan.Function) bool { return f.IsCustom() && p.Names().Function(f.Name) == name })
}

// audiences returns those of a pod's tokens; "" is the API server.
func audiences(pod corev1.PodSpec) []string {
	var out []string
	for _, volume := range pod.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if token := source.ServiceAccountToken; token != nil {
				out = append(out, token.Audience)
			}
		}
	}
	return out
}

// TestAgentsWithoutTokens: an installation can leave the tokens out, and a plan of an older operator has none.
func TestAgentsWithoutTokens(t *testing.T) {
	in := plantest.NeighborVMs()
	in.Defaults.AgentTokens = false
	workloads := chain.Render(mustMake(t, in), plantest.Issuer())
	if got := audiences(workloads[0].Object.(*batchv1.Job).Spec.Template.Spec); !slices.Equal(got, []string{""}) {
		t.Errorf("the measurer's tokens are for %q", got)
	}
	for i := range workloads[1:] {
		if rule := ruleIn(t, &workloads[1+i]); rule != nil {
			t.Errorf("%s: %+v", workloads[1+i].Name(), rule)
		}
	}
}

// TestAgentTokenLivesAsLongAsTheMeasurer checks the time for which the measurer's token is valid.
func TestAgentTokenLivesAsLongAsTheMeasurer(t *testing.T) {
	for deadline, want := range map[int32]int64{30: 3600, 7200: 9000, 86400: 86400, 604800: 86400} {
		in := plantest.Input(1)
		in.Run.Spec.Experiment.DeadlineSeconds = deadline
		pod := chain.Render(mustMake(t, in), nil)[0].Object.(*batchv1.Job).Spec.Template.Spec
		for _, volume := range pod.Volumes {
			if volume.Projected == nil {
				continue
			}
			token := volume.Projected.Sources[len(volume.Projected.Sources)-1].ServiceAccountToken
			if *token.ExpirationSeconds != want {
				t.Errorf("with a deadline of %d s: %d s, want %d", deadline, *token.ExpirationSeconds, want)
			}
		}
	}
}
