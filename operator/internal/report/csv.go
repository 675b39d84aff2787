package report

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// The heads of the CSV forms. New columns are added at the end alone.
var (
	resultHead = append([]string{
		"namespace", "run", "planDigest", "completeness", "figure", "frameBytes", "goal", "load", "direction",
		"framesPerSecond", "layer1BitsPerSecond", "lineRatePartsPerMillion", "regularity",
		"lowerBoundFramesPerSecond", "upperBoundFramesPerSecond", "upperBoundCause", "trials",
		"intendedFramesPerSecond", "sentFrames", "receivedFrames", "lossPartsPerMillion", "reorderedFrames", "duplicateFrames",
		"latencySamples", "latencyMinNanoseconds", "latencyMeanNanoseconds", "latencyP50Nanoseconds", "latencyP90Nanoseconds",
		"latencyP99Nanoseconds", "latencyP999Nanoseconds", "latencyP9999Nanoseconds", "latencyMaxNanoseconds",
		"delayVariationP99Nanoseconds", "packetDelayVariationP99Nanoseconds", "packetDelayVariationP999Nanoseconds",
		"jitterNanoseconds", "firstFrameNanoseconds",
		"repeat", "delayVariationMaxNanoseconds", "oneWayBudgetPartsPerMillion",
		"percentOfMaximum", "offeredFramesPerSecond",
		"meanFrames", "minFrames", "maxFrames", "standardDeviationFrames", "stepFrames",
		"impliedBufferNanoseconds", "correctedBufferNanoseconds", "startSeconds",
	}, append(statisticHead(), slices.Concat([]string{"mix"}, taggedHead,
		[]string{"packetPayloadBytes", "fragments", "fragmentsPerSecond", "sentFragments", "receivedFragments"}, cpuHead, tcpHead(), counterHead, neighborHead, connectionsHead(), baselineHead)...)...)
	trialHead = append(append(append([]string{
		"namespace", "run", "planDigest", "trial", "stage", "load", "frameBytes", "startedAt",
		"durationNanoseconds", "sendingNanoseconds", "totalNanoseconds", "intendedFramesPerSecond",
		"offeredFramesPerSecond", "forwardingFramesPerSecond", "lossPartsPerMillion", "valid", "doubts", "measurer",
	}, append(directionHead("forward"), directionHead("reverse")...)...), "repeat", "mix",
		"taggedFrameNanoseconds", "forwardTaggedFrameNanoseconds", "reverseTaggedFrameNanoseconds",
		"packetPayloadBytes", "forwardSentFragments", "forwardReceivedFragments", "reverseSentFragments", "reverseReceivedFragments"), append(append(tcpTrialHead(), "neighbors"), connectionsTrialHead()...)...)
	taggedHead = []string{
		"taggedSentFrames", "taggedReceivedFrames", "taggedMinNanoseconds", "taggedMeanNanoseconds", "taggedMaxNanoseconds",
		"taggedStandardDeviationNanoseconds",
	}
)

func directionHead(prefix string) []string {
	names := []string{
		"SentFrames", "ReceivedFrames", "ReorderedFrames", "DuplicateFrames", "LatencyMinNanoseconds", "LatencyMeanNanoseconds",
		"LatencyP50Nanoseconds", "LatencyP99Nanoseconds", "LatencyP999Nanoseconds", "LatencyMaxNanoseconds", "JitterNanoseconds",
	}
	for i, name := range names {
		names[i] = prefix + name
	}
	return names
}

// row is a CSV line by column names; a column that is not set stays empty.
type row map[string]string

func (r row) set(name string, n int64) { r[name] = strconv.FormatInt(n, 10) }

func (r row) cells(head []string) []string {
	cells := make([]string, len(head))
	for i, name := range head {
		cells[i] = r[name]
	}
	return cells
}

func writeCSV(w io.Writer, doc Document, opts Options) error {
	head, rows := resultHead, resultRows(doc)
	if opts.Trials {
		head, rows = trialHead, trialRows(doc)
	}
	out := csv.NewWriter(w)
	// An error stays in the writer until Error is asked.
	_ = out.Write(head)
	for _, r := range rows {
		_ = out.Write(r.cells(head))
	}
	out.Flush()
	return out.Error()
}

func origin(doc Document) row {
	r := row{"namespace": doc.Run.Namespace, "run": doc.Run.Name, "completeness": string(doc.Completeness)}
	if doc.Plan != nil {
		r["planDigest"] = doc.Plan.Digest
	}
	return r
}

