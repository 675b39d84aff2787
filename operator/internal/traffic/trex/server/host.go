//go:build linux

package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/nodefacts"
	"vnfbench.io/operator/internal/proc"
)

// Host is what the server finds in its pod.
type Host struct {
	UID int
	// Capabilities are the effective ones, a bit for each.
	Capabilities uint64
	// UserNamespace says that root here is not the node's root: the kernel refuses, even
	// with the capability, what only the node's root may do.
	UserNamespace bool
	// LockedMemoryBytes is RLIMIT_MEMLOCK; math.MaxUint64 is no limit.
	LockedMemoryBytes uint64
	// CPUs that the pod may use, by their numbers.
	CPUs []CPU
	// Hugepages are the file systems of hugepages that are mounted.
	Hugepages []HugepageMount
	// Interfaces of the pod's network namespace, by name.
	Interfaces map[string]Interface
	// Attachments are those that Multus made, if it says so.
	Attachments []Attachment
	// PCIVariables are the device plugins' environment variables.
	PCIVariables map[string]string
	// Devices are the PCI devices of the node, by address.
	Devices map[string]Device
	// VFIO and Verbs are the files in /dev/vfio and /dev/infiniband.
	VFIO, Verbs []string
}

// CPU is one that the pod may use.
type CPU struct{ Number, Node int }

// HugepageMount is a mount of hugepages of one size.
type HugepageMount struct {
	Directory     string
	PageKibibytes int64
	// NodePages is how many pages the node has; -1 if unknown.
	NodePages int64
	// LimitBytes is how much of this size the pod may use; -1 if unknown.
	LimitBytes int64
}

// Interface is a network interface.
type Interface struct {
	MTU int
	Up  bool
}

// Device is a PCI device.
type Device struct {
	// Vendor and Model are its PCI identifiers, such as 0x8086.
	Vendor, Model uint16
	// Driver is the kernel's driver, such as "vfio-pci"; empty if it has none.
	Driver string
	// Node is its NUMA node; 0 if the node has none.
	Node int
	// VirtualFunction says that it is one.
	VirtualFunction bool
	// IOMMUGroup is the file below /dev/vfio that represents it; empty if there is none.
	IOMMUGroup string
	// PCI is the rest that the node shows of it.
	PCI *measure.PCIDevice
}

// Attachment is one entry of the network-status annotation (Network Plumbing
// Working Group's multi-network specification, section 4.1.2).
type Attachment struct {
	Interface  string `json:"interface"`
	MAC        string `json:"mac"`
	DeviceInfo struct {
		PCI struct {
			Address string `json:"pci-address"`
		} `json:"pci"`
	} `json:"device-info"`
}

// readHost reads the pod of this process; the interfaces are those of the calling
// thread's network namespace.
func readHost(c Config) (Host, error) {
	host, err := readTree(os.DirFS("/"), strings.TrimPrefix(c.NetworkStatus, "/"))
	if err != nil {
		return Host{}, err
	}
	if host.Capabilities, err = effectiveCapabilities(); err != nil {
		return Host{}, fmt.Errorf("reading the capabilities: %w", err)
	}
	host.UID = os.Geteuid()
	host.PCIVariables = pciVariables(os.Environ())
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return Host{}, fmt.Errorf("reading the limit of locked memory: %w", err)
	}
	host.LockedMemoryBytes = limit.Cur
	numbers, err := nodefacts.Affinity()
	if err != nil {
		return Host{}, err
	}
	nodes := cpuNodes(os.DirFS("/"))
	for _, number := range numbers {
		host.CPUs = append(host.CPUs, CPU{number, nodes[number]})
	}
	links, err := netlink.LinkList()
	if err != nil {
		return Host{}, fmt.Errorf("listing the network interfaces: %w", err)
	}
	host.Interfaces = map[string]Interface{}
	for _, link := range links {
		attrs := link.Attrs()
		host.Interfaces[attrs.Name] = Interface{MTU: attrs.MTU, Up: attrs.Flags&net.FlagUp != 0}
	}
	return host, nil
}

// readTree reads what is in files; root is "/".
func readTree(root fs.FS, networkStatus string) (Host, error) {
	host := Host{LockedMemoryBytes: math.MaxUint64}
	host.UserNamespace = inUserNamespace(text(root, "proc/self/uid_map"))
	host.Hugepages = hugepageMounts(root)
	var err error
	if host.Attachments, err = attachments(root, networkStatus); err != nil {
		return Host{}, err
	}
	host.Devices = devices(root)
	host.VFIO, host.Verbs = names(root, "dev/vfio"), names(root, "dev/infiniband")
	return host, nil
}

// effectiveCapabilities returns those of this process, a bit for each.
func effectiveCapabilities() (uint64, error) {
	kernel, err := proc.Open("/")
	if err != nil {
		return 0, err
	}
	self, err := kernel.Self()
	if err != nil {
		return 0, err
	}
	status, err := self.NewStatus()
	return status.CapEff, err
}

// inUserNamespace reports whether the map of user numbers is not the identity.
func inUserNamespace(uidMap string) bool {
	fields := strings.Fields(uidMap)
	return len(fields) > 0 && !slices.Equal(fields, []string{"0", "0", strconv.FormatUint(math.MaxUint32, 10)})
}

