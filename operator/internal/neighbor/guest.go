package neighbor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
)

// GuestConfig is what a neighbour that is a virtual machine finds as NoCloud
// user data, in JSON. What it shall load it is told by the measurer, as a pod is.
type GuestConfig struct {
	// Ports are those of a Network neighbour, InterfaceWest and InterfaceEast;
	// none for any other.
	Ports []GuestPort `json:"ports"`
}

// GuestPort is a card of the machine, known by its address.
type GuestPort struct {
	// Name that the card gets.
	Name string `json:"name"`
	MAC  string `json:"mac"`
	// MTUBytes that the card gets.
	MTUBytes int `json:"mtuBytes"`
}

// ScratchSerial is the serial number of the disk that the guest formats and
// mounts as Scratch; only a Disk neighbour's machine has one.
const ScratchSerial = "vnfscratch"

// MTUs that a port can have: the smallest of IPv4 (RFC 791), and what a frame's
// length can say.
const (
	smallestMTUBytes = 68
	largestMTUBytes  = 65535
)

// ParseGuestConfig reads and checks one. An error names the field.
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
		if port.MTUBytes < smallestMTUBytes || port.MTUBytes > largestMTUBytes {
			return fmt.Errorf("%s.mtuBytes: %d is not between %d and %d", field, port.MTUBytes, smallestMTUBytes, largestMTUBytes)
		}
		seen[port.Name], seen[mac.String()] = true, true
	}
	return nil
}
