package plan

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"vnfbench.io/operator/api/v1alpha1"
)

// fill gives all that a value holds one element, and each amount a text: number bad one that cannot
// be read. It returns how many amounts there are, with those before.
func fill(v reflect.Value, before, bad int) int {
	if v.Type() == reflect.TypeFor[v1alpha1.CPUQuantity]() || v.Type() == reflect.TypeFor[v1alpha1.ByteQuantity]() {
		v.SetString("1")
		if before == bad {
			v.SetString("1e1.5")
		}
		return before + 1
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), before, bad)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), before, bad)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				before = fill(v.Field(i), before, bad)
			}
		}
	}
	return before
}

// TestEveryAmountIsChecked makes each amount of a run and of a testbed unreadable, one by one.
func TestEveryAmountIsChecked(t *testing.T) {
	for name, spec := range map[string]any{"run": &v1alpha1.BenchmarkRunSpec{}, "testbed": &v1alpha1.TestbedSpec{}} {
		v := reflect.ValueOf(spec).Elem()
		amounts := fill(v, 0, -1)
		if at, err := unreadable(field.NewPath("spec"), v); err != nil || amounts == 0 {
			t.Fatalf("%s: %d amounts, %s: %v", name, amounts, at, err)
		}
		found := map[string]bool{}
		for bad := range amounts {
			fill(v, 0, bad)
			at, err := unreadable(field.NewPath("spec"), v)
			if err == nil || found[at] || !strings.HasPrefix(at, "spec.") || strings.Contains(at, "..") {
				t.Errorf("%s, amount %d: %q, %v", name, bad, at, err)
			}
			found[at] = true
		}
		t.Log(name, found)
	}
}
