package trex

// The parameters of TRex's method add_stream that the driver uses, by TRex's own names.

type stream struct {
	Enabled     bool `json:"enabled"`
	SelfStart   bool `json:"self_start"`
	Flags       int  `json:"flags"`
	ActionCount int  `json:"action_count"`
	// RandomSeed is that of the machine's random variables; 0 uses the time.
	RandomSeed uint32 `json:"random_seed"`
	// ISG is the time before the first packet, in microseconds.
	ISG          float64   `json:"isg"`
	NextStreamID int       `json:"next_stream_id"`
	Packet       packet    `json:"packet"`
	Mode         mode      `json:"mode"`
	VM           vm        `json:"vm"`
	FlowStats    flowStats `json:"flow_stats"`
}

const (
	// ownMACs leaves both Ethernet addresses as they are in the packet: bit 0 is for the
	// source, bits 1 and 2 for the destination.
	ownMACs = 1 | 1<<1
	// noStream ends a chain of streams.
	noStream = -1
)

type packet struct {
	// Binary has no check sequence.
	Binary []byte `json:"binary"`
	Meta   string `json:"meta"`
}

const (
	continuous  = "continuous"
	singleBurst = "single_burst"
)

type mode struct {
	Type string `json:"type"`
	// TotalPackets is the size of a single burst.
	TotalPackets uint64 `json:"total_pkts,omitempty"`
	Rate         rate   `json:"rate"`
}

type rate struct {
	Type  string  `json:"type"`
	Value float64 `json:"value"`
}

type flowStats struct {
	Enabled  bool   `json:"enabled"`
	StreamID int    `json:"stream_id"`
	RuleType string `json:"rule_type"`
	VXLAN    bool   `json:"vxlan"`
	IEEE1588 bool   `json:"ieee_1588"`
}

// Rules of flow statistics.
const (
	// countRule counts packets, which TRex identifies by their IPv4 identification or
	// IPv6 flow label.
	countRule = "stats"
	// timeRule counts and times them, by a signature in the last 16 bytes.
	timeRule = "latency"
)

// vm is the program that changes every packet before it leaves.
type vm struct {
	Instructions []any `json:"instructions"`
}

type flowVariable struct {
	Type         string  `json:"type"` // "flow_var"
	Name         string  `json:"name"`
	Size         int     `json:"size"`
	Op           string  `json:"op"`
	InitValue    uint64  `json:"init_value"`
	MinValue     uint64  `json:"min_value"`
	MaxValue     uint64  `json:"max_value"`
	Step         uint64  `json:"step"`
	SplitToCores bool    `json:"split_to_cores"`
	NextVariable *string `json:"next_var"`
}

type tupleVariable struct {
	Type       string `json:"type"` // "tuple_flow_var"
	Name       string `json:"name"`
	IPMin      uint32 `json:"ip_min"`
	IPMax      uint32 `json:"ip_max"`
	PortMin    uint16 `json:"port_min"`
	PortMax    uint16 `json:"port_max"`
	LimitFlows uint32 `json:"limit_flows"`
	Flags      uint16 `json:"flags"`
}

// writeVariable writes as many bytes as the variable has.
type writeVariable struct {
	Type         string `json:"type"` // "write_flow_var"
	Name         string `json:"name"`
	PacketOffset int    `json:"pkt_offset"`
	AddValue     int    `json:"add_value"`
	IsBigEndian  bool   `json:"is_big_endian"`
}

// writeLow writes the lower bytes of a variable.
type writeLow struct {
	Type           string `json:"type"` // "write_mask_flow_var"
	Name           string `json:"name"`
	PacketOffset   int    `json:"pkt_offset"`
	PacketCastSize int    `json:"pkt_cast_size"`
	Mask           uint32 `json:"mask"`
	Shift          int    `json:"shift"`
	AddValue       int    `json:"add_value"`
	IsBigEndian    bool   `json:"is_big_endian"`
}

type fixIPv4Checksum struct {
	Type         string `json:"type"` // "fix_checksum_ipv4"
	PacketOffset int    `json:"pkt_offset"`
}
