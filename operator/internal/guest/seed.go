//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// SeedLabel is the label of a NoCloud disk.
	SeedLabel = "cidata"

	seedDirectory = "/run/seed"
	// diskTimeout is the timeout for disks that the kernel looks for in the background.
	diskTimeout  = 15 * time.Second
	diskInterval = 100 * time.Millisecond
	// maxSeedBytes is far more than any configuration needs.
	maxSeedBytes = 4 << 20
)

// errNoSeed names what a person has to attach.
var errNoSeed = fmt.Errorf("no disk with the label %q: attach a NoCloud disk (ISO 9660 or FAT) with the configuration as its file user-data", SeedLabel)

// Seed waits for the NoCloud disk and returns its user-data.
func Seed(ctx context.Context) ([]byte, error) {
	disk, err := AwaitDisk(ctx, SeedLabel, errNoSeed)
	if err != nil {
		return nil, err
	}
	return readSeed(disk)
}

// readSeed unmounts the disk afterwards, so that it can be removed.
func readSeed(d Disk) (data []byte, err error) {
	if err := d.Mount(seedDirectory); err != nil {
		return nil, err
	}
	defer func() {
		if unmountErr := unix.Unmount(seedDirectory, 0); unmountErr != nil {
			err = errors.Join(err, fmt.Errorf("unmounting %s: %w", d.Device, unmountErr))
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
