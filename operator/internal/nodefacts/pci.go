package nodefacts

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const pciFolder = "bus/pci/devices"

// PCIDevice reads where a device is on the PCI bus; system is the root of sysfs, and address such as "0000:3b:02.1". It
// returns nil for what is no PCI device of the node, such as an interface that the kernel made, and leaves out what the
// node does not show.
func PCIDevice(system fs.FS, address string) *measure.PCIDevice {
	folder := path.Join(pciFolder, address)
	if _, err := fs.Stat(system, folder); err != nil || address == "" {
		return nil
	}
	device := &measure.PCIDevice{
		PhysicalFunction: short(LinkName(system, path.Join(folder, "physfn"))),
		// The kernel shows -1 where the firmware names no node.
		NUMANode:   natural(readLine(system, path.Join(folder, "numa_node"))),
		IOMMUGroup: natural(LinkName(system, path.Join(folder, "iommu_group"))),
	}
	switch {
	case device.PhysicalFunction != "":
		device.Function = v1alpha1.PCIFunctionVirtual
		// A virtual function has no link: its own files say so, or have values that mean nothing.
		folder = path.Join(pciFolder, device.PhysicalFunction)
	case readLine(system, path.Join(folder, "sriov_totalvfs")) != "":
		device.Function = v1alpha1.PCIFunctionPhysical
	}
	device.LinkMegatransfersPerSecond = megatransfers(readLine(system, path.Join(folder, "current_link_speed")))
	if lanes := natural(readLine(system, path.Join(folder, "current_link_width"))); lanes != nil && *lanes <= maxLanes {
		device.LinkLanes = *lanes
	}
	return device
}

// maxLanes is that of PCIe. The kernel shows 63 or 255 for a device that does not answer.
const maxLanes = 32

// megatransfers returns a speed such as "2.5 GT/s PCIe" as a number; 0 for "Unknown".
func megatransfers(text string) int32 {
	number, unit, _ := strings.Cut(text, " ")
	speed, err := strconv.ParseFloat(number, 64)
	if err != nil || !strings.HasPrefix(unit, "GT/s") || !(speed > 0 && speed < 1e5) {
		return 0
	}
	return int32(math.Round(speed * 1000))
}

// natural returns a number from 0 on, or nil.
func natural(text string) *int32 {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 0 {
		return nil
	}
	return new(int32(number))
}

// LinkName returns the last part of a link's target, or "".
func LinkName(root fs.FS, name string) string {
	target, err := fs.ReadLink(root, name)
	if err != nil {
		return ""
	}
	return path.Base(target)
}
