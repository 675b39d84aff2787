package procedure

import (
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// kind is a measurement that comes behind throughput and latency of a frame
// size. Each has a file of its own.
type kind struct {
	stage measure.Stage
	// noun names it in the progress.
	noun string
	// loads name its phases of a frame size; there are none where it is not asked for.
	loads func(instr measure.Instructions, size measure.Size) []measure.LoadInstruction
	// highest is the highest load that it makes, for the warm-up.
	highest func(w *walk, ph phase) (uint64, error)
	// trials is how many a phase takes where none has to be repeated.
	trials func(w *walk, ph phase) int
	// expected is a phase's time before anything of it is known.
	expected func(w *walk, ph phase) time.Duration
	// fill gives a part its records and decides what it needs next; while it is
	// open, it says in part.left what time it still needs.
	fill func(w *walk, p *part, records []measure.Record) error
	// report adds the figures of a part that is over.
	report func(w *walk, p *part, frame *v1alpha1.FrameResult)
	// warn adds the doubts about a part.
	warn func(w *walk, d *doubtful, p *part)
}

// kinds in the order in which they are measured.
var kinds = []kind{fixedLoadKind, frameLossRateKind, backToBackKind, receiveRateKind, soakKind}

func kindOf(stage measure.Stage) (kind, bool) {
	for _, k := range kinds {
		if k.stage == stage {
			return k, true
		}
	}
	return kind{}, false
}

// furtherPhases are those of every kind for a frame size.
func furtherPhases(instr measure.Instructions, size measure.Size) []phase {
	var out []phase
	for _, k := range kinds {
		for _, load := range k.loads(instr, size) {
			out = append(out, phase{stage: k.stage, size: size, load: load})
		}
	}
	return out
}

// reportFurther adds the figures of every kind, and says whether there were any.
func (w *walk) reportFurther(size measure.Size, frame *v1alpha1.FrameResult) bool {
	found := false
	for _, p := range w.parts {
		k, ok := kindOf(p.stage)
		if !ok || p.size.Name != size.Name || !p.over || p.skipped {
			continue
		}
		k.report(w, p, frame)
		found = true
	}
	return found
}

func (w *walk) warnFurther(d *doubtful, size measure.Size) {
	for _, p := range w.parts {
		if k, ok := kindOf(p.stage); ok && p.size.Name == size.Name && p.over {
			k.warn(w, d, p)
		}
	}
}

// highestFurther is the highest load of every kind.
func (w *walk) highestFurther(size measure.Size) (uint64, error) {
	highest := uint64(0)
	for _, ph := range furtherPhases(w.instr, size) {
		k, _ := kindOf(ph.stage)
		rate, err := k.highest(w, ph)
		if err != nil {
			return 0, err
		}
		highest = max(highest, rate)
	}
	return highest, nil
}

// asked says that one of the kinds has a phase.
func asked(instr measure.Instructions) bool {
	for _, size := range instr.Sizes {
		if len(furtherPhases(instr, size)) > 0 {
			return true
		}
	}
	return false
}

// cost is the expected time of n trials.
func (w *walk) cost(n int, nanoseconds int64) time.Duration {
	return time.Duration(n) * time.Duration(nanoseconds+w.instr.SettleNanoseconds)
}

// take sorts records into those that count and those that do not, and fails
// where too many in a row do not.
func (p *part) take(records []measure.Record) error {
	inARow := 0
	for _, r := range records {
		if objection(r) != "" {
			p.invalid = append(p.invalid, r)
			inARow++
			continue
		}
		p.counted = append(p.counted, r)
		inARow = 0
	}
	return p.unreliable(inARow)
}

// warnUnsent names the worst trial of a part in which frames were left unsent.
func warnUnsent(d *doubtful, p *part, what string) {
	worst, rate := int64(0), uint64(0)
	for _, r := range p.counted {
		for _, o := range r.Outcome.Directions {
			if unsent := lossPartsPerMillion(o.UnsentFrames(), o.IntendedFrames); unsent > worst {
				worst, rate = unsent, r.Trial.IntendedFramesPerSecond
			}
		}
	}
	if worst > mostUnsent {
		d.add(v1alpha1.WarningLoadNotReached, p.size,
			"The generator left %d of each million frames of %s unsent (%d frames/s were intended).", worst, what, rate)
	}
}

// named is a part's noun with its load, for sentences.
func named(noun string, ph phase) string {
	if ph.load.Name == "" {
		return noun
	}
	return fmt.Sprintf("%s %s", noun, ph.load.Name)
}
