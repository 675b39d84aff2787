package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// devices are the machine's devices that the node gets too, if they exist, with their permissions.
var devices = map[string]uint32{
	"full":         0o666,
	"fuse":         0o666,
	"kmsg":         0o600, // the kubelet watches it for processes killed for memory
	"kvm":          0o660,
	"loop-control": 0o660,
	"loop0":        0o660,
	"loop1":        0o660,
	"loop2":        0o660,
	"loop3":        0o660,
	"net/tun":      0o666,
	"null":         0o666,
	"random":       0o666,
	"tty":          0o666,
	"urandom":      0o666,
	"vhost-net":    0o666,
	"vhost-vsock":  0o666,
	"vsock":        0o666,
	"zero":         0o666,
}

var deviceLinks = map[string]string{
	"fd":     "/proc/self/fd",
	"ptmx":   "pts/ptmx",
	"stderr": "/proc/self/fd/2",
	"stdin":  "/proc/self/fd/0",
	"stdout": "/proc/self/fd/1",
}

// makeDevices fills the node's /dev.
func makeDevices(root string) error {
	for name, permissions := range devices {
		if err := copyDevice(name, root, permissions); err != nil {
			return fmt.Errorf("creating the device %q: %w", name, err)
		}
	}
	for name, target := range deviceLinks {
		if err := os.Symlink(target, filepath.Join(root, "dev", name)); err != nil {
			return fmt.Errorf("creating a link in /dev: %w", err)
		}
	}
	return nil
}

func copyDevice(name, root string, permissions uint32) error {
	var stat unix.Stat_t
	err := unix.Stat(filepath.Join("/dev", name), &stat)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	target := filepath.Join(root, "dev", name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := unix.Mknod(target, stat.Mode&unix.S_IFMT|permissions, int(stat.Rdev)); err != nil {
		return err
	}
	return unix.Chmod(target, permissions) // whatever the umask
}
