//go:build linux

package main

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/vnf"
)

// The pair's addresses: plain segment 0, tunnel on segment 1, plain segment 2.
var (
	stubWest = []netip.Prefix{netip.MustParsePrefix("198.18.128.0/17"), netip.MustParsePrefix("2001:2:0:8000::/64")}
	stubEast = []netip.Prefix{netip.MustParsePrefix("198.19.128.0/17"), netip.MustParsePrefix("2001:2:0:9000::/64")}
)

const tunnelMTU = 1500

// gatewayPair is two gateways between two generators.
type gatewayPair struct {
	west, east *netnstest.Namespace
	gateways   [2]*gatewayPod
}

type gatewayPod struct {
	pod
	keys   string
	log    *lockedBuffer
	config *vnf.Config
}

func newGatewayPair(t *testing.T, protocol, implementation string) *gatewayPair {
	t.Helper()
	g := &gatewayPair{west: netnstest.New(t, "gen-west"), east: netnstest.New(t, "gen-east")}
	for i, name := range []string{"gw-west", "gw-east"} {
		folder := t.TempDir()
		g.gateways[i] = &gatewayPod{
			pod:  pod{namespace: netnstest.New(t, name), config: filepath.Join(folder, "config.json")},
			keys: folder, log: &lockedBuffer{},
		}
	}
	machines := []*netnstest.Namespace{g.west, g.gateways[0].namespace, g.gateways[1].namespace, g.east}
	for segment := range 3 {
		netnstest.Cable(t,
			netnstest.End{Namespace: machines[segment], Interface: "net2", MAC: mac(segment, 1)},
			netnstest.End{Namespace: machines[segment+1], Interface: "net1", MAC: mac(segment, 2)})
	}
	for i, gateway := range g.gateways {
		gateway.config = gatewayConfig(i, protocol, implementation)
		gateway.write(t, gateway.config)
		gateway.namespace.Must(t, func() error {
			for _, iface := range []string{"net1", "net2"} {
				for _, sysctl := range gateway.config.Sysctls() {
					if err := os.WriteFile("/proc/sys/"+sysctl.Path(iface), []byte(sysctl.Value), 0o644); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	g.writeKeys(t)
	return g
}

func mac(segment, host int) string {
	return "02:00:00:00:0" + string(rune('0'+segment)) + ":0" + string(rune('0'+host))
}

func host(segment, number int) []netip.Prefix {
	digit := func(n int) string { return string(rune('0' + n)) }
	return []netip.Prefix{
		netip.MustParsePrefix("198.18." + digit(segment) + "." + digit(number) + "/24"),
		netip.MustParsePrefix("2001:2:0:" + digit(segment) + "::" + digit(number) + "/64"),
	}
}

// gatewayConfig returns what the operator renders for the pair's gateway i.
func gatewayConfig(i int, protocol, implementation string) *vnf.Config {
	wide := tunnelMTU + vnf.TunnelOverheadBytes(protocol)
	mtu := [2][2]int{{tunnelMTU, wide}, {wide, tunnelMTU}}[i]
	config := &vnf.Config{
		Function: vnf.FunctionEncryptionGateway, Name: "gw",
		Ports: []vnf.Port{
			{Name: "west", Interface: "net1", MAC: mac(i, 2), MTUBytes: mtu[0], Addresses: host(i, 2)},
			{Name: "east", Interface: "net2", MAC: mac(i+1, 1), MTUBytes: mtu[1], Addresses: host(i+1, 1)},
		},
	}
	for family := range 2 {
		west, east := host(i, 1)[family].Addr(), host(i+1, 2)[family].Addr()
		config.Neighbors = append(config.Neighbors,
			vnf.Neighbor{Address: west, MAC: mac(i, 1), Port: "west"}, vnf.Neighbor{Address: east, MAC: mac(i+1, 2), Port: "east"})
		if i == 0 || protocol == vnf.ProtocolIPsec {
			config.Routes = append(config.Routes, vnf.Route{Destination: stubWest[family], Via: west, Port: "west"})
		}
		if i == 1 || protocol == vnf.ProtocolIPsec {
			config.Routes = append(config.Routes, vnf.Route{Destination: stubEast[family], Via: east, Port: "east"})
		}
	}
	config.Gateway = &vnf.Gateway{
		Protocol: protocol, Implementation: implementation, TunnelMTUBytes: tunnelMTU, Port: "east",
		Local: host(1, 1)[0].Addr(), Peer: host(1, 2)[0].Addr(), LocalNetworks: stubWest, RemoteNetworks: stubEast,
		ListenPort: 51820, Keys: vnf.KeyFiles{Private: "private", PeerPublic: "peer-public", Preshared: "psk"},
	}
	if implementation == vnf.ImplementationUserspace {
		config.Gateway.Threads = 1
	}
	if protocol == vnf.ProtocolIPsec {
		config.Gateway.ListenPort, config.Gateway.SPIOut, config.Gateway.SPIIn = 0, 0x1002, 0x1003
		config.Gateway.Keys = vnf.KeyFiles{Out: "key-out", In: "key-in"}
	}
	if i == 1 {
		gateway := config.Gateway
		gateway.Port = "west"
		gateway.Local, gateway.Peer = gateway.Peer, gateway.Local
		gateway.LocalNetworks, gateway.RemoteNetworks = gateway.RemoteNetworks, gateway.LocalNetworks
		gateway.SPIOut, gateway.SPIIn = gateway.SPIIn, gateway.SPIOut
	}
	return config
}

func (g *gatewayPair) writeKeys(t *testing.T) {
	t.Helper()
	put := func(i int, name string, key []byte) {
		text := []byte(base64.StdEncoding.EncodeToString(key))
		if err := os.WriteFile(filepath.Join(g.gateways[i].keys, name), text, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	random := make([]byte, 2*vnf.IPsecKeyBytes)
	_, _ = rand.Read(random) // never fails
	eastward, westward := random[:vnf.IPsecKeyBytes], random[vnf.IPsecKeyBytes:]
	for i := range 2 {
		private, err := ecdh.X25519().GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		put(i, "private", private.Bytes())
		put(1-i, "peer-public", private.PublicKey().Bytes())
		put(i, "psk", random[:32])
		put(i, "key-out", [][]byte{eastward, westward}[i])
		put(i, "key-in", [][]byte{westward, eastward}[i])
	}
}

func (g *gatewayPair) start(t *testing.T) (commands [2]*exec.Cmd) {
	t.Helper()
	for i, gateway := range g.gateways {
		command := gateway.pod.start(t, gateway.log, "run", "--config", gateway.path(), "--keys", gateway.keys)
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait() // returns that it was killed
			if t.Failed() {
				t.Log(gateway.log.String())
			}
		})
		commands[i] = command
	}
	return commands
}

// endsOrIsReady starts both gateways, and waits until the first of them has ended or is ready.
func (g *gatewayPair) endsOrIsReady(t *testing.T) (err error, ended bool) {
	t.Helper()
	command := g.start(t)[0]
	over := make(chan error, 1)
	go func() { over <- command.Wait() }()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); {
		select {
		case err := <-over:
			return err, true
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := g.gateways[0].run(t, "ready"); err == nil {
			return nil, false
		}
	}
	t.Fatal("the gateway neither ends nor is ready")
	return nil, false
}

func (g *gatewayPod) path() string { return g.pod.config }

const secret = "this is the plain text of a measured frame"

// TestGatewayPair checks that packets cross the pair whole, in both directions and IP versions, and
// that none of their text is readable between the gateways.
func TestGatewayPair(t *testing.T) {
	for _, implementation := range []string{vnf.ImplementationAuto, vnf.ImplementationUserspace} {
		t.Run("WireGuard "+implementation, func(t *testing.T) {
			g := newGatewayPair(t, vnf.ProtocolWireGuard, implementation)
			commands := g.start(t)
			for i, gateway := range g.gateways {
				gateway.eventually(t, "")
				requireOnlyNetAdmin(t, commands[i].Process.Pid)
			}
			between := g.gateways[0].namespace.Open(t, "net2")
			before := g.gateways[0].namespace.Open(t, "net1")
			g.cross(t)
			if plain := framesWith(t, before); plain != 4 {
				t.Errorf("%d frames before the gateway have the plain text, want 4: the capture proves nothing", plain)
			}
			if plain := framesWith(t, between); plain != 0 {
				t.Errorf("%d frames between the gateways have the plain text", plain)
			}
			for _, gateway := range g.gateways {
				var status vnf.Status
				gateway.getStatus(t, &status)
				got := status.EncryptionGateway
				if got == nil || got.Protocol != vnf.ProtocolWireGuard || got.Implementation == "" || status.CountersProblem != "" {
					t.Fatalf("the gateway is %+v, problem %q", got, status.CountersProblem)
				}
				for _, name := range []string{vnf.CounterEncryptedBytes, vnf.CounterDecryptedBytes} {
					if status.Counters[name] < 2*1500 {
						t.Errorf("counters %v, want the bytes of two large packets each way", status.Counters)
					}
				}
				if implementation == vnf.ImplementationUserspace && (got.Implementation != implementation || got.Threads != 1) {
					t.Errorf("the gateway is %+v, want one thread in user space", got)
				}
				t.Logf("%+v %v", got, status.Counters)
			}
			g.requireNoKeyShown(t)
		})
	}
}

// cross sends a small and a large packet each way in each IP version.
func (g *gatewayPair) cross(t *testing.T) {
	t.Helper()
	west, east := g.west.Open(t, "net2"), g.east.Open(t, "net1")
	for family, largest := range []int{1472, 1452} {
		hostWest, hostEast := stubWest[family].Addr().Next(), stubEast[family].Addr().Next()
		for _, size := range []int{len(secret), largest} {
			payload := secret + strings.Repeat("x", size-len(secret))
			for _, way := range []struct {
				from, to            *netnstest.Socket
				fromMAC, toMAC      string
				source, destination netip.Addr
			}{
				{west, east, mac(0, 1), mac(0, 2), hostWest, hostEast},
				{east, west, mac(2, 2), mac(2, 1), hostEast, hostWest},
			} {
				way.from.Send(t, netnstest.Packet{
					SourceMAC: way.fromMAC, DestinationMAC: way.toMAC, Payload: payload,
					Source: netip.AddrPortFrom(way.source, 49184), Destination: netip.AddrPortFrom(way.destination, 7),
				})
				got, _, ok := way.to.Receive(t, 5*time.Second)
				if !ok {
					t.Fatalf("a packet of %d bytes from %s did not arrive", size, way.source)
				}
				if got.Payload != payload || got.TTL != 62 || got.Source.Addr() != way.source {
					t.Errorf("got %d bytes from %s with TTL %d, want %d from %s with 62", len(got.Payload), got.Source, got.TTL, size, way.source)
				}
			}
		}
	}
}

// framesWith counts the frames in transit that contain the plain text.
func framesWith(t *testing.T, socket *netnstest.Socket) (count int) {
	t.Helper()
	for {
		packet, others, ok := socket.Receive(t, 300*time.Millisecond)
		if strings.Contains(packet.Payload, secret) {
			count++
		}
		for _, frame := range others {
			if bytes.Contains(frame, []byte(secret)) {
				count++
			}
		}
		if !ok {
			return count
		}
	}
}

// requireNoKeyShown looks for every key in the gateways' output and answers.
func (g *gatewayPair) requireNoKeyShown(t *testing.T) {
	t.Helper()
	for _, gateway := range g.gateways {
		var status any
		gateway.getStatus(t, &status)
		config, err := os.ReadFile(gateway.pod.config)
		if err != nil {
			t.Fatal(err)
		}
		var shown bytes.Buffer
		shown.WriteString(gateway.log.String())
		shown.Write(config)
		mustEncode(t, &shown, status)
		for _, name := range []string{"private", "psk", "key-out", "key-in"} {
			key, err := os.ReadFile(filepath.Join(gateway.keys, name))
			if err != nil {
				t.Fatal(err)
			}
			raw, _ := base64.StdEncoding.DecodeString(string(key))
			for _, form := range []string{string(key), hexOf(raw)} {
				if strings.Contains(shown.String(), form) {
					t.Errorf("key %q is shown", name)
				}
			}
		}
	}
}

// TestIPsecPair sends packets through the pair where the kernel has ESP, and otherwise wants a
// readable refusal.
func TestIPsecPair(t *testing.T) {
	g := newGatewayPair(t, vnf.ProtocolIPsec, vnf.ImplementationKernel)
	if err, ended := g.endsOrIsReady(t); ended {
		if err == nil {
			t.Error("the gateway ended without an error")
		}
		for _, want := range []string{`setting the IPsec association "out" with rfc4106(gcm(aes))`, "modprobe -a xfrm_user esp4 gcm ghash aes seqiv drbg, or use protocol WireGuard"} {
			if !strings.Contains(g.gateways[0].log.String(), want) {
				t.Fatalf("no %q in\n%s", want, g.gateways[0].log.String())
			}
		}
		g.requireNoKeyInLog(t)
		t.Skip("this kernel has no ESP with AES-GCM, and the gateway says so: nothing was sent")
	}
	for _, gateway := range g.gateways {
		gateway.eventually(t, "")
	}
	between, before := g.gateways[0].namespace.Open(t, "net2"), g.gateways[0].namespace.Open(t, "net1")
	g.cross(t)
	if plain := framesWith(t, before); plain != 4 {
		t.Errorf("%d frames before the gateway have the plain text, want 4: the capture proves nothing", plain)
	}
	if plain := framesWith(t, between); plain != 0 {
		t.Errorf("%d frames between the gateways have the plain text", plain)
	}
	g.requireNoKeyShown(t)
}

func (g *gatewayPair) requireNoKeyInLog(t *testing.T) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(g.gateways[0].keys, "key-out"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(g.gateways[0].log.String(), string(key)) {
		t.Error("the key is in the log")
	}
}

func TestGatewayRefusals(t *testing.T) {
	t.Run("key missing", func(t *testing.T) {
		g := newGatewayPair(t, vnf.ProtocolWireGuard, vnf.ImplementationAuto)
		if err := os.Remove(filepath.Join(g.gateways[0].keys, "private")); err != nil {
			t.Fatal(err)
		}
		output, err := g.gateways[0].run(t, "run", "--config", g.gateways[0].pod.config, "--keys", g.gateways[0].keys)
		if err == nil || !strings.Contains(output, "encryptionGateway.keys.private: reading the key") {
			t.Errorf("got %v %s", err, output)
		}
	})
	t.Run("key broken", func(t *testing.T) {
		g := newGatewayPair(t, vnf.ProtocolWireGuard, vnf.ImplementationAuto)
		path := filepath.Join(g.gateways[0].keys, "psk")
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("c2hvcnQtc2VjcmV0"), 0o600); err != nil {
			t.Fatal(err)
		}
		output, err := g.gateways[0].run(t, "run", "--config", g.gateways[0].pod.config, "--keys", g.gateways[0].keys)
		if err == nil || !strings.Contains(output, "does not have 32 bytes in Base64") || strings.Contains(output, "c2hvcnQtc2VjcmV0") {
			t.Errorf("got %v %s", err, output)
		}
	})
	t.Run("kernel without WireGuard", func(t *testing.T) {
		g := newGatewayPair(t, vnf.ProtocolWireGuard, vnf.ImplementationKernel)
		err, ended := g.endsOrIsReady(t)
		if !ended {
			t.Skip("this kernel has WireGuard")
		}
		if err == nil {
			t.Error("the gateway ended without an error")
		}
		if log := g.gateways[0].log.String(); !strings.Contains(log, "modprobe wireguard, or use implementation Userspace") {
			t.Errorf("no remedy in\n%s", log)
		}
	})
}

func mustEncode(t *testing.T, into io.Writer, value any) {
	t.Helper()
	if err := json.NewEncoder(into).Encode(value); err != nil {
		t.Fatal(err)
	}
}

func hexOf(data []byte) string { return hex.EncodeToString(data) }
