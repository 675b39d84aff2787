//go:build linux

package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// trexPort is a port as the server needs to find it.
type trexPort struct {
	name string
	// mtu is that of a Linux interface; 0 with DPDK.
	mtu int
	// address and device are those of a PCI device; empty with AFPacket.
	address string
	device  Device
}

const (
	driverVFIO = "vfio-pci"
	driverMLX5 = "mlx5_core"
	// groupWithoutIOMMU starts the names of groups on a node whose IOMMU is off.
	groupWithoutIOMMU = "noiommu-"
)

// findPorts returns where both ports are, west first.
func findPorts(c Config, host Host) (ports [2]trexPort, err error) {
	if c.Path.Ports[0].Interface == c.Path.Ports[1].Interface {
		return ports, failure(v1alpha1.ReasonInvalidPath, "correct the path", "both ports are %q", c.Path.Ports[0].Interface)
	}
	for i, port := range c.Path.Ports {
		if c.dpdk() {
			ports[i], err = findDevice(c, host, i)
		} else {
			ports[i], err = findInterface(host, port.Interface)
		}
		if err != nil {
			return ports, err
		}
	}
	if !c.dpdk() {
		return ports, nil
	}
	west, east := ports[0], ports[1]
	switch {
	case west.address == east.address:
		return ports, failure(v1alpha1.ReasonPortMissing, "give each port its own device",
			"ports %q and %q are the same device %s", west.name, east.name, west.address)
	case west.device.Vendor != east.device.Vendor || west.device.VirtualFunction != east.device.VirtualFunction:
		// TRex treats all ports like the last one (set_driver in main_dpdk.cpp).
		return ports, failure(v1alpha1.ReasonInvalidPath, "use two devices of one kind, both virtual functions or both whole NICs",
			"TRex drives all ports by one driver, and port %q is a %s while port %q is a %s", west.name, west.device, east.name, east.device)
	}
	return ports, nil
}

func findInterface(host Host, name string) (trexPort, error) {
	found, exists := host.Interfaces[name]
	if !exists {
		return trexPort{}, failure(v1alpha1.ReasonPortMissing, "attach both traffic ports to the pod, under the names that the path gives, or use mode DPDK for devices that the kernel does not drive",
			"there is no interface %q", name)
	}
	if !found.Up {
		return trexPort{}, failure(v1alpha1.ReasonPortDown, "bring the interface up", "interface %q is administratively down", name)
	}
	return trexPort{name: name, mtu: found.MTU}, nil
}

// findDevice finds the PCI device of a port: by Multus's entry for the interface,
// otherwise by the device plugin's entry for the port's resource.
func findDevice(c Config, host Host, index int) (trexPort, error) {
	name := c.Path.Ports[index].Interface
	address := announced(host.Attachments, name)
	if address == "" {
		var err error
		if address, err = allocated(c, host, index); err != nil {
			return trexPort{}, err
		}
	}
	device, exists := host.Devices[address]
	if !exists {
		return trexPort{}, failure(v1alpha1.ReasonPortMissing, "see whether the device plugin's pool names devices of this node",
			"port %q is PCI device %s, which this node does not have", name, address)
	}
	return trexPort{name: name, address: address, device: device}, nil
}

func announced(attachments []Attachment, name string) string {
	for _, attachment := range attachments {
		if attachment.Interface == name {
			return strings.ToLower(attachment.DeviceInfo.PCI.Address)
		}
	}
	return ""
}

// allocated takes a port's address from the environment, which names resources and not
// ports: it cannot distinguish two ports of one resource.
func allocated(c Config, host Host, index int) (string, error) {
	const remedy = "have Multus write the pod's network status with the devices' addresses (device-info), or give each port its own resource"
	name, resource := c.Path.Ports[index].Interface, c.Settings.Resources[index]
	if resource == "" {
		return "", failure(v1alpha1.ReasonPortMissing, remedy, "nothing says which PCI device port %q is: the pod's network status does not, and the port has no resource", name)
	}
	wanted := plain(pciPrefix + resource)
	var addresses []string
	for _, variable := range slices.Sorted(maps.Keys(host.PCIVariables)) {
		if plain(variable) == wanted {
			for address := range strings.SplitSeq(host.PCIVariables[variable], ",") {
				if address = strings.TrimSpace(address); address != "" {
					addresses = append(addresses, strings.ToLower(address))
				}
			}
		}
	}
	switch len(addresses) {
	case 1:
		return addresses[0], nil
	case 0:
		return "", failure(v1alpha1.ReasonPortMissing, "see whether the device plugin runs on this node",
			"port %q has resource %q, and no device plugin gave the pod a PCI address for it", name, resource)
	}
	return "", failure(v1alpha1.ReasonPortMissing, remedy,
		"resource %q is %d devices (%s), and nothing says which of them port %q is", resource, len(addresses), strings.Join(addresses, ", "), name)
}

// plain returns the name of a variable in upper case, with "_" for what is between its
// words, which differs between device plugins.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToUpper(r)
		}
		return '_'
	}, name)
}

// String returns the kind of a device.
func (d Device) String() string {
	kind := "NIC"
	if d.VirtualFunction {
		kind = "virtual function"
	}
	return fmt.Sprintf("%s %04x:%04x", kind, d.Vendor, d.Model)
}

func failure(reason, remedy, format string, args ...any) error {
	return &measure.Failure{Reason: reason, Remedy: remedy, Err: fmt.Errorf(format, args...)}
}
