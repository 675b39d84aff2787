package validate

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/admission"
)

// shared makes one server for all tests: it compiles the policies, which takes seconds on a busy machine.
var shared = sync.OnceValues(admission.New)

func check(t *testing.T, documents []Document) Outcome {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := Check(t.Context(), server, documents)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func read(t *testing.T, text string) ([]Document, []Finding) {
	t.Helper()
	documents, findings, err := Read("file.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return documents, findings
}

// TestSamples checks that all manifests of config are valid, and that all of their runs have a plan.
func TestSamples(t *testing.T) {
	for _, folder := range []string{"samples", "samples/sriov"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "config", folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files: %v", folder, len(files), err)
		}
		var documents []Document
		for _, file := range files {
			text, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			found, findings, err := Read(file, text)
			if closeErr := text.Close(); err != nil || closeErr != nil || len(findings) > 0 {
				t.Fatalf("%s: %v, %v, %v", file, findings, err, closeErr)
			}
			documents = append(documents, found...)
		}
		outcome := check(t, documents)
		for _, f := range outcome.Findings {
			t.Errorf("%s: %s: %s: %s; %s", f.File, f.Object, f.Field, f.Message, f.Remedy)
		}
		t.Logf("%s: %d objects, %d plans, notes %q", folder, outcome.Checked, outcome.Planned, outcome.Notes)
		if outcome.Checked == 0 || folder == "samples" && outcome.Planned < 30 {
			t.Errorf("%s: %d objects were checked, and %d planned", folder, outcome.Checked, outcome.Planned)
		}
	}
}

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestPages checks the manifests of all pages together with the Testbeds of the samples, and that each of their runs and suites has a plan.
func TestPages(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	files := func(patterns ...string) (out []string) {
		for _, pattern := range patterns {
			found, err := filepath.Glob(filepath.Join(top, pattern))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, found...)
		}
		return out
	}
	documentsOf := func(file, text string) []Document {
		documents, findings, err := Read(file, strings.NewReader(text))
		if err != nil || len(findings) > 0 {
			t.Errorf("%s: %v, %v", file, findings, err)
		}
		return documents
	}
	textOf := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var testbeds []Document
	for _, file := range files("config/samples/testbed*.yaml", "config/samples/sriov/testbed*.yaml") {
		testbeds = append(testbeds, documentsOf(file, textOf(file))...)
	}
	pages := 0
	for _, page := range files("README.md", "docs/*.md", "docs/*/*.md") {
		var documents []Document
		for _, part := range block.FindAllStringSubmatch(textOf(page), -1) {
			// The others are parts of objects, or of other kinds.
			if strings.Contains(part[1], "apiVersion: vnfbench.io/") {
				documents = append(documents, documentsOf(page, part[1])...)
			}
		}
		if len(documents) == 0 {
			continue
		}
		pages++
		outcome := check(t, append(slices.Clone(testbeds), documents...))
		for _, f := range outcome.Findings {
			t.Errorf("%s: %s: %s: %s; %s", f.File, f.Object, f.Field, f.Message, f.Remedy)
		}
		if outcome.Planned < len(documents) {
			t.Errorf("%s: of %d objects there are %d plans", page, len(documents), outcome.Planned)
		}
	}
	if pages < 8 {
		t.Errorf("%d pages have manifests", pages)
	}
}

// TestFragments checks the parts of Testbeds and of experiments that pages show.
func TestFragments(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	indented := func(text string, spaces int) string {
		return strings.ReplaceAll("\n"+strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", spaces)) + "\n"
	}
	testbeds, experiments := 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range block.FindAllStringSubmatch(string(text), -1) {
			// "spec:" may be above the part.
			fragment := strings.TrimPrefix(part[1], "spec:\n")
			var object string
			switch {
			case fieldsOf[v1alpha1.TestbedSpec](fragment):
				testbeds++
				object = testbed + "spec:" + indented(fragment, 2)
			case fieldsOf[v1alpha1.Experiment](fragment):
				experiments++
				object = strings.TrimSuffix(run, "    chain:\n    - {name: r1, function: Router}\n") + indented(fragment, 4)
				if !strings.Contains(object, "chain:") {
					object += "    chain: [{name: r1, function: Router}]\n"
				}
			default:
				continue
			}
			documents, findings := read(t, object)
			for _, f := range append(findings, check(t, documents).Findings...) {
				t.Errorf("%s: %s: %s; %s, in:\n%s", page, f.Field, f.Message, f.Remedy, part[1])
			}
		}
	}
	if testbeds < 5 || experiments < 10 {
		t.Errorf("%d parts of Testbeds and %d of experiments were checked", testbeds, experiments)
	}
}

// fieldsOf reports whether a text of YAML is a mapping that has only fields of T.
func fieldsOf[T any](text string) bool {
	var mapping map[string]any
	if yaml.Unmarshal([]byte(text), &mapping) != nil || len(mapping) == 0 {
		return false
	}
	known := map[string]bool{}
	for field := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[name] = true
	}
	for name := range mapping {
		if !known[name] {
			return false
		}
	}
	return true
}

