package measurer

import (
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
	// neighborSettle is the wait until a load that has started is steady, and until the node is quiet
	// after one has stopped.
	neighborSettle = time.Second
)

// syncNeighbors makes the neighbors load or rest, as a step requires. After a restart, the
// measurer does not know what they do, and sends the command in any case.
func (m *Measurer) syncNeighbors(ctx context.Context, step procedure.Step) error {
	// Before the chain there are none yet; after everything else they may still load.
	before := step.Path == procedure.PathCalibration && !step.Stage.AfterChain()
	if !m.Instructions.HasNeighbors() || before || m.loading != nil && *m.loading == step.Neighbors {
		return nil
	}
	if m.neighbors == nil {
		m.neighbors = neighbor.NewClient(m.AgentToken, m.store.Sources().Addresses()...)
	}
	for _, load := range m.Instructions.Neighbors {
		change := m.rest
		if step.Neighbors {
			change = m.load
		}
		if err := change(ctx, load); err != nil {
			return err
		}
	}
	rested := m.loading != nil && *m.loading
	m.loading = &step.Neighbors
	if !step.Neighbors {
		if rested {
			return clock.Sleep(ctx, neighborSettle)
		}
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

// load has a neighbor start its load.
func (m *Measurer) load(ctx context.Context, load measure.NeighborLoad) error {
	return m.eventually(ctx, load, func(ctx context.Context, address string) (neighbor.Status, error) {
		return m.neighbors.Start(ctx, address, load)
	})
}

// rest has a neighbor end its load, and keeps what it says of it.
func (m *Measurer) rest(ctx context.Context, load measure.NeighborLoad) error {
	var last neighbor.Status
	err := m.eventually(ctx, load, func(ctx context.Context, address string) (answer neighbor.Status, err error) {
		last, err = m.stop(ctx, address)
		return last, err
	})
	if err != nil {
		return err
	}
	return m.account(load, last)
}

// stop ends a neighbor's load. A neighbor still has the account of a load that ended earlier, so one
// that another measurer may have stopped is asked first whether it loads.
func (m *Measurer) stop(ctx context.Context, address string) (neighbor.Status, error) {
	mine := m.loading != nil && *m.loading
	before := neighbor.Status{Running: true}
	if !mine {
		var err error
		if before, err = m.neighbors.Status(ctx, address); err != nil {
			return before, err
		}
	}
	status, err := m.neighbors.Stop(ctx, address)
	if !before.Running {
		status.Stressors, status.Problem = nil, ""
	}
	return status, err
}

// account adds what a neighbor did in a load that has ended to what it did before.
func (m *Measurer) account(load measure.NeighborLoad, status neighbor.Status) error {
	states := slices.Clone(m.store.Neighbors())
	at := slices.IndexFunc(states, func(s measure.NeighborState) bool { return s.Name == load.Name })
	if at < 0 {
		at, states = len(states), append(states, measure.NeighborState{Name: load.Name})
	}
	state := &states[at]
	state.Stressors = measure.AddStressors(state.Stressors, status.Stressors)
	if problem := shorten(status.Problem); problem != "" {
		state.Problem = problem
	}
	m.Log.Info("neighbor stopped", "neighbor", load.Name, "stressors", status.Stressors, "problem", status.Problem)
	return m.store.SetNeighbors(states)
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
	for _, load := range m.Instructions.Neighbors {
		address, err := m.addressOf(load.Name)
		var status neighbor.Status
		if err == nil {
			status, err = m.stop(ctx, address)
		}
		if err != nil {
			status.Problem = fmt.Sprintf("it did not report: %v", err)
		}
		if err := m.account(load, status); err != nil {
			m.Log.Error("what the neighbor did cannot be kept", "neighbor", load.Name, "error", err.Error())
		}
	}
	m.loading = nil
}
