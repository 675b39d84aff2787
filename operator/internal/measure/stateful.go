package measure

import (
	"errors"
	"fmt"
	"net/netip"
)

// Stateful says between which addresses a generator makes TCP connections that
// has a TCP of its own: clients behind its west port, servers behind its east one.
type Stateful struct {
	// Path is the chain's, with a stream in each direction: TCP has two.
	Path    Path  `json:"path"`
	Clients Hosts `json:"clients"`
	Servers Hosts `json:"servers"`
	// MSSBytes is the largest segment that fits the path's MTU.
	MSSBytes int `json:"mssBytes"`
}

// Hosts are addresses that follow one another.
type Hosts struct {
	First netip.Addr `json:"first"`
	// Count is at least 1.
	Count int `json:"count"`
}

// Last is the last of them.
func (h Hosts) Last() netip.Addr {
	last := h.First
	for range h.Count - 1 {
		last = last.Next()
	}
	return last
}

// StageConnections is a trial of many connections with an exchange in each.
const StageConnections Stage = "Connections"

// ConnectionsInstructions set the trials of connections.
type ConnectionsInstructions struct {
	// Loads are one trial of each repeat each, in this order.
	Loads []ConnectionLoad `json:"loads"`
}

// ConnectionLoad is what one trial of connections offers.
type ConnectionLoad struct {
	Name string `json:"name"`
	ConnectionsTrial
	// DurationNanoseconds counts.
	DurationNanoseconds int64 `json:"durationNanoseconds"`
}

// ConnectionsTrial is the part of a Trial that connections have in place of
// frames and a load.
type ConnectionsTrial struct {
	// ConnectionsPerSecond are opened by all clients together, whatever becomes of
	// those before.
	ConnectionsPerSecond int64 `json:"connectionsPerSecond"`
	// RequestBytes and ResponseBytes are the payload of one exchange.
	RequestBytes  int `json:"requestBytes"`
	ResponseBytes int `json:"responseBytes"`
	// ConcurrentConnections is how many are opened and then held; 0 opens new ones
	// all the time, which end with their exchange.
	ConcurrentConnections int64 `json:"concurrentConnections,omitempty"`
}

// RampNanoseconds is the time in which held connections are opened; 0 where none are held.
func (t ConnectionsTrial) RampNanoseconds() int64 {
	if t.ConnectionsPerSecond <= 0 {
		return 0
	}
	return (t.ConcurrentConnections*1_000_000_000 + t.ConnectionsPerSecond - 1) / t.ConnectionsPerSecond
}

// Check returns why the connections cannot be made.
func (t ConnectionsTrial) Check() error {
	if t.ConnectionsPerSecond < 1 || t.RequestBytes < 1 || t.ResponseBytes < 1 || t.ConcurrentConnections < 0 {
		return errors.New("connections without a rate or without an exchange")
	}
	return nil
}

// ConnectionsOutcome is what a trial of connections found.
type ConnectionsOutcome struct {
	// CountedNanoseconds is the time that rates are formed over, by the
	// generator's own clock. In it, CountedAttempts connections were begun and
	// CountedEstablished established, and so much payload arrived at the servers
	// (forward) and at the clients (reverse).
	CountedNanoseconds int64 `json:"countedNanoseconds"`
	CountedAttempts    int64 `json:"countedAttempts"`
	CountedEstablished int64 `json:"countedEstablished"`
	ForwardBytes       int64 `json:"forwardBytes"`
	ReverseBytes       int64 `json:"reverseBytes"`
	// What follows is of the whole trial, as the clients saw it: connections that
	// were begun, that were established, and that ended after all their exchanges.
	Attempts    int64 `json:"attempts"`
	Established int64 `json:"established"`
	Completed   int64 `json:"completed"`
	// Reset connections were ended by the other side or by something between,
	// TimedOut ones given up; Unfinished ones were still there when the trial ended.
	Reset      int64 `json:"reset,omitempty"`
	TimedOut   int64 `json:"timedOut,omitempty"`
	Unfinished int64 `json:"unfinished,omitempty"`
	// Concurrent is how many were established at once at the most, and HeldAtEnd
	// how many of those that were held still were at the end of the time that counts.
	Concurrent int64 `json:"concurrent"`
	HeldAtEnd  int64 `json:"heldAtEnd,omitempty"`
	// Retransmits are segments that clients and servers sent again; SYNs are in it.
	Retransmits int64 `json:"retransmits,omitempty"`
	// GeneratorCPUPartsPerMillion is how busy the generator's sending threads were
	// at the end of the time that counts.
	GeneratorCPUPartsPerMillion int64 `json:"generatorCPUPartsPerMillion"`
	// Program that was clients and servers.
	Program Program `json:"program,omitzero"`
}

// Failed are the connections that did not come to their end.
func (o ConnectionsOutcome) Failed() int64 { return o.Reset + o.TimedOut + o.Unfinished }

// AttemptsPerSecond and EstablishedPerSecond are rates rounded down.
func (o ConnectionsOutcome) AttemptsPerSecond() int64 {
	return perSecond(o.CountedAttempts, o.CountedNanoseconds)
}

// EstablishedPerSecond is how many were established in each second that counts.
func (o ConnectionsOutcome) EstablishedPerSecond() int64 {
	return perSecond(o.CountedEstablished, o.CountedNanoseconds)
}

func perSecond(count, nanoseconds int64) int64 {
	if nanoseconds <= 0 {
		return 0
	}
	return int64(float64(count) * 1e9 / float64(nanoseconds))
}

// Check says why the loads cannot be offered.
func (c ConnectionsInstructions) Check() error {
	seen := map[string]bool{}
	for _, load := range c.Loads {
		switch {
		case load.Name == "" || seen[load.Name]:
			return fmt.Errorf("load %q of the connections has no name or stands there twice", load.Name)
		case load.ConnectionsTrial.Check() != nil:
			return fmt.Errorf("load %q of the connections has no rate or no exchange", load.Name)
		case load.DurationNanoseconds < 1_000_000_000:
			return fmt.Errorf("load %q of the connections lasts less than a second", load.Name)
		}
		seen[load.Name] = true
	}
	if len(c.Loads) == 0 {
		return fmt.Errorf("connections without a load")
	}
	return nil
}
