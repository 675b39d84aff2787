package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"vnfbench.io/test/lab/internal/image"
)

// source makes a tree with the properties that differ between file systems: modes, links, times.
func source(t *testing.T, made time.Time) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"bin/tool": 0o775, "etc/conf": 0o664} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o775); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, made, made); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "tmp"), 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tool", filepath.Join(dir, "bin/alias")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func build(t *testing.T, spec image.Spec) (archive []byte, digest v1.Hash) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image.tar")
	digest, err := image.Build(spec, out)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data, digest
}

func specOf(dir string) image.Spec {
	return image.Spec{
		Tag:          "localhost/x:dev",
		Root:         dir,
		Files:        []image.File{{Source: filepath.Join(dir, "bin/tool"), Destination: "/opt/deep/manager"}},
		Links:        map[string]string{"/opt/link": "deep/manager"},
		Entrypoint:   []string{"/opt/deep/manager"},
		User:         "65532:65532",
		WorkingDir:   "/srv",
		Env:          []string{"A=B"},
		Labels:       map[string]string{"org.opencontainers.image.version": "1"},
		Architecture: "amd64",
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	first, firstDigest := build(t, specOf(source(t, time.Unix(1, 0))))
	second, secondDigest := build(t, specOf(source(t, time.Unix(1e9, 0))))
	if firstDigest != secondDigest {
		t.Errorf("equal input has the digests %s and %s", firstDigest, secondDigest)
	}
	if !bytes.Equal(first, second) {
		t.Error("equal input has different archives")
	}
	changed := specOf(source(t, time.Unix(1, 0)))
	changed.User = "1"
	if _, digest := build(t, changed); digest == firstDigest {
		t.Error("different images have the same digest")
	}
}

func TestArchiveIsAnImageLayout(t *testing.T) {
	archive, digest := build(t, specOf(source(t, time.Now())))
	files := untar(t, archive)
	var index v1.IndexManifest
	unmarshal(t, files["index.json"], &index)
	if got := index.Manifests[0].Digest; got != digest {
		t.Errorf("the index leads to %s, not to %s", got, digest)
	}
	var manifest v1.Manifest
	unmarshal(t, blob(t, files, digest), &manifest)
	if got := int64(len(blob(t, files, digest))); got != index.Manifests[0].Size {
		t.Errorf("the manifest has %d bytes, its descriptor says %d", got, index.Manifests[0].Size)
	}
	var config v1.ConfigFile
	unmarshal(t, blob(t, files, manifest.Config.Digest), &config)
	want := v1.Config{
		Entrypoint: []string{"/opt/deep/manager"},
		User:       "65532:65532",
		WorkingDir: "/srv",
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "A=B"},
		Labels:     map[string]string{"org.opencontainers.image.version": "1"},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("unexpected configuration (-want +got):\n%s", diff)
	}
	if got := config.RootFS.DiffIDs; len(got) != 1 || got[0] != manifest.Layers[0].Digest {
		t.Errorf("the layer's content is %v, the layer %s", got, manifest.Layers[0].Digest)
	}
	checkLayer(t, blob(t, files, manifest.Layers[0].Digest))
}

// TestArchiveIsDockersToo reads archives as those that docker save writes.
func TestArchiveIsDockersToo(t *testing.T) {
	for _, compress := range []bool{false, true} {
		spec := specOf(source(t, time.Now()))
		spec.Aliases, spec.Compress = []string{"localhost/y:dev"}, compress
		archive, digest := build(t, spec)
		var manifest v1.Manifest
		unmarshal(t, blob(t, untar(t, archive), digest), &manifest)
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }
		for _, text := range []string{"localhost/x:dev", "localhost/y:dev"} {
			tag, err := name.NewTag(text)
			if err != nil {
				t.Fatal(err)
			}
			found, err := tarball.Image(open, &tag)
			if err != nil {
				t.Fatalf("%s: %v", tag, err)
			}
			if err := validate.Image(found); err != nil {
				t.Errorf("%s: %v", tag, err)
			}
			if got, err := found.ConfigName(); err != nil || got != manifest.Config.Digest {
				t.Errorf("%s has the configuration %s (%v), not %s", tag, got, err, manifest.Config.Digest)
			}
		}
	}
}

func checkLayer(t *testing.T, layer []byte) {
	t.Helper()
	type entry struct {
		Name, Link string
		Mode       int64
	}
	var got []entry
	walk(t, layer, func(h *tar.Header, _ []byte) {
		got = append(got, entry{h.Name, h.Linkname, h.Mode})
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 0 {
			t.Errorf("%s belongs to %d:%d %q and is of %s", h.Name, h.Uid, h.Gid, h.Uname, h.ModTime)
		}
	})
	want := []entry{
		{"bin/", "", 0o755},
		{"bin/alias", "tool", 0o755},
		{"bin/tool", "", 0o755},
		{"etc/", "", 0o755},
		{"etc/conf", "", 0o644},
		{"opt/", "", 0o755},
		{"opt/deep/", "", 0o755},
		{"opt/deep/manager", "", 0o755},
		{"opt/link", "deep/manager", 0o755},
		{"tmp/", "", 0o1777},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected layer (-want +got):\n%s", diff)
	}
}

