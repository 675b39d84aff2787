package procedure

import (
	"math"
	"math/bits"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
)

// Figures are the results of the records, in the API's words.
type Figures struct {
	// Frames holds the frame sizes of which something is final: a search that
	// has ended, a latency load that has been measured.
	Frames []v1alpha1.FrameResult
	// TCP is nil before the first trial of TCP connections has ended.
	TCP *v1alpha1.TCPResult `json:",omitempty"`
	// Connections is nil before the first trial of them has ended.
	Connections *v1alpha1.ConnectionsResult `json:",omitempty"`
	// CPU is what the chain used at each figure.
	CPU []v1alpha1.CPUResult `json:",omitempty"`
	// Summary is nil before the first frame size has a figure.
	Summary *v1alpha1.ResultSummary
	// Calibration holds the frame sizes whose calibration is complete.
	Calibration []v1alpha1.CalibrationFrame
	// Warnings are in the order of the instructions, those of the whole run first.
	Warnings []v1alpha1.Warning
	// Neighbors is nil without neighbors, and before something is known of them.
	Neighbors *v1alpha1.NoisyNeighborsReport `json:",omitempty"`
	// Sessions are those of the measurement, nil where it has one.
	Sessions []v1alpha1.Session `json:",omitempty"`
}

// results returns the figures of one side, with its warnings.
func (w *replay) results() Figures {
	w.declared()
	out := w.figures()
	out.Warnings = w.warnings()
	return out
}

// figures returns the figures of the parts.
func (w *replay) figures() Figures {
	var out Figures
	for _, m := range registry {
		m.reportRun(w, &out)
	}
	for _, size := range w.instr.Sizes {
		frame := v1alpha1.FrameResult{
			Size:       size.Name,
			FrameBytes: int32(size.FrameBytes),
			Mix:        mixName(size),
			Packet:     packetResult(size.Packet),
		}
		found := false
		for _, m := range registry {
			found = m.report(w, reportable(w.all(m.stage(), size)), &frame) || found
		}
		if found {
			out.Frames = append(out.Frames, frame)
		}
	}
	out.CPU = w.cpu(out.Frames)
	out.Summary = summary(w.instr, out.Frames)
	return out
}

func mixName(size measure.Size) string {
	if size.Mix == nil {
		return ""
	}
	return size.Name
}

func packetResult(packet *measure.Packet) *v1alpha1.PacketResult {
	if packet == nil {
		return nil
	}
	return &v1alpha1.PacketResult{PayloadBytes: int32(packet.PayloadBytes), Fragments: int32(packet.FragmentCount())}
}

// fragmentsPerSecond returns a rate of packets in frames, and nil where frames are whole.
func fragmentsPerSecond(packetsPerSecond int64, size measure.Size) *int64 {
	if size.Packet == nil {
		return nil
	}
	return new(packetsPerSecond * int64(size.Packet.FragmentCount()))
}

func (w *replay) calibration() []v1alpha1.CalibrationFrame {
	var out []v1alpha1.CalibrationFrame
	for _, size := range w.instr.Sizes {
		rate, ok := w.reached(size)
		bias, known := w.latencyBias(size)
		if !ok || !known {
			continue
		}
		frame := v1alpha1.CalibrationFrame{
			Size:                   size.Name,
			MaximumFramesPerSecond: signed(rate.highest),
			LatencyBiasNanoseconds: bias.P50Nanoseconds, LowestLatencyBiasNanoseconds: bias.LowestP50Nanoseconds,
			HighestLatencyBiasNanoseconds: bias.HighestP50Nanoseconds,
		}
		if w.instr.CalibrationTrials > 1 {
			frame.LowestFramesPerSecond = new(signed(rate.lowest))
		}
		if again, ok := w.reachedAgain(size); ok {
			frame.FinalFramesPerSecond = new(signed(again))
		}
		out = append(out, frame)
	}
	return out
}

// throughputResults combines the results of the repeats that have ended.
func (w *replay) throughputResults(size measure.Size) []v1alpha1.ThroughputResult {
	var out []v1alpha1.ThroughputResult
	for _, p := range w.all(measure.StageThroughput, size) {
		if p.over {
			out = append(out, w.searchResults(p)...)
		}
	}
	return w.combineThroughput(out, size)
}

