package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// notMeasured is there instead of what was not measured.
const notMeasured = "NOT MEASURED"

// row has the figures of one size. n is what the others grow with. A figure that is not there was not measured.
type row struct {
	n       float64
	figures map[string]float64
}

// column is one figure with its unit, and how many digits it has.
type column struct {
	name   string
	digits int
}

var queueColumns = []column{
	{"heap MiB", 1}, {"RSS MiB", 1}, {"highest RSS MiB", 1}, {"CPU % while measuring", 2}, {"CPU ms per trial", 2},
	{"trials per run", 0}, {"manager's writes per run", 1}, {"measurer's writes per run", 1}, {"etcd KiB per run", 0},
	{"next run after s", 2}, {"start s", 1}, {"start's writes per queued run", 2},
}

var growthColumns = []column{
	{"manager's writes", 0}, {"measurer's writes", 0}, {"writes per trial", 2}, {"etcd KiB", 0}, {"etcd KiB per trial", 1}, {"CPU ms per trial", 2},
}

var soakColumns = append([]column{{trialsFigure, 0}, {"time s", 1}, {"highest RSS MiB", 1}, {"run KiB", 0}, {"results KiB", 0}}, growthColumns...)

// printTable prints a line for each figure with its values, and how it grows: the exponent of N from
// the first row that has it to the last, 0 for a figure that does not, 1 for one that grows as N does.
func printTable(w io.Writer, columns []column, rows []row) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "N\t")
	for _, r := range rows {
		fmt.Fprintf(table, "%.0f\t", r.n)
	}
	fmt.Fprintln(table, "exponent\t")
	for _, c := range columns {
		fmt.Fprintf(table, "%s\t", c.name)
		for _, r := range rows {
			if figure, measured := r.figures[c.name]; measured {
				fmt.Fprintf(table, "%.*f\t", c.digits, figure)
			} else {
				fmt.Fprintf(table, "%s\t", notMeasured)
			}
		}
		fmt.Fprintf(table, "%s\t\n", exponent(rows, c.name))
	}
	table.Flush()
}

// exponent returns x of a figure that grows as N to the power of x, or "-" where there is none.
func exponent(rows []row, name string) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { _, measured := r.figures[name]; return !measured })
	if len(rows) == 0 {
		return "-"
	}
	first, last := rows[0], rows[len(rows)-1]
	from, to := first.figures[name], last.figures[name]
	if from <= 0 || to <= 0 || first.n == last.n {
		return "-"
	}
	return fmt.Sprintf("%.2f", math.Log(to/from)/math.Log(last.n/first.n))
}
