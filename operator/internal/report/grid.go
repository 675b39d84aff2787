package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"vnfbench.io/operator/internal/excerpt"
)

// none is shown where there is no figure.
const none = "-"

// column is a table's column.
type column struct {
	head  string
	right bool
}

func left(head string) column   { return column{head: head} }
func number(head string) column { return column{head: head, right: true} }

// fact is a name with its value.
type fact struct{ name, value string }

// section is a part of a report for people: a title, facts, sentences, and a
// table where it has columns.
type section struct {
	title   string
	facts   []fact
	notes   []string
	columns []column
	rows    [][]string
}

// letters are the characters that a terminal may lack.
type letters struct {
	rule, micro, atLeast, times, plusMinus string
}

var (
	unicodeLetters = letters{rule: "─", micro: "µ", atLeast: "≥ ", times: "×", plusMinus: "±"}
	asciiLetters   = letters{rule: "-", micro: "u", atLeast: ">= ", times: "x", plusMinus: "+-"}
)

// writeText writes sections with aligned columns.
func writeText(w io.Writer, sections []section, rule string) error {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		title := s.title
		if i > 0 {
			title = strings.ToUpper(title)
		}
		fmt.Fprintf(&b, "%s\n", title)
		textFacts(&b, s.facts)
		for _, note := range s.notes {
			fmt.Fprintf(&b, "%s\n", note)
		}
		if len(s.columns) == 0 {
			continue
		}
		if len(s.facts)+len(s.notes) > 0 {
			b.WriteByte('\n')
		}
		textTable(&b, s, rule)
	}
	_, err := io.WriteString(w, excerpt.Printable(b.String()))
	return err
}

func textFacts(b *strings.Builder, facts []fact) {
	width := 0
	for _, f := range facts {
		width = max(width, utf8.RuneCountInString(f.name))
	}
	for _, f := range facts {
		fmt.Fprintf(b, "%-*s  %s\n", width, f.name, f.value)
	}
}

func textTable(b *strings.Builder, s section, rule string) {
	widths := make([]int, len(s.columns))
	heads := make([]string, len(s.columns))
	for i, c := range s.columns {
		heads[i] = c.head
		widths[i] = utf8.RuneCountInString(c.head)
		for _, row := range s.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	line := func(cells []string) {
		padded := make([]string, len(cells))
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if s.columns[i].right {
				padded[i] = pad + cell
			} else {
				padded[i] = cell + pad
			}
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(strings.Join(padded, "  "), " "))
	}
	line(heads)
	for i, width := range widths {
		heads[i] = strings.Repeat(rule, width)
	}
	line(heads)
	for _, row := range s.rows {
		line(row)
	}
}

// markdownCell keeps a cell in its row.
var markdownCell = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")

// writeMarkdown writes sections as GitHub-flavored Markdown.
func writeMarkdown(w io.Writer, sections []section) error {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		level := "##"
		if i == 0 {
			level = "#"
		}
		fmt.Fprintf(&b, "%s %s\n\n", level, s.title)
		for _, f := range s.facts {
			fmt.Fprintf(&b, "- **%s**: %s\n", f.name, markdownCell.Replace(f.value))
		}
		for _, note := range s.notes {
			fmt.Fprintf(&b, "- %s\n", markdownCell.Replace(note))
		}
		if len(s.columns) == 0 {
			continue
		}
		if len(s.facts)+len(s.notes) > 0 {
			b.WriteByte('\n')
		}
		markdownTable(&b, s)
	}
	_, err := io.WriteString(w, excerpt.Printable(b.String()))
	return err
}

func markdownTable(b *strings.Builder, s section) {
	for _, c := range s.columns {
		fmt.Fprintf(b, "| %s ", markdownCell.Replace(c.head))
	}
	b.WriteString("|\n")
	for _, c := range s.columns {
		if c.right {
			b.WriteString("|---:")
		} else {
			b.WriteString("|---")
		}
	}
	b.WriteString("|\n")
	for _, row := range s.rows {
		for _, cell := range row {
			fmt.Fprintf(b, "| %s ", markdownCell.Replace(cell))
		}
		b.WriteString("|\n")
	}
}
