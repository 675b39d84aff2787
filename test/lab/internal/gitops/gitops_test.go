package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"vnfbench.io/test/lab/internal/image"
)

// made returns the programs of a tool, whose modules have one kind each.
func made(t *testing.T, tool Tool) []controller {
	t.Helper()
	var all []controller
	for _, p := range tool.programs {
		source := t.TempDir()
		file := filepath.Join(source, strings.ReplaceAll(tool.kinds, "*", "kind"))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		kind := "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: of-" + p.name + "\n"
		if err := os.WriteFile(file, []byte(kind), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := tool.describe(p, "v1.2.3", source, "/cache/"+tool.Name+"-0a1b2c3d", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// container is what the tests look at of one.
type container struct {
	Image   string
	Command []string
	Args    []string
}

// object is what the tests look at.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct{ Containers []container }
		}
	}
}

// manifest returns the numbers of objects of each kind, and the containers by their Deployments' names.
func manifest(t *testing.T, tool Tool, all []controller) (map[string]int, map[string][]container) {
	t.Helper()
	text, err := render(tool, all)
	if err != nil {
		t.Fatal(err)
	}
	kinds, containers := map[string]int{}, map[string][]container{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		kinds[o.Kind]++
		if o.Kind == "Deployment" {
			containers[o.Metadata.Name] = o.Spec.Template.Spec.Containers
		}
	}
	return kinds, containers
}

func TestFlux(t *testing.T) {
	all := made(t, Flux)
	kinds, deployed := manifest(t, Flux, all)
	want := map[string]int{
		"CustomResourceDefinition": 4, "Namespace": 1, "ServiceAccount": 1, "ClusterRoleBinding": 1, "Service": 2, "Deployment": 4,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("unexpected objects (-want +got):\n%s", diff)
	}
	for _, c := range all {
		containers := deployed[c.Name]
		if len(containers) != 1 || containers[0].Image != c.Image || !strings.HasPrefix(c.Image, "localhost/flux/"+c.Name+":v1.2.3-") {
			t.Errorf("%s has %+v, want the image %q", c.Name, containers, c.Image)
			continue
		}
		cancels := strings.Contains(strings.Join(containers[0].Args, " "), "CancelHealthCheckOnNewRevision=true")
		if cancels != (c.Name == "kustomize-controller") {
			t.Errorf("%s has the arguments %v", c.Name, containers[0].Args)
		}
	}
}

func TestArgoCD(t *testing.T) {
	all := made(t, ArgoCD)
	kinds, deployed := manifest(t, ArgoCD, all)
	want := map[string]int{
		"CustomResourceDefinition": 1, "Namespace": 1, "ServiceAccount": 1, "ClusterRoleBinding": 1, "ConfigMap": 1, "Secret": 1, "AppProject": 1, "Deployment": 1,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("unexpected objects (-want +got):\n%s", diff)
	}
	programs := map[string]bool{}
	for _, c := range deployed["argocd"] {
		if c.Image != all[0].Image || len(c.Command) == 0 {
			t.Fatalf("a container is %+v, want the image %q and a command", c, all[0].Image)
		}
		programs[c.Command[0]] = true
	}
	for name := range ArgoCD.links {
		if path := "/usr/local/bin/" + name; !programs[path] || all[0].spec.Links[path] != "argocd" {
			t.Errorf("no container runs %s, a link to argocd: %v, %v", path, programs, all[0].spec.Links)
		}
	}
}

func TestModuleWithoutKinds(t *testing.T) {
	all := made(t, Flux)
	all[2].source = t.TempDir()
	if _, err := render(Flux, all); err == nil || !strings.Contains(err.Error(), "source-controller has no kinds") {
		t.Errorf("the error is %v", err)
	}
}

// TestImageFollowsItsContent checks that other content is another image, so that nothing old runs.
func TestImageFollowsItsContent(t *testing.T) {
	helm := filepath.Join(t.TempDir(), "helm")
	content := func(text string) []image.File {
		t.Helper()
		if err := os.WriteFile(helm, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return []image.File{{Source: helm, Destination: "helm"}}
	}
	seen := map[string]string{}
	for _, test := range []struct {
		name, binaries, tree, helm string
	}{
		{"first", "argocd-01", "rootfs-01", "3.1"},
		{"other binaries", "argocd-02", "rootfs-01", "3.1"},
		{"another tree", "argocd-01", "rootfs-02", "3.1"},
		{"another helm", "argocd-01", "rootfs-01", "3.2"},
	} {
		c, err := ArgoCD.describe(ArgoCD.programs[0], "v1.2.3", "", "/cache/"+test.binaries, "/cache/"+test.tree, content(test.helm))
		if err != nil {
			t.Fatal(err)
		}
		if before, found := seen[c.Image]; found {
			t.Errorf("%s and %s have one image, %s", before, test.name, c.Image)
		}
		seen[c.Image] = test.name
		if last := c.spec.Files[len(c.spec.Files)-1]; last.Destination != "/usr/local/bin/helm" {
			t.Errorf("helm is %+v", last)
		}
	}
	if _, err := ArgoCD.describe(ArgoCD.programs[0], "v1.2.3", "", "", "", []image.File{{Source: helm + "-none", Destination: "helm"}}); err == nil {
		t.Error("a program that is not there is no error")
	}
}
