package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vnfbench.io/test/e2e/guide"
)

// images are those of an installation: the targets of the Containerfile.
var images = []string{"manager", "measurer", "vnf", "endpoint", "neighbor", "results"}

// TestContainerfile builds each image by buildah and by the scripts of a release, and compares every file and the configuration.
func TestContainerfile(t *testing.T) {
	if os.Getenv("VNFBENCH_CONTAINERFILE_TEST") != "1" {
		t.Skip("NOT RUN: it builds every image twice: make test-containerfile")
	}
	base := os.Getenv("BASE")
	if base == "" {
		base = "localhost/vnfbench-base:test"
		command(t, "test/scripts/container-base.sh", base)
	}
	for _, architecture := range architectures() {
		packed := t.TempDir()
		command(t, "test/scripts/release-images.sh", version, architecture, packed)
		for _, name := range images {
			archive := filepath.Join(t.TempDir(), name+".oci.tar")
			tag := fmt.Sprintf("localhost/vnfbench-%s:%s", name, architecture)
			command(t, "buildah", "build", "--layers", "--isolation", "chroot", "--identity-label=false", "--platform", "linux/"+architecture,
				"--volume", goEnv(t, "GOMODCACHE")+":/root/go/pkg/mod", "--volume", goEnv(t, "GOCACHE")+":/root/.cache/go-build", "--build-arg", "BASE="+base, "--build-arg", "VERSION="+version,
				"--file", "operator/images/Containerfile", "--target", name, "--tag", tag, ".")
			command(t, "buildah", "push", tag, "oci-archive:"+archive)
			got := readImage(t, archive)
			want := readImage(t, filepath.Join(packed, fmt.Sprintf("vnfbench-%s-%s-linux-%s.oci.tar", name, version, architecture)))
			if got.Config != want.Config {
				t.Errorf("%s for %s by the Containerfile has the configuration\n%s\nand the release's\n%s", name, architecture, got.Config, want.Config)
			}
			for _, line := range difference(got.Files, want.Files) {
				t.Errorf("%s for %s: only by the Containerfile: %s", name, architecture, line)
			}
			for _, line := range difference(want.Files, got.Files) {
				t.Errorf("%s for %s: only in the release: %s", name, architecture, line)
			}
			if len(want.Files) < 2 {
				t.Errorf("%s for %s has %d files", name, architecture, len(want.Files))
			}
			t.Logf("%s for %s: %d files compared", name, architecture, len(want.Files))
		}
	}
}

// goEnv returns a variable of this machine's Go: the builds share its caches.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// command runs a command at the top of the repository.
func command(t *testing.T, name string, arguments ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, arguments...)
	cmd.Dir = guide.Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, out)
	}
}

// contentsOf is what an image has, in a form that can be compared.
type contentsOf struct {
	// Files has a line for each file, link and folder: kind, mode, owner, path, and the digest or target. A builder may put the kind into the mode too.
	Files []string
	// Config is the architecture, the user, the entrypoint, the environment and the labels.
	Config string
}

// readImage reads an OCI archive of one image.
func readImage(t *testing.T, archive string) contentsOf {
	t.Helper()
	blobs := map[string][]byte{}
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	entries(t, file, func(header *tar.Header, content []byte) { blobs[filepath.Clean(header.Name)] = content })
	blob := func(digest string) []byte {
		data, found := blobs["blobs/"+strings.Replace(digest, ":", "/", 1)]
		if !found {
			t.Fatalf("%s has no %s", archive, digest)
		}
		return data
	}
	type reference struct {
		Digest string `json:"digest"`
	}
	var index struct {
		Manifests []reference `json:"manifests"`
	}
	unmarshal(t, blobs["index.json"], &index)
	if len(index.Manifests) != 1 {
		t.Fatalf("%s has %d manifests", archive, len(index.Manifests))
	}
	var manifest struct {
		Config reference   `json:"config"`
		Layers []reference `json:"layers"`
	}
	unmarshal(t, blob(index.Manifests[0].Digest), &manifest)
	var config struct {
		Architecture string `json:"architecture"`
		Config       struct {
			User       string
			Entrypoint []string
			Cmd        []string
			Env        []string
			WorkingDir string
			Labels     map[string]string
		} `json:"config"`
	}
	unmarshal(t, blob(manifest.Config.Digest), &config)
	// A builder may write the root as the folder that an image starts in; that is what an absent one means.
	if config.Config.WorkingDir == "/" {
		config.Config.WorkingDir = ""
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, layer := range manifest.Layers {
		unpacked, err := gzip.NewReader(bytes.NewReader(blob(layer.Digest)))
		if err != nil {
			t.Fatalf("a layer of %s: %v", archive, err)
		}
		entries(t, unpacked, func(header *tar.Header, content []byte) {
			path := filepath.Clean("/" + header.Name)
			if path == "/" {
				return
			}
			detail := header.Linkname
			if header.Typeflag == tar.TypeReg {
				detail = fmt.Sprintf("sha256:%x", sha256.Sum256(content))
			}
			lines[path] = fmt.Sprintf("%c %04o %d:%d %s %s", header.Typeflag, header.Mode&0o7777, header.Uid, header.Gid, path, detail)
		})
	}
	var files []string
	for _, line := range lines {
		files = append(files, line)
	}
	slices.Sort(files)
	return contentsOf{Files: files, Config: string(text)}
}

// entries calls visit for each entry of a tar archive.
func entries(t *testing.T, archive io.Reader, visit func(*tar.Header, []byte)) {
	t.Helper()
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		visit(header, content)
	}
}

func unmarshal(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}

// difference returns the lines of one list that the other does not have.
func difference(one, other []string) []string {
	var only []string
	for _, line := range one {
		if _, found := slices.BinarySearch(other, line); !found {
			only = append(only, line)
		}
	}
	return only
}