func TestBuildFailsWithoutSource(t *testing.T) {
	_, err := image.Build(image.Spec{Tag: "x", Files: []image.File{{Source: "/nonexistent", Destination: "/x"}}}, filepath.Join(t.TempDir(), "x"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got the error %v", err)
	}
}

func TestTags(t *testing.T) {
	oci, _ := build(t, specOf(source(t, time.Now())))
	tests := map[string]struct {
		archive []byte
		want    []string
	}{
		"OCI":     {oci, []string{"localhost/x:dev"}},
		"Docker":  {tarOf(t, "manifest.json", `[{"RepoTags":["b:1","a:1"]}]`), []string{"a:1", "b:1"}},
		"neither": {tarOf(t, "README", "hello"), nil},
		"no name": {tarOf(t, "index.json", `{"manifests":[{}]}`), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "image.tar")
			if err := os.WriteFile(path, test.archive, 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := image.Tags(path)
			if (err == nil) != (test.want != nil) {
				t.Errorf("got the error %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("unexpected tags (-want +got):\n%s", diff)
			}
		})
	}
}

func tarOf(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func untar(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	walk(t, archive, func(h *tar.Header, data []byte) { files[h.Name] = data })
	return files
}

func walk(t *testing.T, archive []byte, visit func(*tar.Header, []byte)) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		visit(header, data)
	}
}

func blob(t *testing.T, files map[string][]byte, digest v1.Hash) []byte {
	t.Helper()
	data, found := files["blobs/"+strings.ReplaceAll(digest.String(), ":", "/")]
	if !found {
		t.Fatalf("there is no blob %s", digest)
	}
	return data
}

func unmarshal(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func TestImageHasSeveralNames(t *testing.T) {
	spec := specOf(source(t, time.Now()))
	spec.Aliases = []string{"localhost/y:dev", "localhost/z:dev"}
	out := filepath.Join(t.TempDir(), "image.tar")
	if _, err := image.Build(spec, out); err != nil {
		t.Fatal(err)
	}
	got, err := image.Tags(out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"localhost/x:dev", "localhost/y:dev", "localhost/z:dev"}, got); diff != "" {
		t.Errorf("unexpected names (-want +got):\n%s", diff)
	}
}

// TestCapabilities compares with what setcap(8) writes for
// cap_net_bind_service=ep.
func TestCapabilities(t *testing.T) {
	spec := specOf(source(t, time.Now()))
	spec.Capabilities = map[string]uint32{"/opt/deep/manager": 1 << 10}
	archive, digest := build(t, spec)
	files := untar(t, archive)
	var manifest v1.Manifest
	unmarshal(t, blob(t, files, digest), &manifest)
	layer := tar.NewReader(bytes.NewReader(blob(t, files, manifest.Layers[0].Digest)))
	given := map[string]string{}
	for {
		header, err := layer.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if set := header.PAXRecords["SCHILY.xattr.security.capability"]; set != "" {
			given[header.Name] = set
		}
	}
	want := map[string]string{"opt/deep/manager": "\x01\x00\x00\x02\x00\x04\x00\x00" + strings.Repeat("\x00", 12)}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("unexpected capabilities (-want +got):\n%s", diff)
	}
}

func TestCapabilitiesNeedAFile(t *testing.T) {
	for _, path := range []string{"/opt/deep", "/opt/link", "/nowhere"} {
		spec := specOf(source(t, time.Now()))
		spec.Capabilities = map[string]uint32{path: 1}
		if _, err := image.Build(spec, filepath.Join(t.TempDir(), "image.tar")); err == nil {
			t.Errorf("%s has capabilities now", path)
		}
	}
}

// TestCompress checks that a compressed layer is smaller, has the same content, and is named by
// both digests.
func TestCompress(t *testing.T) {
	spec := specOf(source(t, time.Unix(1, 0)))
	plain, _ := build(t, spec)
	spec.Compress = true
	archive, digest := build(t, spec)
	if again, _ := build(t, spec); !bytes.Equal(archive, again) {
		t.Error("equal input has different archives")
	}
	layerOf := func(archive []byte) (v1.ConfigFile, v1.Descriptor, []byte) {
		files := untar(t, archive)
		var index v1.IndexManifest
		unmarshal(t, files["index.json"], &index)
		var manifest v1.Manifest
		unmarshal(t, blob(t, files, index.Manifests[0].Digest), &manifest)
		var config v1.ConfigFile
		unmarshal(t, blob(t, files, manifest.Config.Digest), &config)
		return config, manifest.Layers[0], blob(t, files, manifest.Layers[0].Digest)
	}
	_, _, want := layerOf(plain)
	config, layer, zipped := layerOf(archive)
	if layer.MediaType != types.OCILayer || layer.Size != int64(len(zipped)) || len(zipped) >= len(want) {
		t.Errorf("the layer is %+v", layer)
	}
	reader, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(reader)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the layer holds something else: %v", err)
	}
	if sum, _, _ := v1.SHA256(bytes.NewReader(got)); config.RootFS.DiffIDs[0] != sum {
		t.Errorf("the configuration names the content %s, it is %s", config.RootFS.DiffIDs[0], sum)
	}
	path := filepath.Join(t.TempDir(), "x.tar")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	described, err := image.Describe(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(image.Description{Tag: "localhost/x:dev", Architecture: "amd64", User: "65532:65532", Digest: digest, Bytes: described.Bytes}, described); diff != "" || described.Bytes <= layer.Size {
		t.Errorf("it is described as %+v", described)
	}
}

func TestDescribeRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tar")
	if err := os.WriteFile(path, make([]byte, 1024), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Describe(path); err == nil || !strings.Contains(err.Error(), "is it an OCI archive") {
		t.Errorf("an empty archive: %v", err)
	}
}
