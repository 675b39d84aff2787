// Package validate checks manifests without a cluster. Files go in, findings come out, each with the file, the document in it, the
// field, and what to do: what the API server would refuse, and what cannot be planned on the Testbed that the files have. A suite is
// checked as its cells.
package validate

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/admission"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/preview"
	"vnfbench.io/operator/internal/suite"
)

// Document is one of a file.
type Document struct {
	File string
	// Number counts the documents of a file from 1. Items of a list have the number of the list.
	Number int
	Object *unstructured.Unstructured
}

// Finding is what is wrong with a document.
type Finding struct {
	File     string `json:"file"`
	Document int    `json:"document"`
	// Object is kind and name; empty where the document is none. Of a suite, it has the cell.
	Object string `json:"object,omitempty"`
	// Field is empty where it is the whole document.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
	// Cells is how many further cells of a suite have the same.
	Cells int `json:"furtherCells,omitempty"`
}

// Outcome of a check.
type Outcome struct {
	Findings []Finding `json:"findings"`
	// Checked is the number of objects of this project, Planned that of runs and cells that have a plan.
	Checked int `json:"checked"`
	Planned int `json:"planned"`
	// Notes say what was not checked, and why.
	Notes []string `json:"notes,omitempty"`
}

// Read returns the documents of a file. A document that cannot be read is a finding.
func Read(file string, from io.Reader) (documents []Document, findings []Finding, err error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(from))
	for number := 1; ; number++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, findings, nil
		} else if err != nil {
			return documents, findings, fmt.Errorf("reading %s: %w", file, err)
		}
		if isEmpty(text) {
			continue
		}
		object, problem := parse(text)
		if problem != nil {
			findings = append(findings, Finding{File: file, Document: number, Message: problem.Error(), Remedy: "correct the YAML: each key once, and the indentation of its level"})
			continue
		}
		if !object.IsList() {
			documents = append(documents, Document{file, number, object})
			continue
		}
		if err := object.EachListItem(func(item runtime.Object) error {
			documents = append(documents, Document{file, number, item.(*unstructured.Unstructured)})
			return nil
		}); err != nil {
			findings = append(findings, Finding{File: file, Document: number, Field: "items", Message: err.Error(), Remedy: "write objects as items"})
		}
	}
}

// isEmpty reports whether a document has comments and separators alone.
func isEmpty(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// parse reads a document as the API server does: a key that is there twice is an error, and numbers are integers where they can be.
func parse(text []byte) (*unstructured.Unstructured, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(asJSON, &o.Object); err != nil {
		return nil, errors.New("the document is no object: begin with apiVersion and kind")
	}
	return o, nil
}

// checker checks the documents of all files together.
type checker struct {
	server   *admission.Server
	testbeds map[string]*v1alpha1.Testbed
	// byDefault is the Testbed of runs that name none.
	byDefault *v1alpha1.Testbed
	out       Outcome
}

// Check checks documents.
func Check(ctx context.Context, server *admission.Server, documents []Document) (Outcome, error) {
	c := &checker{server: server, testbeds: map[string]*v1alpha1.Testbed{}}
	others := map[string]int{}
	var valid []Document
	for _, d := range documents {
		kind := d.Object.GroupVersionKind()
		switch {
		case d.Object.GetKind() == "" || d.Object.GetAPIVersion() == "":
			c.add(d, "", admission.Problem{Message: "the document has no apiVersion or no kind", Remedy: "begin with both, such as apiVersion: " + v1alpha1.GroupVersion.String() + " and kind: BenchmarkRun"})
		case kind.Group == v1alpha1.GroupVersion.Group && isObject(d.Object):
			c.out.Checked++
			if problems := server.Admit(ctx, d.Object); len(problems) > 0 {
				for _, p := range problems {
					c.add(d, "", p)
				}
				continue
			}
			valid = append(valid, d)
		case kind.Group == v1alpha1.GroupVersion.Group:
			c.add(d, "", admission.Problem{Field: "metadata", Message: "it is no mapping", Remedy: "write name, and what else the object has, below metadata"})
		default:
			others[kind.GroupKind().String()]++
		}
	}
	if err := c.addTestbeds(valid); err != nil {
		return c.out, err
	}
	for _, d := range valid {
		if err := c.plan(ctx, d); err != nil {
			return c.out, err
		}
	}
	c.note(others)
	return c.out, nil
}

// isObject reports whether metadata is what the API machinery reads.
func isObject(o *unstructured.Unstructured) bool {
	meta, has := o.Object["metadata"]
	if !has {
		return true
	}
	_, isMapping := meta.(map[string]any)
	return isMapping
}

func (c *checker) add(d Document, cell string, p admission.Problem) {
	name := cmp.Or(d.Object.GetName(), d.Object.GetGenerateName())
	f := Finding{File: d.File, Document: d.Number, Object: strings.TrimSpace(d.Object.GetKind() + " " + name), Field: p.Field, Message: p.Message, Remedy: p.Remedy}
	if cell != "" {
		f.Object += ", cell " + cell
		for i := range c.out.Findings {
			before := &c.out.Findings[i]
			if before.File == f.File && before.Document == f.Document && before.Field == f.Field && before.Message == f.Message && strings.HasPrefix(before.Object, d.Object.GetKind()+" "+name+", cell ") {
				before.Cells++
				return
			}
		}
	}
	c.out.Findings = append(c.out.Findings, f)
}

// addTestbeds reads the Testbeds of the files.
func (c *checker) addTestbeds(documents []Document) error {
	for _, d := range documents {
		if d.Object.GetKind() != "Testbed" {
			continue
		}
		testbed := &v1alpha1.Testbed{}
		if err := convert(d, testbed); err != nil {
			return err
		}
		c.testbeds[testbed.Name] = testbed
		if testbed.Annotations[v1alpha1.AnnotationDefaultTestbed] == "true" {
			c.byDefault = testbed
		}
	}
	return nil
}

func convert(d Document, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object.Object, into); err != nil {
		// The schema has taken it, so this program and its schema differ.
		return fmt.Errorf("%s, document %d: reading %s %q: %w", d.File, d.Number, d.Object.GetKind(), d.Object.GetName(), err)
	}
	return nil
}

