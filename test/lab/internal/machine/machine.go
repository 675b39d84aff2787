// Package machine is a node of the lab that is a separate machine: QEMU emulates it, with network
// cards that have virtual functions, and with an IOMMU. Choices go in; QEMU's command line, the
// kernel's, and the machine's disk come out.
//
// The machine differs from the lab's other nodes in nothing else: it boots Debian 13's stock kernel,
// because Debian 12's QEMU has no such cards and its kernel is older, and above that runs the very
// tree, container runtime and daemons that those run.
package machine

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/test/lab/internal/config"
)

// Machine has the choices that differ between computers.
type Machine struct {
	// KVM says that the processor runs the machine; otherwise QEMU emulates one.
	KVM bool `json:"kvm"`
	// Release is the kernel's, such as 6.12.117+deb13-amd64.
	Release string `json:"release"`
}

// What every such machine has.
const (
	CPUs      = 8
	MemoryMiB = 5120
	// HugePages are of 2 MiB each and part of the memory. TRex takes 1 GiB of them.
	HugePages = 640
	// IsolatedCPUs are those that are not config.MachineSystemCPUs.
	IsolatedCPUs = "2-7"
)

// NIC is a network card of the machine: QEMU's model of Intel's 82576, which has up to 7 virtual
// functions.
type NIC struct {
	// Name is that of its interface.
	Name string
	// Cable is the number of the cable inside of the machine that it is on, 0 for none.
	Cable int
	// Tap is the interface in the first node that its cable leads to, "" for none.
	Tap string
	// VFs is the number of its virtual functions, of which the last UserspaceVFs are bound to vfio-pci.
	VFs, UserspaceVFs int
	// Userspace says that the card itself is bound to vfio-pci. It has no interface then, and no virtual functions.
	Userspace bool
}

// NICs are the machine's cards. A generator's and a function's are cabled to each other, west to west and
// east to east, as the documentation's testbeds are; TRex's are on the same cables. The cables of the far ones lead to
// the first node.
var NICs = []NIC{
	{Name: "gen0", Cable: 1, VFs: 4},
	{Name: "gen1", Cable: 2, VFs: 4},
	{Name: "dut0", Cable: 1, VFs: 6, UserspaceVFs: 2},
	{Name: "dut1", Cable: 2, VFs: 6, UserspaceVFs: 2},
	{Name: "far0", Tap: "cable0", VFs: 2},
	{Name: "far1", Tap: "cable1", VFs: 2},
	{Name: "trex0", Cable: 1, Userspace: true},
	{Name: "trex1", Cable: 2, Userspace: true},
}

// Uplink is the machine's interface in the network of the nodes, and UplinkTap its other end in the
// first node.
const (
	Uplink    = "eth0"
	UplinkTap = "machine"
)

// UplinkMAC is the uplink's MAC address. Interfaces are known by their addresses: their names depend
// on the order in which drivers find them.
const UplinkMAC = "52:54:00:6c:61:62"

// MAC returns the address of card number i of NICs.
func MAC(i int) string { return fmt.Sprintf("52:54:00:6e:69:%02x", i) }

// firstSlot is the place on the first PCI bus of the first card's port. Each card has a separate port, which its virtual
// functions need to have separate IOMMU groups.
const firstSlot = 16

// Places in the tree in which QEMU runs.
const (
	DiskPlace  = "/srv/disk.img"
	SharePlace = "/srv/share"
	LogPlace   = config.LogDir
	// ConsoleLog is the file for what the machine writes on its serial line.
	ConsoleLog = "console.log"
)

// Tags of the file systems that the machine mounts from QEMU.
const (
	ShareTag = "lab"
	LogTag   = "log"
)

// InitPlace is the program on the disk that the kernel starts.
const InitPlace = "/sbin/lab-init"

// KernelArguments returns the kernel's command line. A machine whose kernel fails ends, and is
// started again.
func (m Machine) KernelArguments() string {
	return strings.Join([]string{
		"console=ttyS0", "root=/dev/vda", "rootfstype=ext4", "rw", "fsck.mode=skip", "init=" + InitPlace,
		"net.ifnames=0", "panic=-1", "apparmor=0", "mitigations=off",
		"intel_iommu=on", "iommu=pt",
		"hugepagesz=2M", "hugepages=" + strconv.Itoa(HugePages),
		"isolcpus=" + IsolatedCPUs,
		"tsc=reliable", "quiet",
	}, " ")
}

