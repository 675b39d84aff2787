package procedure

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

// once fills a phase of one trial: the first record that counts ends it.
func (p *part) once(records []measure.Record) error {
	for _, r := range records {
		if objection(r) != "" {
			p.invalid = append(p.invalid, r)
			continue
		}
		p.counted, p.over = append(p.counted, r), true
	}
	if p.over {
		return nil
	}
	return p.unreliable(len(p.invalid))
}

// unreliable ends the measurement after too many invalid trials in a row.
func (p *part) unreliable(inARow int) error {
	if inARow < MaximumInvalidTrials {
		return nil
	}
	last := p.invalid[len(p.invalid)-1]
	if p.frameBytes == 0 {
		return &measure.Failure{
			Reason: v1alpha1.ReasonGeneratorUnreliable,
			Err: fmt.Errorf("%d trials in a row of stage %q with load %s were invalid, the last because %s",
				inARow, p.stage, p.load.Name, objection(last)),
			Remedy: "give the generator dedicated CPUs, or ask for less",
		}
	}
	return &measure.Failure{
		Reason: v1alpha1.ReasonGeneratorUnreliable,
		Err: fmt.Errorf("%d trials in a row of stage %q with %d bytes were invalid, the last because %s",
			inARow, p.stage, p.frameBytes, objection(last)),
		Remedy: "give the generator dedicated CPUs, or lower maximumFramesPerSecond",
	}
}

// objection says why a record must not be used, in one clause; "" where it counts.
func objection(r measure.Record) string {
	var why []string
	for _, d := range r.Outcome.Doubts {
		if d.Invalid && !harmless(r.Stage, d.Code) {
			why = append(why, fmt.Sprintf("%s (%s)", d.Detail, d.Code))
		}
	}
	if len(r.Outcome.Directions) == 0 && r.Outcome.TCP == nil && r.Outcome.Connections == nil {
		why = append(why, "no direction was measured")
	}
	for _, d := range r.Outcome.Directions {
		if d.SentFrames == 0 {
			why = append(why, fmt.Sprintf("direction %s sent nothing", d.Direction))
		}
	}
	return excerpt.Text(strings.Join(why, ", "), maxDetailBytes)
}

// harmless doubts do not forbid a trial's use. A flat-out calibration asks what
// the generator gets through, and its own drops are a part of that answer.
func harmless(stage measure.Stage, code string) bool {
	if stage != measure.StageCalibrateRate {
		return false
	}
	return code == measure.DoubtReceiveDrops || code == measure.DoubtTransmitDrops || code == measure.DoubtUnsent
}

const (
	// mostUnsent is the share of a trial's frames that the generator may leave
	// unsent, in parts per million: the search's tolerance.
	mostUnsent = search.DefaultUnsentTolerance * 1e6
	// provenPercent of a rate that the generator has sent before on this path
	// is within its reach: what it leaves unsent there is no limit of its own.
	provenPercent = 80
	// mostDisturbed is how often in a row a disturbed trial is made again.
	mostDisturbed = 2
)

// behind says that the generator left more unsent than the search tolerates.
func behind(r measure.Record) bool { return r.Outcome.UnsentRatio()*1e6 > mostUnsent }

// disturbed says that the generator fell behind where it was faster before:
// something took its CPU. Such a trial says nothing about the device and little
// about the generator. It is made again; if that does not help, it counts, and
// the search calls it what it then is, the generator's limit.
func disturbed(r measure.Record, reached float64) bool {
	return behind(r) && float64(r.Trial.IntendedFramesPerSecond)*100 <= reached*provenPercent
}

func disturbance(r measure.Record) string {
	return fmt.Sprintf("the generator sent %.0f of %d frames/s, less than before",
		r.Outcome.OfferedFramesPerSecond(), r.Trial.IntendedFramesPerSecond)
}

// nothingReceived is total loss in every direction.
func nothingReceived(o measure.Outcome) bool {
	for _, d := range o.Directions {
		if d.ReceivedFrames > 0 {
			return false
		}
	}
	return true
}

func (w *walk) chainFailed(frameBytes int, framesPerSecond uint64) error {
	err := fmt.Errorf("no frame of %s came through at %d frames/s", size(w.instr, frameBytes), framesPerSecond)
	if w.instr.PacketOf(frameBytes) != nil {
		err = fmt.Errorf("none of the %s came through with all its fragments at %d packets/s", size(w.instr, frameBytes), framesPerSecond)
	}
	return &measure.Failure{
		Reason: v1alpha1.ReasonChainFailed,
		Err:    err,
		Remedy: "look at the logs of the chain's functions",
	}
}
