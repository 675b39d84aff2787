package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Description is what an archive contains about its image.
type Description struct {
	Tag, Architecture, User string
	// Digest is the manifest's, by which a registry also identifies the image.
	Digest v1.Hash
	// Bytes is what a registry stores: configuration and layers.
	Bytes int64
}

// maxDocumentBytes limits what is read of an archive: manifests and configurations have some
// kilobytes.
const maxDocumentBytes = 1 << 20

// Describe reads the description in an OCI archive of one image.
func Describe(path string) (Description, error) {
	d, err := describe(path)
	if err != nil {
		return Description{}, fmt.Errorf("reading the image archive %q: %w", path, err)
	}
	return d, nil
}

func describe(path string) (Description, error) {
	var index v1.IndexManifest
	if err := readDocument(path, "index.json", &index); err != nil {
		return Description{}, err
	}
	if len(index.Manifests) == 0 {
		return Description{}, errors.New("it has no image")
	}
	first := index.Manifests[0]
	var manifest v1.Manifest
	if err := readDocument(path, blobName(first.Digest), &manifest); err != nil {
		return Description{}, err
	}
	var config v1.ConfigFile
	if err := readDocument(path, blobName(manifest.Config.Digest), &config); err != nil {
		return Description{}, err
	}
	d := Description{
		Tag: first.Annotations[nameAnnotation], Architecture: config.Architecture, User: config.Config.User,
		Digest: first.Digest, Bytes: manifest.Config.Size,
	}
	for _, layer := range manifest.Layers {
		d.Bytes += layer.Size
	}
	return d, nil
}

// readDocument decodes one JSON file of an archive.
func readDocument(path, name string, into any) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it has no %s: is it an OCI archive?", name)
		}
		if err != nil {
			return err
		}
		if header.Name != name {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(archive, maxDocumentBytes))
		if err != nil {
			return err
		}
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(into); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
}