// hugepageMounts reads the mounts of hugetlbfs; one without the option pagesize has the
// node's default size.
func hugepageMounts(root fs.FS) []HugepageMount {
	var mounts []HugepageMount
	for line := range strings.Lines(text(root, "proc/self/mounts")) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[2] != "hugetlbfs" {
			continue
		}
		mount := HugepageMount{Directory: fields[1], NodePages: -1, LimitBytes: -1}
		for option := range strings.SplitSeq(fields[3], ",") {
			if size, found := strings.CutPrefix(option, "pagesize="); found {
				mount.PageKibibytes = kibibytes(size)
			}
		}
		if mount.PageKibibytes == 0 {
			mount.PageKibibytes = defaultHugepage(root)
		}
		size := strconv.FormatInt(mount.PageKibibytes, 10) + "kB"
		if pages, err := strconv.ParseInt(text(root, "sys/kernel/mm/hugepages/hugepages-"+size+"/nr_hugepages"), 10, 64); err == nil {
			mount.NodePages = pages
		}
		if limit, err := strconv.ParseInt(text(root, "sys/fs/cgroup/hugetlb."+cgroupSize(mount.PageKibibytes)+".max"), 10, 64); err == nil {
			mount.LimitBytes = limit
		}
		mounts = append(mounts, mount)
	}
	return mounts
}

// kibibytes reads the kernel's sizes, such as "1024M" and "2M".
func kibibytes(size string) int64 {
	factor := int64(0)
	for suffix, f := range map[string]int64{"K": 1, "M": 1 << 10, "G": 1 << 20} {
		if strings.HasSuffix(size, suffix) {
			factor = f
		}
	}
	if factor == 0 {
		return 0
	}
	number, err := strconv.ParseInt(size[:len(size)-1], 10, 64)
	if err != nil {
		return 0
	}
	return number * factor
}

// cgroupSize returns the hugetlb controller's name of a size: "2MB", "1GB".
func cgroupSize(pageKibibytes int64) string {
	switch {
	case pageKibibytes >= 1<<20:
		return strconv.FormatInt(pageKibibytes>>20, 10) + "GB"
	case pageKibibytes >= 1<<10:
		return strconv.FormatInt(pageKibibytes>>10, 10) + "MB"
	}
	return strconv.FormatInt(pageKibibytes, 10) + "KB"
}

func defaultHugepage(root fs.FS) int64 {
	for line := range strings.Lines(text(root, "proc/meminfo")) {
		if value, found := strings.CutPrefix(line, "Hugepagesize:"); found {
			size, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return size
		}
	}
	return 0
}

// attachments reads the annotation. Without Multus, or without the volume, there is none.
func attachments(root fs.FS, name string) ([]Attachment, error) {
	content, err := fs.ReadFile(root, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(content)) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the pod's network status: %w", err)
	}
	var list []Attachment
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("reading the pod's network status in %q: %w", name, err)
	}
	return list, nil
}

// pciPrefix starts the environment variables of the SR-IOV device plugin.
const pciPrefix = "PCIDEVICE_"

func pciVariables(environment []string) map[string]string {
	found := map[string]string{}
	for _, variable := range environment {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, pciPrefix) {
			found[name] = value
		}
	}
	return found
}

// devices reads only network devices (PCI class 02).
func devices(root fs.FS) map[string]Device {
	const folder = "sys/bus/pci/devices"
	found := map[string]Device{}
	system, err := fs.Sub(root, "sys")
	if err != nil {
		// "sys" is a valid path.
		panic(err)
	}
	for _, address := range names(root, folder) {
		at := path.Join(folder, address)
		if !strings.HasPrefix(text(root, path.Join(at, "class")), "0x02") {
			continue
		}
		node, err := strconv.Atoi(text(root, path.Join(at, "numa_node")))
		if err != nil || node < 0 {
			node = 0
		}
		_, err = fs.ReadLink(root, path.Join(at, "physfn"))
		found[address] = Device{
			Vendor: identifier(root, path.Join(at, "vendor")), Model: identifier(root, path.Join(at, "device")),
			Driver: nodefacts.LinkName(root, path.Join(at, "driver")), Node: node,
			VirtualFunction: err == nil, IOMMUGroup: nodefacts.LinkName(root, path.Join(at, "iommu_group")),
			PCI: nodefacts.PCIDevice(system, address),
		}
	}
	return found
}

func identifier(root fs.FS, name string) uint16 {
	number, _ := strconv.ParseUint(strings.TrimPrefix(text(root, name), "0x"), 16, 16)
	return uint16(number)
}

// cpuNodes returns the NUMA nodes of the CPUs; a CPU that is in none is on node 0.
func cpuNodes(root fs.FS) map[int]int {
	const folder = "sys/devices/system/node"
	nodes := map[int]int{}
	for _, name := range names(root, folder) {
		number, found := strings.CutPrefix(name, "node")
		node, err := strconv.Atoi(number)
		if !found || err != nil {
			continue
		}
		cpus, err := nodefacts.ParseList(text(root, path.Join(folder, name, "cpulist")))
		if err != nil {
			continue
		}
		for _, cpu := range cpus {
			nodes[cpu] = node
		}
	}
	return nodes
}

// text returns a small file with spaces trimmed, or "".
func text(root fs.FS, name string) string {
	content, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

func names(root fs.FS, folder string) []string {
	entries, err := fs.ReadDir(root, folder)
	if err != nil {
		return nil
	}
	var list []string
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}
