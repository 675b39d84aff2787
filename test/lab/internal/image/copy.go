package image

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// WriteFiles writes files as they are in an image, a tar archive: any difference in it is a
// difference in the image.
func WriteFiles(w io.Writer, files []File) error {
	c, err := collect(Spec{Files: files})
	if err != nil {
		return err
	}
	return c.write(w)
}

// CopyFiles puts files below a directory as they are in an image.
func CopyFiles(root string, files []File) error {
	c, err := collect(Spec{Files: files})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c)) { // directories come first
		if err := c[name].copy(filepath.Join(root, name)); err != nil {
			return fmt.Errorf("copying %q: %w", name, err)
		}
	}
	return nil
}

func (e entry) copy(destination string) error {
	switch e.mode.Type() {
	case fs.ModeDir:
		return os.MkdirAll(destination, 0o755)
	case fs.ModeSymlink:
		return os.Symlink(e.link, destination)
	}
	data, err := os.ReadFile(e.source)
	if err != nil {
		return err
	}
	return os.WriteFile(destination, data, e.mode.Perm())
}
