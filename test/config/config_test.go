// Package config checks config/: that config/default gives the objects that the
// chart gives with its defaults, so that neither misses a change of the other, and that
// Flux and Argo CD can read config/gitops.
package config

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const (
	top       = "../.."
	namespace = "vnfbench-system"
)

type object = map[string]any

// The whole of what may differ. Everything else is an error.
var explained = []struct {
	why   string
	chart func(id string, o object) (keep bool)
	plain func(id string, o object) (keep bool)
}{{
	why:   "Helm makes the namespace itself (--create-namespace), and its Pod Security level is the installer's",
	plain: func(id string, _ object) bool { return id != "Namespace//"+namespace },
}, {
	why: "these labels name Helm, which is not there",
	chart: func(_ string, o object) bool {
		for _, metadata := range metadataOf(o) {
			drop(metadata, "labels", "app.kubernetes.io/managed-by", "helm.sh/chart")
		}
		return true
	},
}, {
	why: "the chart leaves CRDs as they are generated, except for the annotation that keeps them when it is uninstalled; kustomize labels all objects",
	chart: func(id string, o object) bool {
		if strings.HasPrefix(id, "CustomResourceDefinition/") {
			drop(metadataOf(o)[0], "annotations", "helm.sh/resource-policy")
		}
		return true
	},
	plain: func(id string, o object) bool {
		if strings.HasPrefix(id, "CustomResourceDefinition/") {
			delete(metadataOf(o)[0], "labels")
		}
		return true
	},
}, {
	why: "flags of images are separate from their values, so that config/images can replace registry and tag",
	plain: func(id string, o object) bool {
		if strings.HasPrefix(id, "Deployment/") {
			container := at(o, "spec", "template", "spec")["containers"].([]any)[0].(object)
			container["args"] = joined(container["args"].([]any))
		}
		return true
	},
}}

// metadataOf are an object's metadata, and its pods' when it has a template.
func metadataOf(o object) []object {
	found := []object{at(o, "metadata")}
	if template := at(o, "spec", "template"); template != nil {
		found = append(found, at(template, "metadata"))
	}
	return found
}

func at(o object, path ...string) object {
	for _, name := range path {
		o, _ = o[name].(object)
	}
	return o
}

// drop removes keys of a map in metadata, and the map when nothing is left.
func drop(metadata object, name string, keys ...string) {
	values := at(metadata, name)
	for _, key := range keys {
		delete(values, key)
	}
	if len(values) == 0 {
		delete(metadata, name)
	}
}

// joined writes "--flag", "value" as "--flag=value".
func joined(args []any) []any {
	var one []any
	for i := 0; i < len(args); i++ {
		arg := args[i].(string)
		if !strings.Contains(arg, "=") && i+1 < len(args) {
			i++
			arg += "=" + args[i].(string)
		}
		one = append(one, arg)
	}
	return one
}

// output runs a tool whose path is in an environment variable.
func output(t *testing.T, variable string, args ...string) []byte {
	t.Helper()
	tool := os.Getenv(variable)
	if tool == "" {
		t.Fatalf("%s is not set: its value is the tool's path (make test-chart sets it)", variable)
	}
	command := exec.Command(tool, args...)
	var errors bytes.Buffer
	command.Stderr = &errors
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, errors.String())
	}
	return out
}

// objects are the objects of a YAML stream by KIND/NAMESPACE/NAME.
func objects(t *testing.T, stream []byte) map[string]object {
	t.Helper()
	found := map[string]object{}
	for document := range bytes.SplitSeq(append([]byte("\n"), stream...), []byte("\n---\n")) {
		var o object
		if err := yaml.Unmarshal(document, &o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if o == nil {
			continue
		}
		metadata := at(o, "metadata")
		space, _ := metadata["namespace"].(string)
		id := fmt.Sprintf("%s/%s/%s", o["kind"], space, metadata["name"])
		if found[id] != nil {
			t.Fatalf("%s is there twice", id)
		}
		found[id] = o
	}
	return found
}

func chart(t *testing.T, args ...string) map[string]object {
	t.Helper()
	return objects(t, output(t, "HELM", append([]string{"template", "vnfbench", filepath.Join(top, "charts/vnfbench"),
		"--namespace", namespace, "--kube-version", "1.34.0", "--skip-tests"}, args...)...))
}

// without takes the explained differences out of both sides.
func without(chart, plain map[string]object) {
	for _, one := range explained {
		for id, o := range chart {
			if one.chart != nil && !one.chart(id, o) {
				delete(chart, id)
			}
		}
		for id, o := range plain {
			if one.plain != nil && !one.plain(id, o) {
				delete(plain, id)
			}
		}
	}
}

func TestDefaultIsAsTheChart(t *testing.T) {
	want := chart(t, "--set", "image.registry=registry.example.com/lab")
	got := objects(t, output(t, "KUSTOMIZE", "build", filepath.Join(top, "config/default")))
	if len(want) < 15 {
		t.Fatalf("the chart gives only %d objects", len(want))
	}
	without(want, got)
	same(t, want, got)
}

// same names each object that differs.
func same(t *testing.T, chart, plain map[string]object) {
	t.Helper()
	ids := maps.Clone(chart)
	maps.Copy(ids, plain)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if diff := cmp.Diff(chart[id], plain[id]); diff != "" {
			t.Errorf("%s of config/default (+) differs from the chart's (-); correct the one that is wrong:\n%s", id, diff)
		}
	}
}

// TestExplanationsAreNeeded checks that each explanation still explains something: without it, the sides differ.
func TestExplanationsAreNeeded(t *testing.T) {
	all := explained
	t.Cleanup(func() { explained = all })
	for i, one := range all {
		explained = append(append(explained[:0:0], all[:i]...), all[i+1:]...)
		want := chart(t, "--set", "image.registry=registry.example.com/lab")
		got := objects(t, output(t, "KUSTOMIZE", "build", filepath.Join(top, "config/default")))
		without(want, got)
		if cmp.Equal(want, got) {
			t.Errorf("nothing now differs that is explained by: %s", one.why)
		}
	}
}

// TestOverlaySetsEveryImage checks that an overlay of one's own sets registry and tag in one place, whatever they look like.
func TestOverlaySetsEveryImage(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(filepath.Join(top, "config"))
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Rel(folder, here)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(here, "default", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, text := range map[string]string{
		"kustomization.yaml": strings.NewReplacer("../base", base+"/base", "../images", base+"/images").Replace(read("kustomization.yaml")),
		"images.yaml":        strings.NewReplacer("registry.example.com/lab", "localhost:5000/a/b", `"0.1.0"`, `"20261120"`).Replace(read("images.yaml")),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := chart(t, "--set", "image.registry=localhost:5000/a/b", "--set-string", "image.tag=20261120")
	got := objects(t, output(t, "KUSTOMIZE", "build", folder))
	without(want, got)
	same(t, want, got)
}
