//go:build linux

package function

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/testing/guesttest"
	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/vnf"
)

// guestVariable names the directory with vmlinuz, initrd.img and vnf-guest.img.
const guestVariable = "VNFBENCH_GUEST"

// firmware is Debian's UEFI for QEMU (package ovmf), code and variables in one file.
const firmware = "/usr/share/ovmf/OVMF.fd"

const (
	generatorWest, routerWest = "02:00:00:00:00:01", "02:00:00:00:00:02"
	routerEast, generatorEast = "02:00:00:00:01:01", "02:00:00:00:01:02"
)

const userData = `{
  "function": "Router",
  "name": "router-0",
  "ports": [
    {"name": "west", "mac": "02:00:00:00:00:02", "mtuBytes": 1500, "addresses": ["198.18.0.2/24", "2001:2::2/64"]},
    {"name": "east", "mac": "02:00:00:00:01:01", "mtuBytes": 1500, "addresses": ["198.18.1.1/24", "2001:2:0:1::1/64"]}
  ],
  "routes": [],
  "neighbors": [
    {"address": "198.18.1.2", "mac": "02:00:00:00:01:02", "port": "east"},
    {"address": "2001:2:0:1::2", "mac": "02:00:00:00:01:02", "port": "east"}
  ]
}`

// machine is a guest in QEMU, with a cable at each measured port.
type machine struct {
	*guesttest.VM
	west, east *cable
}

// cable is a datagram socket: each datagram is a frame.
type cable struct {
	connection *net.UnixConn
	guest      *net.UnixAddr
}

func (c *cable) send(packet netnstest.Packet) error {
	frame, err := packet.Frame()
	if err != nil {
		return err
	}
	_, err = c.connection.WriteToUnix(frame, c.guest)
	return err
}

// receive returns the first UDP packet, and all frames before it that resolve
// addresses.
func (c *cable) receive(within time.Duration) (packet netnstest.Packet, questions [][]byte, err error) {
	if err := c.connection.SetReadDeadline(time.Now().Add(within)); err != nil {
		return packet, nil, err
	}
	buffer := make([]byte, 1<<16)
	for {
		n, err := c.connection.Read(buffer)
		if err != nil {
			return packet, questions, err
		}
		if packet, err := netnstest.Parse(buffer[:n]); err == nil {
			return packet, questions, nil
		}
		if netnstest.IsResolution(buffer[:n]) {
			questions = append(questions, bytes.Clone(buffer[:n]))
		}
	}
}

// start boots a machine. The arguments define how, and its ports.
func start(t *testing.T, configuration string, westModel, eastModel string, how ...string) *machine {
	t.Helper()
	return startWithKeys(t, configuration, map[string]string{"private.key": "secret"}, westModel, eastModel, how...)
}

// startWithKeys boots a machine with a disk of these files.
func startWithKeys(t *testing.T, configuration string, files map[string]string, westModel, eastModel string, how ...string) *machine {
	t.Helper()
	dir := guesttest.SocketDirectory(t)
	m := &machine{west: newCable(t, dir, "west"), east: newCable(t, dir, "east")}
	keys := filepath.Join(dir, "keys.iso")
	guesttest.ISO(t, keys, KeysLabel, guesttest.WriteFiles(t, dir, files)...)
	arguments := append([]string{
		"-m", "256",
		"-device", westModel + ",netdev=west,romfile=,mac=" + routerWest,
		"-device", eastModel + ",netdev=east,romfile=,mac=" + routerEast,
		"-drive", "if=none,id=keys,format=raw,readonly=on,media=cdrom,file=" + keys, "-device", "ide-cd,drive=keys",
	}, how...)
	for _, side := range []string{"west", "east"} {
		arguments = append(arguments, "-netdev", fmt.Sprintf("dgram,id=%[1]s,local.type=unix,local.path=%[2]s/%[1]s.guest,remote.type=unix,remote.path=%[2]s/%[1]s", side, dir))
	}
	m.VM = guesttest.Start(t, configuration, Port, arguments...)
	return m
}

func newCable(t *testing.T, dir, name string) *cable {
	t.Helper()
	connection, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return &cable{connection, &net.UnixAddr{Name: filepath.Join(dir, name+".guest"), Net: "unixgram"}}
}

