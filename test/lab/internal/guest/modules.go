package guest

import (
	"bufio"
	"context"
	"embed"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"vnfbench.io/test/lab/internal/command"
)

//go:embed modules/*.txt
var moduleLists embed.FS

// moduleList returns the modules that every guest needs, and those that the program's guest needs
// additionally.
func moduleList(program string) (string, error) {
	list := ""
	for _, name := range []string{"machine", program} {
		text, err := moduleLists.ReadFile("modules/" + name + ".txt")
		if err != nil {
			return "", fmt.Errorf("the kernel modules of a guest whose first process is %q: %w", program, err)
		}
		list += string(text)
	}
	return list, nil
}

// wanted returns the names in the list.
func wanted(list string) (names []string) {
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	return names
}

// tree is depmod's description of a kernel's modules.
type tree struct {
	// dependencies lead from a module's file to those it needs, all of them;
	// files are relative to the modules' directory.
	dependencies map[string][]string
	// files are by the module's name in the kernel's spelling.
	files map[string]string
	// builtin are the names of modules that are part of the kernel, without a file.
	builtin map[string]bool
}

// nameOf returns a module's name: the kernel writes underscores, files may have hyphens.
func nameOf(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// readTree reads modules.dep and modules.builtin (modules.dep(5)).
func readTree(dependencies, builtin io.Reader) (tree, error) {
	t := tree{dependencies: map[string][]string{}, files: map[string]string{}, builtin: map[string]bool{}}
	lines := bufio.NewScanner(dependencies)
	for lines.Scan() {
		file, needs, found := strings.Cut(lines.Text(), ":")
		if !found {
			return tree{}, fmt.Errorf("modules.dep: no colon in %q", lines.Text())
		}
		t.dependencies[file] = strings.Fields(needs)
		t.files[nameOf(file)] = file
	}
	if err := lines.Err(); err != nil {
		return tree{}, fmt.Errorf("modules.dep: %w", err)
	}
	lines = bufio.NewScanner(builtin)
	for lines.Scan() {
		t.builtin[nameOf(lines.Text())] = true
	}
	if err := lines.Err(); err != nil {
		return tree{}, fmt.Errorf("modules.builtin: %w", err)
	}
	return t, nil
}

// closure returns the files of the named modules and of all that they need, sorted.
func (t tree) closure(names []string) ([]string, error) {
	files := map[string]bool{}
	for _, name := range names {
		name = nameOf(name)
		file, found := t.files[name]
		if !found {
			if t.builtin[name] {
				continue
			}
			return nil, fmt.Errorf("the kernel has no module %q", name)
		}
		files[file] = true
		for _, needed := range t.dependencies[file] {
			files[needed] = true
		}
	}
	return slices.Sorted(maps.Keys(files)), nil
}

// kernelVersion returns the only directory of lib/modules in a kernel package.
func kernelVersion(kernel string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(kernel, "lib/modules"))
	if err != nil {
		return "", err
	}
	if len(entries) != 1 {
		return "", fmt.Errorf("%d directories in lib/modules of the kernel package, want 1", len(entries))
	}
	return entries[0].Name(), nil
}

// addModules fills staging with the list's modules of an unpacked kernel and with depmod's
// description of only these, and returns the kernel's version.
func addModules(ctx context.Context, list, kernel, staging string) (string, error) {
	version, err := kernelVersion(kernel)
	if err != nil {
		return "", err
	}
	source, destination := filepath.Join(kernel, "lib/modules", version), filepath.Join(staging, "lib/modules", version)
	files, err := choose(list, source)
	if err != nil {
		return "", err
	}
	for _, file := range append(files, "modules.order", "modules.builtin", "modules.builtin.modinfo") {
		if err := copyFile(filepath.Join(source, file), filepath.Join(destination, file)); err != nil {
			return "", err
		}
	}
	if err := depmod(ctx, staging, version); err != nil {
		return "", err
	}
	return version, keepOnly(destination, "kernel", "modules.dep", "modules.alias", "modules.softdep", "modules.builtin")
}

func choose(list, source string) ([]string, error) {
	dependencies, err := os.Open(filepath.Join(source, "modules.dep"))
	if err != nil {
		return nil, err
	}
	defer dependencies.Close()
	builtin, err := os.Open(filepath.Join(source, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	defer builtin.Close()
	t, err := readTree(dependencies, builtin)
	if err != nil {
		return nil, err
	}
	return t.closure(wanted(list))
}

// depmod indexes the modules below a root directory.
func depmod(ctx context.Context, root, version string) error {
	return command.Command{Args: []string{"depmod", "-b", root, version}}.Run(ctx)
}

// keepOnly removes files that nothing in the guest reads.
func keepOnly(dir string, names ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if slices.Contains(names, entry.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(source, destination string) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(destination), 0o755); err != nil {
		return err
	}
	return os.WriteFile(destination, data, 0o644)
}