func resultRows(doc Document) []row {
	var rows []row
	for _, frame := range doc.Results {
		for _, t := range frame.Throughput {
			rows = append(rows, throughputRow(doc, frame, t))
		}
		for _, load := range frame.Latency {
			for _, d := range load.Directions {
				rows = append(rows, latencyRow(doc, frame, load, d))
			}
		}
		for _, first := range frame.FirstFrame {
			r := origin(doc)
			r["figure"], r["load"], r["direction"] = "firstFrame", "warm-up", first.Direction
			r.set("frameBytes", int64(frame.FrameBytes))
			r.set("firstFrameNanoseconds", first.DelayNanoseconds)
			rows = append(rows, r)
		}
	}
	rows = append(rows, fixedLoadRows(doc)...)
	rows = append(rows, frameLossRateRows(doc)...)
	rows = append(rows, backToBackRows(doc)...)
	rows = append(rows, receiveRateRows(doc)...)
	rows = append(rows, soakRows(doc)...)
	return slices.Concat(rows, cpuRows(doc), tcpRows(doc), connectionsRows(doc), neighborRows(doc), baselineRows(doc))
}

func throughputRow(doc Document, frame v1alpha1.FrameResult, t v1alpha1.ThroughputResult) row {
	r := origin(doc)
	r["figure"], r["goal"] = "throughput", t.Goal
	r["regularity"], r["upperBoundCause"] = string(t.Regularity), string(t.UpperBoundCause)
	r["mix"] = frame.Mix
	r.set("frameBytes", int64(frame.FrameBytes))
	r.set("framesPerSecond", t.FramesPerSecond)
	r.set("layer1BitsPerSecond", t.Layer1BitsPerSecond)
	r.set("lineRatePartsPerMillion", t.LineRatePartsPerMillion)
	r.set("lowerBoundFramesPerSecond", t.LowerBoundFramesPerSecond)
	if t.UpperBoundFramesPerSecond != nil {
		r.set("upperBoundFramesPerSecond", *t.UpperBoundFramesPerSecond)
	}
	r.set("trials", int64(t.Trials))
	r.setPacket(frame.Packet)
	if t.FragmentsPerSecond != nil {
		r.set("fragmentsPerSecond", *t.FragmentsPerSecond)
	}
	r.set("lossPartsPerMillion", t.LossPartsPerMillion)
	r.setStatistics(t.Statistics)
	return r
}

func latencyRow(doc Document, frame v1alpha1.FrameResult, load v1alpha1.LatencyResult, d v1alpha1.DirectionResult) row {
	r := origin(doc)
	r["figure"], r["load"], r["direction"] = "latency", load.Load, d.Direction
	r["mix"] = frame.Mix
	r.set("frameBytes", int64(frame.FrameBytes))
	r.set("intendedFramesPerSecond", load.IntendedFramesPerSecond)
	r.set("sentFrames", d.SentFrames)
	r.set("receivedFrames", d.ReceivedFrames)
	if d.SentFrames > 0 {
		r.set("lossPartsPerMillion", d.LossPartsPerMillion)
	}
	r.set("reorderedFrames", d.ReorderedFrames)
	r.set("duplicateFrames", d.DuplicateFrames)
	if d.FirstFrameNanoseconds != nil {
		r.set("firstFrameNanoseconds", *d.FirstFrameNanoseconds)
	}
	r.set("latencySamples", d.Latency.Samples)
	if d.Latency.Samples > 0 {
		r.set("latencyMinNanoseconds", d.Latency.MinNanoseconds)
		r.set("latencyMeanNanoseconds", d.Latency.MeanNanoseconds)
		r.set("latencyP50Nanoseconds", d.Latency.P50Nanoseconds)
		r.set("latencyP90Nanoseconds", d.Latency.P90Nanoseconds)
		r.set("latencyP99Nanoseconds", d.Latency.P99Nanoseconds)
		r.set("latencyP999Nanoseconds", d.Latency.P999Nanoseconds)
		r.set("latencyP9999Nanoseconds", d.Latency.P9999Nanoseconds)
		r.set("latencyMaxNanoseconds", d.Latency.MaxNanoseconds)
		r.set("packetDelayVariationP99Nanoseconds", d.PacketDelayVariationP99Nanoseconds)
		r.set("packetDelayVariationP999Nanoseconds", d.PacketDelayVariationP999Nanoseconds)
	}
	if d.DelayVariation.Samples > 0 {
		r.set("delayVariationP99Nanoseconds", d.DelayVariation.P99Nanoseconds)
	}
	if hasJitter(d) {
		r.set("jitterNanoseconds", d.JitterNanoseconds)
	}
	r.setStatistics(d.Statistics)
	r.setTagged(d.TaggedFrames)
	r.setPacket(frame.Packet)
	if d.SentFragments != nil && d.ReceivedFragments != nil {
		r.set("sentFragments", *d.SentFragments)
		r.set("receivedFragments", *d.ReceivedFragments)
	}
	return r
}

