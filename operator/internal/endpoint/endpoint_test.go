package endpoint

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
)

func good() Config {
	return Config{
		Name: "west", Interface: "port", MAC: "02:00:00:00:00:29", MTUBytes: 1500, GatewayMAC: "02:00:00:00:00:02",
		Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.3/24"), netip.MustParsePrefix("198.18.255.254/32")},
		Routes:    []Route{{netip.MustParsePrefix("198.19.128.0/17"), netip.MustParseAddr("198.18.0.2")}},
	}
}

func TestValidate(t *testing.T) {
	config := good()
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*Config){
		"name":                  func(c *Config) { c.Name = "" },
		"interface":             func(c *Config) { c.Interface = "longer-than-15-characters" },
		"mac":                   func(c *Config) { c.MAC = "01:00:00:00:00:01" },
		"gatewayMAC":            func(c *Config) { c.GatewayMAC = "02" },
		"mtuBytes":              func(c *Config) { c.MTUBytes = 576 },
		"addresses:":            func(c *Config) { c.Addresses = nil },
		"addresses[1]":          func(c *Config) { c.Addresses[1] = netip.MustParsePrefix("10.0.0.1/8") },
		"routes[0].destination": func(c *Config) { c.Routes[0].Destination = netip.MustParsePrefix("0.0.0.0/0") },
		"routes[0].via":         func(c *Config) { c.Routes[0].Via = netip.MustParseAddr("198.18.9.2") },
	} {
		config := good()
		spoil(&config)
		if err := config.Validate(); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

func TestLoadRefusesUnknownFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(`{"name": "west", "shell": "rm"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "shell") {
		t.Errorf("got %v", err)
	}
}

func client() Client {
	return Client{
		Address: netip.MustParseAddr("198.18.255.254"), Server: netip.MustParseAddr("198.19.255.254"), Port: 5201,
		Streams: 4, DurationSeconds: 100, OmitSeconds: 2,
	}
}

// TestChecks checks that data from the network becomes a program's argument only in its place.
func TestChecks(t *testing.T) {
	config := good()
	config.Routes = append(config.Routes, Route{netip.MustParsePrefix("2001:2:0:9000::/64"), netip.MustParseAddr("2001:2::2")})
	if err := client().Check(&config); err != nil {
		t.Error(err)
	}
	for field, spoil := range map[string]func(*Client){
		"address":           func(c *Client) { c.Address = netip.MustParseAddr("198.18.255.1") },
		"server: \"2001":    func(c *Client) { c.Server = netip.MustParseAddr("2001:2:0:9000::1") },
		"server: \"10":      func(c *Client) { c.Server = netip.MustParseAddr("10.0.0.1") },
		"port":              func(c *Client) { c.Port = 22 },
		"streams":           func(c *Client) { c.Streams = 129 },
		"durationSeconds":   func(c *Client) { c.DurationSeconds = 4000 },
		"mssBytes":          func(c *Client) { c.MSSBytes = -1 },
		"congestionControl": func(c *Client) { c.CongestionControl = "--file /etc/passwd" },
	} {
		c := client()
		spoil(&c)
		if err := c.Check(&config); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
	server := Server{Address: netip.MustParseAddr("198.18.255.254"), Port: 5201, Seconds: 12}
	if err := server.Check(&config); err != nil {
		t.Error(err)
	}
	for field, bad := range map[string]Server{
		"address": {Port: 5201, Seconds: 1},
		"port":    {Address: server.Address, Port: 80, Seconds: 1},
		"seconds": {Address: server.Address, Port: 5201, Seconds: 1 << 20},
	} {
		if err := bad.Check(&config); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

func TestArguments(t *testing.T) {
	c := client()
	c.TCPSettings = measure.TCPSettings{MSSBytes: 1400, CongestionControl: "cubic", WindowBytes: 65536, TargetBitsPerSecond: 1_000_003}
	want := "--client 198.19.255.254 --port 5201 --bind 198.18.255.254 --json --time 100 --omit 2 --parallel 4 --interval 5" +
		" --connect-timeout 5000 --snd-timeout 20000 --set-mss 1400 --congestion cubic --window 65536 --bitrate 250000"
	if diff := cmp.Diff(want, strings.Join(c.Arguments(), " ")); diff != "" {
		t.Error(diff)
	}
	server := Server{Address: c.Server, Port: 5201, Seconds: 102}
	want = "--server --one-off --json --interval 6 --bind 198.19.255.254 --port 5201 --rcv-timeout 20000"
	if diff := cmp.Diff(want, strings.Join(server.Arguments(), " ")); diff != "" {
		t.Error(diff)
	}
	if c.Lifetime() <= 122*time.Second || server.Lifetime() <= 122*time.Second {
		t.Errorf("lifetimes %s and %s leave no time for a path that has gone silent", c.Lifetime(), server.Lifetime())
	}
	for seconds, want := range map[int]string{1: "1", 20: "1", 21: "2", 3600: "180"} {
		if got := interval(seconds); got != want {
			t.Errorf("%d s in intervals of %s s, want %s", seconds, got, want)
		}
	}
}
