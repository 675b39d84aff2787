package vnf

import (
	"slices"
	"strings"
)

// interfacePlaceholder represents the port's interface in a key. The tuning CNI
// plugin replaces it.
const interfacePlaceholder = "IFNAME"

// Sysctl is one kernel parameter that a port needs. A pod's /proc/sys is
// read-only, so the tuning CNI plugin in the port's NetworkAttachmentDefinition
// sets the parameters before the pod starts.
type Sysctl struct {
	// Key has dots; IFNAME in it represents the interface.
	Key string
	// Value is the required value of the parameter.
	Value string
}

// Sysctls returns the parameters that every port needs for the IP versions that
// it carries, in the order to set them.
func Sysctls(ipv4, ipv6 bool) []Sysctl {
	var sysctls []Sysctl
	if ipv4 {
		sysctls = append(sysctls,
			Sysctl{"net.ipv4.conf.IFNAME.forwarding", "1"},
			// The kernel takes the higher of the two. Reverse path filtering
			// would cost a look-up per packet, depending on the distribution.
			Sysctl{"net.ipv4.conf.all.rp_filter", "0"},
			Sysctl{"net.ipv4.conf.IFNAME.rp_filter", "0"},
		)
	}
	if ipv6 {
		sysctls = append(sysctls,
			Sysctl{"net.ipv6.conf.IFNAME.disable_ipv6", "0"},
			// For IPv6, "all" decides whether the kernel forwards at all; the
			// interface's own value only decides whether it behaves as a router's.
			Sysctl{"net.ipv6.conf.all.forwarding", "1"},
			Sysctl{"net.ipv6.conf.IFNAME.forwarding", "1"},
			Sysctl{"net.ipv6.conf.IFNAME.accept_ra", "0"},
		)
	}
	return sysctls
}

// Sysctls returns the parameters that the function's ports need. The interfaces
// of tunnels and of VLAN tags are made later, in a pod where nothing can be
// written any longer, so they have to inherit them.
func (c *Config) Sysctls() []Sysctl {
	sysctls := Sysctls(c.Families())
	tagged := slices.ContainsFunc(c.Ports, func(p Port) bool { return p.VLAN != 0 })
	if !tagged && !c.Needs().Interfaces {
		return sysctls
	}
	for _, sysctl := range Sysctls(c.Families()) {
		if inherited := strings.Replace(sysctl.Key, interfacePlaceholder, "default", 1); inherited != sysctl.Key {
			sysctls = append(sysctls, Sysctl{inherited, sysctl.Value})
		}
	}
	return sysctls
}

// PortSysctls returns the parameters of a port's own interface. Under an
// interface for a tag it forwards nothing, so that no frame without the tag passes.
func (c *Config) PortSysctls(p Port) []Sysctl {
	if p.VLAN == 0 {
		return c.Sysctls()
	}
	var sysctls []Sysctl
	ipv4, ipv6 := c.Families()
	if ipv4 {
		sysctls = append(sysctls, Sysctl{"net.ipv4.conf.IFNAME.forwarding", "0"})
	}
	if ipv6 {
		sysctls = append(sysctls, Sysctl{"net.ipv6.conf.IFNAME.disable_ipv6", "1"})
	}
	for _, sysctl := range c.Sysctls() {
		if !strings.Contains(sysctl.Key, interfacePlaceholder) {
			sysctls = append(sysctls, sysctl)
		}
	}
	return sysctls
}

// Path returns the parameter's file below /proc/sys for an interface.
func (s Sysctl) Path(iface string) string {
	parts := strings.Split(s.Key, ".")
	for i, part := range parts {
		if part == interfacePlaceholder {
			parts[i] = iface
		}
	}
	return strings.Join(parts, "/")
}

// Name returns the key with the interface in it, for people.
func (s Sysctl) Name(iface string) string {
	return strings.Replace(s.Key, interfacePlaceholder, iface, 1)
}
