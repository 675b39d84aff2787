//go:build linux

package guest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/netnstest"
	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/agent"
)

// guestVariable names the directory with vmlinuz, initrd.img and vnf-guest.img.
const guestVariable = "VNFBENCH_GUEST"

// firmware is Debian's UEFI for QEMU (package ovmf), code and variables in one file.
const firmware = "/usr/share/ovmf/OVMF.fd"

// patience is generous: without hardware virtualisation a boot takes 5 to 20 s
// of a busy machine.
const patience = 3 * time.Minute

// answerPatience is for one answer of a guest that gets little of a processor.
const answerPatience = 30 * time.Second

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
	console    *lockedBuffer
	west, east *cable
	monitor    string
	url        string
	started    time.Time
	ended      chan error
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

// receive returns the first UDP packet, and all frames before it that ask for
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

// start boots a machine. The arguments say how, and what its ports are.
func start(t *testing.T, configuration string, westModel, eastModel string, how ...string) *machine {
	t.Helper()
	return startWithKeys(t, configuration, map[string]string{"private.key": "secret"}, westModel, eastModel, how...)
}

// startWithKeys boots one with a disk of these files.
func startWithKeys(t *testing.T, configuration string, files map[string]string, westModel, eastModel string, how ...string) *machine {
	t.Helper()
	const program = "qemu-system-x86_64"
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not here: make test-guest installs it", program)
	}
	dir, err := os.MkdirTemp("", "vnf") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &machine{console: &lockedBuffer{}, monitor: filepath.Join(dir, "monitor"), ended: make(chan error, 1)}
	m.west, m.east = newCable(t, dir, "west"), newCable(t, dir, "east")
	port := freePort(t)
	m.url = fmt.Sprintf("http://127.0.0.1:%d", port)

	arguments := append([]string{
		"-accel", "tcg", "-m", "256", "-display", "none", "-no-reboot", "-nodefaults",
		"-serial", "stdio", "-monitor", "unix:" + m.monitor + ",server=on,wait=off",
		"-netdev", fmt.Sprintf("user,id=management,restrict=on,hostfwd=tcp:127.0.0.1:%d-:%d", port, Port),
		"-device", "virtio-net-pci,netdev=management,romfile=",
		"-device", westModel + ",netdev=west,romfile=,mac=" + routerWest,
		"-device", eastModel + ",netdev=east,romfile=,mac=" + routerEast,
	}, how...)
	for _, side := range []string{"west", "east"} {
		arguments = append(arguments, "-netdev", fmt.Sprintf("dgram,id=%[1]s,local.type=unix,local.path=%[2]s/%[1]s.guest,remote.type=unix,remote.path=%[2]s/%[1]s", side, dir))
	}
	for name, content := range map[string]string{"user-data": configuration, "meta-data": "instance-id: boot\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var keyFiles []string
	for name, content := range files {
		keyFiles = append(keyFiles, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seed, keys := filepath.Join(dir, "seed.iso"), filepath.Join(dir, "keys.iso")
	makeISO(t, seed, SeedLabel, filepath.Join(dir, "user-data"), filepath.Join(dir, "meta-data"))
	makeISO(t, keys, KeysLabel, keyFiles...)
	arguments = append(arguments,
		"-drive", "if=none,id=seed,format=raw,readonly=on,file="+seed, "-device", "virtio-blk-pci,drive=seed",
		"-drive", "if=none,id=keys,format=raw,readonly=on,media=cdrom,file="+keys, "-device", "ide-cd,drive=keys")

	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stdout, command.Stderr = m.console, m.console
	m.started = time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		m.ended <- command.Wait()
		close(gone)
	}()
	t.Cleanup(func() {
		cancel()
		<-gone
		if t.Failed() {
			t.Logf("the console:\n%s", m.console)
		}
	})
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

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// get asks the guest's agent; no proxy is between.
func (m *machine) get(path string) (int, string, error) {
	client := http.Client{Timeout: answerPatience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(m.url + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// line is the console's first line with a text in it.
func (m *machine) line(text string) string {
	for line := range strings.Lines(m.console.String()) {
		if strings.Contains(line, text) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// await asks for readiness until the answer is the code.
func (m *machine) await(t *testing.T, want int) string {
	t.Helper()
	for {
		code, body, err := m.get("/readyz")
		if err == nil && code == want {
			return body
		}
		if time.Since(m.started) > patience {
			t.Fatalf("/readyz: %d %q %v, want %d", code, body, err, want)
		}
		select {
		case err := <-m.ended:
			t.Fatalf("QEMU ended: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func files(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(guestVariable)
	if dir == "" {
		t.Skipf("%s is not set: make test-guest makes the guest and boots it", guestVariable)
	}
	return dir
}

func TestBoot(t *testing.T) {
	dir := files(t)
	kernel := []string{"-smp", "2", "-kernel", filepath.Join(dir, "vmlinuz"), "-initrd", filepath.Join(dir, "initrd.img"), "-append", "console=ttyS0 quiet"}
	disk := []string{
		"-machine", "q35",
		"-drive", "if=none,id=boot,format=raw,snapshot=on,file=" + filepath.Join(dir, "vnf-guest.img"), "-device", "virtio-blk-pci,drive=boot,bootindex=1",
	}
	// It keeps no variables: it boots what is on the disk, as on a machine's first day.
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
			m.await(t, http.StatusOK)
			t.Logf("ready %.1f s after QEMU started; by the guest's own clock: %s", time.Since(m.started).Seconds(), m.line("msg=ready"))
			m.requireForwarding(t)
			m.requireStatus(t, tc.processors)
			wants := []string{"msg=ready", "kernel release=", "configurationDigest=sha256:", "msg=keys", "files=private.key", "role=management"}
			for _, driver := range tc.drivers {
				wants = append(wants, "driver="+driver+" ")
			}
			for _, want := range wants {
				if !strings.Contains(m.console.String(), want) {
					t.Errorf("no %q on the console", want)
				}
			}
			m.requirePowerOff(t)
		})
	}
}

// TestBootWithVLAN: the guest's kernel has 802.1Q, so this is where a function's
// tagged port carries packets.
func TestBootWithVLAN(t *testing.T) {
	dir := files(t)
	const west = `"name": "west", `
	m := start(t, strings.Replace(userData, west, west+`"vlan": 100, `, 1), "virtio-net-pci", "virtio-net-pci",
		"-kernel", filepath.Join(dir, "vmlinuz"), "-initrd", filepath.Join(dir, "initrd.img"), "-append", "console=ttyS0 quiet")
	m.await(t, http.StatusOK)
	for _, family := range [][2]string{{"198.18.0.1", "198.18.1.2"}, {"2001:2::1", "2001:2:0:1::2"}} {
		packet := netnstest.Packet{
			SourceMAC: generatorWest, DestinationMAC: routerWest,
			Source:      netip.AddrPortFrom(netip.MustParseAddr(family[0]), 1024),
			Destination: netip.AddrPortFrom(netip.MustParseAddr(family[1]), 9),
		}
		// Packets with another payload for each tag, until one has come through.
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
	m.requirePowerOff(t)
}

// TestBootFunctions: the guest has every module that a function asks its kernel
// for; a function is ready only when the kernel took all of it.
func TestBootFunctions(t *testing.T) {
	dir := files(t)
	key := base64.StdEncoding.EncodeToString(make([]byte, vnf.IPsecKeyBytes))
	firewall := func(backend, mode string) func(*vnf.Config) {
		return func(c *vnf.Config) {
			c.Function = vnf.FunctionFirewall
			c.Firewall = &vnf.Firewall{
				Backend: backend, Mode: mode, Forwarding: vnf.ForwardingRouted, Rules: 100, MatchBy: vnf.MatchByAddress,
				MatchPosition: "Last", Verdict: "Accept", DefaultPolicy: "Drop",
			}
			if mode == vnf.ModeStateful {
				c.Firewall.TrackedFlows = 2
			}
		}
	}
	for name, tc := range map[string]struct {
		change  func(*vnf.Config)
		forward bool
	}{
		"nftables": {firewall(vnf.BackendNftables, vnf.ModeStateful), true},
		"iptables": {firewall(vnf.BackendIptables, vnf.ModeStateless), true},
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
				"-cpu", "max", "-kernel", filepath.Join(dir, "vmlinuz"), "-initrd", filepath.Join(dir, "initrd.img"), "-append", "console=ttyS0 quiet")
			m.await(t, http.StatusOK)
			if tc.forward {
				m.requireForwarding(t)
			}
			if strings.Contains(m.console.String(), key) {
				t.Error("a key is on the console")
			}
			m.requirePowerOff(t)
		})
	}
}

// requireForwarding sends packets from west until one arrives in the east: a
// port may lose those of its first seconds. Nothing else may come out of the
// ports but reports of multicast listeners.
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
			if got.Payload != name { // an IPv4 packet that was late
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
	_, body, err := m.get("/status")
	if err != nil {
		t.Fatal(err)
	}
	var status agent.Status
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

// requirePowerOff pushes the power button, as KubeVirt does to end a machine.
func (m *machine) requirePowerOff(t *testing.T) {
	t.Helper()
	monitor, err := net.Dial("unix", m.monitor)
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Close()
	if _, err := fmt.Fprintln(monitor, "system_powerdown"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-m.ended:
		if err != nil {
			t.Errorf("QEMU ended with %v", err)
		}
		m.ended <- err
	case <-time.After(patience):
		t.Error("the power button did not end it")
	}
}

// TestBootRefused: a configuration that is refused is told on the console and
// to whoever asks, with its field.
func TestBootRefused(t *testing.T) {
	dir := files(t)
	broken := strings.Replace(userData, "198.18.0.2/24", "192.0.2.1/24", 1)
	m := start(t, broken, "virtio-net-pci", "virtio-net-pci",
		"-kernel", filepath.Join(dir, "vmlinuz"), "-initrd", filepath.Join(dir, "initrd.img"), "-append", "console=ttyS0 quiet")
	reason := m.await(t, http.StatusServiceUnavailable)
	for range 50 { // it may be asked while the configuration is being read
		if strings.Contains(reason, "ports[0].addresses[0]") {
			break
		}
		time.Sleep(100 * time.Millisecond)
		reason = m.await(t, http.StatusServiceUnavailable)
	}
	if !strings.Contains(reason, "user-data: ports[0].addresses[0]") {
		t.Errorf("/readyz says %q", reason)
	}
	if console := m.console.String(); !strings.Contains(console, "not ready") || !strings.Contains(console, "ports[0].addresses[0]") {
		t.Error("the console does not say it")
	}
}

// lockedBuffer is written by a process and read by the test.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
