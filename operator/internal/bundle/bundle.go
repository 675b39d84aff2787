// Package bundle packs what helps to explain a run into one file that can be passed on: objects and texts go in, a .tar.gz comes out.
// Secrets never go in, and what looks like a password, a token or a private key is replaced in everything that does; a list at the
// beginning says what was replaced and what was left out.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Bundle collects files.
type Bundle struct {
	// folder is in front of all names.
	folder string
	files  []file
	// left says what is not in the bundle, and why.
	left []string
	// replaced is how many values were replaced in each file.
	replaced map[string]int
}

type file struct {
	name string
	text []byte
}

// New returns a bundle whose files are in a folder.
func New(folder string) *Bundle { return &Bundle{folder: folder, replaced: map[string]int{}} }

// LeaveOut notes what is not in the bundle, and why.
func (b *Bundle) LeaveOut(what, why string) { b.left = append(b.left, what+": "+why) }

// Add adds a text, without what looks like a secret.
func (b *Bundle) Add(name string, text []byte) {
	redacted, n := redactText(string(text))
	b.add(name, []byte(redacted), n)
}

// AddObject adds an object as YAML, without what looks like a secret and without what only the API server needs. A Secret is left out.
func (b *Bundle) AddObject(name string, object runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("converting %s: %w", name, err)
	}
	kind := object.GetObjectKind().GroupVersionKind()
	if content["kind"] == "Secret" || kind.Kind == "Secret" {
		b.LeaveOut(name, "Secrets are never in a bundle")
		return nil
	}
	if !kind.Empty() {
		content["apiVersion"], content["kind"] = kind.GroupVersion().String(), kind.Kind
	}
	redactedContent, n := redactObject(runtime.DeepCopyJSON(content))
	text, err := yaml.Marshal(redactedContent)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	redacted, more := redactText(string(text))
	b.add(name, []byte(redacted), n+more)
	return nil
}

func (b *Bundle) add(name string, text []byte, replaced int) {
	if replaced > 0 {
		b.replaced[name] += replaced
	}
	b.files = append(b.files, file{name, text})
}

// Files is how many files the bundle has, without its list.
func (b *Bundle) Files() int { return len(b.files) }

// Left is what is not in the bundle.
func (b *Bundle) Left() []string { return slices.Clone(b.left) }

// listName is the file that says what is in the bundle.
const listName = "README.txt"

// List returns what is in the bundle, and what is not.
func (b *Bundle) List() string {
	var text strings.Builder
	text.WriteString("Support bundle of a benchmark run. Look through it before you pass it on: names of hosts, addresses, images and namespaces are in it,\nand only what looks like a password, a token or a private key was replaced.\n\nFiles:\n")
	for _, f := range b.files {
		fmt.Fprintf(&text, "  %s", f.name)
		if n := b.replaced[f.name]; n > 0 {
			fmt.Fprintf(&text, " (%d replaced)", n)
		}
		text.WriteByte('\n')
	}
	text.WriteString("\nLeft out:\n")
	for _, line := range b.left {
		fmt.Fprintf(&text, "  %s\n", strings.Join(strings.Fields(line), " "))
	}
	return text.String()
}

// Write writes the bundle. All files have the time.
func (b *Bundle) Write(w io.Writer, at time.Time) error {
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	for _, f := range append([]file{{listName, []byte(b.List())}}, b.files...) {
		header := &tar.Header{Name: path.Join(b.folder, f.name), Mode: 0o644, Size: int64(len(f.text)), ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("packing %s: %w", f.name, err)
		}
		if _, err := io.Copy(archive, bytes.NewReader(f.text)); err != nil {
			return fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

// Name returns a text as a part of the name of a file: other letters than those of names become "-".
func Name(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, strings.TrimLeft(text, "."))
}
