package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sourceDir is the lab's, as seen from this package.
const sourceDir = "../.."

func TestFlagsStampVersions(t *testing.T) {
	for _, target := range []Target{Kube, CNI, CoreDNS, Pause} {
		flags, err := target.flags(sourceDir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"-trimpath", "-buildvcs=false", "-ldflags"}, flags[:3]); diff != "" {
			t.Errorf("%s: unexpected flags (-want +got):\n%s", target.Kind, diff)
		}
		stamps := strings.Count(flags[3], " -X ")
		if want := map[string]int{"kube": 5, "cni": 1}[target.Kind]; stamps != want {
			t.Errorf("%s: %d versions are stamped, want %d: %s", target.Kind, stamps, want, flags[3])
		}
		for stamp := range strings.SplitSeq(flags[3], " -X ") {
			if strings.HasSuffix(stamp, "=") {
				t.Errorf("%s: a version is empty: %s", target.Kind, stamp)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "go.mod")
	if err := os.WriteFile(path, []byte("module x\n\nrequire (\n\ta.example/b v1.2.3\n\tc.example/d v0.1.0 // indirect\n)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Versions(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a.example/b": "v1.2.3", "c.example/d": "v0.1.0"}, got); diff != "" {
		t.Errorf("unexpected versions (-want +got):\n%s", diff)
	}
}

func TestCompilerOutput(t *testing.T) {
	var o compilerOutput
	for _, part := range []string{
		"go: downloading a.example/b v1\nfm", "t\nexample.com/x\n", "# example.com/x\n./x.go:1:2: undefined: y\n", "partial",
	} {
		if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("Write(%q) = %d, %v", part, n, err)
		}
	}
	if got, want := o.complaints(), "# example.com/x\n./x.go:1:2: undefined: y"; got != want {
		t.Errorf("the complaints are %q, want %q", got, want)
	}
	if got, want := o.summary(), "(2 packages, example.com/x)"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}
