package cache_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"vnfbench.io/test/lab/internal/cache"
)

func TestFingerprintDistinguishesParts(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"b", "a"}, {"1:a,"}, {"a", ""}} {
		got := cache.Fingerprint(parts...)
		if before, found := seen[got]; found {
			t.Errorf("%q and %q have the same fingerprint", before, parts)
		}
		seen[got] = parts
		if again := cache.Fingerprint(parts...); again != got {
			t.Errorf("%q has the fingerprints %s and %s", parts, got, again)
		}
	}
}

func TestFingerprintSource(t *testing.T) {
	base := map[string]string{"go.mod": "module x", "go.sum": "", "main.go": "package main", "a/a.go": "package a"}
	tests := map[string]struct {
		name, content string
		changes       bool
	}{
		"a source file changes":      {"main.go", "package main // changed", true},
		"a package is added":         {"b/b.go", "package b", true},
		"go.sum changes":             {"go.sum", "x v1.0.0 h1:", true},
		"a test is added":            {"main_test.go", "package main", false},
		"documentation is added":     {"README.md", "# x", false},
		"a nested module is changed": {"nested/main.go", "package main", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeAll(t, dir, base)
			writeAll(t, dir, map[string]string{"nested/go.mod": "module y"})
			before := fingerprintSource(t, dir)
			writeAll(t, dir, map[string]string{test.name: test.content})
			if changed := fingerprintSource(t, dir) != before; changed != test.changes {
				t.Errorf("the fingerprint changed: %t, want %t", changed, test.changes)
			}
		})
	}
}

func TestFingerprintSourceOfNothing(t *testing.T) {
	if _, err := cache.FingerprintSource(t.TempDir()); err == nil {
		t.Error("no error for a directory without sources")
	}
}

func TestGetMakesOnce(t *testing.T) {
	c := cache.Cache{Dir: t.TempDir()}
	var made atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			dir, err := c.Get(t.Context(), "thing", "1", func(_ context.Context, dir string) error {
				made.Add(1)
				return os.WriteFile(filepath.Join(dir, "f"), nil, 0o644)
			})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(filepath.Join(dir, "f")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("it was made %d times", n)
	}
}

func TestGetKeepsNothingThatFailed(t *testing.T) {
	c := cache.Cache{Dir: t.TempDir()}
	broken := errors.New("broken")
	_, err := c.Get(t.Context(), "thing", "1", func(context.Context, string) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got the error %v", err)
	}
	if c.Has("thing", "1") {
		t.Error("a failed entry is there")
	}
}

func TestGetSweepsHalfEntriesOfItsKind(t *testing.T) {
	dir := t.TempDir()
	c := cache.Cache{Dir: dir}
	writeAll(t, dir, map[string]string{".thing.tmp-1/half": "", ".other.tmp-1/half": "", "thing-0/whole": ""})
	if _, err := c.Get(t.Context(), "thing", "1", func(context.Context, string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{".thing.tmp-1": false, ".other.tmp-1": true, "thing-0": true, "thing-1": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", name, err == nil, want)
		}
	}
}

func fingerprintSource(t *testing.T, dir string) string {
	t.Helper()
	got, err := cache.FingerprintSource(dir)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
