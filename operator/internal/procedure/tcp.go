package procedure

import (
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

const (
	// tcpDirectionBytes is what a direction of a TCP record takes, with a full series of
	// intervals; tcpRecordBytes what the rest of the record takes.
	tcpDirectionBytes = 2200
	tcpRecordBytes    = 1000
	// wholeCPU is the share from which an end's program counts as using all of a CPU, in parts
	// per million: the rest is what a busy loop of system calls loses.
	wholeCPU = 900_000
	// startTime is what the start and the end of iperf3 take.
	startTime = time.Second
)

// tcpOf measures TCP connections, after everything that is measured for the sizes.
type tcpOf struct{ base }

var tcpMeasurement = tcpOf{base{name: measure.StageTCP}}

func (tcpOf) place() place                           { return afterSizes }
func (tcpOf) repetition() repetition                 { return repeatedly }
func (tcpOf) check(instr measure.Instructions) error { return validateTCP(instr) }

// phases returns one for each number of connections.
func (tcpOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	if instr.TCP == nil {
		return nil
	}
	var out []phase
	for _, n := range instr.TCP.Streams {
		out = append(out, phase{load: v1alpha1.LatencyLoad{Name: tcpLoad(n)}, streams: n, stateful: instr.Stateful != nil})
	}
	return out
}

func (tcpOf) path(ph phase) Path {
	if ph.stateful {
		return PathStateful
	}
	return PathEndpoints
}

func (tcpOf) title(w *replay, ph phase) string { return connections(ph.streams) + w.ofRepeat(ph) }

func (tcpOf) recordBytes(instr measure.Instructions) int {
	directions := v1alpha1.DirectionsBoth
	if instr.TCP != nil {
		directions = instr.TCP.Directions
	}
	return tcpRecordBytes + len(measure.TCPDirections(directions))*tcpDirectionBytes
}

func (tcpOf) reportRun(w *replay, figures *Figures)                     { figures.TCP = w.tcpResult() }
func (tcpOf) warn(w *replay, d *warningList, _ measure.Size, _ []*part) { w.warnTCP(d) }

func (tcpOf) cpuGroups(p *part) []cpuGroup {
	return []cpuGroup{{v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPGoodput, Streams: p.streams}, []measure.Record{*p.last()}}}
}

// tcpLoad returns the load in a record of so many connections.
func tcpLoad(streams int32) string { return fmt.Sprintf("streams-%d", streams) }

// connections returns a number of them in words, for sentences.
func connections(n int32) string {
	if n == 1 {
		return "1 TCP connection"
	}
	return fmt.Sprintf("%d TCP connections", n)
}

func validateTCP(instr measure.Instructions) error {
	t := instr.TCP
	switch {
	case t == nil:
		return nil
	case len(t.Streams) == 0:
		return fmt.Errorf("%w: TCP without a number of connections", ErrInstructions)
	case t.DurationSeconds < 1:
		return fmt.Errorf("%w: TCP needs a duration of a second or more", ErrInstructions)
	case instr.Stateful == nil && instr.TCPPath == nil:
		return fmt.Errorf("%w: TCP without the addresses of its ends", ErrInstructions)
	}
	seen := map[int32]bool{}
	for _, n := range t.Streams {
		if n < 1 || seen[n] {
			return fmt.Errorf("%w: %d TCP connections are listed twice or are none", ErrInstructions, n)
		}
		seen[n] = true
	}
	return nil
}

// expected returns the time of one trial.
func (tcpOf) expected(w *replay, _ phase) time.Duration {
	t := w.instr.TCP
	return w.cost(1, seconds(t.DurationSeconds)+seconds(ptr.Deref(t.OmitSeconds, 0))) + startTime
}

// fill takes the first record: the TCP of two kernels doubts nothing, and what slowed it down is
// what is measured. A generator with its own TCP may doubt a trial, which is then made again.
func (tcpOf) fill(w *replay, p *part, records []measure.Record) error {
	t := w.instr.TCP
	p.next = measure.Trial{DurationNanoseconds: seconds(t.DurationSeconds), SettleNanoseconds: w.settle(), TCP: tcpTrial(t, p.streams)}
	if p.stateful {
		if err := p.once(records); err != nil || !p.over {
			return err
		}
		records = p.counted
	}
	if len(records) == 0 {
		return nil
	}
	p.counted, p.over = records, true
	outcome := p.last().Outcome.TCP
	if len(records) > 1 || outcome == nil || len(outcome.Directions) != len(p.next.TCP.Directions) {
		return fmt.Errorf("%w: record %d is not one trial of %s", ErrRecords, p.last().Index, connections(p.streams))
	}
	for _, d := range outcome.Directions {
		if d.ReceivedBytes == 0 {
			return &measure.Failure{
				Reason: v1alpha1.ReasonChainFailed,
				Err:    fmt.Errorf("no data of %s came through in direction %s", connections(p.streams), d.Direction),
				Remedy: "look at the logs of the chain's functions",
			}
		}
	}
	return nil
}

