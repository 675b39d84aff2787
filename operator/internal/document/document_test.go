package document_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/documenttest"
	"vnfbench.io/operator/internal/testing/mutate"
)

var (
	once  sync.Once
	small report.Document
)

// made returns the document of a small run, which tests do not change.
func made(t testing.TB) report.Document {
	t.Helper()
	once.Do(func() { small = documenttest.Make(t, documenttest.Small(), "1.2.3", nil) })
	return small
}

// written returns a document as a file has it.
func written(t testing.TB, doc report.Document, compressed bool) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := document.Write(&out, doc, compressed); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packed compresses a text, however large.
func packed(t testing.TB, text []byte, options ...zstd.EOption) []byte {
	t.Helper()
	packer, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	return packer.EncodeAll(text, nil)
}

// TestRoundTrip checks that both forms give the same document, which replays, and that the same document gives the same bytes.
func TestRoundTrip(t *testing.T) {
	doc := made(t)
	plain, small := written(t, doc, false), written(t, doc, true)
	if len(small) > len(plain)/4 || !bytes.Equal(small, written(t, doc, true)) {
		t.Errorf("%d bytes, and %d compressed", len(plain), len(small))
	}
	var want any
	if err := json.Unmarshal(plain, &want); err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string][]byte{"JSON": plain, "compressed": small} {
		got, err := document.Read(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		var again any
		if err := json.Unmarshal(written(t, got, false), &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, again); diff != "" {
			t.Errorf("%s (-written +read again): %s", form, diff)
		}
		if done, err := report.Replay(got); err != nil || len(done.Differences) > 0 || len(done.Figures) < 50 {
			t.Errorf("%s: %d figures, differences %v, %v", form, len(done.Figures), done.Differences, err)
		}
	}
}

// TestTruncated cuts a document at each byte of its compressed form, and at each of its JSON's first and last bytes and
// many between them. None is read, and each says that the end is missing.
func TestTruncated(t *testing.T) {
	plain, small := written(t, made(t), false), written(t, made(t), true)
	cut := func(form string, text []byte, at int) {
		if _, err := document.Read(bytes.NewReader(text[:at])); !errors.Is(err, document.ErrTruncated) {
			t.Errorf("%s cut after %d of %d bytes: %v", form, at, len(text), err)
		}
	}
	// The line's end is no part of the JSON.
	plain = bytes.TrimSpace(plain)
	for at := range plain {
		if at < 5000 || at%997 == 0 || at > len(plain)-500 {
			cut("JSON", plain, at)
		}
	}
	for at := range small {
		if at < 500 || at%31 == 0 || at > len(small)-500 {
			cut("the compressed form", small, at)
		}
	}
}

// TestDamaged changes bytes of the compressed form, whose checksum or form finds each.
func TestDamaged(t *testing.T) {
	small := written(t, made(t), true)
	for at := 0; at < len(small); {
		for bit := range 8 {
			if at == 4 && bit == 4 {
				// Readers ignore this bit (RFC 8878 section 3.1.1.1.1.3).
				continue
			}
			changed := bytes.Clone(small)
			changed[at] ^= 1 << bit
			if _, err := document.Read(bytes.NewReader(changed)); err == nil {
				t.Errorf("bit %d of byte %d of %d is changed, and nothing finds it", bit, at, len(small))
			}
		}
		// Each byte of the head, and some of the rest.
		if at++; at > 20 {
			at += len(small) / 100
		}
	}
}

