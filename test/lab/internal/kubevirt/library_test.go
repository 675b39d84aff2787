package kubevirt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// treeWith makes a tree whose C library is a copy of a file of this machine's.
func treeWith(t *testing.T, library string) string {
	t.Helper()
	matches, err := filepath.Glob(library)
	if err != nil || len(matches) != 1 {
		t.Fatalf("%q is %q, %v", library, matches, err)
	}
	data, err := os.ReadFile(matches[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	place := strings.Replace(libc, "*", "any", 1)
	if err := writeTree(dir, map[string]string{place: string(data)}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCheckLibrary(t *testing.T) {
	const (
		dynamic = "/bin/sh"
		static  = "/sbin/ldconfig"
	)
	own := treeWith(t, "/"+libc)
	// It has the format, and almost none of the versions.
	poor := treeWith(t, "/usr/lib/*-linux-gnu/libanl.so.1")
	for name, test := range map[string]struct{ program, tree, complaint string }{
		"the same library":      {dynamic, own, ""},
		"a library with less":   {dynamic, poor, "build on Debian 12"},
		"a static program":      {static, poor, ""},
		"a tree without it":     {dynamic, t.TempDir(), "not one"},
		"a program that is not": {"/etc/hostname", own, "reading the program"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkLibrary(test.program, test.tree)
			if (err != nil) != (test.complaint != "") || err != nil && !strings.Contains(err.Error(), test.complaint) {
				t.Errorf("got the error %v, want %q", err, test.complaint)
			}
		})
	}
}
