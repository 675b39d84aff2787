package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
)

// asPod returns the fixture's run as a pod. asMachine returns it as an emulated
// virtual machine, with other figures.
func asPod(t *testing.T) Document {
	run, records := fixture(t)
	run.Name, run.Status.Warnings = "as-pod", nil
	run.Status.Chain = []v1alpha1.FunctionReport{{Name: "router", Runtime: v1alpha1.RuntimePod, Node: "node-a", ImageID: "vnf@sha256:1"}}
	run.Status.Device.Domains = nil
	for _, c := range run.Status.CPU {
		for i := range c.Functions {
			c.Functions[i].Guest, c.Functions[i].Domain = nil, nil
		}
	}
	return mustBuild(t, run, records)
}

func asMachine(t *testing.T) Document {
	run, records := fixture(t)
	run.Name = "as-e1000"
	function := &run.Spec.Experiment.Chain[0]
	function.Runtime = v1alpha1.RuntimeVirtualMachine
	function.West.Attachment, function.East.Attachment = v1alpha1.AttachmentE1000, v1alpha1.AttachmentE1000
	run.Status.Chain = []v1alpha1.FunctionReport{{
		Name: "router", Runtime: v1alpha1.RuntimeVirtualMachine, Node: "node-a",
		VirtualMachine: &v1alpha1.VirtualMachineReport{
			MachineType: "pc-q35-9.2", CPUModel: "host-model", VCPUs: 1, MemoryBytes: 512 << 20,
			Ports: []v1alpha1.VirtualPortReport{{Name: "west", Model: "e1000"}, {Name: "east", Model: "e1000"}},
		},
	}}
	run.Status.Device.Domains = []v1alpha1.DomainReport{{Function: "router", Accelerator: "tcg"}}
	frame := &run.Status.Results[0]
	frame.Throughput[0].FramesPerSecond /= 4
	frame.Latency[0].Directions[0].Latency.P99Nanoseconds *= 3
	// A load that the other run does not have.
	further := frame.Latency[0].DeepCopy()
	further.Load = "further"
	frame.Latency = append(frame.Latency, *further)
	return mustBuild(t, run, records)
}

func mustBuild(t *testing.T, run *v1alpha1.BenchmarkRun, records []measure.Record) Document {
	t.Helper()
	doc, err := Build(run, Source{Trials: records}, now)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func mustCompare(t *testing.T, docs ...Document) Comparison {
	t.Helper()
	c, err := Compare(columnsOf(docs...), comparison.AdjustNone, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// columnsOf returns a column for each run.
func columnsOf(docs ...Document) (columns []Column) {
	for _, doc := range docs {
		columns = append(columns, Column{Name: doc.Run.Name, Documents: []Document{doc}})
	}
	return columns
}

func TestComparisonGolden(t *testing.T) {
	c := mustCompare(t, asPod(t), asMachine(t))
	for name, tc := range map[string]struct {
		format Format
		opts   Options
	}{
		"compared.txt": {FormatTable, Options{}}, "compared-ascii.txt": {FormatTable, Options{ASCII: true}},
		"compared.md": {FormatMarkdown, Options{}}, "compared.json": {FormatJSON, Options{}}, "compared.csv": {FormatCSV, Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := WriteComparison(&got, c, tc.format, tc.opts); err != nil {
				t.Fatal(err)
			}
			if tc.opts.ASCII && bytes.ContainsFunc(got.Bytes(), func(r rune) bool { return r > 126 }) {
				t.Error("the ASCII table has other characters")
			}
			text := got.String()
			if tc.format == FormatJSON {
				text = linePerFigure(t, got.Bytes())
			}
			checkGolden(t, name, text)
		})
	}
}

// checkGolden compares a text with a file, or writes it with -update.
func checkGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got; -update writes it again):\n%s", path, diff)
	}
}

// linePerFigure returns a comparison's JSON with each figure on one line, which is how the golden file keeps it: a
// figure has about thirteen lines otherwise. It checks the white space that this leaves out.
func linePerFigure(t *testing.T, data []byte) string {
	t.Helper()
	var compact, indented bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&indented, compact.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	if got := string(data); got != indented.String()+"\n" {
		t.Error("the JSON is not indented by two spaces")
	}
	const key = "\n  \"figures\": "
	head, rest, found := strings.Cut(string(data), key)
	list, last := strings.CutSuffix(rest, "\n}\n")
	var figures []json.RawMessage
	if err := json.Unmarshal([]byte(list), &figures); !found || !last || err != nil {
		t.Fatalf("the figures are not at the end of the JSON: %v", err)
	}
	lines := make([]string, len(figures))
	for i, f := range figures {
		var line bytes.Buffer
		if err := json.Compact(&line, f); err != nil {
			t.Fatal(err)
		}
		lines[i] = line.String()
	}
	return head + key + "[\n" + strings.Join(lines, ",\n") + "\n]}\n"
}

