package procedure

import (
	"math/bits"
	"time"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// oneWayBudget is the one-way delay up to which ITU-T G.114 expects most applications, including
// speech, not to suffer.
const oneWayBudget = 150 * time.Millisecond

const (
	// stageFixedLoad is a repeat at a profile's load.
	stageFixedLoad measure.Stage = "FixedLoad"
	// stageDiscard is the time at a load before the trial that counts.
	stageDiscard measure.Stage = "Discard"
)

// fixedLoadOf holds a profile's load for a stated time. Before each repeat is a trial at the same
// load that does not count.
type fixedLoadOf struct{ timed }

var fixedLoadMeasurement = fixedLoadOf{timed{base{name: stageFixedLoad, noun: "fixed load"}}}

func (fixedLoadOf) distributions() bool { return true }

func (fixedLoadOf) series(instr measure.Instructions) (int, time.Duration) {
	if f := instr.FixedLoad; f != nil {
		return int(f.Repeats), time.Duration(seconds(f.DurationSeconds))
	}
	return 0, 0
}

// recordBytes returns the mean of a repeat's and of that of the discarded time before it.
func (fixedLoadOf) recordBytes(instr measure.Instructions) int {
	if f := instr.FixedLoad; f != nil && discarded(f) > 0 {
		return (recordBytes + countsBytes) / 2
	}
	return recordBytes
}

func (fixedLoadOf) owns(stage measure.Stage) bool {
	return stage == stageFixedLoad || stage == stageDiscard
}

func (fixedLoadOf) phases(instr measure.Instructions, size measure.Size) []phase {
	if instr.FixedLoad == nil {
		return nil
	}
	var out []phase
	for _, profile := range instr.FixedLoad.Profiles {
		if profile.Size == size.Name {
			out = append(out, phase{load: v1alpha1.LatencyLoad{Name: profile.Name, FramesPerSecond: new(int64(instr.ProfileRate(profile, size)))}})
		}
	}
	return out
}

func (fixedLoadOf) highest(w *replay, ph phase) (uint64, error) {
	return w.instr.Rate(ph.load, ph.size), nil
}

func (fixedLoadOf) trials(w *replay, _ phase) int {
	if discarded(w.instr.FixedLoad) > 0 {
		return 2 * int(w.instr.FixedLoad.Repeats)
	}
	return int(w.instr.FixedLoad.Repeats)
}

func (fixedLoadOf) expected(w *replay, _ phase) time.Duration {
	return w.fixedLoadTime(int(w.instr.FixedLoad.Repeats))
}

func (fixedLoadOf) cpuGroups(p *part) []cpuGroup {
	return []cpuGroup{{atLoad(p.load.Name), p.counted}}
}

func (fixedLoadOf) warn(w *replay, d *warningList, _ measure.Size, parts []*part) {
	for _, p := range completed(parts) {
		warnUnsent(d, p, named("fixed load", p.phase))
		warnGrowing(d, p, named("fixed load", p.phase))
		w.warnLowest(d, p)
	}
}

// discarded returns the time before each repeat that does not count, in nanoseconds.
func discarded(f *v1alpha1.FixedLoad) int64 { return seconds(ptr.Deref(f.DiscardSeconds, 0)) }

// fixedLoadTime returns the time of a number of repeats.
func (w *replay) fixedLoadTime(repeats int) time.Duration {
	f := w.instr.FixedLoad
	return time.Duration(repeats) * (w.cost(1, seconds(f.DurationSeconds)) + w.discardTime())
}

// discardTime returns the time before each repeat.
func (w *replay) discardTime() time.Duration {
	if discard := discarded(w.instr.FixedLoad); discard > 0 {
		return w.cost(1, discard)
	}
	return 0
}

// fill asks for the discarded time before each repeat. An invalid repeat is made again
// at once, as the load was on the device just before.
func (fixedLoadOf) fill(w *replay, p *part, records []measure.Record) error {
	f, rate := w.instr.FixedLoad, w.instr.Rate(p.load, p.size)
	var repeats []measure.Record
	warm := false
	for _, r := range records {
		if r.Stage == stageDiscard {
			warm = true
			continue
		}
		repeats = append(repeats, r)
		warm = warm && invalidReason(r) != ""
	}
	p.next = w.trial(p.size, rate, seconds(f.DurationSeconds))
	if err := w.takeProlonged(p, repeats, int(f.Repeats), w.discardTime()); err != nil {
		return err
	}
	if last := p.last(); last != nil && nothingReceived(last.Outcome) {
		return w.chainFailed(p.size, rate)
	}
	p.turns = len(p.counted)
	p.over = p.turns >= int(f.Repeats)
	left := int(f.Repeats) - p.turns
	p.left = w.fixedLoadTime(left) + time.Duration(left)*(p.next.Duration()-time.Duration(seconds(f.DurationSeconds)))
	if discarded(f) > 0 && !warm {
		p.nextStage = stageDiscard
		p.next.DurationNanoseconds = discarded(f)
	}
	return nil
}

func (fixedLoadOf) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	for _, p := range parts {
		result := p.fixedLoadResult()
		result.Bias = w.biasAt(p.size, result.IntendedFramesPerSecond, p)
		frame.FixedLoad = append(frame.FixedLoad, result)
	}
	return len(parts) > 0
}

