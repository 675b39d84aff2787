package report

import (
	"fmt"
	"strconv"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
)

func throughputSection(doc Document, l letters) section {
	s := section{title: "Throughput", columns: []column{
		number("Size"), left("Goal"), number("kfps"), number("Mbit/s layer 1"), number("% of line"),
		number("Lower kfps"), number("Upper kfps"), number("Loss ppm"), number("Trials"), left("Search"), left("Why not higher"),
	}}
	allowed := map[string]int32{}
	if t := doc.Experiment.Measurements.Throughput; t != nil {
		for _, goal := range t.Goals {
			allowed[goal.Name] = goal.LossPartsPerMillion
		}
	}
	for _, frame := range doc.Results {
		for _, t := range frame.Throughput {
			rate, upper := kiloFrames(t.FramesPerSecond), none
			if figure.ThroughputBound(t) == figure.AtLeast {
				rate = l.atLeast + rate
			}
			if t.UpperBoundFramesPerSecond != nil {
				upper = kiloFrames(*t.UpperBoundFramesPerSecond)
			}
			s.rows = append(s.rows, []string{
				frameName(frame), t.Goal, rate, megabits(t.Layer1BitsPerSecond), percent(t.LineRatePartsPerMillion),
				kiloFrames(t.LowerBoundFramesPerSecond), upper, count(t.LossPartsPerMillion), count(t.Trials),
				string(t.Regularity), whyNotHigher(t, allowed[t.Goal]),
			})
		}
	}
	return s
}

func whyNotHigher(t v1alpha1.ThroughputResult, allowedPartsPerMillion int32) string {
	switch t.UpperBoundCause {
	case v1alpha1.CauseDeviceLoss:
		if allowedPartsPerMillion == 0 {
			return "the device lost frames"
		}
		return fmt.Sprintf("the device lost more than %d ppm", allowedPartsPerMillion)
	case v1alpha1.CauseGeneratorCeiling:
		return "the generator was the limit; the device may do better"
	case v1alpha1.CauseMaximumLoad:
		return "the highest load tried was still good"
	}
	return "the search ended before it found the reason"
}

// serviceTimeSection shows what the device takes of the core that it shares with the generator.
func serviceTimeSection(doc Document) section {
	s := section{title: "The device's time for a frame", columns: []column{
		number("Size"), left("Goal"), number("ns"), number("at least"), number("at most"), number("The generator's ns"),
	}}
	for _, frame := range doc.Results {
		for _, t := range frame.Throughput {
			if at := t.ServiceTime; at != nil {
				s.rows = append(s.rows, []string{frameName(frame), t.Goal, count(at.Nanoseconds), count(at.LowNanoseconds), count(at.HighNanoseconds), count(at.GeneratorNanoseconds)})
			}
		}
	}
	if len(s.rows) > 0 {
		s.notes = []string{"The device works on the core that sends. Its time is the core's at the limit, less what the generator needs without a device. The throughput is what both reach on one core."}
	}
	return s
}

// waitSection shows which part of a delay was before the departure, and which is the device's.
func waitSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "Wait before the departure, and delay since", columns: []column{
		number("Size"), left("Load"), left("Direction"), number("Wait p50" + unit), number("p99" + unit), number("max" + unit),
		number("Since p50" + unit), number("p99" + unit), number("max" + unit), number("Peak k frames/s"), number("Found the ring full"), number("Refused by the port"),
	}}
	row := func(frame v1alpha1.FrameResult, load string, d v1alpha1.DirectionResult) {
		wait, since := d.Lateness, d.DelaySinceDeparture
		if wait == nil || since == nil {
			return
		}
		cells := []string{frameName(frame), load, d.Direction}
		cells = append(cells, figures(d.Latency.Samples, wait.P50Nanoseconds, wait.P99Nanoseconds, wait.MaxNanoseconds,
			since.P50Nanoseconds, since.P99Nanoseconds, since.MaxNanoseconds)...)
		s.rows = append(s.rows, append(cells, kiloFrames(d.PeakFramesPerSecond), count(d.OverflowFrames), count(d.RefusedFrames)))
	}
	eachDirection(doc, func(frame v1alpha1.FrameResult, load v1alpha1.LatencyResult, d v1alpha1.LatencyDirectionResult) {
		row(frame, load.Load, d.DirectionResult)
	})
	for _, frame := range doc.Results {
		for _, f := range frame.FixedLoad {
			for _, repeat := range f.Repeats {
				for _, d := range repeat.Directions {
					row(frame, fmt.Sprintf("%s, repeat %d", f.Profile, repeat.Repeat), d)
				}
			}
		}
	}
	if len(s.rows) > 0 {
		s.notes = []string{"The delay of a frame in the other tables is the sum of both: it begins when the frame is due. The wait is in the generator's receive ring, while the device or the generator uses the core that sends. The peak is the largest rate of departures over a millisecond."}
	}
	return s
}

