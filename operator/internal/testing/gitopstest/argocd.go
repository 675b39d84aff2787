package gitopstest

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var update = flag.Bool("update", false, "write the golden files again")

// ArgoCD is an object in one state, and what Argo CD must show of it.
type ArgoCD struct {
	// Health is one of Argo CD's own words.
	Health string `json:"health"`
	// Message is shown with it.
	Message string `json:"message"`
	// Object is the object that the operator's code makes.
	Object *unstructured.Unstructured `json:"object"`
}

// The recorded messages that do not come from the operator.
const (
	// UnseenMessage is the scripts' message while the operator has not seen an object, or its
	// latest generation.
	UnseenMessage = "waiting for the operator"
	// DeletedMessage is Argo CD's for an object that is being deleted; it runs no script then.
	DeletedMessage = "Pending deletion"
)

// judged returns an object with the parts that decide its health: without spec and figures, so that
// other fields do not change what is recorded.
func judged(object *unstructured.Unstructured) *unstructured.Unstructured {
	all := object.Object
	some := map[string]any{"apiVersion": all["apiVersion"], "kind": all["kind"], "metadata": all["metadata"]}
	if status, is := all["status"].(map[string]any); is {
		some["status"] = map[string]any{"conditions": status["conditions"], "observedGeneration": status["observedGeneration"]}
	}
	return &unstructured.Unstructured{Object: some}
}

// CompareArgoCD compares states of one kind, by their names, with those recorded in
// test/fixtures/argocd/KIND.json; with -update it writes them. So test/argocd gives Argo CD exactly
// the status that the operator's code makes.
func CompareArgoCD(t *testing.T, kind string, states map[string]ArgoCD) {
	t.Helper()
	states = maps.Clone(states)
	for name, state := range states {
		state.Object = judged(state.Object)
		states[name] = state
	}
	got, err := json.MarshalIndent(states, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join(top(t), "test/fixtures/argocd", kind+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s is not what the operator's code gives now; run this test with -update, and then make test-argocd", path)
	}
}
