// Package flux makes what a cluster needs to run Flux's controllers. The lab's sources go in; image
// archives and a manifest that deploys them come out, without a registry.
package flux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/template"

	"vnfbench.io/test/lab/internal/build"
	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/image"
	"vnfbench.io/test/lab/internal/progress"
	"vnfbench.io/test/lab/manifests"
)

// registry is what the images' names begin with.
const registry = "localhost/flux"

// user is whom the controllers run as.
const user = "65532:65532"

// ManifestFile is the manifest in the directory of the archives.
const ManifestFile = "flux.yaml"

// controllers are the names of Flux's controllers by the target that has them. A controller's module has its name.
var controllers = []struct {
	target build.Target
	names  []string
}{
	{build.Flux, []string{"helm-controller", "kustomize-controller", "source-controller"}},
	{build.FluxNotification, []string{"notification-controller"}},
}

// module returns the module of a controller.
func module(name string) string { return "github.com/fluxcd/" + name }

// Maker makes Flux.
type Maker struct {
	Builder build.Builder
	Cache   cache.Cache
	Log     *progress.Log
}

// controller is one of Flux's controllers, as it was made.
type controller struct {
	// Name is its program's too.
	Name, Version string
	// binaries and source are the directories of its program and of its module.
	binaries, source string
}

// Image returns the name of the controller's image. It changes with the image's content.
func (c controller) Image() string {
	// A cache entry's name identifies its content.
	return registry + "/" + c.Name + ":" + c.Version + "-" + cache.Fingerprint(filepath.Base(c.binaries))[:8]
}

// Make returns a directory with an archive for each controller, and with the manifest.
func (m Maker) Make(ctx context.Context) (string, error) {
	var made []controller
	for _, group := range controllers {
		some, err := m.compile(ctx, group.target, group.names)
		if err != nil {
			return "", err
		}
		made = append(made, some...)
	}
	parts := []string{"1", user, manifests.Flux}
	for _, c := range made {
		parts = append(parts, c.Image())
	}
	return m.Cache.Get(ctx, "flux-images", cache.Fingerprint(parts...), func(_ context.Context, dir string) error {
		return m.Log.Step("packing Flux's images", func() error { return pack(dir, made) })
	})
}

// compile compiles the controllers of a target that are not in the cache.
func (m Maker) compile(ctx context.Context, target build.Target, names []string) ([]controller, error) {
	versions, err := build.Versions(filepath.Join(m.Builder.SourceDir, target.Dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	var made []controller
	for _, name := range names {
		source, err := m.Builder.Download(ctx, target, module(name))
		if err != nil {
			return nil, err
		}
		made = append(made, controller{Name: name, Version: versions[module(name)], source: source})
	}
	binaries, err := m.Builder.Build(ctx, target)
	for i := range made {
		made[i].binaries = binaries
	}
	return made, err
}

// pack writes the archives and the manifest.
func pack(dir string, made []controller) error {
	for _, c := range made {
		spec := image.Spec{
			Tag:          c.Image(),
			Files:        []image.File{{Source: filepath.Join(c.binaries, c.Name), Destination: "/" + c.Name}},
			Entrypoint:   []string{"/" + c.Name},
			User:         user,
			Architecture: runtime.GOARCH,
		}
		if _, err := image.Build(spec, filepath.Join(dir, c.Name+".tar")); err != nil {
			return err
		}
	}
	manifest, err := render(made)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ManifestFile), []byte(manifest), 0o644)
}

// render returns the kinds of the controllers, as their modules have them, and the objects that deploy them.
func render(made []controller) (string, error) {
	var documents []string
	for _, c := range made {
		files, err := filepath.Glob(filepath.Join(c.source, "config/crd/bases/*.yaml"))
		if err != nil || len(files) == 0 {
			return "", fmt.Errorf("%s has no kinds in %q", c.Name, c.source)
		}
		slices.Sort(files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return "", fmt.Errorf("reading the kinds of %s: %w", c.Name, err)
			}
			documents = append(documents, strings.TrimPrefix(strings.TrimSpace(string(text)), "---\n"))
		}
	}
	parsed, err := template.New(ManifestFile).Parse(manifests.Flux)
	if err != nil {
		return "", fmt.Errorf("reading Flux's manifest: %w", err)
	}
	var deployed strings.Builder
	if err := parsed.Execute(&deployed, made); err != nil {
		return "", fmt.Errorf("rendering Flux's manifest: %w", err)
	}
	return strings.Join(append(documents, deployed.String()), "\n---\n"), nil
}
