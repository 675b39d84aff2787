// Package astf is the driver of TRex's stateful mode: TRex's own TCP at both of its
// ports, with clients at the west one and servers at the east one.
//
// It takes a trial of TCP connections or of exchanges, makes a profile for the server,
// and from the server's counters an outcome in the terms of package measure. The profile
// and the reading of counters are pure; the driver takes a server that runs, and ends it.
package astf

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/planning"
)

// The JSON of a profile, with the server's names.
type profile struct {
	Buffers   []buffer       `json:"buf_list"`
	Addresses []addressRange `json:"ip_gen_dist_list"`
	Programs  []program      `json:"program_list"`
	Client    *tunables      `json:"c_glob_info,omitempty"`
	Server    *tunables      `json:"s_glob_info,omitempty"`
	Templates []template     `json:"templates"`
	Groups    []string       `json:"tg_names"`
}

// buffer is Base, filled up to Size with repeated Fill; both are base64.
type buffer struct {
	Base string `json:"base"`
	Size int    `json:"size"`
	Fill string `json:"fill"`
}

type addressRange struct {
	Side         string `json:"dir"`
	Distribution string `json:"distribution"`
	First        string `json:"ip_start"`
	Last         string `json:"ip_end"`
	// Offset is added for each further pair of ports. There is one pair.
	Offset string `json:"ip_offset"`
}

type program struct {
	Commands []command `json:"commands"`
}

type command map[string]any

type template struct {
	Client clientTemplate `json:"client_template"`
	Server serverTemplate `json:"server_template"`
	// Group has separate counters, from 1.
	Group int `json:"tg_id"`
}

type clientTemplate struct {
	Addresses addresses `json:"ip_gen"`
	Cluster   struct{}  `json:"cluster"`
	Port      int       `json:"port"`
	// PerSecond is the rate of new flows until there are Limit of them; 0 is no limit.
	PerSecond float64 `json:"cps"`
	Limit     int64   `json:"limit,omitempty"`
	Program   int     `json:"program_index"`
}

type addresses struct {
	Clients index `json:"dist_client"`
	Servers index `json:"dist_server"`
}

type index struct {
	Index int `json:"index"`
}

type serverTemplate struct {
	Ports   []port `json:"assoc"`
	Program int    `json:"program_index"`
}

type port struct {
	Port int `json:"port"`
}

type tunables struct {
	TCP  tcpTunables   `json:"tcp"`
	IPv6 *ipv6Tunables `json:"ipv6,omitempty"`
}

type tcpTunables struct {
	MSSBytes     int    `json:"mss,omitempty"`
	ReceiveBytes int64  `json:"rxbufsize,omitempty"`
	SendBytes    int64  `json:"txbufsize,omitempty"`
	Congestion   *uint8 `json:"cc_algo,omitempty"`
	// KeepIdleSeconds is how long a connection is silent before it is probed.
	KeepIdleSeconds int `json:"keepidle,omitempty"`
}

// ipv6Tunables are the upper 96 bits of both sides' addresses, as 16 octets.
type ipv6Tunables struct {
	Enable      int   `json:"enable"`
	Source      []int `json:"src_msb"`
	Destination []int `json:"dst_msb"`
}

const (
	// portForward and portReverse distinguish the directions of bulk transfers, portHTTP
	// is that of exchanges.
	portForward = 5201
	portReverse = 5202
	portHTTP    = 80

	// bulkBytes is the size of one write, which repeats without end, bulkWrites times.
	bulkBytes  = 1 << 16
	bulkWrites = 1 << 40
	// neverBytes is more than any trial carries.
	neverBytes = 1 << 60
	// openingPerSecond is the rate of opening for each connection of a bulk transfer: all
	// of them open within half a second.
	openingPerSecond = 2

	// DefaultWindowBytes is the size of both socket buffers if the trial names none. TRex
	// has no automatic tuning, and its own default of 32 KiB bounds the goodput of one
	// connection to 260 Mbit/s at a round trip of 1 ms.
	DefaultWindowBytes = 256 << 10
	// silentSeconds keeps the servers and clients of held connections from probing each
	// other: the question is whether a device remembers a silent connection.
	silentSeconds = 5000
	// holdMargin is how much longer than requested connections are held, so that none
	// ends before the last reading.
	holdMargin = 2_000_000_000

	// sequential chooses addresses one after the other.
	sequential = "seq"
)

// congestion are TRex's algorithms by the names in planning.CongestionControls.
var congestion = map[string]uint8{"newreno": 0, "reno": 0, "cubic": 1}

// congestionName returns the server's name.
func congestionName(asked string) string {
	if congestion[asked] == 1 {
		return "cubic"
	}
	return "newreno"
}

// forTCP makes the profile of bulk transfers: in each direction as many connections as
// the trial has streams, which write without end. The clients open all of them; in the
// reverse direction their servers write. Groups are named by direction.
func forTCP(between measure.Stateful, tcp measure.TCPTrial) (profile, error) {
	if tcp.TargetBitsPerSecond != 0 {
		return profile{}, fmt.Errorf("TRex's TCP cannot be held to a rate")
	}
	algorithm, known := congestion[tcp.CongestionControl]
	if !known && tcp.CongestionControl != "" {
		return profile{}, fmt.Errorf("TRex's TCP has no congestion control %q, but %s", tcp.CongestionControl, strings.Join(planning.CongestionControls, ", "))
	}
	window := tcp.WindowBytes
	if window == 0 {
		window = DefaultWindowBytes
	}
	p := base(between, tcpTunables{MSSBytes: tcp.MSSBytes, ReceiveBytes: window, SendBytes: window, Congestion: &algorithm})
	p.Buffers = []buffer{filled("", bulkBytes)}
	p.Programs = []program{
		{Commands: []command{
			{"name": "connect"},
			{"name": "tx_mode", "flags": 1}, // the next write does not wait for this one's last acknowledgement
			{"name": "set_var", "id": 0, "val": int64(bulkWrites)},
			{"name": "tx", "buf_index": 0},
			{"name": "jmp_nz", "id": 0, "offset": -1},
		}},
		{Commands: []command{{"name": "rx", "min_bytes": int64(neverBytes)}}},
	}
	const sends, receives = 0, 1
	for i, direction := range tcp.Directions {
		client, server, at := sends, receives, portForward
		if direction == measure.Reverse {
			client, server, at = receives, sends, portReverse
		}
		p.Templates = append(p.Templates, newTemplate(i+1, at, client, server, float64(openingPerSecond*tcp.Streams), int64(tcp.Streams)))
		p.Groups = append(p.Groups, strings.ToLower(string(direction)))
	}
	return p, nil
}

