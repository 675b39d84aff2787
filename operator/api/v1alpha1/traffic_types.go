package v1alpha1

// TrafficKind is what the frames carry.
// +kubebuilder:validation:Enum=UDP;TCP
type TrafficKind string

// IPFamily is the version of IP.
// +kubebuilder:validation:Enum=IPv4;IPv6
type IPFamily string

const (
	// FamilyIPv4 uses addresses of 198.18.0.0/15 (RFC 2544 appendix C.2.2).
	FamilyIPv4 IPFamily = "IPv4"
	// FamilyIPv6 uses addresses of 2001:2::/48 (RFC 5180 section 8).
	FamilyIPv6 IPFamily = "IPv6"
)

// Directions says which ports send.
// +kubebuilder:validation:Enum=Both;Forward;Reverse
type Directions string

const (
	// DirectionsBoth sends from both ports at once, each with the load.
	DirectionsBoth Directions = "Both"
	// DirectionsForward sends from west to east.
	DirectionsForward Directions = "Forward"
	// DirectionsReverse sends from east to west.
	DirectionsReverse Directions = "Reverse"
)

// FlowField is a part of the headers that distinguishes flows.
// +kubebuilder:validation:Enum=SourceAddress;DestinationAddress;SourcePort;DestinationPort
type FlowField string

const (
	// FlowSourceAddress has 32766 values: hosts on the side of the sending port.
	FlowSourceAddress FlowField = "SourceAddress"
	// FlowDestinationAddress has 32749 values: hosts on the side of the receiving port.
	FlowDestinationAddress FlowField = "DestinationAddress"
	// FlowSourcePort has 64512 values: 1024 to 65535.
	FlowSourcePort FlowField = "SourcePort"
	// FlowDestinationPort has 49151 values: 1 to 49151.
	FlowDestinationPort FlowField = "DestinationPort"
)

// FlowOrder is how frames are assigned to flows.
// +kubebuilder:validation:Enum=Sequential;Random
type FlowOrder string

const (
	// FlowsSequential sends one frame of each flow in turn.
	FlowsSequential FlowOrder = "Sequential"
	// FlowsRandom takes the flow of each frame from a pseudo-random sequence.
	FlowsRandom FlowOrder = "Random"
)

// FrameRange is a range of frame sizes.
// +kubebuilder:validation:XValidation:rule="self.from <= self.to",message="to must be at least from",fieldPath=".to"
type FrameRange struct {
	// from is the first size, check sequence included.
	// +required
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=9018
	From int32 `json:"from,omitempty"`

	// to is the largest that a size may be. The last size is the one at or below it.
	// +required
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=9018
	To int32 `json:"to,omitempty"`

	// step between two sizes.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9018
	Step int32 `json:"step,omitempty"`
}

// Traffic is what the frames look like.
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind == 'UDP'",message="frames are UDP: leave kind out, and measure TCP by measurements.tcp",fieldPath=".kind"
// +kubebuilder:validation:XValidation:rule="!has(self.flows) || self.flowVariation.size() > 1 || self.flows <= {'SourcePort': 64512, 'DestinationPort': 49151, 'SourceAddress': 32766}[?self.flowVariation[0]].orValue(32749)",message="lower flows, or vary a second header field",fieldPath=".flows"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamily) || self.ipFamily == 'IPv4' || self.frameBytes.all(b, b >= 82)",message="a frame with IPv6, UDP and the generator's signature has at least 82 bytes: raise frameBytes or use IPv4",fieldPath=".frameBytes"
// +kubebuilder:validation:XValidation:rule="!has(self.imix) || self.ipFamily == 'IPv4' || self.imix.all(m, has(m.frames) && m.frames.all(f, f.frameBytes >= 82))",message="an IPv6 frame has at least 82 bytes (SimpleIMIX has 64): give larger frames, or use IPv4",fieldPath=".imix"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamily) || self.ipFamily == 'IPv4' || !has(self.frameRanges) || self.frameRanges.all(r, r.from >= 82)",message="a frame with IPv6, UDP and the generator's signature has at least 82 bytes: raise from or use IPv4",fieldPath=".frameRanges"
// +kubebuilder:validation:XValidation:rule="!has(self.reversePercent) || self.reversePercent == 100 || !has(self.directions) || self.directions == 'Both'",message="reversePercent is only for directions Both: leave it out, or send in both directions",fieldPath=".reversePercent"
// +kubebuilder:validation:XValidation:rule="!has(self.packets) || self.packets.size() == 0 || !has(self.flows) || self.flows == 1",message="packets in fragments have one flow in each direction: set flows to 1, or measure packets in a separate run",fieldPath=".packets"
type Traffic struct {
	// kind is what the frames carry: UDP. measurements.tcp measures TCP. Default UDP.
	// +optional
	// +kubebuilder:default=UDP
	Kind TrafficKind `json:"kind,omitempty"`

	// ipFamily is IPv4 or IPv6. Default IPv4.
	// +optional
	// +kubebuilder:default=IPv4
	IPFamily IPFamily `json:"ipFamily,omitempty"`

	// directions is Both, Forward (west to east) or Reverse. Default Both. With Both, every
	// load is that of each direction, unless reversePercent is set.
	// +optional
	// +kubebuilder:default=Both
	Directions Directions `json:"directions,omitempty"`

	// reversePercent is the reverse direction's share of every load, with directions Both. Rates in
	// results are those of the forward direction. Default 100.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	ReversePercent int32 `json:"reversePercent,omitempty"`

	// frameBytes are the Ethernet frame sizes, check sequence included (RFC 1242 section 3.5),
	// each measured separately in this order. 64 to 9018 and at most the testbed's MTU + 18.
	// With an empty list only the fields below apply. Default 64, 512, 1518.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="frameBytes names a value twice: leave one out"
	// +kubebuilder:default={64, 512, 1518}
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=64
	// +kubebuilder:validation:items:Maximum=9018
	FrameBytes []int32 `json:"frameBytes,omitzero"`

	// frameRanges are measured after frameBytes; a size in both is measured once. At most 32
	// sizes and mixes in all. Absent: none.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	FrameRanges []FrameRange `json:"frameRanges,omitempty"`

	// imix are mixes of frame sizes, each measured like a frame size, after the others. Loads
	// and rates count all frames of a mix. Absent: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	IMIX []FrameMix `json:"imix,omitempty"`

	// packets are UDP packets that are too large for a frame and are sent as IP fragments that fit the
	// path's smallest MTU, each measured like a size, after the others. Loads, rates and frames are
	// whole packets; one is received when all its fragments have arrived. Absent: none.
	// +optional
	// +listType=map
	// +listMapKey=payloadBytes
	// +kubebuilder:validation:MaxItems=8
	Packets []Packet `json:"packets,omitempty"`

	// flows is the number of UDP flows of each direction. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Flows int32 `json:"flows,omitempty"`

	// flowVariation names the header fields that differ from flow to flow. Several count up at once;
	// any two distinguish a million flows. Default SourcePort. It has no effect with one flow.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="flowVariation names a value twice: leave one out"
	// +kubebuilder:default={SourcePort}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	FlowVariation []FlowField `json:"flowVariation,omitempty"`

	// flowOrder is Sequential (one frame of each flow in turn) or Random (a pseudo-random sequence,
	// evenly spread, the same in every trial; RFC 4814). Default Sequential.
	// +optional
	// +kubebuilder:default=Sequential
	FlowOrder FlowOrder `json:"flowOrder,omitempty"`

	// flowSeed is where the random sequence starts. Default 1. It has no effect with order
	// Sequential.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	FlowSeed int64 `json:"flowSeed,omitempty"`
}
