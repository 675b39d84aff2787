package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format is how a document is written.
type Format string

// The formats.
const (
	FormatTable    Format = "table"
	FormatMarkdown Format = "markdown"
	FormatJSON     Format = "json"
	FormatCSV      Format = "csv"
	FormatJUnit    Format = "junit"
)

// Formats returns all formats, in the order in which users see them.
func Formats() []Format {
	return []Format{FormatTable, FormatMarkdown, FormatJSON, FormatCSV, FormatJUnit}
}

// ParseFormat parses the name of a format.
func ParseFormat(word string) (Format, error) {
	if format := Format(word); slices.Contains(Formats(), format) {
		return format, nil
	}
	names := make([]string, 0, len(Formats()))
	for _, format := range Formats() {
		names = append(names, string(format))
	}
	return "", fmt.Errorf("unknown format %q: use one of %s", word, strings.Join(names, ", "))
}

// Options of a report.
type Options struct {
	// Trials adds every trial; in CSV, trials replace the results.
	// JUnit has no place for them.
	Trials bool
	// ASCII keeps the table to characters that every terminal has.
	ASCII bool
}

// Write renders the document.
func Write(w io.Writer, doc Document, format Format, opts Options) error {
	switch format {
	case FormatTable:
		l := unicodeLetters
		if opts.ASCII {
			l = asciiLetters
		}
		return writeText(w, sections(doc, opts, l), l.rule)
	case FormatMarkdown:
		return writeMarkdown(w, sections(doc, opts, unicodeLetters))
	case FormatJSON:
		return writeJSON(w, doc, opts)
	case FormatCSV:
		if opts.Trials {
			return writeTrials(w, doc)
		}
		return writeResults(w, doc)
	case FormatJUnit:
		return writeJUnit(w, doc)
	}
	_, err := ParseFormat(string(format))
	return err
}

func writeJSON(w io.Writer, doc Document, opts Options) error {
	if !opts.Trials {
		doc.Trials = nil
	}
	return encodeJSON(w, doc)
}

func encodeJSON(w io.Writer, doc any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(doc)
}