// forConnections makes the profile of exchanges: a request, its response, and the end.
// Held connections have a second exchange before the end, which shows that the device
// still forwards them.
func forConnections(between measure.Stateful, c measure.ConnectionsTrial, counts int64) profile {
	request, response := httpRequest(c.RequestBytes), httpResponse(c.ResponseBytes)
	tcp := tcpTunables{MSSBytes: between.MSSBytes}
	client := []command{{"name": "tx", "buf_index": 0}, {"name": "rx", "min_bytes": c.ResponseBytes}}
	server := []command{{"name": "rx", "min_bytes": c.RequestBytes}, {"name": "tx", "buf_index": 1}}
	if c.ConcurrentConnections > 0 {
		tcp.KeepIdleSeconds = silentSeconds
		hold := (c.RampNanoseconds() + counts + holdMargin) / 1000
		client = append(client, command{"name": "delay", "usec": hold},
			command{"name": "tx", "buf_index": 0}, command{"name": "rx", "min_bytes": 2 * c.ResponseBytes})
		server = append(server, command{"name": "rx", "min_bytes": 2 * c.RequestBytes}, command{"name": "tx", "buf_index": 1})
	}
	p := base(between, tcp)
	p.Buffers = []buffer{request, response}
	p.Programs = []program{{client}, {server}}
	p.Templates = []template{newTemplate(1, portHTTP, 0, 1, float64(c.ConnectionsPerSecond), c.ConcurrentConnections)}
	p.Groups = []string{"connections"}
	return p
}

func newTemplate(group, at, client, server int, perSecond float64, limit int64) template {
	return template{
		Group: group,
		Client: clientTemplate{
			Addresses: addresses{Clients: index{0}, Servers: index{1}},
			Port:      at, PerSecond: perSecond, Limit: limit, Program: client,
		},
		Server: serverTemplate{Ports: []port{{at}}, Program: server},
	}
}

func base(between measure.Stateful, tcp tcpTunables) profile {
	both := &tunables{TCP: tcp}
	if clients := between.Clients.First; clients.Is6() {
		both.IPv6 = &ipv6Tunables{Enable: 1, Source: octets(clients), Destination: octets(between.Servers.First)}
	}
	return profile{
		Addresses: []addressRange{rangeOf("c", between.Clients), rangeOf("s", between.Servers)},
		Client:    both, Server: both,
	}
}

// rangeOf returns IPv4 addresses unchanged, and the last 32 bits of IPv6 addresses.
func rangeOf(side string, hosts measure.Hosts) addressRange {
	return addressRange{
		Side: side, Distribution: sequential, Offset: "1.0.0.0",
		First: lowest32(hosts.First).String(), Last: lowest32(hosts.Last()).String(),
	}
}

func lowest32(a netip.Addr) netip.Addr {
	bytes := a.AsSlice()
	return netip.AddrFrom4([4]byte(bytes[len(bytes)-4:]))
}

func octets(a netip.Addr) []int {
	var out []int
	for _, octet := range a.AsSlice() {
		out = append(out, int(octet))
	}
	return out
}

// filler fills up payloads.
const filler = "*"

func filled(text string, size int) buffer {
	text = text[:min(len(text), size)]
	if text == "" {
		text = filler
	}
	return buffer{Base: base64.StdEncoding.EncodeToString([]byte(text)), Size: size, Fill: base64.StdEncoding.EncodeToString([]byte(filler))}
}

// httpRequest returns a GET whose path is as long as its size requires.
func httpRequest(size int) buffer {
	const head, tail = "GET /", " HTTP/1.1\r\nHost: vnfbench\r\n\r\n"
	return filled(head+strings.Repeat(filler, max(0, size-len(head)-len(tail)))+tail, size)
}

// httpResponse returns a response whose body is as long as its size requires.
func httpResponse(size int) buffer {
	head := ""
	// The head contains the length of the body, which may change the length of the head.
	for body := size; body >= 0; body-- {
		head = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", body)
		if len(head)+body <= size {
			break
		}
	}
	return filled(head, size)
}

// encode returns the profile as the server reads it. Equal trials give equal bytes.
func (p profile) encode() ([]byte, error) { return json.Marshal(p) }

const (
	// firstFragment is small: the server compares the digest in it before the client
	// sends the rest.
	firstFragment = 1000
	// furtherFragment keeps a request well below the server's 999,999 bytes.
	furtherFragment = 500_000
)

// fragments cuts a profile for profile_fragment.
func fragments(encoded []byte) [][]byte {
	out := [][]byte{encoded[:min(firstFragment, len(encoded))]}
	rest := encoded[len(out[0]):]
	return slices.AppendSeq(out, slices.Chunk(rest, furtherFragment))
}
