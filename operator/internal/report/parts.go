package report

import "vnfbench.io/operator/internal/figure"

// Part is a part of a report for people, for a program that lays it out by itself: facts, sentences, and a table where it
// has columns.
type Part struct {
	Title   string
	Facts   []Fact
	Notes   []string
	Columns []TableColumn
	Rows    [][]string
}

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// TableColumn is a column of a table.
type TableColumn struct {
	Head string
	// Number aligns its cells to the right.
	Number bool
}

// Parts returns the report for people without its trials. The first part is its head.
func (d Document) Parts() []Part { return parts(sections(d, Options{}, unicodeLetters)) }

// Figures returns the figures that have samples, in the order of the results.
func (d Document) Figures() []figure.Figure { return d.figures() }

func parts(sections []section) []Part {
	out := make([]Part, len(sections))
	for i, s := range sections {
		out[i] = Part{Title: s.title, Notes: s.notes, Rows: s.rows}
		for _, f := range s.facts {
			out[i].Facts = append(out[i].Facts, Fact{f.name, f.value})
		}
		for _, c := range s.columns {
			out[i].Columns = append(out[i].Columns, TableColumn{c.head, c.right})
		}
	}
	return out
}
