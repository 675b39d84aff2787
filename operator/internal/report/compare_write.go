package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
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

// writeCSV writes a line for each figure and a column for each run.
func (c Comparison) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append([]string{"metric", "unit"}, keyHead()...)
	for _, run := range c.Runs {
		head = append(head, run.Name)
	}
	// An error stays in the writer until the call of Error.
	_ = out.Write(head)
	for _, f := range c.Figures {
		cells := append([]string{string(f.Metric), string(f.Unit)}, keyCells(f.key)...)
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
	runs := section{title: fmt.Sprintf("Comparison of %d runs", len(c.Runs)), notes: c.Notes, columns: []column{left("")}}
	for _, run := range c.Runs {
		runs.columns = append(runs.columns, left(run.Name))
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
			for _, run := range c.Runs {
				part.columns = append(part.columns, number(run.Name))
			}
			parts = append(parts, part)
		}
		part := &parts[len(parts)-1]
		cells := []string{aboutWords(f.key), metric.Words + strings.ReplaceAll(unit.words, "µ", l.micro)}
		for i := range f.Values {
			cells = append(cells, f.withChange(i, unit.format, l))
		}
		part.rows = append(part.rows, cells)
	}
	return parts
}

// manifold is the ratio from which a change is shown as a factor.
const manifold = 10

// withChange returns a run's figure with its change from the first run's, if the
// change has a meaning: between floors it has none.
func (f ComparedFigure) withChange(run int, format func(int64) string, l letters) string {
	first, value := f.Values[0], f.Values[run]
	if value == nil {
		return none
	}
	text := format(*value)
	if f.isFloor(run) {
		text = l.atLeast + text
	}
	if first == nil || *first == 0 || *first == *value || f.isFloor(0) || f.isFloor(run) {
		return text
	}
	ratio := float64(*value) / float64(*first)
	if ratio >= manifold {
		return fmt.Sprintf("%s (%s%.0f)", text, l.times, ratio)
	}
	return fmt.Sprintf("%s (%+.1f %%)", text, (ratio-1)*100)
}

func (f ComparedFigure) isFloor(run int) bool { return f.Floors != nil && f.Floors[run] }

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

// runRows describe each run, with a row for each fact that any of them has.
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
