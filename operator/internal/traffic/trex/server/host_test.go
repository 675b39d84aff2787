//go:build linux

package server

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// tree makes files by their names; a text that begins with "->" is a link.
func tree(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		if len(text) > 2 && text[:2] == "->" {
			root[name] = &fstest.MapFile{Data: []byte(text[2:]), Mode: fs.ModeSymlink | 0o777}
			continue
		}
		root[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return root
}

const status = `[{"name":"kindnet","interface":"eth0","ips":["10.244.0.5"],"default":true},
{"name":"lab/west","interface":"west","mac":"02:00:00:00:00:01","device-info":{"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:3b:02.0"}}}]`

// pod returns a traffic pod with one virtual function, an mlx5 device and a disk.
func pod() map[string]string {
	const device = "sys/bus/pci/devices/0000:3b:02.0/"
	return map[string]string{
		"proc/self/uid_map":                                        "         0          0 4294967295",
		"proc/self/mounts":                                         "overlay / overlay ro 0 0\nnodev /dev/hugepages hugetlbfs rw,relatime,pagesize=1024M 0 0\nnodev /dev/huge hugetlbfs rw,relatime 0 0",
		"proc/meminfo":                                             "MemTotal: 1 kB\nHugepagesize:       2048 kB\n",
		"sys/fs/cgroup/hugetlb.1GB.max":                            "2147483648",
		"sys/fs/cgroup/hugetlb.2MB.max":                            "max",
		"etc/pod/network-status":                                   status,
		device + "class":                                           "0x020000",
		device + "vendor":                                          "0x8086",
		device + "device":                                          "0x154c",
		device + "numa_node":                                       "1",
		device + "physfn":                                          "->../0000:3b:00.0",
		device + "driver":                                          "->../../../bus/pci/drivers/vfio-pci",
		device + "iommu_group":                                     "->../../../kernel/iommu_groups/81",
		"sys/bus/pci/devices/0000:5e:00.0/class":                   "0x020000",
		"sys/bus/pci/devices/0000:5e:00.0/vendor":                  "0x15b3",
		"sys/bus/pci/devices/0000:5e:00.0/device":                  "0x1017",
		"sys/bus/pci/devices/0000:5e:00.0/driver":                  "->../../../bus/pci/drivers/mlx5_core",
		"sys/bus/pci/devices/0000:00:17.0/class":                   "0x010601",
		"sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "8",
		"dev/vfio/81":                                              "",
		"dev/vfio/vfio":                                            "",
		"dev/infiniband/uverbs0":                                   "",
		"sys/devices/system/node/node0/cpulist":                    "0-1,4",
		"sys/devices/system/node/node1/cpulist":                    "2-3",
		"sys/devices/system/node/online":                           "0-1",
	}
}

func TestReadTree(t *testing.T) {
	got, err := readTree(tree(pod()), "etc/pod/network-status")
	if err != nil {
		t.Fatal(err)
	}
	west := Attachment{Interface: "west", MAC: "02:00:00:00:00:01"}
	west.DeviceInfo.PCI.Address = "0000:3b:02.0"
	want := Host{
		LockedMemoryBytes: 1<<64 - 1,
		Hugepages: []HugepageMount{
			{Directory: "/dev/hugepages", PageKibibytes: 1 << 20, NodePages: 8, LimitBytes: 2 << 30},
			{Directory: "/dev/huge", PageKibibytes: 2048, NodePages: -1, LimitBytes: -1},
		},
		Attachments: []Attachment{{Interface: "eth0"}, west},
		Devices: map[string]Device{
			"0000:3b:02.0": {Vendor: vendorIntel, Model: 0x154c, Driver: driverVFIO, Node: 1, VirtualFunction: true, IOMMUGroup: "81", PCI: &measure.PCIDevice{
				Function: v1alpha1.PCIFunctionVirtual, PhysicalFunction: "0000:3b:00.0", NUMANode: new(int32(1)), IOMMUGroup: new(int32(81)),
			}},
			"0000:5e:00.0": {Vendor: 0x15b3, Model: 0x1017, Driver: driverMLX5, PCI: &measure.PCIDevice{}},
		},
		VFIO: []string{"81", "vfio"}, Verbs: []string{"uverbs0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[int]int{0: 0, 1: 0, 4: 0, 2: 1, 3: 1}, cpuNodes(tree(pod()))); diff != "" {
		t.Error(diff)
	}
}

func TestReadTreeOfOthers(t *testing.T) {
	for name, test := range map[string]struct {
		change func(map[string]string)
		check  func(Host) bool
		fails  bool
	}{
		"no annotation yet":   {change: func(f map[string]string) { f["etc/pod/network-status"] = "" }, check: func(h Host) bool { return h.Attachments == nil }},
		"no volume":           {change: func(f map[string]string) { delete(f, "etc/pod/network-status") }, check: func(h Host) bool { return h.Attachments == nil }},
		"a broken one":        {change: func(f map[string]string) { f["etc/pod/network-status"] = "[{" }, fails: true},
		"own user namespace":  {change: func(f map[string]string) { f["proc/self/uid_map"] = "0 65536 65536" }, check: func(h Host) bool { return h.UserNamespace }},
		"nothing mounted":     {change: func(f map[string]string) { f["proc/self/mounts"] = "" }, check: func(h Host) bool { return h.Hugepages == nil }},
		"a node without NUMA": {change: func(f map[string]string) { f["sys/bus/pci/devices/0000:3b:02.0/numa_node"] = "-1" }, check: func(h Host) bool { return h.Devices["0000:3b:02.0"].Node == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			files := pod()
			test.change(files)
			host, err := readTree(tree(files), "etc/pod/network-status")
			if (err != nil) != test.fails || err == nil && !test.check(host) {
				t.Errorf("got %+v, %v", host, err)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	got := pciVariables([]string{"PCIDEVICE_INTEL_COM_VFS=0000:3b:02.0,0000:3b:02.1", "SECRET=x", "PCI=y"})
	if diff := cmp.Diff(map[string]string{"PCIDEVICE_INTEL_COM_VFS": "0000:3b:02.0,0000:3b:02.1"}, got); diff != "" {
		t.Error(diff)
	}
	// The device plugin leaves a dash unchanged.
	if plain("PCIDEVICE_Intel.com/my-vfs") != plain("PCIDEVICE_INTEL_COM_MY-VFS") {
		t.Error("a resource and its variable have different names")
	}
}

// The test can read the node that it runs on.
func TestReadHost(t *testing.T) {
	host, err := readHost(Config{}.withDefaults())
	if err != nil || len(host.CPUs) == 0 || !host.Interfaces["lo"].Up && len(host.Interfaces) == 0 {
		t.Errorf("got %+v, %v", host, err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var asked [2]unix.CapUserData
	if err := unix.Capget(&header, &asked[0]); err != nil {
		t.Fatal(err)
	}
	if want := uint64(asked[1].Effective)<<32 | uint64(asked[0].Effective); host.Capabilities != want {
		t.Errorf("the capabilities are %x, the kernel answers %x", host.Capabilities, want)
	}
}
