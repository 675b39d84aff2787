package rootfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChooseMirror(t *testing.T) {
	tests := map[string]struct{ targets, want string }{
		"the release itself": {
			"bookworm-security main http://b/security/\nbookworm-updates main http://b/debian/\nbookworm main http://a/debian/\n",
			"http://a/debian/",
		},
		"another release": {
			"trixie-security main http://b/security/\ntrixie main http://a/debian/\ntool stable http://c/\n",
			"http://a/debian/",
		},
		"none":                {"bookworm-security main http://b/security/\n", ""},
		"other sources alone": {"nodistro stable http://c/\n\n", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := chooseMirror(strings.NewReader(test.targets), "bookworm")
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	for line, want := range map[string]string{
		`2026-11-20 11:08:31 URL:http://a/pool/z/zlib1g_1.2_amd64.deb [8/8] -> "/x/y.deb" [1]`: "downloaded zlib1g_1.2_amd64.deb",
		"Unpacking procps (2:4.0.2-3) ...": "Unpacking procps (2:4.0.2-3) ...",
		"":                                 "",
	} {
		if got := shorten(line); got != want {
			t.Errorf("shorten(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lib/a/driver_x.so", "lib/b/driver_x.so", "lib/a/driver_y.so"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := remove(dir, []string{"lib/*/driver_x.so"}); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "lib/*/*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "driver_y.so" {
		t.Errorf("left are %q, %v", left, err)
	}
	if err := remove(dir, []string{"lib/*/driver_x.so"}); err == nil {
		t.Error("nothing matched, and nothing was said")
	}
}
