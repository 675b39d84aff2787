//go:build linux

package astf

import (
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/traffic/trex/planning"
	"vnfbench.io/operator/internal/traffic/trex/server"
	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/kernel"
)

// The path of the tests with a real server: its two ports, and a forwarding
// kernel between them.
const (
	generatorWest, routerWest = "02:00:00:00:00:01", "02:00:00:00:00:02"
	routerEast, generatorEast = "02:00:00:00:01:01", "02:00:00:00:01:02"
)

type realPath struct {
	generator, router *netnstest.Namespace
	program           string
}

// newRealPath needs a TRex server; without one the test reports that it did not run.
func newRealPath(t *testing.T) *realPath {
	t.Helper()
	program := os.Getenv("TREX")
	if program == "" {
		t.Skip("TREX names no TRex server (its program _t-rex-64)")
	}
	p := &realPath{generator: netnstest.New(t, "generator"), router: netnstest.New(t, "router"), program: program}
	netnstest.Cable(t, netnstest.End{Namespace: p.generator, Interface: "west", MAC: generatorWest},
		netnstest.End{Namespace: p.router, Interface: "west", MAC: routerWest})
	netnstest.Cable(t, netnstest.End{Namespace: p.router, Interface: "east", MAC: routerEast},
		netnstest.End{Namespace: p.generator, Interface: "east", MAC: generatorEast})
	prefix, address := netip.MustParsePrefix, netip.MustParseAddr
	config := &vnf.Config{
		Function: vnf.FunctionRouter, Name: "router",
		Ports: []vnf.Port{
			{Name: "west", Interface: "west", MAC: routerWest, MTUBytes: 1500, Addresses: []netip.Prefix{prefix("198.18.0.2/24"), prefix("2001:2::2/64")}},
			{Name: "east", Interface: "east", MAC: routerEast, MTUBytes: 1500, Addresses: []netip.Prefix{prefix("198.18.1.1/24"), prefix("2001:2:0:1::1/64")}},
		},
		Routes: []vnf.Route{
			{Destination: prefix("198.18.128.0/17"), Via: address("198.18.0.1"), Port: "west"},
			{Destination: prefix("198.19.128.0/17"), Via: address("198.18.1.2"), Port: "east"},
			{Destination: prefix("2001:2:0:8000::/64"), Via: address("2001:2::1"), Port: "west"},
			{Destination: prefix("2001:2:0:9000::/64"), Via: address("2001:2:0:1::2"), Port: "east"},
		},
		Neighbors: []vnf.Neighbor{
			{Address: address("198.18.0.1"), MAC: generatorWest, Port: "west"},
			{Address: address("198.18.1.2"), MAC: generatorEast, Port: "east"},
			{Address: address("2001:2::1"), MAC: generatorWest, Port: "west"},
			{Address: address("2001:2:0:1::2"), MAC: generatorEast, Port: "east"},
		},
	}
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	p.router.Must(t, kernel.New(config, "", slog.New(slog.DiscardHandler)).Apply)
	return p
}

