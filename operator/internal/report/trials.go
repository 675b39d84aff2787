package report

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// trialHead lists the columns of the CSV form of the trials. New columns are added
// only at the end.
var trialHead = append(append(append([]string{
	"namespace", "run", "planDigest", "trial", "stage", "load", "frameBytes", "startedAt",
	"durationNanoseconds", "sendingNanoseconds", "totalNanoseconds", "intendedFramesPerSecond",
	"offeredFramesPerSecond", "forwardingFramesPerSecond", "lossPartsPerMillion", "valid", "doubts", "measurer",
}, append(directionHead("forward"), directionHead("reverse")...)...), "repeat", "mix",
	"taggedFrameNanoseconds", "forwardTaggedFrameNanoseconds", "reverseTaggedFrameNanoseconds",
	"packetPayloadBytes", "forwardSentFragments", "forwardReceivedFragments", "reverseSentFragments", "reverseReceivedFragments"), append(append(append(tcpTrialHead(), "neighbors"), connectionsTrialHead()...), "queueGrowthNanoseconds", "deployment")...)

func directionHead(prefix string) []string {
	names := []string{
		"SentFrames", "ReceivedFrames", "ReorderedFrames", "DuplicateFrames", "LatencyMinNanoseconds", "LatencyMeanNanoseconds",
		"LatencyP50Nanoseconds", "LatencyP99Nanoseconds", "LatencyP999Nanoseconds", "LatencyMaxNanoseconds", "JitterMeanNanoseconds", "JitterP99Nanoseconds", "JitterMaxNanoseconds",
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

func writeTrials(w io.Writer, doc Document) error {
	out := csv.NewWriter(w)
	// An error stays in the writer until the call of Error.
	_ = out.Write(trialHead)
	for _, r := range trialRows(doc) {
		_ = out.Write(r.cells(trialHead))
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

func trialRows(doc Document) []row {
	rows := make([]row, 0, len(doc.Trials))
	for _, record := range doc.Trials {
		r := origin(doc)
		r["stage"], r["load"], r["measurer"] = string(record.Stage), record.Load, record.Measurer
		r["startedAt"] = record.Outcome.StartedAt.UTC().Format(time.RFC3339Nano)
		r["valid"], r["doubts"] = strconv.FormatBool(record.Outcome.Valid()), doubtCodes(record.Outcome)
		r.set("trial", int64(record.Index))
		r.set("repeat", int64(record.Repeat))
		if record.Deployment > 0 {
			r.set("deployment", int64(record.Deployment))
		}
		if doc.NoisyNeighbors != nil {
			r["neighbors"] = strconv.FormatBool(record.Neighbors)
		}
		r.set("frameBytes", int64(record.Trial.FrameBytes))
		if record.Trial.Mix != nil {
			r["mix"] = record.Trial.Size
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
		if growth := record.Outcome.QueueGrowth(); growth > 0 {
			r.set("queueGrowthNanoseconds", growth.Nanoseconds())
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
	if p999 := d.Latency.P999(); p999 != nil {
		set("LatencyP999Nanoseconds", *p999)
	}
	set("LatencyMaxNanoseconds", d.Latency.MaxNanoseconds)
	if j := d.Jitter; j != nil {
		set("JitterMeanNanoseconds", j.MeanNanoseconds)
		set("JitterP99Nanoseconds", j.P99Nanoseconds)
		set("JitterMaxNanoseconds", j.MaxNanoseconds)
	}
}

// lossPartsPerMillion returns the loss of the worse direction, rounded up: any loss is at least 1.
func lossPartsPerMillion(o measure.Outcome) int64 { return int64(math.Ceil(o.LossRatio() * 1e6)) }

func doubtCodes(o measure.Outcome) string {
	codes := make([]string, len(o.Doubts))
	for i, doubt := range o.Doubts {
		codes[i] = doubt.Code
	}
	return strings.Join(codes, " ")
}
