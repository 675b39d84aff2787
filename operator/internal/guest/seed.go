//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/siderolabs/go-blockdevice/v2/blkid"
	"golang.org/x/sys/unix"
)

const (
	// SeedLabel is the label of a NoCloud disk.
	SeedLabel = "cidata"
	// KeysLabel is the label of the disk with the function's keys, as KubeVirt
	// makes it of a Secret whose volumeLabel this is.
	KeysLabel = "vnfkeys"
	// KeysDirectory is where the keys are mounted, as they are in a pod.
	KeysDirectory = "/etc/vnf/keys"

	seedDirectory = "/run/seed"
	// seedPatience covers disks that the kernel looks for in the background.
	seedPatience = 15 * time.Second
	seedInterval = 100 * time.Millisecond
	// maxSeedBytes is far more than any configuration has.
	maxSeedBytes = 4 << 20
)

// errNoKeys says what a gateway's guest lacks.
var errNoKeys = fmt.Errorf("no disk with the label %q: attach the function's keys as a disk with this label (KubeVirt: a secret volume with this volumeLabel)", KeysLabel)

// errNoSeed says what a person has to attach.
var errNoSeed = fmt.Errorf("no disk with the label %q: attach a NoCloud disk (ISO 9660 or FAT) with the configuration as its file user-data", SeedLabel)

// seed waits for the NoCloud disk, mounts the disk of keys when there is one,
// and returns user-data.
func seed(ctx context.Context, log *slog.Logger) ([]byte, error) {
	deadline := time.Now().Add(seedPatience)
	for {
		disks, err := labels(os.DirFS("/sys/block"), "/dev")
		if disk, found := findLabel(disks, SeedLabel); found {
			if keys, found := findLabel(disks, KeysLabel); found {
				if err := mountKeys(keys, log); err != nil {
					return nil, fmt.Errorf("the disk of keys %q: %w", KeysLabel, err)
				}
			}
			return readSeed(disk)
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(errNoSeed, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(seedInterval):
		}
	}
}

// awaitKeys waits for the disk of keys, which a gateway cannot do without: the
// kernel may find it after the NoCloud disk. One that is mounted already is
// mounted no second time.
func awaitKeys(ctx context.Context, log *slog.Logger) error {
	deadline := time.Now().Add(seedPatience)
	for {
		if entries, err := os.ReadDir(KeysDirectory); err == nil && len(entries) > 0 {
			return nil
		}
		disks, err := labels(os.DirFS("/sys/block"), "/dev")
		if keys, found := findLabel(disks, KeysLabel); found {
			return mountKeys(keys, log)
		}
		if time.Now().After(deadline) {
			return errors.Join(errNoKeys, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(seedInterval):
		}
	}
}

// disk is a block device with a file system on it.
type disk struct{ device, kind, label string }

// labels are those of the disks that have one. What cannot be read is an error
// beside the rest: it may be a drive without a medium.
func labels(sys fs.FS, devices string) ([]disk, error) {
	entries, err := fs.ReadDir(sys, ".")
	if err != nil {
		return nil, err
	}
	var disks []disk
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
			disks = append(disks, disk{device, info.Name, strings.TrimRight(*info.Label, "\x00 ")})
		}
	}
	return disks, errors.Join(problems...)
}

// findLabel ignores case: a FAT label is in capitals (NoCloud allows both).
func findLabel(disks []disk, label string) (disk, bool) {
	for _, d := range disks {
		if strings.EqualFold(d.label, label) {
			return d, true
		}
	}
	return disk{}, false
}

func mountDisk(d disk, directory string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	err := unix.Mount(d.device, directory, d.kind, flags, "")
	// Busy is what the kernel says when it is mounted there already, by a
	// process that ended before this one.
	if err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mounting %s (%s) at %s: %w", d.device, d.kind, directory, err)
	}
	return nil
}

// mountKeys mounts the disk of keys and tells the names of its files.
func mountKeys(d disk, log *slog.Logger) error {
	if err := mountDisk(d, KeysDirectory); err != nil {
		return err
	}
	entries, err := os.ReadDir(KeysDirectory)
	if err != nil {
		return err
	}
	var names []string
	for _, entry := range entries {
		// KubeVirt copies a Secret as the kubelet mounts it: each key is a link
		// into a directory whose name begins with two dots.
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		if _, err := os.Stat(filepath.Join(KeysDirectory, entry.Name())); err != nil {
			return err
		}
		names = append(names, entry.Name())
	}
	log.Info("keys", "device", d.device, "files", strings.Join(names, " "))
	return nil
}

// readSeed lets go of the disk, so that it may be taken away.
func readSeed(d disk) (data []byte, err error) {
	if err := mountDisk(d, seedDirectory); err != nil {
		return nil, err
	}
	defer func() {
		if unmountErr := unix.Unmount(seedDirectory, 0); unmountErr != nil {
			err = errors.Join(err, fmt.Errorf("unmounting %s: %w", d.device, unmountErr))
		}
	}()
	path := filepath.Join(seedDirectory, "user-data")
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("the disk with the label %q: %w", SeedLabel, err)
	}
	if info.Size() > maxSeedBytes {
		return nil, fmt.Errorf("user-data has %d bytes, %d are allowed", info.Size(), maxSeedBytes)
	}
	return os.ReadFile(path)
}
