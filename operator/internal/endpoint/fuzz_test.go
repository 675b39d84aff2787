package endpoint

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/testing/mutate"
)

// FuzzRequests reads requests as an agent does. It checks that what is accepted has the limits that the
// API sets, that it names addresses of the path alone, and that no argument of it is taken as an option.
func FuzzRequests(f *testing.F) {
	config := &Config{
		Name: "west", Interface: "eth1", MAC: "02:00:00:00:00:01", MTUBytes: 1500, GatewayMAC: "02:00:00:00:00:02",
		Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.1/24")},
		Routes:    []Route{{netip.MustParsePrefix("198.18.2.0/24"), netip.MustParseAddr("198.18.0.2")}},
	}
	if err := config.Validate(); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		`{"address":"198.18.0.1","port":5201,"seconds":10}`,
		`{"address":"198.18.0.1","server":"198.18.2.1","port":5201,"streams":4,"durationSeconds":10,"omitSeconds":2,"mssBytes":1400,"congestionControl":"cubic","windowBytes":65536,"targetBitsPerSecond":1000000}`,
	} {
		f.Add([]byte(seed), []byte{})
		f.Add([]byte(seed), []byte{0, 6, 0, 8, 0, 2, 0, 9})
	}
	f.Fuzz(func(t *testing.T, text, edits []byte) {
		text = mutate.JSON(text, edits)
		var server Server
		if json.Unmarshal(text, &server) == nil && server.Check(config) == nil {
			checkAccepted(t, text, server.Address, server.Lifetime(), server.Arguments())
		}
		var client Client
		if json.Unmarshal(text, &client) == nil && client.Check(config) == nil {
			if client.DurationSeconds > maxSeconds || client.OmitSeconds > maxSeconds || !config.Routes[0].Destination.Contains(client.Server) {
				t.Fatalf("%s was accepted", text)
			}
			checkAccepted(t, text, client.Address, client.Lifetime(), client.Arguments())
		}
	})
}

func checkAccepted(t *testing.T, text []byte, own netip.Addr, lifetime time.Duration, arguments []string) {
	t.Helper()
	if own != netip.MustParseAddr("198.18.0.1") || lifetime <= 0 || lifetime > maxSeconds*time.Second+slack {
		t.Fatalf("%s was accepted: of %s for %s", text, own, lifetime)
	}
	for _, argument := range arguments {
		// Values are addresses, numbers and names of algorithms: what begins with one dash, or is empty, is none.
		if argument == "" || strings.HasPrefix(argument, "-") && !strings.HasPrefix(argument, "--") {
			t.Fatalf("%s: the arguments are %q", text, arguments)
		}
	}
}

// FuzzConfig checks that no configuration causes a panic, and that one that is accepted stays in the ranges
// of benchmarks.
func FuzzConfig(f *testing.F) {
	seed := `{"name":"west","interface":"eth1","mac":"02:00:00:00:00:01","mtuBytes":1500,"gatewayMAC":"02:00:00:00:00:02","addresses":["198.18.0.1/24"],"routes":[{"destination":"198.18.2.0/24","via":"198.18.0.2"}]}`
	f.Add([]byte(seed), []byte{})
	f.Add([]byte(seed), []byte{0, 6, 0, 8})
	f.Fuzz(func(t *testing.T, text, edits []byte) {
		var config Config
		if json.Unmarshal(mutate.JSON(text, edits), &config) != nil || config.Validate() != nil {
			return
		}
		for _, address := range config.Addresses {
			if !benchmark[0].Contains(address.Addr()) && !benchmark[1].Contains(address.Addr()) {
				t.Fatalf("address %s was accepted", address)
			}
		}
		for _, route := range config.Routes {
			if !benchmark[0].Overlaps(route.Destination) && !benchmark[1].Overlaps(route.Destination) {
				t.Fatalf("a route to %s was accepted", route.Destination)
			}
		}
	})
}
