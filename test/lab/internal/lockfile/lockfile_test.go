package lockfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"vnfbench.io/test/lab/internal/lockfile"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir", "lock")
	first, err := lockfile.Acquire(t.Context(), path, func() { t.Error("no process holds it") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	waited := 0
	if _, err := lockfile.Acquire(ctx, path, func() { waited++ }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second holder: %v", err)
	}
	if waited != 1 {
		t.Errorf("reported %d times that it waits", waited)
	}
	first.Unlock()
	second, err := lockfile.Acquire(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	second.Unlock()
}

func TestLockOfARemovedDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir", "lock")
	first, err := lockfile.Acquire(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	acquired := make(chan error)
	go func() {
		lock, err := lockfile.Acquire(t.Context(), path, func() { close(waiting) })
		if err == nil {
			defer lock.Unlock()
		}
		acquired <- err
	}()
	<-waiting
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	first.Unlock()
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the lock is held on no file: %v", err)
	}
}
