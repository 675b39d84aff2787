// Package release makes two releases of one tree and uses one of them as its
// documentation says. `make test-release` runs it; no cluster is needed.
package release

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"vnfbench.io/test/e2e/guide"
)

const version = "0.0.1"

// architectures are those of release.sh, which ARCHITECTURES may make fewer.
func architectures() []string {
	if named := strings.Fields(os.Getenv("ARCHITECTURES")); len(named) > 0 {
		return named
	}
	return []string{"amd64", "arm64"}
}

// platforms of the plugin are release.sh's too, which PLUGIN_PLATFORMS may make fewer.
func platforms() int {
	if named := strings.Fields(os.Getenv("PLUGIN_PLATFORMS")); len(named) > 0 {
		return len(named)
	}
	return 4
}

// tools are programs that the Makefile builds, by the variable that names each.
var tools = []string{"LAB", "HELM", "KUSTOMIZE", "SYFT", "CRANE", "COSIGN"}

func TestRelease(t *testing.T) {
	if os.Getenv("VNFBENCH_RELEASE_TEST") != "1" {
		t.Skip("NOT RUN: it makes two whole releases: make test-release")
	}
	for _, tool := range tools {
		if os.Getenv(tool) == "" {
			t.Fatalf("%s is not set: run this test by `make test-release`", tool)
		}
	}
	// The second has one architecture, which tells as much.
	first := makeRelease(t, filepath.Join(t.TempDir(), "one"), strings.Join(architectures(), " "))
	second := makeRelease(t, filepath.Join(t.TempDir(), "another/place"), architectures()[0])
	compare(t, filepath.Join(first, "dist"), filepath.Join(second, "dist"))
	contents(t, filepath.Join(first, "dist"))

	// The pages' commands, in the tree that has the release in dist/.
	bin := t.TempDir()
	for _, tool := range tools {
		if err := os.Symlink(os.Getenv(tool), filepath.Join(bin, strings.ToLower(tool))); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("COSIGN_PASSWORD", "a password of this test")
	page := guide.Open(t, "docs/how-to/release.md", first)
	page.Run(t, "Sign", 0)
	page.Run(t, "Sign", 1)
	page.Run(t, "Verify", 0)
	refused(t, page, filepath.Join(first, "dist"))

	registry := serve(t)
	page.Run(t, "Push the images", 0, "registry.example.com", registry)
	pushed(t, first, registry)
	page.Whole(t, "Make a release 0: the test makes two by the same script")

	air := guide.Open(t, "docs/how-to/air-gapped.md", first)
	plugin := t.TempDir()
	// The plugin is asked without a cluster, and without kubectl.
	air.Run(t, "The kubectl plugin", 0, "VERSION", version, "/usr/local/bin", plugin, "kubectl vnfbench --help", filepath.Join(plugin, "kubectl-vnfbench")+" --help")
	air.Whole(t,
		"With a registry of the closed network 0: needs a cluster; the test pushes by the same script and renders the chart with the same values",
		"With a registry of the closed network 1: needs a cluster",
		"Without any registry 0: needs a node; make e2e-upgrade loads such archives",
		"Without any registry 1: needs a cluster; the test renders the chart with the same values")
	out := run(t, first, "helm", "template", "vnfbench", "dist/vnfbench-chart-"+version+".tgz", "--kube-version", "1.34.0", "--set", "image.registry=localhost", "--set", "image.pullPolicy=Never")
	if !strings.Contains(out, "image: localhost/vnfbench/manager:"+version) {
		t.Error("the chart of the release does not name the images as their archives do")
	}
}

// makeRelease copies the tree, commits or not, and makes a release there.
func makeRelease(t *testing.T, folder, architectures string) string {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, guide.Root(t), "bash", "-euo", "pipefail", "-c",
		`git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done | tar --null -T - -cf - | tar -xf - -C "$0"`, folder)
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), "test/release/release.sh", version)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "DIRTY=1", "SOURCE_DATE_EPOCH=1700000000", "ARCHITECTURES="+architectures, "DIST="+filepath.Join(folder, "dist"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%.0f s: a release for %s\n%s", time.Since(began).Seconds(), architectures, out)
	return folder
}

// compare looks at every file of the second release, but for those that speak of
// all architectures.
func compare(t *testing.T, first, second string) {
	t.Helper()
	compared := 0
	err := filepath.WalkDir(second, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "SHA256SUMS" {
			return err
		}
		one, err := os.ReadFile(filepath.Join(first, entry.Name()))
		if err != nil {
			return err
		}
		other, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		compared++
		if !bytes.Equal(one, other) {
			t.Errorf("%s differs between two releases of one tree", entry.Name())
		}
		return nil
	})
	if err != nil || compared < 14+platforms() {
		t.Fatalf("compared %d files: %v", compared, err)
	}
	t.Logf("%d files are equal in both", compared)
}

