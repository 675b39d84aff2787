package kubevirt

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/command"
	"vnfbench.io/test/lab/internal/image"
	"vnfbench.io/test/lab/internal/rootfs"
)

// Tree is the Debian tree of virt-handler and virt-launcher: libvirt and QEMU, and what both
// programs call.
var Tree = rootfs.Tree{
	Kind: "kubevirt-rootfs",
	Packages: []string{
		"ipxe-qemu", "iproute2", "libvirt-clients", "libvirt-daemon", "libvirt-daemon-driver-qemu",
		"ncat", "nftables", "ovmf", "procps", "qemu-system-x86", "qemu-utils", "seabios", "swtpm",
		"swtpm-tools", "util-linux", "xorriso",
	},
	// Drivers that virtqemud, which libvirtd replaces here, does not have: they would manage the
	// node's own networks and disks.
	Remove: drivers("interface", "network", "nodedev", "nwfilter", "storage"),
}

func drivers(names ...string) []string {
	var patterns []string
	for _, name := range names {
		patterns = append(patterns, "usr/lib/*/libvirt/connection-driver/libvirt_driver_"+name+".so")
	}
	return patterns
}

// recipe changes when the way of packing images changes.
const recipe = "1"

// launcherFiles are what Debian's libvirt needs to replace KubeVirt's.
//
//go:embed launcher
var launcherFiles embed.FS

// launcherPlaces maps those files to their places, and KubeVirt's own, below
// cmd/virt-launcher of its module, to theirs.
var (
	launcherPlaces = map[string]string{
		"virtqemud":     "/usr/sbin/virtqemud",
		"virtlogd.conf": "/etc/libvirt/virtlogd.conf",
	}
	moduleFiles = map[string]string{
		"qemu":           "/etc/libvirt/hooks/qemu",
		"qemu.conf":      "/etc/libvirt/qemu.conf",
		"virtqemud.conf": "/etc/libvirt/virtqemud.conf",
		labellerFile:     "/usr/bin/node-labeller.sh",
	}
)

const labellerFile = "node-labeller/node-labeller.sh"

// ingredients are the directories of what images are made from.
type ingredients struct {
	tree string
	Compiled
}

// fingerprint hashes everything that the images are made from, independent of the place of the
// cache.
func (i ingredients) fingerprint(kvm bool) (string, error) {
	// A cache entry's name identifies its content.
	parts := []string{recipe, filepath.Base(i.tree), filepath.Base(i.Binaries), strconv.FormatBool(kvm)}
	for _, name := range slices.Sorted(maps.Keys(launcherPlaces)) {
		data, err := launcherFiles.ReadFile("launcher/" + name)
		if err != nil {
			return "", err
		}
		parts = append(parts, name, string(data))
	}
	return cache.Fingerprint(parts...), nil
}

