package build

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/test/lab/internal/progress"
)

// sourceDir is the lab's source directory, relative to this package.
const sourceDir = "../.."

func TestFlagsStampVersions(t *testing.T) {
	for _, target := range []Target{Kube, CNI, CoreDNS, KubeVirt, Flux, FluxNotification, ArgoCD, Pause} {
		flags, err := target.flags(sourceDir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"-trimpath", "-buildvcs=false", "-ldflags"}, flags[:3]); diff != "" {
			t.Errorf("%s: unexpected flags (-want +got):\n%s", target.Kind, diff)
		}
		stamps := strings.Count(flags[3], " -X ")
		if want := map[string]int{"kube": 5, "cni": 1, "kubevirt": 3, "argocd": 1}[target.Kind]; stamps != want {
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

// module makes a lab's source directory with one target's module in it.
func module(t *testing.T) (Builder, Target) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module x\n\ngo 1.26.0\n\nrequire a.example/b v1.2.3\n\nreplace c.example/d => c.example/e v1.0.0\n",
		"go.sum":  "a.example/b v1.2.3 h1:x=\n",
		"main.go": "package main\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Builder{SourceDir: dir}, Target{Kind: "x", Dir: "x", Package: "."}
}

// TestReplacing checks that a module is built from another directory, with everything else as in
// the lock file, and that the module itself does not change.
func TestReplacing(t *testing.T) {
	b, target := module(t)
	target.Replace = map[string]string{"a.example/b": "/cache/b-0123"}
	path, err := b.replacing(target)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(path))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.example/b => /cache/b-0123", "c.example/d => c.example/e v1.0.0", "require a.example/b v1.2.3"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("go.mod does not say %q:\n%s", want, data)
		}
	}
	sums, err := os.ReadFile(filepath.Join(filepath.Dir(path), "go.sum"))
	if err != nil || !strings.Contains(string(sums), "h1:x=") {
		t.Errorf("the sums are %q, %v", sums, err)
	}
	original, err := os.ReadFile(filepath.Join(b.SourceDir, "x/go.mod"))
	if err != nil || strings.Contains(string(original), "/cache/") {
		t.Errorf("the module itself was changed: %s, %v", original, err)
	}
}

func TestFingerprintCoversReplacements(t *testing.T) {
	b, plain := module(t)
	fingerprint := func(target Target) string {
		t.Helper()
		f, err := b.fingerprint(t.Context(), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	replaced := plain
	replaced.Replace = map[string]string{"a.example/b": "/cache/b-0123"}
	again := plain
	again.Replace = map[string]string{"a.example/b": "/cache/b-4567"}
	more := plain
	more.Also = []string{"./more"}
	seen := map[string]string{}
	for name, target := range map[string]Target{"plain": plain, "replaced": replaced, "replaced by another": again, "more packages": more} {
		f := fingerprint(target)
		if other, found := seen[f]; found {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[f] = name
	}
}

// withoutPauses removes the pauses between attempts.
func withoutPauses(t *testing.T) {
	before := pauses
	pauses = []time.Duration{0, 0}
	t.Cleanup(func() { pauses = before })
}

// TestProxyThatFailsOnce checks that modules are requested again, and that errors that a repetition
// cannot resolve are reported immediately.
func TestProxyThatFailsOnce(t *testing.T) {
	withoutPauses(t)
	for name, test := range map[string]struct {
		fails int
		says  string
		asked int
		fetch bool
	}{
		"answers":            {asked: 1, fetch: true},
		"fails twice":        {fails: 2, says: "i/o timeout", asked: 3, fetch: true},
		"fails":              {fails: 9, says: "502 Bad Gateway", asked: 3},
		"is not what it was": {fails: 9, says: "verifying a.example/b: checksum mismatch", asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			b, target := module(t)
			b.Log = progress.New(io.Discard)
			tools := t.TempDir()
			script := fmt.Sprintf("#!/bin/sh\n[ \"$2\" = download ] || { echo /found; exit 0; }\necho >> %[1]s/asked\n[ $(wc -l < %[1]s/asked) -gt %[2]d ] || { echo '%[3]s' >&2; exit 1; }\n", tools, test.fails, test.says)
			if err := os.WriteFile(filepath.Join(tools, "go"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
			dir, err := b.Download(t.Context(), target, "a.example/b")
			if (err == nil) != test.fetch || test.fetch && dir != "/found" || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %q, %v", dir, err)
			}
			asked, err := os.ReadFile(filepath.Join(tools, "asked"))
			if n := strings.Count(string(asked), "\n"); n != test.asked {
				t.Errorf("asked %d times, want %d: %v", n, test.asked, err)
			}
		})
	}
}

// TestRefusedModules checks that a proxy that refuses a module is distinguished from code that does
// not compile.
func TestRefusedModules(t *testing.T) {
	withoutPauses(t)
	b, target := module(t)
	b.Log = progress.New(io.Discard)
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	if _, err := b.Download(t.Context(), target, "a.example/b"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got the error %v", err)
	}
}

// TestFaultsAreNoRefusals checks that an error in a tree is never reported as something that could
// not be tried.
func TestFaultsAreNoRefusals(t *testing.T) {
	withoutPauses(t)
	b, target := module(t)
	b.Log = progress.New(io.Discard)
	t.Setenv("GOPROXY", "off")
	missing := target
	missing.Dir = "none"
	if _, err := b.Download(t.Context(), missing, "a.example/b"); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("a module that is not there: got the error %v", err)
	}
	if err := os.WriteFile(filepath.Join(b.SourceDir, "x/go.mod"), []byte("module x\n\nrequire (\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Download(t.Context(), target, "a.example/b"); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("a go.mod that cannot be read: got the error %v", err)
	}
}
