package measurer

import (
	"context"
	"errors"
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// useStateful waits for the chain and opens the driver of a generator that has a
// TCP of its own.
func (m *Measurer) useStateful(ctx context.Context) error {
	if err := m.waitForChain(ctx); err != nil {
		return err
	}
	if m.Stateful == nil {
		return &measure.Failure{
			Reason: v1alpha1.ReasonEndpointFailed,
			Err:    errors.New("this measurer has no generator with a TCP of its own"),
			Remedy: "use an operator and a measurer of the same version",
		}
	}
	driver, err := m.openWhenReady(ctx, func() (measure.Driver, error) {
		return m.Stateful.OpenStateful(ctx, m.Instructions)
	})
	if err != nil {
		return fmt.Errorf("opening the chain's path for TCP: %w", err)
	}
	m.driver, m.path = driver, procedure.PathStateful
	if err := m.meet(ctx); err != nil {
		return err
	}
	m.Log.Info("opened", "path", m.path, "driver", driver.Description().Driver)
	// The generator's description is of frames; what makes the connections stands in each trial.
	state := m.store.Generator()
	state.Machine = m.Machine
	return m.store.SetGenerator(state)
}
