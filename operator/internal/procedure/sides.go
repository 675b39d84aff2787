package procedure

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// A run that compares is measured in two sides, without noisy neighbors and with them. Each side is
// a whole measurement over its own records and the calibration, which both share. So a device that
// changes during one side does not affect the other's rules, and a figure means the same on both
// sides. The sides take turns: each makes one unit of the measurement, or one of the repeats that
// a measurement makes itself, then the other makes the same. The one that was second begins the next
// repeat, so that a testbed that drifts evenly changes both alike: without, with, with, without.
const (
	sideWithout = false
	sideWith    = true
)

// sidesOf returns the sides of a measurement; one that does not compare has one.
func sidesOf(instr measure.Instructions) []bool {
	if instr.Compares() {
		return []bool{sideWithout, sideWith}
	}
	return []bool{instr.HasNeighbors()}
}

// holds reports whether a record is one of a side's, or of the calibration.
func holds(instr measure.Instructions, side bool, r measure.Record) bool {
	return !instr.Compares() || r.Stage.Calibrates() || r.Neighbors == side
}

// first returns the side that makes the next repeat of a part first. Each repeat begins with the side that
// ended the one before. The side that begins a size is random where the order is.
func (w *replay) first(p *part) bool {
	begins := sideWithout
	if seed := w.instr.OrderSeed; seed != 0 {
		size := slices.IndexFunc(w.instr.Sizes, func(s measure.Size) bool { return s.Name == p.size.Name })
		begins = rand.NewPCG(uint64(seed), firstSides+uint64(size+1)).Uint64()&1 == 1
	}
	turn := p.repeat
	if !p.repeats() {
		turn = p.unit + p.turns
	}
	return begins != (turn%2 == 1)
}

// firstSides is the first of the numbers by which the sides that begin are drawn; those of the lists
// that are shuffled are below it.
const firstSides = 1 << 32

// turnOf returns the side that makes the next trial, and nil when every trial has been made.
func turnOf(sides []*replay) *replay {
	var turn *replay
	for _, w := range sides {
		open := w.open()
		if open == nil {
			continue
		}
		if turn == nil {
			turn = w
			continue
		}
		other := turn.open()
		if order := cmp.Or(cmp.Compare(open.unit, other.unit), cmp.Compare(open.turns, other.turns)); order < 0 || order == 0 && w.side == w.first(open) {
			turn = w
		}
	}
	return turn
}

// Next returns what comes after the records in the session of the last of them. A *measure.Failure
// means that the measurement cannot continue; the same records cause it again.
func Next(instr measure.Instructions, records []measure.Record) (Step, error) {
	return NextIn(instr, records, "")
}

// NextIn returns what comes after the records in a session, which is the name of the measurer that
// makes it. A session that has no records yet begins what was under way from its start.
func NextIn(instr measure.Instructions, records []measure.Record, session string) (Step, error) {
	sides, _ := replaySides(instr, records, session)
	for _, w := range sides {
		if w.err != nil {
			return Step{}, w.err
		}
	}
	w := turnOf(sides)
	if w == nil {
		return Step{Done: true}, nil
	}
	step, resumed := w.resume(records, session)
	if !resumed {
		step = w.step()
	}
	step.Neighbors = w.side && step.Path != PathCalibration
	if step.Path != PathCalibration {
		step.Deployment = deploymentOf(instr, records, step.Repeat)
	}
	return step, nil
}

// Progress returns how far the measurement is; if it compares, both sides count alike.
func Progress(instr measure.Instructions, records []measure.Record) measure.Progress {
	sides, _ := replaySides(instr, records, "")
	out := sides[0].progress()
	if len(sides) > 1 {
		out = togetherWith(out, sides)
	}
	out.Trials = len(records)
	return out
}

// togetherWith adds the progress of the second side to that of the first.
func togetherWith(without measure.Progress, sides []*replay) measure.Progress {
	with := sides[1].progress()
	out := measure.Progress{
		Calibrated:       without.Calibrated,
		Percent:          (without.Percent + with.Percent) / 2,
		RemainingSeconds: without.RemainingSeconds + with.RemainingSeconds,
		Stage:            with.Stage,
	}
	switch turn := turnOf(sides); {
	case turn == nil || !out.Calibrated:
	case turn.side == sideWith:
		out.Stage = excerpt.Text(with.Stage+", with neighbors", maxStageBytes)
	default:
		out.Stage = excerpt.Text(without.Stage+", without neighbors", maxStageBytes)
	}
	return out
}

// Results reads the records during the measurement as well as after it, and after a failure: it
// returns what is final, nothing else. With several repeats the figures are those of the repeats
// so far, which their statistics count. Where neighbors are compared, the figures are those with
// them; those without are in the comparison.
func Results(instr measure.Instructions, records []measure.Record) Figures {
	sides, found := replaySides(instr, records, "")
	out := sides[len(sides)-1].results()
	if instr.HasNeighbors() {
		dropped := map[int]bool{}
		mark(dropped, found.dropped)
		kept := slices.DeleteFunc(slices.Clone(records), func(r measure.Record) bool { return dropped[r.Index] })
		out.Neighbors = &v1alpha1.NoisyNeighborsReport{Loads: loads(instr, kept)}
		out.Warnings = append(out.Warnings, warnNeighbors(instr, kept)...)
	}
	if len(sides) > 1 {
		out.compare(sides[0], sides[1])
	}
	if list, warning := sessionsOf(instr, records, sides, found); len(list) > 1 {
		out.Sessions, out.Warnings = list, append([]v1alpha1.Warning{warning}, out.Warnings...)
	}
	return out
}
