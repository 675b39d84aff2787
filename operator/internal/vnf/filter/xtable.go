//go:build linux

package filter

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

const (
	tableFilter = "filter"
	tableRaw    = "raw"

	// Hooks of x_tables, NF_INET_*.
	hookPrerouting = 0
	hookInput      = 1
	hookForward    = 2
	hookOutput     = 3

	// Verdicts as a standard target has them: -NF_DROP-1 and -NF_ACCEPT-1.
	xtDrop   = int32(-1)
	xtAccept = int32(-2)

	extensionBytes   = 32 // struct xt_entry_match, struct xt_entry_target: size, name, revision
	extensionNameAt  = 2
	extensionRevAt   = 31
	alignment        = 8
	standardBytes    = 40 // struct xt_standard_target
	flagIPv6Protocol = 1  // IP6T_F_PROTO
)

// layout gives the positions of the parts of struct ipt_entry or ip6t_entry.
type layout struct {
	headerBytes         int
	addressBytes        int // source, destination, and their masks come first
	protocolAt, flagsAt int
	offsetsAt           int // of the target and of the next entry, 16 bits each
	countersAt          int
	needsProtocolFlag   bool
}

var (
	layoutIPv4 = layout{headerBytes: 112, addressBytes: 4, protocolAt: 80, flagsAt: 82, offsetsAt: 88, countersAt: 96}
	layoutIPv6 = layout{headerBytes: 168, addressBytes: 16, protocolAt: 128, flagsAt: 131, offsetsAt: 140, countersAt: 152, needsProtocolFlag: true}
)

// table is one table of x_tables in the kernel's format.
type table struct {
	name                 string
	layout               layout
	validHooks           uint32
	hookEntry, underflow [hooks]uint32
	number               int
	// fixed is how many of them are not part of the walk.
	fixed   int
	entries []byte

	// Indexes of the entries whose counters matter; -1 where there is none.
	established, known, invalid, entered, match, unmatched int
}

func newTable(name string, l layout) *table {
	return &table{name: name, layout: l, established: -1, known: -1, invalid: -1, entered: -1, match: -1, unmatched: -1}
}

// filterTable returns the whole table: INPUT and OUTPUT empty, FORWARD with the
// rules. The one that looks packets up has the match lookup.
func filterTable(firewall *vnf.Firewall, p protocol, lookup []byte) *table {
	t := newTable(tableFilter, p.layout)
	t.chain(hookInput)
	t.policy(hookInput, xtAccept)
	t.chain(hookForward)
	if firewall.Mode == vnf.ModeStateful {
		t.established = t.add(entry{match: trackedMatch(conntrackState, stateEstablished|stateRelated, 0), target: standard(xtAccept)})
		t.known = t.add(entry{match: trackedMatch(conntrackStatus, 0, statusConfirmed), target: standard(xtAccept)})
		t.invalid = t.add(entry{match: trackedMatch(conntrackState, stateInvalid, 0), target: standard(xtDrop)})
	}
	t.entered = t.add(entry{})
	rules := firewall.Walk(p.ipv6)
	for _, rule := range rules {
		e := entry{source: rule.Source, udp: firewall.MatchBy == vnf.MatchByPort, target: standard(xtVerdict(rule.Accept))}
		switch {
		case rule.Lookup:
			e.match = lookup
		case e.udp:
			e.match = udpMatch(rule.Ports)
		}
		index := t.add(e)
		if rule.Match {
			t.match = index
		}
	}
	policy := xtVerdict(firewall.DefaultPolicy == vnf.VerdictAccept)
	t.unmatched = t.add(entry{target: standard(policy)})
	t.policy(hookForward, policy)
	t.chain(hookOutput)
	t.policy(hookOutput, xtAccept)
	t.end()
	t.fixed = t.number - len(rules)
	return t
}

// rawTable returns a table that keeps every incoming packet from connection tracking.
func rawTable(l layout) *table {
	t := newTable(tableRaw, l)
	t.chain(hookPrerouting)
	t.add(entry{target: noTrack()})
	t.policy(hookPrerouting, xtAccept)
	t.chain(hookOutput)
	t.policy(hookOutput, xtAccept)
	t.end()
	return t
}

func xtVerdict(accept bool) int32 {
	if accept {
		return xtAccept
	}
	return xtDrop
}

func (t *table) chain(hook int) {
	t.validHooks |= 1 << hook
	t.hookEntry[hook] = uint32(len(t.entries))
}

// policy ends a chain: the last entry of a hook is its policy.
func (t *table) policy(hook int, verdict int32) {
	t.underflow[hook] = uint32(len(t.entries))
	t.add(entry{target: standard(verdict)})
}