// pack makes two images. One is for virt-operator, virt-api and virt-controller, static programs
// that do not run as root; the other for virt-handler and virt-launcher, whose trees would be
// nearly equal. Each image has the names of all its programs.
func (i ingredients) pack(ctx context.Context, dir, tag string, kvm bool) error {
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	control, err := i.control(filepath.Join(work, "control"), tag)
	if err != nil {
		return fmt.Errorf("preparing the image of KubeVirt's controllers: %w", err)
	}
	node, err := i.node(ctx, filepath.Join(work, "node"), tag, kvm)
	if err != nil {
		return fmt.Errorf("preparing the image of KubeVirt's node programs: %w", err)
	}
	for name, spec := range map[string]image.Spec{"control.tar": control, "node.tar": node} {
		if _, err := image.Build(spec, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// controlUser is the user of KubeVirt's controllers: their pods only say that it is not root.
const controlUser = "1001"

func (i ingredients) control(root, tag string) (image.Spec, error) {
	spec := image.Spec{
		Tag:          imageName("virt-operator", tag),
		Aliases:      []string{imageName("virt-api", tag), imageName("virt-controller", tag)},
		Root:         root,
		User:         controlUser,
		Architecture: runtime.GOARCH,
	}
	spec.Files = i.programs("virt-operator", "virt-api", "virt-controller")
	if err := writeTree(root, map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nkubevirt:x:" + controlUser + ":" + controlUser + "::/tmp:/sbin/nologin\n",
		"etc/group":  "root:x:0:\nkubevirt:x:" + controlUser + ":\n",
	}); err != nil {
		return image.Spec{}, err
	}
	return spec, openDir(filepath.Join(root, "tmp"))
}

func (i ingredients) node(ctx context.Context, work, tag string, kvm bool) (image.Spec, error) {
	spec := image.Spec{
		Tag:          imageName("virt-launcher", tag),
		Aliases:      []string{imageName("virt-handler", tag)},
		Root:         i.tree,
		Links:        map[string]string{"/var/run": "../run"}, // also followed from outside of the tree
		Capabilities: map[string]uint32{"/usr/bin/virt-launcher-monitor": 1 << unix.CAP_NET_BIND_SERVICE},
		Architecture: runtime.GOARCH,
	}
	spec.Files = i.programs("virt-handler", "virt-chroot", "virt-launcher", "virt-launcher-monitor",
		"virt-probe", "virt-freezer", "virt-tail")
	for _, program := range spec.Files {
		if err := checkLibrary(program.Source, i.tree); err != nil {
			return image.Spec{}, err
		}
	}
	if err := i.nodeFiles(work, kvm); err != nil {
		return image.Spec{}, err
	}
	disk := filepath.Join(work, "usr/bin/container-disk")
	if err := i.containerDisk(ctx, disk); err != nil {
		return image.Spec{}, err
	}
	spec.Files = append(spec.Files, image.File{Source: work, Destination: "/"})
	return spec, nil
}

// programs returns binaries, in /usr/bin of an image.
func (i ingredients) programs(names ...string) []image.File {
	var files []image.File
	for _, name := range names {
		files = append(files, image.File{Source: filepath.Join(i.Binaries, name), Destination: "/usr/bin/" + name})
	}
	return files
}

// nodeFiles writes what goes over the Debian tree to dir.
func (i ingredients) nodeFiles(dir string, kvm bool) error {
	files := map[string]string{}
	for name, place := range launcherPlaces {
		data, err := launcherFiles.ReadFile("launcher/" + name)
		if err != nil {
			return err
		}
		files[place] = string(data)
	}
	for name, place := range moduleFiles {
		data, err := os.ReadFile(filepath.Join(i.Source, "cmd/virt-launcher", name))
		if err != nil {
			return err
		}
		files[place] = string(data)
	}
	if !kvm {
		// The machine may have a /dev/kvm that cannot run a guest: guests then have what QEMU
		// emulates.
		labeller := moduleFiles[labellerFile]
		var err error
		if files[labeller], err = replaceOnce(files[labeller], "    VIRTTYPE=kvm\n", "    VIRTTYPE=qemu\n"); err != nil {
			return fmt.Errorf("editing KubeVirt's %s: %w", labellerFile, err)
		}
	}
	for place, lines := range users {
		data, err := os.ReadFile(filepath.Join(i.tree, place))
		if err != nil {
			return err
		}
		files[place] = addUsers(string(data), lines)
	}
	if err := writeTree(dir, files); err != nil {
		return err
	}
	for _, scripts := range []string{"usr/sbin/virtqemud", "etc/libvirt/hooks/qemu", "usr/bin/node-labeller.sh"} {
		if err := os.Chmod(filepath.Join(dir, scripts), 0o755); err != nil {
			return err
		}
	}
	for _, empty := range []string{"var/log/libvirt/qemu", "var/lib/libvirt", "var/cache/libvirt", "var/lib/swtpm-localca"} {
		if err := os.MkdirAll(filepath.Join(dir, empty), 0o755); err != nil {
			return err
		}
	}
	return openDir(filepath.Join(dir, "home/qemu")) // for 107: an image's files have the owner root
}

// users are the users of virt-launcher's guests, in KubeVirt's numbers, and those that Debian's
// libvirt looks up.
var users = map[string][]string{
	"etc/passwd": {
		"qemu:x:107:107:qemu:/home/qemu:/bin/bash",
		"libvirt-qemu:x:64055:107::/var/lib/libvirt:/usr/sbin/nologin",
	},
	"etc/group": {"qemu:x:107:", "kvm:x:103:", "libvirt:x:104:", "libvirt-qemu:x:64055:"},
}

// addUsers adds lines of passwd(5) or group(5) for names that have none.
func addUsers(text string, lines []string) string {
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		if !strings.HasPrefix(text, name+":") && !strings.Contains(text, "\n"+name+":") {
			text += line + "\n"
		}
	}
	return text
}

// containerDisk compiles the program that shows an image's disk to virt-launcher. It runs in images
// that contain nothing else, so it is static.
func (i ingredients) containerDisk(ctx context.Context, out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return command.Command{Args: []string{
		"gcc", "-static", "-O2", "-s", "-o", out, filepath.Join(i.Source, "cmd/container-disk-v2alpha/main.c"),
	}}.Run(ctx)
}

// writeTree writes files below root.
func writeTree(root string, files map[string]string) error {
	for name, data := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// openDir makes a directory that everyone may write to.
func openDir(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o777|fs.ModeSticky)
}
