// Package release makes two releases of one tree and uses one of them as its
// documentation says. `make test-release` runs it; no cluster is needed.
package release

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vnfbench.io/test/e2e/guide"
)

const version = "0.0.1"

// architectures returns those of release.sh, or fewer if ARCHITECTURES is set.
func architectures() []string {
	if named := strings.Fields(os.Getenv("ARCHITECTURES")); len(named) > 0 {
		return named
	}
	return []string{"amd64", "arm64"}
}

// platforms returns the plugin's platforms of release.sh, or fewer if PLUGIN_PLATFORMS is set.
func platforms() []string {
	if named := strings.Fields(os.Getenv("PLUGIN_PLATFORMS")); len(named) > 0 {
		return named
	}
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}
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
	// The second release has one architecture, which is enough to compare.
	first := makeRelease(t, filepath.Join(t.TempDir(), "one"), strings.Join(architectures(), " "))
	second := makeRelease(t, filepath.Join(t.TempDir(), "another/place"), architectures()[0])
	compare(t, filepath.Join(first, "dist"), filepath.Join(second, "dist"))
	contents(t, filepath.Join(first, "dist"))
	asDocumented(t, first)
	plugins(t, filepath.Join(first, "dist"))

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
	pushedTRex(t, first, registry)
	published(t, page, first, registry)
	page.Whole(t,
		"Make a release 0: the test makes two by the same script",
		"By a container engine 0: make test-containerfile builds by the same Containerfile",
		"Publish 0: the registry on loopback has no login")

	air := guide.Open(t, "docs/how-to/air-gapped.md", first)
	plugin := t.TempDir()
	// The plugin runs without a cluster, and without kubectl.
	if out := air.Run(t, "The kubectl plugin", 0, "VERSION", version, "/usr/local/bin", plugin, "kubectl vnfbench --version", filepath.Join(plugin, "kubectl-vnfbench")+" --version"); !strings.Contains(out, version) {
		t.Errorf("the plugin of release %s calls itself %q", version, out)
	}
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

// makeRelease copies the tree, committed or not, and makes a release there.
func makeRelease(t *testing.T, folder, architectures string) string {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, guide.Root(t), "bash", "-euo", "pipefail", "-c",
		`git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done | tar --null -T - -cf - | tar -xf - -C "$0"`, folder)
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), "test/scripts/release.sh", version)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "DIRTY=1", "SOURCE_DATE_EPOCH=1700000000", "SOURCE_URL=https://github.example/example/vnfbench", "ARCHITECTURES="+architectures, "DIST="+filepath.Join(folder, "dist"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%.0f s: a release for %s\n%s", time.Since(began).Seconds(), architectures, out)
	return folder
}

// compare compares every file of the second release, except those that list all architectures.
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
	if err != nil || compared < 14+len(platforms()) {
		t.Fatalf("compared %d files: %v", compared, err)
	}
	t.Logf("%d files are equal in both", compared)
}