// searchResults returns the results of one search.
func (w *replay) searchResults(p *part) []v1alpha1.ThroughputResult {
	size := p.size
	var out []v1alpha1.ThroughputResult
	for _, r := range p.results {
		rate := wholeFrames(r.ConditionalThroughputFramesPerSecond)
		result := v1alpha1.ThroughputResult{
			Goal:                      r.Goal,
			Regularity:                v1alpha1.Irregular,
			FramesPerSecond:           signed(rate),
			FragmentsPerSecond:        fragmentsPerSecond(signed(rate), size),
			Layer1BitsPerSecond:       int64(w.instr.Layer1BitsPerSecond(float64(rate), size)),
			LineRatePartsPerMillion:   signed(share(rate, lineRate(w.instr, size))),
			LowerBoundFramesPerSecond: signed(r.LowerBoundFramesPerSecond),
			UpperBoundCause:           w.cause(p, r),
			LossPartsPerMillion:       p.lossAt(r.LowerBoundFramesPerSecond, measure.Outcome.LostOverTime),
			Trials:                    int32(len(p.history)),
			PeakFramesPerSecond:       max(peakOf(p.atLoad(r.LowerBoundFramesPerSecond)), peakOf(p.atLoad(r.UpperBoundFramesPerSecond))),
			LowerBoundLateness:        latenessOf(p.atLoad(r.LowerBoundFramesPerSecond)...),
			UpperBoundLateness:        latenessOf(p.atLoad(r.UpperBoundFramesPerSecond)...),
			Doubts:                    w.throughputDoubts(p, r),
		}
		if r.Regular {
			result.Regularity = v1alpha1.Regular
		}
		if r.UpperBoundFramesPerSecond > 0 {
			upper := signed(r.UpperBoundFramesPerSecond)
			result.UpperBoundFramesPerSecond = &upper
		}
		if r.LossInversionFramesPerSecond > 0 {
			result.LossInversionFramesPerSecond = new(signed(r.LossInversionFramesPerSecond))
		}
		out = append(out, result)
	}
	return out
}

// lossAt returns what was lost of all frames sent at a load, in the worse direction.
func (p *part) lossAt(load uint64, lost func(measure.Outcome, measure.DirectionOutcome) uint64) int64 {
	type count struct{ sent, lost uint64 }
	counts := map[measure.Direction]count{}
	for _, r := range p.counted {
		if r.Trial.IntendedFramesPerSecond != load {
			continue
		}
		for _, d := range r.Outcome.Directions {
			c := counts[d.Direction]
			counts[d.Direction] = count{sent: c.sent + d.SentFrames, lost: c.lost + lost(r.Outcome, d)}
		}
	}
	worst := int64(0)
	for _, c := range counts {
		worst = max(worst, lossPartsPerMillion(c.lost, c.sent))
	}
	return worst
}

// peakOf returns the largest rate of departures over a millisecond in any direction.
func peakOf(records []measure.Record) (most int64) {
	for _, r := range records {
		for _, d := range r.Outcome.Directions {
			most = max(most, signed(1000*d.MostInMillisecond))
		}
	}
	return most
}

func directionResult(d measure.DirectionOutcome) v1alpha1.DirectionResult {
	var first *int64
	if d.FirstFrameNanoseconds > 0 {
		delay := signed(d.FirstFrameNanoseconds)
		first = &delay
	}
	return v1alpha1.DirectionResult{
		SentFragments:                       fragments(d.SentFragments, d),
		ReceivedFragments:                   fragments(d.ReceivedFragments, d),
		Direction:                           string(d.Direction),
		SentFrames:                          signed(d.SentFrames),
		ReceivedFrames:                      signed(d.ReceivedFrames),
		OverflowFrames:                      signed(d.OverflowFrames),
		PeakFramesPerSecond:                 signed(1000 * d.MostInMillisecond),
		RefusedFrames:                       signed(d.RefusedFrames),
		LossPartsPerMillion:                 lossPartsPerMillion(d.LostFrames(), d.SentFrames),
		ReorderedFrames:                     signed(d.ReorderedFrames),
		DuplicateFrames:                     signed(d.DuplicateFrames),
		SequencedFrames:                     knownSigned(d.SequencedFrames),
		FirstFrameNanoseconds:               first,
		Latency:                             delays(d.Latency),
		LatencyOfSent:                       ofSent(d),
		Lateness:                            quantiles(d, d.Lateness),
		DelaySinceDeparture:                 quantiles(d, d.DelaySinceDeparture),
		DelayVariation:                      delays(d.DelayVariation),
		PacketDelayVariationP99Nanoseconds:  signed(d.PacketDelayVariationP99()),
		PacketDelayVariationP999Nanoseconds: knownSigned(d.PacketDelayVariationP999()),
		Jitter:                              jitter(d.Jitter),
	}
}

