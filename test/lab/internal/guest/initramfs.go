package guest

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cavaliergopher/cpio"
	"github.com/klauspost/compress/zstd"
)

// writeInitramfs writes a directory as the kernel's initial file system, zstd over cpio. Entries
// are sorted, have the owner root and the date of the epoch, so that equal trees give equal files.
func writeInitramfs(w io.Writer, root string) error {
	// One thread: the output of several may differ from time to time.
	compressed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return err
	}
	if err := writeArchive(compressed, root); err != nil {
		return err
	}
	return compressed.Close()
}

func writeArchive(w io.Writer, root string) error {
	archive := cpio.NewWriter(w)
	var inode int64
	// WalkDir goes in lexical order.
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		inode++
		if err := writeEntry(archive, path, filepath.ToSlash(name), inode); err != nil {
			return fmt.Errorf("adding %q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

func writeEntry(archive *cpio.Writer, path, name string, inode int64) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	header := &cpio.Header{Name: name, Inode: inode, Links: 1, ModTime: time.Unix(0, 0)}
	var data []byte
	switch info.Mode().Type() {
	case fs.ModeDir:
		header.Mode, header.Links = cpio.TypeDir|0o755, 2
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		header.Mode, header.Size, data = cpio.TypeSymlink|0o777, int64(len(target)), []byte(target)
	case 0:
		if data, err = os.ReadFile(path); err != nil {
			return err
		}
		// The umask of the tree's creator does not matter.
		header.Mode, header.Size = cpio.TypeReg|cpio.FileMode(info.Mode().Perm()&0o755|0o444), int64(len(data))
	default:
		return fmt.Errorf("%s is neither a file, a directory nor a link", info.Mode())
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(data)
	return err
}