// packetSection shows the frames on the wire of packets in fragments.
func packetSection(doc Document) section {
	s := section{title: "Packets in fragments", columns: []column{
		number("Size"), number("UDP payload bytes"), number("Fragments"), left("Of"), left("Direction"), number("k packets/s"), number("k fragments/s"),
		number("Packets sent"), number("Packets received"), number("Fragments sent"), number("Fragments received"),
	}}
	for _, frame := range doc.Results {
		p := frame.Packet
		if p == nil {
			continue
		}
		row := func(of, direction string, rate int64, counts ...string) {
			cells := []string{frameName(frame), count(p.PayloadBytes), count(p.Fragments), of, direction, kiloFrames(rate), kiloFrames(rate * int64(p.Fragments))}
			s.rows = append(s.rows, append(cells, counts...))
		}
		for _, t := range frame.Throughput {
			row("throughput "+t.Goal, none, t.FramesPerSecond, none, none, none, none)
		}
		for _, load := range frame.Latency {
			for _, d := range load.Directions {
				row("load "+load.Load, d.Direction, load.IntendedFramesPerSecond, count(d.SentFrames), count(d.ReceivedFrames), orNothing(d.SentFragments), orNothing(d.ReceivedFragments))
			}
		}
	}
	if len(s.rows) > 0 {
		s.notes = []string{"A packet is received when all of its fragments are. In every other table, frames of these entries are whole packets."}
	}
	return s
}

func orNothing(n *int64) string {
	if n == nil {
		return none
	}
	return count(*n)
}

func latencySection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "One-way latency", columns: []column{
		number("Size"), left("Load"), number("kfps"), number("Trial s"), left(shareOf), left("Direction"), number("min" + unit), number("mean" + unit),
		number("p50" + unit), number("p99" + unit), number("p99.9" + unit), number("max" + unit), number(biasOf + unit),
	}}
	few := false
	eachDirection(doc, func(frame v1alpha1.FrameResult, load v1alpha1.LatencyResult, d v1alpha1.LatencyDirectionResult) {
		delays := d.Latency
		row := []string{frameName(frame), load.Load, kiloFrames(load.IntendedFramesPerSecond), trialTimes(load), shareInWords(load.Share, l), d.Direction}
		row = append(row, figures(delays.Samples, delays.MinNanoseconds, delays.MeanNanoseconds, delays.P50Nanoseconds, delays.P99Nanoseconds)...)
		row = append(row, known(delays.P999Nanoseconds, microseconds))
		row = append(row, figures(delays.Samples, delays.MaxNanoseconds)...)
		s.rows = append(s.rows, append(row, withoutDevice(load.Bias)))
		few = few || delays.Samples > 0 && delays.P999Nanoseconds == nil
	})
	if few {
		s.notes = []string{fmt.Sprintf("p99.9 needs %s timed frames in each trial; there is none where fewer arrived.", figure.Thousands(measure.MinP999Samples))}
	}
	if len(s.rows) == 0 {
		return s
	}
	return dropIfEmpty(dropIfEmpty(s, shareOf), biasOf+unit)
}

// trialTimes returns the time of the trials in seconds, such as "5", or "5 to 20" where it differs.
func trialTimes(load v1alpha1.LatencyResult) string {
	text := trialTime(load.TrialMilliseconds)
	if shortest := load.ShortestTrialMilliseconds; shortest != nil {
		text = trialTime(*shortest) + " to " + text
	}
	return text
}

func trialTime(milliseconds int64) string {
	return strconv.FormatFloat(float64(milliseconds)/1e3, 'f', -1, 64)
}