// ofSent leaves out the percentiles that lost frames take, and a p99.9 of too few frames.
func ofSent(d measure.DirectionOutcome) *v1alpha1.SentDelays {
	s := d.LatencyOfSent
	if s == nil {
		return nil
	}
	known := func(nanoseconds uint64) *int64 {
		if nanoseconds == 0 {
			return nil
		}
		return new(signed(nanoseconds))
	}
	out := &v1alpha1.SentDelays{P99Nanoseconds: known(s.P99Nanoseconds)}
	if d.Latency.P999() != nil {
		out.P999Nanoseconds = known(s.P999Nanoseconds)
	}
	return out
}

func jitter(j *measure.Jitter) *v1alpha1.Jitter {
	if j == nil {
		return nil
	}
	return &v1alpha1.Jitter{
		MeanNanoseconds: signed(j.MeanNanoseconds), P99Nanoseconds: signed(j.P99Nanoseconds), MaxNanoseconds: signed(j.MaxNanoseconds),
	}
}

// fragments returns nil where frames are whole.
func fragments(n uint64, d measure.DirectionOutcome) *int64 {
	if d.SentFragments == 0 {
		return nil
	}
	return new(signed(n))
}

// quantiles returns nil where the driver does not separate the wait from the device's share: a frame
// that left takes time to arrive.
func quantiles(d measure.DirectionOutcome, q measure.DelayQuantiles) *v1alpha1.DelayQuantiles {
	if d.DelaySinceDeparture.MaxNanoseconds == 0 {
		return nil
	}
	return &v1alpha1.DelayQuantiles{
		P50Nanoseconds: signed(q.P50Nanoseconds), P99Nanoseconds: signed(q.P99Nanoseconds), MaxNanoseconds: signed(q.MaxNanoseconds),
	}
}

func delays(d measure.Delays) v1alpha1.Delays {
	return v1alpha1.Delays{
		Samples:          signed(d.Samples),
		MinNanoseconds:   signed(d.MinNanoseconds),
		MeanNanoseconds:  signed(d.MeanNanoseconds),
		P50Nanoseconds:   signed(d.P50Nanoseconds),
		P90Nanoseconds:   signed(d.P90Nanoseconds),
		P99Nanoseconds:   signed(d.P99Nanoseconds),
		P999Nanoseconds:  knownSigned(d.P999()),
		P9999Nanoseconds: knownSigned(d.P9999()),
		MaxNanoseconds:   signed(d.MaxNanoseconds),
	}
}

// summary returns the first frame size's first goal and last latency load.
func summary(instr measure.Instructions, frames []v1alpha1.FrameResult) *v1alpha1.ResultSummary {
	if len(frames) == 0 || frames[0].Size != instr.Sizes[0].Name {
		return nil
	}
	first := frames[0]
	figures := figure.Results{Frames: frames[:1]}.Figures()
	out := &v1alpha1.ResultSummary{Size: first.Size}
	if len(first.Throughput) > 0 {
		rate := first.Throughput[0].FramesPerSecond
		out.Goal, out.FramesPerSecond = first.Throughput[0].Goal, &rate
		out.RateNote = figure.NoteOf(figures, v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Size: first.Size, Goal: out.Goal})
	}
	if instr.Latency == nil || len(first.Latency) == 0 {
		return out
	}
	// The last of the loads asked for: nothing replaces one that was left out.
	name := instr.Latency.Loads[len(instr.Latency.Loads)-1].Name
	at := slices.IndexFunc(first.Latency, func(l v1alpha1.LatencyResult) bool { return l.Load == name })
	if at < 0 {
		return out
	}
	last, worst := first.Latency[at], int64(0)
	for _, d := range last.Directions {
		worst = max(worst, d.Latency.P99Nanoseconds)
	}
	out.Load, out.P99Nanoseconds = last.Load, &worst
	out.P99Note = figure.NoteOf(figures, v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Size: first.Size, Load: last.Load})
	return out
}

// lossPartsPerMillion rounds up: a trial that lost a frame never shows 0.
func lossPartsPerMillion(lost, sent uint64) int64 {
	if sent == 0 || lost == 0 {
		return 0
	}
	hi, lo := bits.Mul64(min(lost, sent), 1_000_000)
	quotient, remainder := bits.Div64(hi, lo, sent)
	if remainder > 0 {
		quotient++
	}
	return int64(quotient)
}

// share returns part of whole in parts per million, rounded down.
func share(part, whole uint64) uint64 {
	if whole == 0 {
		return 0
	}
	hi, lo := bits.Mul64(min(part, whole), 1_000_000)
	quotient, _ := bits.Div64(hi, lo, whole)
	return quotient
}

func signed(v uint64) int64 { return int64(min(v, math.MaxInt64)) }

// knownSigned returns nil for a value that is not known.
func knownSigned(v *uint64) *int64 {
	if v == nil {
		return nil
	}
	return new(signed(*v))
}
