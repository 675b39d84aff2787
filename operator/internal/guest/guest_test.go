//go:build linux

package guest

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"

	"vnfbench.io/operator/internal/testing/guesttest"
)

var three = []Card{
	{Interface: "eth0", MAC: "02:00:00:00:01:01", Index: 2},
	{Interface: "eth1", MAC: "52:54:00:12:34:56", Index: 3},
	{Interface: "eth2", MAC: "02:00:00:00:00:02", Index: 4},
}

func TestManagement(t *testing.T) {
	for name, tc := range map[string]struct{ userData, want string }{
		"the one that is not a port": {`{"ports": [{"mac": "02:00:00:00:00:02"}, {"mac": "02:00:00:00:01:01"}]}`, "eth1"},
		"capitals":                   {`{"ports": [{"mac": "02:00:00:00:00:02"}, {"mac": "52:54:00:12:34:56"}, {"mac": "02:00:00:00:01:0A"}]}`, "eth0"},
		"a field that is unknown":    {`{"prots": 1, "ports": [{"mac": "02:00:00:00:01:01"}]}`, "eth1"},
		"no configuration":           {``, "eth0"},
		"no JSON":                    {`#cloud-config`, "eth0"},
		"an address that is none":    {`{"ports": [{"mac": "nonsense"}, {"mac": "02:00:00:00:01:01"}]}`, "eth1"},
		"every card is a port's":     {`{"ports": [{"mac": "02:00:00:00:00:02"}, {"mac": "52:54:00:12:34:56"}, {"mac": "02:00:00:00:01:01"}]}`, ""},
		"a field of the wrong type":  {`{"ports": [{"mac": "02:00:00:00:01:01", "mtuBytes": "x"}]}`, "eth1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := management(three, portMACs([]byte(tc.userData)))
			if got.Interface != tc.want || ok != (tc.want != "") {
				t.Errorf("got %q, want %q", got.Interface, tc.want)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	got := missing(three, []string{"02:00:00:00:00:02", "02:00:00:00:00:99"})
	if diff := cmp.Diff([]string{"02:00:00:00:00:99"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLastWords(t *testing.T) {
	exit2, killed := syscall.WaitStatus(2<<8), syscall.WaitStatus(syscall.SIGKILL)
	for name, tc := range map[string]struct {
		output []string
		status syscall.WaitStatus
		want   string
	}{
		"an error":   {[]string{"one\nvnf: two\n"}, exit2, "the function's process ended with exit code 2: vnf: two"},
		"in pieces":  {[]string{"vnf: t", "wo"}, exit2, "the function's process ended with exit code 2: vnf: two"},
		"a panic":    {[]string{"panic: nil map\n\ngoroutine 1 [running]:\n"}, exit2, "the function's process ended with exit code 2: panic: nil map"},
		"no words":   {nil, killed, "the function's process ended with signal killed"},
		"long words": {[]string{strings.Repeat("x", 5000)}, exit2, "the function's process ended with exit code 2: " + strings.Repeat("x", maxLineBytes)},
	} {
		t.Run(name, func(t *testing.T) {
			words := &lastWords{whose: "function"}
			for _, part := range tc.output {
				if n, err := words.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatalf("wrote %d, %v", n, err)
				}
			}
			if got := words.reason(tc.status); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestSupervise checks that the first process keeps the last words of the second one, and
// ends on a signal.
func TestSupervise(t *testing.T) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGCHLD)
	defer signal.Stop(signals)
	why, err := supervise("function", []string{"/bin/sh", "-c", "(sleep 0 &); echo 'panic: no map' >&2; echo trace >&2; exit 2"}, signals)
	if want := "the function's process ended with exit code 2: panic: no map"; why != want || err != nil {
		t.Errorf("got %q, %v, want %q", why, err, want)
	}
	if _, err := supervise("function", []string{"/nowhere"}, signals); err == nil {
		t.Error("no error for a program that is not there")
	}
	terminated := make(chan os.Signal, 1)
	terminated <- syscall.SIGTERM
	if why, err := supervise("function", []string{"/bin/sh", "-c", "exit 0"}, terminated); why != "" || err != nil {
		t.Errorf("after SIGTERM: %q, %v", why, err)
	}
}

func TestPowerButton(t *testing.T) {
	event := func(kind, code uint16, value uint32) []byte {
		data := make([]byte, eventBytes)
		binary.NativeEndian.PutUint16(data[eventKind:], kind)
		binary.NativeEndian.PutUint16(data[eventCode:], code)
		binary.NativeEndian.PutUint32(data[eventValue:], value)
		return data
	}
	for name, tc := range map[string]struct {
		event []byte
		want  bool
	}{
		"pushed":          {event(kindKey, keyPower, 1), true},
		"let go":          {event(kindKey, keyPower, 0), false},
		"another key":     {event(kindKey, 30, 1), false},
		"synchronization": {event(0, 0, 0), false},
	} {
		if got := isPowerButton(tc.event); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestRoutes(t *testing.T) {
	router := dhcpv4.WithRouter(net.IPv4(10, 0, 2, 1))
	classless := dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(
		&dhcpv4.Route{Dest: &net.IPNet{IP: net.IPv4(169, 254, 1, 1).To4(), Mask: net.CIDRMask(32, 32)}, Router: net.IPv4zero.To4()},
		&dhcpv4.Route{Dest: &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, Router: net.IPv4(169, 254, 1, 1).To4()},
	))
	for name, tc := range map[string]struct {
		modifiers []dhcpv4.Modifier
		want      []string
	}{
		"none":             {nil, nil},
		"a router":         {[]dhcpv4.Modifier{router}, []string{"0.0.0.0/0 via 10.0.2.1"}},
		"classless routes": {[]dhcpv4.Modifier{router, classless}, []string{"169.254.1.1/32 via <nil>", "0.0.0.0/0 via 169.254.1.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			ack, err := dhcpv4.New(tc.modifiers...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, route := range routes(ack) {
				got = append(got, route.Dst.String()+" via "+route.Gw.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLabels reads the labels of file systems that other programs made, as
// KubeVirt makes them.
func TestLabels(t *testing.T) {
	dir := t.TempDir()
	userData := filepath.Join(dir, "user-data")
	if err := os.WriteFile(userData, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	iso := filepath.Join(dir, "sr0")
	guesttest.ISO(t, iso, SeedLabel, userData)
	if err := os.WriteFile(filepath.Join(dir, "vda"), bytes.Repeat([]byte{0}, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	disks, err := labels(fstest.MapFS{"sr0": {}, "vda": {}, "gone": {}}, dir)
	if err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("the disk that is gone gives %v", err)
	}
	found, ok := findLabel(disks, SeedLabel)
	if want := (Disk{iso, "iso9660", SeedLabel}); !ok || found != want {
		t.Errorf("got %+v of %+v", found, disks)
	}
	if _, ok := findLabel(disks, "vnfkeys"); ok {
		t.Error("found keys")
	}
	if _, ok := findLabel([]Disk{{label: "CIDATA"}}, SeedLabel); !ok {
		t.Error("a label in capitals is not found")
	}
}
