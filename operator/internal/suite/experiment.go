package suite

import (
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	strictjson "sigs.k8s.io/json"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// maxCellBytes bounds the experiment of a cell: the base and one patch of the largest size.
const maxCellBytes = 2 * v1alpha1.MaxExperimentBytes

// Experiment returns the experiment of a cell, in the form of JSON. It checks that the API's type can have it. Its error is a *measure.Failure
// if not.
func (s *Suite) Experiment(cell int) (map[string]any, error) {
	document, _, err := s.experiment(cell)
	return document, err
}

// checkCell checks the experiment of a cell, and notes the image that the subject is read from.
func (s *Suite) checkCell(subject *v1alpha1.SuiteSubject, cell int) error {
	_, experiment, err := s.experiment(cell)
	if err != nil {
		return err
	}
	return s.checkImage(subject, experiment, fmt.Sprintf("cell %q", s.Cells[cell].Name))
}

// experiment returns the experiment of a cell, in the form of JSON and as the API's type.
func (s *Suite) experiment(cell int) (map[string]any, *v1alpha1.Experiment, error) {
	document := runtime.DeepCopyJSON(s.base)
	for _, c := range s.Cells[cell].changes {
		var err error
		if document, err = c.apply(document); err != nil {
			return nil, nil, err
		}
	}
	what := fmt.Sprintf("cell %q", s.Cells[cell].Name)
	experiment, unknown, err := decode(what, document)
	switch {
	case err != nil:
		return nil, nil, err
	case len(unknown) > 0:
		return nil, nil, unknownField(&s.Cells[cell], unknown[0])
	case bringsProgram(experiment) && !s.bringsProgram:
		return nil, nil, measure.Failf(v1alpha1.ReasonInvalidExperiment, "put a function Custom into spec.template.experiment.chain, where admission checks whether its author may create pods",
			"%s: only a variant or a value brings the function Custom", what)
	}
	return document, experiment, nil
}

// checkBase reads the experiment of the template as the API's type.
func (s *Suite) checkBase() error {
	base, unknown, err := decode("spec.template.experiment", s.base)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		return invalidExperiment("spec.template.experiment", unknown[0])
	}
	s.bringsProgram, s.Startup = bringsProgram(base), startupOf(base)
	return nil
}

func invalidExperiment(what string, err error) error {
	return measure.Failf(v1alpha1.ReasonInvalidExperiment, "write it as spec.experiment of a BenchmarkRun; `kubectl explain benchmarkrun.spec.experiment --recursive` lists its fields", "%s: %w", what, err)
}

// decode reads an experiment as the API's type. unknown are errors about fields that it does not have.
func decode(what string, document map[string]any) (experiment *v1alpha1.Experiment, unknown []error, err error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding %s: %w", what, err)
	}
	if len(text) > maxCellBytes {
		return nil, nil, measure.Failf(v1alpha1.ReasonInvalidExperiment, "shorten its patches", "%s: its experiment has %d bytes, and %d is the most", what, len(text), maxCellBytes)
	}
	experiment = &v1alpha1.Experiment{}
	if unknown, err = strictjson.UnmarshalStrict(text, experiment); err != nil {
		return nil, nil, invalidExperiment(what, err)
	}
	return experiment, unknown, nil
}

// unknownField returns the error about a field that experiments do not have: it names the path of an axis if the field is on it.
func unknownField(cell *Cell, err error) error {
	for _, c := range cell.changes {
		if slices.ContainsFunc(c.places, func(p path) bool { return p.leadsThrough(err) }) {
			return measure.Failf(v1alpha1.ReasonAxisPathNotFound, "`kubectl explain benchmarkrun.spec.experiment --recursive` lists the fields",
				"%s is %q, and an experiment has no such field: %w", c.field, c.path, err)
		}
	}
	return invalidExperiment(fmt.Sprintf("cell %q", cell.Name), err)
}

// bringsProgram reports whether the chain has a function Custom, for which its author needs the right to create pods.
func bringsProgram(experiment *v1alpha1.Experiment) bool {
	return slices.ContainsFunc(experiment.Chain, func(f v1alpha1.NetworkFunction) bool { return f.Function == v1alpha1.FunctionCustom })
}

// object decodes a JSON object of bounded size. Whole numbers stay whole.
func object(field string, raw apiextensionsv1.JSON) (map[string]any, error) {
	if len(raw.Raw) > v1alpha1.MaxExperimentBytes {
		return nil, measure.Failf(v1alpha1.ReasonInvalidExperiment, "shorten it", "%s has %d bytes, and %d is the most", field, len(raw.Raw), v1alpha1.MaxExperimentBytes)
	}
	var decoded map[string]any
	if err := utiljson.Unmarshal(raw.Raw, &decoded); err != nil || decoded == nil {
		return nil, measure.Failf(v1alpha1.ReasonInvalidExperiment, "write an object with fields", "%s is no JSON object", field)
	}
	if isDeeper(decoded, maxDepth) {
		return nil, measure.Failf(v1alpha1.ReasonInvalidExperiment, "write the fields of an experiment", "%s has more than %d levels of objects and lists", field, maxDepth)
	}
	return decoded, nil
}

// maxDepth is how deep an experiment or a patch may be nested, several times what an experiment is. The fields of deeper ones
// would take memory that grows with the square of the depth.
const maxDepth = 32

// isDeeper reports whether decoded JSON has more levels of objects and lists than that.
func isDeeper(decoded any, levels int) bool {
	switch decoded := decoded.(type) {
	case map[string]any:
		for _, v := range decoded {
			if levels == 0 || isDeeper(v, levels-1) {
				return true
			}
		}
	case []any:
		return levels == 0 && len(decoded) > 0 || slices.ContainsFunc(decoded, func(v any) bool { return isDeeper(v, levels-1) })
	}
	return false
}
