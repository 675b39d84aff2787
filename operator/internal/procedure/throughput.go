package procedure

import (
	"fmt"
	"math"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

// throughputOf searches for the highest load that meets each goal.
type throughputOf struct{ base }

var throughputMeasurement = throughputOf{base{name: measure.StageThroughput, noun: "throughput"}}

func (throughputOf) countsOverTime(measure.Stage) bool { return true }

func (throughputOf) repetition() repetition { return repeatedly }

func (throughputOf) check(instr measure.Instructions) error {
	if instr.Throughput != nil && len(instr.Throughput.Goals) == 0 {
		return fmt.Errorf("%w: throughput without a goal", ErrInstructions)
	}
	return nil
}

func (throughputOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	return single(instr.Throughput != nil)
}

func (throughputOf) trials(w *replay, ph phase) int {
	estimate, err := search.Remaining(w.searchConfig(ph.size, lineRate(w.instr, ph.size)), nil)
	if err != nil {
		return 1
	}
	return estimate.Trials
}

func (throughputOf) expected(w *replay, ph phase) time.Duration {
	highest := lineRate(w.instr, ph.size)
	if asked := w.instr.Maximum(ph.size); asked > 0 {
		highest = min(highest, asked)
	}
	estimate, err := search.Remaining(w.searchConfig(ph.size, highest), nil)
	if err != nil {
		return time.Duration(w.settle())
	}
	return estimate.Time
}

func (throughputOf) within(_ *replay, p *part, expected time.Duration) (float64, time.Duration) {
	if len(p.history) == 0 {
		return 0, expected
	}
	estimate, err := search.Remaining(p.config, p.history)
	if err != nil {
		return 0, expected
	}
	var spent time.Duration
	for _, trial := range p.history {
		spent += trial.Cost
	}
	if spent+estimate.Time <= 0 {
		return 0, estimate.Time
	}
	return spent.Seconds() / (spent + estimate.Time).Seconds(), estimate.Time
}

func (throughputOf) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	if len(parts) > 0 {
		frame.Throughput = w.throughputResults(parts[0].size)
	}
	return len(frame.Throughput) > 0
}

func (throughputOf) cpuGroups(p *part) []cpuGroup {
	var groups []cpuGroup
	for _, r := range p.results {
		groups = append(groups, cpuGroup{v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: r.Goal}, p.atLoad(r.LowerBoundFramesPerSecond)})
	}
	return groups
}

func (throughputOf) warn(w *replay, d *warningList, _ measure.Size, parts []*part) {
	for _, p := range completed(parts) {
		w.warnBounds(d, p)
		w.warnNearCeiling(d, p)
		w.warnIrregular(d, p)
		warnInversion(d, p)
	}
}

// What bounds the loads from above.
const (
	limitLineRate    = "the line rate of the testbed's link"
	limitAsked       = "the run's maximumFramesPerSecond"
	limitAskedLoad   = "the run's maximumLoad"
	limitCalibration = "what the generator reached in its calibration"
)

// limit is the highest load of a frame size and where it comes from.
type limit struct {
	framesPerSecond uint64
	by              string
}

// limit returns the highest load: the lowest of line rate, the run's own maximum, and what the
// calibration received in the slower direction.
func (w *replay) limit(size measure.Size) (limit, error) {
	out := limit{framesPerSecond: lineRate(w.instr, size), by: limitLineRate}
	least := uint64(1)
	if w.instr.Throughput != nil {
		if asked := w.instr.Maximum(size); asked > 0 && asked < out.framesPerSecond {
			out = limit{framesPerSecond: asked, by: limitAsked}
			if w.instr.Throughput.MaximumLoad != nil {
				out.by = limitAskedLoad
			}
		}
		least = max(least, w.instr.Minimum(size))
	}
	if out.framesPerSecond < least {
		return out, &measure.Failure{
			Reason: v1alpha1.ReasonLoadAboveLineRate,
			Err:    fmt.Errorf("the minimum load of %d frames/s is above %s, %d frames/s with %s", least, out.by, out.framesPerSecond, size),
			Remedy: "lower minimumFramesPerSecond or minimumLoad",
		}
	}
	if reached, ok := w.reached(size); ok && !reached.whole && reached.highest < out.framesPerSecond {
		out = limit{framesPerSecond: reached.highest, by: limitCalibration}
	}
	if out.framesPerSecond < least {
		return out, tooSlow(fmt.Errorf("it reached %d frames/s of %s without a device", out.framesPerSecond, size), least)
	}
	return out, nil
}

// tooSlow returns the error that keeps the generator's limit from becoming a device's figure of
// 0.
func tooSlow(err error, least uint64) error {
	return &measure.Failure{
		Reason: v1alpha1.ReasonGeneratorUnreliable,
		Err:    fmt.Errorf("the generator is too slow for the minimum load of %d frames/s: %w", least, err),
		Remedy: "lower minimumFramesPerSecond or minimumLoad, or give the generator more CPU",
	}
}

