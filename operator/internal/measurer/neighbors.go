package measurer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/procedure"
)

// Times of neighbors. They are variables, so that tests need not wait.
var (
	// neighborTimeout is how long a neighbor may take until it loads or rests: a network
	// policy may not have reached the node yet.
	neighborTimeout = 30 * time.Second
	// neighborPause is the wait between two requests.
	neighborPause = 200 * time.Millisecond
	// neighborSettle is the wait until a load that has started is steady.
	neighborSettle = time.Second
)

// syncNeighbors makes the neighbors load or rest, as a step requires. After a restart, the
// measurer does not know what they do, and sends the command in any case.
func (m *Measurer) syncNeighbors(ctx context.Context, step procedure.Step) error {
	if !m.Instructions.HasNeighbors() || step.Path == procedure.PathCalibration || m.loading != nil && *m.loading == step.Neighbors {
		return nil
	}
	if m.neighbors == nil {
		m.neighbors = neighbor.NewClient()
	}
	for _, load := range m.Instructions.Neighbors {
		change := func(ctx context.Context, address string) (neighbor.Status, error) {
			if step.Neighbors {
				return m.neighbors.Start(ctx, address, load)
			}
			return m.neighbors.Stop(ctx, address)
		}
		if err := m.eventually(ctx, load, change); err != nil {
			return err
		}
	}
	m.loading = &step.Neighbors
	if !step.Neighbors {
		return nil
	}
	for _, load := range m.Instructions.Neighbors {
		if err := m.awaitLoad(ctx, load); err != nil {
			return err
		}
	}
	m.Log.Info("neighbors started", "neighbors", len(m.Instructions.Neighbors))
	return clock.Sleep(ctx, neighborSettle)
}

// addressOf returns the address at which a neighbor listens.
func (m *Measurer) addressOf(name string) (string, error) {
	sources := m.store.Sources().Neighbors
	i := slices.IndexFunc(sources, func(s measure.NeighborSource) bool { return s.Name == name })
	if i < 0 {
		return "", errors.New("the chain is ready, but the results do not say where it is")
	}
	return sources[i].Address, nil
}

// eventually asks a neighbor until it answers.
func (m *Measurer) eventually(ctx context.Context, load measure.NeighborLoad, ask func(context.Context, string) (neighbor.Status, error)) error {
	address, err := m.addressOf(load.Name)
	if err != nil {
		return notStarted(load, err)
	}
	for start := time.Now(); ; {
		once, cancel := context.WithTimeout(ctx, neighborTimeout)
		_, err := ask(once, address)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(start) > neighborTimeout:
			return notStarted(load, err)
		}
		m.Log.Info("neighbor not ready yet, retrying", "neighbor", load.Name, "error", err.Error())
		if err := clock.Sleep(ctx, neighborPause); err != nil {
			return err
		}
	}
}

// awaitLoad returns when the neighbor's counters move.
func (m *Measurer) awaitLoad(ctx context.Context, load measure.NeighborLoad) error {
	var first *neighbor.Status
	for start := time.Now(); ; {
		var now neighbor.Status
		err := m.eventually(ctx, load, func(ctx context.Context, address string) (answer neighbor.Status, err error) {
			now, err = m.neighbors.Status(ctx, address)
			return now, err
		})
		switch {
		case err != nil:
			return err
		case !now.Running:
			return notStarted(load, fmt.Errorf("it ended: %s", now.Problem))
		case first == nil:
			first = &now
		case loads(load, *first, now):
			return nil
		case time.Since(start) > neighborTimeout:
			return notStarted(load, fmt.Errorf("it accepted the command, but its counters do not move"))
		}
		if err := clock.Sleep(ctx, neighborPause); err != nil {
			return err
		}
	}
}

// loads reports whether something happened between two answers. If a container's processor
// time cannot be read, it is enough that the container runs.
func loads(load measure.NeighborLoad, before, now neighbor.Status) bool {
	if load.Kind == measure.NeighborNetwork {
		return now.ReceivedFrames > before.ReceivedFrames
	}
	return now.CPUProblem != "" || now.CPUNanoseconds > before.CPUNanoseconds
}

func notStarted(load measure.NeighborLoad, err error) error {
	return &measure.Failure{
		Reason: v1alpha1.ReasonNeighborNotStarted,
		Err:    fmt.Errorf("neighbor %q does not load: %w", load.Name, err),
		Remedy: "look at the log of its pod, and whether the node has what it asks for",
	}
}

// leaveNeighbors ends the talk with the neighbors of a deployment that is replaced.
func (m *Measurer) leaveNeighbors(ctx context.Context) {
	m.stopNeighbors(ctx)
	m.neighbors, m.loading = nil, nil
}

// problemOf returns why a neighbor of an earlier deployment ended by itself, or "".
func (m *Measurer) problemOf(name string) string {
	for _, state := range m.store.Neighbors() {
		if state.Name == name {
			return state.Problem
		}
	}
	return ""
}

// stopNeighbors stops neighbors that load, and keeps their last report. A measurer that is itself
// stopped leaves them to the next one, which continues with the trials.
func (m *Measurer) stopNeighbors(ctx context.Context) {
	if m.neighbors == nil {
		return
	}
	defer m.neighbors.Close()
	if m.loading == nil || !*m.loading || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, neighborTimeout)
	defer cancel()
	var states []measure.NeighborState
	for _, load := range m.Instructions.Neighbors {
		state := measure.NeighborState{Name: load.Name}
		address, err := m.addressOf(load.Name)
		var status neighbor.Status
		if err == nil {
			status, err = m.neighbors.Stop(ctx, address)
		}
		if err != nil {
			status.Problem = fmt.Sprintf("it did not report: %v", err)
		}
		state.Stressors, state.Problem = status.Stressors, cmp.Or(m.problemOf(load.Name), shorten(status.Problem))
		m.Log.Info("neighbor stopped", "neighbor", load.Name, "stressors", state.Stressors, "problem", state.Problem)
		states = append(states, state)
	}
	m.loading = nil
	if err := m.store.SetNeighbors(states); err != nil {
		m.Log.Error("what the neighbors did cannot be kept", "error", err.Error())
	}
}
