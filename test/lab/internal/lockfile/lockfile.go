// Package lockfile lets one program at a time do something. A file's path
// goes in; a lock, which the kernel drops when its holder ends, comes out.
package lockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Lock is a held lock.
type Lock struct{ file *os.File }

// Acquire locks the file at path. It creates the file and its directory when needed: the lock's
// holder may remove either. When another program holds the lock, Acquire calls waiting once and
// waits.
func Acquire(ctx context.Context, path string, waiting func()) (*Lock, error) {
	for {
		lock, err := acquire(ctx, path, waiting)
		if err != nil || lock.current(path) {
			return lock, err
		}
		lock.Unlock() // the file was removed while this program waited
	}
}

func acquire(ctx context.Context, path string, waiting func()) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("creating a lock's directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening a lock: %w", err)
	}
	for first := true; ; first = false {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return &Lock{file}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("locking %q: %w", path, err), file.Close())
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// current reports whether the locked file is still the one at path.
func (l *Lock) current(path string) bool {
	mine, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// Unlock releases the lock.
func (l *Lock) Unlock() { _ = l.file.Close() }
