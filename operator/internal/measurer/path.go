package measurer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// ensurePath makes sure that a driver is open on a path. Opening the calibration path is the
// preflight: the programs can be loaded and the ports exist.
func (m *Measurer) ensurePath(ctx context.Context, path procedure.Path) error {
	if m.path == path {
		return nil
	}
	m.close()
	switch path {
	case procedure.PathChain:
		return m.useChain(ctx)
	case procedure.PathEndpoints:
		return m.useEndpoints(ctx)
	case procedure.PathStateful:
		return m.useStateful(ctx)
	}
	driver, err := m.openPath(ctx, *m.Instructions.Calibration)
	var failure *measure.Failure
	if errors.As(err, &failure) && failure.Reason == v1alpha1.ReasonNoPathThroughChain {
		// There is no chain on this path that could be the cause.
		return &measure.Failure{
			Reason: v1alpha1.ReasonGeneratorUnreliable,
			Err:    fmt.Errorf("port to port without a device, %w", failure.Err),
			Remedy: "check the wiring of the testbed's calibration path",
		}
	}
	if err != nil {
		return fmt.Errorf("opening the calibration path: %w", err)
	}
	return m.opened(path, driver)
}

// waitForChain reports that it waits, and waits for the controller's permission.
func (m *Measurer) waitForChain(ctx context.Context) error {
	progress := m.progress(m.store.Records())
	progress.Stage = "waiting for the chain"
	if err := m.store.SetProgress(progress); err != nil {
		return err
	}
	return m.awaitChain(ctx)
}

// useChain waits for the controller's permission before it opens the chain's path.
func (m *Measurer) useChain(ctx context.Context) error {
	if err := m.waitForChain(ctx); err != nil {
		return err
	}
	driver, err := m.openPath(ctx, m.Instructions.Chain)
	if err != nil {
		return fmt.Errorf("opening the chain's path: %w", err)
	}
	if err := m.startEvidence(ctx); err != nil {
		return err
	}
	return m.opened(procedure.PathChain, driver)
}

func (m *Measurer) awaitChain(ctx context.Context) error {
	timeout := m.startup() + chainTimeout
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m.Log.Info("waiting for the chain", "atMost", timeout.String())
	err := m.store.AwaitChain(waiting)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && measure.ReasonOf(err) == "" {
		return &measure.Failure{
			Reason: v1alpha1.ReasonChainNotReady,
			Err:    fmt.Errorf("the chain was not ready after %s", timeout),
			Remedy: "look at the chain's pods, or raise startupSeconds",
		}
	}
	return err
}

func (m *Measurer) startup() time.Duration {
	return time.Duration(m.Instructions.StartupSeconds) * time.Second
}

func (m *Measurer) openPath(ctx context.Context, path measure.Path) (measure.Driver, error) {
	return m.openWhenReady(ctx, func() (measure.Driver, error) {
		return m.Drivers.Open(ctx, measure.Opening{Driver: m.Instructions.Driver, Path: &path})
	})
}

// openWhenReady opens a path. It retries errors that time can fix until startupSeconds have
// passed.
func (m *Measurer) openWhenReady(ctx context.Context, open func() (measure.Driver, error)) (measure.Driver, error) {
	start := time.Now()
	for {
		driver, err := open()
		if err == nil {
			return driver, nil
		}
		if stopped := context.Cause(ctx); stopped != nil {
			return nil, stopped
		}
		if !isRetriable(err) || time.Since(start)+openPause > m.startup() {
			return nil, err
		}
		m.Log.Info("no path through the chain yet, retrying", "error", err.Error())
		if err := clock.Sleep(ctx, openPause); err != nil {
			return nil, err
		}
	}
}

// isRetriable reports whether an error is one that a chain shows while it starts.
func isRetriable(err error) bool {
	reason := measure.ReasonOf(err)
	// An end that cannot be reached yet may wait for its network policy.
	return reason == v1alpha1.ReasonNoPathThroughChain || reason == v1alpha1.ReasonPortDown || reason == v1alpha1.ReasonEndpointFailed
}

// opened keeps a driver and stores what it found about its path.
func (m *Measurer) opened(path procedure.Path, driver measure.Driver) error {
	m.driver, m.path = driver, path
	description := driver.Description()
	state := m.store.Generator()
	state.Node, state.MeasurerVersion = m.Node, m.Version
	if path == procedure.PathChain {
		state.Chain = &description
	} else {
		state.Calibration = &description
	}
	m.Log.Info("opened", "path", path, "driver", description.Driver, "transmitPath", description.TransmitPath,
		"receiveMode", description.ReceiveMode, "threads", description.Threads, "scheduling", description.Scheduling, "fallbacks", description.Fallbacks)
	return m.store.SetGenerator(state)
}
