//go:build linux

package noisy

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/neighbor"
)

// mke2fs is in the guest's file system, from Debian's e2fsprogs.
const mke2fs = "/usr/bin/mke2fs"

// format is ext4 as a node has it, with a journal. Blocks and inodes do not
// depend on the disk's size, nothing is reserved for root, and all of it is
// written now. Otherwise the kernel would write the rest during trials.
var format = []string{
	"-q", "-F", "-t", "ext4", "-b", "4096", "-i", "65536", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0",
}

// mountFlags are the flags of a folder in which files are only written and read.
const mountFlags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// memoryOptions are the options of a scratch folder in memory, which holds only an
// account of stress-ng.
const memoryOptions = "mode=0755,size=16m"

// mountScratch makes a file system on the scratch disk and mounts it. A machine
// without one gets a folder in memory, and noDisk gives the reason.
//
// It does not wait for the disk: the disk's driver finds its disks before its
// module has finished loading.
func mountScratch(ctx context.Context, log *slog.Logger) (noDisk, problem error) {
	if err := os.MkdirAll(neighbor.Scratch, 0o755); err != nil {
		return nil, err
	}
	device, err := findSerial(os.DirFS("/sys/block"), neighbor.ScratchSerial)
	if err != nil {
		return nil, err
	}
	if device == "" {
		if err := unix.Mount("tmpfs", neighbor.Scratch, "tmpfs", mountFlags, memoryOptions); err != nil {
			return nil, fmt.Errorf("mounting memory at %s: %w", neighbor.Scratch, err)
		}
		return fmt.Errorf("the machine has no virtio disk with the serial number %q", neighbor.ScratchSerial), nil
	}
	device = filepath.Join("/dev", device)
	log.Info("formatting", "disk", device, "serial", neighbor.ScratchSerial)
	output, err := exec.CommandContext(ctx, mke2fs, append(format[:len(format):len(format)], device)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("formatting the disk %s with the serial number %q: %w: %s", device, neighbor.ScratchSerial, err, oneLine(output))
	}
	if err := unix.Mount(device, neighbor.Scratch, "ext4", mountFlags, ""); err != nil {
		return nil, fmt.Errorf("mounting the disk %s at %s: %w", device, neighbor.Scratch, err)
	}
	log.Info("scratch", "disk", device, "folder", neighbor.Scratch)
	return nil, nil
}

// findSerial returns the name of the block device with a serial number, or "".
// Only virtio shows the number there.
func findSerial(sys fs.FS, serial string) (string, error) {
	files, err := fs.Glob(sys, "*/serial")
	if err != nil {
		return "", err
	}
	for _, file := range files {
		text, err := fs.ReadFile(sys, file)
		if err != nil {
			return "", fmt.Errorf("reading a disk's serial number: %w", err)
		}
		if strings.TrimSpace(string(text)) == serial {
			return path.Dir(file), nil
		}
	}
	return "", nil
}

// oneLine returns a program's output as one line.
func oneLine(output []byte) string {
	return strings.Join(strings.Fields(string(output)), " ")
}
