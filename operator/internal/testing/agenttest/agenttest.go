// Package agenttest checks, for tests, the programs that answer the measurer in a pod.
package agenttest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/testing/plantest"
)

// Run runs a program that answers on an address, HOST:PORT, until the context ends.
type Run func(ctx context.Context, address string) error

// Address returns a HOST:PORT of the loopback interface on which nothing listens.
func Address(t testing.TB) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	return free.Addr().String()
}

// AsksForAToken runs a program with the rule of another cluster's measurer: without a token it must say whether it is
// ready, and refuse the path.
func AsksForAToken(t *testing.T, path string, run Run) {
	t.Helper()
	rule := &caller.Rule{
		Issuer: plantest.Issuer().URL, Keys: plantest.Issuer().Keys, Audience: "vnfbench.io/run/1", Subject: caller.Subject("lab", "measurer"),
	}
	t.Setenv(caller.Variable, rule.Text())
	address := Address(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, address) }()
	for path, want := range map[string]int{"/readyz": http.StatusOK, path: http.StatusUnauthorized} {
		if got := ask(t, "http://"+address+path); got != want {
			t.Errorf("%s: got %d, want %d", path, got, want)
		}
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// RefusesABadRule checks that a program whose rule cannot be used does not start: it would answer everyone.
func RefusesABadRule(t *testing.T, run Run) {
	t.Helper()
	t.Setenv(caller.Variable, "{}")
	if err := run(t.Context(), "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), caller.Variable) {
		t.Errorf("got %v", err)
	}
}

// ask returns the status code of an answer, for which it waits up to 10 s.
func ask(t *testing.T, url string) int {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		response, err := http.Get(url)
		if err == nil {
			_ = response.Body.Close()
			return response.StatusCode
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
