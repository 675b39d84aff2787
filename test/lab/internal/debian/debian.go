// Package debian extracts files of Debian packages that are not installed. A package's name goes
// in; a directory of the cache with the package's files comes out.
package debian

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/command"
	"vnfbench.io/test/lab/internal/progress"
)

// Package is one version of a package that apt on this machine knows.
type Package struct {
	Name, Version string
	// SHA256 is the archive's.
	SHA256 string
	// Depends are the names that the package depends on, first alternatives
	// only, without versions.
	Depends []string
}

// Describe asks apt for the version of a package that it would install.
func Describe(ctx context.Context, name string) (Package, error) {
	text, err := command.Command{Args: []string{"apt-cache", "show", "--no-all-versions", name}}.Output(ctx)
	if err != nil {
		return Package{}, fmt.Errorf("asking apt for the package %q (does apt-get update help?): %w", name, err)
	}
	p, err := parse(text)
	if err != nil {
		return Package{}, fmt.Errorf("what apt says about the package %q: %w", name, err)
	}
	return p, nil
}

// parse reads the first paragraph of deb822 text, as apt-cache show prints it.
func parse(text string) (Package, error) {
	var p Package
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		if lines.Text() == "" {
			break
		}
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "Package":
			p.Name = value
		case "Version":
			p.Version = value
		case "SHA256":
			p.SHA256 = value
		case "Depends":
			for dependency := range strings.SplitSeq(value, ",") {
				if words := strings.Fields(dependency); len(words) > 0 {
					p.Depends = append(p.Depends, words[0])
				}
			}
		}
	}
	if p.Name == "" || p.Version == "" || p.SHA256 == "" {
		return Package{}, fmt.Errorf("a field of Package, Version, SHA256 is missing in %q", text)
	}
	return p, nil
}

// DependsOn returns the first dependency whose name begins with the prefix.
func (p Package) DependsOn(prefix string) (string, error) {
	i := slices.IndexFunc(p.Depends, func(name string) bool { return strings.HasPrefix(name, prefix) })
	if i < 0 {
		return "", fmt.Errorf("the package %q depends on nothing that begins with %q", p.Name, prefix)
	}
	return p.Depends[i], nil
}

// Fetcher unpacks packages into a cache.
type Fetcher struct {
	Cache cache.Cache
	Log   *progress.Log
}

// Unpack returns the directory of the package's files. prepare, when set, is
// called once after unpacking, before the directory is kept; kind names what
// it makes.
func (f Fetcher) Unpack(ctx context.Context, p Package, kind string, prepare func(ctx context.Context, dir string) error) (string, error) {
	return f.Cache.Get(ctx, kind, cache.Fingerprint(p.SHA256), func(ctx context.Context, dir string) error {
		return f.Log.Step(fmt.Sprintf("downloading %s %s", p.Name, p.Version), func() error {
			if err := unpack(ctx, p, dir); err != nil || prepare == nil {
				return err
			}
			return prepare(ctx, dir)
		})
	})
}

// unpack makes apt download the archive, so that apt checks its signatures.
func unpack(ctx context.Context, p Package, dir string) error {
	download := filepath.Join(dir, ".download")
	for _, c := range []command.Command{
		{Args: []string{"mkdir", download}},
		{Args: []string{"apt-get", "-qq", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3", "download", p.Name + "=" + p.Version}, Dir: download},
	} {
		if err := c.Run(ctx); err != nil {
			return err
		}
	}
	archives, err := filepath.Glob(filepath.Join(download, "*.deb"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("apt-get download %s left %d archives", p.Name, len(archives))
	}
	for _, args := range [][]string{{"dpkg-deb", "--extract", archives[0], dir}, {"rm", "-r", download}} {
		if err := (command.Command{Args: args}).Run(ctx); err != nil {
			return err
		}
	}
	return nil
}
