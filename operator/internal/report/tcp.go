package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func tcpSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "TCP", columns: []column{
		number("Connections"), left("Direction"), number("Goodput Mbit/s"), number("Sent Mbit/s"), number("Retransmits"),
		number("Efficiency %"), number("RTT min" + unit), number("RTT mean" + unit), number("RTT max" + unit),
		number("Sender CPU %"), number("Receiver CPU %"), number("MSS bytes"), left("Congestion control"),
	}}
	eachTCP(doc, func(streams int32, d v1alpha1.TCPDirectionResult) {
		row := []string{count(streams), d.Direction, megabits(d.GoodputBitsPerSecond), megabits(d.SentBitsPerSecond), count(d.Retransmits), percent(d.EfficiencyPartsPerMillion)}
		if t := d.RoundTripTime; t != nil {
			row = append(row, microseconds(t.MinNanoseconds), microseconds(t.MeanNanoseconds), microseconds(t.MaxNanoseconds))
		} else {
			row = append(row, none, none, none)
		}
		s.rows = append(s.rows, append(row, percent(d.SenderCPUPartsPerMillion), percent(d.ReceiverCPUPartsPerMillion),
			count(d.MaximumSegmentBytes), orNone(d.CongestionControl)))
	})
	if len(s.rows) == 0 {
		return section{}
	}
	for _, end := range doc.TCP.Ends {
		s.facts = append(s.facts, fact{"The " + end.Name + " end", endInWords(end)})
	}
	s.notes = []string{"Goodput is the payload that the receiving program read. A CPU share is that of the program and its system calls; 100 % is one whole CPU."}
	return s
}

// endInWords names what made the connections. A generator with its own TCP has no
// interface, so there are no facts about one.
func endInWords(end v1alpha1.TCPEnd) string {
	if end.MTUBytes == 0 {
		return programInWords(end.Program)
	}
	offloads := "no offload on"
	if len(end.Offloads) > 0 {
		offloads = strings.Join(end.Offloads, ", ") + " on"
	}
	return fmt.Sprintf("%s, MTU %d bytes, %s", programInWords(end.Program), end.MTUBytes, offloads)
}

// tcpScalingSection shows the goodput of each number of connections with its
// extrapolation from the smallest, and with the cores that it took.
func tcpScalingSection(doc Document) section {
	s := section{title: "TCP over the number of connections", columns: []column{
		left("Direction"), number("Connections"), number("Goodput Mbit/s"), number("Extrapolated Mbit/s"), number("Efficiency %"),
		number("Cores busy"), number("Mbit/s per core"),
	}}
	for _, scaling := range doc.Scaling {
		for _, p := range scaling.Points {
			busy, each := tcpCores(doc, int32(p.Number))
			s.rows = append(s.rows, []string{
				scaling.Direction, count(p.Number), megabits(p.BitsPerSecond), megabits(p.ExtrapolatedBitsPerSecond), percent(p.EfficiencyPartsPerMillion),
				busy, each,
			})
		}
		s.notes = append(s.notes, scaling.sentence())
	}
	if s = withoutEmptyColumns(s); slices.ContainsFunc(s.columns, func(c column) bool { return c.head == "Cores busy" }) {
		s.notes = append(s.notes, "Cores busy are those of the chain's node, used by any process; where the generator is on the same node, this includes the ends. A core carries both directions together. The cores are over the time between two looks: while data was sent, at most their number divided by Sending % of the cores used was busy.")
	}
	return s
}

// tcpCores returns the node's cores that were busy with a number of connections,
// and the goodput of all directions that one of them carried.
func tcpCores(doc Document, streams int32) (busy, each string) {
	for _, c := range doc.CPU {
		if c.Streams != streams || c.Node == nil {
			continue
		}
		n, goodput := c.Node, int64(0)
		eachTCP(doc, func(of int32, d v1alpha1.TCPDirectionResult) {
			if of == streams {
				goodput += d.GoodputBitsPerSecond
			}
		})
		used := n.UserMilliCPU + n.SystemMilliCPU + n.IRQMilliCPU + n.SoftirqMilliCPU + n.GuestMilliCPU
		if used == 0 {
			return cores(0), none
		}
		return cores(used), megabits(int64(math.Round(float64(goodput) * 1e3 / float64(used))))
	}
	return none, none
}

