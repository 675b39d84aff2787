package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/figure"
)

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

// writeCSV writes a line for each figure: the values of all columns, then what else is known of each column.
func (c Comparison) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append([]string{"metric", "unit"}, keyHead()...)
	var more []string
	for i, column := range c.Columns {
		head = append(head, column.Name)
		for _, name := range csvOfCell {
			more = append(more, column.Name+" "+name)
		}
		if i > 0 {
			for _, name := range csvOfDifference {
				more = append(more, column.Name+" "+name)
			}
		}
	}
	// An error stays in the writer until the call of Error.
	_ = out.Write(append(head, more...))
	for _, f := range c.Figures {
		cells := append([]string{string(f.Metric), string(f.Unit)}, keyCells(f.key)...)
		more = nil
		for i, cell := range f.Cells {
			cells = append(cells, optional(cell.Value))
			more = append(more, string(cell.Interval), optional(cell.Lower), optional(cell.Upper), count(cell.N), string(cell.Basis), codes(cell.Doubts))
			if i == 0 {
				continue
			}
			d := f.Differences[i-1]
			more = append(more, optional(d.Value), optional(d.Lower), optional(d.Upper), optional(d.PartsPerMillion), optional(d.LowerPartsPerMillion), optional(d.UpperPartsPerMillion),
				optional(d.PValuePartsPerMillion), optional(d.AdjustedPValuePartsPerMillion), string(d.Verdict), string(d.WhyNotTested))
		}
		_ = out.Write(append(cells, more...))
	}
	out.Flush()
	return out.Error()
}

// csvOfCell and csvOfDifference are the ends of the names of further columns.
var (
	csvOfCell       = []string{"interval", "lower", "upper", "n", "basis", "doubts"}
	csvOfDifference = []string{
		"difference", "differenceLower", "differenceUpper", "differencePartsPerMillion", "differenceLowerPartsPerMillion", "differenceUpperPartsPerMillion",
		"pValuePartsPerMillion", "adjustedPValuePartsPerMillion", "verdict", "whyNotTested",
	}
)

// peopleUnits are the units that people read, with how a value is written.
var peopleUnits = map[figure.Unit]struct {
	words  string
	format func(int64) string
}{
	figure.FramesPerSecond:      {", kfps", kiloFrames},
	figure.BitsPerSecond:        {", Mbit/s", megabits},
	figure.ConnectionsPerSecond: {", connections/s", count[int64]},
	figure.Nanoseconds:          {", µs", microseconds},
	figure.PartsPerMillion:      {", ppm", count[int64]},
	figure.NanosecondsPerFrame:  {", ns", count[int64]},
	figure.CyclesPerFrame:       {"", count[int64]},
	figure.Number:               {"", count[int64]},
}

// comparedTitle returns the title of the part that a metric is in.
func comparedTitle(m figure.Metric) string {
	switch m.Of {
	case figure.OfGoal:
		return "Throughput"
	case figure.OfLoad:
		return "Delay and loss at each load"
	case figure.OfSize:
		return "Loss curve, bursts and receive rate"
	case figure.OfStreams:
		return "TCP"
	case figure.OfConnections:
		return "Connections"
	case figure.OfTrials:
		if m.Unit == figure.NanosecondsPerFrame || m.Unit == figure.CyclesPerFrame {
			return "CPU time"
		}
		return "Counters"
	}
	return "Neighbors"
}

// sections returns the comparison for people: what ran, and each kind of figure.
func (c Comparison) sections(l letters) []section {
	title := fmt.Sprintf("Comparison of %d runs", len(c.Runs))
	if len(c.Runs) > len(c.Columns) {
		title += fmt.Sprintf(" in %d columns", len(c.Columns))
	}
	runs := section{title: title, notes: c.Notes, columns: []column{left("")}}
	for _, column := range c.Columns {
		runs.columns = append(runs.columns, left(column.Name))
	}
	runs.rows = c.runRows()
	parts := []section{runs}
	for _, f := range c.Figures {
		metric := figure.Describe(f.Metric)
		if !metric.Is(figure.Shown) || f.key.Interval > 0 || f.key.Side != "" {
			continue // left to CSV and JSON
		}
		title, unit := comparedTitle(metric), peopleUnits[f.Unit]
		if parts[len(parts)-1].title != title {
			part := section{title: title, columns: []column{left("Of"), left("Figure")}}
			for i, column := range c.Columns {
				part.columns = append(part.columns, number(column.Name))
				if i > 0 {
					part.columns = append(part.columns, left("Change"))
				}
			}
			parts = append(parts, part)
		}
		part := &parts[len(parts)-1]
		cells := []string{aboutWords(f.key), metric.Words + strings.ReplaceAll(unit.words, "µ", l.micro)}
		for i, cell := range f.Cells {
			cells = append(cells, valueWords(cell, unit.format, l))
			if i > 0 {
				cells = append(cells, changeWords(f.Differences[i-1], f.Cells[0], cell, l))
			}
		}
		part.rows = append(part.rows, cells)
	}
	return parts
}

