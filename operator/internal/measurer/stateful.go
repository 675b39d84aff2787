package measurer

import (
	"context"
	"fmt"
	"log/slog"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// useStateful opens the driver of a generator with its own TCP.
func (m *Measurer) useStateful(ctx context.Context) error {
	driver, err := m.openWhenReady(ctx, func() (measure.Driver, error) {
		return m.Drivers.Open(ctx, measure.Opening{Driver: m.Instructions.Driver, Stateful: m.Instructions.Stateful})
	})
	if err != nil {
		return fmt.Errorf("opening the chain's path for TCP: %w", err)
	}
	return m.openedConnections(ctx, procedure.PathStateful, driver)
}

// logConnections logs one line for a trial of connections.
func logConnections(log *slog.Logger, r measure.Record) {
	o := r.Outcome.Connections
	log.Info("trial", "index", r.Index, "stage", r.Stage, "load", r.Load, "repeat", r.Repeat,
		"durationSeconds", r.Trial.Duration().Seconds(), "intendedConnectionsPerSecond", r.Trial.Connections.ConnectionsPerSecond,
		"attemptsPerSecond", o.AttemptsPerSecond(), "establishedPerSecond", o.EstablishedPerSecond(), "concurrent", o.Concurrent,
		"attempts", o.Attempts, "completed", o.Completed, "reset", o.Reset, "timedOut", o.TimedOut, "unfinished", o.Unfinished,
		"generatorCPUPartsPerMillion", o.GeneratorCPUPartsPerMillion, "valid", r.Outcome.Valid(), "doubts", r.Outcome.Doubts)
}
