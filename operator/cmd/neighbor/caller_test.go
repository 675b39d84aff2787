//go:build linux

package main

import (
	"context"
	"testing"

	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/testing/agenttest"
)

func TestAnswersTheMeasurerAlone(t *testing.T) {
	start := func(ctx context.Context, address string) error { return run(ctx, address, "stress-ng", t.TempDir()) }
	agenttest.AsksForAToken(t, neighbor.PathStatus, start)
	agenttest.RefusesABadRule(t, start)
}
