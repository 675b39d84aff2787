// Package guest makes guests: Debian's kernel with the modules that a program of the project needs,
// the files of the program's own image, and nothing else. Files go in; a kernel and an initial file
// system come out, and for a network function a disk that boots them.
//
// Equal input gives equal files. The kernel is the one that apt on this machine would install,
// extracted from its package, which apt downloads.
package guest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/debian"
	"vnfbench.io/test/lab/internal/image"
	"vnfbench.io/test/lab/internal/progress"
)

// The files that Build makes, by their names in its directory.
const (
	kernelFile = "vmlinuz"
	initrdFile = "initrd.img"
	diskFile   = "vnf-guest.img"
)

// KernelArguments are those with which the disk boots: few messages, on the serial line.
const KernelArguments = "console=ttyS0 quiet"

// kernelPackage is Debian's stock kernel. The cloud flavor has no e1000.
const kernelPackage = "linux-image-amd64"

// loaderPackage has systemd-boot, which starts the kernel where the firmware is
// UEFI, and loaderFile is that program in it.
const (
	loaderPackage = "systemd-boot-efi"
	loaderFile    = "usr/lib/systemd/boot/efi/systemd-bootx64.efi"
)

// format changes when this package makes other files from the same input.
const format = "2"

// Guest describes what a guest is made of.
type Guest struct {
	// Program is the one that is the first process, "vnf" or "neighbor".
	Program string
	// Files are those of the program's image; the program is at the same place.
	Files []image.File
}

// path returns the path of the first process's program.
func (g Guest) path() string { return "/usr/local/bin/" + g.Program }

// disk reports whether the guest can boot from a disk too. A neighbor boots only by KubeVirt's
// kernelBoot.
func (g Guest) disk() bool { return g.Program == "vnf" }

// Builder makes guests.
type Builder struct {
	Cache cache.Cache
	Log   *progress.Log
}

// Build returns the directory with vmlinuz and initrd.img, and with vnf-guest.img for a guest that
// can boot from a disk.
func (b Builder) Build(ctx context.Context, g Guest) (string, error) {
	list, err := moduleList(g.Program)
	if err != nil {
		return "", err
	}
	kernel, fingerprint, err := b.kernel(ctx)
	if err != nil {
		return "", err
	}
	loader, loaderFingerprint := "", ""
	if g.disk() {
		if loader, loaderFingerprint, err = b.loader(ctx); err != nil {
			return "", err
		}
	}
	content := sha256.New()
	if err := image.WriteFiles(content, g.Files); err != nil {
		return "", err
	}
	parts := cache.Fingerprint(format, g.Program, fingerprint, loaderFingerprint, list, KernelArguments, hex.EncodeToString(content.Sum(nil)))
	return b.Cache.Get(ctx, "guest", parts, func(ctx context.Context, dir string) error {
		return b.Log.Step("making the guest of "+g.Program, func() error { return build(ctx, g, list, kernel, loader, dir) })
	})
}

// kernel returns the directory of the unpacked and indexed kernel package, and its fingerprint.
func (b Builder) kernel(ctx context.Context) (dir, fingerprint string, err error) {
	meta, err := debian.Describe(ctx, kernelPackage)
	if err != nil {
		return "", "", err
	}
	name, err := meta.DependsOn("linux-image-")
	if err != nil {
		return "", "", err
	}
	p, err := debian.Describe(ctx, name)
	if err != nil {
		return "", "", err
	}
	fetcher := debian.Fetcher{Cache: b.Cache, Log: b.Log}
	dir, err = fetcher.Unpack(ctx, p, "kernel", func(ctx context.Context, dir string) error {
		version, err := kernelVersion(dir)
		if err != nil {
			return err
		}
		return depmod(ctx, dir, version)
	})
	return dir, p.SHA256, err
}

// loader returns the path of systemd-boot, and its fingerprint.
func (b Builder) loader(ctx context.Context) (path, fingerprint string, err error) {
	p, err := debian.Describe(ctx, loaderPackage)
	if err != nil {
		return "", "", err
	}
	dir, err := debian.Fetcher{Cache: b.Cache, Log: b.Log}.Unpack(ctx, p, "loader", nil)
	return filepath.Join(dir, loaderFile), p.SHA256, err
}

func build(ctx context.Context, g Guest, list, kernel, loader, dir string) error {
	staging, err := os.MkdirTemp(dir, ".staging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staging)
	version, err := addModules(ctx, list, kernel, staging)
	if err != nil {
		return err
	}
	if err := populate(staging, g); err != nil {
		return err
	}
	initrd, err := os.Create(filepath.Join(dir, initrdFile))
	if err != nil {
		return err
	}
	if err := writeInitramfs(initrd, staging); err != nil {
		_ = initrd.Close() // the first error is more useful
		return err
	}
	if err := initrd.Close(); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(kernel, "boot", "vmlinuz-"+version), filepath.Join(dir, kernelFile)); err != nil {
		return err
	}
	if !g.disk() {
		return nil
	}
	return writeDisk(ctx, dir, loader, filepath.Join(dir, diskFile))
}

// populate adds the program's files, the directories on which the first process mounts, and the
// names by which the kernel calls the program: as its first process, and to load a module.
func populate(root string, g Guest) error {
	for _, directory := range []string{"dev", "etc/vnf", "mnt", "proc", "run", "sbin", "sys", "tmp", "var/lib"} {
		if err := os.MkdirAll(filepath.Join(root, directory), 0o755); err != nil {
			return err
		}
	}
	if err := image.CopyFiles(root, g.Files); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, g.path())); err != nil {
		return fmt.Errorf("the guest needs %s, its first process: %w", g.path(), err)
	}
	for _, link := range []string{"init", "sbin/modprobe"} {
		if err := os.Symlink(g.path(), filepath.Join(root, link)); err != nil {
			return err
		}
	}
	return nil
}

// ImageFiles returns the files of the guest's container image, from the directory that Build
// returned: for KubeVirt's kernel boot, and as a container disk.
func (g Guest) ImageFiles(dir string) []image.File {
	files := []image.File{
		{Source: filepath.Join(dir, kernelFile), Destination: "/boot/" + kernelFile},
		{Source: filepath.Join(dir, initrdFile), Destination: "/boot/" + initrdFile},
	}
	if g.disk() {
		files = append(files, image.File{Source: filepath.Join(dir, diskFile), Destination: "/disk/" + diskFile})
	}
	return files
}
