package benchmarkrun

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/measure"
)

// Issuer reads who makes the cluster's tokens of service accounts.
type Issuer interface {
	Read(ctx context.Context) (*caller.Issuer, error)
}

// ClusterIssuer asks the API server.
type ClusterIssuer struct{ Client rest.Interface }

// Read implements Issuer.
func (c ClusterIssuer) Read(ctx context.Context) (*caller.Issuer, error) {
	var documents [2][]byte
	for i, path := range []string{caller.PathIssuer, caller.PathKeys} {
		text, err := c.Client.Get().AbsPath(path).DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		documents[i] = text
	}
	issuer, err := caller.ParseIssuer(documents[0], documents[1])
	if err != nil {
		return nil, fmt.Errorf("the API server's documents about its issuer cannot be used: %w", err)
	}
	return issuer, nil
}

// readIssuer reads the issuer for agents that are launched next. Planning reads it too: a cluster without one shows
// that before anything is measured. Any error is waited out, so that no answer, also of a proxy, keeps a testbed.
func (r *Reconciler) readIssuer(ctx context.Context, s *scope) error {
	if !r.Defaults.AgentTokens && s.input != nil || s.input == nil && !s.launchesAgents() {
		return nil
	}
	issuer, err := r.Issuer.Read(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.issuerErr = &measure.Failure{
			Reason: v1alpha1.ReasonIssuerNotReadable,
			Err:    fmt.Errorf("the run's agents cannot recognize the measurer: %w", err),
			Remedy: "let the operator's account get " + caller.PathIssuer + " and " + caller.PathKeys + ", which an API server offers whose --service-account-issuer is an https address; or install the operator with agentAuthentication None",
		}
	}
	s.issuer = issuer
	return nil
}

// launchesAgents reports whether a part of the chain is missing whose agent asks for a token.
func (s *scope) launchesAgents() bool {
	if s.plan == nil || s.plan.AgentAudience == "" || s.records == nil || queue.Finished(s.run) {
		return false
	}
	starting := s.starting()
	return !starting[0].IsMeasurer() && len(s.missing(starting)) > 0
}