const (
	testbed = `
apiVersion: vnfbench.io/v1alpha1
kind: Testbed
metadata: {name: lab, annotations: {vnfbench.io/is-default-testbed: "true"}}
`
	run = `
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: router}
spec:
  experiment:
    chain:
    - {name: r1, function: Router}
`
	matrix = `
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkSuite
metadata: {name: nightly}
spec:
  template:
    experiment:
      chain:
      - {name: r1, function: Router}
    matrix:
      axes:
      - {name: flows, path: traffic.flows, values: [1, 100]}
`
)

// TestFindings checks what is said of files, together and alone.
func TestFindings(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		// want is the beginning of the only finding, as document|object|field|message.
		want             string
		checked, planned int
		notes            []string
	}{
		"valid":              {testbed + "---" + run, "", 2, 1, []string{"the plans assume"}},
		"no Testbed":         {run, "", 1, 0, []string{"no plan for runs on the cluster's default Testbed"}},
		"other Testbed":      {testbed + "---" + strings.Replace(run, "    chain:", "    testbedRef: {name: far}\n    chain:", 1), "", 2, 0, []string{"no plan for runs on Testbed far"}},
		"comments":           {"# first\n---\n" + run + "---\n# last\n", "", 1, 0, nil},
		"key that is twice":  {strings.Replace(run, "    chain:", "    chain: []\n    chain:", 1), "1||" + "|", 0, 0, nil},
		"no YAML":            {"a: [", "1|||", 0, 0, nil},
		"no object":          {"- a", "1|||the document is no object", 0, 0, nil},
		"no kind":            {"metadata: {name: a}", "1|a||the document has no apiVersion", 0, 0, nil},
		"metadata":           {"apiVersion: vnfbench.io/v1alpha1\nkind: Testbed\nmetadata: lab", "1|Testbed|metadata|it is no mapping", 0, 0, nil},
		"other kinds":        {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}", "", 0, 0, []string{"Namespace (1)"}},
		"second document":    {testbed + "---" + strings.Replace(run, "Router}", "Switch}", 1), "2|BenchmarkRun router|spec.experiment.chain[0].function|Unsupported value", 2, 0, nil},
		"list":               {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: vnfbench.io/v1alpha1, kind: Testbed, metadata: {name: lab, labels: {a: b}}, spec: {wrong: 1}}", "1|Testbed lab|spec.wrong|unknown field", 1, 0, nil},
		"not on the Testbed": {testbed + "---" + strings.Replace(run, "function: Router", "function: Router, runtime: VirtualMachine", 1), "2|BenchmarkRun router|spec.experiment.chain|AttachmentNotOffered", 2, 0, nil},
		"suite":              {testbed + "---" + matrix, "", 2, 2, nil},
		"suite's axis":       {testbed + "---" + strings.Replace(matrix, "traffic.flows", "traffic.flow", 1), "2|BenchmarkSuite nightly|spec.template.matrix.axes[flows]", 2, 0, nil},
		"suite's cell":       {testbed + "---" + strings.Replace(matrix, "[1, 100]", "[1, 0]", 1), "2|BenchmarkSuite nightly, cell flows-0|spec.template.experiment.traffic.flows|Invalid value", 2, 1, nil},
		"suite's cells":      {testbed + "---" + strings.Replace(matrix, "function: Router", "function: EncryptionGateway", 1), "2|BenchmarkSuite nightly, cell flows-1|spec.template.experiment.chain|", 2, 0, nil},
	} {
		documents, findings := read(t, test.text)
		outcome := check(t, documents)
		findings = append(findings, outcome.Findings...)
		var got []string
		for _, f := range findings {
			got = append(got, strings.Join([]string{string(rune('0' + f.Document)), f.Object, f.Field, f.Message}, "|"))
			if f.File != "file.yaml" || f.Remedy == "" && f.Object != "" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], test.want)) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if outcome.Checked != test.checked || outcome.Planned != test.planned {
			t.Errorf("%s: %d checked and %d planned, want %d and %d", name, outcome.Checked, outcome.Planned, test.checked, test.planned)
		}
		for _, note := range test.notes {
			if !slices.ContainsFunc(outcome.Notes, func(n string) bool { return strings.Contains(n, note) }) {
				t.Errorf("%s: the notes are %q, want %q", name, outcome.Notes, note)
			}
		}
	}
}

// TestSameInCells checks that what all cells have is said once.
func TestSameInCells(t *testing.T) {
	documents, _ := read(t, strings.Replace(matrix, "function: Router", "function: EncryptionGateway", 1))
	if outcome := check(t, documents); len(outcome.Findings) != 1 || outcome.Findings[0].Cells != 1 {
		t.Errorf("%+v", outcome.Findings)
	}
}
