package plan_test

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/golden"
	"vnfbench.io/operator/internal/testing/plantest"
)

// documents returns a plan in parts: its instructions, each function, and the rest
// with the functions' names.
func documents(t *testing.T, p *plan.Plan) map[string]string {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal(p.JSON(), &content); err != nil {
		t.Fatal(err)
	}
	parts := map[string]any{"plan": content, "instructions": content["instructions"]}
	delete(content, "instructions")
	var names []string
	for i, function := range p.Functions {
		names = append(names, function.Name)
		parts["function/"+function.Name] = content["functions"].([]any)[i]
	}
	content["functions"] = names
	texts := map[string]string{}
	for name, part := range parts {
		text, err := yaml.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// TestGolden compares the plan of every case. To write the files again, and those
// of the objects: go test ./internal/plan ./internal/chain -run Golden -update
func TestGolden(t *testing.T) {
	var goldens []golden.Golden
	for _, c := range plantest.Cases() {
		p, err := plan.Make(c.Input())
		if err != nil {
			t.Fatal(err)
		}
		goldens = append(goldens, golden.Golden{Name: c.Name, Base: c.Base, Documents: documents(t, p)})
	}
	golden.Compare(t, "testdata", goldens)
}
