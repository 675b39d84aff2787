// Package guest makes the reference guest: Debian's kernel with the modules
// that a network function needs, the files of the function's own image, and
// nothing else. Files go in; a kernel, an initial file system and a disk that
// boots them come out.
//
// Equal input gives equal files. The kernel is the one that apt on this machine
// would install, taken out of its package by apt's own download.
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

// KernelArguments are those that the disk boots with: messages go to the serial
// line, and few.
const KernelArguments = "console=ttyS0 quiet"

// kernelPackage is Debian's stock kernel. The cloud flavour has no e1000.
const kernelPackage = "linux-image-amd64"

// loaderPackage has systemd-boot, which starts the kernel where the firmware is
// UEFI, and loaderFile is that program in it.
const (
	loaderPackage = "systemd-boot-efi"
	loaderFile    = "usr/lib/systemd/boot/efi/systemd-bootx64.efi"
)

// format changes when this package makes other files of the same input.
const format = "2"

// program is the binary that is the guest's first process; it is at the same
// place in the function's image.
const program = "/usr/local/bin/vnf"

// Builder makes guests.
type Builder struct {
	Cache cache.Cache
	Log   *progress.Log
}

// Build returns the directory that holds vmlinuz, initrd.img and vnf-guest.img.
// The files are those of the function's image.
func (b Builder) Build(ctx context.Context, files []image.File) (string, error) {
	kernel, fingerprint, err := b.kernel(ctx)
	if err != nil {
		return "", err
	}
	loader, loaderFingerprint, err := b.loader(ctx)
	if err != nil {
		return "", err
	}
	content := sha256.New()
	if err := image.WriteFiles(content, files); err != nil {
		return "", err
	}
	parts := cache.Fingerprint(format, fingerprint, loaderFingerprint, moduleList, KernelArguments, hex.EncodeToString(content.Sum(nil)))
	return b.Cache.Get(ctx, "guest", parts, func(ctx context.Context, dir string) error {
		return b.Log.Step("making the guest", func() error { return build(ctx, kernel, loader, files, dir) })
	})
}

// kernel returns the directory of the unpacked and indexed kernel package, and
// what tells it from others.
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

// loader returns the path of systemd-boot, and what tells it from others.
func (b Builder) loader(ctx context.Context) (path, fingerprint string, err error) {
	p, err := debian.Describe(ctx, loaderPackage)
	if err != nil {
		return "", "", err
	}
	dir, err := debian.Fetcher{Cache: b.Cache, Log: b.Log}.Unpack(ctx, p, "loader", nil)
	return filepath.Join(dir, loaderFile), p.SHA256, err
}

func build(ctx context.Context, kernel, loader string, files []image.File, dir string) error {
	staging, err := os.MkdirTemp(dir, ".staging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staging)
	version, err := modules(ctx, kernel, staging)
	if err != nil {
		return err
	}
	if err := populate(staging, files); err != nil {
		return err
	}
	initrd, err := os.Create(filepath.Join(dir, initrdFile))
	if err != nil {
		return err
	}
	if err := writeInitramfs(initrd, staging); err != nil {
		_ = initrd.Close() // the first error tells more
		return err
	}
	if err := initrd.Close(); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(kernel, "boot", "vmlinuz-"+version), filepath.Join(dir, kernelFile)); err != nil {
		return err
	}
	return writeDisk(ctx, dir, loader, filepath.Join(dir, diskFile))
}

// populate adds the function's files, the directories that the first process
// mounts on, and the names by which the kernel calls the program: as its first
// process, and to load a module.
func populate(root string, files []image.File) error {
	for _, directory := range []string{"dev", "etc/vnf", "mnt", "proc", "run", "sbin", "sys", "tmp", "var/lib"} {
		if err := os.MkdirAll(filepath.Join(root, directory), 0o755); err != nil {
			return err
		}
	}
	if err := image.CopyFiles(root, files); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, program)); err != nil {
		return fmt.Errorf("the guest needs %s, its first process: %w", program, err)
	}
	for _, link := range []string{"init", "sbin/modprobe"} {
		if err := os.Symlink(program, filepath.Join(root, link)); err != nil {
			return err
		}
	}
	return nil
}

// ImageFiles are the files of the guest's container image, from the directory
// that Build returned: for KubeVirt's kernel boot, and as a container disk.
func ImageFiles(dir string) []image.File {
	return []image.File{
		{Source: filepath.Join(dir, kernelFile), Destination: "/boot/" + kernelFile},
		{Source: filepath.Join(dir, initrdFile), Destination: "/boot/" + initrdFile},
		{Source: filepath.Join(dir, diskFile), Destination: "/disk/" + diskFile},
	}
}
