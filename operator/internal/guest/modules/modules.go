// Package modules finds and loads kernel modules, as depmod indexed them. The
// directory of a kernel's modules and a name or an alias go in; the files to
// load, dependencies first, come out.
//
// It does what modprobe does in a distribution, as far as a guest needs it: no
// options, no blacklist, no compressed modules.
package modules

import (
	"bufio"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Index is the content of modules.dep(5) and modules.alias.
type Index struct {
	root fs.FS
	// order maps a module's name to the files to load, its own last.
	order   map[string][]string
	aliases []alias
	builtin map[string]bool
}

type alias struct {
	pattern, module string
	// prefix is the pattern's text before its first wildcard. It alone excludes
	// most aliases, at a fraction of the cost.
	prefix string
}

// Read reads the index of a directory such as /lib/modules/6.1.0-1-amd64.
func Read(root fs.FS) (*Index, error) {
	index := &Index{root: root, order: map[string][]string{}, builtin: map[string]bool{}}
	for _, part := range []struct {
		file string
		line func(string) error
	}{
		{"modules.dep", index.addDependencies},
		{"modules.alias", index.addAlias},
		{"modules.builtin", index.addBuiltin},
	} {
		if err := eachLine(root, part.file, part.line); err != nil {
			return nil, fmt.Errorf("reading %s: %w", part.file, err)
		}
	}
	return index, nil
}

func eachLine(root fs.FS, name string, do func(string) error) error {
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			if err := do(line); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// addDependencies reads "kernel/a.ko: kernel/b.ko kernel/c.ko". The kernel
// requires them from the last to the first.
func (x *Index) addDependencies(line string) error {
	file, needed, found := strings.Cut(line, ":")
	if !found {
		return fmt.Errorf("no colon in %q", line)
	}
	files := append([]string{file}, strings.Fields(needed)...)
	order := make([]string, 0, len(files))
	for i := len(files) - 1; i >= 0; i-- {
		order = append(order, files[i])
	}
	x.order[nameOf(file)] = order
	return nil
}

// addAlias reads "alias PATTERN MODULE".
func (x *Index) addAlias(line string) error {
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[0] != "alias" {
		return fmt.Errorf("%q is not an alias", line)
	}
	pattern := underscored(fields[1])
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("pattern %q: %w", fields[1], err)
	}
	prefix := pattern
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		prefix = pattern[:i]
	}
	x.aliases = append(x.aliases, alias{pattern, underscored(fields[2]), prefix})
	return nil
}

func (x *Index) addBuiltin(line string) error {
	x.builtin[nameOf(line)] = true
	return nil
}

// Find returns the modules of a name or an alias, in the index's order. It may
// find none: most devices need no module of this guest.
func (x *Index) Find(query string) []string {
	query = underscored(query)
	if _, found := x.order[query]; found {
		return []string{query}
	}
	var names []string
	seen := map[string]bool{}
	for _, a := range x.aliases {
		if !strings.HasPrefix(query, a.prefix) {
			continue
		}
		// The pattern was checked when it was read.
		if matched, _ := path.Match(a.pattern, query); matched && !seen[a.module] {
			seen[a.module] = true
			names = append(names, a.module)
		}
	}
	return names
}

// Builtin reports whether the kernel contains the module.
func (x *Index) Builtin(name string) bool { return x.builtin[underscored(name)] }

// Order returns the files of a module and of what it needs, in the order to load
// them.
func (x *Index) Order(name string) ([]string, error) {
	order, found := x.order[underscored(name)]
	if !found {
		return nil, fmt.Errorf("there is no module %q", name)
	}
	return order, nil
}

func nameOf(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return underscored(name)
}

// underscored writes a name or a pattern as the kernel does, for which "-" and
// "_" are the same. It does not change ranges in brackets.
func underscored(text string) string {
	if !strings.Contains(text, "-") {
		return text
	}
	result := []byte(text)
	inRange := false
	for i, c := range result {
		switch {
		case c == '[':
			inRange = true
		case c == ']':
			inRange = false
		case c == '-' && !inRange:
			result[i] = '_'
		}
	}
	return string(result)
}
