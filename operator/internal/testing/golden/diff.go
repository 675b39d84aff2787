package golden

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// The lines that begin a document in a difference.
const (
	changed = "changed "
	added   = "added "
	removed = "removed "
	// like joins the names of a document that was added and of one of the same
	// kind that it resembles.
	like = ", like "
	// hunkMark begins a hunk, and comes before the fields that contain it.
	hunkMark = "@@"
)

// marks are the first characters of a hunk's lines.
var marks = map[udiff.OpKind]string{udiff.Delete: "-", udiff.Insert: "+", udiff.Equal: " "}

// diff returns the documents that were changed, added and removed, as hunks of a unified diff, and
// "" if there are none. A hunk has the path of its fields instead of line numbers, so that a change
// elsewhere does not change it.
func diff(old, new map[string]string) string {
	var text strings.Builder
	names := maps.Clone(old)
	maps.Copy(names, new)
	known := maps.Clone(old)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, had := old[name]
		after, has := new[name]
		switch {
		case !has:
			text.WriteString(removed + name + "\n")
		case !had:
			text.WriteString(addition(known, name, after))
		case before != after:
			text.WriteString(changed + name + "\n" + hunks(before, after))
		}
		if has {
			known[name] = after
		}
	}
	return text.String()
}

// addition returns a document that was added: by what differs from the document
// of its kind that it resembles most, where that is shorter than the whole.
func addition(known map[string]string, name, text string) string {
	best := added + name + "\n" + hunks("", text)
	kind, _, _ := strings.Cut(name, "/")
	for _, other := range slices.Sorted(maps.Keys(known)) {
		if !strings.HasPrefix(other, kind+"/") {
			continue
		}
		candidate := added + name + like + other + "\n" + hunks(known[other], text)
		if strings.Count(candidate, "\n") < strings.Count(best, "\n") {
			best = candidate
		}
	}
	return best
}

// hunks returns the differences between two texts, with as much context as is needed to find each
// hunk again.
func hunks(before, after string) string {
	for context := 1; ; context++ {
		// Edits between two texts always apply to the first of them.
		unified, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), context)
		if err != nil {
			panic(err)
		}
		var text strings.Builder
		for _, hunk := range unified.Hunks {
			text.WriteString(hunkMark + fields(before, after, hunk) + "\n")
			for _, line := range hunk.Lines {
				text.WriteString(marks[line.Kind] + line.Content)
			}
		}
		if again, err := apply(before, lines(text.String())); err == nil && again == after {
			return text.String()
		}
	}
}

// fields returns the names of the fields that contain a hunk's first change, with dots
// between and a space before.
func fields(before, after string, hunk *udiff.Hunk) string {
	first := slices.IndexFunc(hunk.Lines, func(line udiff.Line) bool { return line.Kind != udiff.Equal })
	all, at := lines(before), hunk.FromLine-1+first
	if hunk.Lines[first].Kind == udiff.Insert {
		all, at = lines(after), hunk.ToLine-1+first
	}
	path, within := "", indentation(all[at])
	for ; at >= 0 && within > 0; at-- {
		if depth := indentation(all[at]); depth < within {
			name, _, _ := strings.Cut(strings.TrimLeft(all[at], " -"), ":")
			path, within = "."+name+path, depth
		}
	}
	return strings.Replace(path, ".", " ", 1)
}

// indentation returns how far a line's field is to the right, including the mark of a list's
// element.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " -")) }

// patch applies what diff returned to the documents that it was made from.
func patch(old map[string]string, text string) (map[string]string, error) {
	documents, known := map[string]string{}, map[string]string{}
	maps.Copy(documents, old)
	maps.Copy(known, old)
	all := lines(text)
	for len(all) > 0 {
		header := all[0]
		end := slices.IndexFunc(all[1:], func(line string) bool { return line == "" || !strings.Contains(" +-@", line[:1]) }) + 1
		if end == 0 {
			end = len(all)
		}
		content := all[1:end]
		all = all[end:]
		if strings.HasPrefix(header, "#") {
			continue
		}
		if name, is := strings.CutPrefix(header, removed); is {
			delete(documents, name)
			continue
		}
		name, source := header, ""
		if after, is := strings.CutPrefix(header, added); is {
			name, source, _ = strings.Cut(after, like)
		} else if name, is = strings.CutPrefix(header, changed); is {
			source = name
		} else {
			return nil, fmt.Errorf("%q begins no document", header)
		}
		document, err := apply(known[source], content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		documents[name], known[name] = document, document
	}
	return documents, nil
}

// apply makes the changes of hunks, each at the first place after the hunk before it
// that has its lines.
func apply(text string, content []string) (string, error) {
	rest := lines(text)
	var done []string
	for len(content) > 0 {
		end := slices.IndexFunc(content[1:], func(line string) bool { return strings.HasPrefix(line, hunkMark) }) + 1
		if end == 0 {
			end = len(content)
		}
		var from, to []string
		for _, line := range content[1:end] {
			if line[0] != '+' {
				from = append(from, line[1:])
			}
			if line[0] != '-' {
				to = append(to, line[1:])
			}
		}
		at := 0
		for ; at+len(from) <= len(rest) && !slices.Equal(rest[at:at+len(from)], from); at++ {
		}
		if at+len(from) > len(rest) {
			return "", fmt.Errorf("%s: no such lines:\n%s", content[0], strings.Join(from, "\n"))
		}
		done = append(append(done, rest[:at]...), to...)
		rest, content = rest[at+len(from):], content[end:]
	}
	done = append(done, rest...)
	return strings.Join(done, "\n") + "\n", nil
}

// lines returns a text's lines without their ends.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