// end adds the entry that closes a table.
func (t *table) end() {
	target := extension("ERROR", 0, make([]byte, 30))
	copy(target[extensionBytes:], "ERROR")
	t.add(entry{target: target})
}

// entry is one rule. Without a source it matches any, with udp only packets of
// UDP. One without a target counts, and the packet continues with the next one.
type entry struct {
	source        netip.Prefix
	udp           bool
	match, target []byte
}

// add appends an entry and returns its index.
func (t *table) add(e entry) int {
	l := t.layout
	if e.target == nil {
		// A verdict that is an offset jumps; the offset of the very next entry falls through.
		e.target = standard(int32(len(t.entries) + l.headerBytes + len(e.match) + standardBytes))
	}
	header := make([]byte, l.headerBytes, l.headerBytes+len(e.match)+len(e.target))
	if e.source.IsValid() {
		copy(header, e.source.Addr().AsSlice())
		mask := header[2*l.addressBytes:]
		for bit := range e.source.Bits() {
			mask[bit/8] |= 0x80 >> (bit % 8)
		}
	}
	if e.udp {
		binary.NativeEndian.PutUint16(header[l.protocolAt:], unix.IPPROTO_UDP)
		if l.needsProtocolFlag {
			header[l.flagsAt] |= flagIPv6Protocol
		}
	}
	binary.NativeEndian.PutUint16(header[l.offsetsAt:], uint16(l.headerBytes+len(e.match)))
	binary.NativeEndian.PutUint16(header[l.offsetsAt+2:], uint16(l.headerBytes+len(e.match)+len(e.target)))
	t.entries = append(append(append(t.entries, header...), e.match...), e.target...)
	t.number++
	return t.number - 1
}

// extension returns a match or a target with its data.
func extension(name string, revision byte, data []byte) []byte {
	size := extensionBytes + (len(data)+alignment-1)/alignment*alignment
	bytes := make([]byte, size)
	binary.NativeEndian.PutUint16(bytes, uint16(size))
	copy(bytes[extensionNameAt:], name)
	bytes[extensionRevAt] = revision
	copy(bytes[extensionBytes:], data)
	return bytes
}

// standard returns the target without a name: a verdict.
func standard(verdict int32) []byte {
	return extension("", 0, binary.NativeEndian.AppendUint32(nil, uint32(verdict)))
}

// noTrack returns target CT with --notrack (struct xt_ct_target_info_v1, revision 2).
func noTrack() []byte {
	const flagNoTrack, revision, bytes = 1, 2, 72
	data := make([]byte, bytes)
	binary.NativeEndian.PutUint16(data, flagNoTrack)
	return extension("CT", revision, data)
}

// udpMatch returns match udp with --dport (struct xt_udp).
func udpMatch(ports vnf.PortRange) []byte {
	data := make([]byte, 10)
	for i, port := range []uint16{0, maxPort, ports.First, ports.Last} {
		binary.NativeEndian.PutUint16(data[2*i:], port)
	}
	return extension("udp", 0, data)
}

const maxPort = 65_535

// setMatch returns match set with --match-set for the source address or the
// destination port (struct xt_set_info_match_v4, without its counters).
func setMatch(index uint16, source bool) []byte {
	const revision, bytes, dimensionAt, flagsAt, flagSource = 4, 48, 2, 3, 1 << 1
	data := make([]byte, bytes)
	binary.NativeEndian.PutUint16(data, index)
	data[dimensionAt] = 1
	if source {
		data[flagsAt] = flagSource
	}
	return extension("set", revision, data)
}

// Bits of match conntrack (linux/netfilter/xt_conntrack.h).
const (
	conntrackState   = 1 << 0
	conntrackStatus  = 1 << 6
	stateInvalid     = 1 << 0
	stateEstablished = 1 << 1
	stateRelated     = 1 << 2

	conntrackRevision = 3
	conntrackBytes    = 164
	conntrackFlagsAt  = 146
	conntrackStateAt  = 150
	conntrackStatusAt = 152
)

// trackedMatch returns match conntrack with --ctstate or --ctstatus (struct xt_conntrack_mtinfo3).
func trackedMatch(flags, state, status uint16) []byte {
	data := make([]byte, conntrackBytes)
	binary.NativeEndian.PutUint16(data[conntrackFlagsAt:], flags)
	binary.NativeEndian.PutUint16(data[conntrackStateAt:], state)
	binary.NativeEndian.PutUint16(data[conntrackStatusAt:], status)
	return extension("conntrack", conntrackRevision, data)
}
