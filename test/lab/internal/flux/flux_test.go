package flux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// made is a controller whose module has one kind.
func made(t *testing.T, name string) controller {
	t.Helper()
	source := t.TempDir()
	bases := filepath.Join(source, "config/crd/bases")
	if err := os.MkdirAll(bases, 0o755); err != nil {
		t.Fatal(err)
	}
	kind := "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: of-" + name + "\n"
	if err := os.WriteFile(filepath.Join(bases, "kind.yaml"), []byte(kind), 0o644); err != nil {
		t.Fatal(err)
	}
	return controller{Name: name, Version: "v1.2.3", binaries: "/cache/flux-0a1b2c3d", source: source}
}

// object is what the tests look at.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Image string
					Args  []string
				}
			}
		}
	}
}

func TestManifest(t *testing.T) {
	var all []controller
	for _, group := range controllers {
		for _, name := range group.names {
			all = append(all, made(t, name))
		}
	}
	text, err := render(all)
	if err != nil {
		t.Fatal(err)
	}
	images, kinds := map[string]string{}, map[string]int{}
	for _, document := range strings.Split(text, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		kinds[o.Kind]++
		for _, c := range o.Spec.Template.Spec.Containers {
			images[o.Metadata.Name] = c.Image
			cancels := strings.Contains(strings.Join(c.Args, " "), "CancelHealthCheckOnNewRevision=true")
			if cancels != (o.Metadata.Name == "kustomize-controller") {
				t.Errorf("%s has the arguments %v", o.Metadata.Name, c.Args)
			}
		}
	}
	want := map[string]int{
		"CustomResourceDefinition": 4, "Namespace": 1, "ServiceAccount": 1, "ClusterRoleBinding": 1, "Service": 2, "Deployment": 4,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("unexpected objects (-want +got):\n%s", diff)
	}
	for _, c := range all {
		if images[c.Name] != c.Image() || !strings.HasPrefix(c.Image(), "localhost/flux/"+c.Name+":v1.2.3-") {
			t.Errorf("%s runs %q, want %q", c.Name, images[c.Name], c.Image())
		}
	}
}

func TestModuleWithoutKinds(t *testing.T) {
	c := made(t, "source-controller")
	c.source = t.TempDir()
	if _, err := render([]controller{c}); err == nil || !strings.Contains(err.Error(), "source-controller has no kinds") {
		t.Errorf("the error is %v", err)
	}
}

func TestImageFollowsTheBinaries(t *testing.T) {
	before := made(t, "source-controller")
	after := before
	after.binaries = "/cache/flux-4e5f6071"
	if before.Image() == after.Image() {
		t.Errorf("other binaries have the same image, %s", before.Image())
	}
}