// Args returns the command line of QEMU in its own tree.
func (m Machine) Args() []string {
	args := []string{
		"qemu-system-x86_64",
		"-name", "vnfbench-lab", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-machine", "q35,kernel-irqchip=split",
	}
	if m.KVM {
		args = append(args, "-accel", "kvm", "-cpu", "host")
	} else {
		// With a thread for each CPU two of about ten starts hung: the timer of a CPU never fired (QEMU 10.0).
		args = append(args, "-accel", "tcg,thread=single", "-cpu", "max")
	}
	args = append(args,
		"-smp", strconv.Itoa(CPUs), "-m", strconv.Itoa(MemoryMiB),
		"-device", "intel-iommu,intremap=on,device-iotlb=on,caching-mode=on",
		"-kernel", "/boot/vmlinuz-"+m.Release, "-initrd", "/boot/initrd.img-"+m.Release,
		"-append", m.KernelArguments(),
		// Each start appends, so that what a start said that failed stays.
		"-chardev", "file,id=console,append=on,path="+path.Join(LogPlace, ConsoleLog), "-serial", "chardev:console",
		"-device", "virtio-rng-pci",
		// What the machine writes to its disk ends with it. Where the computer's disk is full, the machine gets an error,
		// which its kernel reports: by default QEMU would stop the machine and say nothing.
		"-drive", "file="+DiskPlace+",format=raw,if=none,id=disk,cache=unsafe,snapshot=on,werror=report,rerror=report",
		"-device", "virtio-blk-pci,drive=disk",
		// It can only be read, so that no owner, mode or device of the machine's gets out by it.
		"-fsdev", "local,id=share,path="+SharePlace+",security_model=none,readonly=on,multidevs=remap",
		"-device", "virtio-9p-pci,fsdev=share,mount_tag="+ShareTag,
		// What the machine makes here are plain files of QEMU's user, whatever it asks for: owners, modes and kinds are in
		// files next to them, which any file system can hold.
		"-fsdev", "local,id=log,path="+LogPlace+",security_model=mapped-file",
		"-device", "virtio-9p-pci,fsdev=log,mount_tag="+LogTag,
		"-netdev", tap("uplink", UplinkTap), "-device", "virtio-net-pci,netdev=uplink,romfile=,mac="+UplinkMAC,
	)
	for i, nic := range NICs {
		args = append(args, nic.args(i)...)
	}
	return args
}

func (n NIC) args(i int) []string {
	netdev := tap(n.Name, n.Tap)
	if n.Cable != 0 {
		netdev = fmt.Sprintf("hubport,id=%s,hubid=%d", n.Name, n.Cable)
	}
	return []string{
		"-netdev", netdev,
		"-device", fmt.Sprintf("pcie-root-port,id=port%d,chassis=%d,addr=0x%x", i, i+1, firstSlot+i),
		"-device", fmt.Sprintf("igb,bus=port%d,netdev=%s,romfile=,mac=%s", i, n.Name, MAC(i)),
	}
}

// FirstTapFD is QEMU's descriptor of the first of Taps; those of the others follow. QEMU opens none by its name: a pod of
// the first node may have taken it into its network namespace.
const FirstTapFD = 3

func tap(id, name string) string {
	return fmt.Sprintf("tap,id=%s,fd=%d", id, FirstTapFD+slices.Index(Taps(), name))
}

// Taps returns the names of the first node's interfaces that lead to the machine: to its uplink, and by cables to cards.
func Taps() []string {
	names := []string{UplinkTap}
	for _, nic := range NICs {
		if nic.Tap != "" {
			names = append(names, nic.Tap)
		}
	}
	return names
}

// Pool is a number of devices that the machine's device plugin offers under one name.
type Pool struct {
	Resource string
	Devices  int
}

// ResourcePrefix is what the names of pools begin with, the SR-IOV network operator's.
const ResourcePrefix = "openshift.io/"

// Pools returns what the device plugin offers; a card's name ends with its side, 0 for the west.
func Pools() []Pool {
	var pools []Pool
	for _, nic := range NICs {
		role, side := nic.Name[:len(nic.Name)-1], map[string]string{"0": "west", "1": "east"}[nic.Name[len(nic.Name)-1:]]
		devices := nic.VFs - nic.UserspaceVFs
		if nic.Userspace {
			devices = 1
		}
		pools = append(pools, Pool{ResourcePrefix + role + "_" + side, devices})
		if nic.UserspaceVFs > 0 {
			pools = append(pools, Pool{ResourcePrefix + "vm_" + side, nic.UserspaceVFs})
		}
	}
	return pools
}
