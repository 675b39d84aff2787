package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/machine"
)

// shareDir is where the machine has mounted what the lab shares with it, before this program starts.
const shareDir = "/run/lab"

// Boot is the first process of the emulated machine. The kernel and the disk's own script come before
// it; with its end the machine ends.
func Boot() error {
	spec, err := readSpec(filepath.Join(shareDir, machineSpec))
	if err != nil {
		return err
	}
	if err := os.Setenv("PATH", config.Path()); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return mountMachine() },
		func() error { return writeFiles(spec, "/") },
		func() error { return unix.Sethostname([]byte(spec.Node.Name())) },
		loadModules,
		func() error { return setUpMachineNetwork(spec.Node) },
		unlimitLockedMemory,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	ctx := context.Background() // a machine is switched off, not ended
	go keepCardsUp(ctx)
	s := newSupervisor(config.LogDir)
	go s.reap()
	failed := make(chan error)
	for _, d := range spec.Node.Daemons() {
		go func() {
			if d.Name == "kubelet" {
				if err := importImages(ctx, s, d.Needs); err != nil {
					failed <- err // pods would wait for their images forever, also the one by which programs are run here
				}
			}
			s.keep(ctx, d)
		}()
	}
	slog.Info("Machine started", "name", spec.Node.Name())
	return <-failed
}

