package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/cgroup"
	"vnfbench.io/test/lab/internal/kubevirt"
)

func checkKernel(context.Context, Machine) Finding {
	const subject = "kernel"
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return Finding{subject, Missing, err.Error(), "use Linux"}
	}
	release := unix.ByteSliceToString(name.Release[:])
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil || major < 5 || major == 5 && minor < 10 {
		return Finding{subject, Missing, release, "use Linux 5.10 or newer"}
	}
	return ok(subject, release)
}

func checkNamespaces(context.Context, Machine) Finding {
	const subject = "namespaces"
	var missing []string
	for _, name := range []string{"mnt", "pid", "net", "uts", "ipc", "cgroup"} {
		if _, err := os.Stat("/proc/self/ns/" + name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return Finding{subject, Missing, "not in this kernel: " + strings.Join(missing, " "), "use a kernel with namespaces"}
	}
	err := onThread(func() error { return unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWNET) })
	if err != nil {
		return Finding{subject, Missing, "creating them: " + err.Error(), "run as root with CAP_SYS_ADMIN, outside of a restricted container"}
	}
	return ok(subject, "mount, process, network, host name, IPC and control group")
}

// onThread runs work on a separate thread, whose namespaces end with it.
func onThread(work func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never released
		result <- work()
	}()
	return <-result
}

func checkFilesystems(context.Context, Machine) Finding {
	const subject = "file systems"
	data, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return Finding{subject, Missing, err.Error(), "mount /proc"}
	}
	known := strings.Fields(string(data))
	var missing []string
	for _, name := range []string{"overlay", "tmpfs", "devpts", "mqueue", "bpf"} {
		if !slices.Contains(known, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		list := strings.Join(missing, " ")
		return Finding{subject, Missing, "not in this kernel: " + list, "load them, for example: modprobe " + missing[0]}
	}
	return ok(subject, "overlay, tmpfs, devpts, mqueue, bpf")
}

// neededControllers are those without which the kubelet does not start.
var neededControllers = []string{"cpu", "cpuset", "memory", "pids"}

func checkControlGroups(context.Context, Machine) Finding {
	const subject = "control groups"
	if data, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return judgeControllers(subject, "version 2", strings.Fields(string(data)))
	}
	plan, err := cgroup.PlanSelf("probe")
	if err != nil {
		return Finding{subject, Missing, err.Error(), "mount the control group hierarchies below /sys/fs/cgroup"}
	}
	var controllers []string
	for _, h := range plan {
		controllers = append(controllers, strings.Split(h.Options, ",")...)
	}
	return judgeControllers(subject, "version 1", controllers)
}

func judgeControllers(subject, version string, controllers []string) Finding {
	for _, name := range neededControllers {
		if !slices.Contains(controllers, name) {
			return Finding{subject, Missing, version + " without " + name, "enable the controller, or mount its hierarchy"}
		}
	}
	return ok(subject, version)
}

// checkGuests reports what virtual machines run on. Slow guests are not a reason to warn: the lab is
// made for them.
func checkGuests(a kubevirt.Abilities) Finding {
	return ok("virtual machines", a.String())
}

// checkLinks creates the kinds of interface that the lab uses, in a temporary network namespace.
func checkLinks(context.Context, Machine) Finding {
	const subject = "network interfaces"
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		return errors.Join(
			tryLink(&netlink.Bridge{LinkAttrs: named("bridge0")}),
			tryLink(&netlink.Veth{LinkAttrs: named("veth0"), PeerName: "veth1"}),
		)
	})
	if err != nil {
		return Finding{subject, Missing, err.Error(), "use a kernel with veth and bridge, or load them: modprobe -a veth bridge"}
	}
	return ok(subject, "veth, bridge")
}

// named returns the attributes of an interface that has a name and nothing else.
func named(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

func tryLink(link netlink.Link) error {
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("creating a %s: %w", link.Type(), err)
	}
	return nil
}

func checkBridgeNetfilter(context.Context, Machine) Finding {
	const subject = "bridge netfilter"
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil {
		return Finding{subject, Missing, "not in this kernel", "load it: modprobe br_netfilter"}
	}
	return ok(subject, "there")
}