// tcpTrial returns what a trial of so many connections makes.
func tcpTrial(t *v1alpha1.TCP, streams int32) *measure.TCPTrial {
	return &measure.TCPTrial{
		Streams: int(streams), OmitNanoseconds: seconds(ptr.Deref(t.OmitSeconds, 0)), Directions: measure.TCPDirections(t.Directions),
		TCPSettings: measure.TCPSettings{
			MSSBytes: int(ptr.Deref(t.MSSBytes, 0)), CongestionControl: t.CongestionControl,
			WindowBytes: ptr.Deref(t.WindowBytes, 0), TargetBitsPerSecond: ptr.Deref(t.TargetBitsPerSecond, 0),
		},
	}
}

// tcpResult returns the result of the trials so far, or nil.
func (w *replay) tcpResult() *v1alpha1.TCPResult {
	if w.instr.TCP == nil {
		return nil
	}
	out := &v1alpha1.TCPResult{}
	for _, n := range w.instr.TCP.Streams {
		repeats := map[measure.Direction][]measure.TCPDirectionOutcome{}
		var records []measure.Record
		for _, p := range w.parts {
			if p.stage() != measure.StageTCP || p.streams != n || !p.over {
				continue
			}
			records = append(records, *p.last())
			outcome := p.last().Outcome.TCP
			for _, d := range outcome.Directions {
				repeats[d.Direction] = append(repeats[d.Direction], d)
			}
			out.Ends = tcpEnds(outcome.Ends)
		}
		result := v1alpha1.TCPStreamsResult{Streams: n}
		for _, direction := range measure.TCPDirections(w.instr.TCP.Directions) {
			if group := repeats[direction]; len(group) > 0 {
				combined := combineTCP(group)
				combined.Doubts = doubtsOf(records)
				if w.endIsLimit(combined, out.Ends, n) {
					combined.Doubts = distinct(append(combined.Doubts, v1alpha1.DoubtEndpointCeiling))
				}
				result.Directions = append(result.Directions, combined)
			}
		}
		if len(result.Directions) > 0 {
			out.Streams = append(out.Streams, result)
		}
	}
	if len(out.Streams) == 0 {
		return nil
	}
	return out
}

func tcpEnds(ends []measure.TCPEnd) []v1alpha1.TCPEnd {
	var out []v1alpha1.TCPEnd
	for _, e := range ends {
		end := v1alpha1.TCPEnd{Name: e.Name, Program: programOf(e.Program), MTUBytes: int32(e.MTUBytes), Offloads: e.Offloads}
		if e.Program.Name == measure.ProgramIperf3 {
			end.Threading = v1alpha1.ThreadingSingle
			if e.ThreadPerConnection {
				end.Threading = v1alpha1.ThreadingPerConnection
			}
		}
		out = append(out, end)
	}
	return out
}

// programOf returns nil for a tool that an end did not name.
func programOf(t measure.Program) *v1alpha1.Program {
	if t.Name == "" {
		return nil
	}
	return &v1alpha1.Program{Name: v1alpha1.ProgramName(t.Name), Version: excerpt.Text(t.Version, maxVersionBytes)}
}

// combineTCP combines the repeats of a direction into one result, the latest last.
func combineTCP(group []measure.TCPDirectionOutcome) v1alpha1.TCPDirectionResult {
	goodput := values(group, measure.TCPDirectionOutcome.GoodputBitsPerSecond)
	retransmits := values(group, func(d measure.TCPDirectionOutcome) int64 { return d.Retransmits })
	latest := group[len(group)-1]
	out := v1alpha1.TCPDirectionResult{
		Direction:                  string(latest.Direction),
		GoodputBitsPerSecond:       int64(math.Floor(statistics.Mean(goodput))),
		SentBitsPerSecond:          int64(math.Floor(statistics.Mean(values(group, measure.TCPDirectionOutcome.SentBitsPerSecond)))),
		Retransmits:                meanOf(group, func(d measure.TCPDirectionOutcome) int64 { return d.Retransmits }),
		EfficiencyPartsPerMillion:  int64(math.Floor(statistics.Mean(values(group, tcpEfficiency)))),
		RoundTripTime:              roundTripTime(group),
		SenderCPUPartsPerMillion:   meanOf(group, func(d measure.TCPDirectionOutcome) int64 { return d.SenderCPUPartsPerMillion }),
		ReceiverCPUPartsPerMillion: meanOf(group, func(d measure.TCPDirectionOutcome) int64 { return d.ReceiverCPUPartsPerMillion }),
		MaximumSegmentBytes:        int32(latest.MaximumSegmentBytes),
		CongestionControl:          latest.CongestionControl,
	}
	for _, i := range latest.Intervals {
		out.Intervals = append(out.Intervals, v1alpha1.TCPInterval{
			StartMilliseconds: time.Duration(i.StartNanoseconds).Milliseconds(),
			SentBitsPerSecond: measure.BitsPerSecond(i.Bytes, i.Nanoseconds), Retransmits: i.Retransmits,
		})
	}
	out.Statistics = append(summarized(v1alpha1.MetricTCPGoodput, goodput, out.GoodputBitsPerSecond),
		summarized(v1alpha1.MetricTCPRetransmits, retransmits, out.Retransmits)...)
	return out
}