// sentence describes where it stops scaling.
func (s Scaling) sentence() string {
	equivalent := strconv.FormatFloat(float64(s.EquivalentThousandths)/1e3, 'f', 1, 64)
	where := ""
	switch {
	case s.StopsAt > 0:
		where = fmt.Sprintf("it stops scaling at %d: each larger number carries less than 5 %% more, scatter of the repeats included", s.StopsAt)
	case s.StillGrows:
		where = "the largest number still carried more"
	case s.HalfWidthPartsPerMillion == nil:
		where = "where it stops scaling is not known, because nothing was repeated: set measurements.repeats to 3 or more"
	default:
		where = fmt.Sprintf("where it stops scaling is not known: by the scatter of the repeats, two numbers may differ by %s %% more or less than measured",
			strings.TrimSuffix(strconv.FormatFloat(float64(*s.HalfWidthPartsPerMillion)/1e4, 'f', 1, 64), ".0"))
	}
	return fmt.Sprintf("%s: %s; the best carries what %s single ones would.", s.Direction, where, equivalent)
}

func tcpRepeats(doc Document) section {
	s := section{title: "TCP over repeats", columns: append([]column{number("Connections"), left("Direction"), left("Figure")}, statisticHeads("")...)}
	eachTCP(doc, func(streams int32, d v1alpha1.TCPDirectionResult) {
		for _, statistics := range d.Statistics {
			name, text := "goodput Mbit/s", megabits
			if statistics.Metric == v1alpha1.MetricTCPRetransmits {
				name, text = "retransmits", count[int64]
			}
			s.rows = append(s.rows, append([]string{count(streams), d.Direction, name}, statisticCells(statistics, text)...))
		}
	})
	for i := range s.columns {
		s.columns[i].head = strings.TrimSpace(s.columns[i].head)
	}
	return s
}

func tcpIntervals(doc Document) section {
	s := section{title: "TCP: every interval of the latest repeat", columns: []column{
		number("Connections"), left("Direction"), number("Start s"), number("Sent Mbit/s"), number("Retransmits"),
	}}
	eachTCP(doc, func(streams int32, d v1alpha1.TCPDirectionResult) {
		for _, i := range d.Intervals {
			s.rows = append(s.rows, []string{count(streams), d.Direction, seconds(i.StartMilliseconds * 1e6), megabits(i.SentBitsPerSecond), count(i.Retransmits)})
		}
	})
	return s
}

func eachTCP(doc Document, visit func(streams int32, d v1alpha1.TCPDirectionResult)) {
	if doc.TCP == nil {
		return
	}
	for _, s := range doc.TCP.Streams {
		for _, d := range s.Directions {
			visit(s.Streams, d)
		}
	}
}

// tcpTrialHead returns the columns of TCP in the CSV form of the trials.
func tcpTrialHead() []string {
	head := []string{"streams"}
	for _, prefix := range []string{"forward", "reverse"} {
		for _, name := range []string{"GoodputBitsPerSecond", "SentBitsPerSecond", "Retransmits", "RoundTripTimeMeanNanoseconds", "SenderCPUPartsPerMillion", "ReceiverCPUPartsPerMillion"} {
			head = append(head, prefix+name)
		}
	}
	return head
}

// setTCP fills a trial's columns.
func (r row) setTCP(trial measure.Trial, outcome measure.Outcome) {
	if trial.TCP == nil || outcome.TCP == nil {
		return
	}
	r.set("streams", int64(trial.TCP.Streams))
	for _, d := range outcome.TCP.Directions {
		prefix := strings.ToLower(string(d.Direction))
		r.set(prefix+"GoodputBitsPerSecond", d.GoodputBitsPerSecond())
		r.set(prefix+"SentBitsPerSecond", d.SentBitsPerSecond())
		r.set(prefix+"Retransmits", d.Retransmits)
		r.set(prefix+"RoundTripTimeMeanNanoseconds", d.RTTMeanNanoseconds)
		r.set(prefix+"SenderCPUPartsPerMillion", d.SenderCPUPartsPerMillion)
		r.set(prefix+"ReceiverCPUPartsPerMillion", d.ReceiverCPUPartsPerMillion)
	}
}
