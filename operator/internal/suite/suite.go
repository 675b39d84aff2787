// Package suite makes the cells of a suite and their order: the template of a suite goes in; the names, values and
// experiments of its cells come out, the order in which they are measured, and how long that takes.
//
// It is pure. The same template and seed give the same cells in the same order, so an execution that was
// interrupted finds its place by the number of measurements that have ended.
package suite

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// maxCombinations bounds the work for a matrix of which most cells are excluded.
const maxCombinations = 100_000

// controlSuffix ends the name of the control cell.
const controlSuffix = "-control"

// Cell is one experiment of a suite.
type Cell struct {
	// Name is a part of a DNS label, of at most maxNameBytes, or with controlSuffix.
	Name string
	// Values are those of the axes, by their names.
	Values v1alpha1.Combination
	// Control is the index of the cell that this one repeats, or -1.
	Control int

	changes []change
}

// Suite has the cells of a template.
type Suite struct {
	Cells []Cell
	// Image is the one whose labels describe the subject; "" where the template gives the subject.
	Image string
	// Startup is how long a run of the experiment waits for what may pass.
	Startup time.Duration
	base    map[string]any
	// bringsProgram says that the base has a function for which its author needs the right to create pods.
	bringsProgram bool
}

// parsing makes sure that templates are parsed one after the other: while a large one is parsed, each of its cells takes memory.
var parsing sync.Mutex

// Parse checks a template and returns its cells. Its error is a *measure.Failure that names the field and the remedy. It works on one
// template at a time.
func Parse(template *v1alpha1.SuiteTemplate) (*Suite, error) {
	parsing.Lock()
	defer parsing.Unlock()
	return parse(template)
}

// Resume returns the cells of a template that Parse has taken before, for all steps but the first of what has it. It does not make the experiment of each of them again, of which there may be
// hundreds: Experiment checks the one that it returns.
func Resume(template *v1alpha1.SuiteTemplate) (*Suite, error) {
	parsing.Lock()
	defer parsing.Unlock()
	s, err := span(template)
	if err != nil || template.Subject == nil || template.Subject.FromImage == nil {
		return s, err
	}
	// All cells have the image of the first one.
	return s, s.checkCell(template.Subject, 0)
}

