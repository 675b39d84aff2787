package measure

import (
	"errors"
	"net/netip"
)

// Stateful says between which addresses a generator makes TCP connections with its own TCP:
// clients at its west port, servers at its east one.
type Stateful struct {
	// Path is the chain's, with a stream in each direction: TCP has two.
	Path    Path  `json:"path"`
	Clients Hosts `json:"clients"`
	Servers Hosts `json:"servers"`
	// MSSBytes is the largest segment that fits the path's MTU.
	MSSBytes int `json:"mssBytes"`
}

// Hosts are consecutive addresses.
type Hosts struct {
	First netip.Addr `json:"first"`
	// Count is at least 1.
	Count int `json:"count"`
}

// Last returns the last of them.
func (h Hosts) Last() netip.Addr {
	last := h.First
	for range h.Count - 1 {
		last = last.Next()
	}
	return last
}

// StageConnections is a trial of many connections with an exchange in each.
const StageConnections Stage = "Connections"

// ConnectionsTrial is the part of a Trial that connections have instead of frames and a
// load.
type ConnectionsTrial struct {
	// ConnectionsPerSecond are opened by all clients together, independent of earlier ones.
	ConnectionsPerSecond int64 `json:"connectionsPerSecond"`
	// RequestBytes and ResponseBytes are the payload of one exchange.
	RequestBytes  int `json:"requestBytes"`
	ResponseBytes int `json:"responseBytes"`
	// ConcurrentConnections are opened and then held; 0 opens new ones all the time, which end
	// with their exchange.
	ConcurrentConnections int64 `json:"concurrentConnections,omitempty"`
}

// RampNanoseconds returns the time in which held connections are opened; 0 if none are
// held.
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
	// CountedNanoseconds is the time over which rates are computed, by the generator's own
	// clock. In it, CountedAttempts connections were started and CountedEstablished
	// established, and this much payload arrived at the servers (forward) and at the clients
	// (reverse).
	CountedNanoseconds int64 `json:"countedNanoseconds"`
	CountedAttempts    int64 `json:"countedAttempts"`
	CountedEstablished int64 `json:"countedEstablished"`
	ForwardBytes       int64 `json:"forwardBytes"`
	ReverseBytes       int64 `json:"reverseBytes"`
	// The following counts cover the whole trial, as the clients saw it: connections that were
	// started, that were established, and that ended after all their exchanges.
	Attempts    int64 `json:"attempts"`
	Established int64 `json:"established"`
	Completed   int64 `json:"completed"`
	// Reset connections were ended by the other side or by something between. The clients gave
	// up TimedOut ones. Unfinished ones still existed when the trial ended.
	Reset      int64 `json:"reset,omitempty"`
	TimedOut   int64 `json:"timedOut,omitempty"`
	Unfinished int64 `json:"unfinished,omitempty"`
	// Concurrent is the highest number of connections established at the same time. HeldAtEnd
	// is how many of the held ones still were at the end of the time that counts.
	Concurrent int64 `json:"concurrent"`
	HeldAtEnd  int64 `json:"heldAtEnd,omitempty"`
	// Retransmits are segments that clients and servers sent again, including SYNs.
	Retransmits int64 `json:"retransmits,omitempty"`
	// GeneratorCPUPartsPerMillion is how busy the generator's sending threads were
	// at the end of the time that counts.
	GeneratorCPUPartsPerMillion int64 `json:"generatorCPUPartsPerMillion"`
	// Program was clients and servers.
	Program Program `json:"program,omitzero"`
}

// Failed returns the number of connections that did not complete.
func (o ConnectionsOutcome) Failed() int64 { return o.Reset + o.TimedOut + o.Unfinished }

// AttemptsPerSecond returns the attempts per second, rounded down.
func (o ConnectionsOutcome) AttemptsPerSecond() int64 {
	return perSecond(o.CountedAttempts, o.CountedNanoseconds)
}

// EstablishedPerSecond returns the connections established per second, rounded down.
func (o ConnectionsOutcome) EstablishedPerSecond() int64 {
	return perSecond(o.CountedEstablished, o.CountedNanoseconds)
}

func perSecond(count, nanoseconds int64) int64 {
	if nanoseconds <= 0 {
		return 0
	}
	return int64(float64(count) * 1e9 / float64(nanoseconds))
}
