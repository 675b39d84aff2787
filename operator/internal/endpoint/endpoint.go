// Package endpoint is the input of the two machines at the ends of TCP
// connections: their configuration, which the operator renders into a file, and
// the requests that the measurer sends to their agents. The package is pure:
// internal/endpoint/agent runs iperf3.
package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
)

const (
	// DefaultPath is where a pod mounts its configuration.
	DefaultPath = "/etc/endpoint/config.json"
	// AgentPort is the TCP port of the agent on the pod network.
	AgentPort = 8080
	// MaximumStreams is the most connections that iperf3 makes.
	MaximumStreams = 128
)

// Config is the configuration of one end.
type Config struct {
	// Name is "west" or "east".
	Name string `json:"name"`
	// Interface is the measured port's name, MAC its hardware address.
	Interface string `json:"interface"`
	MAC       string `json:"mac" digest:"-"`
	MTUBytes  int    `json:"mtuBytes"`
	// Addresses are the port's, with prefix lengths. TCP uses those of full length.
	Addresses []netip.Prefix `json:"addresses"`
	// Routes lead to the other end.
	Routes []Route `json:"routes"`
	// GatewayMAC is the hardware address of every gateway: the port does no ARP.
	GatewayMAC string `json:"gatewayMAC" digest:"-"`
}

// Route is a network that a gateway leads to.
type Route struct {
	Destination netip.Prefix `json:"destination"`
	Via         netip.Addr   `json:"via"`
}

// Load reads the configuration from a file and checks it.
func Load(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	config := &Config{}
	if err := decoder.Decode(config); err != nil {
		return nil, fmt.Errorf("configuration %q: %w", path, err)
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("configuration %q: %w", path, err)
	}
	return config, nil
}

// benchmark are the ranges that contain every address (RFC 2544, RFC 5180), so
// that a configuration can never replace the pod's own routes.
var benchmark = []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("2001:2::/48")}

// Validate checks the configuration; every error starts with its field.
func (c *Config) Validate() error {
	switch {
	case c.Name == "":
		return errors.New("name: is missing")
	case c.Interface == "" || len(c.Interface) > 15:
		return fmt.Errorf("interface: %q is not a name for an interface", c.Interface)
	case c.MTUBytes < 1280 || c.MTUBytes > 9216:
		return fmt.Errorf("mtuBytes: %d is not between 1280 and 9216", c.MTUBytes)
	case len(c.Addresses) == 0:
		return errors.New("addresses: one or more needed")
	}
	for field, text := range map[string]string{"mac": c.MAC, "gatewayMAC": c.GatewayMAC} {
		if mac, err := net.ParseMAC(text); err != nil || len(mac) != 6 || mac[0]&1 != 0 {
			return fmt.Errorf("%s: %q is not a hardware address of the form 02:00:00:00:00:01", field, text)
		}
	}
	for i, address := range c.Addresses {
		if !reserved(address) {
			return fmt.Errorf("addresses[%d]: %q is outside of %s and %s", i, address, benchmark[0], benchmark[1])
		}
	}
	for i, route := range c.Routes {
		if !reserved(route.Destination) || route.Destination != route.Destination.Masked() {
			return fmt.Errorf("routes[%d].destination: %q is not a network of %s and %s", i, route.Destination, benchmark[0], benchmark[1])
		}
		if !c.onLink(route.Via) {
			return fmt.Errorf("routes[%d].via: %q is not on a network of the port", i, route.Via)
		}
	}
	return nil
}

func (c *Config) onLink(address netip.Addr) bool {
	for _, own := range c.Addresses {
		if own.Contains(address) && own.Addr() != address {
			return true
		}
	}
	return false
}

// leadsTo reports whether one of the routes through the chain leads to an address.
// An agent sends to no other address.
func (c *Config) leadsTo(address netip.Addr) bool {
	for _, route := range c.Routes {
		if route.Destination.Contains(address) {
			return true
		}
	}
	return false
}

func reserved(network netip.Prefix) bool {
	for _, allowed := range benchmark {
		if network.IsValid() && allowed.Contains(network.Addr()) && network.Bits() >= allowed.Bits() {
			return true
		}
	}
	return false
}

// owns reports whether TCP may use an address of this machine.
func (c *Config) owns(address netip.Addr) bool {
	for _, own := range c.Addresses {
		if own.Addr() == address {
			return true
		}
	}
	return false
}