// TestComparisonLosesNothing checks that every figure of every run that compares is there once, with its value.
func TestComparisonLosesNothing(t *testing.T) {
	run, records := repeated(t)
	all := mustBuild(t, run, records)
	all.Results = append(all.Results, furtherResults()...)
	all.TCP, all.Connections, all.NoisyNeighbors = tcpResults(), connectionsResults(), neighborsReport()
	docs := []Document{all, asPod(t), asMachine(t)}
	c := mustCompare(t, docs...)
	for i, doc := range docs {
		got := map[figure.Key]int64{}
		for _, f := range c.Figures {
			if f.Values[i] != nil {
				got[f.key] = *f.Values[i]
			}
		}
		figures := slices.DeleteFunc(doc.figures(), func(f figure.Figure) bool { return !f.Known() || figure.Describe(f.Metric).IsDiluted() })
		if len(got) != len(figures) || len(got) == 0 {
			t.Errorf("%s: %d figures, want %d", doc.Run.Name, len(got), len(figures))
		}
		for _, f := range figures {
			if value, ok := got[f.Key]; !ok || value != f.Value {
				t.Errorf("%s: %+v is %d, want %d", doc.Run.Name, f.Key, value, f.Value)
			}
		}
	}
}

// TestComparisonHasNoCores checks that runs whose trials differ in length are compared by the processor time for each frame alone.
func TestComparisonHasNoCores(t *testing.T) {
	found := map[figure.Unit]int{}
	for _, f := range mustCompare(t, asPod(t), asMachine(t)).Figures {
		if metric := figure.Describe(f.Metric); metric.Of == figure.OfTrials {
			found[f.Unit]++
		}
	}
	if found[figure.MilliCPU] > 0 || found[figure.NanosecondsPerFrame] == 0 {
		t.Errorf("figures of the CPU by their unit: %v", found)
	}
}

