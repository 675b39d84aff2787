// Package gitopstest tells, for tests, what GitOps tools make of an object's
// status: by the scripts and expressions of config/gitops as they are there,
// and in the language that the tool embeds.
package gitopstest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

// Verdict is what the tools show of one object.
type Verdict struct {
	// Kstatus is what the library computes without any help.
	Kstatus status.Status
	// Flux is what healthCheckExprs give; Unknown where they cannot be
	// evaluated, and Flux asks again.
	Flux status.Status
	// ArgoCD is the health and its message.
	ArgoCD, ArgoCDMessage string
}

// Judge asks each tool about an object of a kind of this project.
func Judge(t *testing.T, kind string, object any) Verdict {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return JudgeContent(t, kind, content)
}

// JudgeContent is Judge for an object as the API server stores it.
func JudgeContent(t *testing.T, kind string, content map[string]any) Verdict {
	t.Helper()
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	verdict := Verdict{Kstatus: result.Status, Flux: flux(t, kind, content)}
	verdict.ArgoCD, verdict.ArgoCDMessage = argoCD(t, kind, content)
	return verdict
}

// read decodes a file of config/gitops, which is somewhere above the test.
func read(t *testing.T, name string, into any) {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, "config/gitops", name))
		switch {
		case err == nil:
			if err := yaml.Unmarshal(text, into); err != nil {
				t.Fatalf("config/gitops/%s: %v", name, err)
			}
			return
		case !errors.Is(err, fs.ErrNotExist) || folder == filepath.Dir(folder):
			t.Fatal(err)
		}
		folder = filepath.Dir(folder)
	}
}

// flux evaluates healthCheckExprs in the order of Flux's RFC 0009: a generation
// that was not observed, inProgress, failed, current, and else in progress. Like
// Flux it parses expressions without checking types, and gives them the object's
// fields as variables.
func flux(t *testing.T, kind string, content map[string]any) status.Status {
	t.Helper()
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []struct{ APIVersion, Kind, InProgress, Failed, Current string }
		}
	}
	read(t, map[string]string{"BenchmarkRun": "flux/runs.yaml", "Testbed": "flux/testbed.yaml"}[kind], &kustomization)
	observed, seen, err := unstructured.NestedInt64(content, "status", "observedGeneration")
	if err != nil {
		t.Fatal(err)
	}
	generation, _, err := unstructured.NestedInt64(content, "metadata", "generation")
	if err != nil {
		t.Fatal(err)
	}
	if seen && observed != generation {
		return status.InProgressStatus
	}
	for _, check := range kustomization.Spec.HealthCheckExprs {
		if check.APIVersion != v1alpha1.GroupVersion.String() || check.Kind != kind {
			continue
		}
		for _, one := range []struct {
			text string
			is   status.Status
		}{{check.InProgress, status.InProgressStatus}, {check.Failed, status.FailedStatus}, {check.Current, status.CurrentStatus}} {
			if one.text == "" {
				continue
			}
			holds, err := evaluate(t, one.text, content)
			if err != nil {
				return status.UnknownStatus
			}
			if holds {
				return one.is
			}
		}
		return status.InProgressStatus
	}
	t.Fatalf("config/gitops/flux has no healthCheckExprs for %s", kind)
	return ""
}

// evaluate errs where the object lacks a field that the expression names.
func evaluate(t *testing.T, text string, content map[string]any) (bool, error) {
	t.Helper()
	environment, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings())
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := environment.Parse(text)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", text, issues.Err())
	}
	program, err := environment.Program(parsed)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := program.Eval(content)
	if err != nil {
		return false, err
	}
	holds, isBool := value.Value().(bool)
	if !isBool {
		t.Fatalf("%s gives %v, which is neither true nor false", text, value)
	}
	return holds, nil
}

// argoCD runs the health script in the interpreter that Argo CD embeds, with the
// libraries that it gives to scripts of users: neither string nor math. (Its os
// library, of time and date alone, is not here: the scripts have no use for it.)
func argoCD(t *testing.T, kind string, content map[string]any) (health, message string) {
	t.Helper()
	var config struct{ Data map[string]string }
	read(t, "argocd/argocd-cm.yaml", &config)
	key := fmt.Sprintf("resource.customizations.health.%s_%s", v1alpha1.GroupVersion.Group, kind)
	script := config.Data[key]
	if script == "" {
		t.Fatalf("argocd-cm.yaml has no %s", key)
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", luaValue(t, state, content))
	if err := state.DoString(script); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	table, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		t.Fatalf("%s returns a %s, not a table", key, state.Get(-1).Type())
	}
	health = lua.LVAsString(table.RawGetString("status"))
	switch health {
	case "Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown":
	default:
		t.Fatalf("%s: Argo CD knows no health %q", key, health)
	}
	return health, lua.LVAsString(table.RawGetString("message"))
}

func luaValue(t *testing.T, state *lua.LState, value any) lua.LValue {
	t.Helper()
	switch value := value.(type) {
	case nil:
		return lua.LNil
	case bool:
		return lua.LBool(value)
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		table := state.NewTable()
		for _, element := range value {
			table.Append(luaValue(t, state, element))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, element := range value {
			table.RawSetString(key, luaValue(t, state, element))
		}
		return table
	}
	t.Fatalf("a %T is in no object", value)
	return nil
}
