package suite

import (
	"encoding/json"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// axis is one that was checked.
type axis struct {
	name   string
	values []value
}

// value is one of an axis.
type value struct {
	label v1alpha1.AxisLabel
	// inName is the label's part of a cell's name.
	inName string
	change change
}

func (a *axis) labels() string {
	var labels []string
	for _, v := range a.values {
		labels = append(labels, fmt.Sprintf("%q", v.label))
	}
	return strings.Join(labels, ", ")
}

// axesOf checks the axes, and that none replaces what an earlier one has set.
func axesOf(specs []v1alpha1.Axis) ([]axis, error) {
	var axes []axis
	// set has each path that an axis sets, and everything that it is within, with the name of the axis.
	set := map[string]string{}
	for i := range specs {
		a, err := axisOf(&specs[i])
		if err != nil {
			return nil, err
		}
		axes = append(axes, a)
		mine := map[string]bool{}
		for _, v := range a.values {
			for _, path := range v.change.paths() {
				mine[path.String()] = true
				if earlier, found := set[path.String()]; found {
					return nil, measure.Failf(v1alpha1.ReasonAxesConflict, fmt.Sprintf("list axis %q before %q, or let them set different fields", a.name, earlier),
						"spec.template.matrix.axes: axis %q replaces %s, which axis %q has set, or a field in it", a.name, path, earlier)
				}
			}
		}
		for _, v := range a.values {
			v.change.note(set, a.name)
		}
	}
	return axes, nil
}

func axisOf(spec *v1alpha1.Axis) (axis, error) {
	field := fmt.Sprintf("spec.template.matrix.axes[%s]", spec.Name)
	a := axis{name: spec.Name}
	var err error
	switch hasPath := spec.Path != "" && len(spec.Values) > 0; {
	case hasPath && len(spec.Variants) == 0:
		a.values, err = valuesOf(spec, field)
	case !hasPath && len(spec.Variants) > 0 && spec.Path == "" && len(spec.Values) == 0 && spec.Kind != v1alpha1.AxisNumeric:
		a.values, err = variantsOf(spec, field)
	default:
		return a, measure.Failf(v1alpha1.ReasonInvalidMatrix, "give it path and values, or give it variants; an axis of kind Numeric has path and values", "%s has not what an axis needs", field)
	}
	if err != nil {
		return a, err
	}
	seen := map[v1alpha1.AxisLabel]bool{}
	for _, v := range a.values {
		if seen[v.label] {
			return a, measure.Failf(v1alpha1.ReasonInvalidMatrix, "remove one of them", "%s has the value %q twice", field, v.label)
		}
		seen[v.label] = true
	}
	return a, nil
}

func valuesOf(spec *v1alpha1.Axis, field string) ([]value, error) {
	places, err := parsePath(spec.Path)
	if err != nil {
		return nil, measure.Failf(v1alpha1.ReasonInvalidMatrix, "write it as chain[fw].firewall.rules", "%s.path: %w", field, err)
	}
	var values []value
	for i, raw := range spec.Values {
		at := fmt.Sprintf("%s.values[%d]", field, i)
		var decoded any
		if len(raw.Raw) > v1alpha1.MaxExperimentBytes {
			return nil, measure.Failf(v1alpha1.ReasonInvalidMatrix, "shorten it", "%s has %d bytes, and %d is the most", at, len(raw.Raw), v1alpha1.MaxExperimentBytes)
		}
		if err := utiljson.Unmarshal(raw.Raw, &decoded); err != nil {
			return nil, measure.Failf(v1alpha1.ReasonInvalidMatrix, "write a number, a text, a boolean, or a list of them", "%s cannot be read: %w", at, err)
		}
		label, isNumber, ok := labelOf(decoded)
		switch {
		case !ok:
			return nil, measure.Failf(v1alpha1.ReasonInvalidMatrix, "write a number, a text, a boolean or a list of them with at most 63 characters, or use variants", "%s cannot be a value", at)
		case spec.Kind == v1alpha1.AxisNumeric && !isNumber:
			return nil, measure.Failf(v1alpha1.ReasonInvalidMatrix, "write a number or a list of one number, or set the axis's kind to Category", "%s is %q, and the axis is of kind Numeric", at, label)
		}
		inName := readable(label)
		if _, isText := decoded.(string); !isText || inName == "" {
			inName = strings.Trim(spec.Name+"-"+inName, "-")
		}
		values = append(values, value{v1alpha1.AxisLabel(label), inName, change{field: field + ".path", path: spec.Path, places: places, value: decoded}})
	}
	return values, nil
}

func variantsOf(spec *v1alpha1.Axis, field string) ([]value, error) {
	var values []value
	for _, variant := range spec.Variants {
		at := fmt.Sprintf("%s.variants[%s].patch", field, variant.Name)
		patch, err := object(at, variant.Patch)
		if err != nil {
			return nil, err
		}
		values = append(values, value{v1alpha1.AxisLabel(variant.Name), readable(variant.Name), change{field: at, patch: patch}})
	}
	return values, nil
}

// maxLabelBytes is the API's bound of an AxisLabel.
const maxLabelBytes = 63

// labelOf returns a value as a text, and whether it is a number or a list of one. Objects and null have none.
func labelOf(decoded any) (label string, isNumber, ok bool) {
	switch decoded := decoded.(type) {
	case string:
		label = decoded
	case bool:
		label = fmt.Sprint(decoded)
	case int64, float64:
		text, err := json.Marshal(decoded)
		if err != nil {
			return "", false, false
		}
		label, isNumber = string(text), true
	case []any:
		var parts []string
		for _, item := range decoded {
			if _, isList := item.([]any); isList {
				return "", false, false
			}
			part, isPartNumber, ok := labelOf(item)
			if !ok {
				return "", false, false
			}
			parts, isNumber = append(parts, part), isPartNumber && len(decoded) == 1
		}
		label = strings.Join(parts, ",")
	}
	return label, isNumber, label != "" && len(label) <= maxLabelBytes
}