// contents checks what is said of a release.
func contents(t *testing.T, dist string) {
	t.Helper()
	for _, name := range []string{"manager", "measurer", "vnf", "endpoint", "neighbor"} {
		for _, architecture := range architectures() {
			base := filepath.Join(dist, fmt.Sprintf("vnfbench-%s-%s-linux-%s", name, version, architecture))
			if out := run(t, dist, os.Getenv("LAB"), "images", base+".oci.tar"); !strings.Contains(out, architecture) || !strings.Contains(out, "localhost/vnfbench/"+name+":"+version) {
				t.Errorf("%s: %s", base, out)
			}
			var bill struct {
				Version  string `json:"spdxVersion"`
				Packages []struct {
					Name string `json:"name"`
				} `json:"packages"`
			}
			text, err := os.ReadFile(base + ".spdx.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &bill); err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, p := range bill.Packages {
				found[p.Name] = true
			}
			want := map[string]string{"manager": "sigs.k8s.io/controller-runtime", "measurer": "github.com/cilium/ebpf", "vnf": "github.com/vishvananda/netlink", "endpoint": "iperf3", "neighbor": "stress-ng"}[name]
			if !found[want] || !found["stdlib"] || !strings.HasPrefix(bill.Version, "SPDX-2") {
				t.Errorf("the bill of materials of %s for %s has no %s, or not Go's own library, among %d packages", name, architecture, want, len(found))
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(dist, "vnfbench-install-"+version+".yaml"))
	if err != nil || !bytes.Contains(text, []byte("image: registry.example.com/lab/vnfbench/manager:"+version)) {
		t.Errorf("the manifests do not name the release's image: %v", err)
	}
	krew, err := os.ReadFile(filepath.Join(dist, "vnfbench.krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if sums := regexp.MustCompile(`sha256: [0-9a-f]{64}\n`).FindAll(krew, -1); len(sums) != platforms() {
		t.Errorf("krew's manifest has %d platforms", len(sums))
	}
	if out := run(t, dist, "tar", "-tzf", "vnfbench-chart-"+version+".tgz"); strings.Contains(out, "tests/") || !strings.Contains(out, "vnfbench/files/crds/") {
		t.Errorf("the chart's package holds:\n%s", out)
	}
}

// refused changes one byte, then the checksums too: neither is accepted.
func refused(t *testing.T, page *guide.Guide, dist string) {
	t.Helper()
	chart, sums := filepath.Join(dist, "vnfbench-chart-"+version+".tgz"), filepath.Join(dist, "SHA256SUMS")
	for _, path := range []string{chart, sums} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(bytes.Clone(before), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := page.Try(t, "Verify", 0); err == nil {
			t.Errorf("a changed %s was accepted: %s", filepath.Base(path), out)
		}
		if err := os.WriteFile(path, before, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// serve runs a registry on loopback, and ends it with the test.
func serve(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close() // the registry takes the port
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, os.Getenv("CRANE"), "registry", "serve", "--address", address, "--disk", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	for range 100 {
		if connection, err := net.Dial("tcp", address); err == nil {
			_ = connection.Close()
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no registry listens on %s", address)
	return ""
}

// pushed compares the registry with the values that push.sh has printed, and the
// chart with both.
func pushed(t *testing.T, folder, registry string) {
	t.Helper()
	rendered := run(t, folder, "helm", "template", "vnfbench", "dist/vnfbench-chart-"+version+".tgz", "--kube-version", "1.34.0", "-f", "values.yaml")
	for _, name := range []string{"manager", "measurer", "vnf", "endpoint", "neighbor"} {
		reference := fmt.Sprintf("%s/lab/vnfbench/%s", registry, name)
		digest := strings.TrimSpace(run(t, folder, "crane", "digest", reference+":"+version))
		if !strings.Contains(rendered, reference+"@"+digest) {
			t.Errorf("the chart with the printed values does not name %s@%s", reference, digest)
		}
		for _, architecture := range architectures() {
			var config struct {
				Architecture string `json:"architecture"`
			}
			if err := json.Unmarshal([]byte(run(t, folder, "crane", "config", "--platform", "linux/"+architecture, reference+":"+version)), &config); err != nil || config.Architecture != architecture {
				t.Errorf("%s for %s is for %q: %v", reference, architecture, config.Architecture, err)
			}
		}
	}
}

func run(t *testing.T, folder, name string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, arguments...)
	cmd.Dir = folder
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(arguments, " "), err, out, errors.Bytes())
	}
	return string(out)
}
