//go:build linux

package server

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
)

// capabilities that may be missing, with what needs each.
var capabilities = []struct {
	name   string
	bit    int
	needed string
	by     func(c Config, host Host, ports [2]trexPort) bool
}{
	{"NET_ADMIN", unix.CAP_NET_ADMIN, "to close TRex's TCP ports and to set up its own", func(Config, Host, [2]trexPort) bool { return true }},
	{"NET_RAW", unix.CAP_NET_RAW, "to send frames through packet sockets, or through an mlx5 device", func(c Config, _ Host, ports [2]trexPort) bool {
		return !c.dpdk() || ports[0].device.Driver == driverMLX5
	}},
	{"IPC_LOCK", unix.CAP_IPC_LOCK, "to keep the memory in place that frames are in, beyond the limit of locked memory", func(c Config, host Host, ports [2]trexPort) bool {
		return c.dpdk() || host.LockedMemoryBytes < lockedBytes(c, ports)
	}},
}

// lockedBytes returns the memory that is locked: with DPDK all that devices read and
// write, with packet sockets their rings, one for each port and direction, which DPDK
// maps with MAP_LOCKED (rte_eth_af_packet.c).
func lockedBytes(c Config, ports [2]trexPort) uint64 {
	if c.dpdk() {
		memory := c.Settings.HugepagesMebibytes
		if memory == 0 {
			memory = memoryWithoutHugepages
		}
		return uint64(memory) << 20
	}
	total := uint64(0)
	for _, port := range ports {
		frame, block := port.ring()
		total += 2 * uint64(ringFrames/(block/frame)*block)
	}
	return total
}

// check returns what the pod lacks, before anything starts. The ports are those of
// findPorts.
func check(c Config, host Host, ports [2]trexPort) error {
	if host.UID != 0 {
		return failure(v1alpha1.ReasonNotRoot, "start the traffic pod with runAsUser 0", "TRex runs as uid 0 alone, and the traffic pod has uid %d", host.UID)
	}
	if err := checkCapabilities(c, host, ports); err != nil {
		return err
	}
	if err := checkLockedMemory(c, host, ports); err != nil || !c.dpdk() {
		return err
	}
	for _, port := range ports {
		if err := checkDevice(host, port); err != nil {
			return err
		}
	}
	return checkHugepages(c, host)
}

func checkCapabilities(c Config, host Host, ports [2]trexPort) error {
	var missing, why []string
	for _, capability := range capabilities {
		if capability.by(c, host, ports) && host.Capabilities&(1<<capability.bit) == 0 {
			missing = append(missing, capability.name)
			why = append(why, fmt.Sprintf("%s %s", capability.name, capability.needed))
		}
	}
	if missing == nil {
		return nil
	}
	return failure(v1alpha1.ReasonCapabilityMissing, fmt.Sprintf("add %s to the container's capabilities", strings.Join(missing, ", ")),
		"the traffic pod lacks capabilities that TRex needs: %s", strings.Join(why, "; "))
}

// checkDevice verifies that DPDK can drive a device from here: one that the kernel has
// given to VFIO, or one of mlx5, whose kernel driver stays.
func checkDevice(host Host, port trexPort) error {
	device := port.device
	missing := func(remedy, format string, args ...any) error {
		return failure(v1alpha1.ReasonDeviceUnusable, remedy, "port %q (%s %s): %w", port.name, device, port.address, fmt.Errorf(format, args...))
	}
	switch device.Driver {
	case driverMLX5:
		if !slices.ContainsFunc(host.Verbs, func(name string) bool { return strings.HasPrefix(name, "uverbs") }) {
			return missing("let the device plugin give RDMA devices too (isRdma: true)", "the pod has no /dev/infiniband/uverbs")
		}
		return nil
	case driverVFIO:
	case "":
		return missing("bind it to vfio-pci on the node", "no driver of the kernel has it")
	default:
		return missing("bind it to vfio-pci on the node, or use mode AFPacket", "the kernel drives it by %q", device.Driver)
	}
	const plugin = "let the device plugin give the devices of VFIO: it does where the pool's devices are bound to vfio-pci"
	switch {
	case slices.Contains(host.VFIO, groupWithoutIOMMU+device.IOMMUGroup):
		return missing("switch the IOMMU on in the node's firmware, and an Intel one in its kernel too (intel_iommu=on)", "the node's IOMMU is off, so VFIO does not isolate it")
	case device.IOMMUGroup == "":
		return missing("switch the IOMMU on in the node's firmware, and an Intel one in its kernel too (intel_iommu=on)", "it is in no IOMMU group")
	case !slices.Contains(host.VFIO, "vfio"):
		return missing(plugin, "the pod has no /dev/vfio/vfio")
	case !slices.Contains(host.VFIO, device.IOMMUGroup):
		return missing(plugin, "the pod has no /dev/vfio/%s", device.IOMMUGroup)
	}
	return nil
}

