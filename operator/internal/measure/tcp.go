package measure

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// StageTCP is a trial of TCP connections.
const StageTCP Stage = "TCP"

// TCPPath has the addresses on the measured path between which two endpoints make TCP
// connections.
type TCPPath struct {
	West netip.Addr `json:"west"`
	East netip.Addr `json:"east"`
}

// TCPDirections returns those in which data of a TCP measurement flows at the same time.
func TCPDirections(directions v1alpha1.Directions) []Direction {
	switch directions {
	case v1alpha1.DirectionsReverse:
		return []Direction{Reverse}
	case v1alpha1.DirectionsBoth:
		return []Direction{Forward, Reverse}
	}
	return []Direction{Forward}
}

// TCPSettings are those of every connection; 0 and "" leave them to the kernel.
type TCPSettings struct {
	MSSBytes          int    `json:"mssBytes,omitempty"`
	CongestionControl string `json:"congestionControl,omitempty"`
	WindowBytes       int64  `json:"windowBytes,omitempty"`
	// TargetBitsPerSecond is the rate of a direction's connections together.
	TargetBitsPerSecond int64 `json:"targetBitsPerSecond,omitempty"`
}

// TCPTrial is the part of a Trial that TCP has instead of frames and a load.
type TCPTrial struct {
	Streams         int         `json:"streams"`
	OmitNanoseconds int64       `json:"omitNanoseconds"`
	Directions      []Direction `json:"directions"`
	TCPSettings
}

// Check returns why the transfer cannot be made, for trials whose drivers count
// whole seconds.
func (t TCPTrial) Check() error {
	switch {
	case t.Streams < 1:
		return fmt.Errorf("%d TCP connections", t.Streams)
	case t.OmitNanoseconds < 0:
		return fmt.Errorf("a begin of %d ns to leave out", t.OmitNanoseconds)
	case len(t.Directions) == 0:
		return errors.New("TCP connections without a direction")
	}
	for i, direction := range t.Directions {
		if direction != Forward && direction != Reverse || slices.Contains(t.Directions[:i], direction) {
			return fmt.Errorf("direction %q is unknown or there twice", direction)
		}
	}
	return nil
}

// TCPOutcome is what a trial of TCP connections found.
type TCPOutcome struct {
	Directions []TCPDirectionOutcome `json:"directions"`
	// Ends are west and east.
	Ends []TCPEnd `json:"ends"`
}

// TCPDirectionOutcome is the outcome of all connections of one direction.
type TCPDirectionOutcome struct {
	Direction Direction `json:"direction"`
	// SentBytes is the payload written in SentNanoseconds, ReceivedBytes the payload read in
	// ReceivedNanoseconds. Each end leaves out the omitted time by its own clock, so data under
	// way then may be counted at only one end.
	SentBytes           int64 `json:"sentBytes"`
	SentNanoseconds     int64 `json:"sentNanoseconds"`
	ReceivedBytes       int64 `json:"receivedBytes"`
	ReceivedNanoseconds int64 `json:"receivedNanoseconds"`
	// Retransmits are segments sent again.
	Retransmits int64 `json:"retransmits"`
	// The smoothed round trip time; all 0 if the kernel does not report it.
	RTTMinNanoseconds  int64 `json:"rttMinNanoseconds,omitempty"`
	RTTMeanNanoseconds int64 `json:"rttMeanNanoseconds,omitempty"`
	RTTMaxNanoseconds  int64 `json:"rttMaxNanoseconds,omitempty"`
	// CPU time of the programs as a share of the time, 1000000 for one CPU.
	SenderCPUPartsPerMillion   int64         `json:"senderCPUPartsPerMillion"`
	ReceiverCPUPartsPerMillion int64         `json:"receiverCPUPartsPerMillion"`
	MaximumSegmentBytes        int           `json:"maximumSegmentBytes,omitempty"`
	CongestionControl          string        `json:"congestionControl,omitempty"`
	Intervals                  []TCPInterval `json:"intervals,omitempty"`
}

// MaximumTCPIntervals bounds the series of a direction.
const MaximumTCPIntervals = 20

// TCPInterval is a part of the time that counts, as the sender saw it.
type TCPInterval struct {
	StartNanoseconds int64 `json:"start"`
	Nanoseconds      int64 `json:"length"`
	Bytes            int64 `json:"bytes"`
	Retransmits      int64 `json:"retransmits,omitempty"`
}

// TCPEnd is what a machine at an end of the connections reports about itself.
type TCPEnd struct {
	// Name is "west" or "east".
	Name string `json:"name"`
	// Program made the connections here.
	Program Program `json:"program,omitzero"`
	// ThreadPerConnection is true if the program has a thread for each connection, instead of
	// one for all of them.
	ThreadPerConnection bool `json:"threadPerConnection,omitempty"`
	MTUBytes            int  `json:"mtuBytes,omitempty"`
	// Offloads are those of TSO, GSO, GRO and LRO that are on.
	Offloads []string `json:"offloads,omitempty"`
}

// Program makes traffic.
type Program struct {
	// Name is ProgramIperf3 or ProgramTRex.
	Name string `json:"name"`
	// Version is in the program's own words, such as "3.12" or "v3.08".
	Version string `json:"version,omitempty"`
}

// Names of programs.
const (
	ProgramIperf3 = "iperf3"
	ProgramTRex   = "TRex"
)

// BitsPerSecond returns a rate rounded down; 0 if no time passed.
func BitsPerSecond(bytes, nanoseconds int64) int64 {
	if nanoseconds <= 0 {
		return 0
	}
	return int64(float64(bytes) * 8e9 / float64(nanoseconds))
}

// GoodputBitsPerSecond returns the rate of what the receiver read.
func (d TCPDirectionOutcome) GoodputBitsPerSecond() int64 {
	return BitsPerSecond(d.ReceivedBytes, d.ReceivedNanoseconds)
}

// SentBitsPerSecond returns the rate of what the sender wrote.
func (d TCPDirectionOutcome) SentBitsPerSecond() int64 {
	return BitsPerSecond(d.SentBytes, d.SentNanoseconds)
}

// Names of the two ends.
const (
	EndWest = "west"
	EndEast = "east"
)

// Endpoints are where the two agents listen on the pod network: the value of
// KeyEndpoints, which the controller writes together with KeyChain.
type Endpoints struct {
	West netip.AddrPort `json:"west"`
	East netip.AddrPort `json:"east"`
}

// KeyEndpoints holds Endpoints, if a run measures TCP.
const KeyEndpoints = "endpoints.json"