// biasOf is the head of the column with the median delay without a device at the same load.
const biasOf = "No device p50"

// withoutDevice returns a bias as it is in the tables.
func withoutDevice(bias *v1alpha1.LatencyBias) string {
	if bias == nil {
		return none
	}
	return withSpread(bias.P50Nanoseconds, bias.LowestP50Nanoseconds, bias.HighestP50Nanoseconds)
}

// withSpread returns a delay in microseconds, with the lowest and the highest that were measured where they differ.
func withSpread(nanoseconds int64, lowest, highest *int64) string {
	text := microseconds(nanoseconds)
	if lowest == nil || highest == nil || *lowest == *highest {
		return text
	}
	return fmt.Sprintf("%s (%s to %s)", text, microseconds(*lowest), microseconds(*highest))
}

// shareOf is the head of the column that says which throughput a load is a share of.
const shareOf = "Share of"

// shareInWords returns a share such as "50 % of PDR, ≥ 126.404 kfps", or nothing for a load that
// was given as a rate.
func shareInWords(share *v1alpha1.LoadShare, l letters) string {
	if share == nil {
		return none
	}
	rate := kiloFrames(share.ThroughputFramesPerSecond)
	if figure.IsFloorCause(share.UpperBoundCause) {
		rate = l.atLeast + rate
	}
	words := fmt.Sprintf("%d %% of %s, %s kfps", share.Percent, share.Goal, rate)
	if share.Regularity == v1alpha1.Irregular && !figure.IsFloorCause(share.UpperBoundCause) {
		words += " (irregular)"
	}
	return words
}

func taggedSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "One-way latency of tagged frames (RFC 2544 section 26.2)", columns: []column{
		number("Size"), left("Load"), left("Direction"), number("Sent"), number("Received"), number("min" + unit), number("mean" + unit),
		number("max" + unit), number("Std dev" + unit),
	}}
	eachDirection(doc, func(frame v1alpha1.FrameResult, load v1alpha1.LatencyResult, d v1alpha1.LatencyDirectionResult) {
		t := d.TaggedFrames
		if t == nil {
			return
		}
		row := []string{frameName(frame), load.Load, d.Direction, count(t.SentFrames), count(t.ReceivedFrames)}
		s.rows = append(s.rows, append(row, figures(t.ReceivedFrames, t.MinNanoseconds, t.MeanNanoseconds, t.MaxNanoseconds, t.StandardDeviationNanoseconds)...))
	})
	return s
}

func variationSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "Delay variation and loss", columns: []column{
		number("Size"), left("Load"), left("Direction"), number("Jitter mean" + unit), number("Jitter p99" + unit), number("Jitter max" + unit),
		number("IPDV p99" + unit), number("PDV p99" + unit), number("PDV p99.9" + unit), number("Sent"), number("Received"), number("Loss ppm"),
		number("p99 of sent" + unit), number("Reordered"), number("Duplicate"),
	}}
	eachDirection(doc, func(frame v1alpha1.FrameResult, load v1alpha1.LatencyResult, d v1alpha1.LatencyDirectionResult) {
		row := []string{frameName(frame), load.Load, d.Direction}
		row = append(row, jitter(d.DirectionResult)...)
		row = append(row, figures(d.DelayVariation.Samples, d.DelayVariation.P99Nanoseconds)...)
		row = append(row, figures(d.Latency.Samples, d.PacketDelayVariationP99Nanoseconds)...)
		row = append(row, known(d.PacketDelayVariationP999Nanoseconds, microseconds))
		loss := none
		if d.SentFrames > 0 {
			loss = count(d.LossPartsPerMillion)
		}
		s.rows = append(s.rows, append(row, count(d.SentFrames), count(d.ReceivedFrames), loss,
			p99OfSent(d.DirectionResult), ofSequenced(d.ReorderedFrames, d.DirectionResult), ofSequenced(d.DuplicateFrames, d.DirectionResult)))
	})
	return s
}