func (r row) setPacket(p *v1alpha1.PacketResult) {
	if p != nil {
		r.set("packetPayloadBytes", int64(p.PayloadBytes))
		r.set("fragments", int64(p.Fragments))
	}
}

// setTagged leaves the delays empty where no tagged frame arrived.
func (r row) setTagged(t *v1alpha1.TaggedFramesResult) {
	if t == nil {
		return
	}
	figures := []int64{t.SentFrames, t.ReceivedFrames}
	if t.ReceivedFrames > 0 {
		figures = append(figures, t.MinNanoseconds, t.MeanNanoseconds, t.MaxNanoseconds, t.StandardDeviationNanoseconds)
	}
	for i, n := range figures {
		r.set(taggedHead[i], n)
	}
}

func trialRows(doc Document) []row {
	rows := make([]row, 0, len(doc.Trials))
	for _, record := range doc.Trials {
		r := origin(doc)
		r["stage"], r["load"], r["measurer"] = string(record.Stage), record.Load, record.Measurer
		r["startedAt"] = record.Outcome.StartedAt.UTC().Format(time.RFC3339Nano)
		r["valid"], r["doubts"] = strconv.FormatBool(record.Outcome.Valid()), doubtCodes(record.Outcome)
		r.set("trial", int64(record.Index))
		r.set("repeat", int64(record.Repeat))
		if doc.NoisyNeighbors != nil {
			r["neighbors"] = strconv.FormatBool(record.Neighbors)
		}
		r.set("frameBytes", int64(record.Trial.FrameBytes))
		if mix := record.Trial.Mix; mix != nil {
			r["mix"] = mix.Name
		}
		if p := record.Trial.Packet; p != nil {
			r.set("packetPayloadBytes", int64(p.PayloadBytes))
		}
		r.set("durationNanoseconds", record.Trial.DurationNanoseconds)
		r.set("sendingNanoseconds", record.Outcome.SendingNanoseconds)
		r.set("totalNanoseconds", record.Outcome.TotalNanoseconds)
		if after := record.Trial.TaggedFrameNanoseconds; after > 0 {
			r.set("taggedFrameNanoseconds", after)
		}
		r.set("intendedFramesPerSecond", int64(record.Trial.IntendedFramesPerSecond))
		r.set("offeredFramesPerSecond", int64(record.Outcome.OfferedFramesPerSecond()))
		r.set("forwardingFramesPerSecond", int64(record.Outcome.ForwardingFramesPerSecond()))
		r.set("lossPartsPerMillion", lossPartsPerMillion(record.Outcome))
		for _, d := range record.Outcome.Directions {
			r.setDirection(d)
		}
		r.setTCP(record.Trial, record.Outcome)
		r.setConnections(record.Trial, record.Outcome)
		rows = append(rows, r)
	}
	return rows
}

func (r row) setDirection(d measure.DirectionOutcome) {
	prefix := strings.ToLower(string(d.Direction))
	set := func(name string, n uint64) { r.set(prefix+name, int64(n)) }
	set("SentFrames", d.SentFrames)
	set("ReceivedFrames", d.ReceivedFrames)
	set("ReorderedFrames", d.ReorderedFrames)
	set("DuplicateFrames", d.DuplicateFrames)
	if d.SentFragments > 0 {
		set("SentFragments", d.SentFragments)
		set("ReceivedFragments", d.ReceivedFragments)
	}
	if t := d.TaggedFrame; t != nil && t.DelayNanoseconds > 0 {
		set("TaggedFrameNanoseconds", t.DelayNanoseconds)
	}
	if d.Latency.Samples == 0 {
		return
	}
	set("LatencyMinNanoseconds", d.Latency.MinNanoseconds)
	set("LatencyMeanNanoseconds", d.Latency.MeanNanoseconds)
	set("LatencyP50Nanoseconds", d.Latency.P50Nanoseconds)
	set("LatencyP99Nanoseconds", d.Latency.P99Nanoseconds)
	set("LatencyP999Nanoseconds", d.Latency.P999Nanoseconds)
	set("LatencyMaxNanoseconds", d.Latency.MaxNanoseconds)
	set("JitterNanoseconds", d.JitterNanoseconds)
}

// lossPartsPerMillion of the worse direction, rounded up: any loss is at least 1.
func lossPartsPerMillion(o measure.Outcome) int64 { return int64(math.Ceil(o.LossRatio() * 1e6)) }

func doubtCodes(o measure.Outcome) string {
	codes := make([]string, len(o.Doubts))
	for i, doubt := range o.Doubts {
		codes[i] = doubt.Code
	}
	return strings.Join(codes, " ")
}