// TestComparisonKeepsMixesApart checks that a mix is a different size than frames of its mean size, in every measurement.
func TestComparisonKeepsMixesApart(t *testing.T) {
	of := func(frame v1alpha1.FrameResult) Document {
		doc := asPod(t)
		frame.FrameBytes, doc.Generator = 362, nil
		frame.FixedLoad, frame.FrameLossRate, frame.BackToBack, frame.ReceiveRate, frame.Soak = fixedLoadResults(), lossCurve(), bursts(), receiveRate(), soak()
		doc.Results = []v1alpha1.FrameResult{frame}
		for i := range doc.CPU {
			doc.CPU[i].Size = frame.Size
		}
		return doc
	}
	c := mustCompare(t, of(v1alpha1.FrameResult{Size: "imix", Mix: "imix"}), of(v1alpha1.FrameResult{Size: "362"}))
	for _, f := range c.Figures {
		if f.key.Size != "" && f.Values[0] != nil && f.Values[1] != nil {
			t.Errorf("%s of a mix is compared with that of plain frames: %v", f.Metric, f.About)
		}
	}
	var out bytes.Buffer
	if err := Write(&out, of(v1alpha1.FrameResult{Size: "imix", Mix: "imix"}), FormatCSV, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{"FrameLossRatePartsPerMillion", "BackToBackFrames", "ReceiveRateFramesPerSecond", "LossPartsPerMillion"} {
		if !strings.Contains(out.String(), metric+",imix,") {
			t.Errorf("CSV has no %s of imix", metric)
		}
	}
}

func TestComparisonIsReadable(t *testing.T) {
	c := mustCompare(t, asPod(t), asMachine(t))
	var text bytes.Buffer
	if err := WriteComparison(&text, c, FormatJSON, Options{}); err != nil {
		t.Fatal(err)
	}
	var back Comparison
	if err := json.Unmarshal(text.Bytes(), &back); err != nil || back.Kind != KindComparison || len(back.Runs) != 2 {
		t.Errorf("JSON is %q with %d runs: %v", back.Kind, len(back.Runs), err)
	}
	text.Reset()
	if err := WriteComparison(&text, c, FormatCSV, Options{}); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(lines) != 1+len(c.Figures) {
		t.Errorf("CSV has %d lines for %d figures: %v", len(lines), len(c.Figures), err)
	}
}

func TestComparisonNotes(t *testing.T) {
	// Without lower limits; the fixture has one.
	known := func(doc Document) Document {
		for i := range doc.Results {
			for j := range doc.Results[i].Throughput {
				doc.Results[i].Throughput[j].UpperBoundCause = v1alpha1.CauseDeviceLoss
			}
			for j := range doc.Results[i].Latency {
				if share := doc.Results[i].Latency[j].Share; share != nil {
					share.UpperBoundCause = v1alpha1.CauseDeviceLoss
				}
			}
		}
		return doc
	}
	pod := func(change func(*Document)) Document {
		doc := known(asPod(t))
		change(&doc)
		return doc
	}
	for name, tc := range map[string]struct {
		other Document
		want  string
	}{
		"the same":     {pod(func(*Document) {}), ""},
		"emulated":     {known(asMachine(t)), "On an emulated processor (QEMU's TCG): as-e1000."},
		"partial":      {pod(func(d *Document) { d.Completeness = Partial }), "Not everything was measured: as-pod."},
		"lower limit":  {asPod(t), "Some figures are lower limits"},
		"testbed":      {pod(func(d *Document) { d.Run.Testbed = "other" }), "Not the same testbed as as-pod: as-pod."},
		"nodes":        {pod(func(d *Document) { d.Plan.DeviceNode = "other" }), "Not the same nodes"},
		"platform":     {pod(func(d *Document) { d.Device.Fingerprint.Digest = "sha256:other" }), "Not the same platform"},
		"traffic":      {pod(func(d *Document) { d.Experiment.Traffic.Flows = 7 }), "Not the same traffic"},
		"measurements": {pod(func(d *Document) { d.Experiment.Measurements.Repeats = 7 }), "Not the same measurements"},
	} {
		notes := comparisonNotes(columnsOf(known(asPod(t)), tc.other))
		if got := strings.Join(notes, "\n"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) || len(notes) > 1 {
			t.Errorf("%s: notes are %q, want %q", name, got, tc.want)
		}
	}
}

// TestChangeWords checks that the table shows a change if it has a meaning, a great one as a factor, and never one as certain that was not tested.
func TestChangeWords(t *testing.T) {
	value := func(n int64) comparison.Cell { return comparison.Cell{Value: &n, N: 5} }
	shown := func(of, ppm int64) comparison.Difference {
		return comparison.Difference{Value: &of, PartsPerMillion: &ppm}
	}
	tested := func(verdict comparison.Verdict, adjusted *int64) comparison.Difference {
		d := shown(-50, -250_000)
		d.Verdict, d.PValuePartsPerMillion, d.AdjustedPValuePartsPerMillion = verdict, new(int64(12_345)), adjusted
		d.LowerPartsPerMillion, d.UpperPartsPerMillion = new(int64(-262_000)), new(int64(-240_000))
		return d
	}
	untested := func(d comparison.Difference, why comparison.Reason) comparison.Difference {
		d.Verdict, d.WhyNotTested = comparison.Unclear, why
		return d
	}
	for name, tc := range map[string]struct {
		d           comparison.Difference
		first, cell comparison.Cell
		want        string
	}{
		"no verdict":       {shown(-50, -250_000), value(200), value(150), "-25.0 %"},
		"none":             {comparison.Difference{}, value(200), comparison.Cell{}, "-"},
		"missing":          {untested(comparison.Difference{}, comparison.ReasonMissing), value(200), comparison.Cell{}, "-"},
		"from nothing":     {comparison.Difference{Value: new(int64(5))}, value(0), value(5), "from 0"},
		"the same":         {shown(0, 0), value(5), value(5), "0"},
		"many times":       {shown(88, 44_000_000), value(2), value(90), "×45"},
		"a floor":          {untested(comparison.Difference{}, comparison.ReasonFloor), value(200), value(150), "-"},
		"once":             {untested(shown(-50, -250_000), comparison.ReasonNotRepeated), comparison.Cell{Value: new(int64(200)), N: 1}, value(150), "~ -25.0 % (n=1+5)"},
		"worse":            {tested(comparison.Worse, nil), value(200), value(150), "-25.0 % ±1.2, worse (p=0.012, n=5+5)"},
		"not decided":      {tested(comparison.Unclear, nil), value(200), value(150), "~ -25.0 % ±1.2 (p=0.012, n=5+5)"},
		"of the adjusted":  {tested(comparison.Unclear, new(int64(250_000))), value(200), value(150), "~ -25.0 % ±1.2 (p=0.250, n=5+5)"},
		"without interval": {untestedInterval(tested(comparison.Better, nil)), value(200), value(150), "-25.0 %, better (p=0.012, n=5+5)"},
	} {
		if got := changeWords(tc.d, tc.first, tc.cell, unicodeLetters); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func untestedInterval(d comparison.Difference) comparison.Difference {
	d.LowerPartsPerMillion, d.UpperPartsPerMillion = nil, nil
	return d
}

// TestComparisonOfDifferences checks that the keys of differences and neighbors distinguish them, even if a run has fewer
// of them than another.
func TestComparisonOfDifferences(t *testing.T) {
	of := func(run string, metrics []v1alpha1.Metric, neighbors ...string) Document {
		doc := asPod(t)
		doc.Run.Name, doc.Baseline = run, &v1alpha1.BaselineReport{RunRef: v1alpha1.LocalReference{Name: "before"}}
		doc.NoisyNeighbors = &v1alpha1.NoisyNeighborsReport{}
		for i, metric := range metrics {
			doc.Baseline.Figures = append(doc.Baseline.Figures, v1alpha1.BaselineFigure{FigureKey: v1alpha1.FigureKey{Metric: metric, Size: "64", Load: "idle"}, Baseline: int64(i + 1)})
			doc.NoisyNeighbors.Comparison = append(doc.NoisyNeighbors.Comparison, v1alpha1.NoisyNeighborDifference{FigureKey: v1alpha1.FigureKey{Metric: metric, Size: "64", Load: "idle"}, Without: new(int64(i + 1))})
		}
		for i, name := range neighbors {
			doc.NoisyNeighbors.Loads = append(doc.NoisyNeighbors.Loads, v1alpha1.NoisyNeighborReport{Name: name, MilliCPU: new(int64(1000 * (i + 1)))})
		}
		return doc
	}
	c := mustCompare(t,
		of("both", []v1alpha1.Metric{v1alpha1.MetricLatencyMean, v1alpha1.MetricLatencyP99}, "cpu", "disk"),
		of("one", []v1alpha1.Metric{v1alpha1.MetricLatencyP99}, "disk"))
	got := map[string][]*int64{}
	for _, f := range c.Figures {
		if f.About["side"] != "" || f.Metric == "NeighborMilliCPU" {
			got[strings.Join([]string{f.About["side"], string(f.Metric), f.About["neighbor"]}, " ")] = f.Values
		}
	}
	one, two := new(int64(1)), new(int64(2))
	want := map[string][]*int64{
		"Baseline LatencyMeanNanoseconds ": {one, nil}, "Baseline LatencyP99Nanoseconds ": {two, one},
		"WithoutNeighbors LatencyMeanNanoseconds ": {one, nil}, "WithoutNeighbors LatencyP99Nanoseconds ": {two, one},
		" NeighborMilliCPU cpu": {new(int64(1000)), nil}, " NeighborMilliCPU disk": {new(int64(2000)), new(int64(1000))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestComparisonOfConnections checks that the comparison for people shows the figures of connections.
func TestComparisonOfConnections(t *testing.T) {
	doc := asPod(t)
	doc.Connections = &v1alpha1.ConnectionsResult{Loads: []v1alpha1.ConnectionsLoadResult{
		{Name: "web", EstablishedConnectionsPerSecond: new(int64(4321))},
		{Name: "kept", HeldConnections: new(int64(98765)), FailedPartsPerMillion: 17},
	}}
	var text bytes.Buffer
	if err := WriteComparison(&text, mustCompare(t, doc, doc), FormatTable, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"established, connections/s", "4321", "held", "98765", "failed, ppm", "17"} {
		if !strings.Contains(text.String(), words) {
			t.Errorf("%q is not in\n%s", words, text.String())
		}
	}
}

// TestComparisonOfNewRuns checks that runs without figures are compared too, by the known facts about them.
func TestComparisonOfNewRuns(t *testing.T) {
	doc := mustBuild(t, &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "new"}}, nil)
	c := mustCompare(t, doc, doc)
	for _, format := range ComparisonFormats() {
		var got bytes.Buffer
		if err := WriteComparison(&got, c, format, Options{}); err != nil || got.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", format, got.Len(), err)
		}
	}
	if err := WriteComparison(&bytes.Buffer{}, c, FormatJUnit, Options{}); err == nil {
		t.Error("a comparison is written as JUnit")
	}
	for _, count := range []int{1, MaxColumns + 1} {
		if _, err := Compare(columnsOf(slices.Repeat([]Document{doc}, count)...), comparison.AdjustNone, now); err == nil || !strings.Contains(err.Error(), "give 2 to 12") {
			t.Errorf("%d columns: %v", count, err)
		}
	}
}
