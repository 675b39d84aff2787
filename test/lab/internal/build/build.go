// Package build makes the lab's binaries from the Go modules below the lab's
// source directory. A target goes in; a directory in the cache that holds its
// binaries comes out.
package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

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
	// Log reports what is being built.
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
		Env:  environment(t),
	}.Output(ctx)
	if err != nil {
		return "", fmt.Errorf("asking for the Go version: %w", err)
	}
	parts := append([]string{source, goVersion, t.Package}, flags...)
	parts = append(append(parts, t.Also...), t.Links...)
	for _, module := range slices.Sorted(maps.Keys(t.Replace)) {
		// A cache entry's name identifies its content.
		parts = append(parts, module, filepath.Base(t.Replace[module]))
	}
	return cache.Fingerprint(parts...), nil
}

func (b Builder) compile(ctx context.Context, t Target, flags []string, dir string) error {
	if len(t.Replace) > 0 {
		modFile, err := b.replacing(t)
		if err != nil {
			return err
		}
		defer os.RemoveAll(filepath.Dir(modFile))
		flags = append(slices.Clip(flags), "-modfile="+modFile)
	}
	what := append(append(slices.Clip(flags), t.Package), t.Also...)
	if err := b.again(ctx, func() error {
		_, err := b.run(ctx, t, append([]string{"go", "list", "-deps", "-f", "{{\"\"}}"}, what...)...)
		return err
	}); err != nil {
		return fmt.Errorf("fetching the modules of %s: %w", t.Kind, err)
	}
	args := append([]string{"go", "build", "-v", "-o", dir + "/"}, what...)
	var seen compilerOutput
	return b.Log.Watch("building "+t.Kind, seen.summary, func() error {
		err := command.Command{
			Args:     args,
			Dir:      filepath.Join(b.SourceDir, t.Dir),
			Env:      environment(t),
			Stderr:   &seen,
			Niceness: 5,
		}.Run(ctx)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, seen.complaints())
		}
		return nil
	})
}

// environment returns the caller's, without what would change the binaries.
func environment(t Target) []string {
	cgo := "CGO_ENABLED=0"
	if t.Cgo {
		cgo = "CGO_ENABLED=1"
	}
	return append(os.Environ(), cgo, "GOFLAGS=", "GOWORK=off")
}

// replacing writes the target's go.mod, with its replacements, and go.sum to a new directory, and
// returns the path of go.mod.
func (b Builder) replacing(t Target) (string, error) {
	source := filepath.Join(b.SourceDir, t.Dir)
	data, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("replacing modules: %w", err)
	}
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return "", fmt.Errorf("replacing modules: %w", err)
	}
	for module, dir := range t.Replace {
		if err := file.AddReplace(module, "", dir, ""); err != nil {
			return "", fmt.Errorf("replacing the module %q: %w", module, err)
		}
	}
	if data, err = file.Format(); err != nil {
		return "", fmt.Errorf("replacing modules: %w", err)
	}
	sums, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return "", fmt.Errorf("replacing modules: %w", err)
	}
	dir, err := os.MkdirTemp("", "vnfbench-mod-")
	if err != nil {
		return "", fmt.Errorf("replacing modules: %w", err)
	}
	modFile := filepath.Join(dir, "go.mod")
	return modFile, errors.Join(
		os.WriteFile(modFile, data, 0o644),
		os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644),
	)
}

// ErrUnavailable is the error of modules that could not be fetched.
var ErrUnavailable = errors.New("the Go modules could not be fetched")

// judgeDownload distinguishes modules that are not available from an error in them or in this tree:
// that is a failure.
func judgeDownload(err error) error {
	if !fetching(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// fetching reports whether another attempt could succeed: nothing is wrong with the modules or with
// this tree.
func fetching(err error) bool {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return false
	}
	return !slices.ContainsFunc([]string{"SECURITY ERROR", "checksum mismatch", "errors parsing", "updates to go.mod needed", "missing go.sum entry"},
		func(fault string) bool { return strings.Contains(err.Error(), fault) })
}

// pauses are those between attempts at fetching modules. It is a variable only for tests.
var pauses = []time.Duration{5 * time.Second, 30 * time.Second}

// again calls fetch, and repeats it after each pause while it fails: a proxy that fails once may
// soon answer.
func (b Builder) again(ctx context.Context, fetch func() error) error {
	err := fetch()
	for _, pause := range pauses {
		if err == nil || !fetching(err) {
			break
		}
		b.Log.Printf("fetching modules failed: again in %s", pause)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		err = fetch()
	}
	return err
}

func (b Builder) run(ctx context.Context, t Target, args ...string) (string, error) {
	return command.Command{Args: args, Dir: filepath.Join(b.SourceDir, t.Dir), Env: environment(t)}.Output(ctx)
}

// Download fetches a target's modules, so that a proxy that refuses one is distinguished from code
// that does not compile. It returns the directory of a module, one of those that the target
// requires.
func (b Builder) Download(ctx context.Context, t Target, module string) (string, error) {
	dir := ""
	err := b.Log.Step("fetching the modules of "+t.Kind, func() error {
		if err := b.again(ctx, func() error {
			_, err := b.run(ctx, t, "go", "mod", "download")
			return err
		}); err != nil {
			return judgeDownload(err)
		}
		out, err := b.run(ctx, t, "go", "list", "-m", "-f", "{{.Dir}}", module)
		dir = strings.TrimSpace(out)
		return err
	})
	return dir, err
}

func link(dir string, t Target) error {
	for _, name := range t.Links {
		if err := os.Symlink(t.Kind, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return nil
}
