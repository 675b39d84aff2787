package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"vnfbench.io/test/lab/internal/command"
)

// sectorBytes is a disk's, and headSectors and heads are those of the geometry that mtools and
// syslinux use: one cylinder is 1 MiB.
const (
	sectorBytes = 512
	headSectors = 32
	heads       = 64
)

// bootConfig is syslinux's: no prompt, no wait.
const bootConfig = `DEFAULT linux
PROMPT 0
TIMEOUT 0
LABEL linux
  KERNEL vmlinuz
  INITRD initrd.img
  APPEND %s
`

// bootEntry is what a UEFI's loader boots by itself (UAPI Boot Loader Specification).
const bootEntry = `title vnf-guest
linux /vmlinuz
initrd /initrd.img
options %s
`

// writeDisk writes a disk that a BIOS and a UEFI can boot: a FAT file system without a partition
// table, kernel and initramfs, syslinux for the BIOS and systemd-boot (loader is its program) for
// the UEFI.
func writeDisk(ctx context.Context, dir, loader, out string) error {
	staging, err := os.MkdirTemp(dir, ".boot-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staging)
	config, entry := filepath.Join(staging, "syslinux.cfg"), filepath.Join(staging, "vnf-guest.conf")
	for path, text := range map[string]string{config: bootConfig, entry: bootEntry} {
		if err := os.WriteFile(path, fmt.Appendf(nil, text, KernelArguments), 0o644); err != nil {
			return err
		}
	}
	cylinders, err := diskCylinders(filepath.Join(dir, kernelFile), filepath.Join(dir, initrdFile), loader)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.WriteFile(out, nil, 0o644); err != nil {
		return err
	}
	if err := os.Truncate(out, int64(cylinders)*heads*headSectors*sectorBytes); err != nil {
		return err
	}
	// Without a random serial number and a current date, equal content gives an equal disk. mtools
	// takes the date from this variable, also for what syslinux writes through mtools.
	env := append(os.Environ(), "SOURCE_DATE_EPOCH=315532800", "TZ=UTC", "MTOOLS_SKIP_CHECK=1", "MTOOLSRC=/dev/null")
	for _, args := range [][]string{
		{"mformat", "-i", out, "-h", fmt.Sprint(heads), "-s", fmt.Sprint(headSectors), "-t", fmt.Sprint(cylinders), "-N", "766e6662", "-v", "VNFBENCH", "::"},
		{"mcopy", "-i", out, filepath.Join(dir, kernelFile), filepath.Join(dir, initrdFile), config, "::/"},
		{"mmd", "-i", out, "::/EFI", "::/EFI/BOOT", "::/loader", "::/loader/entries"},
		// The program that a UEFI starts from a disk that it has never seen.
		{"mcopy", "-i", out, loader, "::/EFI/BOOT/BOOTX64.EFI"},
		{"mcopy", "-i", out, entry, "::/loader/entries/"},
		{"syslinux", "--install", out},
	} {
		if err := (command.Command{Args: args, Env: env}).Run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// diskCylinders returns the number of MiB that the files need, with room for the file system and
// the boot loader.
func diskCylinders(files ...string) (int, error) {
	const roomMiB, mib = 2, 1 << 20
	total := 0
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		total += int((info.Size() + mib - 1) / mib)
	}
	return total + roomMiB, nil
}
