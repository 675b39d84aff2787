package measurer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// useEndpoints opens the driver of TCP connections at the addresses from the controller. The
// chain's readiness includes that of the two ends.
func (m *Measurer) useEndpoints(ctx context.Context) error {
	at := m.store.Endpoints()
	if at == nil || !at.West.IsValid() || !at.East.IsValid() {
		return &measure.Failure{
			Reason: v1alpha1.ReasonEndpointFailed,
			Err:    errors.New("the chain is ready, but the results do not say where the ends of the TCP connections are"),
			Remedy: "use an operator and a measurer of the same version",
		}
	}
	driver, err := m.openWhenReady(ctx, func() (measure.Driver, error) {
		return m.Drivers.Open(ctx, measure.Opening{
			Driver: measure.DriverSettings{Name: measure.EndpointDriver}, Endpoints: at,
			TCPPath: *m.Instructions.TCPPath, Directions: measure.TCPDirections(m.Instructions.TCP.Directions),
		})
	})
	if err != nil {
		return fmt.Errorf("opening the path of the TCP connections: %w", err)
	}
	m.Log.Info("the ends are there", "west", at.West.String(), "east", at.East.String())
	return m.openedConnections(ctx, procedure.PathEndpoints, driver)
}

// openedConnections keeps a driver of connections. The generator's description is about
// frames; each trial names what makes the connections.
func (m *Measurer) openedConnections(ctx context.Context, path procedure.Path, driver measure.Driver) error {
	m.driver, m.path = driver, path
	if err := m.startEvidence(ctx); err != nil {
		return err
	}
	m.Log.Info("opened", "path", path, "driver", driver.Description().Driver)
	state := m.store.Generator()
	state.Node = m.Node
	return m.store.SetGenerator(state)
}

// logTCP logs one line for each direction of a trial of TCP connections.
func logTCP(log *slog.Logger, r measure.Record) {
	for _, d := range r.Outcome.TCP.Directions {
		log.Info("trial", "index", r.Index, "stage", r.Stage, "load", r.Load, "repeat", r.Repeat,
			"direction", d.Direction, "durationSeconds", r.Trial.Duration().Seconds(),
			"goodputBitsPerSecond", d.GoodputBitsPerSecond(), "retransmits", d.Retransmits,
			"rttMeanNanoseconds", d.RTTMeanNanoseconds,
			"senderCPUPartsPerMillion", d.SenderCPUPartsPerMillion, "receiverCPUPartsPerMillion", d.ReceiverCPUPartsPerMillion)
	}
}
