package image

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is a tar file as a layer. An archive for a containerd on the same machine is not
// compressed: that would only cost time.
type layer struct {
	path, stored string
	// diffID is the tar file's digest; digest and size are those of what is stored.
	diffID, digest v1.Hash
	size           int64
}

func openLayer(path string, compress bool) (*layer, error) {
	l := &layer{path: path, stored: path}
	var err error
	if l.diffID, l.size, err = hash(path); err != nil {
		return nil, err
	}
	l.digest = l.diffID
	if !compress {
		return l, nil
	}
	l.stored = path + ".gz"
	if err := writeFile(l.stored, func(w io.Writer) error { return zip(w, path) }); err != nil {
		return nil, fmt.Errorf("compressing the layer: %w", err)
	}
	l.digest, l.size, err = hash(l.stored)
	return l, err
}

// hash returns the digest and size of a file.
func hash(path string) (v1.Hash, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return v1.Hash{}, 0, err
	}
	defer file.Close()
	h := sha256.New()
	size, err := io.Copy(h, file)
	if err != nil {
		return v1.Hash{}, 0, fmt.Errorf("hashing the layer: %w", err)
	}
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}, size, nil
}

// zip writes a file compressed, without a name or time, so that equal files give equal bytes.
func zip(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	z := gzip.NewWriter(w)
	if _, err := io.Copy(z, file); err != nil {
		return err
	}
	return z.Close()
}

func (l *layer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l *layer) DiffID() (v1.Hash, error)             { return l.diffID, nil }
func (l *layer) Compressed() (io.ReadCloser, error)   { return os.Open(l.stored) }
func (l *layer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l *layer) Size() (int64, error)                 { return l.size, nil }

func (l *layer) MediaType() (types.MediaType, error) {
	if l.stored != l.path {
		return types.OCILayer, nil
	}
	return types.OCIUncompressedLayer, nil
}
