package vnf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

const (
	// minMTUBytes is what IPv6 requires of every link (RFC 8200 section 5).
	minMTUBytes = 1280
	// MaximumMTUBytes is the largest packet of a port.
	MaximumMTUBytes = 9216
	// maxInterfaceBytes is the kernel's IFNAMSIZ without the closing zero.
	maxInterfaceBytes = 15
	// maxVLAN is the highest number of a tag; 4095 is reserved (IEEE 802.1Q).
	maxVLAN = 4094
)

var (
	benchmarkIPv4 = netip.MustParsePrefix("198.18.0.0/15") // RFC 2544, RFC 6890
	benchmarkIPv6 = netip.MustParsePrefix("2001:2::/48")   // RFC 5180

	namePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// Validate checks the configuration; every error starts with its field.
func (c *Config) Validate() error {
	if err := c.validateFunction(); err != nil {
		return err
	}
	if !namePattern.MatchString(c.Name) {
		return fmt.Errorf("name: %q is not a DNS label", c.Name)
	}
	if c.Caller != nil {
		if err := c.Caller.Validate(); err != nil {
			return fmt.Errorf("caller.%w", err)
		}
	}
	if c.Bridged() {
		if err := c.validateBridged(); err != nil {
			return err
		}
	}
	ports, err := c.validatePorts()
	if err != nil {
		return err
	}
	neighbors, err := c.validateNeighbors(ports)
	if err != nil {
		return err
	}
	if err := c.validateRoutes(ports, neighbors); err != nil {
		return err
	}
	return c.validateSettings()
}

func (c *Config) validatePorts() (map[string]Port, error) {
	if len(c.Ports) < 2 {
		return nil, fmt.Errorf("ports: %d given, two or more needed", len(c.Ports))
	}
	ports := map[string]Port{}
	interfaces, macs := map[string]bool{}, map[string]bool{}
	for i, port := range c.Ports {
		field := fmt.Sprintf("ports[%d]", i)
		if err := port.validate(c.Bridged()); err != nil {
			return nil, fmt.Errorf("%s.%w", field, err)
		}
		if _, found := ports[port.Name]; found {
			return nil, fmt.Errorf("%s.name: %q is taken by another port", field, port.Name)
		}
		if port.Interface != "" && interfaces[port.Interface] {
			return nil, fmt.Errorf("%s.interface: %q is taken by another port", field, port.Interface)
		}
		if mac := strings.ToLower(port.MAC); macs[mac] {
			return nil, fmt.Errorf("%s.mac: %q is taken by another port", field, port.MAC)
		}
		for j, address := range port.Addresses {
			for _, other := range c.Ports[:i] {
				if overlapsAny(address, other.Addresses) {
					return nil, fmt.Errorf("%s.addresses[%d]: %q overlaps a network of port %q", field, j, address, other.Name)
				}
			}
		}
		ports[port.Name] = port
		interfaces[port.Interface] = true
		macs[strings.ToLower(port.MAC)] = true
	}
	return ports, nil
}

func (p Port) validate(bridged bool) error {
	if !namePattern.MatchString(p.Name) {
		return fmt.Errorf("name: %q is not a DNS label", p.Name)
	}
	if err := validateInterface(p.Interface); err != nil {
		return fmt.Errorf("interface: %w", err)
	}
	if err := validateMAC(p.MAC); err != nil {
		return fmt.Errorf("mac: %w", err)
	}
	if p.MTUBytes < minMTUBytes || p.MTUBytes > MaximumMTUBytes {
		return fmt.Errorf("mtuBytes: %d is not between %d and %d", p.MTUBytes, minMTUBytes, MaximumMTUBytes)
	}
	if p.VLAN < 0 || p.VLAN > maxVLAN {
		return fmt.Errorf("vlan: %d is not between 1 and %d", p.VLAN, maxVLAN)
	}
	if name := p.VLANInterface(); len(name) > maxInterfaceBytes {
		return fmt.Errorf("vlan: its interface would be %q, longer than %d characters: shorten the port's name", name, maxInterfaceBytes)
	}
	if p.Resolution != "" && p.Resolution != ResolutionAnswers && p.Resolution != ResolutionAsks {
		return fmt.Errorf("resolution: %q is not %s or %s", p.Resolution, ResolutionAnswers, ResolutionAsks)
	}
	if len(p.Addresses) == 0 && !bridged {
		return errors.New("addresses: one or more needed")
	}
	for i, address := range p.Addresses {
		if err := validateNetwork(address); err != nil {
			return fmt.Errorf("addresses[%d]: %w", i, err)
		}
		if overlapsAny(address, p.Addresses[:i]) {
			return fmt.Errorf("addresses[%d]: %q overlaps another network of this port", i, address)
		}
	}
	return nil
}

func (c *Config) validateNeighbors(ports map[string]Port) (map[netip.Addr]string, error) {
	neighbors := map[netip.Addr]string{}
	for i, neighbor := range c.Neighbors {
		field := fmt.Sprintf("neighbors[%d]", i)
		port, found := ports[neighbor.Port]
		if !found {
			return nil, fmt.Errorf("%s.port: no port is called %q", field, neighbor.Port)
		}
		if err := port.validateOnLink(neighbor.Address); err != nil {
			return nil, fmt.Errorf("%s.address: %w", field, err)
		}
		if _, found := neighbors[neighbor.Address]; found {
			return nil, fmt.Errorf("%s.address: %q is given twice", field, neighbor.Address)
		}
		if err := validateMAC(neighbor.MAC); err != nil {
			return nil, fmt.Errorf("%s.mac: %w", field, err)
		}
		neighbors[neighbor.Address] = neighbor.Port
	}
	return neighbors, nil
}

func (c *Config) validateRoutes(ports map[string]Port, neighbors map[netip.Addr]string) error {
	destinations := map[netip.Prefix]bool{}
	for i, route := range c.Routes {
		field := fmt.Sprintf("routes[%d]", i)
		port, found := ports[route.Port]
		if !found {
			return fmt.Errorf("%s.port: no port is called %q", field, route.Port)
		}
		if err := validateNetwork(route.Destination); err != nil {
			return fmt.Errorf("%s.destination: %w", field, err)
		}
		if route.Destination != route.Destination.Masked() {
			return fmt.Errorf("%s.destination: %q has host bits, want %q", field, route.Destination, route.Destination.Masked())
		}
		if destinations[route.Destination] {
			return fmt.Errorf("%s.destination: %q is given twice", field, route.Destination)
		}
		for _, other := range c.Ports {
			if hasNetwork(other.Addresses, route.Destination) {
				return fmt.Errorf("%s.destination: %q is port %q's own network", field, route.Destination, other.Name)
			}
		}
		if err := port.validateOnLink(route.Via); err != nil {
			return fmt.Errorf("%s.via: %w", field, err)
		}
		if route.Via.Is4() != route.Destination.Addr().Is4() {
			return fmt.Errorf("%s.via: %q is not of the family of %q", field, route.Via, route.Destination)
		}
		if neighbors[route.Via] != route.Port && port.Resolution != ResolutionAsks {
			return fmt.Errorf("%s.via: %q has no entry in neighbors, and the port does not ask by ARP or neighbor discovery", field, route.Via)
		}
		destinations[route.Destination] = true
	}
	return nil
}

// validateOnLink requires an address that this port reaches without a gateway.
func (p Port) validateOnLink(address netip.Addr) error {
	if !address.IsValid() {
		return errors.New("is missing")
	}
	for _, own := range p.Addresses {
		if own.Addr() == address {
			return fmt.Errorf("%q is port %q's own address", address, p.Name)
		}
	}
	for _, own := range p.Addresses {
		if own.Contains(address) {
			return nil
		}
	}
	return fmt.Errorf("%q is not on a network of port %q", address, p.Name)
}

// validateNetwork keeps everything inside the ranges reserved for benchmarks,
// so that a configuration can never replace the pod's own routes.
func validateNetwork(network netip.Prefix) error {
	if !network.IsValid() {
		return errors.New("is missing")
	}
	for _, allowed := range []netip.Prefix{benchmarkIPv4, benchmarkIPv6} {
		if allowed.Contains(network.Addr()) && network.Bits() >= allowed.Bits() {
			return nil
		}
	}
	return fmt.Errorf("%q is outside of %s and %s", network, benchmarkIPv4, benchmarkIPv6)
}

func validateInterface(name string) error {
	if len(name) > maxInterfaceBytes {
		return fmt.Errorf("%q is longer than %d characters", name, maxInterfaceBytes)
	}
	if name == "." || name == ".." || strings.ContainsAny(name, "/: \t\n\v\f\r\x00") {
		return fmt.Errorf("%q is not a name for an interface", name)
	}
	return nil
}

func validateMAC(text string) error {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 {
		return fmt.Errorf("%q is not a hardware address of the form 02:00:00:00:00:01", text)
	}
	if mac[0]&1 != 0 {
		return fmt.Errorf("%q is a group address", text)
	}
	if mac.String() == "00:00:00:00:00:00" {
		return fmt.Errorf("%q is not the address of a port", text)
	}
	return nil
}

func overlapsAny(network netip.Prefix, others []netip.Prefix) bool {
	for _, other := range others {
		if network.Overlaps(other) {
			return true
		}
	}
	return false
}

func hasNetwork(addresses []netip.Prefix, network netip.Prefix) bool {
	for _, address := range addresses {
		if address.Masked() == network {
			return true
		}
	}
	return false
}

func oneOf(field, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s: %q is unknown, want one of %q", field, value, allowed)
}
