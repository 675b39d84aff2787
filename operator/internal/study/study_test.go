package study_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/study"
	"vnfbench.io/operator/internal/testing/resultstest"
)

var update = flag.Bool("update", false, "write the golden files")

const folder = "../../../config/studies"

// read returns a study of the repository.
func read(t *testing.T, name string) study.Study {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name, study.File))
	if err != nil {
		t.Fatal(err)
	}
	s, err := study.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// execute returns the documents of the suites of a study's size.
func execute(t *testing.T, name, size string, device resultstest.Device) []report.SuiteDocument {
	t.Helper()
	return executeWithCriteria(t, name, size, device, nothing)
}

// nothing returns no figures of criteria.
func nothing(v1alpha1.Combination, int) map[string]float64 { return nil }

// executeWithCriteria returns the same with the figures that criteria name.
func executeWithCriteria(t *testing.T, name, size string, device resultstest.Device, criteria resultstest.Criteria) []report.SuiteDocument {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, name, size, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out []report.SuiteDocument
	for _, file := range files {
		if filepath.Base(file) != "kustomization.yaml" {
			out = append(out, resultstest.ExecutedWithCriteria(t, file, device, criteria))
		}
	}
	return out
}

// number returns the value of an axis; 0 without it.
func number(values v1alpha1.Combination, axis string) float64 {
	n, err := strconv.ParseFloat(string(values[axis]), 64)
	if err != nil {
		return 0
	}
	return n
}

// firewall is a device whose frames take a time, and more for each rule and byte. Where it remembers flows, later packets do not pay for the rules,
// and the elements of a set cost a thousandth of rules.
type firewall struct{ iptables, nftables, byteOf float64 }

func (f firewall) measure(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
	each := map[v1alpha1.AxisLabel]float64{"iptables": f.iptables, "nftables": f.nftables}[values["backend"]]
	noise := 1 + 0.004*float64(repeat-1)
	walk := each * number(values, "rules")
	switch {
	case values["packets"] == "later":
		return resultstest.Measured(0, 12_000*noise)
	case values["packets"] == "first":
		return resultstest.Measured(0, (15_000+walk)*noise)
	case values["lookup"] == "Set" || values["lookup"] == "Map":
		return resultstest.Measured(1e9/(1500+0.001*walk)*noise, 0)
	case values["sources"] != "":
		return resultstest.Measured(1e9/(1500+walk)*noise, (9_000+walk)*noise)
	}
	return resultstest.Measured(1e9/(4000+walk+f.byteOf*number(values, "size"))*noise, 0)
}

