package nodefacts

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// bus returns a node's sysfs with a NIC, one of its virtual functions, and a device of a virtual machine.
func bus() fstest.MapFS {
	system := fstest.MapFS{}
	for name, text := range map[string]string{
		"0000:3b:00.0/numa_node": "1", "0000:3b:00.0/sriov_totalvfs": "64",
		"0000:3b:00.0/current_link_speed": "8.0 GT/s PCIe", "0000:3b:00.0/current_link_width": "16",
		"0000:3b:02.1/numa_node": "1", "0000:3b:02.1/current_link_speed": "Unknown", "0000:3b:02.1/current_link_width": "0",
		"0000:00:03.0/numa_node": "-1", "0000:00:03.0/current_link_speed": "Unknown", "0000:00:03.0/current_link_width": "63",
		"0000:00:04.0/class": "0x020000",
	} {
		system["bus/pci/devices/"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	for name, target := range map[string]string{
		"0000:3b:00.0/iommu_group": "../../../../kernel/iommu_groups/0",
		"0000:3b:02.1/iommu_group": "../../../../kernel/iommu_groups/81",
		"0000:3b:02.1/physfn":      "../0000:3b:00.0",
	} {
		system["bus/pci/devices/"+name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
	}
	return system
}

func TestPCIDevice(t *testing.T) {
	for name, test := range map[string]struct {
		address string
		want    *measure.PCIDevice
	}{
		"a NIC": {"0000:3b:00.0", &measure.PCIDevice{
			Function: v1alpha1.PCIFunctionPhysical, NUMANode: new(int32(1)), IOMMUGroup: new(int32(0)), LinkMegatransfersPerSecond: 8000, LinkLanes: 16,
		}},
		"a virtual function": {"0000:3b:02.1", &measure.PCIDevice{
			Function: v1alpha1.PCIFunctionVirtual, PhysicalFunction: "0000:3b:00.0",
			NUMANode: new(int32(1)), IOMMUGroup: new(int32(81)), LinkMegatransfersPerSecond: 8000, LinkLanes: 16,
		}},
		"a device without a node, group or link": {"0000:00:03.0", &measure.PCIDevice{}},
		"a node that shows nothing":              {"0000:00:04.0", &measure.PCIDevice{}},
		"no PCI device":                          {"tap", nil},
		"no bus":                                 {"", nil},
	} {
		if diff := cmp.Diff(test.want, PCIDevice(bus(), test.address)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMegatransfers(t *testing.T) {
	for text, want := range map[string]int32{
		"2.5 GT/s PCIe": 2500, "5 GT/s": 5000, "32.0 GT/s PCIe": 32000, "Unknown": 0, "Unknown speed": 0, "": 0, "-1 GT/s": 0, "NaN GT/s": 0, "1e30 GT/s": 0, "8.0 Gbit/s": 0,
	} {
		if got := megatransfers(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
