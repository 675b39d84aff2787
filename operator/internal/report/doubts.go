package report

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// codes returns codes with blanks between them.
func codes(list []v1alpha1.DoubtCode) string {
	words := make([]string, len(list))
	for i, code := range list {
		words[i] = string(code)
	}
	return strings.Join(words, " ")
}

// doubtSection lists why figures that a criterion can name, and points of the loss curve, may not be the device's.
func doubtSection(doc Document) section {
	s := section{title: "Doubts about figures", columns: []column{left("Of"), left("At"), left("Code"), left("Because"), left("What to do")}}
	seen := map[string]bool{}
	for _, f := range doc.figures() {
		if !f.Known() || f.Side != "" || f.Interval > 0 || f.Percent == 0 && !figure.Describe(f.Metric).Is(figure.Judged) {
			continue
		}
		at := f.Goal + f.Load
		if f.Percent > 0 {
			at = fmt.Sprintf("%d %% of maximum", f.Percent)
		}
		for _, d := range f.Doubts {
			row := []string{about(f.FigureKey), orNone(at), string(d.Code), d.Text, d.Remedy}
			if key := strings.Join(row, "\x00"); !seen[key] {
				seen[key] = true
				s.rows = append(s.rows, row)
			}
		}
	}
	return s
}
