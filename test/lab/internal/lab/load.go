package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/enter"
	"vnfbench.io/test/lab/internal/image"
)

// Load imports image archives into every node that runs.
func (l Lab) Load(ctx context.Context, archives []string) error {
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if _, err := l.Running(); err != nil {
		return err
	}
	return l.loadAll(ctx, archives)
}

// loadAll imports archives into every node that runs.
func (l Lab) loadAll(ctx context.Context, archives []string) error {
	known, err := l.members()
	if err != nil {
		return err
	}
	for _, m := range known {
		r, err := m.running()
		if errors.Is(err, ErrNotUp) {
			l.Log.Printf("nothing is loaded into %s, which does not run", m.node.Name())
			continue
		}
		if err != nil {
			return err
		}
		if err := m.takesImages(r); err != nil {
			return err
		}
		if err := m.loadArchives(ctx, r, archives); err != nil {
			return err
		}
	}
	return nil
}

// takesImages returns an error for a machine that runs no programs yet, as one that starts.
func (m member) takesImages(r record) error {
	if !m.node.Machine() {
		return nil
	}
	if err := m.askForShell(r); err != nil {
		return fmt.Errorf("nothing is loaded into %s, which runs no programs yet: run lab up, which waits until it is ready, and then lab load again: %w", m.node.Name(), err)
	}
	return nil
}

// archives lists the files of the images that every lab has.
func (a artifacts) archives() []string {
	files, _ := filepath.Glob(filepath.Join(a.images, "*.tar")) // the pattern is a good one
	return files
}

// loaded is what was imported under a tag: the archive's hash, and the digest that containerd gave
// the image.
type loaded struct {
	Archive string `json:"archive"`
	Digest  string `json:"digest"`
}

// loadArchives imports archives into the node, except what it has.
func (m member) loadArchives(ctx context.Context, r record, archives []string) error {
	known, err := m.readLoaded()
	if err != nil {
		return err
	}
	present, err := m.listImages(r)
	if err != nil {
		return err
	}
	for _, archive := range archives {
		tags, err := image.Tags(archive)
		if err != nil {
			return err
		}
		hash, err := hashFile(archive)
		if err != nil {
			return err
		}
		unchanged := !slices.ContainsFunc(tags, func(tag string) bool {
			return known[tag].Archive != hash || known[tag].Digest == "" || known[tag].Digest != present[tag].digest
		})
		if unchanged {
			m.lab.Log.Printf("%s is loaded already%s", strings.Join(tags, ", "), m.place())
			continue
		}
		if present, err = m.importArchive(ctx, r, archive, tags); err != nil {
			return err
		}
		for _, tag := range tags {
			known[tag] = loaded{hash, present[tag].digest}
			m.lab.Log.Printf("%s loaded%s, %s", tag, m.place(), present[tag].digest)
		}
		if err := m.writeJSON(loadedName, known); err != nil {
			return err
		}
	}
	return nil
}

// loadedName is the file in which a node's directory keeps what was imported.
const loadedName = "loaded.json"

// place says which node an image is in, in a message about it: it is mostly the only one.
func (m member) place() string {
	if m.node.ControlPlane() {
		return ""
	}
	return " in " + m.node.Name()
}

func (m member) readLoaded() (map[string]loaded, error) {
	known := map[string]loaded{}
	data, err := os.ReadFile(m.path(loadedName))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what was loaded: %w", err)
	}
	if err := json.Unmarshal(data, &known); err != nil {
		return nil, fmt.Errorf("reading what was loaded: %w", err)
	}
	return known, nil
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hashing an archive: %w", err)
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", fmt.Errorf("hashing the archive %q: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// importArchive imports an archive and waits until the kubelet can see its images: containerd's
// Kubernetes part gets them a moment later.
func (m member) importArchive(ctx context.Context, r record, archive string, tags []string) (map[string]nodeImage, error) {
	importInto := m.importStream
	if m.node.Machine() {
		importInto = m.importShared
	}
	if err := importInto(ctx, r, archive); err != nil {
		return nil, fmt.Errorf("importing %q: %w", archive, err)
	}
	var present map[string]nodeImage
	err := poll(ctx, 50*time.Millisecond, func(context.Context) (err error) {
		if present, err = m.listImages(r); err != nil {
			return err
		}
		for _, tag := range tags {
			if !present[tag].managed {
				return fmt.Errorf("containerd does not show the image %q", tag)
			}
		}
		return nil
	})
	return present, err
}

// importStream has containerd import an archive that it reads from this program.
func (m member) importStream(_ context.Context, r record, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = m.ctr(r, file, "images", "import", "-")
	return err
}

// nodeImage is an image as containerd lists it.
type nodeImage struct {
	digest string
	// managed images are known to containerd's Kubernetes part.
	managed bool
}

func (m member) listImages(r record) (map[string]nodeImage, error) {
	out, err := m.ctr(r, nil, "images", "list")
	if err != nil {
		return nil, fmt.Errorf("listing the node's images: %w", err)
	}
	return parseImages(out), nil
}

// parseImages reads the table of "ctr images list": the name comes first, the
// digest third and the labels last.
func parseImages(table string) map[string]nodeImage {
	images := map[string]nodeImage{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[2], "sha256:") {
			continue
		}
		labels := fields[len(fields)-1]
		images[fields[0]] = nodeImage{fields[2], strings.Contains(labels, "io.cri-containerd.image=managed")}
	}
	return images
}

// ctr runs containerd's client in the node, in the namespace that Kubernetes
// uses.
func (m member) ctr(r record, input io.Reader, args ...string) (string, error) {
	var out, errOut strings.Builder
	err := m.run(r, m.environment(), enter.Streams{In: input, Out: &out, Err: &errOut},
		append([]string{"ctr", "--namespace", "k8s.io"}, args...)...)
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), nil
}

func (m member) waitForContainerd(ctx context.Context, r record) error {
	return poll(ctx, 100*time.Millisecond, func(context.Context) error {
		if !r.Alive() {
			return m.notUp()
		}
		_, err := m.ctr(r, nil, "version")
		return err
	})
}

// environment returns the variables of what runs in the node. Without an administrator's kubeconfig, which
// a worker has none of, kubectl has the rights of the kubelet.
func (m member) environment() []string {
	client := "admin"
	if !m.node.ControlPlane() {
		client = "kubelet"
	}
	return []string{"PATH=" + config.Path(), "HOME=/root", "LANG=C.UTF-8", "KUBECONFIG=" + config.PKIDir + "/" + client + ".kubeconfig"}
}
