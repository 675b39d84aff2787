package debian

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shown = `Package: linux-image-amd64
Source: linux-signed-amd64 (6.1.1+1)
Version: 6.1.1-1
Depends: linux-image-6.1.0-1-amd64 (= 6.1.1-1), kmod | busybox
Description-en: Linux for 64-bit PCs
 This package depends on the latest Linux kernel.
SHA256: 0123

Package: linux-image-amd64
Version: 5.10.0-1
SHA256: 4567
`

func TestParse(t *testing.T) {
	got, err := parse(shown)
	if err != nil {
		t.Fatal(err)
	}
	want := Package{Name: "linux-image-amd64", Version: "6.1.1-1", SHA256: "0123", Depends: []string{"linux-image-6.1.0-1-amd64", "kmod"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if name, err := got.DependsOn("linux-image-"); err != nil || name != "linux-image-6.1.0-1-amd64" {
		t.Errorf("got %q, %v", name, err)
	}
	if _, err := got.DependsOn("libc"); err == nil {
		t.Error("no error for what it does not depend on")
	}
	if _, err := parse("Package: x\n"); err == nil {
		t.Error("no error for a package without a version")
	}
}