func parse(template *v1alpha1.SuiteTemplate) (*Suite, error) {
	s, err := span(template)
	if err != nil {
		return nil, err
	}
	for i := range s.Cells {
		if err := s.checkCell(template.Subject, i); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// span checks everything but the experiments of the cells.
func span(template *v1alpha1.SuiteTemplate) (*Suite, error) {
	if bytes := bytesOf(template); bytes > maxTemplateBytes {
		return nil, measure.Failf(v1alpha1.ReasonInvalidMatrix, "set fields by their paths instead of patches, or make several suites",
			"spec.template: its experiment, values and patches have %d bytes, and %d is the most", bytes, maxTemplateBytes)
	}
	if err := checkSubject(template.Subject); err != nil {
		return nil, err
	}
	base, err := object("spec.template.experiment", template.Experiment)
	if err != nil {
		return nil, err
	}
	axes, err := axesOf(template.Matrix.Axes)
	if err != nil {
		return nil, err
	}
	s := &Suite{base: base}
	if err := s.combine(axes, template.Matrix.Exclude); err != nil {
		return nil, err
	}
	s.shorten()
	for i := range template.Matrix.Include {
		if err := s.include(axes, &template.Matrix.Include[i], i); err != nil {
			return nil, err
		}
	}
	if err := s.checkSize(); err != nil {
		return nil, err
	}
	if err := s.addControl(template.ControlCell); err != nil {
		return nil, err
	}
	if err := s.checkTable(); err != nil {
		return nil, err
	}
	if cells, repeats := len(s.Cells), repeatsOf(template); cells*repeats > v1alpha1.MaxSuiteMeasurements {
		return nil, measure.Failf(v1alpha1.ReasonTooManyCells, "lower spec.template.repeats, or exclude combinations",
			"spec.template.repeats: %d cells with %d repeats are %d measurements, and %d is the most", cells, repeats, cells*repeats, v1alpha1.MaxSuiteMeasurements)
	}
	return s, s.checkBase()
}

// checkSubject refuses texts that no series takes and times that are none, before anything is measured for one.
func checkSubject(subject *v1alpha1.SuiteSubject) error {
	if subject == nil {
		return nil
	}
	for _, field := range []struct{ name, text string }{{"name", subject.Name}, {"version", subject.Version}, {"revision", subject.Revision}, {"image", subject.Image}} {
		if excerpt.Printable(field.text) != field.text || strings.ContainsAny(field.text, "\n\t") {
			return measure.Failf(v1alpha1.ReasonInvalidExperiment, "remove them", "spec.template.subject.%s has control characters", field.name)
		}
	}
	if _, err := subject.Time.At(); err != nil {
		return measure.Failf(v1alpha1.ReasonInvalidExperiment, "give a time as 2026-01-31T12:00:00Z, or leave it out", "spec.template.subject.time is %.40q", subject.Time)
	}
	return nil
}

// maxTemplateBytes bounds all JSON of a template together: an execution has the template and the table of its cells, and both
// have to fit into one object.
const maxTemplateBytes = 256 << 10

// bytesOf returns how much JSON a template has.
func bytesOf(template *v1alpha1.SuiteTemplate) int {
	bytes := len(template.Experiment.Raw)
	for _, axis := range template.Matrix.Axes {
		for _, value := range axis.Values {
			bytes += len(value.Raw)
		}
		for _, variant := range axis.Variants {
			bytes += len(variant.Patch.Raw)
		}
	}
	for _, included := range template.Matrix.Include {
		if included.Patch != nil {
			bytes += len(included.Patch.Raw)
		}
		bytes += bytesOfCombination(included.Values)
	}
	for _, excluded := range template.Matrix.Exclude {
		bytes += bytesOfCombination(excluded)
	}
	return bytes
}

func bytesOfCombination(of v1alpha1.Combination) (bytes int) {
	for name, label := range of {
		bytes += len(name) + len(label)
	}
	return bytes
}

// repeatsOf returns the number of repeats, which is 1 in a template that was stored without one.
func repeatsOf(template *v1alpha1.SuiteTemplate) int { return max(1, int(template.Repeats)) }

// combine makes a cell for each combination that is not excluded, the last axis changing first.
func (s *Suite) combine(axes []axis, exclude []v1alpha1.Combination) error {
	product := 1
	for _, a := range axes {
		if product *= len(a.values); product > maxCombinations {
			return tooManyCells("the axes have more than %d combinations, before any are excluded", maxCombinations)
		}
	}
	if err := checkExcluded(axes, exclude); err != nil {
		return err
	}
	used := make([]bool, len(exclude))
	for n := range product {
		cell, names := Cell{Values: v1alpha1.Combination{}, Control: -1}, []string(nil)
		for i, left := len(axes)-1, n; i >= 0; i-- {
			value := axes[i].values[left%len(axes[i].values)]
			left /= len(axes[i].values)
			cell.Values[axes[i].name] = value.label
			cell.changes, names = append(cell.changes, value.change), append(names, value.inName)
		}
		// The last axis came first.
		slices.Reverse(cell.changes)
		slices.Reverse(names)
		cell.Name = strings.Join(names, "-")
		excluded := false
		for i, combination := range exclude {
			if contains(cell.Values, combination) {
				excluded, used[i] = true, true
			}
		}
		if excluded {
			continue
		}
		if s.Cells = append(s.Cells, cell); len(s.Cells) > v1alpha1.MaxSuiteCells {
			// The rest is not looked at: the product says how many there are at most.
			return tooManyCells("spec.template.matrix has more than %d cells (%d combinations before any are excluded)", v1alpha1.MaxSuiteCells, product)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return measure.Failf(v1alpha1.ReasonInvalidMatrix, "correct or remove it", "spec.template.matrix.exclude[%d] leaves out no cell", i)
	}
	return nil
}

func tooManyCells(format string, args ...any) error {
	return measure.Failf(v1alpha1.ReasonTooManyCells, "remove values, exclude combinations, or make several suites", format, args...)
}

// contains reports whether a cell has all values of a combination.
func contains(values, combination v1alpha1.Combination) bool {
	for name, label := range combination {
		if values[name] != label {
			return false
		}
	}
	return true
}

func checkExcluded(axes []axis, exclude []v1alpha1.Combination) error {
	for i, combination := range exclude {
		if _, err := changesOf(axes, combination, fmt.Sprintf("spec.template.matrix.exclude[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

// include adds one cell.
func (s *Suite) include(axes []axis, included *v1alpha1.IncludedCell, index int) error {
	field := fmt.Sprintf("spec.template.matrix.include[%d]", index)
	changes, err := changesOf(axes, included.Values, field+".values")
	if err != nil {
		return err
	}
	if included.Patch != nil {
		patch, err := object(field+".patch", *included.Patch)
		if err != nil {
			return err
		}
		patched := change{field: field, patch: patch}
		set := map[string]string{}
		for _, c := range changes {
			c.note(set, c.field)
		}
		for _, path := range patched.paths() {
			if by, found := set[path.String()]; found {
				return measure.Failf(v1alpha1.ReasonAxesConflict, "leave that axis out of the values, or let the patch set different fields",
					"%s.patch replaces %s, which the cell's values have set (%s), or a field in it", field, path, by)
			}
		}
		changes = append(changes, patched)
	}
	if slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.Name == included.Name }) {
		return measure.Failf(v1alpha1.ReasonInvalidMatrix, "give it another name", "%s.name: another cell has the name %q", field, included.Name)
	}
	s.Cells = append(s.Cells, Cell{Name: included.Name, Values: included.Values, Control: -1, changes: changes})
	return nil
}

// changesOf returns what the values of a combination change, in the order of the axes.
func changesOf(axes []axis, combination v1alpha1.Combination, field string) ([]change, error) {
	var changes []change
	found := 0
	for _, a := range axes {
		label, has := combination[a.name]
		if !has {
			continue
		}
		found++
		i := slices.IndexFunc(a.values, func(v value) bool { return v.label == label })
		if i < 0 {
			return nil, measure.Failf(v1alpha1.ReasonInvalidMatrix, "use one of "+a.labels(), "%s: axis %q has no value %q", field, a.name, label)
		}
		changes = append(changes, a.values[i].change)
	}
	if found < len(combination) {
		for _, name := range slices.Sorted(maps.Keys(combination)) {
			if !slices.ContainsFunc(axes, func(a axis) bool { return a.name == name }) {
				return nil, measure.Failf(v1alpha1.ReasonInvalidMatrix, "name one of spec.template.matrix.axes", "%s: there is no axis %q", field, name)
			}
		}
	}
	return changes, nil
}

func (s *Suite) checkSize() error {
	switch cells := len(s.Cells); {
	case cells == 0:
		return measure.Failf(v1alpha1.ReasonInvalidMatrix, "exclude fewer combinations", "spec.template.matrix.exclude leaves out every cell")
	case cells > v1alpha1.MaxSuiteCells:
		return tooManyCells("spec.template.matrix has %d cells, and %d is the most", cells, v1alpha1.MaxSuiteCells)
	}
	return nil
}

// maxTableValueBytes bounds the values of all cells together, as JSON: with the figures of 2,000 measurements, which have up to 400 KiB,
// and with the template, they have to fit into one object.
const maxTableValueBytes = 256 << 10

// checkTable refuses cells whose values have no room in the status.
func (s *Suite) checkTable() error {
	bytes := 0
	for i := range s.Cells {
		text, err := json.Marshal(s.Cells[i].Values)
		if err != nil {
			return fmt.Errorf("encoding the values of cell %q: %w", s.Cells[i].Name, err)
		}
		bytes += len(text)
	}
	if bytes > maxTableValueBytes {
		return measure.Failf(v1alpha1.ReasonTooManyCells, "shorten the names of axes, values and variants, exclude combinations, or make several suites",
			"spec.template.matrix: the values of its %d cells have %d bytes in the status, and %d is the most", len(s.Cells), bytes, maxTableValueBytes)
	}
	return nil
}

// addControl adds the control cell.
func (s *Suite) addControl(name string) error {
	if name == "" {
		return nil
	}
	i := slices.IndexFunc(s.Cells, func(c Cell) bool { return c.Name == name })
	if i < 0 {
		return measure.Failf(v1alpha1.ReasonInvalidMatrix, "name one of the cells, such as "+s.Cells[0].Name, "spec.template.controlCell: there is no cell %q", name)
	}
	control := s.Cells[i]
	control.Name, control.Control = name+controlSuffix, i
	if slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.Name == control.Name }) {
		return measure.Failf(v1alpha1.ReasonInvalidMatrix, "give that cell another name", "spec.template.controlCell: a cell has the name of the control cell, %q", control.Name)
	}
	s.Cells = append(s.Cells, control)
	return nil
}
