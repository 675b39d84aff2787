package kubevirt

import (
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// libc is the C library's path in a Debian tree, by Debian's name of the architecture.
const libc = "usr/lib/*-linux-gnu/libc.so.6"

// checkLibrary checks whether a program that was linked with this machine's C library starts with
// the one of a tree, which may be older. Otherwise, the error would only appear much later, at a
// guest's start.
func checkLibrary(program, tree string) error {
	matches, err := filepath.Glob(filepath.Join(tree, libc))
	if err != nil || len(matches) != 1 {
		return errors.Join(fmt.Errorf("the tree has the C libraries %q, not one", matches), err)
	}
	offered, err := versionsOffered(matches[0])
	if err != nil {
		return err
	}
	wanted, err := versionsWanted(program)
	if err != nil {
		return err
	}
	for _, version := range wanted {
		if !offered[version] {
			return fmt.Errorf("%s wants the C library's version %s, which Debian 12 lacks: build on Debian 12", filepath.Base(program), version)
		}
	}
	return nil
}

func versionsOffered(library string) (map[string]bool, error) {
	file, err := elf.Open(library)
	if err != nil {
		return nil, fmt.Errorf("reading the C library: %w", err)
	}
	defer file.Close()
	versions, err := file.DynamicVersions()
	if err != nil {
		return nil, fmt.Errorf("reading the C library's versions: %w", err)
	}
	offered := map[string]bool{}
	for _, v := range versions {
		offered[v.Name] = true
	}
	return offered, nil
}

// versionsWanted lists the C library's versions that a program was linked
// with; a static program has none.
func versionsWanted(program string) ([]string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("reading the program %q: %w", program, err)
	}
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("reading what the program %q needs: %w", program, err)
	}
	if len(libraries) == 0 {
		return nil, nil
	}
	needs, err := file.DynamicVersionNeeds()
	if err != nil {
		return nil, fmt.Errorf("reading what the program %q needs: %w", program, err)
	}
	var wanted []string
	for _, library := range needs {
		for _, v := range library.Needs {
			if strings.HasPrefix(v.Dep, "GLIBC_") {
				wanted = append(wanted, v.Dep)
			}
		}
	}
	return wanted, nil
}
