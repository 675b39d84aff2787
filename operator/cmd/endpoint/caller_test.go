//go:build linux

package main

import (
	"context"
	"testing"

	"vnfbench.io/operator/internal/testing/agenttest"
)

func TestRefusesARuleThatItCannotUse(t *testing.T) {
	agenttest.RefusesABadRule(t, func(ctx context.Context, address string) error { return run(ctx, "/absent", address, "iperf3") })
}
