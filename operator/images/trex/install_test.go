// Package trex checks how an image with TRex takes its release in.
package trex

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// release writes a tarball of files, and links where the content begins with "-> ".
func release(t *testing.T, files map[string]string) (path, sum string) {
	t.Helper()
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	archive := tar.NewWriter(packed)
	for name, content := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Uid: 1234, Gid: 1234, Size: int64(len(content))}
		if target, isLink := strings.CutPrefix(content, "-> "); isLink {
			header.Typeflag, header.Linkname, header.Size, content = tar.TypeSymlink, target, 0, ""
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	for _, close := range []func() error{archive.Close, packed.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(t.TempDir(), "v3.08.tar.gz")
	if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(data.Bytes())
	return path, hex.EncodeToString(digest[:])
}

func machineName(t *testing.T) string {
	t.Helper()
	name, err := exec.Command("uname", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(name))
}

func install(arguments ...string) (string, error) {
	out, err := exec.Command("sh", append([]string{"install.sh"}, arguments...)...).CombinedOutput()
	return string(out), err
}

// TestInstall checks that what the server needs is there, and nothing else.
func TestInstall(t *testing.T) {
	library := "so/" + machineName(t) + "/libzmq.so.5"
	tarball, sum := release(t, map[string]string{
		"v3.08/_t-rex-64": "program", "v3.08/_t-rex-64-o": "plain program", "v3.08/_t-rex-64-debug": "large",
		"v3.08/" + library: "library", "v3.08/so/other64/libzmq.so.5": "another machine's",
		"v3.08/x710_ddp/trex.pkg": "profile", "v3.08/stl/bench.py": "python", "v3.08/automation/client.py": "python",
		"v3.08/t-rex-64": "wrapper", "v3.08/astf_schema.json": "schema", "v3.08/cap2/dns.yaml": "captured",
	})
	directory := filepath.Join(t.TempDir(), "opt", "trex")
	out, err := install(tarball, sum, directory)
	if err != nil {
		t.Fatal(err, out)
	}
	if !strings.Contains(out, "TRex v3.08: 0 MB of 0 MB kept") {
		t.Errorf("does not say the size: %s", out)
	}
	want := []string{"_t-rex-64", "_t-rex-64-o", "astf_schema.json", "release", library, "x710_ddp/trex.pkg"}
	if diff := cmp.Diff(want, filesIn(t, directory)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(directory, "_t-rex-64"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program's mode is %v, %v", info.Mode(), err)
	}
	if note, err := os.ReadFile(filepath.Join(directory, "release")); err != nil || string(note) != "v3.08 sha256:"+sum+"\n" {
		t.Errorf("the note of the release is %q, %v", note, err)
	}
}

func filesIn(t *testing.T, directory string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(directory, path)
			files = append(files, name)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func TestInstallRefuses(t *testing.T) {
	good := map[string]string{"v3.08/_t-rex-64": "program", "v3.08/so/x86_64/a": "library", "v3.08/astf_schema.json": "schema"}
	for name, test := range map[string]struct {
		files map[string]string
		sum   string
		want  string
	}{
		"another file":           {good, strings.Repeat("0", 64), "get it again, or correct the number"},
		"half a digest":          {good, strings.Repeat("0", 32), "32 digits, and not 64"},
		"a digest in capitals":   {good, strings.Repeat("A", 64), "digits 0-9 and a-f"},
		"the sources":            {map[string]string{"trex-core/src/a.cpp": "x", "trex-core/so/a": "x"}, "", "has no trex-core/_t-rex-64"},
		"no libraries":           {map[string]string{"v3.08/_t-rex-64": "x"}, "", "has no v3.08/so"},
		"no schema":              {map[string]string{"v3.08/_t-rex-64": "x", "v3.08/so/x86_64/a": "x"}, "", "has no v3.08/astf_schema.json"},
		"two folders":            {map[string]string{"v3.08/_t-rex-64": "x", "v3.07/so/a": "x"}, "", "not one folder"},
		"files outside":          {map[string]string{"../_t-rex-64": "x", "../so/a": "x"}, "", "not one folder"},
		"files of the root":      {map[string]string{"/etc/_t-rex-64": "x", "/etc/so/a": "x"}, "", "not one folder"},
		"a link to another file": {map[string]string{"v3.08/_t-rex-64": "-> ../../../../bin/sh", "v3.08/so/x86_64/a": "x", "v3.08/astf_schema.json": "x"}, "", "is no program"},
	} {
		t.Run(name, func(t *testing.T) {
			tarball, sum := release(t, test.files)
			if test.sum != "" {
				sum = test.sum
			}
			directory := filepath.Join(t.TempDir(), "trex")
			out, err := install(tarball, sum, directory)
			if err == nil || !strings.Contains(out, test.want) {
				t.Errorf("got %v, want %q: %s", err, test.want, out)
			}
		})
	}
	if out, err := install("absent.tar.gz", strings.Repeat("0", 64), t.TempDir()); err == nil || !strings.Contains(out, "there is no file absent.tar.gz") {
		t.Errorf("no tarball: %v, %s", err, out)
	}
	if out, err := install(); err == nil || !strings.Contains(out, "usage:") {
		t.Errorf("no arguments: %v, %s", err, out)
	}
}

// TestBuildSaysWhatItNeeds runs make trex-image without a release.
func TestBuildSaysWhatItNeeds(t *testing.T) {
	command := exec.Command("bash", "../../../test/scripts/trex-image.sh")
	command.Env = append(os.Environ(), "LAB=/bin/true", "BIN="+t.TempDir(), "TREX_TARBALL=v3.08.tar.gz", "TREX_SHA256=")
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "make trex-image TREX_TARBALL=") {
		t.Errorf("got %v: %s", err, out)
	}
}
