package node

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/cgroup"
	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/machine"
)

// mount is one mount below the node's root.
type mount struct {
	source, target, kind string
	flags                uintptr
	options              string
}

const (
	bind     = unix.MS_BIND
	noExtras = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
)

// buildTree builds the node's file tree and changes into it.
func buildTree(spec Spec, specPath string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("detaching from the machine's mounts: %w", err)
	}
	if err := makeScratch(spec.ScratchDir); err != nil {
		return fmt.Errorf("emptying the scratch directory: %w", err)
	}
	root := filepath.Join(spec.ScratchDir, "root")
	top := overlay(spec.RootFS, filepath.Join(spec.ScratchDir, "tree"), root)
	if err := top.do(""); err != nil {
		return err
	}
	list := mounts(spec, specPath)
	if spec.Machine != nil {
		list = machineMounts(spec, specPath)
	}
	for _, m := range list {
		if err := m.do(root); err != nil {
			return err
		}
	}
	if err := cgroup.Mount(spec.Cgroups, filepath.Join(root, "sys/fs/cgroup")); err != nil {
		return fmt.Errorf("mounting the control groups: %w", err)
	}
	if err := makeDevices(root); err != nil {
		return err
	}
	if spec.Machine != nil {
		return pivot(root)
	}
	if err := shieldSysctls(spec, root); err != nil {
		return err
	}
	if err := writeFiles(spec, root); err != nil {
		return err
	}
	return pivot(root)
}

// makeScratch makes the directories that begin empty at every start.
func makeScratch(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, name := range []string{"tree/upper", "tree/work", "cni/upper", "cni/work"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// overlay mounts a writable layer, kept in dir, over the content of lower.
func overlay(lower, dir, target string) mount {
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	return mount{"overlay", target, "overlay", 0, "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work}
}

// basicMounts are those of every node's tree.
func basicMounts(spec Spec, specPath string) []mount {
	return []mount{
		{"proc", "/proc", "proc", noExtras, ""},
		{"sysfs", "/sys", "sysfs", noExtras, ""},
		{"tmpfs", "/dev", "tmpfs", unix.MS_NOSUID, "mode=755,size=64m"},
		{"devpts", "/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5"},
		{"tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=755"},
		{"tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{spec.LogDir, config.LogDir, "", bind, ""},
		{spec.Executable, executablePlace, "", bind, ""},
		{specPath, specPlace, "", bind, ""},
	}
}

// machineMounts are those of the tree in which QEMU runs: below machine.SharePlace is what the machine gets to see.
func machineMounts(spec Spec, specPath string) []mount {
	share := func(name string) string { return filepath.Join(machine.SharePlace, name) }
	list := append(basicMounts(spec, specPath),
		mount{spec.Machine.Disk, machine.DiskPlace, "", bind, ""},
		mount{spec.Executable, share("lab"), "", bind, ""},
		mount{specPath, share(machineSpec), "", bind, ""},
		mount{spec.PKIDir, share("pki"), "", bind, ""},
		mount{spec.Machine.LoadDir, share(loadName), "", bind, ""},
	)
	for i, dir := range spec.Machine.ImageDirs {
		list = append(list, mount{dir, share(fmt.Sprintf("images/%d", i)), "", bind, ""})
	}
	return list
}

func mounts(spec Spec, specPath string) []mount {
	list := append(basicMounts(spec, specPath),
		mount{"bpf", "/sys/fs/bpf", "bpf", noExtras, "mode=700"},
		mount{"mqueue", "/dev/mqueue", "mqueue", noExtras, ""},
		mount{spec.PKIDir, config.PKIDir, "", bind, ""},
		mount{spec.KubeDir, config.KubeBinaryDir, "", bind, ""},
		overlay(spec.CNIDir, filepath.Join(spec.ScratchDir, "cni"), config.CNIBinaryDir),
	)
	// Outside the overlay: containerd and pods stack overlays themselves.
	for _, dir := range []string{"/var/lib/etcd", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni", "/var/log/pods", config.VolumeDir} {
		list = append(list, mount{filepath.Join(spec.DataDir, dir), dir, "", bind, ""})
	}
	// Addresses in use end with the network namespace.
	return append(list, mount{"tmpfs", "/var/lib/cni/networks", "tmpfs", noExtras, "mode=755"})
}

// do mounts m below root, on a file or directory that it creates.
func (m mount) do(root string) error {
	target := filepath.Join(root, m.target)
	if err := m.prepare(target); err != nil {
		return fmt.Errorf("preparing to mount %q: %w", m.target, err)
	}
	if err := unix.Mount(m.source, target, m.kind, m.flags, m.options); err != nil {
		return fmt.Errorf("mounting %q: %w", m.target, err)
	}
	return nil
}

func (m mount) prepare(target string) error {
	if m.flags&unix.MS_BIND != 0 {
		info, err := os.Stat(m.source)
		if os.IsNotExist(err) {
			err = os.MkdirAll(m.source, 0o755)
		}
		if err != nil {
			return err
		}
		if info != nil && !info.IsDir() {
			return createFile(target)
		}
	}
	return os.MkdirAll(target, 0o755)
}

func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}

// shielded are kernel settings of the whole machine that the kubelet would
// change, with the values that it wants to see.
var shielded = map[string]string{
	"kernel/keys/root_maxbytes": "25000000",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
}

// shieldSysctls puts plain files over the shielded settings.
func shieldSysctls(spec Spec, root string) error {
	for name, value := range shielded {
		file := filepath.Join(spec.ScratchDir, "sysctl", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, filepath.Join(root, "proc/sys", name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("shielding the setting %q: %w", name, err)
		}
	}
	return nil
}

// writeFiles writes the node's configuration.
func writeFiles(spec Spec, root string) error {
	files, err := spec.Node.Files()
	if err != nil {
		return err
	}
	files["/etc/machine-id"] = []byte(spec.MachineID + "\n")
	for name, data := range files {
		place := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			return fmt.Errorf("writing the node's configuration: %w", err)
		}
		// The tree's own file may be a link that leads elsewhere.
		if err := os.Remove(place); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("writing the node's configuration: %w", err)
		}
		if err := os.WriteFile(place, data, 0o644); err != nil {
			return fmt.Errorf("writing the node's configuration: %w", err)
		}
	}
	return nil
}
