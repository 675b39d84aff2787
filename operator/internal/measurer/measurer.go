// Package measurer is the only loop of a measurement: ask the procedure what
// comes next, let the driver do it, store what it found. Instructions, a store
// and a way to open drivers go in. Stored trials come out, and an error that says
// how the process should end.
package measurer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/evidence"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/trialstore"
)

// Opener opens the driver that an Opening names.
type Opener interface {
	Open(ctx context.Context, opening measure.Opening) (measure.Driver, error)
}

// Measurer makes one run's measurement.
type Measurer struct {
	Instructions measure.Instructions
	Results      trialstore.Config
	Drivers      Opener
	// Node becomes a part of the results; nil if unknown.
	Node *measure.NodeFacts
	// AgentToken is the file with the token for the run's agents; empty if they ask for none.
	AgentToken string
	// Version is the program's, and becomes a part of the results.
	Version string
	Log     *slog.Logger

	store *trialstore.Store
	// driver is open on path; nil before the first trial.
	driver measure.Driver
	path   procedure.Path
	// calibrationHop is the hop of the calibration's path, where that is open.
	calibrationHop measure.Hop
	// deployment is the number of the deployment of the chain that the path leads through; 0 on
	// the calibration's path.
	deployment int
	// evidence asks the chain's node and functions; nil if there are none to ask.
	evidence *evidence.Collector
	// neighbors talks to the neighbors' agents; nil before they are needed.
	neighbors *neighbor.Client
	// loading is the last command to the neighbors; nil if unknown.
	loading *bool
	// evidenceBytes is the size of the evidence in the records so far.
	evidenceBytes int
}

const (
	// chainTimeout is what the chain's pods may take in addition to twice startupSeconds: nodes are
	// chosen and images pulled in it. The controller, which sees the pods, gives up earlier and
	// with a better reason.
	chainTimeout = 15 * time.Minute
	// openPause is the wait between two attempts to open the chain's path.
	openPause = time.Second
	// failTimeout bounds the attempt to store a failure.
	failTimeout = 30 * time.Second
)

// Run measures until every trial has been made. It stores a *measure.Failure before it
// returns it. A canceled ctx ends the current trial at once; the next measurer repeats it.
func (m *Measurer) Run(ctx context.Context) (err error) {
	m.Results.Digest = m.Instructions.Digest
	m.Results.Log = m.Log
	if m.store, err = trialstore.Open(ctx, m.Results); err != nil {
		return err
	}
	holder := m.store.Holder()
	m.Log.Info("holding the results", "results", m.Results.Name, "restarts", holder.Restarts, "trials", len(m.store.Records()))
	if failure := m.store.Failure(); failure != nil {
		return &measure.Failure{Reason: failure.Reason, Err: errors.New(failure.Message)}
	}
	if m.store.Finished() {
		return nil
	}
	err = m.measure(ctx)
	m.stopNeighbors(ctx)
	m.close()
	if err == nil {
		return m.done(ctx)
	}
	if measure.ReasonOf(err) != "" {
		m.keepFailure(ctx, err)
	}
	return err
}

// measure makes one trial after the other until none is left.
func (m *Measurer) measure(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		step, err := procedure.NextIn(m.Instructions, m.store.Records(), m.store.Holder().Measurer)
		if err != nil || step.Done {
			return err
		}
		// Neighbors have to rest and no pod may start while the generator is calibrated again.
		if step.Recalibrates() && m.path != step.Path {
			if err := m.waitForChain(ctx, 0); err != nil {
				return err
			}
		}
		if err := m.ensurePath(ctx, step); err != nil {
			if err := m.keepUnlessNeeded(ctx, step, err); err != nil {
				return err
			}
			continue
		}
		if err := m.syncNeighbors(ctx, step); err != nil {
			if err := m.keepUnlessNeeded(ctx, step, err); err != nil {
				return err
			}
			continue
		}
		m.Log.Debug("measuring", "stage", step.Stage, "why", step.Why)
		finish := m.beginEvidence(ctx, step)
		outcome, err := m.driver.Measure(ctx, step.Trial)
		if err != nil {
			err = fmt.Errorf("measuring stage %q with %d bytes: %w", step.Stage, step.Trial.FrameBytes, err)
			if err := m.keepUnlessNeeded(ctx, step, err); err != nil {
				return err
			}
			continue
		}
		// A record has the time of the wall clock alone, so that who decodes it decides as we do.
		outcome.StartedAt = outcome.StartedAt.Round(0)
		records := m.store.Records()
		outcome = procedure.WithSeries(m.Instructions, records, step.Stage, outcome)
		record := measure.Record{
			Index: len(records), Stage: step.Stage, Load: step.Load, Repeat: step.Repeat,
			Trial: step.Trial, Outcome: outcome, Neighbors: step.Neighbors, Evidence: finish(outcome),
			Deployment: m.deployment,
		}
		record.Outcome = procedure.FitDistributions(m.Instructions, records, step.Stage, procedure.Compact(record))
		logTrial(m.Log, record, step.Why)
		if err := m.keep(ctx, record); err != nil {
			return err
		}
	}
}