func TestBoot(t *testing.T) {
	dir := guesttest.Files(t, guestVariable)
	kernel := append([]string{"-smp", "2"}, guesttest.Kernel(dir)...)
	disk := []string{
		"-machine", "q35",
		"-drive", "if=none,id=boot,format=raw,snapshot=on,file=" + filepath.Join(dir, "vnf-guest.img"), "-device", "virtio-blk-pci,drive=boot,bootindex=1",
	}
	// It keeps no variables: it boots what is on the disk, as a new machine does.
	uefi := []string{"-drive", "if=pflash,unit=0,format=raw,readonly=on,file=" + firmware}
	for name, tc := range map[string]struct {
		how        []string
		west, east string
		processors int
		drivers    []string
	}{
		"kernel and initial file system, virtio": {kernel, "virtio-net-pci", "virtio-net-pci", 2, []string{"virtio_net"}},
		"disk, e1000 and e1000e":                 {disk, "e1000", "e1000e", 1, []string{"virtio_net", "e1000", "e1000e"}},
		"disk, UEFI":                             {append(uefi, disk...), "virtio-net-pci", "virtio-net-pci", 1, []string{"virtio_net"}},
	} {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(tc.how, uefi[1]) {
				if _, err := os.Stat(firmware); err != nil {
					t.Skip("there is no firmware: make test-guest installs it")
				}
			}
			m := start(t, userData, tc.west, tc.east, tc.how...)
			m.Await(t, http.StatusOK, "")
			t.Logf("ready %.1f s after QEMU started; by the guest's own clock: %s", time.Since(m.Started).Seconds(), m.Line("msg=ready"))
			m.requireForwarding(t)
			m.requireStatus(t, tc.processors)
			wants := []string{"msg=ready", "kernel release=", "configurationDigest=sha256:", "msg=keys", "files=private.key", "role=management"}
			for _, driver := range tc.drivers {
				wants = append(wants, "driver="+driver+" ")
			}
			for _, want := range wants {
				if !strings.Contains(m.Console.String(), want) {
					t.Errorf("no %q on the console", want)
				}
			}
			m.RequirePowerOff(t)
		})
	}
}

// TestBootWithVLAN sends packets through a function's tagged port: the guest's kernel has 802.1Q.
func TestBootWithVLAN(t *testing.T) {
	dir := guesttest.Files(t, guestVariable)
	const west = `"name": "west", `
	m := start(t, strings.Replace(userData, west, west+`"vlan": 100, `, 1), "virtio-net-pci", "virtio-net-pci", guesttest.Kernel(dir)...)
	m.Await(t, http.StatusOK, "")
	for _, family := range [][2]string{{"198.18.0.1", "198.18.1.2"}, {"2001:2::1", "2001:2:0:1::2"}} {
		packet := netnstest.Packet{
			SourceMAC: generatorWest, DestinationMAC: routerWest,
			Source:      netip.AddrPortFrom(netip.MustParseAddr(family[0]), 1024),
			Destination: netip.AddrPortFrom(netip.MustParseAddr(family[1]), 9),
		}
		// Packets with another payload for each tag, until one arrives.
		for attempt, came := 1, false; !came; attempt++ {
			for payload, tag := range map[string][]byte{"right": {0x81, 0, 0, 100}, "wrong": {0x81, 0, 0, 101}, "none!": nil} {
				packet.Payload = payload
				frame, err := packet.Frame()
				if err != nil {
					t.Fatal(err)
				}
				tagged := slices.Insert(frame, 12, tag...)
				if _, err := m.west.connection.WriteToUnix(tagged, m.west.guest); err != nil {
					t.Fatal(err)
				}
			}
			for {
				got, _, err := m.east.receive(500 * time.Millisecond)
				if errors.Is(err, os.ErrDeadlineExceeded) && (came || attempt < 20) {
					break
				}
				if err != nil {
					t.Fatalf("nothing arrived: %v", err)
				}
				if got.Source.Addr() != packet.Source.Addr() { // of the other family, and late
					continue
				}
				if got.Payload != "right" {
					t.Errorf("a packet whose tag is %q was forwarded", got.Payload)
				}
				came = true
			}
		}
	}
	m.RequirePowerOff(t)
}

