package chain_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/golden"
	"vnfbench.io/operator/internal/testing/plantest"
)

func mustMake(t *testing.T, in plan.Input) *plan.Plan {
	t.Helper()
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// objectsOf returns all objects of a run.
func objectsOf(p *plan.Plan) []chain.Object {
	workloads := chain.Render(p, plantest.Issuer())
	objects := append([]chain.Object{chain.PlanConfigMap(p), chain.ResultsConfigMap(p)}, workloads[0].Needs...)
	for _, w := range workloads[1:] {
		objects = append(objects, w.Objects()...)
	}
	return append(objects, workloads[0].Object)
}

// ruleOf returns whose requests a run's agents answer.
func ruleOf(p *plan.Plan) *caller.Rule {
	issuer := plantest.Issuer()
	return &caller.Rule{
		Issuer: issuer.URL, Keys: issuer.Keys, Audience: "vnfbench.io/run/" + string(p.Run.UID),
		Subject: "system:serviceaccount:" + plantest.Namespace + ":" + p.Names().ServiceAccount,
	}
}

func render(t *testing.T, objects []chain.Object) []byte {
	t.Helper()
	var documents bytes.Buffer
	for _, object := range objects {
		content, err := chain.Unstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(content.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&documents, "---\n%s", text)
	}
	return documents.Bytes()
}

// parts returns objects as the documents of a golden file. If an object has a part of the
// plan word for word, its document names the part instead of the text: the golden files of
// internal/plan have the text.
func parts(t *testing.T, objects []chain.Object, p *plan.Plan) map[string]string {
	t.Helper()
	copies := map[string]string{}
	note := func(part string, value any) {
		text, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		copies[string(text)+"\n"] = part
		copies[base64.StdEncoding.EncodeToString(append(text, '\n'))] = part + ", in base64"
	}
	note("the plan", p)
	note("the plan's instructions", p.Instructions)
	for _, function := range p.Functions {
		note("the plan's config of function "+function.Name, function.Config)
		function.Config.Caller = ruleOf(p)
		note("the plan's config of function "+function.Name+" with its caller", function.Config)
	}
	for _, end := range p.Endpoints {
		note("the plan's config of endpoint "+end.Config.Name, end.Config)
	}
	documents := map[string]string{}
	for _, object := range objects {
		content, err := chain.Unstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		if data, is := content.Object["data"].(map[string]any); is {
			for key, value := range data {
				if part, is := copies[value.(string)]; is {
					data[key] = "(" + part + ")"
				} else if text, err := base64.StdEncoding.DecodeString(value.(string)); err == nil && json.Valid(text) {
					data[key] = string(text)
				}
			}
		}
		text, err := yaml.Marshal(unfolded(content.Object))
		if err != nil {
			t.Fatal(err)
		}
		name := content.GetKind() + "/" + content.GetName()
		if _, is := documents[name]; is {
			t.Errorf("%s is there twice", name)
		}
		documents[name] = string(text)
	}
	return documents
}

// unfolded returns a value with the JSON in its strings as fields, so that people can read
// it.
func unfolded(value any) any {
	switch value := value.(type) {
	case map[string]any:
		fields := map[string]any{}
		for key, inner := range value {
			var content any
			if text, is := inner.(string); is && strings.ContainsAny(text, "{[") && json.Unmarshal([]byte(text), &content) == nil {
				key, inner = key+" (JSON)", content
			}
			fields[key] = unfolded(inner)
		}
		return fields
	case []any:
		elements := make([]any, len(value))
		for i, inner := range value {
			elements[i] = unfolded(inner)
		}
		return elements
	}
	return value
}

// TestGolden compares every object of every case. To write the files again, and
// those of the plans: go test ./internal/plan ./internal/chain -run Golden -update
func TestGolden(t *testing.T) {
	var goldens []golden.Golden
	for _, c := range plantest.Cases() {
		p := mustMake(t, c.Input())
		goldens = append(goldens, golden.Golden{Name: c.Name, Base: c.Base, Documents: parts(t, objectsOf(p), p)})
	}
	in := plantest.Input(1)
	cleanup := []chain.Object{chain.BridgeCleanup(in.Testbed, plantest.Namespace, "node-a", in.Defaults)}
	goldens = append(goldens, golden.Golden{Name: "cleanup", Documents: parts(t, cleanup, &plan.Plan{})})
	golden.Compare(t, "testdata", goldens)
}

// TestStoredPlan checks that the controller renders from the plan that it reads back.
func TestStoredPlan(t *testing.T) {
	for _, c := range plantest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			p := mustMake(t, c.Input())
			back, err := plan.Parse([]byte(chain.PlanConfigMap(p).Data[plan.KeyPlan]))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(render(t, objectsOf(p))), string(render(t, objectsOf(back)))); diff != "" {
				t.Errorf("the objects differ (-made +read back):\n%s", diff)
			}
		})
	}
}
