// Package kubevirt makes what a lab's cluster needs to run virtual machines.
// The lab's sources and what this machine's kernel can do go in; image archives
// and manifests come out, without a registry.
package kubevirt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"vnfbench.io/test/lab/internal/build"
	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/command"
	"vnfbench.io/test/lab/internal/progress"
)

// Namespace is where KubeVirt's own pods are.
const Namespace = "kubevirt"

// registry is what the images' names begin with.
const registry = "localhost/kubevirt"

// Maker makes KubeVirt.
type Maker struct {
	Builder build.Builder
	Cache   cache.Cache
	Log     *progress.Log
	// Abilities are the machine's.
	Abilities Abilities
}

// Made describes what was made.
type Made struct {
	// Dir holds the archives and the operator's manifest.
	Dir string
	// Tag is the images'; it changes with their content.
	Tag string
}

// Archives lists the archives of KubeVirt's images.
func (m Made) Archives() []string {
	files, _ := filepath.Glob(filepath.Join(m.Dir, "*.tar")) // the pattern is a good one
	return files
}

// Operator reads the objects that deploy virt-operator.
func (m Made) Operator() (string, error) {
	data, err := os.ReadFile(filepath.Join(m.Dir, operatorFile))
	if err != nil {
		return "", fmt.Errorf("reading the operator's manifest: %w", err)
	}
	return string(data), nil
}

// Images maps the value of the label kubevirt.io of each of KubeVirt's pods to the pod's image.
func (m Made) Images() map[string]string {
	images := map[string]string{}
	for _, name := range []string{"virt-operator", "virt-api", "virt-controller", "virt-handler"} {
		images[name] = imageName(name, m.Tag)
	}
	return images
}

func imageName(name, tag string) string { return registry + "/" + name + ":" + tag }

// operatorFile is the operator's manifest in the directory of the archives.
const operatorFile = "operator.yaml"

// Compiled are the directories of KubeVirt's module and of its binaries.
type Compiled struct{ Source, Binaries string }

// Compile compiles what is not in the cache.
func (m Maker) Compile(ctx context.Context) (Compiled, error) {
	source, err := m.Builder.Download(ctx, build.KubeVirt, build.KubeVirtModule)
	if err != nil {
		return Compiled{}, err
	}
	target := build.KubeVirt
	if !m.Abilities.Dummy {
		edited, err := m.editedSource(ctx, source)
		if err != nil {
			return Compiled{}, err
		}
		target.Replace = map[string]string{build.KubeVirtModule: edited}
	}
	binaries, err := m.Builder.Build(ctx, target)
	return Compiled{Source: source, Binaries: binaries}, err
}

// Pack makes the archives and the manifest that names them, from a tree and the compiled programs.
func (m Maker) Pack(ctx context.Context, tree string, compiled Compiled) (Made, error) {
	from := ingredients{tree: tree, Compiled: compiled}
	fingerprint, err := from.fingerprint(m.Abilities.KVM)
	if err != nil {
		return Made{}, err
	}
	version, err := m.version()
	if err != nil {
		return Made{}, err
	}
	tag := version + "-" + fingerprint[:8]
	dir, err := m.Cache.Get(ctx, "kubevirt-images", fingerprint, func(ctx context.Context, dir string) error {
		return m.Log.Step("packing KubeVirt's images", func() error {
			if err := from.pack(ctx, dir, tag, m.Abilities.KVM); err != nil {
				return err
			}
			manifest, err := command.Command{
				Args: []string{filepath.Join(from.Binaries, "manifest"), "--registry", registry, "--tag", tag},
			}.Output(ctx)
			if err != nil {
				return fmt.Errorf("generating the operator's manifest: %w", err)
			}
			return os.WriteFile(filepath.Join(dir, operatorFile), []byte(manifest), 0o644)
		})
	})
	return Made{Dir: dir, Tag: tag}, err
}

// version returns KubeVirt's version.
func (m Maker) version() (string, error) {
	versions, err := build.Versions(filepath.Join(m.Builder.SourceDir, build.KubeVirt.Dir, "go.mod"))
	if err != nil {
		return "", err
	}
	return versions[build.KubeVirtModule], nil
}
