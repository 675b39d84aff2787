package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"vnfbench.io/operator/api/v1alpha1"
)

// KindComparison is the kind of a comparison, in the version of the reports.
const KindComparison = "BenchmarkComparison"

// Comparison sets the figures of runs side by side.
type Comparison struct {
	APIVersion  string    `json:"apiVersion"`
	Kind        string    `json:"kind"`
	GeneratedAt time.Time `json:"generatedAt"`
	// Runs are in the order in which they were named; the first is what the
	// others are set beside.
	Runs []ComparedRun `json:"runs"`
	// Notes say in one sentence each what besides the figures is not the same,
	// and what the figures do not say.
	Notes   []string         `json:"notes"`
	Figures []ComparedFigure `json:"figures"`
}

// ComparedRun is what a run's figures hold for.
type ComparedRun struct {
	Namespace    string       `json:"namespace"`
	Name         string       `json:"name"`
	Testbed      string       `json:"testbed"`
	Completeness Completeness `json:"completeness"`
	Succeeded    Outcome      `json:"succeeded"`
	// Chain is the chain as it was asked for, Functions what each turned out to
	// be, and Device what it ran on.
	Chain     []v1alpha1.NetworkFunction `json:"chain"`
	Functions []v1alpha1.FunctionReport  `json:"functions"`
	Plan      *v1alpha1.PlanSummary      `json:"plan,omitempty"`
	Device    *v1alpha1.DeviceReport     `json:"device,omitempty"`
	Warnings  []string                   `json:"warnings"`
}

// ComparedFigure is one figure of each run. About and Metric are what the CSV
// form of a report calls its columns; a metric's name ends with its unit.
type ComparedFigure struct {
	About  map[string]string `json:"about"`
	Metric string            `json:"metric"`
	// Values have one entry for each run, null where it has no such figure.
	Values []*int64 `json:"values"`
}

var (
	// originColumns tell whose a row is.
	originColumns = []string{"namespace", "run", "planDigest", "completeness"}
	// aboutColumns tell what a row's figures are of, in the order of their words.
	aboutColumns = []string{
		"figure", "frameBytes", "mix", "packetPayloadBytes", "goal", "load", "streams", "percentOfMaximum",
		"direction", "repeat", "startSeconds", "startMilliseconds", "function", "cpuKind",
	}
)

// ComparisonFormats are those in which comparisons are written; JUnit has no
// place for them.
func ComparisonFormats() []Format {
	return []Format{FormatTable, FormatMarkdown, FormatJSON, FormatCSV}
}

// Compare sets two documents or more side by side.
func Compare(docs []Document, now time.Time) (Comparison, error) {
	if len(docs) < 2 {
		return Comparison{}, errors.New("comparing: name two runs or more")
	}
	c := Comparison{APIVersion: APIVersion, Kind: KindComparison, GeneratedAt: now.UTC(), Notes: orEmpty(comparisonNotes(docs)), Figures: []ComparedFigure{}}
	found := map[string]int{}
	for i, doc := range docs {
		c.Runs = append(c.Runs, comparedRun(doc))
		seen := map[string]int{}
		for _, r := range resultRows(doc) {
			c.add(r, i, len(docs), found, seen)
		}
	}
	c.group()
	return c, nil
}

// add puts a row's figures in the run's place. Rows of one run about the same
// thing are told apart by their number.
func (c *Comparison) add(r row, run, runs int, found, seen map[string]int) {
	about := map[string]string{}
	key := strings.Builder{}
	for _, name := range aboutColumns {
		if r[name] != "" {
			about[name] = r[name]
		}
		fmt.Fprintf(&key, "%q ", r[name])
	}
	seen[key.String()]++
	fmt.Fprint(&key, seen[key.String()], " ")
	for _, metric := range resultHead {
		if slices.Contains(originColumns, metric) || slices.Contains(aboutColumns, metric) {
			continue
		}
		value, err := strconv.ParseInt(r[metric], 10, 64)
		if err != nil {
			continue // empty, a word such as a search's regularity, or a list of each repeat's values
		}
		at, ok := found[key.String()+metric]
		if !ok {
			at = len(c.Figures)
			found[key.String()+metric] = at
			c.Figures = append(c.Figures, ComparedFigure{About: about, Metric: metric, Values: make([]*int64, runs)})
		}
		c.Figures[at].Values[run] = &value
	}
}

