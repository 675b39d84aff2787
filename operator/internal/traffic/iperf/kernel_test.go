//go:build linux

package iperf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/endpoint/agent"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/contract"
	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/kernel"
)

// The test's own program is the agent when this variable names its end: an agent needs a
// process whose every thread is in its network namespace.
const endVariable = "VNFBENCH_TEST_END"

func TestMain(m *testing.M) {
	if end := os.Getenv(endVariable); end != "" {
		fmt.Fprintln(os.Stderr, serve(end))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const agentAddress = "127.0.0.1:8080"

func serve(end string) error {
	config := configOf(end)
	a, err := agent.New(&config, "iperf3", slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return err
	}
	return http.ListenAndServe(agentAddress, a.Handler())
}

var prefix = netip.MustParsePrefix

// configOf configures an end of a chain of one router: addresses of both families beyond
// segment 0 or 1.
func configOf(end string) endpoint.Config {
	if end == measure.EndWest {
		return endpoint.Config{
			Name: end, Interface: "port", MAC: "02:00:00:00:00:29", MTUBytes: 1500, GatewayMAC: "02:00:00:00:00:02",
			Addresses: []netip.Prefix{prefix("198.18.0.3/24"), prefix("198.18.255.254/32"), prefix("2001:2::3/64"), prefix("2001:2:0:8000::ffff/128")},
			Routes: []endpoint.Route{
				{Destination: prefix("198.19.128.0/17"), Via: netip.MustParseAddr("198.18.0.2")},
				{Destination: prefix("2001:2:0:9000::/64"), Via: netip.MustParseAddr("2001:2::2")},
			},
		}
	}
	return endpoint.Config{
		Name: end, Interface: "port", MAC: "02:00:00:00:00:2a", MTUBytes: 1500, GatewayMAC: "02:00:00:00:01:01",
		Addresses: []netip.Prefix{prefix("198.18.1.3/24"), prefix("198.19.255.254/32"), prefix("2001:2:0:1::3/64"), prefix("2001:2:0:9000::ffff/128")},
		Routes: []endpoint.Route{
			{Destination: prefix("198.18.128.0/17"), Via: netip.MustParseAddr("198.18.1.1")},
			{Destination: prefix("2001:2:0:8000::/64"), Via: netip.MustParseAddr("2001:2:0:1::1")},
		},
	}
}

// path is two ends with a router between them, each in a namespace.
type path struct {
	west, router, east *netnstest.Namespace
	config             Config
}

func newPath(t *testing.T) *path {
	t.Helper()
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Fatalf("%v: run `make prerequisites`, or install the Debian package iperf3", err)
	}
	p := &path{west: netnstest.New(t, "west"), router: netnstest.New(t, "router"), east: netnstest.New(t, "east")}
	netnstest.Cable(t, netnstest.End{Namespace: p.west, Interface: "port", MAC: configOf("west").MAC},
		netnstest.End{Namespace: p.router, Interface: "west", MAC: "02:00:00:00:00:02"})
	netnstest.Cable(t, netnstest.End{Namespace: p.router, Interface: "east", MAC: "02:00:00:00:01:01"},
		netnstest.End{Namespace: p.east, Interface: "port", MAC: configOf("east").MAC})
	config := routerConfig()
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	p.router.Must(t, kernel.New(config, "", slog.New(slog.DiscardHandler)).Apply)
	startAgent(t, p.west, measure.EndWest)
	startAgent(t, p.east, measure.EndEast)
	p.config = Config{
		// The two agents have the same address, each in a separate namespace: the port
		// shows the dialer which one to use.
		Endpoints: measure.Endpoints{West: netip.MustParseAddrPort("192.0.2.1:1"), East: netip.MustParseAddrPort("192.0.2.1:2")},
		West:      netip.MustParseAddr("198.18.255.254"), East: netip.MustParseAddr("198.19.255.254"),
		HTTP: &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}},
	}
	return p
}

