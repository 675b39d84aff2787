package rpc_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// soon is the time limit of a failure, on a busy machine.
const soon = 20 * time.Second

// No client and no server leaves a goroutine running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial connects to a server of the test, and closes the client with it.
func dial(t *testing.T, s *replay.Server, o rpc.Options) *rpc.Client {
	t.Helper()
	if o.API.Name == "" {
		o.API = rpc.STL
	}
	c, err := rpc.Dial(t.Context(), s.Address(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return c
}

// within fails the test if something takes too long.
func within(t *testing.T, limit time.Duration) func() {
	t.Helper()
	began := time.Now()
	return func() {
		t.Helper()
		if took := time.Since(began); took > limit {
			t.Errorf("it took %v, and at most %v is allowed", took, limit)
		}
	}
}

// shortly returns a context for a call that will not be answered.
func shortly(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}
