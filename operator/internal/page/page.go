// Package page makes web pages of results: one file each, with its pictures in it. A page has no script and fetches nothing, so
// that it opens without a network, in print and under a strict content security policy.
//
// Documents are input that anyone may have written. html/template and package plot escape every text of theirs.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/report"
)

// Format is the name of the format of pages.
const Format report.Format = "html"

// Style is the style sheet of every page, with colors for light, dark and print.
//
//go:embed style.css
var Style string

//go:embed page.gohtml
var text string

// pieces are the templates.
var pieces = template.Must(template.New("").Funcs(template.FuncMap{
	"printable": excerpt.Printable,
	"style":     func() template.CSS { return template.CSS(Style) },
	"policy":    Policy,
}).Parse(text))

// executed is the copy that writes pages: one that was executed cannot be copied again.
var executed = template.Must(pieces.Clone())

// Pieces returns a copy of the templates, for pages of other packages: "view" writes the body of a View, "head" the head of a
// page with a title, "part" a report.Part, and "figure" a Figure. The function printable drops control characters.
func Pieces() *template.Template { return template.Must(pieces.Clone()) }

// Policy returns the content security policy of pages whose style sheet is in them: nothing else is allowed.
func Policy() string {
	sum := sha256.Sum256([]byte(Style))
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))
}

// View is what a page shows.
type View struct {
	// Kind is what the page is of, such as "Run", and Title its name.
	Kind, Title string
	// Verdict is how it ended. Without a word there is none.
	Verdict Verdict
	// Notes are sentences that a reader has to know first.
	Notes    []string
	Cards    []Card
	Sections []Section
	// Foot says what wrote the page.
	Foot string
}

// Verdict is an outcome.
type Verdict struct {
	// Word is one or two words, and Sentence says more.
	Word, Sentence string
	// Class is good, bad, unsure or open.
	Class string
}

// Card is a figure at the top of a page.
type Card struct {
	Name, Value, Unit string
	// Note says what the value is not, such as a floor.
	Note string
}

// Section is a part of a page with a place to link to.
type Section struct {
	ID, Title string
	// Notes are sentences: how to read the pictures, and why one is not there.
	Notes   []string
	Figures []Figure
	// Lead is next to the first figure where there is room.
	Lead *report.Part
	// Parts are tables; those of Folded are closed until the reader opens them.
	Parts, Folded []report.Part
	// Texts are to be copied.
	Texts []Text
}

// Figure is a picture with its caption.
type Figure struct {
	Caption string
	// Picture is SVG of package plot.
	Picture template.HTML
	// Note says more below the picture.
	Note string
}

// Text is a file or commands.
type Text struct{ Name, Content string }

// empty reports whether a section has nothing to show.
func (s Section) empty() bool {
	return s.Lead == nil && len(s.Notes)+len(s.Figures)+len(s.Parts)+len(s.Folded)+len(s.Texts) == 0
}

// Write writes a page.
func Write(w io.Writer, v View) error {
	var kept []Section
	for _, s := range v.Sections {
		if !s.empty() {
			kept = append(kept, s)
		}
	}
	v.Sections = kept
	var out strings.Builder
	if err := executed.ExecuteTemplate(&out, "page", v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	_, err := io.WriteString(w, out.String())
	return err
}
