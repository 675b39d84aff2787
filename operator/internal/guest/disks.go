//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/siderolabs/go-blockdevice/v2/blkid"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/clock"
)

// Disk is a block device with a file system on it.
type Disk struct{ Device, kind, label string }

// AwaitDisk waits for the disk with a label. If it does not appear, AwaitDisk
// returns absent, which names what to attach.
func AwaitDisk(ctx context.Context, label string, absent error) (Disk, error) {
	deadline := time.Now().Add(diskTimeout)
	for {
		disk, found, err := FindDisk(label)
		if found {
			return disk, nil
		}
		if time.Now().After(deadline) {
			return Disk{}, errors.Join(absent, err)
		}
		if err := clock.Sleep(ctx, diskInterval); err != nil {
			return Disk{}, err
		}
	}
}

// FindDisk returns the disk with a label. The error reports what could not be
// read, whether the disk was found or not.
func FindDisk(label string) (Disk, bool, error) {
	disks, err := labels(os.DirFS("/sys/block"), "/dev")
	disk, found := findLabel(disks, label)
	return disk, found, err
}

// labels returns the disks that have a label. What it cannot read becomes an
// error next to the result: it may be a drive without a medium.
func labels(sys fs.FS, devices string) ([]Disk, error) {
	entries, err := fs.ReadDir(sys, ".")
	if err != nil {
		return nil, err
	}
	var disks []Disk
	var problems []error
	for _, entry := range entries {
		device := filepath.Join(devices, entry.Name())
		info, err := blkid.ProbePath(device, blkid.WithSkipLocking(true))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", device, err))
			continue
		}
		if info.Label != nil {
			// Joliet's labels are filled up with zeros, others with spaces.
			disks = append(disks, Disk{device, info.Name, strings.TrimRight(*info.Label, "\x00 ")})
		}
	}
	return disks, errors.Join(problems...)
}

// findLabel ignores case: a FAT label is in capitals (NoCloud allows both).
func findLabel(disks []Disk, label string) (Disk, bool) {
	for _, d := range disks {
		if strings.EqualFold(d.label, label) {
			return d, true
		}
	}
	return Disk{}, false
}

// Mount mounts the disk read-only.
func (d Disk) Mount(directory string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	err := unix.Mount(d.Device, directory, d.kind, flags, "")
	// EBUSY means that the disk is already mounted there, by a process that ended
	// before this one.
	if err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mounting %s (%s) at %s: %w", d.Device, d.kind, directory, err)
	}
	return nil
}
