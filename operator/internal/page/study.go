package page

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/study"
)

// WriteStudy writes the page of a study, with the figures of the documents that it is from.
func WriteStudy(w io.Writer, r study.Report, docs []report.SuiteDocument) error {
	return Write(w, Study(r, docs))
}

// Study returns what the page of a study shows: the answer, the claims, and then the figures of each suite.
func Study(r study.Report, docs []report.SuiteDocument) View {
	parts := r.Parts()
	head := parts[0]
	head.Title = ""
	v := View{
		Kind: "Study", Title: r.Title,
		Verdict: Verdict{Word: fmt.Sprintf("%d of %d claims reproduced", r.Counts.Reproduced, len(r.Claims)), Sentence: r.Counts.String(), Class: "unsure"},
		Sections: []Section{
			{ID: "answer", Title: "Answer", Parts: []report.Part{limited(head)}},
			{ID: "claims", Title: "Claims"},
		},
		Foot: fmt.Sprintf("Written by kubectl vnfbench %s at %s.", orUnknown(r.WrittenBy), r.GeneratedAt.UTC().Format(time.RFC3339)),
	}
	if len(r.Claims) > 0 && r.Counts.Reproduced == len(r.Claims) {
		v.Verdict.Class = "good"
	}
	if r.Completeness == report.Partial {
		v.Notes = append(v.Notes, "This report is partial: not every measurement of every suite was made and succeeded.")
	}
	for _, p := range parts[1:] {
		v.Sections[1].Parts = append(v.Sections[1].Parts, limited(p))
	}
	for i, doc := range docs {
		m := newMatrix(doc)
		s := Section{ID: fmt.Sprintf("suite-%d", i+1), Title: "Suite " + doc.Execution.Suite, Figures: first(slices.Concat(m.lines(rate), m.lines(p99), m.lines(goodput)), maxFigures)}
		pictures, notes := m.criteria()
		s.Figures, s.Notes = append(s.Figures, pictures...), notes
		for _, p := range doc.Parts()[1:] {
			switch {
			case p.Title == "Cost of one more", p.Title == "Where two cross", p.Title == "How it scales", p.Title == "Measured and extrapolated", p.Title == "Failures":
				s.Parts = append(s.Parts, limited(p))
			case p.Title == "Cells", strings.HasPrefix(p.Title, "Matrix"):
				s.Folded = append(s.Folded, limited(p))
			}
		}
		v.Sections = append(v.Sections, s)
	}
	return v
}
