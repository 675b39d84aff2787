package plan

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// checkQuantities refuses amounts of CPU, memory and disk that cannot be read, wherever they are in
// the run or the testbed. Admission refuses them too, unless the cluster has another version of the
// kinds.
func checkQuantities(in Input) error {
	if at, err := unreadable(field.NewPath("spec"), reflect.ValueOf(in.Run.Spec)); err != nil {
		return measure.Failf(v1alpha1.ReasonInvalidQuantity, "change "+at, "%s: %v", at, err)
	}
	if at, err := unreadable(field.NewPath("spec"), reflect.ValueOf(in.Testbed.Spec)); err != nil {
		return measure.Failf(v1alpha1.ReasonInvalidQuantity, "change the testbed's "+at, "the testbed's %s: %v", at, err)
	}
	return nil
}

// unreadable returns the first amount of a value that cannot be read, and why.
func unreadable(at *field.Path, v reflect.Value) (string, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", nil
		}
		return unreadable(at, v.Elem())
	}
	if q, is := v.Interface().(interface{ Err() error }); is {
		return at.String(), q.Err()
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			if bad, err := unreadable(at.Index(i), v.Index(i)); err != nil {
				return bad, err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			below := at
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				below = at.Child(name)
			}
			if bad, err := unreadable(below, v.Field(i)); err != nil {
				return bad, err
			}
		}
	}
	return "", nil
}
