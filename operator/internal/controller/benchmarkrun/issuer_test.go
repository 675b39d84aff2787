package benchmarkrun

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// apiServer answers each path with a code and a text.
func apiServer(t *testing.T, answers map[string]string, code int) Issuer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answers[r.URL.Path]))
	}))
	t.Cleanup(server.Close)
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return ClusterIssuer{Client: clients.Discovery().RESTClient()}
}

func documents() map[string]string {
	return map[string]string{
		caller.PathIssuer: `{"issuer":"` + plantest.Issuer().URL + `"}`,
		caller.PathKeys:   string(plantest.Issuer().Keys),
	}
}

// planning is a run that makes its plan.
func planning(s *scope) { admitted(s); withInput(s) }

// TestReadIssuer checks what the API server's answers mean for a run.
func TestReadIssuer(t *testing.T) {
	noKeys := documents()
	noKeys[caller.PathKeys] = `{"keys":[]}`
	for name, tc := range map[string]struct {
		answers map[string]string
		code    int
		// waits: the run waits, and decides and stores everything else.
		waits bool
	}{
		"an issuer":      {documents(), http.StatusOK, false},
		"no right":       {nil, http.StatusForbidden, true},
		"no discovery":   {nil, http.StatusNotFound, true},
		"no keys":        {noKeys, http.StatusOK, true},
		"nothing usable": {nil, http.StatusOK, true},
		"away":           {nil, http.StatusServiceUnavailable, true},
		"a fault":        {nil, http.StatusInternalServerError, true},
		"a proxy":        {nil, http.StatusUnauthorized, true},
		"not in JSON":    {nil, http.StatusNotAcceptable, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(planning)
			r := &Reconciler{Defaults: plan.Defaults{AgentTokens: true}, Issuer: apiServer(t, tc.answers, tc.code)}
			err := r.readIssuer(t.Context(), s)
			if err != nil || (s.issuerErr != nil) != tc.waits || (s.issuer != nil) == tc.waits {
				t.Fatalf("got %+v, %v, %v", s.issuer, s.issuerErr, err)
			}
			if !tc.waits {
				return
			}
			// Nothing is planned or launched.
			if got := r.makePlan(t.Context(), s); !errors.Is(got, s.issuerErr) {
				t.Errorf("planned: %v", got)
			}
			s.plan = &plan.Plan{AgentAudience: "vnfbench.io/run/1"}
			if got := r.launchChain(t.Context(), s); !errors.Is(got, s.issuerErr) {
				t.Errorf("launched: %v", got)
			}
			if d, ok := s.waitOut(s.issuerErr); !ok || !strings.Contains(d.chain.message, caller.PathIssuer) {
				t.Errorf("waits %t: %+v", ok, d.chain)
			}
			if c := refusal(s.issuerErr); c.reason != v1alpha1.ReasonIssuerNotReadable || !strings.Contains(c.message, "agentAuthentication None") {
				t.Errorf("ends with %+v", c)
			}
		})
	}
}

// TestIssuerOfAnOperatorThatEnds checks that an operator that ends does not say that the issuer cannot be read.
func TestIssuerOfAnOperatorThatEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newScope(planning)
	r := &Reconciler{Defaults: plan.Defaults{AgentTokens: true}, Issuer: apiServer(t, documents(), http.StatusOK)}
	if err := r.readIssuer(ctx, s); !errors.Is(err, context.Canceled) || s.issuerErr != nil {
		t.Errorf("got %v, %v", err, s.issuerErr)
	}
}

// TestIssuerIsReadForALaunch checks that the API server is asked when agents are launched, and not with every trial.
func TestIssuerIsReadForALaunch(t *testing.T) {
	asks := func(s *scope) { s.plan.AgentAudience = "vnfbench.io/run/1" }
	waiting := func(s *scope) { launched(s); asks(s); withRecords(calibrated)(s) }
	for name, tc := range map[string]struct {
		change  with
		without bool
		want    int
	}{
		"planning":                               {planning, false, 1},
		"planning, agents answer everyone":       {planning, true, 0},
		"the generator is not calibrated":        {func(s *scope) { launched(s); asks(s) }, false, 0},
		"the chain is next":                      {waiting, false, 1},
		"the chain is next, planned with tokens": {waiting, true, 1},
		"the chain is next, planned without":     {func(s *scope) { launched(s); withRecords(calibrated)(s) }, false, 0},
		"the chain is there": {func(s *scope) {
			waiting(s)
			s.chainPods = append(s.chainPods, pod(s.names.Function("one")), pod(s.names.Function("two")))
		}, false, 0},
		"the chain is measured": {func(s *scope) { waiting(s); withRecords(open)(s) }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := &counting{}
			r := &Reconciler{Defaults: plan.Defaults{AgentTokens: !tc.without}, Issuer: issuer}
			if err := r.readIssuer(t.Context(), newScope(tc.change)); err != nil || issuer.reads != tc.want {
				t.Errorf("read %d times, want %d: %v", issuer.reads, tc.want, err)
			}
		})
	}
	s := newScope(waiting)
	if err := (&Reconciler{}).launchChain(t.Context(), s); err == nil || measure.ReasonOf(err) != "" {
		t.Errorf("agents that answer everyone would be launched: %v", err)
	}
}

type counting struct{ reads int }

func (c *counting) Read(context.Context) (*caller.Issuer, error) {
	c.reads++
	return plantest.Issuer(), nil
}