// firstFrameSection compares the first frame of each trial with the later ones.
// The warm-up's has no median, because the warm-up has another load.
func firstFrameSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "First frame", columns: []column{
		number("Size"), left("Trial"), left("Direction"), number("First" + unit), number("Median" + unit), number("First / median"),
	}}
	for _, frame := range doc.Results {
		for _, first := range frame.FirstFrame {
			s.rows = append(s.rows, []string{frameName(frame), "warm-up", first.Direction,
				microseconds(first.DelayNanoseconds), none, none})
		}
		for _, load := range frame.Latency {
			for _, d := range load.Directions {
				if d.FirstFrameNanoseconds == nil {
					continue
				}
				s.rows = append(s.rows, []string{frameName(frame), load.Load, d.Direction,
					microseconds(*d.FirstFrameNanoseconds), microseconds(d.Latency.P50Nanoseconds),
					ratio(*d.FirstFrameNanoseconds, d.Latency.P50Nanoseconds)})
			}
		}
	}
	return s
}

// figures returns microseconds, or nothing where no frame arrived.
func figures(samples int64, nanoseconds ...int64) []string {
	cells := make([]string, len(nanoseconds))
	for i, n := range nanoseconds {
		cells[i] = none
		if samples > 0 {
			cells[i] = microseconds(n)
		}
	}
	return cells
}

// p99OfSent returns nothing where lost frames take the percentile.
func p99OfSent(d v1alpha1.DirectionResult) string {
	if d.LatencyOfSent == nil {
		return figures(d.Latency.Samples, d.Latency.P99Nanoseconds)[0]
	}
	return known(d.LatencyOfSent.P99Nanoseconds, microseconds)
}

// ofSequenced returns a number of frames, and of how many where the generator looked at a part of them.
func ofSequenced(frames int64, d v1alpha1.DirectionResult) string {
	if d.SequencedFrames == nil {
		return count(frames)
	}
	return fmt.Sprintf("%d of %d", frames, *d.SequencedFrames)
}

// jitter returns the mean, the p99 and the maximum.
func jitter(d v1alpha1.DirectionResult) []string {
	if d.Jitter == nil {
		return []string{none, none, none}
	}
	return []string{microseconds(d.Jitter.MeanNanoseconds), microseconds(d.Jitter.P99Nanoseconds), microseconds(d.Jitter.MaxNanoseconds)}
}

func eachDirection(doc Document, visit func(v1alpha1.FrameResult, v1alpha1.LatencyResult, v1alpha1.LatencyDirectionResult)) {
	for _, frame := range doc.Results {
		for _, load := range frame.Latency {
			for _, direction := range load.Directions {
				visit(frame, load, direction)
			}
		}
	}
}

func trialSection(doc Document, l letters) section {
	s := section{title: "Trials", columns: []column{
		number("Trial"), left("Stage"), left("Load"), number("Size"), number("Intended kfps"), number("Offered kfps"),
		number("Forwarded kfps"), number("Sending s"), number("Loss ppm"), number("p99 " + l.micro + "s"), left("Valid"), left("Doubts"),
	}}
	for _, r := range doc.Trials {
		if r.Outcome.TCP != nil || r.Outcome.Connections != nil {
			s.rows = append(s.rows, []string{
				count(r.Index), string(r.Stage), orNone(r.Load), none, none, none, none,
				seconds(r.Outcome.SendingNanoseconds), none, none, yesOrNo(r.Outcome.Valid()), orNone(doubtCodes(r.Outcome)),
			})
			continue
		}
		s.rows = append(s.rows, []string{
			count(r.Index), string(r.Stage), orNone(r.Load), sentName(r.Trial), kiloFrames(int64(r.Trial.IntendedFramesPerSecond)),
			kiloFrames(int64(r.Outcome.OfferedFramesPerSecond())), kiloFrames(int64(r.Outcome.ForwardingFramesPerSecond())),
			seconds(r.Outcome.SendingNanoseconds), count(lossPartsPerMillion(r.Outcome)), worstP99(r.Outcome),
			yesOrNo(r.Outcome.Valid()), orNone(doubtCodes(r.Outcome)),
		})
	}
	return s
}

// worstP99 returns that of the slower direction.
func worstP99(o measure.Outcome) string {
	samples, worst := int64(0), int64(0)
	for _, d := range o.Directions {
		samples += int64(d.Latency.Samples)
		worst = max(worst, int64(d.Latency.P99Nanoseconds))
	}
	return figures(samples, worst)[0]
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}
