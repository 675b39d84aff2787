package series

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// separator is between the entries of a list in one cell. In an entry, a backslash is before it and before a backslash.
const separator = "|"

var (
	escapeEntry = strings.NewReplacer(`\`, `\\`, separator, `\`+separator)
	// escapeName is for a name, which ends at the first "=".
	escapeName    = strings.NewReplacer(`\`, `\\`, separator, `\`+separator, `=`, `\=`)
	unescapeEntry = strings.NewReplacer(`\\`, `\`, `\`+separator, separator, `\=`, `=`)
)

// cut splits a text as strings.Cut does, at the first byte of that kind that has no backslash before it.
func cut(text string, at byte) (before, after string, found bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case at:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// entries returns the entries of a list, as they are written.
func entries(cell string) (all []string) {
	for more := true; more; {
		var entry string
		entry, cell, more = cut(cell, separator[0])
		all = append(all, entry)
	}
	return all
}

// column is one column of the CSV form.
type column struct {
	name string
	get  func(Point) string
	set  func(*Point, string) error
}

// text returns the column of a text.
func text(name string, of func(*Point) *string) column {
	return column{
		name,
		func(p Point) string { return *of(&p) },
		func(p *Point, cell string) error { *of(p) = cell; return nil },
	}
}

// texts returns the column of a list of texts.
func texts[T ~string](name string, of func(*Point) *[]T) column {
	return column{
		name,
		func(p Point) string {
			words := make([]string, len(*of(&p)))
			for i, word := range *of(&p) {
				words[i] = escapeEntry.Replace(string(word))
			}
			return strings.Join(words, separator)
		},
		func(p *Point, cell string) error {
			for _, entry := range entries(cell) {
				*of(p) = append(*of(p), T(unescapeEntry.Replace(entry)))
			}
			return nil
		},
	}
}

// whole returns the column of a whole number, which is empty for 0 unless it is required.
func whole(name string, required bool, of func(*Point) *int64) column {
	return column{
		name,
		func(p Point) string {
			if n := *of(&p); n != 0 || required {
				return strconv.FormatInt(n, 10)
			}
			return ""
		},
		func(p *Point, cell string) (err error) {
			*of(p), err = strconv.ParseInt(cell, 10, 64)
			return err
		},
	}
}

// leg returns a column of a leg.
func leg(name string, get func(Leg) string, set func(*Leg, string) error) column {
	return column{
		"leg." + name,
		func(p Point) string {
			if p.Leg == nil {
				return ""
			}
			return get(*p.Leg)
		},
		func(p *Point, cell string) error {
			if p.Leg == nil {
				p.Leg = &Leg{}
			}
			return set(p.Leg, cell)
		},
	}
}

// columns returns all columns in their order. The first six are required.
func columns() []column {
	return []column{
		text("experiment", func(p *Point) *string { return &p.Experiment }),
		text("testbed", func(p *Point) *string { return &p.Testbed }),
		text("figure", func(p *Point) *string { return &p.Figure }),
		{
			"time",
			func(p Point) string { return p.Time.Format(time.RFC3339Nano) },
			func(p *Point, cell string) (err error) { p.Time, err = time.Parse(time.RFC3339Nano, cell); return err },
		},
		text("run", func(p *Point) *string { return &p.Run }),
		whole("value", true, func(p *Point) *int64 { return &p.Value }),
		text("unit", func(p *Point) *string { return &p.Unit }),
		{
			"lowerIsBetter",
			func(p Point) string { return strconv.FormatBool(p.LowerIsBetter) },
			func(p *Point, cell string) (err error) { p.LowerIsBetter, err = strconv.ParseBool(cell); return err },
		},
		text("execution", func(p *Point) *string { return &p.Execution }),
		{
			"repeats",
			func(p Point) string {
				words := make([]string, len(p.Repeats))
				for i, n := range p.Repeats {
					words[i] = strconv.FormatInt(n, 10)
				}
				return strings.Join(words, separator)
			},
			func(p *Point, cell string) error {
				for word := range strings.SplitSeq(cell, separator) {
					n, err := strconv.ParseInt(word, 10, 64)
					if err != nil {
						return err
					}
					p.Repeats = append(p.Repeats, n)
				}
				return nil
			},
		},
		{"bound", func(p Point) string { return string(p.Bound) }, func(p *Point, cell string) error { p.Bound = figure.Bound(cell); return nil }},
		whole("upperBound", false, func(p *Point) *int64 { return &p.UpperBound }),
		text("cause", func(p *Point) *string { return &p.Cause }),
		texts("doubts", func(p *Point) *[]v1alpha1.DoubtCode { return &p.Doubts }),
		texts("warnings", func(p *Point) *[]string { return &p.Warnings }),
		whole("calibrationLevel", false, func(p *Point) *int64 { return &p.CalibrationLevel }),
		text("platform", func(p *Point) *string { return &p.Platform }),
		{"platformParts", partsCell, setParts},
		text("subject.name", func(p *Point) *string { return &p.Subject.Name }),
		text("subject.version", func(p *Point) *string { return &p.Subject.Version }),
		text("subject.revision", func(p *Point) *string { return &p.Subject.Revision }),
		text("subject.image", func(p *Point) *string { return &p.Subject.Image }),
		{
			"subjectTime",
			func(p Point) string {
				if p.SubjectTime.IsZero() {
					return ""
				}
				return p.SubjectTime.Format(time.RFC3339Nano)
			},
			func(p *Point, cell string) (err error) {
				p.SubjectTime, err = time.Parse(time.RFC3339Nano, cell)
				return err
			},
		},
		text("document", func(p *Point) *string { return &p.Document }),
		text("namespace", func(p *Point) *string { return &p.Namespace }),
		text("runUID", func(p *Point) *string { return &p.RunUID }),
		leg("run", func(l Leg) string { return l.Run }, func(l *Leg, cell string) error { l.Run = cell; return nil }),
		leg("cause", func(l Leg) string { return l.Cause }, func(l *Leg, cell string) error { l.Cause = cell; return nil }),
		leg("side", func(l Leg) string { return string(l.Side) }, func(l *Leg, cell string) error { l.Side = Side(cell); return nil }),
		leg("oldRun", func(l Leg) string { return l.OldRun }, func(l *Leg, cell string) error { l.OldRun = cell; return nil }),
		leg("pair", func(l Leg) string { return strconv.Itoa(l.Pair) }, func(l *Leg, cell string) (err error) { l.Pair, err = strconv.Atoi(cell); return err }),
	}
}

// requiredColumns is how many of the first columns a file must have.
const requiredColumns = 6

func partsCell(p Point) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(p.PlatformParts)) {
		words = append(words, escapeName.Replace(name)+"="+escapeEntry.Replace(p.PlatformParts[name]))
	}
	return strings.Join(words, separator)
}

func setParts(p *Point, cell string) error {
	p.PlatformParts = map[string]string{}
	for _, entry := range entries(cell) {
		name, value, ok := cut(entry, '=')
		if !ok {
			return fmt.Errorf("%q is no name=value", entry)
		}
		p.PlatformParts[unescapeEntry.Replace(name)] = unescapeEntry.Replace(value)
	}
	return nil
}

// WriteCSV writes points as CSV with a header. A text that a spreadsheet could take for a formula gets an apostrophe before it.
func WriteCSV(out io.Writer, points []Point) error {
	all := columns()
	header := make([]string, len(all))
	for i, c := range all {
		header[i] = c.name
	}
	w := csv.NewWriter(out)
	if err := w.Write(header); err != nil {
		return err
	}
	for _, p := range points {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("point %s of run %q: %w", p.Key, p.Run, err)
		}
		row := make([]string, len(all))
		for i, c := range all {
			row[i] = c.get(p)
			if startsFormula(strings.TrimLeft(row[i], "'")) {
				row[i] = "'" + row[i]
			}
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// startsFormula reports whether a spreadsheet computes a cell. Numbers below 0 are none.
func startsFormula(cell string) bool {
	if cell == "" || !strings.ContainsRune("=+-@", rune(cell[0])) {
		return false
	}
	_, err := strconv.ParseInt(cell, 10, 64)
	return err != nil
}

// ReadCSV reads points from CSV with a header, whose columns may have any order. An error names line and column.
func ReadCSV(in io.Reader) ([]Point, error) {
	r := csv.NewReader(&lineLimit{in: in})
	r.ReuseRecord = true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: its first line names the columns")
	}
	if err != nil {
		return nil, err
	}
	order, err := columnsOf(header)
	if err != nil {
		return nil, err
	}
	var points []Point
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return points, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := r.FieldPos(0)
		p, err := pointOf(row, order)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if len(points) == MaxPoints {
			return nil, ErrTooMany
		}
		points = append(points, p)
	}
}

// columnsOf returns the columns that a header names.
func columnsOf(header []string) ([]column, error) {
	all := columns()
	var order []column
	for i, name := range header {
		if slices.Contains(header[:i], name) {
			return nil, fmt.Errorf("column %q is there twice", name)
		}
		at := slices.IndexFunc(all, func(c column) bool { return c.name == name })
		if at < 0 {
			return nil, fmt.Errorf("column %q is not known: use %s", name, names(all))
		}
		order = append(order, all[at])
	}
	for _, c := range all[:requiredColumns] {
		if !slices.Contains(header, c.name) {
			return nil, fmt.Errorf("column %q is missing: the columns %s are required", c.name, names(all[:requiredColumns]))
		}
	}
	return order, nil
}

func names(list []column) string {
	words := make([]string, len(list))
	for i, c := range list {
		words[i] = c.name
	}
	return strings.Join(words, ", ")
}

func pointOf(row []string, order []column) (Point, error) {
	var p Point
	for i, cell := range row {
		if len(cell) > 1 && cell[0] == '\'' && startsFormula(strings.TrimLeft(cell, "'")) {
			cell = cell[1:]
		}
		if cell == "" {
			continue
		}
		if err := order[i].set(&p, strings.Clone(cell)); err != nil {
			return p, fmt.Errorf("column %q has %q: %w", order[i].name, cell, err)
		}
	}
	return p, p.Validate()
}

// lineLimit refuses a line of more than MaxLineBytes before it is held in memory. A quoted cell with line breaks counts as
// several lines; Validate bounds it.
type lineLimit struct {
	in   io.Reader
	line int
}

func (l *lineLimit) Read(buffer []byte) (int, error) {
	n, err := l.in.Read(buffer)
	for _, b := range buffer[:n] {
		if l.line++; b == '\n' {
			l.line = 0
		}
		if l.line > MaxLineBytes {
			return 0, fmt.Errorf("a line has more than %d bytes", MaxLineBytes)
		}
	}
	return n, err
}