// TestBootFunctions checks that the guest has every module that a function requires of its
// kernel; a function is ready only when the kernel accepted all of it.
func TestBootFunctions(t *testing.T) {
	dir := guesttest.Files(t, guestVariable)
	key := base64.StdEncoding.EncodeToString(make([]byte, vnf.IPsecKeyBytes))
	firewall := func(backend, mode string) func(*vnf.Config) {
		return func(c *vnf.Config) {
			c.Function = vnf.FunctionFirewall
			c.Firewall = &vnf.Firewall{
				Backend: backend, Mode: mode, Forwarding: vnf.ForwardingRouted, Rules: 100, MatchBy: vnf.MatchByAddress,
				MatchPosition: "Last", Lookup: vnf.LookupList, Verdict: "Accept", DefaultPolicy: "Drop",
			}
			if mode == vnf.ModeStateful {
				c.Firewall.TrackedFlows = 2
			}
		}
	}
	ipset := func(matchBy string) func(*vnf.Config) {
		return func(c *vnf.Config) {
			firewall(vnf.BackendIptables, vnf.ModeStateless)(c)
			c.Firewall.Lookup, c.Firewall.MatchBy, c.Firewall.TrafficPorts = vnf.LookupSet, matchBy, vnf.PortRange{First: 9, Last: 9}
		}
	}
	for name, tc := range map[string]struct {
		change  func(*vnf.Config)
		forward bool
	}{
		"nftables":       {firewall(vnf.BackendNftables, vnf.ModeStateful), true},
		"iptables":       {firewall(vnf.BackendIptables, vnf.ModeStateless), true},
		"ipset":          {ipset(vnf.MatchByAddress), false},
		"ipset of ports": {ipset(vnf.MatchByPort), false},
		"IPsec": {func(c *vnf.Config) {
			c.Function = vnf.FunctionEncryptionGateway
			c.Gateway = &vnf.Gateway{
				Protocol: vnf.ProtocolIPsec, Implementation: vnf.ImplementationKernel, Port: "east", TunnelMTUBytes: 1400,
				Local: netip.MustParseAddr("198.18.1.1"), Peer: netip.MustParseAddr("198.18.1.2"),
				LocalNetworks:  []netip.Prefix{netip.MustParsePrefix("198.18.128.0/17")},
				RemoteNetworks: []netip.Prefix{netip.MustParsePrefix("198.19.128.0/17")},
				SPIOut:         0x1000, SPIIn: 0x1001, Keys: vnf.KeyFiles{Out: vnf.KeyOut, In: vnf.KeyIn},
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var config vnf.Config
			if err := json.Unmarshal([]byte(userData), &config); err != nil {
				t.Fatal(err)
			}
			tc.change(&config)
			text, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			m := startWithKeys(t, string(text), map[string]string{vnf.KeyOut: key, vnf.KeyIn: key}, "virtio-net-pci", "virtio-net-pci",
				append([]string{"-cpu", "max"}, guesttest.Kernel(dir)...)...)
			m.Await(t, http.StatusOK, "")
			if tc.forward {
				m.requireForwarding(t)
			}
			if strings.Contains(m.Console.String(), key) {
				t.Error("a key is on the console")
			}
			m.RequirePowerOff(t)
		})
	}
}

// requireForwarding sends packets from west until one arrives in the east: a
// port may lose those of its first seconds. Apart from reports of multicast
// listeners, nothing else may leave the ports.
func (m *machine) requireForwarding(t *testing.T) {
	t.Helper()
	for name, addresses := range map[string][2]string{
		"IPv4": {"198.18.0.1", "198.18.1.2"},
		"IPv6": {"2001:2::1", "2001:2:0:1::2"},
	} {
		sent := netnstest.Packet{
			SourceMAC: generatorWest, DestinationMAC: routerWest,
			Source:      netip.AddrPortFrom(netip.MustParseAddr(addresses[0]), 1024),
			Destination: netip.AddrPortFrom(netip.MustParseAddr(addresses[1]), 9),
			TTL:         64, Payload: name,
		}
		want := sent
		want.SourceMAC, want.DestinationMAC, want.TTL = routerEast, generatorEast, 63
		for attempt := 1; ; attempt++ {
			if err := m.west.send(sent); err != nil {
				t.Fatal(err)
			}
			got, questions, err := m.east.receive(time.Second)
			for _, frame := range questions {
				t.Errorf("%s: port east sent % x", name, frame)
			}
			if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && attempt < 20 {
				continue
			}
			if err != nil {
				t.Fatalf("%s: nothing arrived: %v", name, err)
			}
			if got.Payload != name { // an IPv4 packet that arrived late
				continue
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			t.Logf("%s: packet %d was forwarded", name, attempt)
			break
		}
	}
}

func (m *machine) requireStatus(t *testing.T, processors int) {
	t.Helper()
	_, body, err := m.Get("/status")
	if err != nil {
		t.Fatal(err)
	}
	var status vnf.Status
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if !status.Ready || status.Name != "router-0" || len(status.Ports) != 2 || status.Ports[0].Counters.RxPackets == 0 || status.Ports[1].Counters.TxPackets == 0 {
		t.Errorf("status is %s", body)
	}
	if status.CPU == nil || len(status.CPU.Node) != processors || status.CPU.Total.IdleNanoseconds == 0 || status.CPU.Container != nil {
		t.Errorf("processor time is %+v", status.CPU)
	}
}

// TestBootRefused checks that the console and /readyz name the field of a refused
// configuration.
func TestBootRefused(t *testing.T) {
	dir := guesttest.Files(t, guestVariable)
	broken := strings.Replace(userData, "198.18.0.2/24", "192.0.2.1/24", 1)
	m := start(t, broken, "virtio-net-pci", "virtio-net-pci", guesttest.Kernel(dir)...)
	// The test may ask while the machine reads the configuration.
	m.Await(t, http.StatusServiceUnavailable, "user-data: ports[0].addresses[0]")
	if console := m.Console.String(); !strings.Contains(console, "not ready") || !strings.Contains(console, "ports[0].addresses[0]") {
		t.Error("the console does not say it")
	}
}
