package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Fingerprint hashes strings, so that neither their order nor the boundaries between them can be
// mistaken.
func Fingerprint(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s,", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// FingerprintSource hashes what a Go module's binary is made from: go.mod, go.sum and the Go files
// below dir, without tests and nested modules.
func FingerprintSource(dir string) (string, error) {
	var parts []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipNestedModule(dir, path)
		}
		if !isSource(entry.Name()) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		parts = append(parts, rel, string(data))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hashing the sources in %q: %w", dir, err)
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("hashing the sources in %q: there are none", dir)
	}
	return Fingerprint(parts...), nil
}

func skipNestedModule(top, dir string) error {
	if dir == top {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func isSource(name string) bool {
	if slices.Contains([]string{"go.mod", "go.sum"}, name) {
		return true
	}
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}