// contents checks the images, bills of materials, manifests and packages of a release.
func contents(t *testing.T, dist string) {
	t.Helper()
	for _, name := range images {
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
			want := map[string]string{"manager": "sigs.k8s.io/controller-runtime", "measurer": "github.com/cilium/ebpf", "vnf": "github.com/vishvananda/netlink", "endpoint": "iperf3", "neighbor": "stress-ng", "results": "gocloud.dev"}[name]
			if !found[want] || !found["stdlib"] || !strings.HasPrefix(bill.Version, "SPDX-2") {
				t.Errorf("the bill of materials of %s for %s has no %s, or not Go's own library, among %d packages", name, architecture, want, len(found))
			}
		}
	}
	chart := run(t, dist, os.Getenv("HELM"), "show", "chart", "vnfbench-chart-"+version+".tgz")
	for _, want := range []string{"image: registry.example.com/lab/vnfbench/measurer:" + version, "home: https://github.example/example/vnfbench", "artifacthub.io/crds:"} {
		if !strings.Contains(chart, want) {
			t.Errorf("the chart has no %q:\n%s", want, chart)
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
	if sums := regexp.MustCompile(`sha256: [0-9a-f]{64}\n`).FindAll(krew, -1); len(sums) != len(platforms()) {
		t.Errorf("krew's manifest has %d platforms", len(sums))
	}
	if !bytes.Contains(krew, []byte("  homepage: https://github.example/example/vnfbench\n")) {
		t.Errorf("krew's manifest has no homepage:\n%s", krew)
	}
	if out := run(t, dist, "tar", "-tzf", "vnfbench-chart-"+version+".tgz"); strings.Contains(out, "vnfbench/tests/") || !strings.Contains(out, "vnfbench/templates/tests/check.yaml") || !strings.Contains(out, "vnfbench/files/crds/") {
		t.Errorf("the chart's package holds:\n%s", out)
	}
}

// asDocumented compares users and sizes of the images with the page's table.
func asDocumented(t *testing.T, folder string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(folder, "docs/how-to/release.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z-]+) \| (\d+:\d+) \| (\d+) \|`).FindAllStringSubmatch(string(page), -1) {
		rows[row[1]] = row[2:]
	}
	archives, err := filepath.Glob(filepath.Join(folder, "dist/*.oci.tar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(run(t, folder, os.Getenv("LAB"), append([]string{"images"}, archives...)...)), "\n")
	if len(lines) != len(archives)+1 {
		t.Errorf("%d archives, and the list says:\n%s", len(archives), strings.Join(lines, "\n"))
	}
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		if len(fields) != 5 {
			t.Fatalf("not a name, an architecture, a size, a user and a digest: %s", line)
		}
		name := strings.TrimSuffix(filepath.Base(fields[0]), ":"+version)
		row := rows[name]
		if row == nil {
			t.Errorf("docs/how-to/release.md has no row for the image %s", name)
			continue
		}
		seen[name] = true
		size, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		most, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		if fields[3] != row[0] || size > most {
			t.Errorf("docs/how-to/release.md says user %s and at most %s MB of %s, and it is: %s", row[0], row[1], name, line)
		}
	}
	for name := range rows {
		if !seen[name] {
			t.Errorf("docs/how-to/release.md has a row for %s, of which there is no archive", name)
		}
	}
}

// plugins checks every archive of the plugin: a static program of the platform in the archive's
// name, with its completion and the license.
func plugins(t *testing.T, dist string) {
	t.Helper()
	for _, platform := range platforms() {
		system, architecture, _ := strings.Cut(platform, "/")
		folder := t.TempDir()
		run(t, dist, "tar", "-xzf", fmt.Sprintf("kubectl-vnfbench-%s-%s-%s.tar.gz", version, system, architecture), "-C", folder)
		for _, name := range []string{"LICENSE", "kubectl_complete-vnfbench"} {
			if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
				t.Errorf("plugin for %s: %v", platform, err)
			}
		}
		program, err := buildinfo.ReadFile(filepath.Join(folder, "kubectl-vnfbench"))
		if err != nil {
			t.Errorf("plugin for %s: %v", platform, err)
			continue
		}
		got := map[string]string{}
		for _, setting := range program.Settings {
			got[setting.Key] = setting.Value
		}
		if got["GOOS"] != system || got["GOARCH"] != architecture || got["CGO_ENABLED"] != "0" || !strings.HasSuffix(program.Path, "/kubectl-vnfbench") {
			t.Errorf("the archive for %s holds %s for %s/%s, CGO_ENABLED=%s", platform, program.Path, got["GOOS"], got["GOARCH"], got["CGO_ENABLED"])
		}
	}
}

// refused changes one byte, then the checksums too, and checks that both are refused.
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
// chart with both. The chart names the image of the results service only if it is enabled.
func pushed(t *testing.T, folder, registry string) {
	t.Helper()
	rendered := run(t, folder, "helm", "template", "vnfbench", "dist/vnfbench-chart-"+version+".tgz", "--kube-version", "1.34.0", "-f", "values.yaml", "--set", "results.enabled=true")
	for _, name := range images {
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

// published runs `make publish` as a job of CI would, and verifies what it pushed as a user does.
func published(t *testing.T, page *guide.Guide, folder, registry string) {
	t.Helper()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for name, value := range map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "example/vnfbench", "GITHUB_REF": "refs/tags/v" + version,
		"GITHUB_SHA": commit, "GITHUB_WORKFLOW_REF": "example/vnfbench/.github/workflows/release.yml@refs/tags/v" + version, "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1",
	} {
		t.Setenv(name, value)
	}
	pairs := []string{"registry.example.com", registry, "0.2.0", version}
	verify := append(slices.Clone(pairs), "-amd64", "-"+architectures()[0])
	// What `push.sh` pushed before has no signature.
	if out, err := page.Try(t, "Publish", 2, verify...); err == nil {
		t.Errorf("an image without a signature was accepted: %s", out)
	}
	t.Log(page.Run(t, "Publish", 1, pairs...))
	out := page.Run(t, "Publish", 2, verify...)
	predicates := map[string]string{}
	for line := range strings.Lines(out) {
		var envelope struct {
			Payload []byte `json:"payload"`
		}
		if json.Unmarshal([]byte(line), &envelope) != nil || len(envelope.Payload) == 0 {
			continue
		}
		var statement struct {
			PredicateType string          `json:"predicateType"`
			Predicate     json.RawMessage `json:"predicate"`
		}
		if err := json.Unmarshal(envelope.Payload, &statement); err != nil {
			t.Fatal(err)
		}
		predicates[statement.PredicateType] = string(statement.Predicate)
	}
	if got := predicates["https://slsa.dev/provenance/v1"]; !strings.Contains(got, commit) || !strings.Contains(got, "https://github.example/example/vnfbench/actions/runs/7/attempts/1") {
		t.Errorf("the provenance is %q", got)
	}
	if got := predicates["https://spdx.dev/Document"]; !strings.Contains(got, "sigs.k8s.io/controller-runtime") {
		t.Errorf("the bill of materials of the manager has %d bytes without controller-runtime", len(got))
	}
	for _, name := range images {
		reference := registry + "/lab/vnfbench/" + name + ":" + version
		run(t, folder, "cosign", "verify", "--key", "cosign.pub", "--insecure-ignore-tlog", reference)
	}
	run(t, folder, "cosign", "verify-blob", "--key", "cosign.pub", "--insecure-ignore-tlog", "--bundle", "dist/published/SHA256SUMS.bundle", "dist/SHA256SUMS")
	// The chart from the registry is the release's.
	pulled := t.TempDir()
	run(t, pulled, "helm", "pull", "--plain-http", "oci://"+registry+"/lab/vnfbench/charts/vnfbench", "--version", version)
	got, err := os.ReadFile(filepath.Join(pulled, "vnfbench-"+version+".tgz"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(folder, "dist/vnfbench-chart-"+version+".tgz"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the registry's chart has %d bytes and the release's %d: %v", len(got), len(want), err)
	}
	before, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(folder, "dist/published/values.yaml")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("make publish gives the values\n%s\nand push.sh\n%s", after, before)
	}
}

// pushedTRex runs `make push-trex`. Users bring the image with TRex, which contains a TRex release;
// here a small image has its name.
func pushedTRex(t *testing.T, folder, registry string) {
	t.Helper()
	bin := t.TempDir()
	push := func() ([]byte, error) {
		return exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", folder, "push-trex", "BIN="+bin, "CRANE="+os.Getenv("CRANE"), "REGISTRY="+registry+"/lab").CombinedOutput()
	}
	if out, err := push(); err == nil || !bytes.Contains(out, []byte("run make trex-image first")) {
		t.Errorf("make push-trex without an image: %v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(bin, "images"), 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(bin, "images/trex.tar")
	run(t, folder, os.Getenv("LAB"), "image", "--tag", "localhost/vnfbench/trex:v0.00", "--out", archive, "--entrypoint", `["/LICENSE"]`, "--user", "0:0", "LICENSE:/LICENSE")
	if out, err := push(); err != nil {
		t.Fatalf("make push-trex: %v\n%s", err, out)
	}
	digest := strings.TrimSpace(run(t, folder, "crane", "digest", registry+"/lab/vnfbench/trex:v0.00"))
	if list := run(t, folder, os.Getenv("LAB"), "images", archive); !strings.Contains(list, digest) {
		t.Errorf("the registry has %s, and the archive is\n%s", digest, list)
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
