package document_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/documenttest"
	"vnfbench.io/operator/internal/testing/plantest"
)

// schema compiles the schema of documents.
func schema(t *testing.T) *jsonschema.Schema { return schemaOf(t, "document") }

// schemaOf compiles a schema of the documentation.
func schemaOf(t *testing.T, what string) *jsonschema.Schema {
	t.Helper()
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "..", "docs", "reference", what+".v1.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// keptDocuments returns the documents of a kind that the tests of reports keep, by the names of their files; there are so many at least.
func keptDocuments(t *testing.T, kind string, least int) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "report", "testdata", "golden", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(`"kind": "`+kind+`"`)) {
			texts[filepath.Base(file)] = text
		}
	}
	if len(texts) < least {
		t.Fatalf("there are %d documents", len(texts))
	}
	return texts
}

// validate checks a text against the schema.
func validate(t *testing.T, by *jsonschema.Schema, text []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return by.Validate(value)
}

// TestDocumentsAreOfTheSchema validates the documents that the tests of reports keep, and runs with every trial.
func TestDocumentsAreOfTheSchema(t *testing.T) {
	by := schema(t)
	for name, text := range keptDocuments(t, report.Kind, 5) {
		if err := validate(t, by, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, planned := range plantest.Cases() {
		if in := planned.Input(); in.Run.Spec.Experiment.Measurements.TCP == nil && in.Run.Spec.Experiment.Measurements.Connections == nil {
			if err := validate(t, by, written(t, documenttest.Make(t, in, "1.2.3", nil), false)); err != nil {
				t.Errorf("%s: %v", planned.Name, err)
			}
		}
	}
	if err := validate(t, by, written(t, documenttest.Largest(t), false)); err != nil {
		t.Errorf("the largest: %v", err)
	}
}

// TestComparisonsAreOfTheSchema validates the comparisons that the tests of reports keep, and changed ones, which are none.
func TestComparisonsAreOfTheSchema(t *testing.T) {
	by := schemaOf(t, "comparison")
	for name, text := range keptDocuments(t, report.KindComparison, 2) {
		if err := validate(t, by, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for old, changed := range map[string]string{`"tested": `: `"tested": "x", "other": `, `"cells":[`: `"cells":[7,`, `"kind": "`: `"kind": "x`, `"values":[`: `"values":["x",`} {
			if validate(t, by, bytes.Replace(text, []byte(old), []byte(changed), 1)) == nil || !bytes.Contains(text, []byte(old)) {
				t.Errorf("%s: the schema accepts %s", name, changed)
			}
		}
	}
}

// TestSchemaFindsMistakes checks that the schema refuses documents that are none.
func TestSchemaFindsMistakes(t *testing.T) {
	by, text := schema(t), string(written(t, made(t), false))
	for name, change := range map[string][2]string{
		"a version":   {`"apiVersion": "report.vnfbench.io/v1"`, `"apiVersion": "report.vnfbench.io/v2"`},
		"a kind":      {`"kind": "` + report.Kind + `"`, `"kind": "Other"`},
		"a text":      {`"framesPerSecond": `, `"framesPerSecond": "x", "other": `},
		"a fraction":  {`"framesPerSecond": `, `"framesPerSecond": 0.5, "other": `},
		"no figures":  {`"results": [`, `"other": [`},
		"a trial":     {`"trials": [`, `"trials": [7,`},
		"no time":     {`"startedAt": `, `"started": `},
		"a histogram": {`"delay": "`, `"delay": 7, "other": "`},
		"a seed":      {`"orderSeed": `, `"orderSeed": "x", "other": `},
	} {
		if !strings.Contains(text, change[0]) {
			t.Errorf("%s: the document has no %s", name, change[0])
		}
		if validate(t, by, []byte(strings.Replace(text, change[0], change[1], 1))) == nil {
			t.Errorf("%s: the schema accepts %s", name, change[1])
		}
	}
}

// TestLargestDocument measures the document of a run whose results are full.
func TestLargestDocument(t *testing.T) {
	// What docs/reference/document.md says.
	const mostPlain, mostCompressed = 2500 << 10, 500 << 10
	doc := documenttest.Largest(t)
	records := 0
	for _, r := range doc.Trials {
		records += documenttest.RecordBytes(t, r)
	}
	if records > measure.MaximumResultsBytes || records < measure.MaximumResultsBytes*98/100 {
		t.Fatalf("the records take %d bytes of %d", records, measure.MaximumResultsBytes)
	}
	plain, compressed := written(t, doc, false), written(t, doc, true)
	t.Logf("%d trials of %d bytes: %d bytes, compressed %d", len(doc.Trials), records, len(plain), len(compressed))
	if len(plain) > mostPlain || len(compressed) > mostCompressed {
		t.Errorf("%d bytes of %d, compressed %d of %d", len(plain), mostPlain, len(compressed), mostCompressed)
	}
	if done, err := report.Replay(doc); err != nil || len(done.Differences) > 0 {
		t.Errorf("%v, %v", done.Differences, err)
	}
}
