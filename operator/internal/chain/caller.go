package chain

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/plan"
)

const (
	// fileAgentToken is the token for the run's agents, next to the one for the API server.
	fileAgentToken = "agent-token"
	// variableAgentToken has its path.
	variableAgentToken = "AGENT_TOKEN_FILE"

	// minAgentTokenSeconds and maxAgentTokenSeconds limit how long it is valid; the kubelet renews it.
	minAgentTokenSeconds = 3600
	maxAgentTokenSeconds = 24 * 3600
)

// agentTokenSeconds returns as long as the measurer may live, and a quarter more, before which the kubelet renews no
// token. A renewed one may be signed with a key that the agents do not know yet. A token that was
// stolen is of use while the run has agents, and no longer.
func agentTokenSeconds(p *plan.Plan) int64 {
	return min(max(p.DeadlineSeconds+p.DeadlineSeconds/4, minAgentTokenSeconds), maxAgentTokenSeconds)
}

// agentToken returns the measurer's token for the agents of its run; none where they ask for none.
func agentToken(p *plan.Plan) []corev1.VolumeProjection {
	if p.AgentAudience == "" {
		return nil
	}
	return []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
		Audience: p.AgentAudience, Path: fileAgentToken, ExpirationSeconds: new(agentTokenSeconds(p)),
	}}}
}

// agentTokenPath returns the variable with which the measurer finds its token.
func agentTokenPath(p *plan.Plan) []corev1.EnvVar {
	if p.AgentAudience == "" {
		return nil
	}
	return []corev1.EnvVar{{Name: variableAgentToken, Value: tokenDirectory + "/" + fileAgentToken}}
}

// callerOf returns whose requests the run's agents answer, nil where they answer everyone.
func callerOf(p *plan.Plan, issuer *caller.Issuer) *caller.Rule {
	if p.AgentAudience == "" || issuer == nil {
		return nil
	}
	return &caller.Rule{
		Issuer: issuer.URL, Audience: p.AgentAudience, Keys: issuer.Keys,
		Subject: caller.Subject(p.Run.Namespace, p.Names().ServiceAccount),
	}
}

// agentVariables returns the environment of an agent in a pod.
func agentVariables(rule *caller.Rule) []corev1.EnvVar {
	variables := []corev1.EnvVar{podAddress()}
	if rule != nil {
		variables = append(variables, corev1.EnvVar{Name: caller.Variable, Value: rule.Text()})
	}
	return variables
}

// userData returns a Secret that a guest reads as its NoCloud user data. KubeVirt takes at most 2048 bytes in a VM's spec.
func userData(meta metav1.ObjectMeta, content any) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta,
		Immutable:  new(true),
		Data:       map[string][]byte{keyUserData: []byte(indentedJSON(content))},
	}
}
