package procedure

import (
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

// phase is a part of the measurement that has one purpose and one frame size.
type phase struct {
	stage measure.Stage
	size  measure.Size
	// load is set in stage Latency, and where a kind has more than one phase of a frame size.
	load measure.LoadInstruction
	// repeat counts the measurements of the frame size from 0.
	repeat int
	// streams is the number of connections in stage TCP.
	streams int
	// stateful says that the generator itself makes them.
	stateful bool
	// connections is the load in stage Connections.
	connections *measure.ConnectionLoad
}

// phases are the parts of the measurement in their order. The calibration of
// all frame sizes comes first, so that the chain need not be there for it.
func phases(instr measure.Instructions) []phase {
	var out []phase
	if instr.Calibration != nil {
		for _, size := range instr.Sizes {
			out = append(out,
				phase{stage: measure.StageCalibrateRate, size: size},
				phase{stage: measure.StageCalibrateLatency, size: size})
		}
	}
	for _, size := range instr.Sizes {
		if instr.WarmUpNanoseconds > 0 {
			out = append(out, phase{stage: measure.StageWarmUp, size: size})
		}
		if instr.Throughput != nil {
			out = append(out, phase{stage: measure.StageThroughput, size: size})
		}
		if instr.Latency != nil {
			for _, load := range instr.Latency.Loads {
				out = append(out, phase{stage: measure.StageLatency, size: size, load: load})
			}
		}
		out = append(out, furtherPhases(instr, size)...)
	}
	out = append(out, tcpPhases(instr)...)
	out = append(out, connectionPhases(instr)...)
	return repeated(out, instr.Repeats)
}

func (p phase) path() Path {
	if p.stage == measure.StageCalibrateRate || p.stage == measure.StageCalibrateLatency {
		return PathCalibration
	}
	if p.stateful {
		return PathStateful
	}
	if p.stage == measure.StageTCP {
		return PathEndpoints
	}
	return PathChain
}

func (p phase) owns(r measure.Record) bool {
	discarded := p.stage == measure.StageFixedLoad && r.Stage == measure.StageDiscard
	return (r.Stage == p.stage || discarded) && r.Trial.Size == p.size.Name && r.Load == p.load.Name && r.Repeat == p.repeat
}

// part is a phase with what has been made of it.
type part struct {
	phase
	// over says that the phase needs no further trial.
	over bool
	// skipped is a latency load that could not be derived.
	skipped bool
	// next and why are the trial to make while the phase is not over.
	next measure.Trial
	why  string
	// nextStage is that of the next trial's record, where it is not the phase's.
	nextStage measure.Stage
	// bursts are the searches' results in frames, in stage BackToBack.
	bursts []uint64
	// left is the time that an open part of a kind still needs.
	left time.Duration
	// counted are the records that count, invalid those that do not.
	counted, invalid []measure.Record
	// config, history and results are the search's, in stage Throughput.
	config  search.Config
	history []search.Trial
	results []search.Result
}

// recordedAs is the stage of the next trial's record.
func (p *part) recordedAs() measure.Stage {
	if p.nextStage != "" {
		return p.nextStage
	}
	return p.stage
}

// last is the record that ended a phase of one trial.
func (p *part) last() *measure.Record {
	if len(p.counted) == 0 {
		return nil
	}
	return &p.counted[len(p.counted)-1]
}

// walk is the whole measurement as far as the records go.
type walk struct {
	instr measure.Instructions
	// parts have begun; only the last of them may be open.
	parts []*part
	// err says why the open part cannot go on.
	err error
}

// play walks through the phases along the records.
func play(instr measure.Instructions, records []measure.Record) *walk {
	w := &walk{instr: instr}
	if w.err = validate(instr); w.err != nil {
		return w
	}
	rest := records
	for _, ph := range phases(instr) {
		p := &part{phase: ph}
		n := 0
		for n < len(rest) && ph.owns(rest[n]) {
			n++
		}
		w.parts = append(w.parts, p)
		w.err = w.fill(p, rest[:n])
		rest = rest[n:]
		// What ended the measurement is no result.
		p.over = p.over && w.err == nil
		if !p.over {
			break
		}
	}
	if w.err == nil && len(rest) > 0 {
		w.err = fmt.Errorf("%w: record %d, stage %q with size %q, is not what the instructions ask for there",
			ErrRecords, rest[0].Index, rest[0].Stage, rest[0].Trial.Size)
	}
	return w
}

// open is the part that needs a trial, nil when every trial has been made.
func (w *walk) open() *part {
	if n := len(w.parts); n > 0 && !w.parts[n-1].over {
		return w.parts[n-1]
	}
	return nil
}

// find is the first part of a stage and frame size that has begun, or nil.
func (w *walk) find(stage measure.Stage, size measure.Size) *part {
	for _, p := range w.parts {
		if p.stage == stage && p.size.Name == size.Name {
			return p
		}
	}
	return nil
}

// fill gives a part its records and decides what it needs next.
func (w *walk) fill(p *part, records []measure.Record) error {
	switch p.stage {
	case measure.StageThroughput:
		return w.fillThroughput(p, records)
	case measure.StageLatency:
		return w.fillLatency(p, records)
	case measure.StageTCP:
		return w.fillTCP(p, records)
	case measure.StageConnections:
		return w.fillConnections(p, records)
	case measure.StageWarmUp:
		rate, err := w.warmUpRate(p.size)
		if err != nil {
			return err
		}
		p.next = w.trial(p.size, rate, w.instr.WarmUpNanoseconds)
		// Nothing of it counts, so doubts do not matter either.
		p.counted, p.over = records, len(records) > 0
		return nil
	}
	if k, ok := kindOf(p.stage); ok {
		return k.fill(w, p, records)
	}
	return w.fillCalibration(p, records)
}

func (w *walk) fillCalibration(p *part, records []measure.Record) error {
	rate := uint64(0)
	if p.stage == measure.StageCalibrateLatency {
		limit, err := w.limit(p.size)
		if err != nil {
			return err
		}
		rate = min(calibrationLowFramesPerSecond, limit.framesPerSecond)
	}
	p.next = w.trial(p.size, rate, calibrationDuration.Nanoseconds())
	if err := p.once(records); err != nil || !p.over {
		return err
	}
	if nothingReceived(p.last().Outcome) {
		return &measure.Failure{
			Reason: v1alpha1.ReasonGeneratorUnreliable,
			Err:    fmt.Errorf("no frame of %s came from port to port without a device", p.size),
			Remedy: "check the wiring of the testbed's calibration path",
		}
	}
	return nil
}

func (w *walk) fillLatency(p *part, records []measure.Record) error {
	rate := w.latencyRate(p)
	if rate == 0 {
		p.over, p.skipped = true, true
		if len(records) > 0 {
			return fmt.Errorf("%w: record %d is a trial of load %q, which cannot be derived", ErrRecords, records[0].Index, p.load.Name)
		}
		return nil
	}
	latency := w.instr.Latency
	p.next = w.trial(p.size, rate, latency.TrialNanoseconds)
	p.next.TaggedFrameNanoseconds = latency.TaggedFrameNanoseconds
	if err := p.take(records); err != nil {
		return err
	}
	if last := p.last(); last != nil && nothingReceived(last.Outcome) {
		return w.chainFailed(p.size, rate)
	}
	p.over = len(p.counted) >= latency.Trials()
	p.left = w.cost(latency.Trials()-len(p.counted), latency.TrialNanoseconds)
	return nil
}

// latencyRate is the load's rate: as given, or the share of the goal's
// conditional throughput; 0 where nothing was found that it could be a share of.
func (w *walk) latencyRate(p *part) uint64 {
	if p.load.Goal == "" {
		return w.instr.Rate(p.load, p.size)
	}
	throughput := w.findRepeat(measure.StageThroughput, p.size, p.repeat)
	if throughput == nil {
		return 0
	}
	for _, r := range throughput.results {
		if r.Goal == p.load.Goal {
			return wholeFrames(r.ConditionalThroughputFramesPerSecond) * uint64(max(p.load.Percent, 0)) / 100
		}
	}
	return 0
}

// warmUpRate is the highest load that follows: what warms up at less may still
// meet its slow path when it counts.
func (w *walk) warmUpRate(size measure.Size) (uint64, error) {
	limit, err := w.limit(size)
	if err != nil || w.instr.Throughput != nil {
		return limit.framesPerSecond, err
	}
	highest, err := w.highestFurther(size)
	if err != nil {
		return 0, err
	}
	highest = max(highest, 1)
	if w.instr.Latency != nil {
		for _, load := range w.instr.Latency.Loads {
			highest = max(highest, w.instr.Rate(load, size))
		}
	}
	return min(highest, limit.framesPerSecond), nil
}

func (w *walk) trial(size measure.Size, framesPerSecond uint64, nanoseconds int64) measure.Trial {
	return measure.Trial{
		Size: size.Name, FrameBytes: size.FrameBytes, Mix: size.Mix, Packet: size.Packet, IntendedFramesPerSecond: framesPerSecond,
		DurationNanoseconds: nanoseconds, SettleNanoseconds: w.instr.SettleNanoseconds,
	}
}