// mountMachine mounts what the kernel and the initial file system have not mounted.
func mountMachine() error {
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("sharing mounts: %w", err)
	}
	for _, m := range []mount{
		{"cgroup2", "/sys/fs/cgroup", "cgroup2", noExtras, ""},
		{"bpf", "/sys/fs/bpf", "bpf", noExtras, "mode=700"},
		{"devpts", "/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "ptmxmode=0666,mode=620,gid=5"},
		{"tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"mqueue", "/dev/mqueue", "mqueue", noExtras, ""},
		{"hugetlbfs", "/dev/hugepages", "hugetlbfs", unix.MS_NOSUID | unix.MS_NODEV, "pagesize=2M"},
		{"tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{filepath.Join(shareDir, "pki"), config.PKIDir, "", bind, ""},
		{machine.LogTag, config.LogDir, "9p", 0, "trans=virtio,version=9p2000.L,msize=262144"},
	} {
		if err := m.do("/"); err != nil && !errors.Is(err, unix.EBUSY) { // the initial file system mounts some
			return err
		}
	}
	for name, target := range deviceLinks {
		if err := os.Symlink(target, filepath.Join("/dev", name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("creating a link in /dev: %w", err)
		}
	}
	return nil
}

// modules are those of the kernel that nothing else loads in time: there is no udev.
var modules = []string{
	"8021q", "br_netfilter", "bridge", "igb", "igbvf", "ip6_tables", "ip_tables", "macvlan", "nf_tables", "overlay",
	"tun", "veth", "vfio-pci", "vfio_iommu_type1", "virtio_net", "vxlan", "wireguard",
}

func loadModules() error {
	out, err := exec.Command("modprobe", append([]string{"--all"}, modules...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("loading kernel modules: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// unlimitLockedMemory lets pods lock memory, as a distribution's service files for containerd do.
func unlimitLockedMemory() error {
	return errors.Join(
		unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}),
		unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}),
	)
}

// importImages imports the shared archives once containerd answers. The kubelet starts afterwards, so that no pod waits
// for its image.
func importImages(ctx context.Context, s *supervisor, containerd string) error {
	archives, err := filepath.Glob(filepath.Join(shareDir, "images", "*", "*.tar"))
	if err != nil {
		return err
	}
	if err := await(ctx, containerd); err != nil {
		return err
	}
	for _, archive := range archives {
		slog.Info("Importing images", "archive", archive)
		err := s.run(config.Daemon{Name: "import", Args: []string{"ctr", "--namespace", "k8s.io", "images", "import", archive}})
		if err != nil {
			return fmt.Errorf("importing %s: %w", archive, err)
		}
	}
	return nil
}

// setUpMachineNetwork names the machine's interfaces, makes virtual functions, and gives the uplink what every node's
// has.
func setUpMachineNetwork(n config.Node) error {
	if err := writeSetting("ipv6/conf/default/disable_ipv6", "1"); err != nil { // cards stay silent
		return err
	}
	if err := rename(machine.UplinkMAC, uplink); err != nil {
		return err
	}
	for i, nic := range machine.NICs {
		if err := setUpNIC(nic, machine.MAC(i)); err != nil {
			return fmt.Errorf("setting up the network card %s: %w", nic.Name, err)
		}
	}
	for _, name := range []string{"lo", uplink} {
		if err := up(name); err != nil {
			return err
		}
	}
	if err := addRoutes(n); err != nil {
		return fmt.Errorf("adding the machine's routes: %w", err)
	}
	return setUpForwarding()
}

// nicMTU leaves room for what encryption adds to a frame.
const nicMTU = 1600

func setUpNIC(nic machine.NIC, mac string) error {
	if err := rename(mac, nic.Name); err != nil {
		return err
	}
	device := filepath.Join("/sys/class/net", nic.Name, "device")
	if nic.Userspace {
		address, err := os.Readlink(device)
		if err != nil {
			return err
		}
		return bindUserspace(filepath.Base(address))
	}
	link, err := netlink.LinkByName(nic.Name)
	if err != nil {
		return err
	}
	if err := errors.Join(netlink.LinkSetMTU(link, nicMTU), netlink.LinkSetUp(link)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(device, "sriov_numvfs"), []byte(strconv.Itoa(nic.VFs)), 0o644); err != nil {
		return fmt.Errorf("making virtual functions: %w", err)
	}
	for i := range nic.VFs {
		function, err := os.Readlink(filepath.Join(device, fmt.Sprintf("virtfn%d", i)))
		if err != nil {
			return err
		}
		address := filepath.Base(function)
		if i >= nic.VFs-nic.UserspaceVFs {
			err = bindUserspace(address)
		} else {
			err = nameFunction(address, fmt.Sprintf("%sv%d", nic.Name, i))
		}
		if err != nil {
			return fmt.Errorf("setting up virtual function %d, %s: %w", i, address, err)
		}
	}
	return nil
}

// rename gives the interface with a MAC address a name, and another one that has the name a name that is not looked for.
func rename(mac, name string) error {
	links, err := netlink.LinkList()
	if err != nil {
		return err
	}
	for _, link := range links {
		if link.Attrs().Name == name && link.Attrs().HardwareAddr.String() != mac {
			if err := netlink.LinkSetName(link, fmt.Sprintf("other%d", link.Attrs().Index)); err != nil {
				return fmt.Errorf("freeing the name %s: %w", name, err)
			}
		}
	}
	for _, link := range links {
		if link.Attrs().HardwareAddr.String() == mac {
			return netlink.LinkSetName(link, name)
		}
	}
	return fmt.Errorf("no interface has the MAC address %s", mac)
}

const pciDevices = "/sys/bus/pci/devices"

// functionTimeout is how long a driver may take to make the interface of a virtual function.
const functionTimeout = time.Minute

// nameFunction names the interface of a virtual function, once its driver has made it.
func nameFunction(address, name string) error {
	for deadline := time.Now().Add(functionTimeout); ; time.Sleep(50 * time.Millisecond) {
		entries, err := os.ReadDir(filepath.Join(pciDevices, address, "net"))
		if err == nil && len(entries) == 1 {
			link, err := netlink.LinkByName(entries[0].Name())
			if err != nil {
				return err
			}
			return netlink.LinkSetName(link, name)
		}
		if time.Now().After(deadline) {
			return errors.Join(errors.New("it has no interface"), err)
		}
	}
}

// bindUserspace gives a network card, or a virtual function of one, to vfio-pci.
func bindUserspace(address string) error {
	dir := filepath.Join(pciDevices, address)
	if err := os.WriteFile(filepath.Join(dir, "driver_override"), []byte("vfio-pci"), 0o644); err != nil {
		return err
	}
	err := os.WriteFile(filepath.Join(dir, "driver/unbind"), []byte(address), 0o200)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile("/sys/bus/pci/drivers_probe", []byte(address), 0o200); err != nil {
		return err
	}
	driver, err := os.Readlink(filepath.Join(dir, "driver"))
	if err != nil {
		return err
	}
	if !strings.HasSuffix(driver, "/vfio-pci") {
		return fmt.Errorf("its driver is %s", filepath.Base(driver))
	}
	return nil
}