// evaluated returns the report of a study.
func evaluated(t *testing.T, name string, docs []report.SuiteDocument) study.Report {
	t.Helper()
	r, err := study.Evaluate(read(t, name), docs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verdicts returns those of the claims by their names.
func verdicts(r study.Report) map[string]study.Verdict {
	out := map[string]study.Verdict{}
	for _, c := range r.Claims {
		out[c.ID] = c.Verdict
	}
	return out
}

// claim returns the result of a claim.
func claim(t *testing.T, r study.Report, id string) study.Result {
	t.Helper()
	return named(t, r.Claims, id)
}

// answer returns a finding of the answer.
func answer(t *testing.T, r study.Report, id string) study.Result {
	t.Helper()
	return named(t, r.Answer, id)
}

func named(t *testing.T, results []study.Result, id string) study.Result {
	t.Helper()
	i := slices.IndexFunc(results, func(r study.Result) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("there is no %s", id)
	}
	return results[i]
}

// simulated are what is measured of each study: devices of which some claims come out as published and some do not.
var simulated = map[string]struct {
	device   resultstest.Device
	criteria resultstest.Criteria
	suites   int
}{
	"rule-cost":         {firewall{iptables: 2, nftables: 6}.measure, nothing, 3},
	"iptables-nftables": {firewall{iptables: 2, nftables: 4, byteOf: 0.2}.measure, nothing, 2},
	"gateway-scaling":   {gateways{one: 262.5e6, contention: 0.02, coherency: 0.003, plain: 9.3e9, small: 1}.measure, nothing, 2},
	"vcpe":              {unmeasured, platform{}.delays, 3},
	"nics":              {virtualFirewall{}.measure, virtualFirewall{}.delays, 3},
}

// unmeasured is a device of which the table has no figure.
func unmeasured(v1alpha1.Combination, int) v1alpha1.SuiteMeasurement {
	return resultstest.Measured(0, 0)
}

// TestStudiesOfSimulatedDevices compares the reports of all studies in the lab's size with golden files.
func TestStudiesOfSimulatedDevices(t *testing.T) {
	for name, of := range simulated {
		requireGolden(t, name, evaluated(t, name, executeWithCriteria(t, name, "lab", of.device, of.criteria)))
	}
}

// requireGolden compares a report with the golden file of that name.
func requireGolden(t *testing.T, name string, r study.Report) {
	t.Helper()
	var text bytes.Buffer
	if err := report.WriteParts(&text, r.Parts(), report.FormatTable, report.Options{ASCII: true}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("%s (-want +got; -update writes it again): %s", file, diff)
	}
}

// TestEveryClaimIsMeasured checks, in both sizes, that each finding and each claim of a study is measured by its suites, except for those of which the
// study says that they are not.
func TestEveryClaimIsMeasured(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(folder, "*", study.File))
	if err != nil || len(folders) != len(simulated) {
		t.Errorf("%d studies are simulated, and there are %q: %v", len(simulated), folders, err)
	}
	for name, of := range simulated {
		for _, size := range []string{"full", "lab"} {
			s := read(t, name)
			r := evaluated(t, name, executeWithCriteria(t, name, size, of.device, of.criteria))
			if r.Size != size || r.Completeness != report.Complete || len(r.Executions) != of.suites {
				t.Errorf("%s/%s: %+v", name, size, r)
			}
			for i, f := range r.Answer {
				said := s.Answer[i].CannotBeShown[size] + s.Answer[i].CannotBeShown[study.AnySize]
				if (f.Measured == "") != (said != "") || f.Measured == "" && f.Why != said {
					t.Errorf("%s/%s: %+v", name, size, f)
				}
			}
			for i, c := range r.Claims {
				said := s.Claims[i].CannotBeShown[size] + s.Claims[i].CannotBeShown[study.AnySize]
				if said == "" && (c.Measured == "" || c.Verdict == study.CannotBeShown) || said != "" && c.Why != said {
					t.Errorf("%s/%s: %+v", name, size, c)
				}
			}
		}
	}
}

// TestNotReproduced checks that firewalls of which the opposite is true do not reproduce what was published.
func TestNotReproduced(t *testing.T) {
	free := verdicts(evaluated(t, "rule-cost", execute(t, "rule-cost", "full", firewall{iptables: 0.001, nftables: 0.001}.measure)))
	for _, id := range []string{"grows", "first-packet", "random-sources"} {
		if free[id] != study.NotReproduced {
			t.Errorf("rules cost nothing: %s is %s", id, free[id])
		}
	}
	curved := evaluated(t, "rule-cost", execute(t, "rule-cost", "full", func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
		rules := number(values, "rules")
		m := firewall{iptables: 2 + rules/10_000}.measure(values, repeat)
		if values["packets"] == "later" {
			*m.P99Nanoseconds += int64(rules)
		}
		return m
	}))
	if c := claim(t, curved, "straight"); c.Verdict != study.NotReproduced || !strings.HasPrefix(c.Why, "the cost changes over the range (F test, p = ") {
		t.Errorf("%+v", c)
	}
	if c := claim(t, curved, "later-packets"); c.Verdict != study.NotReproduced {
		t.Errorf("%+v", c)
	}
	faster := verdicts(evaluated(t, "iptables-nftables", execute(t, "iptables-nftables", "full", firewall{iptables: 4, nftables: 2, byteOf: 8}.measure)))
	for _, id := range []string{"half", "packets-limit", "line-rate"} {
		if faster[id] != study.NotReproduced {
			t.Errorf("nftables is faster, and each byte costs: %s is %s", id, faster[id])
		}
	}
}

