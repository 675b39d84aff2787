package v1alpha1

// TCP measures what TCP connections of the kernel carry through the chain. The ends are two pods
// next to the traffic pod that run iperf3. Of spec.experiment.traffic, only the IP family
// applies, and no sizes or loads.
type TCP struct {
	// streams are the numbers of parallel connections of each direction, each measured
	// separately in this order: 1 to 128, at most 16 of them. Default 1. The report
	// extrapolates from the smallest.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="streams names a value twice: leave one out"
	// +kubebuilder:default={1}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=128
	Streams []int32 `json:"streams,omitempty"`

	// directions is Forward (data from west to east), Reverse or Both at once.
	// The side that sends the data opens the connections. Default Forward.
	// +optional
	// +kubebuilder:default=Forward
	Directions Directions `json:"directions,omitempty"`

	// durationSeconds is the time that counts, 1 to 3600. Default 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	DurationSeconds int32 `json:"durationSeconds,omitempty"`

	// omitSeconds is the time before it that does not count, in which the connections leave
	// slow start. Default 2. With 0, slow start counts too.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=60
	OmitSeconds *int32 `json:"omitSeconds,omitempty"`

	// mssBytes is the maximum segment size that the ends request. Absent: what follows from
	// the testbed's MTU.
	// +optional
	// +kubebuilder:validation:Minimum=536
	// +kubebuilder:validation:Maximum=9176
	MSSBytes *int32 `json:"mssBytes,omitempty"`

	// congestionControl is a congestion control algorithm that the generator
	// node's kernel offers to every user, such as cubic or reno. Absent: the
	// kernel's default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9_]+$`
	CongestionControl string `json:"congestionControl,omitempty"`

	// windowBytes is the size of both socket buffers of each connection. Absent:
	// the kernel tunes them by itself.
	// +optional
	// +kubebuilder:validation:Minimum=4096
	// +kubebuilder:validation:Maximum=536870912
	WindowBytes *int64 `json:"windowBytes,omitempty"`

	// targetBitsPerSecond is the most that the connections of a direction send together,
	// divided equally. Absent: as fast as they can.
	// +optional
	// +kubebuilder:validation:Minimum=128000
	// +kubebuilder:validation:Maximum=1000000000000
	TargetBitsPerSecond *int64 `json:"targetBitsPerSecond,omitempty"`
}

// TCPResult is what measurements.tcp found.
type TCPResult struct {
	// streams holds one entry for each number of connections.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Streams []TCPStreamsResult `json:"streams,omitempty"`

	// ends are the two ends of the connections, west first.
	// +optional
	// +kubebuilder:validation:MaxItems=2
	Ends []TCPEnd `json:"ends,omitempty"`
}

// TCPStreamsResult is the result of one number of connections.
type TCPStreamsResult struct {
	// streams is the number of connections of each direction.
	// +required
	Streams int32 `json:"streams,omitempty"`

	// directions holds Forward, Reverse or both.
	// +required
	// +kubebuilder:validation:MaxItems=2
	Directions []TCPDirectionResult `json:"directions,omitempty"`
}