// with calls do with a driver, in the generator's namespace.
func (p *realPath) with(t *testing.T, between measure.Stateful, do func(*Driver) error) error {
	t.Helper()
	return p.generator.Run(func() (err error) {
		s, err := server.Start(t.Context(), server.Config{
			Settings: planning.Settings{Mode: planning.AFPacket, CoresPerPort: 1}, Path: between.Path, Stateful: true,
			Program: p.program, Directory: filepath.Dir(p.program), StateDirectory: t.TempDir(),
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		d, err := Open(t.Context(), Config{Server: s, Between: between})
		if err != nil {
			t.Logf("the server said: %s", strings.Join(s.Log(), "\n"))
			return err
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		return do(d)
	})
}

func realBetween(west, east string, mss int) measure.Stateful {
	clients, servers := netip.MustParseAddr(west), netip.MustParseAddr(east)
	return measure.Stateful{
		Path: measure.Path{
			Ports: [2]measure.Port{{Interface: "west"}, {Interface: "east"}},
			Streams: []measure.Stream{
				{Direction: measure.Forward, SourceMAC: generatorWest, DestinationMAC: routerWest, SourceAddress: clients, DestinationAddress: servers, SourcePort: 49184, DestinationPort: 7},
				{Direction: measure.Reverse, SourceMAC: generatorEast, DestinationMAC: routerEast, SourceAddress: servers, DestinationAddress: clients, SourcePort: 49184, DestinationPort: 7},
			},
		},
		Clients: measure.Hosts{First: clients, Count: 254}, Servers: measure.Hosts{First: servers, Count: 254}, MSSBytes: mss,
	}
}

// A real server makes bulk transfers in each direction and in both, exchanges, and holds
// connections, through a forwarding kernel.
func TestRealServer(t *testing.T) {
	p := newRealPath(t)
	for name, between := range map[string]measure.Stateful{
		"IPv4": realBetween("198.18.128.1", "198.19.128.1", 1460),
		"IPv6": realBetween("2001:2:0:8000::1", "2001:2:0:9000::1", 1440),
	} {
		t.Run(name, func(t *testing.T) {
			err := p.with(t, between, func(d *Driver) error {
				for _, directions := range [][]measure.Direction{{measure.Forward}, {measure.Reverse}, {measure.Forward, measure.Reverse}} {
					trial := measure.Trial{DurationNanoseconds: 3e9, SettleNanoseconds: 1e8, TCP: &measure.TCPTrial{
						Streams: 2, OmitNanoseconds: 1e9, Directions: directions, TCPSettings: measure.TCPSettings{MSSBytes: between.MSSBytes, CongestionControl: "cubic"},
					}}
					outcome, err := d.Measure(t.Context(), trial)
					if err != nil {
						return err
					}
					for _, found := range outcome.TCP.Directions {
						t.Logf("TCP %s of %v: %d bit/s arrived, %d sent, %d retransmits, CPU %d ppm, %d intervals, doubts %+v", found.Direction, directions,
							found.GoodputBitsPerSecond(), found.SentBitsPerSecond(), found.Retransmits, found.SenderCPUPartsPerMillion, len(found.Intervals), outcome.Doubts)
						if found.GoodputBitsPerSecond() < 1e6 || len(found.Intervals) != 3 {
							t.Errorf("TCP %s: %+v", found.Direction, found)
						}
					}
				}
				for _, held := range []int64{0, 200} {
					trial := measure.Trial{DurationNanoseconds: 3e9, SettleNanoseconds: 1e8, Connections: &measure.ConnectionsTrial{
						ConnectionsPerSecond: 100, RequestBytes: 128, ResponseBytes: 4096, ConcurrentConnections: held,
					}}
					outcome, err := d.Measure(t.Context(), trial)
					if err != nil {
						return err
					}
					o := outcome.Connections
					t.Logf("%d held: %d begun/s, %d established/s, %+v, doubts %+v, took %d ms", held, o.AttemptsPerSecond(), o.EstablishedPerSecond(), *o, outcome.Doubts, outcome.TotalNanoseconds/1e6)
					if o.Failed() != 0 || o.Completed != o.Attempts || o.Attempts == 0 {
						t.Errorf("%d held: %+v", held, o)
					}
					if held > 0 && (o.Attempts != held || o.HeldAtEnd != held || o.Concurrent != held) {
						t.Errorf("held: %+v", o)
					}
					// A busy machine makes TRex late; it catches up.
					if held == 0 && (o.EstablishedPerSecond() < 50 || o.EstablishedPerSecond() > 150 || o.Attempts < 470 || o.Attempts > 472) {
						t.Errorf("%d a second were established of %d", o.EstablishedPerSecond(), o.Attempts)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The driver finds a chain that passes no traffic before anything counts.
func TestRealServerNoWay(t *testing.T) {
	p := newRealPath(t)
	err := p.with(t, realBetween("198.51.100.1", "203.0.113.1", 1460), func(*Driver) error { return nil })
	if measure.ReasonOf(err) != v1alpha1.ReasonNoPathThroughChain {
		t.Errorf("got %v", err)
	}
}
