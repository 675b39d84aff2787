package plan

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/vnf"
)

// TestRegistries checks that the API, package vnf and the operator know the same
// functions; Custom is the user's own VM.
func TestRegistries(t *testing.T) {
	source, err := os.ReadFile("../../api/v1alpha1/chain_types.go")
	if err != nil {
		t.Fatal(err)
	}
	enum := regexp.MustCompile(`Enum=(\S+)\ntype Function string`).FindSubmatch(source)
	if enum == nil {
		t.Fatal("no list of the API's functions in chain_types.go")
	}
	want := slices.DeleteFunc(strings.Split(string(enum[1]), ";"), func(name string) bool { return name == string(v1alpha1.FunctionCustom) })
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(vnf.Functions()))); diff != "" {
		t.Errorf("functions of package vnf (-want +got):\n%s", diff)
	}
	var planned []string
	for name := range maps.Keys(planners) {
		planned = append(planned, string(name))
	}
	slices.Sort(planned)
	if diff := cmp.Diff(want, planned); diff != "" {
		t.Errorf("planners (-want +got):\n%s", diff)
	}
}

// TestFunctionStateOf checks that the API has what each function reports, and some words for it.
func TestFunctionStateOf(t *testing.T) {
	kind := reflect.TypeFor[vnf.State]()
	if got := reflect.TypeFor[v1alpha1.FunctionState]().NumField(); got != kind.NumField() {
		t.Errorf("the API has %d states, functions report %d", got, kind.NumField())
	}
	for i := range kind.NumField() {
		name := kind.Field(i).Name
		state := vnf.State{}
		reflect.ValueOf(&state).Elem().Field(i).Set(reflect.New(kind.Field(i).Type.Elem()))
		got := FunctionStateOf(state)
		if field := reflect.ValueOf(got).FieldByName(name); !field.IsValid() || field.IsNil() {
			t.Errorf("%s is not in the API's state: %+v", name, got)
		}
		if got.Summary() == "" {
			t.Errorf("%s has no summary", name)
		}
	}
}
