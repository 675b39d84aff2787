package main

import (
	"fmt"
	"io"
)

// goal is the most that a figure of a table may be.
type goal struct {
	most float64
	unit string
	text string
	// of returns the value that is compared, what it was found with, and whether all that it needs was measured.
	of func([]row) (value float64, with string, measured bool)
}

var queueGoals = []goal{
	{128, "MiB", "memory of the manager", highest("highest RSS MiB", "runs")},
	{2, "s", "time from the end of a run to the admission of the next", highest("next run after s", "runs")},
	{5, "%", "share of a core while a run is measured", highest("CPU % while measuring", "runs")},
}

var growthGoals = []goal{
	// One stores the trial. A chunk of some tens of trials is closed by another, and a report of the progress is stored every few seconds.
	{1.1, "writes", "writes for each further trial of a run", slope("writes")},
	// Bytes that grow linearly cost the same for each trial; those that grow with the square cost six times as much here.
	{1.25, "times", "bytes for a further trial of a long run, as a multiple of those in a short one", bend("etcd KiB")},
}

var soakGoals = []goal{
	{128, "MiB", "memory of the manager", highest("highest RSS MiB", "hours")},
	{512, "KiB", "size of the run", highest("run KiB", "hours")},
}

// highest returns the highest value of a figure in all rows.
func highest(figure, unit string) func([]row) (float64, string, bool) {
	return func(rows []row) (value float64, with string, measured bool) {
		for _, r := range rows {
			now, found := r.figures[figure]
			if !found {
				return 0, "", false
			}
			if now >= value {
				value, with = now, fmt.Sprintf("highest with %.0f %s", r.n, unit)
			}
		}
		return value, with, len(rows) > 0
	}
}

// slope returns by how much a figure grows for each further trial, from the first row to the last. What a run costs without its trials is not in it.
func slope(figure string) func([]row) (float64, string, bool) {
	return func(rows []row) (float64, string, bool) {
		if len(rows) < 2 {
			return 0, "", false
		}
		value, measured := between(rows[0], rows[len(rows)-1], figure)
		return value, fmt.Sprintf("from %.0f to %.0f trials", rows[0].figures[trialsFigure], rows[len(rows)-1].figures[trialsFigure]), measured
	}
}

// bend returns the slope of the last two rows, divided by that of the first two.
func bend(figure string) func([]row) (float64, string, bool) {
	return func(rows []row) (float64, string, bool) {
		if len(rows) < 3 {
			return 0, "", false
		}
		early, first := between(rows[0], rows[1], figure)
		late, second := between(rows[len(rows)-2], rows[len(rows)-1], figure)
		return late / early, fmt.Sprintf("%.1f and %.1f KiB for each", early, late), first && second && early > 0
	}
}

// trialsFigure is the number of a run's trials.
const trialsFigure = "trials"

func between(from, to row, figure string) (float64, bool) {
	for _, r := range []row{from, to} {
		for _, name := range []string{figure, trialsFigure} {
			if _, found := r.figures[name]; !found {
				return 0, false
			}
		}
	}
	further := to.figures[trialsFigure] - from.figures[trialsFigure]
	return (to.figures[figure] - from.figures[figure]) / further, further > 0
}

// printGoals prints a line for each goal and one for all, and returns an error if one is missed or was not measured.
func printGoals(w io.Writer, goals []goal, rows []row) error {
	missed := 0
	for _, g := range goals {
		value, with, measured := g.of(rows)
		if !measured {
			missed++
			fmt.Fprintf(w, "%s: %s, goal at most %g %s\n", notMeasured, g.text, g.most, g.unit)
			continue
		}
		verdict := "met"
		if value > g.most {
			verdict, missed = "MISSED", missed+1
		}
		fmt.Fprintf(w, "%s: %s, goal at most %g %s: %.2f %s, %s\n", verdict, g.text, g.most, g.unit, value, g.unit, with)
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d goals are missed", missed, len(goals))
	}
	fmt.Fprintf(w, "All %d goals are met.\n", len(goals))
	return nil
}