// TestRefuses checks what is said about files that are no document of this version.
func TestRefuses(t *testing.T) {
	text := string(written(t, made(t), false))
	replaced := func(old, with string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("the document has no %s", old)
		}
		return strings.Replace(text, old, with, 1)
	}
	without := func(name string) string {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, name)
		out, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	upward := made(t)
	upward.Trials = slices.Clone(upward.Trials)
	upward.Trials[1].Outcome.Directions = []measure.DirectionOutcome{{Direction: "Up"}}
	const version = `"apiVersion": "report.vnfbench.io/v1"`
	for name, test := range map[string]struct {
		text string
		is   error
		want string
	}{
		"nothing":          {"", document.ErrTruncated, "it is empty"},
		"spaces":           {" \n", document.ErrTruncated, "no end"},
		"a newer version":  {replaced(version, `"apiVersion": "report.vnfbench.io/v2"`), document.ErrNewer, `"report.vnfbench.io/v2", which version "1.2.3" of the plugin wrote, and this plugin reads up to "report.vnfbench.io/v1"`},
		"a newer layout":   {`{"apiVersion":"report.vnfbench.io/v12","kind":"BenchmarkReport","run":[1],"versions":{"report":7}}`, document.ErrNewer, "a newer version of the plugin wrote"},
		"version 0":        {replaced(version, `"apiVersion": "report.vnfbench.io/v0"`), document.ErrNotADocument, "v0"},
		"version 01":       {replaced(version, `"apiVersion": "report.vnfbench.io/v01"`), document.ErrNotADocument, "v01"},
		"another group":    {replaced(version, `"apiVersion": "example.com/v1"`), document.ErrNotADocument, "example.com/v1"},
		"a number":         {replaced(version, `"apiVersion": 1`), document.ErrNotADocument, `apiVersion is ""`},
		"a suite":          {replaced(`"kind": "BenchmarkReport"`, `"kind": "BenchmarkSuiteReport"`), document.ErrNotADocument, "BenchmarkSuiteReport"},
		"an object":        {`{}`, document.ErrNotADocument, "vnfbench export RUN"},
		"a list":           {`[]`, document.ErrNotADocument, "neither JSON nor JSON compressed"},
		"a text":           {"benchmark", document.ErrNotADocument, "neither JSON nor JSON compressed"},
		"gzip":             {"\x1f\x8b\x08", document.ErrNotADocument, "neither JSON nor JSON compressed"},
		"half of one":      {without("results"), document.ErrDamaged, `no field "results"`},
		"a null":           {replaced(`"run": {`, `"run": null, "other": {`), document.ErrDamaged, `no field "run"`},
		"no run":           {replaced(`"name": "`, `"name": "", "other": "`), document.ErrDamaged, "does not name its run"},
		"no condition":     {replaced(`"status": "True"`, `"status": "Yes"`), document.ErrDamaged, `succeeded.status is "Yes"`},
		"another state":    {replaced(`"completeness": "Complete"`, `"completeness": "Half"`), document.ErrDamaged, `"Half"`},
		"another type":     {replaced(`"trialSummary": {`, `"trialSummary": [], "other": {`), document.ErrDamaged, "trialSummary"},
		"a fraction":       {replaced(`"framesPerSecond": `, `"framesPerSecond": 0.`), document.ErrDamaged, "framesPerSecond"},
		"a figure twice":   {replaced(`"framesPerSecond": `, `"framesPerSecond": 7, "framesPerSecond": `), document.ErrDamaged, "framesPerSecond"},
		"a direction":      {string(written(t, upward, false)), document.ErrDamaged, "trial 1: it has directions that no path has"},
		"two documents":    {text + text, document.ErrDamaged, "more follows"},
		"another bracket":  {replaced(`"trialSummary": {`, `"trialSummary": [`), document.ErrDamaged, "invalid character"},
		"a deep list":      {replaced(`"results": [`, `"other": `+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`, "results": [`), document.ErrTooLarge, "within each other"},
		"many values":      {replaced(`"results": [`, `"other": [`+strings.Repeat("0,", 600_000)+`0], "results": [`), document.ErrTooLarge, "elements of lists"},
		"many trials":      {replaced(`"trials": [`, `"trials": [`+strings.Repeat("{},", 5000)), document.ErrTooLarge, "trials"},
		"many bytes":       {text + strings.Repeat(" ", document.MaximumBytes), document.ErrTooLarge, "bytes"},
		"a bomb":           {string(packed(t, bytes.Repeat([]byte(" "), 128<<20))), document.ErrTooLarge, fmt.Sprint(document.MaximumBytes)},
		"a large window":   {string(packed(t, bytes.Repeat([]byte(text), 1+(20<<20)/len(text)), zstd.WithWindowSize(64<<20))), document.ErrTooLarge, fmt.Sprint(document.MaximumBytes)},
		"compressed twice": {string(packed(t, written(t, made(t), true))), document.ErrNotADocument, "neither"},
		"more after it":    {string(written(t, made(t), true)) + "more", document.ErrDamaged, "decompressed"},
		"two compressed":   {strings.Repeat(string(written(t, made(t), true)), 2), document.ErrDamaged, "more follows"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := document.Read(strings.NewReader(test.text))
			if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %v with %q", err, test.is, test.want)
			}
			if !reflect.DeepEqual(doc, report.Document{}) {
				t.Error("a part of it is returned")
			}
		})
	}
}

