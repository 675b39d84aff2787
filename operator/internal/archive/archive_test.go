package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "gocloud.dev/blob/memblob"

	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/documenttest"
)

const uid = "7f6c1c9e-0000-4000-8000-000000000001"

// made returns a run's document as it is stored, written by a version.
func made(t *testing.T, version string) []byte {
	t.Helper()
	return written(t, documenttest.Make(t, documenttest.Small(), version, nil))
}

func written(t *testing.T, doc report.Document) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := document.Write(&out, doc, true); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func opened(t *testing.T, url string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// keys lists an archive.
func keys(t *testing.T, a *archive.Archive) (found []string) {
	t.Helper()
	err := a.List(t.Context(), func(e archive.Entry) error {
		found = append(found, fmt.Sprintf("%s %d", e.Key, e.Bytes))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestTrialsReplaceNone checks that a document without trials gives way to one that has them, and not the other way.
func TestTrialsReplaceNone(t *testing.T) {
	doc := documenttest.Make(t, documenttest.Small(), "1.0.0", nil)
	with := written(t, doc)
	doc.Trials, doc.Inputs = nil, nil
	without := written(t, doc)
	a, key := opened(t, "mem://"), archive.RunKey("lab", "router", uid)
	for i, text := range [][]byte{without, with} {
		if err := a.Store(t.Context(), key, text); err != nil {
			t.Errorf("document %d: %v", i, err)
		}
	}
	if err := a.Store(t.Context(), key, without); !errors.Is(err, archive.ErrKept) {
		t.Errorf("without trials again: %v", err)
	}
	if got, err := a.Read(t.Context(), key); err != nil || !bytes.Equal(got, with) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestStore checks in a folder, a part of one, and in memory, that what is stored is listed and read, stays, and is replaced only where it is damaged.
func TestStore(t *testing.T) {
	one, other := made(t, "1.0.0"), made(t, "2.0.0")
	folder := t.TempDir()
	for name, url := range map[string]string{
		"memory": "mem://", "folder": "file://" + filepath.Join(folder, "new", "archive"), "part of a folder": "file://" + folder + "?prefix=part/",
	} {
		t.Run(name, func(t *testing.T) {
			a, key := opened(t, url), archive.RunKey("lab", "router.v2", uid)
			if _, err := a.Read(t.Context(), key); !errors.Is(err, archive.ErrNotFound) {
				t.Errorf("what is not stored: %v", err)
			}
			if err := a.Store(t.Context(), key, one[:len(one)/2]); err != nil {
				t.Fatal(err)
			}
			if err := a.Store(t.Context(), key, one); err != nil {
				t.Errorf("what was stored in part is not replaced: %v", err)
			}
			if err := a.Store(t.Context(), key, one); err != nil {
				t.Errorf("the same again: %v", err)
			}
			if err := a.Store(t.Context(), key, other); !errors.Is(err, archive.ErrKept) {
				t.Errorf("another document: %v", err)
			}
			if got, err := a.Read(t.Context(), key); err != nil || !bytes.Equal(got, one) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if err := a.Store(t.Context(), archive.SuiteKey("lab", "nightly-1", uid), []byte("{}")); err != nil {
				t.Error(err)
			}
			want := []string{fmt.Sprintf("runs/lab/router.v2.%s.json.zst %d", uid, len(one)), "suites/lab/nightly-1." + uid + ".json.zst 2"}
			if got := keys(t, a); !slices.Equal(got, want) {
				t.Errorf("the archive has %q, want %q", got, want)
			}
		})
	}
	// No other files are left: neither metadata nor what was written on the way.
	files := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			if files++; !strings.HasSuffix(path, document.ExtensionCompressed) {
				t.Errorf("the folder has %s", path)
			}
		}
		return err
	})
	if err != nil || files != 4 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestListLeavesOut checks that files which are no documents are not listed, that List gives up when its caller does, and that a document without end
// is not read.
func TestListLeavesOut(t *testing.T) {
	folder := t.TempDir()
	a := opened(t, "file://"+folder)
	key := archive.RunKey("lab", "router", uid)
	for name, text := range map[string]string{"runs/lab/notes.txt": "x", "runs/lab/" + strings.TrimPrefix(key, "runs/lab/") + ".18a.tmp": "x", "other/lab/x." + uid + ".json.zst": "x", key: "x", "lost+found/x": "y"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := keys(t, a); !slices.Equal(got, []string{key + " 1"}) {
		t.Errorf("%q", got)
	}
	enough := errors.New("enough")
	if err := a.List(t.Context(), func(archive.Entry) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	if err := os.Truncate(filepath.Join(folder, key), document.MaximumBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(t.Context(), key); !errors.Is(err, document.ErrTooLarge) {
		t.Errorf("a document of %d bytes: %v", document.MaximumBytes+1, err)
	}
	if err := a.Store(t.Context(), key, made(t, "1.0.0")); err != nil {
		t.Errorf("it is not replaced: %v", err)
	}
}

// TestKeys checks that keys name every object that Kubernetes takes, that no two have the same, and that nothing else is a key.
func TestKeys(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"a", "router", "router.v2", "a.b.c", strings.Repeat("x", 253), strings.Repeat("x", 252) + "y", strings.Repeat("x.", 126) + "y"} {
		for _, id := range []string{uid, strings.ReplaceAll(uid, "1", "2")} {
			key := archive.RunKey("lab", name, id)
			if kind, err := archive.Parse(key); err != nil || kind != archive.Run || len(filepath.Base(key)) > 230 {
				t.Errorf("%s: %s, %v", key, kind, err)
			}
			if before := seen[key]; before == name {
				t.Errorf("%s twice", key)
			}
			if seen[key] = name; id == uid {
				if kind, err := archive.Parse(archive.SuiteKey("lab", name, id)); err != nil || kind != archive.Suite {
					t.Errorf("%s: %v", kind, err)
				}
			}
		}
	}
	a := opened(t, "file://"+t.TempDir())
	for _, bad := range []string{
		"", "runs", "runs/lab", "runs/lab/x.json.zst", "runs/lab/x." + uid + ".json", "runs/../x." + uid + ".json.zst", "runs/lab/../../x." + uid + ".json.zst", "/runs/lab/x." + uid + ".json.zst",
		"runs/lab/.." + uid + ".json.zst", "runs/lab/X." + uid + ".json.zst", "runs/lab/x\n." + uid + ".json.zst", "plans/lab/x." + uid + ".json.zst",
	} {
		if _, err := archive.Parse(bad); err == nil {
			t.Errorf("%q is a key", bad)
		}
		if _, err := a.Read(t.Context(), bad); err == nil {
			t.Errorf("%q is read", bad)
		}
		if err := a.Store(t.Context(), bad, nil); err == nil {
			t.Errorf("%q is stored", bad)
		}
	}
}

// TestOpenRefuses checks that a URL which cannot be right is refused, with what one looks like.
func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"archive": "opening the archive", "file://archive": "three slashes", "file://./archive": "three slashes", "ftp://host/x": "opening the archive",
		"file://" + file: "not a directory", "file:///tmp/x?secret=1": "secret", "%": "cannot be read",
	} {
		if a, err := archive.Open(t.Context(), url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", url, a, err)
		}
	}
}

// TestFailures checks what a folder's failures are called. Root may write everywhere, so a file in the way of the folder represents what cannot be written.
func TestFailures(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "archive")
	a, key := opened(t, "file://"+folder), archive.RunKey("lab", "router", uid)
	text := made(t, "1.0.0")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := a.Store(t.Context(), key, text); !errors.Is(err, archive.ErrUnavailable) {
		t.Errorf("a file instead of the folder: %v", err)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := a.Store(t.Context(), key, text); err != nil {
		t.Errorf("the folder is back: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Store(ended, archive.RunKey("lab", "router", "8"+uid[1:]), text); !errors.Is(err, archive.ErrUnavailable) {
		t.Errorf("a request that ended: %v", err)
	}
	if got := keys(t, a); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
