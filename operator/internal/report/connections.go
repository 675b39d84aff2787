package report

import (
	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// experimentalConnections appears wherever their figures do.
const experimentalConnections = "Connections are experimental. A connection a second is one that was established in the time that counts; failed are those that were reset, timed out or unfinished, of all that clients began; payload is layer 7's, as it arrived."

func connectionsSection(doc Document) section {
	s := section{title: "Connections", columns: []column{
		left("Load"), number("Intended/s"), number("Begun/s"), number("Established/s"), number("To hold"), number("Held"), number("At once"),
		number("Attempted"), number("Completed"), number("Reset"), number("Timed out"), number("Unfinished"), number("Failed ppm"),
		number("Requests Mbit/s"), number("Responses Mbit/s"), number("Retransmits"), number("Generator CPU %"),
	}}
	eachConnections(doc, func(l v1alpha1.ConnectionsLoadResult) {
		s.rows = append(s.rows, []string{
			l.Name, count(l.IntendedConnectionsPerSecond), known(l.AttemptedConnectionsPerSecond, count[int64]),
			known(l.EstablishedConnectionsPerSecond, count[int64]), known(l.IntendedConcurrentConnections, count[int64]),
			known(l.HeldConnections, count[int64]), count(l.ConcurrentConnections),
			count(l.Attempted), count(l.Completed), count(l.Reset), count(l.TimedOut), count(l.Unfinished), count(l.FailedPartsPerMillion),
			megabits(l.ForwardBitsPerSecond), megabits(l.ReverseBitsPerSecond), count(l.Retransmits), percent(l.GeneratorCPUPartsPerMillion),
		})
	})
	if len(s.rows) == 0 {
		return section{}
	}
	if doc.Connections.Program != nil {
		s.facts = []fact{{"Clients and servers", programInWords(doc.Connections.Program)}}
	}
	s = withoutEmptyColumns(s)
	s.notes = append(s.notes, experimentalConnections)
	return s
}

func connectionsRepeats(doc Document) section {
	s := section{title: "Connections over repeats", columns: append([]column{left("Load")}, statisticHeads("connections/s")...)}
	eachConnections(doc, func(l v1alpha1.ConnectionsLoadResult) {
		for _, statistics := range l.Statistics {
			s.rows = append(s.rows, append([]string{l.Name}, statisticCells(statistics, count[int64])...))
		}
	})
	return s
}

func eachConnections(doc Document, visit func(l v1alpha1.ConnectionsLoadResult)) {
	if doc.Connections == nil {
		return
	}
	for _, l := range doc.Connections.Loads {
		visit(l)
	}
}

// connectionsTrialHead returns the columns of connections in the CSV form of the trials.
func connectionsTrialHead() []string {
	return []string{
		"intendedConnectionsPerSecond", "attemptedConnectionsPerSecond", "establishedConnectionsPerSecond", "intendedConcurrentConnections",
		"concurrentConnections", "heldConnections", "attemptedConnections", "completedConnections", "resetConnections", "timedOutConnections",
		"unfinishedConnections", "forwardBitsPerSecond", "reverseBitsPerSecond", "retransmits", "generatorCPUPartsPerMillion",
	}
}

// setConnections fills a trial's columns.
func (r row) setConnections(trial measure.Trial, outcome measure.Outcome) {
	c, o := trial.Connections, outcome.Connections
	if c == nil || o == nil {
		return
	}
	r.set("intendedConnectionsPerSecond", c.ConnectionsPerSecond)
	r.set("attemptedConnectionsPerSecond", o.AttemptsPerSecond())
	r.set("establishedConnectionsPerSecond", o.EstablishedPerSecond())
	if c.ConcurrentConnections > 0 {
		r.set("intendedConcurrentConnections", c.ConcurrentConnections)
		r.set("heldConnections", o.HeldAtEnd)
	}
	r.set("concurrentConnections", o.Concurrent)
	r.set("attemptedConnections", o.Attempts)
	r.set("completedConnections", o.Completed)
	r.set("resetConnections", o.Reset)
	r.set("timedOutConnections", o.TimedOut)
	r.set("unfinishedConnections", o.Unfinished)
	r.set("forwardBitsPerSecond", measure.BitsPerSecond(o.ForwardBytes, o.CountedNanoseconds))
	r.set("reverseBitsPerSecond", measure.BitsPerSecond(o.ReverseBytes, o.CountedNanoseconds))
	r.set("retransmits", o.Retransmits)
	r.set("generatorCPUPartsPerMillion", o.GeneratorCPUPartsPerMillion)
}
