// Package build makes the lab's binaries from the Go modules below the lab's
// source directory. A target goes in; a directory in the cache that holds its
// binaries comes out.
package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

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
	var seen compilerOutput
	return b.Log.Watch("building "+t.Kind, seen.summary, func() error {
		err := command.Command{
			Args:     append(args, t.Package),
			Dir:      filepath.Join(b.SourceDir, t.Dir),
			Env:      environment(),
			Stderr:   &seen,
			Niceness: 5,
		}.Run(ctx)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, seen.complaints())
		}
		return nil
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
