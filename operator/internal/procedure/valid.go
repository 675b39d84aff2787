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
func (p *part) once(records []measure.Record) error { return p.times(1, records) }

// times fills a phase of a number of trials.
func (p *part) times(trials int, records []measure.Record) error {
	err := p.take(records)
	p.over = len(p.counted) >= trials
	return err
}

// unreliable ends the measurement after too many invalid trials in a row.
func (p *part) unreliable(inARow int) error {
	if inARow < MaximumInvalidTrials {
		return nil
	}
	last := p.invalid[len(p.invalid)-1]
	if p.size.Name == "" {
		return &measure.Failure{
			Reason: v1alpha1.ReasonGeneratorUnreliable,
			Err: fmt.Errorf("%d trials in a row of stage %q with load %s were invalid, the last because %s",
				inARow, p.stage(), p.load.Name, last.why),
			Remedy: "give the generator dedicated CPUs, or ask for less",
		}
	}
	return &measure.Failure{
		Reason: v1alpha1.ReasonGeneratorUnreliable,
		Err: fmt.Errorf("%d trials in a row of stage %q with %s were invalid, the last because %s",
			inARow, p.stage(), p.size, last.why),
		Remedy: "give the generator dedicated CPUs, or lower maximumFramesPerSecond",
	}
}

// invalidReason returns why a record must not be used, in one clause; "" where it counts, or where
// it was only interrupted.
func invalidReason(r measure.Record) string {
	var why []string
	for _, d := range r.Outcome.Doubts {
		if d.Invalid && !isInterruption(d.Code) && !isExpectedIn(r.Stage, d.Code) {
			why = append(why, because(d))
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

// isExpectedIn reports whether a doubt is a part of what a stage asks, and does not make a trial
// invalid.
func isExpectedIn(stage measure.Stage, code string) bool {
	m := measurementOf(stage)
	return m != nil && m.expects(stage, code)
}

const (
	// maxUnsent is the share of a trial's frames that the generator may leave
	// unsent, in parts per million: the search's tolerance.
	maxUnsent = search.DefaultUnsentTolerance * 1e6
	// provenPercent of a rate that the generator has sent before on this path is within its
	// reach: frames left unsent there do not show its limit.
	provenPercent = 80
	// maxDisturbed is how often in a row a disturbed trial is made again.
	maxDisturbed = 2
)

// fellShort reports whether the generator left more unsent than the search tolerates.
func fellShort(r measure.Record) bool { return r.Outcome.UnsentRatio()*1e6 > maxUnsent }

// disturbed reports whether the generator was slower than before because something took its CPU.
// Such a trial says nothing about the device and little about the generator. It is made again; if
// that does not help, it counts, and the search reports the generator's limit.
func disturbed(r measure.Record, reached float64) bool {
	return fellShort(r) && float64(r.Trial.IntendedFramesPerSecond)*100 <= reached*provenPercent
}

func disturbance(r measure.Record) string {
	return fmt.Sprintf("the generator sent %.0f of %d frames/s, less than before",
		r.Outcome.OfferedFramesPerSecond(), r.Trial.IntendedFramesPerSecond)
}

// nothingReceived reports total loss in every direction.
func nothingReceived(o measure.Outcome) bool {
	for _, d := range o.Directions {
		if d.ReceivedFrames > 0 {
			return false
		}
	}
	return true
}

func (w *replay) chainFailed(size measure.Size, framesPerSecond uint64) error {
	err := fmt.Errorf("no frame of %s came through at %d frames/s", size, framesPerSecond)
	if size.Packet != nil {
		err = fmt.Errorf("none of the %s came through with all its fragments at %d packets/s", size, framesPerSecond)
	}
	return &measure.Failure{
		Reason: v1alpha1.ReasonChainFailed,
		Err:    err,
		Remedy: "look at the logs of the chain's functions",
	}
}