// TestCannotBeShown checks the reasons for which a claim is not decided.
func TestCannotBeShown(t *testing.T) {
	whole := firewall{iptables: 2, nftables: 4}
	changed := func(change func(*v1alpha1.SuiteMeasurement)) resultstest.Device {
		return func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
			m := whole.measure(values, repeat)
			if values["rules"] == "5000" && values["backend"] == "nftables" {
				change(&m)
			}
			return m
		}
	}
	for name, tc := range map[string]struct {
		device resultstest.Device
		why    string
	}{
		"floors": {changed(func(m *v1alpha1.SuiteMeasurement) { m.RateNote = v1alpha1.NoteAtLeast }), "what is known leaves open whether the figure is within the expected range, 0.35 to 0.7; bounds are among the figures, so only an end of their 95 % interval is known"},
		"bounds on both sides": {func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
			m := whole.measure(values, repeat)
			if values["rules"] == "5000" {
				m.RateNote = v1alpha1.NoteAtLeast
			}
			return m
		}, "figures of both cells are bounds, and together they say nothing of the ratio"},
		"a bound in each direction": {func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
			m := whole.measure(values, repeat)
			if values["rules"] == "5000" && values["backend"] == "nftables" {
				m.RateNote = []v1alpha1.FigureNote{v1alpha1.NoteAtLeast, v1alpha1.NoteAtMost}[repeat%2]
			}
			return m
		}, "5 of 5 figures of cell nftables-rules-5000 are no values, and one is a bound (AtLeast)"},
		"doubts": {changed(func(m *v1alpha1.SuiteMeasurement) {
			m.RateNote, m.RateDoubts = v1alpha1.NoteDoubtful, []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing, v1alpha1.DoubtDrift}
		}), "all 5 figures of the cell with backend=nftables, rules=5000 are in doubt (Drift, UnsteadyPacing)"},
		"failures": {changed(func(m *v1alpha1.SuiteMeasurement) {
			m.State, m.Reason, m.FramesPerSecond = v1alpha1.MeasurementFailed, v1alpha1.ReasonChainFailed, nil
		}), "the cell with backend=nftables, rules=5000 failed: ChainFailed"},
		"scatter": {func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
			m := whole.measure(values, repeat)
			*m.FramesPerSecond = *m.FramesPerSecond * int64(repeat+1) / 2
			return m
		}, "the interval is partly outside of the expected range, 0.35 to 0.7: more repeats make it narrower"},
	} {
		r := evaluated(t, "iptables-nftables", execute(t, "iptables-nftables", "full", tc.device))
		if c := claim(t, r, "half"); c.Verdict != study.CannotBeShown || c.Why != tc.why {
			t.Errorf("%s: %+v", name, c)
		}
		if want := report.Complete; name != "failures" && r.Completeness != want {
			t.Errorf("%s: %s", name, r.Completeness)
		}
	}
	docs := execute(t, "iptables-nftables", "lab", whole.measure)
	for i := range docs {
		docs[i].Fits, docs[i].Crossings = nil, nil
		for j := range docs[i].Cells {
			docs[i].Cells[j].Measurements = docs[i].Cells[j].Measurements[:1]
		}
	}
	r := evaluated(t, "iptables-nftables", docs[:1])
	if docs[0].Execution.Suite != "iptables-nftables-rules-lab" {
		t.Fatal(docs[0].Execution.Suite)
	}
	for id, why := range map[string]string{
		"half": "too few measurements: there are 1 and 1 repeats, and it takes 2 of both", "packets-limit": "there is no document of suite iptables-nftables-sizes-lab",
		"line-rate": "a bridge of one node has no line rate",
	} {
		if c := claim(t, r, id); c.Verdict != study.CannotBeShown || c.Why != why || c.Measured != "" {
			t.Errorf("%+v", c)
		}
	}
	if r.Completeness != report.Partial || r.Answer[0].Why != "the document does not compare iptables with nftables over rules" || r.Answer[1].Why != "the document has no figures over rules at backend=iptables" {
		t.Errorf("%s, %+v", r.Completeness, r.Answer)
	}
}

