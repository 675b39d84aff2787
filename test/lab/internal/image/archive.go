package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nameAnnotation is where containerd looks for an image's name in an OCI
// index.
const nameAnnotation = "io.containerd.image.name"

// dockerImage is an image of manifest.json, by which docker load finds it.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// writeArchive writes an OCI image layout as a tar archive, which Docker's format is next to: the
// files that it names are the layout's.
func writeArchive(w io.Writer, image v1.Image, tags []string) error {
	index, err := indexOf(image, tags)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	if err := writeBlob(archive, "oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	if err := writeBlob(archive, "index.json", index); err != nil {
		return err
	}
	if err := writeDockerManifest(archive, image, tags); err != nil {
		return err
	}
	if err := writeMetadata(archive, image); err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		if err := writeLayer(archive, l); err != nil {
			return err
		}
	}
	return archive.Close()
}

func indexOf(image v1.Image, tags []string) ([]byte, error) {
	digest, err := image.Digest()
	if err != nil {
		return nil, err
	}
	size, err := image.Size()
	if err != nil {
		return nil, err
	}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, tag := range tags {
		index.Manifests = append(index.Manifests, v1.Descriptor{
			MediaType:   types.OCIManifestSchema1,
			Digest:      digest,
			Size:        size,
			Annotations: map[string]string{nameAnnotation: tag},
		})
	}
	return json.Marshal(index)
}

func writeDockerManifest(archive *tar.Writer, image v1.Image, tags []string) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	docker := dockerImage{Config: blobName(manifest.Config.Digest), RepoTags: tags}
	for _, l := range manifest.Layers {
		docker.Layers = append(docker.Layers, blobName(l.Digest))
	}
	data, err := json.Marshal([]dockerImage{docker})
	if err != nil {
		return err
	}
	return writeBlob(archive, "manifest.json", data)
}

// writeMetadata writes the image's manifest and configuration.
func writeMetadata(archive *tar.Writer, image v1.Image) error {
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	for _, data := range [][]byte{manifest, config} {
		digest, _, err := v1.SHA256(bytes.NewReader(data))
		if err != nil {
			return err
		}
		if err := writeBlob(archive, blobName(digest), data); err != nil {
			return err
		}
	}
	return nil
}

func writeLayer(archive *tar.Writer, l v1.Layer) error {
	digest, err := l.Digest()
	if err != nil {
		return err
	}
	size, err := l.Size()
	if err != nil {
		return err
	}
	data, err := l.Compressed()
	if err != nil {
		return err
	}
	defer data.Close()
	if err := writeHeader(archive, blobName(digest), size); err != nil {
		return err
	}
	_, err = io.Copy(archive, data)
	return err
}

func blobName(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

func writeBlob(archive *tar.Writer, name string, data []byte) error {
	if err := writeHeader(archive, name, int64(len(data))); err != nil {
		return err
	}
	_, err := archive.Write(data)
	return err
}

func writeHeader(archive *tar.Writer, name string, size int64) error {
	return archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size, ModTime: time.Unix(0, 0),
	})
}

// Tags reads the names of the images in an archive, in the OCI format or in
// Docker's.
func Tags(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading an image archive: %w", err)
	}
	defer file.Close()
	tags, err := readTags(file)
	if err != nil {
		return nil, fmt.Errorf("reading the image archive %q: %w", path, err)
	}
	if len(tags) == 0 {
		return nil, fmt.Errorf("reading the image archive %q: it names no image", path)
	}
	return tags, nil
}

func readTags(r io.Reader) ([]string, error) {
	var tags []string
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(tags)
			return slices.Compact(tags), nil
		}
		if err != nil {
			return nil, err
		}
		found, err := tagsIn(header.Name, archive)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", header.Name, err)
		}
		tags = append(tags, found...)
	}
}

func tagsIn(name string, r io.Reader) (tags []string, err error) {
	switch name {
	case "index.json": // OCI
		var index v1.IndexManifest
		if err := json.NewDecoder(r).Decode(&index); err != nil {
			return nil, err
		}
		for _, m := range index.Manifests {
			if tag := m.Annotations[nameAnnotation]; tag != "" {
				tags = append(tags, tag)
			}
		}
	case "manifest.json": // Docker
		var images []dockerImage
		if err := json.NewDecoder(r).Decode(&images); err != nil {
			return nil, err
		}
		for _, i := range images {
			tags = append(tags, i.RepoTags...)
		}
	}
	return tags, nil
}
