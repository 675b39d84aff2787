package neighbor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"vnfbench.io/operator/internal/caller"
)

// GuestConfig is the NoCloud user data of a neighbor that is a virtual machine,
// in JSON. The measurer requests the load, as it does from a pod.
type GuestConfig struct {
	// Ports are those of a Network neighbor, InterfaceWest and InterfaceEast;
	// empty for any other.
	Ports []GuestPort `json:"ports"`
	// Caller is who may ask the agent. A pod has it in its environment.
	Caller *caller.Rule `json:"caller,omitempty"`
}

// GuestPort is a card of the machine, known by its address.
type GuestPort struct {
	// Name is the name that the card gets.
	Name string `json:"name"`
	MAC  string `json:"mac"`
	// MTUBytes is the MTU that the card gets.
	MTUBytes int `json:"mtuBytes"`
}

// ScratchSerial is the serial number of the disk that the guest formats and
// mounts as Scratch; only a Disk neighbor's machine has one.
const ScratchSerial = "vnfscratch"

// MTUs that a port can have: the smallest of IPv4 (RFC 791), and the largest that
// a frame's length can express.
const (
	minMTUBytes = 68
	maxMTUBytes = 65535
)

// ParseGuestConfig reads and checks a configuration. An error names the field.
func ParseGuestConfig(data []byte) (*GuestConfig, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	config := &GuestConfig{}
	if err := decoder.Decode(config); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON document")
	}
	if err := config.validate(); err != nil {
		return nil, err
	}
	return config, nil
}

func (c *GuestConfig) validate() error {
	if c.Caller != nil {
		if err := c.Caller.Validate(); err != nil {
			return fmt.Errorf("caller.%w", err)
		}
	}
	names := []string{InterfaceWest, InterfaceEast}
	if len(c.Ports) != 0 && len(c.Ports) != len(names) {
		return fmt.Errorf("ports: there are %d, want none, or %q and %q", len(c.Ports), InterfaceWest, InterfaceEast)
	}
	seen := map[string]bool{}
	for i, port := range c.Ports {
		field := fmt.Sprintf("ports[%d]", i)
		if !slices.Contains(names, port.Name) || seen[port.Name] {
			return fmt.Errorf("%s.name: %q is not %q or %q, or is another port's", field, port.Name, InterfaceWest, InterfaceEast)
		}
		mac, err := net.ParseMAC(port.MAC)
		const ethernetBytes = 6
		if err != nil || len(mac) != ethernetBytes || mac[0]&1 != 0 {
			return fmt.Errorf(`%s.mac: %q is not the hardware address of a card, such as "02:00:00:00:00:02"`, field, port.MAC)
		}
		if seen[mac.String()] {
			return fmt.Errorf("%s.mac: %q is taken by another port", field, port.MAC)
		}
		if port.MTUBytes < minMTUBytes || port.MTUBytes > maxMTUBytes {
			return fmt.Errorf("%s.mtuBytes: %d is not between %d and %d", field, port.MTUBytes, minMTUBytes, maxMTUBytes)
		}
		seen[port.Name], seen[mac.String()] = true, true
	}
	return nil
}
