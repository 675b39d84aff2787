package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"vnfbench.io/test/lab/internal/cgroup"
)

// Down ends the lab and removes everything that it left on this machine except the cache. With
// purge it removes the cache too.
func (l Lab) Down(ctx context.Context, purge bool) error {
	if err := l.remove(ctx); err != nil {
		return err
	}
	l.Log.Printf("the lab is down")
	if purge {
		return l.purge()
	}
	return nil
}

// Kill ends the node at once, as a power failure does. Its state stays, and Up starts the node again.
func (l Lab) Kill(ctx context.Context) error {
	if _, err := l.Running(); err != nil {
		return err
	}
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	r, err := l.Running()
	if err != nil {
		return err
	}
	if err := r.Kill(); err != nil {
		return err
	}
	l.Log.Printf("the node is killed, process %d: lab up starts it again", r.PID)
	return nil
}

func (l Lab) remove(ctx context.Context) error {
	if _, err := os.Stat(l.StateDir); errors.Is(err, fs.ErrNotExist) {
		return cgroup.Remove(ctx, l.group()) // of a lab whose state was removed by hand
	}
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	r, err := l.load()
	if err != nil {
		return err
	}
	if err := r.Kill(); err != nil {
		return err
	}
	if err := cgroup.Remove(ctx, l.group()); err != nil {
		return err
	}
	if err := os.RemoveAll(l.StateDir); err != nil {
		return fmt.Errorf("removing the lab's state: %w", err)
	}
	return nil
}

// purge removes the cache, unless it holds another lab's state.
func (l Lab) purge() error {
	entries, err := os.ReadDir(l.CacheDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing the cache: %w", err)
	}
	for _, e := range entries {
		if !isCacheEntry(e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(l.CacheDir, e.Name())); err != nil {
			return fmt.Errorf("removing the cache: %w", err)
		}
	}
	_ = os.Remove(l.CacheDir) // unless other files are there
	l.Log.Printf("the cache is empty")
	return nil
}

// isCacheEntry distinguishes the lab's own entries, locks and half-made entries from other files in
// the directory.
func isCacheEntry(name string) bool {
	kind := strings.TrimPrefix(name, ".")
	for _, known := range []string{"kube", "cni", "coredns", "pause", "rootfs", "images", "kubevirt"} {
		if strings.HasPrefix(kind, known+"-") || strings.HasPrefix(kind, known+".") {
			return true
		}
	}
	return false
}
