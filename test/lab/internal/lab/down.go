package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"vnfbench.io/test/lab/internal/config"
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

// Kill ends the node of that name at once, as a power failure does, or every node that runs where the name
// is empty. Their state stays, and Up starts them again.
func (l Lab) Kill(ctx context.Context, name string) error {
	if _, err := l.toKill(name); err != nil {
		return err
	}
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	victims, err := l.toKill(name)
	if err != nil {
		return err
	}
	for _, m := range victims {
		r, err := m.load()
		if err != nil {
			return err
		}
		if err := r.Kill(); err != nil {
			return err
		}
		l.Log.Printf("%s is killed, process %d: lab up starts it again", m.subject(), r.PID)
	}
	return nil
}

// toKill returns the nodes that run, or the one of that name.
func (l Lab) toKill(name string) ([]member, error) {
	if name != "" {
		m, err := l.find(name)
		if err != nil {
			return nil, err
		}
		_, err = m.running()
		return []member{m}, err
	}
	known, err := l.members()
	if err != nil {
		return nil, err
	}
	var running []member
	for _, m := range known {
		_, err := m.running()
		if err == nil {
			running = append(running, m)
		} else if !errors.Is(err, ErrNotUp) {
			return nil, err
		}
	}
	if len(running) == 0 {
		return nil, ErrNotUp
	}
	return running, nil
}

func (l Lab) remove(ctx context.Context) error {
	if _, err := os.Stat(l.StateDir); errors.Is(err, fs.ErrNotExist) {
		return l.endAll(ctx) // of a lab whose state was removed by hand
	}
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := l.endAll(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(l.StateDir); err != nil {
		return fmt.Errorf("removing the lab's state: %w", err)
	}
	return nil
}

// endAll ends every node that the lab can have, also one without a record.
func (l Lab) endAll(ctx context.Context) error {
	for number := 1; number <= config.MaxNodes; number++ {
		m := l.member(number)
		r, err := m.load()
		if err != nil {
			return err
		}
		if err := m.end(ctx, r); err != nil {
			return err
		}
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
	for _, known := range []string{"kube", "cni", "coredns", "pause", "rootfs", "images", "guest", "kernel", "loader", "kubevirt", "flux", "argocd", "machine", "sriov", "sriovdp"} {
		if strings.HasPrefix(kind, known+"-") || strings.HasPrefix(kind, known+".") {
			return true
		}
	}
	return false
}