// TestBombTakesBoundedMemory checks that a file that becomes 128 MiB takes no such memory.
func TestBombTakesBoundedMemory(t *testing.T) {
	bomb := packed(t, bytes.Repeat([]byte(" "), 128<<20))
	if cost := mutate.Cost(func() { _, _ = document.Read(bytes.NewReader(bomb)) }); cost > 100<<20 {
		t.Errorf("a bomb of %d bytes costs %d MiB", len(bomb), cost>>20)
	}
}

// TestHostileLists checks that the longest list that is read takes bounded memory, whatever it is a list of.
func TestHostileLists(t *testing.T) {
	// A list as long as is read would take too long for each of them: a shorter one shows what each element costs.
	const bytesOfEach, most = 20_000, 512 << 20
	head := `{"apiVersion":"report.vnfbench.io/v1","kind":"BenchmarkReport","completeness":"Complete","run":{},"succeeded":{},"measured":{},"experiment":{},"results":[],"trialSummary":{},`
	lists, largest, where := 0, uint64(0), ""
	mutate.Lists(reflect.TypeFor[report.Document](), bytesOfEach, func(path, text string) {
		lists++
		text = head + strings.TrimPrefix(text, "{")
		elements := strings.Count(text, ",")
		cost := mutate.Cost(func() { _, _ = document.Read(strings.NewReader(text)) })
		if each := cost / uint64(elements); each > largest {
			largest, where = each, path
		}
	})
	if lists < 200 {
		t.Errorf("%d lists were tried", lists)
	}
	t.Logf("%d lists, the largest, %s, costs %d bytes for an element", lists, where, largest)
	if cost := largest * document.MaximumElements; cost > most {
		t.Errorf("a list of %s as long as is read costs %d MiB", where, cost>>20)
	}
}

// TestWriteRefuses checks that nothing is written that is not read again.
func TestWriteRefuses(t *testing.T) {
	doc := made(t)
	doc.Deviations = make([]string, document.MaximumElements+1)
	var out bytes.Buffer
	if err := document.Write(&out, doc, true); !errors.Is(err, document.ErrTooLarge) || out.Len() > 0 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

// TestOtherPrograms checks that documents of v1 are read that an older program wrote, without inputs and trials, and a later
// one, with fields that this one does not know.
func TestOtherPrograms(t *testing.T) {
	texts := keptDocuments(t, report.Kind, 5)
	text := written(t, made(t), false)
	for _, field := range []string{`"run": {`, `"experiment": {`, `"trialSummary": {`, `"directions": [`} {
		text = bytes.Replace(text, []byte(field), []byte(`"later": [{"a": 1.5}], `+field), 1)
	}
	texts["with other fields"] = text
	for name, text := range texts {
		doc, err := document.Read(bytes.NewReader(text))
		if err != nil || doc.Run.Name == "" {
			t.Errorf("%s: run %q, %v", name, doc.Run.Name, err)
		}
	}
}

// TestTampered changes figures and trials, and checks that a replay names each figure that is no longer what the trials give, and
// no other.
func TestTampered(t *testing.T) {
	// Two others follow from a 99th percentile.
	p99 := []string{"LatencyP99", "LatencyOfSentP99", "PacketDelayVariationP99"}
	for name, test := range map[string]struct {
		change func(*report.Document)
		path   string
		// figures begin with these words.
		figures []string
	}{
		"a throughput": {
			func(d *report.Document) { d.Results[0].Throughput[0].FramesPerSecond++ },
			"results[0].throughput[0].framesPerSecond", []string{"ThroughputFramesPerSecond"},
		},
		"a latency": {
			func(d *report.Document) { d.Results[0].Latency[0].Directions[0].Latency.P99Nanoseconds-- },
			"results[0].latency[0].directions[0].latency.p99Nanoseconds", p99,
		},
		"what a figure is called": {
			func(d *report.Document) { d.Results[0].Throughput[0].Goal = "Other" },
			"results[0].throughput[0].goal", []string{"Throughput"},
		},
		"the trials of a load": {
			func(d *report.Document) {
				for i := range d.Trials {
					if of := d.Trials[i].Outcome.Directions; d.Trials[i].Load == d.Results[0].Latency[0].Load {
						for way := range of {
							of[way].Latency.P99Nanoseconds += 1000
						}
					}
				}
			},
			"results[0].latency[0].directions[0].latency.p99Nanoseconds", p99,
		},
		"the end": {func(d *report.Document) { d.Trials = d.Trials[:len(d.Trials)-1] }, "completeness", []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := document.Read(bytes.NewReader(written(t, made(t), true)))
			if err != nil {
				t.Fatal(err)
			}
			test.change(&doc)
			// It is still a document: only a replay shows that it was changed.
			if doc, err = document.Read(bytes.NewReader(written(t, doc, true))); err != nil {
				t.Fatal(err)
			}
			done, err := report.Replay(doc)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(done.Differences, func(d report.Difference) bool { return d.Path == test.path }) {
				t.Errorf("the differences are %v, want one at %s", done.Differences, test.path)
			}
			named := 0
			for _, f := range done.Figures {
				if f.Agrees() {
					continue
				}
				named++
				if !slices.ContainsFunc(test.figures, func(metric string) bool { return strings.HasPrefix(string(f.Metric), metric) }) {
					t.Errorf("%s of %s differs", f.Metric, f.About)
				}
			}
			if named == 0 {
				t.Errorf("no figure differs, want %q", test.figures)
			}
		})
	}
}

