package image

import (
	"archive/tar"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// content is what a layer contains, by the path in the image without a leading slash.
type content map[string]entry

type entry struct {
	mode   fs.FileMode
	source string // of a regular file
	link   string // of a symbolic link
	// capabilities that a regular file gives
	capabilities uint32
}

// collect gathers a spec's root directory, files and links. Later ones replace earlier ones.
func collect(spec Spec) (content, error) {
	c := content{}
	if spec.Root != "" {
		if err := c.addTree(spec.Root, ""); err != nil {
			return nil, fmt.Errorf("reading the root directory: %w", err)
		}
	}
	for _, f := range spec.Files {
		if err := c.addTree(f.Source, clean(f.Destination)); err != nil {
			return nil, fmt.Errorf("reading what becomes %q: %w", f.Destination, err)
		}
	}
	for link, target := range spec.Links {
		c.put(clean(link), entry{mode: fs.ModeSymlink | 0o777, link: target})
	}
	for file, set := range spec.Capabilities {
		e, found := c[clean(file)]
		if !found || !e.mode.IsRegular() {
			return nil, fmt.Errorf("giving capabilities to %q: it is not a file of the image", file)
		}
		e.capabilities = set
		c[clean(file)] = e
	}
	return c, nil
}

func clean(p string) string { return path.Clean("/" + p)[1:] }

// addTree adds a file, or a directory with all that is below it.
func (c content) addTree(source, destination string) error {
	source, err := filepath.EvalSymlinks(source) // a named link is followed
	if err != nil {
		return err
	}
	return filepath.WalkDir(source, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(source, p)
		if err != nil {
			return err
		}
		return c.addFile(p, path.Join(destination, filepath.ToSlash(rel)), d)
	})
}

func (c content) addFile(source, destination string, d fs.DirEntry) error {
	if destination == "." || destination == "" {
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	e := entry{mode: info.Mode(), source: source}
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if e.link, err = os.Readlink(source); err != nil {
			return err
		}
	default:
		return nil // sockets, pipes and devices are a running system's
	}
	c.put(destination, e)
	return nil
}

// put adds an entry, and the directories above it if they are missing.
func (c content) put(destination string, e entry) {
	c[destination] = e
	for dir := path.Dir(destination); dir != "."; dir = path.Dir(dir) {
		if _, found := c[dir]; !found {
			c[dir] = entry{mode: fs.ModeDir | 0o755}
		}
	}
}

// write writes the content as a tar archive.
func (c content) write(w io.Writer) error {
	archive := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if err := c[name].write(archive, name); err != nil {
			return fmt.Errorf("adding %q: %w", name, err)
		}
	}
	return archive.Close()
}

func (e entry) write(archive *tar.Writer, name string) error {
	header := &tar.Header{Name: name, Mode: unixMode(e.mode), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	switch e.mode.Type() {
	case fs.ModeDir:
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
		return archive.WriteHeader(header)
	case fs.ModeSymlink:
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.link
		return archive.WriteHeader(header)
	}
	file, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if e.capabilities != 0 {
		header.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": encodeCapabilities(e.capabilities)}
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// encodeCapabilities encodes a permitted and effective set, the low 32 of the
// capabilities, as the kernel's struct vfs_cap_data, version 2.
func encodeCapabilities(set uint32) string {
	const revision2, effective = 0x02000000, 1 // of linux/capability.h
	data := binary.LittleEndian.AppendUint32(nil, revision2|effective)
	data = binary.LittleEndian.AppendUint32(data, set)
	return string(append(data, make([]byte, 12)...)) // inheritable, and the high halves
}

// unixMode keeps the relevant part of a mode and removes what depends on the umask of the file's
// creator: the write bits of group and others, except for directories that are open to all, such as
// /tmp.
func unixMode(mode fs.FileMode) int64 {
	bits := int64(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if mode&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if mode&fs.ModeSticky != 0 {
		return bits | 0o1000
	}
	return bits &^ 0o022
}
