// Package gitops makes what a cluster needs to run a tool that follows a Git repository: Flux or Argo CD. The lab's sources
// go in; image archives and a manifest that deploys them come out, without a registry.
package gitops

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
	"vnfbench.io/test/lab/internal/rootfs"
)

// Tool is one that follows a repository.
type Tool struct {
	// Name is that of the manifest, of the entries of the cache, and of the images' folder.
	Name string
	// user is whom the programs run as.
	user string
	// folder is that of the programs in their images.
	folder   string
	programs []program
	// kinds are the files of the tool's kinds, a pattern below each module.
	kinds string
	// manifest is a template of the objects that deploy the programs.
	manifest string
	// tree is what the images have besides the programs, or nil.
	tree *rootfs.Tree
	// links are more names of the programs in the images.
	links map[string]string
}

// program is one that a target builds, and the module with its version and its kinds.
type program struct {
	name, module string
	target       build.Target
}

// Maker makes a tool.
type Maker struct {
	Builder build.Builder
	Trees   rootfs.Builder
	Cache   cache.Cache
	Log     *progress.Log
}

// controller is a program of a tool, as it was made.
type controller struct {
	Name, Version string
	// Image is the name of its image. It changes with the image's content.
	Image string
	// source is the directory of its module.
	source string
	spec   image.Spec
}

// Make returns a directory with an archive for each program of the tool, and with the manifest, NAME.yaml. commands are programs
// of this machine that the images have too, in the folder of the tool's programs.
func (m Maker) Make(ctx context.Context, tool Tool, commands ...image.File) (string, error) {
	tree := ""
	if tool.tree != nil {
		var err error
		if tree, err = m.Trees.Build(ctx, *tool.tree); err != nil {
			return "", err
		}
	}
	parts := []string{"2", tool.user, tool.folder, tool.kinds, tool.manifest}
	var made []controller
	for _, p := range tool.programs {
		c, err := m.compile(ctx, tool, p, tree, commands)
		if err != nil {
			return "", err
		}
		made = append(made, c)
		parts = append(parts, c.Image)
	}
	return m.Cache.Get(ctx, tool.Name+"-images", cache.Fingerprint(parts...), func(_ context.Context, dir string) error {
		return m.Log.Step("packing the images of "+tool.Name, func() error { return pack(dir, tool, made) })
	})
}

// compile compiles a program, with those of the same target, and describes its image.
func (m Maker) compile(ctx context.Context, tool Tool, p program, tree string, commands []image.File) (controller, error) {
	versions, err := build.Versions(filepath.Join(m.Builder.SourceDir, p.target.Dir, "go.mod"))
	if err != nil {
		return controller{}, err
	}
	source, err := m.Builder.Download(ctx, p.target, p.module)
	if err != nil {
		return controller{}, err
	}
	binaries, err := m.Builder.Build(ctx, p.target)
	if err != nil {
		return controller{}, err
	}
	return tool.describe(p, versions[p.module], source, binaries, tree, commands)
}

// describe returns a program with its image.
func (t Tool) describe(p program, version, source, binaries, tree string, commands []image.File) (controller, error) {
	path := filepath.Join(t.folder, p.name)
	c := controller{Name: p.name, Version: version, source: source, spec: image.Spec{
		Root:         tree,
		Files:        []image.File{{Source: filepath.Join(binaries, p.name), Destination: path}},
		Links:        map[string]string{},
		Entrypoint:   []string{path},
		User:         t.user,
		Architecture: runtime.GOARCH,
	}}
	// A cache entry's name identifies its content.
	parts := []string{filepath.Base(binaries), filepath.Base(tree)}
	for name, target := range t.links {
		c.spec.Links[filepath.Join(t.folder, name)] = target
	}
	for _, command := range commands {
		content, err := os.ReadFile(command.Source)
		if err != nil {
			return controller{}, fmt.Errorf("reading a program for the image of %s: %w", p.name, err)
		}
		parts = append(parts, command.Destination, string(content))
		command.Destination = filepath.Join(t.folder, command.Destination)
		c.spec.Files = append(c.spec.Files, command)
	}
	c.Image = "localhost/" + t.Name + "/" + p.name + ":" + version + "-" + cache.Fingerprint(parts...)[:8]
	c.spec.Tag = c.Image
	return c, nil
}

// pack writes the archives and the manifest.
func pack(dir string, tool Tool, made []controller) error {
	for _, c := range made {
		if _, err := image.Build(c.spec, filepath.Join(dir, c.Name+".tar")); err != nil {
			return err
		}
	}
	manifest, err := render(tool, made)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, tool.Name+".yaml"), []byte(manifest), 0o644)
}

// render returns the kinds of the programs, as their modules have them, and the objects that deploy them.
func render(tool Tool, made []controller) (string, error) {
	var documents []string
	for _, c := range made {
		files, err := filepath.Glob(filepath.Join(c.source, tool.kinds))
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
	parsed, err := template.New(tool.Name).Parse(tool.manifest)
	if err != nil {
		return "", fmt.Errorf("reading the manifest of %s: %w", tool.Name, err)
	}
	var deployed strings.Builder
	if err := parsed.Execute(&deployed, made); err != nil {
		return "", fmt.Errorf("rendering the manifest of %s: %w", tool.Name, err)
	}
	return strings.Join(append(documents, deployed.String()), "\n---\n"), nil
}