// TestHalfArchived checks that a document with a part of its inputs or trials is refused by a replay, or differs: none is
// confirmed.
func TestHalfArchived(t *testing.T) {
	for name, change := range map[string]func(*report.Document){
		"no inputs":         func(d *report.Document) { d.Inputs = nil },
		"no plan":           func(d *report.Document) { d.Inputs = &report.Inputs{Plan: []byte("null")} },
		"an empty plan":     func(d *report.Document) { d.Inputs = &report.Inputs{Plan: []byte("{}")} },
		"no trials":         func(d *report.Document) { d.Trials = nil },
		"no first trial":    func(d *report.Document) { d.Trials = d.Trials[1:] },
		"no second trial":   func(d *report.Document) { d.Trials = slices.Delete(slices.Clone(d.Trials), 1, 2) },
		"half of them":      func(d *report.Document) { d.Trials = d.Trials[:len(d.Trials)/2] },
		"one of them twice": func(d *report.Document) { d.Trials = append(d.Trials[:2:2], d.Trials[1:]...) },
		"no outcome": func(d *report.Document) {
			d.Trials = slices.Clone(d.Trials)
			d.Trials[3].Outcome = measure.Outcome{}
		},
		"another seed": func(d *report.Document) {
			d.Inputs = &report.Inputs{Plan: bytes.Replace(d.Inputs.Plan, []byte(`"orderSeed": `), []byte(`"orderSeed": 1`), 1), Generator: d.Inputs.Generator}
		},
		"no results": func(d *report.Document) { d.Results = []v1alpha1.FrameResult{} },
	} {
		t.Run(name, func(t *testing.T) {
			doc := made(t)
			change(&doc)
			read, err := document.Read(bytes.NewReader(written(t, doc, true)))
			if err != nil {
				t.Fatal(err)
			}
			done, err := report.Replay(read)
			if err == nil && len(done.Differences) == 0 {
				t.Errorf("%d figures are confirmed", len(done.Figures))
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %q, want one line", err)
			}
		})
	}
}

// FuzzRead reads files as they may be: damaged, changed, of another kind. None causes a panic, and what is read is written and
// read again.
func FuzzRead(f *testing.F) {
	whole := written(f, made(f), true)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"apiVersion":"report.vnfbench.io/v2","kind":"BenchmarkReport"}`))
	f.Add([]byte(`{"apiVersion":"report.vnfbench.io/v1","kind":"BenchmarkReport","completeness":"Complete","run":{"name":"r"},"succeeded":{"status":"True"},` +
		`"measured":{"status":"True"},"experiment":{},"results":[],"trialSummary":{},"inputs":{"plan":{}},"trials":[{}]}`))
	f.Add(packed(f, bytes.Repeat([]byte("["), 1<<20)))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := document.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		switch err := document.Write(&out, doc, true); {
		case errors.Is(err, document.ErrTooLarge):
			// Fields that were left out are written.
		case err != nil:
			t.Fatal(err)
		default:
			if _, err := document.Read(&out); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = report.Replay(doc)
		for _, format := range report.Formats() {
			var out bytes.Buffer
			_ = report.Write(&out, doc, format, report.Options{Trials: true})
		}
	})
}