// keepUnlessNeeded returns the error of a step. Where a failure costs only what the generator does without a device, after
// everything else or again in another session, it keeps a record that says so instead.
func (m *Measurer) keepUnlessNeeded(ctx context.Context, step procedure.Step, err error) error {
	if !step.Stage.AfterChain() || ctx.Err() != nil {
		return err
	}
	reason, why := v1alpha1.ReasonGeneratorUnreliable, err
	if failure := (*measure.Failure)(nil); errors.As(err, &failure) {
		reason, why = failure.Reason, failure.Err
	}
	m.Log.Warn("what the generator does without a device stays unknown", "stage", step.Stage, "error", err.Error())
	return m.keep(ctx, measure.Record{
		Index: len(m.store.Records()), Stage: step.Stage, Load: step.Load, Repeat: step.Repeat, Trial: step.Trial,
		Outcome: measure.Outcome{
			StartedAt: time.Now().Round(0),
			Doubts:    []measure.Doubt{{Code: reason, Detail: shorten(why.Error()), Invalid: true}},
		},
	})
}

// keep stores a record together with the progress that it makes.
func (m *Measurer) keep(ctx context.Context, record measure.Record) error {
	records := append(m.store.Records()[:record.Index:record.Index], record)
	if err := m.report(records); err != nil {
		return err
	}
	return m.store.Append(ctx, record)
}

// report sets the progress for the next write. Neither percent nor the deployment falls.
func (m *Measurer) report(records []measure.Record) error {
	return m.store.SetProgress(m.progress(records))
}

func (m *Measurer) progress(records []measure.Record) measure.Progress {
	progress := procedure.Progress(m.Instructions, records)
	before := m.store.Progress()
	progress.Percent, progress.Deployment = max(progress.Percent, before.Percent), before.Deployment
	return progress
}

// done stores that the measurement is complete.
func (m *Measurer) done(ctx context.Context) error {
	if err := m.report(m.store.Records()); err != nil {
		return err
	}
	if err := m.store.Done(ctx); err != nil {
		return err
	}
	m.Log.Info("every trial has been made", "trials", len(m.store.Records()))
	return nil
}

// keepFailure stores a failure if that is still possible. The termination message has it as
// well, so an error here is only logged.
func (m *Measurer) keepFailure(ctx context.Context, failure error) {
	switch measure.ReasonOf(failure) {
	case v1alpha1.ReasonResultsLost, v1alpha1.ReasonResultsNotStored:
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failTimeout)
	defer cancel()
	if err := m.store.Fail(ctx, StateOf(failure)); err != nil {
		m.Log.Error("the failure could not be stored", "error", err.Error())
	}
}

// close releases the ports. What cannot be released disappears with the pod, and no figure
// depends on it.
func (m *Measurer) close() {
	if m.driver == nil {
		return
	}
	m.keepLog()
	if err := m.driver.Close(); err != nil {
		m.Log.Warn("the driver could not be closed", "path", m.path, "error", err.Error())
	}
	m.driver, m.path, m.deployment = nil, "", 0
	m.stopEvidence()
}

// keepLog keeps the last lines of a generator that has a log. The next write stores them,
// and no figure depends on them.
func (m *Measurer) keepLog() {
	logger, ok := m.driver.(measure.Logger)
	if !ok {
		return
	}
	lines := logger.Log()
	state := m.store.Generator()
	state.Log = nil
	for _, line := range lines[max(0, len(lines)-measure.GeneratorLogLines):] {
		state.Log = append(state.Log, excerpt.Text(line, measure.GeneratorLogBytes))
	}
	if err := m.store.SetGenerator(state); err != nil {
		m.Log.Warn("the generator's log could not be kept", "error", err.Error())
	}
}
