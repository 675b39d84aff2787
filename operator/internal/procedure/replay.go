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
	measurement measurement
	size        measure.Size
	// load is set in stage Latency, and where a measurement has more than one phase of a size.
	load v1alpha1.LatencyLoad
	// repeat counts the measurements of the frame size from 0.
	repeat int
	// streams is the number of connections in stage TCP.
	streams int32
	// stateful says that the generator itself makes them.
	stateful bool
	// connections is the load in stage Connections.
	connections *v1alpha1.ConnectionsLoad
	// unit counts what is made in one session, over the whole measurement.
	unit int
}

// phases returns the parts of the measurement in their order. The calibration of all sizes comes
// first, as it does not need the chain.
func phases(instr measure.Instructions) []phase {
	var out []phase
	for _, size := range instr.Sizes {
		out = append(out, phasesAt(beforeChain, instr, size)...)
	}
	for _, size := range sizesInOrder(instr) {
		out = append(out, phasesAt(perSize, instr, size)...)
	}
	out = append(out, phasesAt(afterSizes, instr, wholeRun)...)
	out = loadsInOrder(instr, inRepeatsOf(out, instr))
	// One measurement after the other, not size by size: the path of the loads has the ring of the chain's, and that of the rates
	// none, so it is opened again once.
	for _, m := range measurementsAt(atTheEnd) {
		for _, size := range instr.Sizes {
			out = append(out, phasesOf(m, instr, size)...)
		}
	}
	for i := 1; i < len(out); i++ {
		out[i].unit = out[i-1].unit
		if !out[i].inUnitOf(out[i-1]) {
			out[i].unit++
		}
	}
	return out
}

// stage returns the stage of the phase's records.
func (p phase) stage() measure.Stage { return p.measurement.stage() }

func (p phase) path() Path { return p.measurement.path(p) }

func (p phase) owns(r measure.Record) bool {
	return p.measurement.owns(r.Stage) && r.Trial.Size == p.size.Name && r.Load == p.load.Name && r.Repeat == p.repeat
}

// part is a phase and its state so far.
type part struct {
	phase
	// over says that the phase needs no further trial.
	over bool
	// skipped is a latency load that could not be derived.
	skipped bool
	// failure is why the delay without a device could not be measured.
	failure string
	// next and why are the trial to make while the phase is not over.
	next measure.Trial
	why  string
	// nextStage is that of the next trial's record, where it is not the phase's.
	nextStage measure.Stage
	// bursts are the searches' results in frames, in stage BackToBack.
	bursts []uint64
	// turns is how many repeats are over, where a measurement makes them itself. The sides of a comparison take
	// turns after each.
	turns int
	// attempt is the overload that counts with all trials after it, in stage Recovery.
	attempt attempt
	// left is the time that an open part still needs, where its measurement knows.
	left time.Duration
	// records is how many there are of the part.
	records int
	// counted are the records that count, invalid those that do not.
	counted []measure.Record
	invalid []replaced
	// before is the time of those that do not count right before each that does.
	before []time.Duration
	// config, history and results are the search's, in stage Throughput.
	config  search.Config
	history []search.Trial
	results []search.Result
}

// replaced is a record that does not count, and why, in one clause.
type replaced struct {
	measure.Record
	why string
}

// replace stores records that do not count for a reason.
func (p *part) replace(why string, records ...measure.Record) {
	for _, r := range records {
		p.invalid = append(p.invalid, replaced{r, why})
	}
}

// recordedAs returns the stage of the next trial's record.
func (p *part) recordedAs() measure.Stage {
	if p.nextStage != "" {
		return p.nextStage
	}
	return p.measurement.stage()
}

// last returns the record that ended a phase of one trial.
func (p *part) last() *measure.Record {
	if len(p.counted) == 0 {
		return nil
	}
	return &p.counted[len(p.counted)-1]
}

// replay is the state of the whole measurement after the records.
type replay struct {
	instr measure.Instructions
	// parts have begun; only the last of them may be open.
	parts []*part
	// log are all records, also those of another side and of sessions that were dropped.
	log []measure.Record
	// err says why the open part cannot continue.
	err error
	// side says whether the records are those with noisy neighbors.
	side bool
}

// replayRecords goes through the phases along the records, which are those of a log or some of them.
func replayRecords(instr measure.Instructions, records, log []measure.Record) *replay {
	w := &replay{instr: instr, log: log}
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
		p.records = n
		w.parts = append(w.parts, p)
		w.err = ph.measurement.fill(w, p, rest[:n])
		rest = rest[n:]
		// The part that ended the measurement is no result.
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

// open returns the part that needs a trial, and nil when every trial has been made.
func (w *replay) open() *part {
	if n := len(w.parts); n > 0 && !w.parts[n-1].over {
		return w.parts[n-1]
	}
	return nil
}

// find returns the first part of a stage and frame size that has begun, or nil.
func (w *replay) find(stage measure.Stage, size measure.Size) *part {
	for _, p := range w.parts {
		if p.stage() == stage && p.size.Name == size.Name {
			return p
		}
	}
	return nil
}

func (w *replay) trial(size measure.Size, framesPerSecond uint64, nanoseconds int64) measure.Trial {
	return measure.Trial{
		Size: size.Name, FrameBytes: size.FrameBytes, Mix: size.Mix, Packet: size.Packet, IntendedFramesPerSecond: framesPerSecond,
		DurationNanoseconds: nanoseconds, SettleNanoseconds: w.settle(),
	}
}

// completed returns the parts that are over.
func completed(parts []*part) []*part {
	var out []*part
	for _, p := range parts {
		if p.over {
			out = append(out, p)
		}
	}
	return out
}

// reportable returns the parts that are over and have figures.
func reportable(parts []*part) []*part {
	var out []*part
	for _, p := range parts {
		if p.over && !p.skipped {
			out = append(out, p)
		}
	}
	return out
}