// group puts figures that only later runs have beside those of their kind.
func (c *Comparison) group() {
	kinds, orders := map[string]int{}, make(map[string]int)
	rank := func(ranks map[string]int, name string) int {
		if _, ok := ranks[name]; !ok {
			ranks[name] = len(ranks)
		}
		return ranks[name]
	}
	of := func(f ComparedFigure) (int, int) {
		return rank(kinds, f.About["figure"]), rank(orders, strings.Join([]string{
			f.About["figure"], f.About["frameBytes"], f.About["mix"], f.About["goal"], f.About["load"],
		}, "\x00"))
	}
	for _, f := range c.Figures {
		of(f)
	}
	slices.SortStableFunc(c.Figures, func(a, b ComparedFigure) int {
		aKind, aOrder := of(a)
		bKind, bOrder := of(b)
		if aKind != bKind {
			return aKind - bKind
		}
		return aOrder - bOrder
	})
}

func comparedRun(doc Document) ComparedRun {
	r := ComparedRun{
		Namespace: doc.Run.Namespace, Name: doc.Run.Name, Testbed: doc.Run.Testbed, Completeness: doc.Completeness,
		Succeeded: doc.Succeeded, Chain: doc.Spec.Chain, Functions: orEmpty(doc.Chain), Plan: doc.Plan, Device: doc.Device, Warnings: []string{},
	}
	for _, w := range doc.Warnings {
		if !slices.Contains(r.Warnings, w.Code) {
			r.Warnings = append(r.Warnings, w.Code)
		}
	}
	return r
}

// comparisonNotes name what a reader must know before he compares.
func comparisonNotes(docs []Document) []string {
	var notes, partial, emulated []string
	for _, doc := range docs {
		if doc.Completeness == Partial {
			partial = append(partial, doc.Run.Name)
		}
		if isEmulated(doc) {
			emulated = append(emulated, doc.Run.Name)
		}
	}
	if len(partial) > 0 {
		notes = append(notes, fmt.Sprintf("Not everything was measured: %s.", strings.Join(partial, ", ")))
	}
	if len(emulated) > 0 {
		notes = append(notes, fmt.Sprintf("On an emulated processor (QEMU's TCG): %s. What a frame costs there is the emulator's work, many times that of a real processor and much the same for every NIC. Such figures say that frames pass, and not how fast a virtual machine or a NIC is; for that use nodes with KVM.", strings.Join(emulated, ", ")))
	}
	differs := func(what string, same func(a, b Document) bool) {
		var names []string
		for _, doc := range docs[1:] {
			if !same(docs[0], doc) {
				names = append(names, doc.Run.Name)
			}
		}
		if len(names) > 0 {
			notes = append(notes, fmt.Sprintf("Not the same %s as %s: %s.", what, docs[0].Run.Name, strings.Join(names, ", ")))
		}
	}
	differs("testbed", func(a, b Document) bool {
		return a.Run.Namespace == b.Run.Namespace && a.Run.Testbed == b.Run.Testbed
	})
	differs("nodes", func(a, b Document) bool {
		return a.Plan == nil || b.Plan == nil || a.Plan.GeneratorNode == b.Plan.GeneratorNode && a.Plan.DeviceNode == b.Plan.DeviceNode
	})
	differs("platform of the chain", func(a, b Document) bool {
		return fingerprintDigest(a) == "" || fingerprintDigest(b) == "" || fingerprintDigest(a) == fingerprintDigest(b)
	})
	differs("traffic", func(a, b Document) bool { return equality.Semantic.DeepEqual(a.Spec.Traffic, b.Spec.Traffic) })
	differs("measurements", func(a, b Document) bool {
		return equality.Semantic.DeepEqual(a.Spec.Measurements, b.Spec.Measurements)
	})
	return notes
}

func isEmulated(doc Document) bool {
	return doc.Device != nil && slices.ContainsFunc(doc.Device.Domains, func(d v1alpha1.DomainReport) bool {
		return strings.HasPrefix(d.Accelerator, "tcg")
	})
}

func fingerprintDigest(doc Document) string {
	if doc.Device == nil || doc.Device.Fingerprint == nil {
		return ""
	}
	return doc.Device.Fingerprint.Digest
}

// WriteComparison renders a comparison.
func WriteComparison(w io.Writer, c Comparison, format Format, opts Options) error {
	switch format {
	case FormatTable:
		l := unicodeLetters
		if opts.ASCII {
			l = asciiLetters
		}
		return writeText(w, c.sections(l), l.rule)
	case FormatMarkdown:
		return writeMarkdown(w, c.sections(unicodeLetters))
	case FormatJSON:
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(c)
	case FormatCSV:
		return c.writeCSV(w)
	}
	return fmt.Errorf("a comparison cannot be written in format %q", format)
}