// TCPDirectionResult is one direction, with all connections together. Over repeats, rates are
// means rounded down, retransmits and round trip times are means rounded up, and extremes are
// those of all repeats.
type TCPDirectionResult struct {
	// direction is Forward (data from west to east) or Reverse.
	// +required
	// +kubebuilder:validation:Enum=Forward;Reverse
	Direction string `json:"direction,omitempty"`

	// goodputBitsPerSecond is the payload that the receiving program read.
	// +required
	GoodputBitsPerSecond int64 `json:"goodputBitsPerSecond"`

	// sentBitsPerSecond is the payload that the sending program wrote.
	// +required
	SentBitsPerSecond int64 `json:"sentBitsPerSecond"`

	// retransmits are segments that the sender sent again.
	// +required
	Retransmits int64 `json:"retransmits"`

	// efficiencyPartsPerMillion is the share of the payload sent that was not sent
	// again (RFC 6349 section 4.2), rounded down.
	// +required
	EfficiencyPartsPerMillion int64 `json:"efficiencyPartsPerMillion"`

	// roundTripTime is the sender's smoothed estimate (RFC 6298). Absent where the sender's
	// kernel does not report it.
	// +optional
	RoundTripTime *TCPRoundTripTime `json:"roundTripTime,omitempty"`

	// senderCPUPartsPerMillion is the sending program's CPU time as a share of the time, without the
	// kernel's work outside of its system calls.
	// +required
	SenderCPUPartsPerMillion int64 `json:"senderCPUPartsPerMillion"`

	// receiverCPUPartsPerMillion is the receiving program's.
	// +required
	ReceiverCPUPartsPerMillion int64 `json:"receiverCPUPartsPerMillion"`

	// maximumSegmentBytes is the sender's maximum segment size.
	// +optional
	MaximumSegmentBytes int32 `json:"maximumSegmentBytes,omitempty"`

	// congestionControl is the sender's algorithm.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	CongestionControl string `json:"congestionControl,omitempty"`

	// intervals of the latest repeat, as the sender saw them, without the omitted time.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	Intervals []TCPInterval `json:"intervals,omitempty"`

	// statistics of goodput and retransmits over the repeats. Absent with fewer than two.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	Statistics []Statistics `json:"statistics,omitempty"`

	// doubts about the figures, such as EndpointCeiling.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`
}

// TCPRoundTripTime is the round trip time as the sender's kernel estimates it,
// sampled at the end of each interval.
type TCPRoundTripTime struct {
	// minNanoseconds is the smallest sample of any connection.
	// +required
	MinNanoseconds int64 `json:"minNanoseconds"`
	// meanNanoseconds is the mean of the connections' means.
	// +required
	MeanNanoseconds int64 `json:"meanNanoseconds"`
	// maxNanoseconds is the largest sample of any connection.
	// +required
	MaxNanoseconds int64 `json:"maxNanoseconds"`
}

// TCPInterval is a part of a trial.
type TCPInterval struct {
	// startMilliseconds from the start of the time that counts.
	// +required
	StartMilliseconds int64 `json:"startMilliseconds"`
	// sentBitsPerSecond of all connections.
	// +required
	SentBitsPerSecond int64 `json:"sentBitsPerSecond"`
	// retransmits of all connections.
	// +required
	Retransmits int64 `json:"retransmits"`
}

// TCPEnd is one end of the TCP connections.
type TCPEnd struct {
	// name is west or east.
	// +required
	// +kubebuilder:validation:Enum=west;east
	Name string `json:"name,omitempty"`

	// program that made the connections here.
	// +optional
	Program *Program `json:"program,omitempty"`

	// threading is Single where one thread serves all connections of a trial (iperf3 before 3.16), and
	// PerConnection where each has its own. Absent with TRex.
	// +optional
	Threading Threading `json:"threading,omitempty"`

	// mtuBytes is its port's.
	// +optional
	MTUBytes int32 `json:"mtuBytes,omitempty"`

	// offloads of TSO, GSO, GRO and LRO that are on at its port. They are left as the kernel
	// has them.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=20
	Offloads []string `json:"offloads,omitempty"`
}

// Program is a program that makes traffic.
type Program struct {
	// name is iperf3 or TRex.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Name ProgramName `json:"name,omitempty"`

	// version as the program gives it, such as 3.12 or v3.08.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Version string `json:"version,omitempty"`
}

// ProgramName names a program that makes traffic.
type ProgramName string

const (
	// ProgramIperf3 runs in a pod at each end.
	ProgramIperf3 ProgramName = "iperf3"
	// ProgramTRex is both ends itself.
	ProgramTRex ProgramName = "TRex"
)

// Threading says how many threads of a program serve connections.
// +kubebuilder:validation:MaxLength=64
type Threading string

const (
	// ThreadingSingle is one thread for all of them.
	ThreadingSingle Threading = "Single"
	// ThreadingPerConnection is one thread for each of them.
	ThreadingPerConnection Threading = "PerConnection"
)
