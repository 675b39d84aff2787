//go:build linux

package function

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"vnfbench.io/operator/internal/guest"
)

const (
	// KeysLabel is the label of the disk with the function's keys. KubeVirt makes
	// this disk from a Secret with this volumeLabel.
	KeysLabel = "vnfkeys"
	// KeysDirectory is where the keys are mounted, as they are in a pod.
	KeysDirectory = "/etc/vnf/keys"
)

// errNoKeys names what a gateway's guest lacks.
var errNoKeys = fmt.Errorf("no disk with the label %q: attach the function's keys as a disk with this label (KubeVirt: a secret volume with this volumeLabel)", KeysLabel)

// findKeys mounts the disk of keys when there is one.
func findKeys(log *slog.Logger) error {
	// awaitKeys reports a disk that cannot be read, where keys are needed.
	disk, found, _ := guest.FindDisk(KeysLabel)
	if !found {
		return nil
	}
	if err := mountKeys(disk, log); err != nil {
		return fmt.Errorf("the disk of keys %q: %w", KeysLabel, err)
	}
	return nil
}

// awaitKeys waits for the disk of keys, which a gateway requires: the kernel may
// find it after the NoCloud disk. It does not mount a disk twice.
func awaitKeys(ctx context.Context, log *slog.Logger) error {
	if entries, err := os.ReadDir(KeysDirectory); err == nil && len(entries) > 0 {
		return nil
	}
	disk, err := guest.AwaitDisk(ctx, KeysLabel, errNoKeys)
	if err != nil {
		return err
	}
	return mountKeys(disk, log)
}

// mountKeys mounts the disk of keys and logs the names of its files.
func mountKeys(d guest.Disk, log *slog.Logger) error {
	if err := d.Mount(KeysDirectory); err != nil {
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
	log.Info("keys", "device", d.Device, "files", strings.Join(names, " "))
	return nil
}
