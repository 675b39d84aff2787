// Package image builds container images without a container engine. A root directory and files go
// in; an archive that containerd imports, by the OCI's layout, and docker load, by Docker's, comes out.
//
// Equal input gives an equal archive: entries are sorted, owned by root, dated at the epoch. The
// layer is not compressed, unless the caller asks for it.
package image

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Spec describes an image.
type Spec struct {
	// Tag is the image's name, such as "localhost/x:dev".
	Tag string
	// Aliases are additional names.
	Aliases []string
	// Root is a directory whose content becomes the image's. It may be empty.
	Root string
	// Files are put over Root.
	Files []File
	// Links are symbolic links, put over Root: the link's path, then its target.
	Links map[string]string
	// Capabilities maps a file's path in the image to the set, a bit mask, of capabilities that a
	// process gets when it runs the file.
	Capabilities map[string]uint32
	// Entrypoint, User, WorkingDir and Env are the container's defaults.
	Entrypoint []string
	User       string
	WorkingDir string
	Env        []string
	// Labels describe the image, by the OCI's names, such as "org.opencontainers.image.version".
	Labels map[string]string
	// Compress makes the layer smaller, for an archive that is transferred.
	Compress bool
	// Architecture is the image's, in Go's words.
	Architecture string
}

// File is a file or directory of this machine and its place in the image.
type File struct {
	Source, Destination string
}

// defaultPath is what every base image sets.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Build writes the image's archive to the file at out and returns the image's
// digest.
func Build(spec Spec, out string) (v1.Hash, error) {
	temp, err := os.MkdirTemp(filepath.Dir(out), ".image-")
	if err != nil {
		return v1.Hash{}, fmt.Errorf("building the image %q: %w", spec.Tag, err)
	}
	defer os.RemoveAll(temp)
	image, err := assemble(spec, filepath.Join(temp, "layer"))
	if err != nil {
		return v1.Hash{}, fmt.Errorf("building the image %q: %w", spec.Tag, err)
	}
	archive := filepath.Join(temp, "archive")
	if err := writeFile(archive, func(w io.Writer) error { return writeArchive(w, image, append([]string{spec.Tag}, spec.Aliases...)) }); err != nil {
		return v1.Hash{}, fmt.Errorf("writing the image %q: %w", spec.Tag, err)
	}
	if err := os.Rename(archive, out); err != nil {
		return v1.Hash{}, fmt.Errorf("writing the image %q: %w", spec.Tag, err)
	}
	return image.Digest()
}

func assemble(spec Spec, layerFile string) (v1.Image, error) {
	content, err := collect(spec)
	if err != nil {
		return nil, err
	}
	if err := writeFile(layerFile, content.write); err != nil {
		return nil, err
	}
	layer, err := openLayer(layerFile, spec.Compress)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's configuration: %w", err)
	}
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.Architecture, file.OS = spec.Architecture, "linux"
	file.History = nil
	file.Config = v1.Config{
		Entrypoint: spec.Entrypoint,
		User:       spec.User,
		WorkingDir: spec.WorkingDir,
		Env:        append([]string{defaultPath}, spec.Env...),
		Labels:     spec.Labels,
	}
	return mutate.ConfigFile(image, file)
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error is more useful
		return err
	}
	return f.Close()
}
