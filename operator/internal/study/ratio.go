package study

import (
	"errors"

	"vnfbench.io/operator/internal/analysis"
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
	values, without := [2][]float64{}, leftOut(0)
	for i, where := range []Where{r.To, r.Cell} {
		found, left, err := valuesAt(doc, where, r.Figure)
		if err != nil {
			return measured{problem: err.Error()}
		}
		values[i], without = found, without+left
	}
	ratio, err := analysis.Ratio(values[0], values[1])
	if err != nil {
		return measured{problem: err.Error()}
	}
	return measured{words: withInterval(ratio, ""), estimate: &ratio, note: without.String()}
}

func (r Ratio) judge(m measured) (Verdict, string) { return r.Range.judge(*m.estimate) }