// plan plans a run, or each cell of a suite.
func (c *checker) plan(ctx context.Context, d Document) error {
	switch d.Object.GetKind() {
	case "BenchmarkRun":
		return c.planRun(d, d, "")
	case "BenchmarkSuite":
		s := &v1alpha1.BenchmarkSuite{}
		if err := convert(d, s); err != nil {
			return err
		}
		return c.planCells(ctx, d, &s.Spec.Template)
	case "BenchmarkSuiteRun":
		s := &v1alpha1.BenchmarkSuiteRun{}
		if err := convert(d, s); err != nil {
			return err
		}
		return c.planCells(ctx, d, &s.Spec.Template)
	}
	return nil
}

// planCells makes the run of each cell, and checks it as the operator does before it measures the first.
func (c *checker) planCells(ctx context.Context, d Document, template *v1alpha1.SuiteTemplate) error {
	cells, err := suite.Parse(template)
	if err != nil {
		c.addFailure(d, "", err)
		return nil
	}
	for i, cell := range cells.Cells {
		experiment, err := cells.Experiment(i)
		if err != nil {
			c.addFailure(d, cell.Name, err)
			continue
		}
		run := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"experiment": experiment}}}
		run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BenchmarkRun"))
		run.SetNamespace(d.Object.GetNamespace())
		run.SetName(suite.RunName(cmp.Or(d.Object.GetName(), "suite"), cell.Name, 1, 1))
		problems := c.server.Admit(ctx, run)
		for _, p := range problems {
			p.Field = strings.Replace(p.Field, "spec.experiment", "spec.template.experiment", 1)
			c.add(d, cell.Name, p)
		}
		if len(problems) > 0 {
			continue
		}
		if err := c.planRun(d, Document{d.File, d.Number, run}, cell.Name); err != nil {
			return err
		}
	}
	return nil
}

// planRun plans a run that was admitted, which is the document's own or one of a cell.
func (c *checker) planRun(d, of Document, cell string) error {
	run := &v1alpha1.BenchmarkRun{}
	if err := convert(of, run); err != nil {
		return err
	}
	testbed, name := c.byDefault, "the cluster's default Testbed"
	if ref := run.Spec.Experiment.TestbedRef; ref != nil {
		testbed, name = c.testbeds[ref.Name], "Testbed "+ref.Name
	}
	if testbed == nil {
		c.addNote("no plan for runs on %s, which none of the files has", name)
		return nil
	}
	if _, err := plan.Make(preview.Assume(run, testbed)); err != nil {
		c.addFailure(d, cell, err)
		return nil
	}
	c.out.Planned++
	return nil
}

func (c *checker) addNote(format string, arguments ...any) {
	note := fmt.Sprintf(format, arguments...)
	for _, before := range c.out.Notes {
		if before == note {
			return
		}
	}
	c.out.Notes = append(c.out.Notes, note)
}

// fieldInText finds the field that a failure names.
var fieldInText = regexp.MustCompile(`spec(?:\.[A-Za-z0-9]+|\[[A-Za-z0-9-]+\])+`)

// addFailure adds what the project's own checks say.
func (c *checker) addFailure(d Document, cell string, err error) {
	p := admission.Problem{Message: err.Error()}
	var failure *measure.Failure
	if errors.As(err, &failure) {
		p.Message, p.Remedy = fmt.Sprintf("%s: %v", failure.Reason, failure.Err), failure.Remedy
	}
	p.Field = cmp.Or(fieldInText.FindString(p.Message), fieldInText.FindString(p.Remedy))
	c.add(d, cell, p)
}

// note says what was not checked.
func (c *checker) note(others map[string]int) {
	if len(others) > 0 {
		c.addNote("not checked, because they are no kinds of this project: %s", listOf(others))
	}
	if c.out.Planned > 0 {
		c.addNote("the plans assume nodes, networks and devices as the Testbed asks for; `kubectl vnfbench plan` takes those of the cluster")
	}
	if c.out.Checked > 0 {
		c.addNote("your rights, quotas, and the names that are taken are for the cluster to check")
	}
}

// listOf names kinds with their numbers, in the order of their names.
func listOf(numbers map[string]int) string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(numbers)) {
		out = append(out, fmt.Sprintf("%s (%d)", kind, numbers[kind]))
	}
	return strings.Join(out, ", ")
}
