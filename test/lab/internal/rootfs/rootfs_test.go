package rootfs

import (
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