// TestDocumentsOfAStudy checks which documents belong together.
func TestDocumentsOfAStudy(t *testing.T) {
	s := read(t, "rule-cost")
	full, lab := execute(t, "rule-cost", "full", firewall{}.measure), execute(t, "rule-cost", "lab", firewall{}.measure)
	other := execute(t, "iptables-nftables", "lab", firewall{}.measure)
	for want, docs := range map[string][]report.SuiteDocument{
		"give the document of at least one suite": nil, "another document of size full: give those of one size": {full[0], lab[1]},
		`there are two documents of suite "rule-cost-flows"`: {full[0], full[0]}, `suite "iptables-nftables-rules-lab" is none of study rule-cost`: other,
	} {
		if _, err := study.Evaluate(s, docs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestReportIsJSON checks that a report keeps its fields as JSON.
func TestReportIsJSON(t *testing.T) {
	want := evaluated(t, "rule-cost", execute(t, "rule-cost", "lab", firewall{iptables: 2, nftables: 6}.measure))
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got study.Report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Kind != study.Kind {
		t.Error(diff)
	}
}

// TestBadStudies checks that a study that cannot be evaluated is refused with the field.
func TestBadStudies(t *testing.T) {
	const good = `{name: s, title: t, question: q, published: p, sizes: [{name: lab, suites: {a: suite-a}}], answer: [{id: f, text: t, slope: {suite: a, of: P99, axis: x}}],
  claims: [{id: c, text: t, value: v, ratio: {suite: a, of: Rate, cell: {x: "1"}, to: {x: "2"}, least: 1}, unsized: true}]}`
	if _, err := study.Read([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][3]string{
		"an unknown field":      {"title: t", "titel: t", `unknown field "titel"`},
		"no question":           {"question: q", `question: ""`, "question is missing"},
		"no sizes":              {"sizes: [{name: lab, suites: {a: suite-a}}]", "sizes: []", "sizes has none"},
		"other suites":          {"suites: {a: suite-a}}", "suites: {a: suite-a}}, {name: full, suites: {b: suite-b}}", "sizes[1].suites"},
		"a suite twice":         {"suites: {a: suite-a}}", "suites: {a: suite-a}}, {name: full, suites: {a: suite-a}}", `sizes[1].suites.a: another one is "suite-a", too`},
		"a size twice":          {"suites: {a: suite-a}}", "suites: {a: suite-a}}, {name: lab, suites: {a: suite-b}}", "sizes[1].name"},
		"an id twice":           {"id: c", "id: f", `claims[0].id is "f"`},
		"no text":               {"id: f, text: t", `id: f, text: ""`, "answer[0].text is missing"},
		"no measure":            {"ratio: {suite: a, of: Rate, cell: {x: \"1\"}, to: {x: \"2\"}, least: 1}", "cannotBeShown: {lab: w}", "claims[0].slope, ratio, crossing, scaling, amount, steps: it has 0 of them"},
		"an unknown suite":      {"slope: {suite: a", "slope: {suite: b", `answer[0].suite is "b"`},
		"a slope of a rate":     {"of: P99", "of: Rate", `answer[0].of is "Rate"`},
		"no axis":               {"axis: x", `axis: ""`, "answer[0].slope.axis is missing"},
		"no cell":               {`cell: {x: "1"}`, "cell: {}", "claims[0].ratio needs the values"},
		"nothing is expected":   {", least: 1", "", "claims[0] says nothing that is expected"},
		"nothing published":     {"value: v", `value: ""`, "claims[0].value is missing"},
		"no size published":     {", unsized: true", "", "claims[0].similar says where the size is as published"},
		"a size and none":       {"unsized: true", "unsized: true, similar: {least: 1, most: 2}", "claims[0].similar says where the size is as published"},
		"a size of one end":     {"unsized: true", "similar: {least: 1}", "claims[0].similar needs least and most"},
		"a size of two ends":    {"least: 1}, unsized: true", "least: 1, most: 3}, similar: {least: 1, most: 2}", "claims[0].similar needs least and most"},
		"an unknown size":       {"value: v", "value: v, cannotBeShown: {home: w}", "claims[0].cannotBeShown.home"},
		"a bad crossing":        {"slope: {suite: a, of: P99, axis: x}", "crossing: {suite: a, of: P99, axis: x}", "answer[0].crossing needs axis, between, first and second"},
		"a figure of two":       {"slope: {suite: a, of: P99, axis: x}", "amount: {suite: a, of: P99, criterion: c, cell: {x: \"1\"}, unit: ms, divisor: 1000}", "answer[0].of and criterion: give one of them"},
		"no unit":               {"slope: {suite: a, of: P99, axis: x}", "amount: {suite: a, of: P99, cell: {x: \"1\"}, divisor: 1000}", "answer[0].amount needs the values of cell, a unit"},
		"no divisor":            {"slope: {suite: a, of: P99, axis: x}", "amount: {suite: a, of: P99, cell: {x: \"1\"}, unit: ms}", "a divisor above 0"},
		"steps of nothing":      {"slope: {suite: a, of: P99, axis: x}", "steps: {suite: a, of: P99}", "answer[0].steps.axis is missing"},
		"steps as a claim":      {"ratio: {suite: a, of: Rate, cell: {x: \"1\"}, to: {x: \"2\"}, least: 1}", "steps: {suite: a, of: Rate, axis: x}", "claims[0] says nothing that is expected"},
		"no reason":             {"id: f, text: t", "id: f, text: t, cannotBeShown: {lab: \"\"}", "answer[0].cannotBeShown.lab"},
		"a bad result":          {"slope: {suite: a, of: P99, axis: x}", "crossing: {suite: a, of: P99, axis: x, between: b, first: c, second: d, result: Above}", `answer[0].crossing.result is "Above"`},
		"a scaling of a delay":  {"slope: {suite: a, of: P99, axis: x}", "scaling: {suite: a, of: P99, axis: x, figure: Peak}", `answer[0].of is "P99"`},
		"no axis to scale over": {"slope: {suite: a, of: P99, axis: x}", "scaling: {suite: a, of: Rate, figure: Peak}", "answer[0].scaling.axis is missing"},
		"a bad figure":          {"slope: {suite: a, of: P99, axis: x}", "scaling: {suite: a, of: Rate, axis: x, figure: Top}", `answer[0].scaling.figure is "Top"`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if _, err := study.Read([]byte(text)); text == good || err == nil || !strings.Contains(err.Error(), change[2]) {
			t.Errorf("%s: %v, want %q", name, err, change[2])
		}
	}
	if _, err := study.Read(bytes.Repeat([]byte(" "), study.MaximumBytes+1)); err == nil {
		t.Error("a study of any size is read")
	}
	if _, err := study.Read([]byte(strings.Replace(good, "{name: s", "{name: s, name: s", 1))); err == nil {
		t.Error("a field that is there twice is read")
	}
}
