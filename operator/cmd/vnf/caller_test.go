//go:build linux

package main

import (
	"context"
	"log/slog"
	"testing"

	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/testing/agenttest"
)

func TestAnswersTheMeasurerAlone(t *testing.T) {
	start := func(ctx context.Context, address string) error {
		return observe(ctx, address, nil, false, 0, slog.New(slog.DiscardHandler))
	}
	agenttest.AsksForAToken(t, observer.PathSnapshot, start)
	agenttest.RefusesABadRule(t, start)
	agenttest.RefusesABadRule(t, func(ctx context.Context, address string) error {
		return run(ctx, "/absent", "/absent", address, slog.New(slog.DiscardHandler))
	})
}
