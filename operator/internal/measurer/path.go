package measurer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// ensurePath makes sure that a driver is open on a step's path, through a deployment of the chain
// that the step can be made with.
func (m *Measurer) ensurePath(ctx context.Context, step procedure.Step) error {
	calibration := step.Path == procedure.PathCalibration
	if m.path == step.Path && (!calibration || m.calibrationHop == cmp.Or(m.hopWithout(step.Stage), measure.HopSeparate)) && m.deployment >= step.Deployment {
		return nil
	}
	if m.deployment < step.Deployment {
		m.leaveNeighbors(ctx)
	}
	m.close()
	if calibration {
		return m.useCalibration(ctx, step.Stage)
	}
	if err := m.waitForChain(ctx, step.Deployment); err != nil {
		return err
	}
	m.deployment = m.store.Deployment()
	switch step.Path {
	case procedure.PathEndpoints:
		return m.useEndpoints(ctx)
	case procedure.PathStateful:
		return m.useStateful(ctx)
	}
	return m.useChain(ctx)
}

// hopWithout returns the hop of a stage's path without a device. The delay at a load has the ring that it has on the
// chain's path, because after a stall the wait in the ring is a part of both.
func (m *Measurer) hopWithout(stage measure.Stage) measure.Hop {
	if stage == measure.StageCalibrateLoad {
		return m.Instructions.Chain.Hop
	}
	return m.Instructions.Calibration.Hop
}

// useCalibration opens the path without a device. This is the preflight: the programs can be loaded
// and the ports exist.
func (m *Measurer) useCalibration(ctx context.Context, stage measure.Stage) error {
	path := *m.Instructions.Calibration
	path.Hop = m.hopWithout(stage)
	m.calibrationHop = cmp.Or(path.Hop, measure.HopSeparate)
	driver, err := m.openPath(ctx, path)
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
	return m.opened(procedure.PathCalibration, driver)
}

// waitForChain reports that it waits, and waits for the controller's permission. The controller
// replaces a deployment with a lower number.
func (m *Measurer) waitForChain(ctx context.Context, deployment int) error {
	progress := m.progress(m.store.Records())
	progress.Stage, progress.Deployment = "waiting for the chain", max(progress.Deployment, deployment)
	if err := m.store.SetProgress(progress); err != nil {
		return err
	}
	return m.awaitChain(ctx, deployment)
}

// useChain opens the chain's path.
func (m *Measurer) useChain(ctx context.Context) error {
	driver, err := m.openPath(ctx, m.Instructions.Chain)
	if err != nil {
		return fmt.Errorf("opening the chain's path: %w", err)
	}
	if err := m.startEvidence(ctx); err != nil {
		return err
	}
	return m.opened(procedure.PathChain, driver)
}

func (m *Measurer) awaitChain(ctx context.Context, deployment int) error {
	// An earlier deployment may take as long to go as the next one to start.
	timeout := 2*m.startup() + chainTimeout
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m.Log.Info("waiting for the chain", "deployment", deployment, "atMost", timeout.String())
	err := m.store.AwaitChain(waiting, deployment)
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
	return reason == v1alpha1.ReasonNoPathThroughChain || reason == v1alpha1.ReasonNextHopUnresolved || reason == v1alpha1.ReasonPortDown || reason == v1alpha1.ReasonEndpointFailed
}

// opened keeps a driver and stores what it found about its path.
func (m *Measurer) opened(path procedure.Path, driver measure.Driver) error {
	m.driver, m.path = driver, path
	description := driver.Description()
	state := m.store.Generator()
	state.Node, state.MeasurerVersion = m.Node, m.Version
	switch {
	case path == procedure.PathChain:
		state.Chain = &description
	// The last opening, for the delays at the loads, changes nothing of the calibrated rate.
	case state.Calibration == nil || !m.store.Progress().Calibrated:
		state.Calibration = &description
	}
	m.Log.Info("opened", "path", path, "driver", description.Driver, "transmitPath", description.TransmitPath,
		"receiveMode", description.ReceiveMode, "threads", description.Threads, "scheduling", description.Scheduling, "fallbacks", description.Fallbacks)
	return m.store.SetGenerator(state)
}