// writeCSV writes a line for each figure and a column for each run.
func (c Comparison) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append(slices.Clone(aboutColumns), "metric")
	for _, run := range c.Runs {
		head = append(head, run.Name)
	}
	// An error stays in the writer until Error is asked.
	_ = out.Write(head)
	for _, f := range c.Figures {
		cells := append(row(f.About).cells(aboutColumns), f.Metric)
		for _, value := range f.Values {
			cell := ""
			if value != nil {
				cell = strconv.FormatInt(*value, 10)
			}
			cells = append(cells, cell)
		}
		_ = out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

// shown are the metrics that people see; the others are in JSON and CSV.
var shown = map[string]struct {
	words  string
	format func(int64) string
}{
	"framesPerSecond":              {"kfps", kiloFrames},
	"layer1BitsPerSecond":          {"Mbit/s layer 1", megabits},
	"intendedFramesPerSecond":      {"intended kfps", kiloFrames},
	"offeredFramesPerSecond":       {"offered kfps", kiloFrames},
	"lossPartsPerMillion":          {"loss ppm", count[int64]},
	"latencyP50Nanoseconds":        {"p50 µs", microseconds},
	"latencyP99Nanoseconds":        {"p99 µs", microseconds},
	"latencyMaxNanoseconds":        {"max µs", microseconds},
	"jitterNanoseconds":            {"jitter µs", microseconds},
	"meanFrames":                   {"mean frames", count[int64]},
	"milliCPU":                     {"cores", cores},
	"droppedFrames":                {"dropped frames", count[int64]},
	"matchedPackets":               {"matched packets", count[int64]},
	"goodputBitsPerSecond":         {"goodput Mbit/s", megabits},
	"retransmits":                  {"retransmits", count[int64]},
	"roundTripTimeMeanNanoseconds": {"mean round trip µs", microseconds},
}

// figureTitles are the words for the figures of the CSV form; one without is
// called by its name. Parts of a figure over time are left to CSV and JSON.
var figureTitles = map[string]string{
	"throughput": "Throughput", "latency": "One-way latency", "firstFrame": "First frame", "fixedLoad": "Fixed load",
	"fixedLoadWorst": "Fixed load, the worst of all repeats", "frameLossRate": "Frame loss rate", "backToBack": "Back-to-back frames",
	"receiveRate": "Maximum receive rate", "soak": "Soak", "soakWorst": "Soak, the worst", "tcp": "TCP",
	"throughputCPU": "Cores used at throughput", "latencyCPU": "Cores used at latency's loads", "fixedLoadCPU": "Cores used at the fixed load",
	"receiveRateCPU": "Cores used at the receive rate", "soakCPU": "Cores used during the soak",
	"throughputCounters": "Counters at throughput", "latencyCounters": "Counters at latency's loads", "fixedLoadCounters": "Counters at the fixed load",
	"receiveRateCounters": "Counters at the receive rate", "soakCounters": "Counters during the soak",
}

// cpuKindWords are the words for the kinds of CPU use.
var cpuKindWords = map[string]string{
	"nodeUser": "node, user", "nodeSystem": "node, system", "nodeIRQ": "node, interrupts", "nodeSoftirq": "node, softirq",
	"nodeSoftirqThreads": "node, softirq deferred", "nodeGuest": "node, guests", "nodeSteal": "node, steal", "process": "process",
	"guestUser": "in the guest, user", "guestSystem": "in the guest, system", "guestIRQ": "in the guest, interrupts",
	"guestSoftirq": "in the guest, softirq", "guestSteal": "in the guest, steal", "vcpu": "on the node, vCPUs",
	"vcpuInGuest": "on the node, vCPUs in the guest", "emulator": "on the node, emulator", "ioThread": "on the node, I/O threads",
	"vhost": "on the node, vhost", "other": "on the node, other",
}

// sections are the comparison for people: what ran, and each kind of figure.
func (c Comparison) sections(l letters) []section {
	runs := section{title: fmt.Sprintf("Comparison of %d runs", len(c.Runs)), notes: c.Notes, columns: []column{left("")}}
	for _, run := range c.Runs {
		runs.columns = append(runs.columns, left(run.Name))
	}
	runs.rows = c.runRows()
	parts := []section{runs}
	for _, f := range c.Figures {
		metric, ok := shown[f.Metric]
		if !ok || strings.HasSuffix(f.About["figure"], "Interval") {
			continue
		}
		title := f.About["figure"]
		if words, ok := figureTitles[title]; ok {
			title = words
		}
		if parts[len(parts)-1].title != title {
			part := section{title: title, columns: []column{left("Of"), left("Figure")}}
			for _, run := range c.Runs {
				part.columns = append(part.columns, number(run.Name))
			}
			parts = append(parts, part)
		}
		part := &parts[len(parts)-1]
		cells := []string{aboutWords(f.About), strings.ReplaceAll(metric.words, "µ", l.micro)}
		for _, value := range f.Values {
			cells = append(cells, beside(f.Values[0], value, metric.format))
		}
		part.rows = append(part.rows, cells)
	}
	return parts
}

// beside is a figure with its change from the first run's, where there is one.
func beside(first, value *int64, format func(int64) string) string {
	switch {
	case value == nil:
		return none
	case first == nil || *first == 0 || *first == *value:
		return format(*value)
	}
	return fmt.Sprintf("%s (%+.1f %%)", format(*value), (float64(*value)/float64(*first)-1)*100)
}

func aboutWords(about map[string]string) string {
	var words []string
	for _, name := range aboutColumns {
		word := about[name]
		if word == "" || name == "figure" {
			continue
		}
		switch name {
		case "frameBytes":
			if about["mix"] != "" || about["packetPayloadBytes"] != "" {
				continue
			}
			word += " bytes"
		case "packetPayloadBytes":
			word = "packets of " + word + " bytes"
		case "streams":
			word += " connections"
			if about[name] == "1" {
				word = "1 connection"
			}
		case "percentOfMaximum":
			word += " %"
		case "repeat":
			word = "repeat " + word
		case "startSeconds", "startMilliseconds":
			word = "from " + word
		case "cpuKind":
			if known, ok := cpuKindWords[word]; ok {
				word = known
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// runRows say what each run was, a row for each thing that any of them knows.
func (c Comparison) runRows() [][]string {
	var rows [][]string
	add := func(name string, of func(ComparedRun) string) {
		cells, known := []string{name}, false
		for _, run := range c.Runs {
			value := of(run)
			known = known || value != ""
			cells = append(cells, orNone(value))
		}
		if known {
			rows = append(rows, cells)
		}
	}
	ofPlan := func(of func(v1alpha1.PlanSummary) string) func(ComparedRun) string {
		return func(run ComparedRun) string {
			if run.Plan == nil {
				return ""
			}
			return of(*run.Plan)
		}
	}
	add("Result", func(run ComparedRun) string { return run.Succeeded.Reason })
	add("Testbed", func(run ComparedRun) string { return run.Testbed })
	add("Generator's node", ofPlan(func(p v1alpha1.PlanSummary) string { return p.GeneratorNode }))
	add("Chain's node", ofPlan(func(p v1alpha1.PlanSummary) string { return p.DeviceNode }))
	for i := range c.longestChain() {
		function := func(of func(ComparedRun, v1alpha1.NetworkFunction) string) func(ComparedRun) string {
			return func(run ComparedRun) string {
				if i >= len(run.Chain) {
					return ""
				}
				return of(run, run.Chain[i])
			}
		}
		machine := func(of func(v1alpha1.VirtualMachineReport) string) func(ComparedRun) string {
			return function(func(run ComparedRun, f v1alpha1.NetworkFunction) string {
				at := slices.IndexFunc(run.Functions, func(r v1alpha1.FunctionReport) bool { return r.Name == f.Name })
				if at < 0 || run.Functions[at].VirtualMachine == nil {
					return ""
				}
				return of(*run.Functions[at].VirtualMachine)
			})
		}
		place := fmt.Sprintf("Function %d", i+1)
		add(place, function(func(_ ComparedRun, f v1alpha1.NetworkFunction) string {
			return fmt.Sprintf("%s, %s in a %s", f.Name, f.Function, f.Runtime)
		}))
		add(place+", ports", function(func(_ ComparedRun, f v1alpha1.NetworkFunction) string {
			return fmt.Sprintf("%s, %s", f.EffectiveAttachment(f.West), f.EffectiveAttachment(f.East))
		}))
		add(place+", NICs in force", machine(func(vm v1alpha1.VirtualMachineReport) string {
			west, east := virtualPort(vm.Ports, "west"), virtualPort(vm.Ports, "east")
			if west == east {
				return west
			}
			return west + "; " + east
		}))
		add(place+", machine", machine(func(vm v1alpha1.VirtualMachineReport) string {
			return fmt.Sprintf("%s, %d vCPU, %d MiB", orNone(vm.MachineType), vm.VCPUs, vm.MemoryBytes>>20)
		}))
		add(place+", CPU model", machine(func(vm v1alpha1.VirtualMachineReport) string { return vm.CPUModel }))
		add(place+", accelerator", function(func(run ComparedRun, f v1alpha1.NetworkFunction) string {
			if run.Device == nil {
				return ""
			}
			for _, d := range run.Device.Domains {
				if d.Function == f.Name {
					return d.Accelerator
				}
			}
			return ""
		}))
	}
	add("Plan", ofPlan(func(p v1alpha1.PlanSummary) string { return short(p.Digest) }))
	add("Platform", func(run ComparedRun) string {
		return short(fingerprintDigest(Document{Device: run.Device}))
	})
	add("Warnings", func(run ComparedRun) string { return strings.Join(run.Warnings, " ") })
	return rows
}

// short is the beginning of a digest, enough to see whether two are the same.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

func (c Comparison) longestChain() int {
	longest := 0
	for _, run := range c.Runs {
		longest = max(longest, len(run.Chain))
	}
	return longest
}
