package suite

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// Cells of a confirmation.
const (
	CellOld = "old"
	CellNew = "new"
)

// Comparable returns the experiment of a stored measurement in one form, whatever the order of its fields is, and without what judges its
// figures: interleaved runs of an old and a new version are not accepted or refused.
func Comparable(experiment apiextensionsv1.JSON) ([]byte, error) {
	fields, err := decodeObject(experiment.Raw)
	if err != nil {
		return nil, fmt.Errorf("decoding the experiment: %w", err)
	}
	delete(fields, "acceptance")
	delete(fields, "baseline")
	return json.Marshal(fields)
}

// NamesItsDisk reports whether an experiment has a function whose disk it names. All other functions have the image of the installation.
func NamesItsDisk(experiment []byte) (bool, error) {
	decoded := &v1alpha1.Experiment{}
	if err := json.Unmarshal(experiment, decoded); err != nil {
		return false, err
	}
	return bringsProgram(decoded), nil
}

// Confirmation returns a template that measures two experiments by turns: each repeat is a pair of both. ByTurns is their order.
func Confirmation(older, newer []byte, pairs int32) (v1alpha1.SuiteTemplate, error) {
	patch, err := jsonpatch.CreateMergePatch(older, newer)
	if err != nil {
		return v1alpha1.SuiteTemplate{}, fmt.Errorf("comparing the experiments: %w", err)
	}
	return v1alpha1.SuiteTemplate{
		Experiment: apiextensionsv1.JSON{Raw: older}, Repeats: pairs, Order: v1alpha1.OrderDeclared,
		Matrix: v1alpha1.Matrix{Axes: []v1alpha1.Axis{{Name: "version", Kind: v1alpha1.AxisCategory, Variants: []v1alpha1.Variant{
			{Name: CellOld, Patch: apiextensionsv1.JSON{Raw: []byte("{}")}}, {Name: CellNew, Patch: apiextensionsv1.JSON{Raw: patch}},
		}}}},
	}, nil
}

// Answers reports whether a confirmation is of the question and the pairs that were asked for.
func Answers(confirmation *v1alpha1.SuiteConfirmation, asked *v1alpha1.AskedConfirmation) bool {
	return confirmation != nil && confirmation.Run == asked.Run && confirmation.Cause == asked.Cause &&
		confirmation.OldRun == asked.OldRun && confirmation.FirstPair == asked.FirstPair
}

// decodeObject decodes a JSON object. Numbers stay as they are written.
func decodeObject(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var fields map[string]any
	err := decoder.Decode(&fields)
	return fields, err
}
