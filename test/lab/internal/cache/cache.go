// Package cache keeps what takes long to make. A kind, a fingerprint of the sources and a function
// that makes the entry go in; a complete directory comes out.
//
// An entry is the directory KIND-FINGERPRINT. It is made under another name and renamed, so a crash
// leaves no incomplete entry, and under a lock for each kind, so two programs never make the same
// thing twice.
package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vnfbench.io/test/lab/internal/lockfile"
)

// unusedFor is how long an unused entry is kept when another entry of its kind is made.
const unusedFor = 14 * 24 * time.Hour

// Cache is a directory of entries.
type Cache struct {
	// Dir holds the entries; it is created when needed.
	Dir string
	// Waiting is called, when set, before waiting for another program that
	// makes an entry of the same kind.
	Waiting func(kind string)
}

// Get returns the directory of an entry. When there is none, it calls make
// with an empty directory to fill.
func (c Cache) Get(ctx context.Context, kind, fingerprint string, make func(ctx context.Context, dir string) error) (string, error) {
	entry := filepath.Join(c.Dir, kind+"-"+fingerprint)
	if touch(entry) {
		return entry, nil
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache: %w", err)
	}
	lock, err := c.lock(ctx, kind)
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if touch(entry) { // made while this program waited for the lock
		return entry, nil
	}
	if err := c.fill(ctx, kind, entry, make); err != nil {
		return "", fmt.Errorf("making %s: %w", kind, err)
	}
	return entry, nil
}

// Has reports whether an entry exists.
func (c Cache) Has(kind, fingerprint string) bool {
	_, err := os.Stat(filepath.Join(c.Dir, kind+"-"+fingerprint))
	return err == nil
}

func (c Cache) lock(ctx context.Context, kind string) (*lockfile.Lock, error) {
	return lockfile.Acquire(ctx, filepath.Join(c.Dir, "."+kind+".lock"), func() {
		if c.Waiting != nil {
			c.Waiting(kind)
		}
	})
}

// fill makes an entry; the caller holds the lock of its kind.
func (c Cache) fill(ctx context.Context, kind, entry string, make func(context.Context, string) error) error {
	if err := c.sweep(kind); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(c.Dir, "."+kind+".tmp-")
	if err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := make(ctx, temp); err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return os.Rename(temp, entry)
}

// sweep removes what crashed programs left of a kind, and its entries that have not been used for
// long.
func (c Cache) sweep(kind string) error {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		half := strings.HasPrefix(e.Name(), "."+kind+".tmp-")
		if !half && !(isEntryOf(kind, e.Name()) && isOld(e)) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.Dir, e.Name())); err != nil {
			return fmt.Errorf("sweeping the cache: %w", err)
		}
	}
	return nil
}

func isEntryOf(kind, name string) bool {
	rest, found := strings.CutPrefix(name, kind+"-")
	return found && !strings.Contains(rest, "-")
}

func isOld(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > unusedFor
}

// touch marks an entry as used now and reports whether it exists.
func touch(entry string) bool {
	now := time.Now()
	return os.Chtimes(entry, now, now) == nil
}
