//go:build linux

package modules

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Open reads the index of the running kernel's modules.
func Open() (*Index, error) {
	release, err := Release()
	if err != nil {
		return nil, err
	}
	return Read(os.DirFS(filepath.Join("/lib/modules", release)))
}

// Release returns the running kernel's release, such as "6.1.0-1-amd64".
func Release() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", fmt.Errorf("asking for the kernel's release: %w", err)
	}
	return unix.ByteSliceToString(name.Release[:]), nil
}

// Load loads the modules of a name or an alias and returns the names of the
// modules that are loaded now. An alias may have several, such as one that needs
// an instruction of the processor and one that does not. If one of them refuses,
// Load still loads the others, and also returns the error.
func (x *Index) Load(query string) (loaded []string, err error) {
	for _, name := range x.Find(query) {
		if problem := x.loadOne(name); problem != nil {
			err = errors.Join(err, fmt.Errorf("loading for %q: %w", query, problem))
			continue
		}
		loaded = append(loaded, name)
	}
	return loaded, err
}

// loadOne loads a module and what it needs. Loaded modules stay.
func (x *Index) loadOne(name string) error {
	order, err := x.Order(name)
	if err != nil {
		return err
	}
	for _, file := range order {
		if err := x.insert(file); err != nil {
			return fmt.Errorf("module %q: %w", nameOf(file), err)
		}
	}
	return nil
}

// insert loads one file.
func (x *Index) insert(name string) error {
	opened, err := x.root.Open(name)
	if err != nil {
		return err
	}
	defer opened.Close()
	file, ok := opened.(*os.File)
	if !ok {
		return fmt.Errorf("%q is not a file that the kernel can read", name)
	}
	err = unix.FinitModule(int(file.Fd()), "", 0)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// Devices loads the modules of all present devices, and of those that appear with
// them, such as the cards on a virtio bus. It names each module once. If a device
// refuses a module, Devices returns the error with the names of the rest.
func (x *Index) Devices(sys fs.FS) ([]string, error) {
	return x.loadAliases(sys, "bus/*/devices/*/modalias")
}

// Processor loads modules that use the processor's own instructions:
// accelerated ciphers.
func (x *Index) Processor(sys fs.FS) ([]string, error) {
	return x.loadAliases(sys, "devices/system/cpu/modalias")
}

// loadAliases loads the modules of the aliases in the files, until no new ones
// appear.
func (x *Index) loadAliases(sys fs.FS, files string) ([]string, error) {
	var loaded []string
	var problems []error
	seen := map[string]bool{}
	for {
		fresh := 0
		aliases, err := readAliases(sys, files)
		if err != nil {
			return loaded, err
		}
		for _, alias := range aliases {
			if seen[alias] {
				continue
			}
			seen[alias] = true
			fresh++
			names, err := x.Load(alias)
			if err != nil {
				problems = append(problems, err)
			}
			loaded = append(loaded, names...)
		}
		if fresh == 0 {
			slices.Sort(loaded)
			return slices.Compact(loaded), errors.Join(problems...)
		}
	}
}

func readAliases(sys fs.FS, pattern string) ([]string, error) {
	files, err := fs.Glob(sys, pattern)
	if err != nil {
		return nil, err
	}
	var aliases []string
	for _, file := range files {
		data, err := fs.ReadFile(sys, file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			continue // a device that is gone, or has no alias
		}
		if err != nil {
			return nil, err
		}
		aliases = append(aliases, strings.TrimSpace(string(data)))
	}
	return aliases, nil
}