// valueWords returns a value with the half width of its 95 % confidence interval.
func valueWords(cell comparison.Cell, format func(int64) string, l letters) string {
	if cell.Value == nil {
		return none
	}
	text := format(*cell.Value)
	if cell.IsFloor {
		text = l.atLeast + text
	}
	if len(cell.Doubts) > 0 && !cell.IsFloor {
		text += " ?"
	}
	if cell.Interval == comparison.IntervalConfidence && *cell.Value > 0 {
		half := max(*cell.Upper-*cell.Value, *cell.Value-*cell.Lower)
		text += fmt.Sprintf(" %s%s %%", l.plusMinus, percentWords(float64(half)/float64(*cell.Value)*100))
	}
	return text
}

// percentWords returns a percentage with one digit after the point, or none from a hundred on.
func percentWords(percent float64) string {
	if percent >= 100 {
		return strconv.FormatFloat(percent, 'f', 0, 64)
	}
	return strconv.FormatFloat(percent, 'f', 1, 64)
}

const (
	// manifold is the ratio from which a change is shown as a factor.
	manifold = 10
	// leastShown is the least p-value, in parts per million, of which three digits are shown.
	leastShown = 1000
)

// changeWords returns a difference as people read it: "-2.1 % ±0.4, worse (p=0.001, n=5+5)". A ~ is before one that may be chance,
// and instead of p is the reason where there is no test.
func changeWords(d comparison.Difference, first, cell comparison.Cell, l letters) string {
	words := differenceWords(d, first, cell, l)
	if d.Verdict == "" {
		return words
	}
	if d.WhyNotTested == comparison.ReasonMissing || d.WhyNotTested == comparison.ReasonFloor {
		return none
	}
	n := fmt.Sprintf("n=%d+%d", first.N, cell.N)
	switch d.WhyNotTested {
	case "":
	case comparison.ReasonNotRepeated:
		return fmt.Sprintf("~ %s (%s)", words, n)
	default:
		return fmt.Sprintf("~ %s (%s, %s)", words, d.WhyNotTested, n)
	}
	if d.LowerPartsPerMillion != nil && !isManifold(first, cell) {
		half := max(*d.UpperPartsPerMillion-*d.PartsPerMillion, *d.PartsPerMillion-*d.LowerPartsPerMillion)
		words += fmt.Sprintf(" %s%s", l.plusMinus, percentWords(float64(half)/1e4))
	}
	p := cmp.Or(d.AdjustedPValuePartsPerMillion, d.PValuePartsPerMillion)
	test := fmt.Sprintf("(p=%s, %s)", strconv.FormatFloat(float64(*p)/1e6, 'f', 3, 64), n)
	if *p < leastShown {
		test = fmt.Sprintf("(p<0.001, %s)", n)
	}
	if d.Verdict == comparison.Unclear {
		return fmt.Sprintf("~ %s %s", words, test)
	}
	return fmt.Sprintf("%s, %s %s", words, strings.ToLower(string(d.Verdict)), test)
}

// differenceWords returns the size of a difference, if it has a meaning: between floors it has none.
func differenceWords(d comparison.Difference, first, cell comparison.Cell, l letters) string {
	switch {
	case d.Value == nil:
		return none
	case *d.Value == 0:
		return "0"
	case d.PartsPerMillion == nil:
		return "from 0"
	case isManifold(first, cell):
		return fmt.Sprintf("%s%.0f", l.times, float64(*cell.Value)/float64(*first.Value))
	}
	return fmt.Sprintf("%+.1f %%", float64(*d.PartsPerMillion)/1e4)
}

func isManifold(first, cell comparison.Cell) bool {
	return float64(*cell.Value) >= manifold*float64(*first.Value)
}

// aboutWords describes for people what a figure is of.
func aboutWords(key figure.Key) string {
	var words []string
	for i, cell := range keyCells(key) {
		if cell == "" {
			continue
		}
		switch keyColumns[i].name {
		case "size":
			if _, err := strconv.Atoi(cell); err == nil {
				cell += " bytes"
			}
		case "streams":
			cell += " connections"
			if key.Streams == 1 {
				cell = "1 connection"
			}
		case "percentOfMaximum":
			cell += " %"
		case "repeat":
			cell = "repeat " + cell
		}
		words = append(words, cell)
	}
	return strings.Join(words, ", ")
}

// runRows describe the runs of each column, with a row for each fact that any of them has.
func (c Comparison) runRows() [][]string {
	var rows [][]string
	add := func(name string, of func(ComparedRun) string) {
		facts, known := make([][]string, len(c.Columns)), false
		for _, run := range c.Runs {
			if value := of(run); value != "" && !slices.Contains(facts[run.Column], value) {
				facts[run.Column], known = append(facts[run.Column], value), true
			}
		}
		if !known {
			return
		}
		cells := []string{name}
		for _, values := range facts {
			cells = append(cells, orNone(namedRuns(values)))
		}
		rows = append(rows, cells)
	}
	if len(c.Runs) > len(c.Columns) {
		add("Runs", func(run ComparedRun) string { return run.Name })
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
		add(place+", ports", function(func(run ComparedRun, f v1alpha1.NetworkFunction) string {
			west, east := Attachments(f, run.Functions)
			return fmt.Sprintf("%s, %s", west, east)
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

// short returns the start of a digest, enough to see whether two are the same.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

func (c Comparison) longestChain() int {
	longest := 0
	for _, run := range c.Runs {
		longest = max(longest, len(run.Chain))
	}
	return longest
}