func routerConfig() *vnf.Config {
	config := &vnf.Config{
		Function: vnf.FunctionRouter, Name: "router",
		Ports: []vnf.Port{
			{Name: "west", Interface: "west", MAC: "02:00:00:00:00:02", MTUBytes: 1500, Addresses: []netip.Prefix{prefix("198.18.0.2/24"), prefix("2001:2::2/64")}},
			{Name: "east", Interface: "east", MAC: "02:00:00:00:01:01", MTUBytes: 1500, Addresses: []netip.Prefix{prefix("198.18.1.1/24"), prefix("2001:2:0:1::1/64")}},
		},
	}
	for _, end := range []string{measure.EndWest, measure.EndEast} {
		for _, address := range configOf(end).Addresses {
			if address.Bits() != address.Addr().BitLen() {
				continue
			}
			via := map[string]string{"west4": "198.18.0.3", "west6": "2001:2::3", "east4": "198.18.1.3", "east6": "2001:2:0:1::3"}
			key := end + "6"
			if address.Addr().Is4() {
				key = end + "4"
			}
			gateway := netip.MustParseAddr(via[key])
			config.Routes = append(config.Routes, vnf.Route{Destination: address, Via: gateway, Port: end})
			config.Neighbors = append(config.Neighbors, vnf.Neighbor{Address: gateway, MAC: configOf(end).MAC, Port: end})
		}
	}
	return config
}

func (p *path) dial(_ context.Context, _, address string) (connection net.Conn, err error) {
	namespace := p.west
	if address == p.config.Endpoints.East.String() {
		namespace = p.east
	}
	err = namespace.Run(func() error {
		connection, err = net.Dial("tcp", agentAddress)
		return err
	})
	return connection, err
}

func startAgent(t *testing.T, namespace *netnstest.Namespace, end string) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), endVariable+"="+end)
	command.Stderr = os.Stderr
	namespace.Must(t, command.Start)
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := namespace.Run(func() error {
			connection, err := net.Dial("tcp", agentAddress)
			if err == nil {
				err = connection.Close()
			}
			return err
		})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the agent at the %s end: %v", end, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

var bothWays = []measure.Direction{measure.Forward, measure.Reverse}

func trialOf(seconds, streams int, directions ...measure.Direction) measure.Trial {
	return measure.Trial{
		DurationNanoseconds: int64(seconds) * time.Second.Nanoseconds(), SettleNanoseconds: 1,
		TCP: &measure.TCPTrial{Streams: streams, Directions: directions},
	}
}

func (p *path) open(t *testing.T) *Driver {
	t.Helper()
	driver, err := Open(t.Context(), p.config, bothWays)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := driver.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return driver
}

// TestContract makes every trial with iperf3, through a router.
func TestContract(t *testing.T) {
	p := newPath(t)
	contract.Run(t, func(t *testing.T) measure.Driver {
		driver, err := Open(t.Context(), p.config, bothWays)
		if err != nil {
			t.Fatal(err)
		}
		return driver
	}, contract.Capabilities{TCP: &contract.TCP{}})
}

