// Package vnf is the configuration of a reference network function: what the
// operator renders for each function of a chain, and what the `vnf` binary
// reads. A JSON document goes in; a checked Config comes out, or an error that
// names the field. The package is pure: internal/vnf/kernel puts a Config into a
// kernel, internal/vnf/agent serves its state.
package vnf

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"reflect"

	"vnfbench.io/operator/internal/caller"
)

// DefaultPath is where a pod mounts its configuration.
const DefaultPath = "/etc/vnf/config.json"

// FunctionRouter forwards between its ports and does nothing else.
const FunctionRouter = "Router"

// Config is one network function: its ports, and where packets go.
type Config struct {
	// Function is what the machine does, one of Functions.
	Function string `json:"function"`
	// Name is the function's name in its chain.
	Name string `json:"name" digest:"-"`
	// Ports are the measured ports, two or more; the pod's own network is not
	// among them.
	Ports []Port `json:"ports"`
	// Routes are the networks beyond the ports' own.
	Routes []Route `json:"routes"`
	// Neighbors are the hardware addresses of the next machines. Every gateway on a
	// port that does not ask needs one.
	Neighbors []Neighbor `json:"neighbors"`
	// Caller is who may ask a virtual machine's agent. A pod has it in its environment.
	Caller *caller.Rule `json:"caller,omitempty" digest:"-"`
	// The settings of the function; a router has none.
	Settings
}

// Port is one measured port.
type Port struct {
	// Name is the port's place in the chain: "west", "east".
	Name string `json:"name"`
	// Interface is the name inside the network namespace, at most 15
	// characters. Absent, the interface is found by its hardware address.
	Interface string `json:"interface,omitempty"`
	// MAC is the expected hardware address, "02:00:00:00:00:01". A named
	// interface that has another address gets this one.
	MAC string `json:"mac" digest:"-"`
	// MTUBytes is the largest IP packet, 1280 to 9216.
	MTUBytes int `json:"mtuBytes"`
	// VLAN is the number of the 802.1Q tag that all frames of the port have, 1 to
	// 4094. The port's addresses are then on a separate interface for the tag:
	// see VLANInterface. Absent: frames have no tag.
	VLAN int `json:"vlan,omitempty"`
	// Resolution says what the port does of ARP and neighbor discovery:
	// ResolutionAnswers, ResolutionAsks, or nothing if it is empty.
	Resolution Resolution `json:"resolution,omitempty"`
	// Addresses are the port's addresses with their prefix lengths, one or
	// more, from 198.18.0.0/15 (RFC 2544) and 2001:2::/48 (RFC 5180). A port
	// that is bridged has none.
	Addresses []netip.Prefix `json:"addresses"`
}

// Resolution is what a port does of ARP (RFC 826) and neighbor discovery (RFC 4861).
type Resolution string

const (
	// ResolutionAnswers answers. The port's own neighbors are static.
	ResolutionAnswers Resolution = "Answers"
	// ResolutionAsks answers, and asks for neighbors without a static entry.
	ResolutionAsks Resolution = "Asks"
)

// VLANInterface returns the name of the interface for the port's tag, such as
// "west.100"; empty where it has none.
func (p Port) VLANInterface() string {
	if p.VLAN == 0 {
		return ""
	}
	return fmt.Sprintf("%s.%d", p.Name, p.VLAN)
}

// Route sends a network to the next machine.
type Route struct {
	// Destination is a network from the same ranges as the addresses.
	Destination netip.Prefix `json:"destination"`
	// Via is the gateway: on the port's network, and one of the neighbors.
	Via netip.Addr `json:"via"`
	// Port is the name of the port that Via is on.
	Port string `json:"port"`
}

// Neighbor is a static, permanent entry of the neighbor table.
type Neighbor struct {
	Address netip.Addr `json:"address"`
	MAC     string     `json:"mac" digest:"-"`
	Port    string     `json:"port"`
}

// Load reads the configuration from a file and checks it.
func Load(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	config, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("configuration %q: %w", path, err)
	}
	return config, nil
}

// Parse reads one JSON document, refuses unknown fields, and checks the rest.
func Parse(data []byte) (*Config, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	config := &Config{}
	if err := decoder.Decode(config); err != nil {
		return nil, cmp.Or(findTextError(reflect.TypeFor[Config](), data, ""), err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON document")
	}
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return config, nil
}

// Digest returns a digest of the configuration's content, "sha256:" and
// hexadecimal digits. White space and field order of the file do not change it, nor does Caller.
func (c *Config) Digest() string {
	content := *c
	content.Caller = nil
	data, err := json.Marshal(&content)
	if err != nil {
		// Strings, integers and netip values always marshal.
		panic(err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Families reports which IP versions the ports carry.
func (c *Config) Families() (ipv4, ipv6 bool) {
	for _, port := range c.Ports {
		for _, address := range port.Addresses {
			if address.Addr().Is4() {
				ipv4 = true
			} else {
				ipv6 = true
			}
		}
	}
	return ipv4, ipv6
}
