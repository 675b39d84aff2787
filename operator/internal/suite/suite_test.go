package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const firewall = `
experiment:
  testbedRef: {name: lab}
  chain:
  - name: fw
    function: Firewall
    firewall: {backend: nftables, mode: Stateless, rules: 1000}
  traffic: {frameBytes: [64]}
`

// template reads a template, after the experiment above unless the text has its own.
func template(t *testing.T, text string) *v1alpha1.SuiteTemplate {
	t.Helper()
	if !strings.Contains(text, "experiment:") {
		text = firewall + text
	}
	out := &v1alpha1.SuiteTemplate{}
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func names(s *Suite) []string {
	var names []string
	for _, c := range s.Cells {
		names = append(names, c.Name)
	}
	return names
}

func TestCells(t *testing.T) {
	for name, test := range map[string]struct {
		matrix string
		cells  []string
	}{
		"no axes": {"", []string{"base"}},
		"numbers and texts": {`
matrix:
  axes:
  - {name: backend, path: "chain[fw].firewall.backend", values: [nftables, iptables]}
  - {name: rules, kind: Numeric, path: "chain[fw].firewall.rules", values: [0, 1000]}`,
			[]string{"nftables-rules-0", "nftables-rules-1000", "iptables-rules-0", "iptables-rules-1000"}},
		"lookups": {`
matrix:
  axes:
  - {name: backend, path: "chain[fw].firewall.backend", values: [nftables, iptables]}
  - {name: lookup, path: "chain[fw].firewall.lookup", values: [List, Set, Map]}
  exclude: [{backend: iptables, lookup: Map}]`,
			[]string{"nftables-list", "nftables-set", "nftables-map", "iptables-list", "iptables-set"}},
		"variants, exclude and include": {`
matrix:
  axes:
  - name: traffic
    variants:
    - {name: small, patch: {traffic: {frameBytes: [64]}}}
    - {name: large, patch: {traffic: {frameBytes: [1518]}}}
  - {name: rules, path: "chain[fw].firewall.rules", values: [0, 10]}
  exclude: [{traffic: large, rules: "10"}]
  include: [{name: worst, values: {traffic: small}, patch: {startupSeconds: 60}}]`,
			[]string{"small-rules-0", "small-rules-10", "large-rules-0", "worst"}},
		"lists, booleans and the control cell": {`
matrix:
  axes:
  - {name: sizes, path: traffic.frameBytes, values: [[64, 512], [1518]]}
controlCell: sizes-1518`, []string{"sizes-64-512", "sizes-1518", "sizes-1518-control"}},
		"lists of one number": {`
matrix:
  axes:
  - {name: size, kind: Numeric, path: traffic.frameBytes, values: [[64], [1518]]}`, []string{"size-64", "size-1518"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(template(t, test.matrix))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.cells, names(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestExperiments checks what axes, variants and an included patch make of the experiment, that a value of 0 stays, and that no cell
// changes another one.
func TestExperiments(t *testing.T) {
	s, err := Parse(template(t, `
matrix:
  axes:
  - name: chain
    variants:
    - {name: iptables, patch: {chain: [{name: fw, function: Firewall, firewall: {backend: iptables}}], traffic: {frameBytes: null, imix: [{name: imix, frames: [{frameBytes: 64, weight: 1}]}]}}}
  - {name: rules, path: "chain[fw].firewall.rules", values: [0, 65535]}
  include: [{name: more, values: {rules: "0"}, patch: {startupSeconds: 60}}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"chain":[{"firewall":{"backend":"iptables","rules":0},"function":"Firewall","name":"fw"}],"testbedRef":{"name":"lab"},"traffic":{"imix":[{"frames":[{"frameBytes":64,"weight":1}],"name":"imix"}]}}`,
		`{"chain":[{"firewall":{"backend":"iptables","rules":65535},"function":"Firewall","name":"fw"}],"testbedRef":{"name":"lab"},"traffic":{"imix":[{"frames":[{"frameBytes":64,"weight":1}],"name":"imix"}]}}`,
		`{"chain":[{"firewall":{"backend":"nftables","mode":"Stateless","rules":0},"function":"Firewall","name":"fw"}],"startupSeconds":60,"testbedRef":{"name":"lab"},"traffic":{"frameBytes":[64]}}`,
	}
	for range 2 { // a second time: the first has changed nothing
		for i := range s.Cells {
			document, err := s.Experiment(i)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[i], string(text)); diff != "" {
				t.Errorf("%s: %s", s.Cells[i].Name, diff)
			}
		}
	}
}

// TestPathOfTwoItems checks that a value is set in each item that a path names, and that no cell changes another one.
func TestPathOfTwoItems(t *testing.T) {
	s, err := Parse(template(t, `
experiment:
  testbedRef: {name: lab}
  chain:
  - {name: west, function: EncryptionGateway, encryptionGateway: {implementation: Userspace}}
  - {name: east, function: EncryptionGateway}
  - {name: r1, function: Router}
matrix:
  axes:
  - {name: threads, kind: Numeric, path: "chain[west,east].encryptionGateway.threads", values: [1, 4]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"threads-1", "threads-4"}, names(s)); diff != "" {
		t.Error(diff)
	}
	for i, threads := range []int32{1, 4} {
		_, got, err := s.experiment(i)
		if err != nil {
			t.Fatal(err)
		}
		if west, east := got.Chain[0].EncryptionGateway, got.Chain[1].EncryptionGateway; *west.Threads != threads || *east.Threads != threads || west.Implementation != v1alpha1.EncryptionUserspace || got.Chain[2].EncryptionGateway != nil {
			t.Errorf("%+v", got.Chain)
		}
	}
}

// TestProblems checks that each mistake has a reason, and a message that names the field.
func TestProblems(t *testing.T) {
	values := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprint(i))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	axes := func(list ...string) string { return "matrix:\n  axes:\n  - " + strings.Join(list, "\n  - ") }
	// Each text has 63 characters, most of which JSON writes as six.
	texts := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("'%s%02d'", strings.Repeat("<", 61), i)
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	rules := `{name: rules, path: "chain[fw].firewall.rules", values: [1, 2]}`
	for name, test := range map[string]struct{ text, reason, message string }{
		"10,000 cells": {axes(`{name: a, path: "chain[fw].firewall.rules", values: `+values(100)+`}`, `{name: b, path: startupSeconds, values: `+values(100)+`}`),
			v1alpha1.ReasonTooManyCells, "more than 500 cells (10000 combinations"},
		"a product that is too large": {axes(`{name: a, path: "chain[fw].firewall.rules", values: `+values(100)+`}`, `{name: b, path: startupSeconds, values: `+values(100)+`}`, `{name: c, path: deadlineSeconds, values: `+values(100)+`}`),
			v1alpha1.ReasonTooManyCells, "more than 100000 combinations"},
		"many included": {axes(`{name: a, path: "chain[fw].firewall.rules", values: `+values(100)+`}`, `{name: b, path: startupSeconds, values: `+values(5)+`}`) + "\n  include: [{name: x}]", v1alpha1.ReasonTooManyCells, "has 501 cells"},
		"many long values": {axes(`{name: a, path: testbedRef.name, values: `+texts(25)+`}`, `{name: b, path: "chain[fw].firewall.backend", values: `+texts(20)+`}`),
			v1alpha1.ReasonTooManyCells, "the values of its 500 cells have "},
		"many measurements":  {axes(`{name: a, path: "chain[fw].firewall.rules", values: `+values(100)+`}`) + "\nrepeats: 21", v1alpha1.ReasonTooManyCells, "2100 measurements"},
		"no such field":      {axes(`{name: a, path: "chain[fw].firewall.ruels", values: [1]}`), v1alpha1.ReasonAxisPathNotFound, `axes[a].path is "chain[fw].firewall.ruels"`},
		"no such object":     {axes(`{name: a, path: "chain[fw].firewal.rules", values: [1]}`), v1alpha1.ReasonAxisPathNotFound, `unknown field "chain[0].firewal"`},
		"no such item":       {axes(`{name: a, path: "chain[gw].firewall.rules", values: [1]}`), v1alpha1.ReasonAxisPathNotFound, `chain has no item "gw", and has "fw"`},
		"no such list":       {axes(`{name: a, path: "noisyNeighbors[cpu].cpu", values: [1]}`), v1alpha1.ReasonAxisPathNotFound, "there is no list noisyNeighbors"},
		"no object":          {axes(`{name: a, path: "startupSeconds.x", values: [1]}`) + "\nexperiment: {startupSeconds: 5, chain: [{name: r, function: Router}]}", v1alpha1.ReasonAxisPathNotFound, "startupSeconds is no object"},
		"no list":            {axes(`{name: a, path: "traffic[x].y", values: [1]}`), v1alpha1.ReasonAxisPathNotFound, "traffic is no list"},
		"a path by number":   {axes(`{name: a, path: "chain[0]", values: [1]}`), v1alpha1.ReasonInvalidMatrix, "ends with an item"},
		"an item twice":      {axes(`{name: a, path: "chain[fw,fw].firewall.rules", values: [1]}`), v1alpha1.ReasonInvalidMatrix, `names the item "fw" twice`},
		"no second item":     {axes(`{name: a, path: "chain[fw,gw].firewall.rules", values: [1]}`), v1alpha1.ReasonAxisPathNotFound, `chain has no item "gw", and has "fw"`},
		"no second name":     {axes(`{name: a, path: "chain[fw,].firewall.rules", values: [1]}`), v1alpha1.ReasonInvalidMatrix, "neither a field"},
		"many places":        {axes(`{name: a, path: "chain[a,b,c].x[a,b,c].y", values: [1]}`), v1alpha1.ReasonInvalidMatrix, "more than 8 places"},
		"a path with spaces": {axes(`{name: a, path: "chain fw", values: [1]}`), v1alpha1.ReasonInvalidMatrix, "neither a field"},
		"an equal path":      {axes(rules, `{name: again, path: "chain[fw].firewall.rules", values: [3]}`), v1alpha1.ReasonAxesConflict, `axis "again" replaces chain[fw].firewall.rules, which axis "rules" has set`},
		"a patch over a path": {axes(rules, `{name: kind, variants: [{name: r, patch: {chain: [{name: fw, function: Router}]}}]}`),
			v1alpha1.ReasonAxesConflict, `list axis "kind" before "rules"`},
		"a patch over a patch": {axes(`{name: a, variants: [{name: x, patch: {traffic: {frameBytes: [64]}}}]}`, `{name: b, variants: [{name: y, patch: {traffic: {frameBytes: null}}}]}`),
			v1alpha1.ReasonAxesConflict, "replaces traffic.frameBytes"},
		"a patch with a typo":      {axes(`{name: a, variants: [{name: x, patch: {traffik: {}}}]}`), v1alpha1.ReasonInvalidExperiment, `cell "x": unknown field "traffik"`},
		"a patch of another type":  {axes(`{name: a, variants: [{name: x, patch: {chain: 5}}]}`), v1alpha1.ReasonInvalidExperiment, `cell "x"`},
		"an experiment with typos": {"experiment: {chians: []}", v1alpha1.ReasonInvalidExperiment, `spec.template.experiment: unknown field "chians"`},
		"an experiment of text":    {"experiment: text", v1alpha1.ReasonInvalidExperiment, "spec.template.experiment is no JSON object"},
		"a subject with an escape": {"experiment: {}\nsubject: {name: a, revision: \"\\e[2J\"}", v1alpha1.ReasonInvalidExperiment, "spec.template.subject.revision has control characters"},
		"a deep experiment":        {"experiment: " + strings.Repeat("{a: ", 33) + "1" + strings.Repeat("}", 33), v1alpha1.ReasonInvalidExperiment, "has more than 32 levels"},
		"a deep list":              {"experiment: {a: " + strings.Repeat("[", 33) + strings.Repeat("]", 33) + "}", v1alpha1.ReasonInvalidExperiment, "has more than 32 levels"},
		"a deep patch":             {axes(`{name: a, variants: [{name: v, patch: ` + strings.Repeat("{a: ", 33) + "1" + strings.Repeat("}", 33) + `}]}`), v1alpha1.ReasonInvalidExperiment, "has more than 32 levels"},
		"many large patches":       {axes(`{name: a, variants: [` + strings.Join(slices.Repeat([]string{`{name: v, patch: {p: ` + strings.Repeat("p", 31<<10) + `}}`}, 9), ",") + `]}`), v1alpha1.ReasonInvalidMatrix, "and 262144 is the most"},
		"a large experiment":       {"experiment: {x: " + strings.Repeat("y", v1alpha1.MaxExperimentBytes) + "}", v1alpha1.ReasonInvalidExperiment, "bytes, and 32768 is the most"},
		"patches that add up": {axes(`{name: a, variants: [{name: v, patch: {p: `+strings.Repeat("p", v1alpha1.MaxExperimentBytes-10)+`}}]}`, `{name: b, variants: [{name: w, patch: {q: `+strings.Repeat("q", v1alpha1.MaxExperimentBytes-10)+`}}]}`),
			v1alpha1.ReasonInvalidExperiment, "65536 is the most"},
		"Custom in a variant": {axes(`{name: a, variants: [{name: x, patch: {chain: [{name: fw, function: Custom}]}}]}`), v1alpha1.ReasonInvalidExperiment, "only a variant or a value brings the function Custom"},
		"Custom in a value":   {axes(`{name: a, path: "chain[fw].function", values: [Custom]}`), v1alpha1.ReasonInvalidExperiment, "only a variant or a value brings the function Custom"},
		"neither":             {axes(`{name: a}`), v1alpha1.ReasonInvalidMatrix, "axes[a] has not what an axis needs"},
		"both":                {axes(`{name: a, path: startupSeconds, values: [1], variants: [{name: x, patch: {}}]}`), v1alpha1.ReasonInvalidMatrix, "axes[a]"},
		"a path alone":        {axes(`{name: a, path: startupSeconds}`), v1alpha1.ReasonInvalidMatrix, "axes[a]"},
		"numeric variants":    {axes(`{name: a, kind: Numeric, variants: [{name: x, patch: {}}]}`), v1alpha1.ReasonInvalidMatrix, "Numeric"},
		"numeric texts":       {axes(`{name: a, kind: Numeric, path: startupSeconds, values: [few]}`), v1alpha1.ReasonInvalidMatrix, `values[0] is "few"`},
		"numeric pairs":       {axes(`{name: a, kind: Numeric, path: traffic.frameBytes, values: [[64], [64, 512]]}`), v1alpha1.ReasonInvalidMatrix, `values[1] is "64,512"`},
		"a value twice":       {axes(`{name: a, path: startupSeconds, values: [5, 5]}`), v1alpha1.ReasonInvalidMatrix, `the value "5" twice`},
		"an object":           {axes(`{name: a, path: traffic, values: [{frameBytes: [64]}]}`), v1alpha1.ReasonInvalidMatrix, "or use variants"},
		"null":                {axes(`{name: a, path: traffic, values: [null]}`), v1alpha1.ReasonInvalidMatrix, "values[0] cannot be read"},
		"exclude all":         {axes(rules) + "\n  exclude: [{rules: \"1\"}, {rules: \"2\"}]", v1alpha1.ReasonInvalidMatrix, "leaves out every cell"},
		"exclude nothing":     {axes(rules) + "\n  exclude: [{rules: \"1\"}, {rules: \"1\"}, {rules: \"3\"}]", v1alpha1.ReasonInvalidMatrix, `exclude[2]: axis "rules" has no value "3"`},
		"exclude no axis":     {axes(rules) + "\n  exclude: [{rulez: \"1\"}]", v1alpha1.ReasonInvalidMatrix, `there is no axis "rulez"`},
		"include a name":      {axes(rules) + "\n  include: [{name: rules-1}]", v1alpha1.ReasonInvalidMatrix, `include[0].name: another cell has the name "rules-1"`},
		"include no value":    {axes(rules) + "\n  include: [{name: x, values: {rules: \"9\"}}]", v1alpha1.ReasonInvalidMatrix, `use one of "1", "2"`},
		"include over a path": {axes(rules) + "\n  include: [{name: x, values: {rules: \"1\"}, patch: {chain: [{name: fw, function: Router}]}}]", v1alpha1.ReasonAxesConflict,
			"include[0].patch replaces chain, which the cell's values have set (spec.template.matrix.axes[rules].path), or a field in it"},
		"include over a variant": {axes(`{name: a, variants: [{name: v, patch: {traffic: {frameBytes: [64]}}}]}`) + "\n  include: [{name: x, values: {a: v}, patch: {traffic: null}}]",
			v1alpha1.ReasonAxesConflict, "include[0].patch replaces traffic, which the cell's values have set (spec.template.matrix.axes[a].variants[v].patch)"},
		"no control cell":  {axes(rules) + "\ncontrolCell: rules-9", v1alpha1.ReasonInvalidMatrix, `there is no cell "rules-9"`},
		"a control's name": {axes(rules) + "\n  include: [{name: rules-1-control}]\ncontrolCell: rules-1", v1alpha1.ReasonInvalidMatrix, "has the name of the control cell"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(template(t, test.text))
			var failure *measure.Failure
			if !errors.As(err, &failure) || failure.Reason != test.reason || !strings.Contains(err.Error(), test.message) {
				t.Errorf("%v, want %s with %q", err, test.reason, test.message)
			} else if failure.Remedy == "" {
				t.Errorf("%v: no remedy", err)
			}
		})
	}
}

// TestResume checks that an execution that continues has the cells that it began with, and that the experiment of a cell is checked also then, when
// it is made.
func TestResume(t *testing.T) {
	good := template(t, `
matrix:
  axes:
  - {name: rules, path: "chain[fw].firewall.rules", values: [1, 2]}
controlCell: rules-1`)
	began, err := Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	continued, err := Resume(good)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names(began), names(continued)); diff != "" {
		t.Error(diff)
	}
	for i := range began.Cells {
		before, errBefore := began.Experiment(i)
		after, errAfter := continued.Experiment(i)
		if diff := cmp.Diff(before, after); diff != "" || errors.Join(errBefore, errAfter) != nil {
			t.Errorf("%s, %v, %v", diff, errBefore, errAfter)
		}
	}
	for text, reason := range map[string]string{
		`{name: x, path: unknown, values: [1]}`:                                            v1alpha1.ReasonAxisPathNotFound,
		`{name: x, variants: [{name: c, patch: {chain: [{name: fw, function: Custom}]}}]}`: v1alpha1.ReasonInvalidExperiment,
	} {
		s, err := Resume(template(t, "matrix:\n  axes:\n  - "+text))
		if err != nil {
			t.Fatalf("%s: all cells are checked: %v", text, err)
		}
		if _, err := s.Experiment(0); measure.ReasonOf(err) != reason {
			t.Errorf("%s: %v, want %s", text, err, reason)
		}
	}
}

// TestExcludeTwice checks that two combinations may leave out the same cell.
func TestExcludeTwice(t *testing.T) {
	_, err := Parse(template(t, `
matrix:
  axes:
  - {name: rules, path: "chain[fw].firewall.rules", values: [1, 2]}
  exclude: [{rules: "1"}, {rules: "1"}]`))
	if err != nil {
		t.Error(err)
	}
}

func TestNamesAreShortAndUnique(t *testing.T) {
	long := strings.Repeat("long", 7)
	s, err := Parse(template(t, `
matrix:
  axes:
  - {name: a, variants: [{name: `+long+`1, patch: {}}, {name: `+long+`2, patch: {}}]}
  - {name: b, variants: [{name: `+long+`3, patch: {}}, {name: `+long+`4, patch: {}}]}
  - {name: c, path: testbedRef.name, values: [a.b, a-b]}`))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range s.Cells {
		if len(c.Name) > maxNameBytes || seen[c.Name] || readable(c.Name) != c.Name {
			t.Errorf("%q is long, is no label, or is twice in %q", c.Name, names(s))
		}
		seen[c.Name] = true
	}
}

// TestMergeIsThatOfTheLibrary compares the merge with that of a library, on the examples of RFC 7396 appendix A that
// are objects, and on nested ones.
func TestMergeIsThatOfTheLibrary(t *testing.T) {
	for _, pair := range [][2]string{
		{`{"a":"b"}`, `{"a":"c"}`}, {`{"a":"b"}`, `{"b":"c"}`}, {`{"a":"b"}`, `{"a":null}`}, {`{"a":"b","b":"c"}`, `{"a":null}`},
		{`{"a":["b"]}`, `{"a":"c"}`}, {`{"a":"c"}`, `{"a":["b"]}`}, {`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`}, {`{"e":null}`, `{"a":1}`}, {`{}`, `{"a":{"bb":{"ccc":null}}}`},
		{`{"a":1}`, `{"a":{"b":{"c":2,"d":null}}}`}, {`{"a":{"b":{"c":1}}}`, `{"a":{"b":{}}}`},
	} {
		var document, patch map[string]any
		if err := errors.Join(utiljson.Unmarshal([]byte(pair[0]), &document), utiljson.Unmarshal([]byte(pair[1]), &patch)); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(merge(document, patch))
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsonpatch.MergePatch([]byte(pair[0]), []byte(pair[1]))
		if err != nil || !jsonpatch.Equal(got, want) {
			t.Errorf("%s with %s is %s, want %s (%v)", pair[0], pair[1], got, want, err)
		}
	}
}

// TestOrder checks that each block has every cell once, that the seed decides, and that orders of blocks differ.
func TestOrder(t *testing.T) {
	const cells, repeats = 12, 3
	random := Order(cells, repeats, v1alpha1.OrderRandom, 7)
	if len(random) != cells*repeats {
		t.Fatalf("%d measurements", len(random))
	}
	var blocks [][]Measurement
	for repeat := range repeats {
		block := random[repeat*cells : (repeat+1)*cells]
		var seen []int
		for _, m := range block {
			if m.Repeat != repeat {
				t.Errorf("block %d has repeat %d", repeat, m.Repeat)
			}
			seen = append(seen, m.Cell)
		}
		if slices.Sort(seen); !slices.Equal(seen, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
			t.Errorf("block %d has the cells %v", repeat, seen)
		}
		blocks = append(blocks, block)
	}
	order := func(block []Measurement) (cells []int) {
		for _, m := range block {
			cells = append(cells, m.Cell)
		}
		return cells
	}
	if slices.Equal(order(blocks[0]), order(blocks[1])) && slices.Equal(order(blocks[1]), order(blocks[2])) {
		t.Error("all blocks have one order")
	}
	if !slices.Equal(random, Order(cells, repeats, v1alpha1.OrderRandom, 7)) {
		t.Error("one seed gives two orders")
	}
	if slices.Equal(random, Order(cells, repeats, v1alpha1.OrderRandom, 8)) {
		t.Error("two seeds give one order")
	}
	if declared := order(Order(3, 2, v1alpha1.OrderDeclared, 7)); !slices.Equal(declared, []int{0, 1, 2, 0, 1, 2}) {
		t.Errorf("declared order %v", declared)
	}
	// An execution that continues after an upgrade depends on these.
	if got, want := order(Order(5, 1, v1alpha1.OrderRandom, 1)), []int{4, 0, 3, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("the order of seed 1 is %v, want %v", got, want)
	}
}

func TestDuration(t *testing.T) {
	measured := func(state v1alpha1.MeasurementState, seconds int64) v1alpha1.SuiteMeasurement {
		return v1alpha1.SuiteMeasurement{State: state, Seconds: seconds}
	}
	cells := []v1alpha1.SuiteCell{
		{EstimatedSeconds: 100, Measurements: []v1alpha1.SuiteMeasurement{measured(v1alpha1.MeasurementPending, 0), measured(v1alpha1.MeasurementRunning, 0)}},
		{EstimatedSeconds: 50, Measurements: []v1alpha1.SuiteMeasurement{measured(v1alpha1.MeasurementFailed, 5), measured(v1alpha1.MeasurementPending, 0)}},
	}
	if got := EstimatedSeconds(cells); got != 300 {
		t.Errorf("%d seconds in all", got)
	}
	if got := RemainingSeconds(cells); got != 250 {
		t.Errorf("%d seconds left, before one has ended", got)
	}
	cells[1].Measurements[0] = measured(v1alpha1.MeasurementSucceeded, 75)
	if got := RemainingSeconds(cells); got != 375 {
		t.Errorf("%d seconds left, and measurements take half as long again as planned", got)
	}
}

func TestStateOf(t *testing.T) {
	const pending, running, succeeded, failed, skipped = v1alpha1.MeasurementPending, v1alpha1.MeasurementRunning, v1alpha1.MeasurementSucceeded, v1alpha1.MeasurementFailed, v1alpha1.MeasurementSkipped
	for want, lists := range map[v1alpha1.MeasurementState][][]v1alpha1.MeasurementState{
		pending:   {{pending, pending}},
		running:   {{running, pending}, {succeeded, pending}, {failed, pending}, {succeeded, running}},
		succeeded: {{succeeded, succeeded}},
		failed:    {{failed, succeeded}, {failed, skipped}},
		skipped:   {{skipped, succeeded}},
	} {
		for _, states := range lists {
			var measurements []v1alpha1.SuiteMeasurement
			for _, s := range states {
				measurements = append(measurements, v1alpha1.SuiteMeasurement{State: s})
			}
			if got := StateOf(measurements); got != want {
				t.Errorf("%v: %s, want %s", states, got, want)
			}
		}
	}
}

// FuzzParse: a template is a tenant's, so no text may make Parse panic, nor give a cell that cannot be made.
func FuzzParse(f *testing.F) {
	f.Add(`{"experiment":{"chain":[{"name":"fw","function":"Firewall"}]},"matrix":{"axes":[{"name":"a","path":"chain[fw].firewall.rules","values":[0,1]}],"exclude":[{"a":"0"}]}}`)
	f.Add(`{"experiment":{},"matrix":{"axes":[{"name":"a","variants":[{"name":"x","patch":{"traffic":{"imix":null}}}]}],"include":[{"name":"y","values":{"a":"x"}}]},"controlCell":"x","repeats":3}`)
	f.Fuzz(func(t *testing.T, text string) {
		var template v1alpha1.SuiteTemplate
		if json.Unmarshal([]byte(text), &template) != nil {
			return
		}
		s, err := Parse(&template)
		if err != nil {
			if measure.ReasonOf(err) == "" {
				t.Errorf("%q: %v has no reason", text, err)
			}
			return
		}
		for i := range s.Cells {
			if _, err := s.Experiment(i); err != nil {
				t.Errorf("%q, cell %q: %v", text, s.Cells[i].Name, err)
			}
		}
	})
}

// TestByTurns checks that pairs begin with each version by turns, also over several confirmations of a question, and that not every question
// begins with the same one.
func TestByTurns(t *testing.T) {
	first := func(run string, firstPair int32, pairs int) (out []int) {
		all := ByTurns(2, pairs, &v1alpha1.SuiteConfirmation{Run: run, Cause: "Step", FirstPair: firstPair})
		for i := 0; i < len(all); i += 2 {
			if all[i].Repeat != i/2 || all[i+1].Repeat != i/2 || all[i].Cell+all[i+1].Cell != 1 {
				t.Fatalf("%+v is no list of pairs", all)
			}
			out = append(out, all[i].Cell)
		}
		return out
	}
	sides := map[int]int{}
	for i := range 200 {
		run := fmt.Sprint("nightly-", i)
		whole := first(run, 1, 6)
		for pair := 1; pair < len(whole); pair++ {
			if whole[pair] == whole[pair-1] {
				t.Fatalf("%s: pairs %d and %d begin with the same version", run, pair, pair+1)
			}
		}
		if parts := slices.Concat(first(run, 1, 2), first(run, 3, 1), first(run, 4, 3)); !slices.Equal(whole, parts) {
			t.Fatalf("%s: %v in several confirmations, and %v in one", run, parts, whole)
		}
		sides[whole[0]]++
	}
	if sides[0] < 60 || sides[1] < 60 {
		t.Errorf("the first pairs begin with %v", sides)
	}
}