func TestThroughARouter(t *testing.T) {
	p := newPath(t)
	for _, end := range []*netnstest.Namespace{p.west, p.east} {
		if isUp(t, end) {
			t.Error("the port is up before any request for it")
		}
	}
	driver := p.open(t)
	trial := trialOf(2, 2, bothWays...)
	trial.TCP.OmitNanoseconds = time.Second.Nanoseconds()
	trial.TCP.TCPSettings = measure.TCPSettings{CongestionControl: "reno", MSSBytes: 1000, WindowBytes: 65536, TargetBitsPerSecond: 8_000_000}
	outcome, err := driver.Measure(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	if !outcome.Valid() || len(outcome.TCP.Directions) != 2 {
		t.Fatalf("outcome is %+v", outcome)
	}
	for i, d := range outcome.TCP.Directions {
		if d.Direction != bothWays[i] {
			t.Errorf("direction %d is %s", i, d.Direction)
		}
		// This is far below what any machine carries, so iperf3 sends the target.
		if rate := d.GoodputBitsPerSecond(); rate < 4_000_000 || rate > 12_000_000 {
			t.Errorf("%s: goodput is %d bits/s, 8000000 were the target", d.Direction, rate)
		}
		// The timestamp option takes 12 bytes of each segment.
		if d.MaximumSegmentBytes != 988 && d.MaximumSegmentBytes != 1000 || d.CongestionControl != "reno" {
			t.Errorf("%s: segments of %d bytes with %q, want 1000 with reno", d.Direction, d.MaximumSegmentBytes, d.CongestionControl)
		}
		if d.RTTMinNanoseconds <= 0 || d.RTTMinNanoseconds > d.RTTMeanNanoseconds || d.RTTMeanNanoseconds > d.RTTMaxNanoseconds {
			t.Errorf("%s: round trip times are %d, %d, %d", d.Direction, d.RTTMinNanoseconds, d.RTTMeanNanoseconds, d.RTTMaxNanoseconds)
		}
		if len(d.Intervals) != 2 {
			t.Errorf("%s: %d intervals, want 2", d.Direction, len(d.Intervals))
		}
	}
	for i, end := range outcome.TCP.Ends {
		if end.Name != []string{"west", "east"}[i] || end.Program.Name != measure.ProgramIperf3 || end.Program.Version == "" || end.MTUBytes != 1500 || len(end.Offloads) == 0 {
			t.Errorf("end %d is %+v", i, end)
		}
	}
}

func TestIPv6(t *testing.T) {
	p := newPath(t)
	p.config.West, p.config.East = netip.MustParseAddr("2001:2:0:8000::ffff"), netip.MustParseAddr("2001:2:0:9000::ffff")
	outcome, err := p.open(t).Measure(t.Context(), trialOf(1, 1, measure.Reverse))
	if err != nil {
		t.Fatal(err)
	}
	if d := outcome.TCP.Directions[0]; d.Direction != measure.Reverse || d.GoodputBitsPerSecond() < 1_000_000 {
		t.Errorf("outcome is %+v", d)
	}
}

func TestNoPath(t *testing.T) {
	p := newPath(t)
	p.router.Must(t, func() error { return forwarding("0") })
	_, err := Open(t.Context(), p.config, bothWays[:1])
	if measure.ReasonOf(err) != v1alpha1.ReasonNoPathThroughChain {
		t.Fatalf("got %v, want %s", err, v1alpha1.ReasonNoPathThroughChain)
	}
	// Nothing of this attempt is in the way of the next.
	p.router.Must(t, func() error { return forwarding("1") })
	p.open(t)
}

func TestRefusedSetting(t *testing.T) {
	driver := newPath(t).open(t)
	trial := trialOf(1, 1, measure.Forward)
	trial.TCP.CongestionControl = "nosuch"
	_, err := driver.Measure(t.Context(), trial)
	if measure.ReasonOf(err) != v1alpha1.ReasonTCPSettingRefused {
		t.Fatalf("got %v, want %s", err, v1alpha1.ReasonTCPSettingRefused)
	}
	if _, err := driver.Measure(t.Context(), trialOf(1, 1, measure.Forward)); err != nil {
		t.Errorf("the next trial: %v", err)
	}
}

// TestStopped checks that a measurer that receives a stop leaves nothing running.
func TestStopped(t *testing.T) {
	driver := newPath(t).open(t)
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { stop(stopped) })
	start := time.Now()
	if _, err := driver.Measure(ctx, trialOf(30, 1, bothWays...)); !errors.Is(err, stopped) {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("stopping took %s", took)
	}
	if _, err := driver.Measure(t.Context(), trialOf(1, 1, bothWays...)); err != nil {
		t.Errorf("the next trial: %v", err)
	}
}

func isUp(t *testing.T, namespace *netnstest.Namespace) bool {
	t.Helper()
	var up bool
	namespace.Must(t, func() error {
		link, err := netlink.LinkByName("port")
		up = err == nil && link.Attrs().Flags&net.FlagUp != 0
		return err
	})
	return up
}

func forwarding(value string) error {
	for _, port := range []string{"west", "east"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+port+"/forwarding", []byte(value), 0o644); err != nil {
			return err
		}
	}
	return nil
}
