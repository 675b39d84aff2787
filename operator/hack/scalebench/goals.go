package main

import (
	"fmt"
	"io"
)

// goal is the most that a figure of the table of queues may be.
type goal struct {
	figure string
	most   float64
	unit   string
	text   string
}

var goals = []goal{
	{"highest RSS MiB", 128, "MiB", "memory of the manager"},
	{"next run after s", 2, "s", "time from the end of a run to the admission of the next"},
	{"CPU % while measuring", 5, "%", "share of a core while a run is measured"},
}

// printGoals prints a line for each goal, with the highest figure of all rows, and one for all goals.
func printGoals(w io.Writer, rows []row) {
	missed := 0
	for _, g := range goals {
		highest, n, found := 0.0, 0.0, len(rows) > 0
		for _, r := range rows {
			value, measured := r.figures[g.figure]
			if found = found && measured; value > highest {
				highest, n = value, r.n
			}
		}
		if !found {
			missed++
			fmt.Fprintf(w, "%s: %s, goal at most %g %s\n", notMeasured, g.text, g.most, g.unit)
			continue
		}
		verdict := "met"
		if highest > g.most {
			verdict, missed = "MISSED", missed+1
		}
		fmt.Fprintf(w, "%s: %s, goal at most %g %s, highest %.2f %s with %.0f runs\n", verdict, g.text, g.most, g.unit, highest, g.unit, n)
	}
	if missed > 0 {
		fmt.Fprintf(w, "%d of %d goals are missed.\n", missed, len(goals))
		return
	}
	fmt.Fprintf(w, "All %d goals are met.\n", len(goals))
}
