package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What the lab needs: the cache about 1 GiB, Go's build cache and modules about 4 GiB, the node's
// state as much as the images in it.
const (
	neededDiskBytes   = 8 << 30
	neededMemoryBytes = 3 << 30 // linking the Kubernetes binary
)

func checkDisk(_ context.Context, m Machine) Finding {
	const subject = "disk"
	free, err := freeBytes(m.Dir)
	if err != nil {
		return Finding{subject, Missing, err.Error(), "choose another directory with --state-dir or XDG_CACHE_HOME"}
	}
	detail := gibibytes(free) + " free at " + existing(m.Dir)
	if free < neededDiskBytes {
		return Finding{subject, Warning, detail, "the first build takes about 6 GiB with Go's caches: make room"}
	}
	return ok(subject, detail)
}

// freeBytes returns how many bytes programs can still write to the disk of dir.
func freeBytes(dir string) (uint64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(existing(dir), &stat); err != nil {
		return 0, err
	}
	return stat.Bavail * uint64(stat.Bsize), nil
}

// gibibytes returns an amount as users read it.
func gibibytes(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// existing returns dir, or the nearest directory above it that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == "/" || dir == "." {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// checkStateFilesystem refuses a file system that does not support the writable layer of an
// overlay, such as a container's own.
func checkStateFilesystem(_ context.Context, m Machine) Finding {
	const subject = "state directory"
	var stat unix.Statfs_t
	if err := unix.Statfs(existing(m.Dir), &stat); err != nil {
		return Finding{subject, Missing, err.Error(), "choose another directory with --state-dir"}
	}
	remedy := "choose a directory on a disk, or a volume, with --state-dir"
	switch stat.Type {
	case unix.OVERLAYFS_SUPER_MAGIC:
		return Finding{subject, Missing, m.Dir + " is on an overlay", remedy}
	case unix.NFS_SUPER_MAGIC:
		return Finding{subject, Missing, m.Dir + " is on NFS", remedy}
	}
	if strings.ContainsAny(m.Dir, ":,\\") {
		return Finding{subject, Missing, m.Dir + " holds a character that separates mount options", remedy}
	}
	return ok(subject, m.Dir)
}

// availableMemory returns how many bytes programs can still get, 0 where /proc does not say it.
func availableMemory() uint64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return availableBytes(string(data))
}

func checkMemory(context.Context, Machine) Finding {
	const subject = "memory"
	available := availableMemory()
	if available == 0 {
		return Finding{subject, Missing, "/proc/meminfo says nothing", "mount /proc"}
	}
	detail := gibibytes(available) + " available"
	if available < neededMemoryBytes {
		return Finding{subject, Warning, detail, "building takes about 3 GiB, running 0.5 GiB: free some"}
	}
	return ok(subject, detail)
}

// availableBytes reads MemAvailable from the format of /proc/meminfo.
func availableBytes(meminfo string) uint64 {
	for line := range strings.Lines(meminfo) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemAvailable:" {
			kibibytes, _ := strconv.ParseUint(fields[1], 10, 64)
			return kibibytes << 10
		}
	}
	return 0
}

func checkInotify(context.Context, Machine) Finding {
	const subject = "inotify instances"
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	if err != nil {
		return Finding{subject, Warning, err.Error(), ""}
	}
	limit := strings.TrimSpace(string(data))
	if n, _ := strconv.Atoi(limit); n < 128 {
		return Finding{subject, Warning, limit + " for each user", "raise it: sysctl fs.inotify.max_user_instances=512"}
	}
	return ok(subject, limit+" for each user")
}
