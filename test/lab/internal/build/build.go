// Package build makes the lab's binaries from the Go modules below the lab's
// source directory. A target goes in; a directory in the cache that holds its
// binaries comes out.
package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/command"
	"vnfbench.io/test/lab/internal/progress"
)

// Builder builds targets.
type Builder struct {
	// SourceDir is the directory of the lab's own go.mod.
	SourceDir string
	// Cache keeps what was built.
	Cache cache.Cache
	// Log tells what is being built.
	Log *progress.Log
}

// Build returns the directory that holds the target's binaries.
func (b Builder) Build(ctx context.Context, t Target) (string, error) {
	flags, err := t.flags(b.SourceDir)
	if err != nil {
		return "", err
	}
	fingerprint, err := b.fingerprint(ctx, t, flags)
	if err != nil {
		return "", err
	}
	return b.Cache.Get(ctx, t.Kind, fingerprint, func(ctx context.Context, dir string) error {
		if err := b.compile(ctx, t, flags, dir); err != nil {
			return err
		}
		return link(dir, t)
	})
}

// fingerprint hashes all that a binary depends on.
func (b Builder) fingerprint(ctx context.Context, t Target, flags []string) (string, error) {
	source, err := cache.FingerprintSource(filepath.Join(b.SourceDir, t.Dir, t.SourceDir))
	if err != nil {
		return "", err
	}
	goVersion, err := command.Command{
		Args: []string{"go", "env", "GOVERSION", "GOARCH"},
		Dir:  filepath.Join(b.SourceDir, t.Dir),
		Env:  environment(),
	}.Output(ctx)
	if err != nil {
		return "", fmt.Errorf("asking for the Go version: %w", err)
	}
	parts := append([]string{source, goVersion, t.Package}, flags...)
	return cache.Fingerprint(append(parts, t.Links...)...), nil
}

func (b Builder) compile(ctx context.Context, t Target, flags []string, dir string) error {
	args := append([]string{"go", "build", "-v", "-o", dir + "/"}, flags...)
	packages, writer := watchPackages()
	defer writer.Close()
	return b.Log.Watch("building "+t.Kind, packages, func() error {
		return command.Command{
			Args:     append(args, t.Package),
			Dir:      filepath.Join(b.SourceDir, t.Dir),
			Env:      environment(),
			Stderr:   writer,
			Niceness: 5,
		}.Run(ctx)
	})
}

// environment is the caller's, without what would change the binaries.
func environment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
}

func link(dir string, t Target) error {
	for _, name := range t.Links {
		if err := os.Symlink(t.Kind, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return nil
}

// watchPackages returns a writer for what "go build -v" says, and a function
// that sums it up. What is no package's name is an error message and is passed
// on.
func watchPackages() (func() string, io.WriteCloser) {
	var count atomic.Int64
	var last atomic.Value
	last.Store("downloading or checking modules")
	reader, writer := io.Pipe()
	go func() {
		lines := bufio.NewScanner(reader)
		for lines.Scan() {
			line := lines.Text()
			switch {
			case strings.HasPrefix(line, "go: downloading"):
				last.Store(line)
			case strings.ContainsAny(line, " \t:#"):
				fmt.Fprintln(os.Stderr, line)
			default:
				count.Add(1)
				last.Store(line)
			}
		}
		_, _ = io.Copy(io.Discard, reader)
	}()
	return func() string { return fmt.Sprintf("(%d packages, %s)", count.Load(), last.Load()) }, writer
}