// tcpEfficiency returns RFC 6349 section 4.2's, in parts per million, rounded down: what was sent
// and was not sent again, of what was sent. iperf3 counts payload once and segments sent again,
// so sent is the payload and these segments.
func tcpEfficiency(d measure.TCPDirectionOutcome) int64 {
	again := float64(d.Retransmits) * float64(d.MaximumSegmentBytes)
	sent := float64(d.SentBytes) + again
	if sent <= 0 {
		return 0
	}
	return int64(math.Floor(float64(d.SentBytes) / sent * 1e6))
}

// roundTripTime returns nil where one repeat has none.
func roundTripTime(group []measure.TCPDirectionOutcome) *v1alpha1.TCPRoundTripTime {
	out := &v1alpha1.TCPRoundTripTime{MinNanoseconds: math.MaxInt64}
	for _, d := range group {
		if d.RTTMaxNanoseconds == 0 {
			return nil
		}
		out.MinNanoseconds = min(out.MinNanoseconds, d.RTTMinNanoseconds)
		out.MaxNanoseconds = max(out.MaxNanoseconds, d.RTTMaxNanoseconds)
	}
	out.MeanNanoseconds = meanOf(group, func(d measure.TCPDirectionOutcome) int64 { return d.RTTMeanNanoseconds })
	return out
}

// threads returns how many of the connections the ends' iperf3 serves at once.
func threads(ends []v1alpha1.TCPEnd, streams int32) int64 {
	for _, end := range ends {
		if end.Threading != v1alpha1.ThreadingPerConnection {
			return 1
		}
	}
	return int64(streams)
}

// busierEnd returns which end of a direction used more CPU time, and how much.
func busierEnd(d v1alpha1.TCPDirectionResult) (end string, used int64) {
	if d.ReceiverCPUPartsPerMillion > d.SenderCPUPartsPerMillion {
		return "receiver", d.ReceiverCPUPartsPerMillion
	}
	return "sender", d.SenderCPUPartsPerMillion
}

// endIsLimit reports whether an end, or a generator that is both, may be the limit.
func (w *replay) endIsLimit(d v1alpha1.TCPDirectionResult, ends []v1alpha1.TCPEnd, streams int32) bool {
	if w.instr.Stateful != nil {
		return d.SenderCPUPartsPerMillion >= wholeCPU
	}
	_, used := busierEnd(d)
	return used >= wholeCPU*threads(ends, streams)
}

// warnTCP names what bounds the figures other than the device.
func (w *replay) warnTCP(d *warningList) {
	result := w.tcpResult()
	if result == nil {
		return
	}
	for _, s := range result.Streams {
		for _, direction := range s.Directions {
			if !slices.Contains(direction.Doubts, v1alpha1.DoubtEndpointCeiling) {
				continue
			}
			if w.instr.Stateful != nil {
				d.add(v1alpha1.WarningEndpointCeiling, wholeRun,
					"With %s in direction %s, the generator's threads, which are both ends, were busy for %d %% of the time, so they may be the limit, and the device may do better.",
					connections(s.Streams), direction.Direction, direction.SenderCPUPartsPerMillion/10_000)
				continue
			}
			end, used := busierEnd(direction)
			d.add(v1alpha1.WarningEndpointCeiling, wholeRun,
				"With %s in direction %s, iperf3 at the %s used %d %% of a CPU, so this end may be the limit, and the device may do better.",
				connections(s.Streams), direction.Direction, end, used/10_000)
		}
	}
	var segmenting []string
	for _, end := range result.Ends {
		if slices.Contains(end.Offloads, "TSO") {
			segmenting = append(segmenting, end.Name)
		}
	}
	if len(segmenting) > 0 {
		d.add(v1alpha1.WarningSegmentationOffload, wholeRun,
			"TSO is on at the TCP port in the %s: on a path without a wire, packets of up to 64 KiB pass the chain whole, so goodput says little about its rate of frames.",
			words(segmenting))
	}
}
