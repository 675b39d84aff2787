package report

import (
	"fmt"

	"vnfbench.io/operator/internal/figure"
)

// latenessSection shows how late frames left in the trials of figures that are no delays.
func latenessSection(doc Document, l letters) section {
	unit := " " + l.micro + "s"
	s := section{title: "Wait before the departure, in trials of other figures", columns: []column{
		number("Size"), left("Trials"), left("Of"), number("p50" + unit), number("p99" + unit), number("max" + unit),
	}}
	names := map[string]string{}
	for _, frame := range doc.Results {
		names[frame.Size] = frameName(frame)
	}
	figures, values := doc.figures(), map[figure.Key]int64{}
	for _, f := range figures {
		values[f.Key] = f.Value
	}
	for _, lateness := range figure.Latenesses {
		metrics := lateness.Metrics()
		for _, f := range figures {
			if f.Metric != metrics[0] || f.Direction != "" || f.Side != "" {
				continue
			}
			row := []string{names[f.Size], lateness.What, orNone(f.Goal + f.Load)}
			if f.Percent > 0 {
				row[2] = fmt.Sprintf("%d %%", f.Percent)
			}
			for _, metric := range metrics {
				key := f.Key
				key.Metric = metric
				row = append(row, microseconds(values[key]))
			}
			s.rows = append(s.rows, row)
		}
	}
	if len(s.rows) > 0 {
		s.notes = []string{"The largest of each figure, of all trials and directions. Where the way to the device is Inline, it is mostly the time of the device itself. A frame that never arrived is in none."}
	}
	return s
}