func checkHugepages(c Config, host Host) error {
	wanted := c.Settings.HugepagesMebibytes
	if wanted == 0 {
		return nil
	}
	missing := func(remedy, format string, args ...any) error {
		return failure(v1alpha1.ReasonHugepagesMissing, remedy, format, args...)
	}
	if len(host.Hugepages) == 0 {
		return missing("mount a volume of medium HugePages at /dev/hugepages", "the traffic pod has no file system of hugepages")
	}
	var found []string
	for _, mount := range host.Hugepages {
		switch {
		case mount.NodePages == 0:
			found = append(found, fmt.Sprintf("%s is for pages of %d KiB, of which the node has none", mount.Directory, mount.PageKibibytes))
		case mount.LimitBytes >= 0 && mount.LimitBytes < wanted<<20:
			found = append(found, fmt.Sprintf("%s is for pages of %d KiB, of which the pod may have %d MiB", mount.Directory, mount.PageKibibytes, mount.LimitBytes>>20))
		default:
			return nil
		}
	}
	return missing("give the pod a limit of hugepages, and the node as many (hugepagesz= and hugepages= on the kernel's command line)",
		"TRex is to use %d MiB in hugepages: %s", wanted, strings.Join(found, "; "))
}

// checkLockedMemory matters if the capability does not lift the limit: the kernel
// requires IPC_LOCK in the node's user namespace, and not in a pod's own.
func checkLockedMemory(c Config, host Host, ports [2]trexPort) error {
	wanted := lockedBytes(c, ports)
	if !host.UserNamespace || host.LockedMemoryBytes >= wanted {
		return nil
	}
	return failure(v1alpha1.ReasonLockedMemoryLimit, "set hostUsers to true for the traffic pod, or raise the container runtime's limit (LimitMEMLOCK)",
		"TRex locks %d MiB of memory, and the pod, which has its own user namespace, may lock %d MiB", wanted>>20, host.LockedMemoryBytes>>20)
}

// chooseProgram returns the file to start.
func chooseProgram(c Config, processors []procfs.CPUInfo) string {
	if c.Program != "" {
		return c.Program
	}
	if needed := fastFlag[runtime.GOARCH]; needed != "" && len(processors) > 0 && !slices.Contains(processors[0].Flags, needed) {
		return filepath.Join(c.Directory, plainProgramName)
	}
	return filepath.Join(c.Directory, programName)
}

// fastFlag is what a processor needs for the faster of the two builds, by the same test
// as in TRex's own script.
var fastFlag = map[string]string{"amd64": "avx", "arm64": "evtstrm"}

var elfMachine = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "ppc64le": elf.EM_PPC64}

// profileSchema checks stateful profiles: without it the server ends at the first one
// (astf_db.cpp).
const profileSchema = "astf_schema.json"

func trexMissing(format string, args ...any) error {
	return failure(v1alpha1.ReasonTRexMissing, "build the traffic pod's image from operator/images/trex/Containerfile, with TRex's whole release for the nodes' architecture, and name it in the testbed",
		"the image has no TRex that can be started: %w", fmt.Errorf(format, args...))
}

// checkRelease returns why the server cannot start from what the image has.
func checkRelease(c Config, program string) error {
	if err := checkProgram(program); err != nil || !c.Stateful {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.Directory, profileSchema)); err != nil {
		return trexMissing("its stateful mode needs %s: %w", profileSchema, err)
	}
	return nil
}

func checkProgram(program string) error {
	missing := trexMissing
	info, err := os.Stat(program)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing("there is no %s", program)
	case err != nil:
		return missing("%w", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return missing("%s is not executable", program)
	}
	file, err := elf.Open(program)
	if err != nil {
		return missing("%s is no program: %w", program, err)
	}
	defer func() { _ = file.Close() }()
	if wanted := elfMachine[runtime.GOARCH]; file.Machine != wanted {
		return missing("%s is for %s, and this node is %s", program, file.Machine, wanted)
	}
	for _, part := range file.Progs {
		if part.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, part.Filesz)
		if _, err := part.ReadAt(name, 0); err != nil {
			return missing("%s is damaged: %w", program, err)
		}
		loader := strings.TrimRight(string(name), "\x00")
		if _, err := os.Stat(loader); err != nil {
			return missing("%s needs the loader %s, which the image does not have: use a base image with glibc", program, loader)
		}
	}
	return nil
}