// searchConfig converts the instructions for the search of a frame size.
func (w *replay) searchConfig(size measure.Size, highest uint64) search.Config {
	t := w.instr.Throughput
	cfg := search.Config{
		Method:                 search.Method(t.Method),
		MinimumFramesPerSecond: max(1, w.instr.Minimum(size)),
		MaximumFramesPerSecond: highest,
		// At most one more trial for each goal, and no device keeps a figure that it could not
		// repeat.
		ConfirmLowerBounds: true,
		MaxSearch:          time.Duration(seconds(t.MaximumSearchSeconds)),
		TrialOverhead:      time.Duration(w.settle()),
	}
	if v := t.LossVerification; v != nil && t.Method == v1alpha1.MethodTST009WithLossVerification {
		cfg.LossVerification.MaximumRepeats = int(v.MaximumRepeats)
		if most := v.LossThresholdFrames; most != nil {
			cfg.LossVerification.LossThresholdFrames = new(uint64(*most))
		}
	}
	for _, g := range t.Goals {
		goal := searchGoal(cfg.Method, g)
		cfg.Goals = append(cfg.Goals, goal)
		if cfg.MaxSearch > 0 {
			// A result has at least one trial, however short the given time is.
			cfg.MaxSearch = max(cfg.MaxSearch, goal.FinalTrial+cfg.TrialOverhead)
		}
	}
	return cfg
}

const (
	// coarseTrial is the first, coarse target's duration sum where a goal has
	// coarse targets: CSIT's.
	coarseTrial = time.Second
	// coarseFrom is how many of those a goal's duration sum must hold for
	// coarse targets to save time.
	coarseFrom = 10
	// coarseTargets is CSIT's number of preceding targets.
	coarseTargets = 2
)

// searchGoal adds what saves time and changes no verdict: long goals are first approached by
// shorter trials. MLRsearch uses two coarser targets, as FD.io CSIT does. Only full-length trials
// make a lower bound of the goal itself (RFC 2544 section 24: shorter trials may search, the
// final ones have the full length). The methods of TST 009 know trials of one length only.
func searchGoal(method search.Method, g v1alpha1.Goal) search.Goal {
	goal := search.Goal{
		Name:          g.Name,
		LossRatio:     float64(g.LossPartsPerMillion) / 1e6,
		ExceedRatio:   float64(g.ExceedPercent) / 100,
		RelativeWidth: float64(g.WidthPartsPerMillion) / 1e6,
		FinalTrial:    time.Duration(milliseconds(g.TrialMilliseconds)),
		DurationSum:   time.Duration(milliseconds(g.DurationSumMilliseconds)),
	}
	if goal.DurationSum < coarseFrom*coarseTrial {
		return goal
	}
	switch method {
	case "", search.MLRsearch:
		goal.PrecedingTargets, goal.InitialTrial = coarseTargets, min(coarseTrial, goal.FinalTrial)
	case search.RFC2544Bisection:
		goal.InitialTrial = coarseTrial
	}
	return goal
}

// fill lets the search decide. If the last trial of a finished search received nothing at all,
// fill does not trust it: a trial at the minimum load shows whether the device still works,
// because one that stopped during the search would otherwise look like a slow one.
func (throughputOf) fill(w *replay, p *part, records []measure.Record) error {
	highest, err := w.limit(p.size)
	if err != nil {
		return err
	}
	p.config = w.searchConfig(p.size, highest.framesPerSecond)
	if err := w.takeHistory(p, records); err != nil {
		return err
	}
	step, err := search.Next(p.config, p.history)
	if err != nil {
		return fmt.Errorf("search with %s: %w", p.size, err)
	}
	p.results, p.why = step.Results, step.Why
	p.next = w.trial(p.size, step.LoadFramesPerSecond, step.Duration.Nanoseconds())
	if !step.Done {
		return nil
	}
	least := p.config.MinimumFramesPerSecond
	if last := p.last(); last != nil && nothingReceived(last.Outcome) {
		if last.Trial.IntendedFramesPerSecond == least {
			return w.chainFailed(p.size, least)
		}
		p.why = "see whether the device still forwards at the minimum load"
		p.next = w.trial(p.size, least, milliseconds(w.instr.Throughput.Goals[0].TrialMilliseconds))
		return nil
	}
	for _, r := range p.results {
		if r.Irregularity == search.BelowMinimumLoad && r.UpperBoundCause == search.GeneratorCeiling {
			return tooSlow(fmt.Errorf("it could not send that load of %s", p.size), least)
		}
	}
	p.over = true
	return nil
}

// takeHistory takes records as takeSteady does, and keeps those that count as the search's
// history. A trial costs the time of those before it too that were made again.
func (w *replay) takeHistory(p *part, records []measure.Record) error {
	if err := p.takeSteady(records, sorter{reached: w.warmUpReached(p.phase), goals: w.goals()}); err != nil {
		return err
	}
	for i, r := range p.counted {
		trial, err := w.searchTrial(r)
		if err != nil {
			return fmt.Errorf("%w: record %d: %w", ErrRecords, r.Index, err)
		}
		trial.Cost += p.before[i]
		p.history = append(p.history, trial)
	}
	return nil
}

// warmUpReached returns the rate that was sent in the warm-up, and 0 without one.
func (w *replay) warmUpReached(ph phase) float64 {
	if p := w.findRepeat(measure.StageWarmUp, ph.size, ph.repeat); p != nil && p.last() != nil {
		return p.last().Outcome.OfferedFramesPerSecond()
	}
	return 0
}

// wholeFrames rounds down, but not below a whole number that arithmetic just missed.
func wholeFrames(framesPerSecond float64) uint64 {
	return uint64(math.Floor(max(0, framesPerSecond) + 0.001))
}
