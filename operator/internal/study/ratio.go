package study

import (
	"errors"
	"fmt"

	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/report"
)

// Ratio is a figure of one cell as a multiple of that of another.
type Ratio struct {
	From
	Figure
	Cell Where `json:"cell"`
	To   Where `json:"to"`
	Range
}

func (r Ratio) check() error {
	if len(r.Cell) == 0 || len(r.To) == 0 {
		return errors.New("ratio needs the values of cell and to")
	}
	return r.Figure.check(report.FitFrameTime, report.FitP99, report.FitRate, report.FitGoodput)
}

func (r Ratio) expects() bool { return r.Range != Range{} }

func (r Ratio) measure(doc report.SuiteDocument) measured {
	to, err := repeatsAt(doc, r.To, r.Figure)
	if err != nil {
		return measured{problem: err.Error()}
	}
	cell, err := repeatsAt(doc, r.Cell, r.Figure)
	if err != nil {
		return measured{problem: err.Error()}
	}
	side := cell.side | opposite(to.side)
	of := analysis.Ratio
	if side != 0 {
		of = ratioOfBounds
	}
	ratio, err := of(to.values, cell.values)
	if err != nil {
		return measured{problem: err.Error()}
	}
	switch side {
	case 0:
		return measured{words: withInterval(ratio, ""), estimate: &ratio, note: (to.left + cell.left).String()}
	case figure.Above, figure.Below:
		return bounded(ratio, side, "", to, cell)
	}
	return measured{problem: fmt.Sprintf("figures of both cells are bounds%s%s, and together they say nothing of the ratio", to.doubts, cell.doubts)}
}

func (r Ratio) judge(m measured) (Verdict, string) { return r.Range.judge(m.interval()) }