// fixedLoadResult returns the figures of a profile.
func (p *part) fixedLoadResult() v1alpha1.FixedLoadResult {
	result := v1alpha1.FixedLoadResult{
		Profile: p.load.Name, IntendedFramesPerSecond: *p.load.FramesPerSecond,
		Doubts: loadDoubtsOf(p.counted), AwayPartsPerMillion: awayOf(p.counted),
	}
	for i, r := range p.counted {
		repeat := v1alpha1.RepeatResult{Repeat: int32(i + 1), TrialMilliseconds: r.Trial.Duration().Milliseconds()}
		for _, d := range r.Outcome.Directions {
			figures := directionResult(d)
			repeat.Directions = append(repeat.Directions, figures)
			worsen(&result.Worst, figures)
		}
		result.Repeats = append(result.Repeats, repeat)
	}
	return result
}

// worsen keeps the larger of each figure.
func worsen(worst *v1alpha1.WorstCase, d v1alpha1.DirectionResult) {
	worst.LossPartsPerMillion = max(worst.LossPartsPerMillion, d.LossPartsPerMillion)
	worst.LatencyMeanNanoseconds = max(worst.LatencyMeanNanoseconds, d.Latency.MeanNanoseconds)
	worst.LatencyP99Nanoseconds = max(worst.LatencyP99Nanoseconds, d.Latency.P99Nanoseconds)
	worst.LatencyMaxNanoseconds = max(worst.LatencyMaxNanoseconds, d.Latency.MaxNanoseconds)
	if largest := worst.DelayVariationMaxNanoseconds; d.DelayVariation.Samples > 0 && (largest == nil || *largest < d.DelayVariation.MaxNanoseconds) {
		worst.DelayVariationMaxNanoseconds = new(d.DelayVariation.MaxNanoseconds)
	}
	worst.JitterP99Nanoseconds = worseJitter(worst.JitterP99Nanoseconds, d.Jitter)
	worst.OneWayBudgetPartsPerMillion = oneWayShare(worst.LatencyMaxNanoseconds)
}

// worseJitter returns the larger p99, nil where neither is known.
func worseJitter(worst *int64, j *v1alpha1.Jitter) *int64 {
	if j == nil || worst != nil && *worst >= j.P99Nanoseconds {
		return worst
	}
	return new(j.P99Nanoseconds)
}

// oneWayShare returns a delay's share of the one-way budget in parts per million, rounded up.
func oneWayShare(nanoseconds int64) int64 {
	hi, lo := bits.Mul64(uint64(max(0, nanoseconds)), 1_000_000)
	quotient, remainder := bits.Div64(hi, lo, uint64(oneWayBudget))
	if remainder > 0 {
		quotient++
	}
	return signed(quotient)
}
