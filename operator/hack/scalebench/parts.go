package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// part is one of the things that the program measures. It has a table.
type part struct {
	name, title string
	columns     []column
	sizes       []int
	measure     func(context.Context, settings, int) (row, error)
	// after prints what follows the table; nil for nothing.
	after func(io.Writer, []row) error
}

// parts returns all of them, in their order.
func parts(s settings) []part {
	return []part{
		{
			name: "runs", title: fmt.Sprintf("With N queued and N finished runs; a trial takes %s.", s.trial), columns: queueColumns,
			sizes: s.counts, measure: measureQueue,
			after: func(w io.Writer, rows []row) error { return printGoals(w, queueGoals, rows) },
		},
		{
			name: "growth", title: "One run with N trials, which take no time.", columns: growthColumns,
			sizes: []int{1, 3, len(frameBytes)}, measure: measureWrites,
			after: func(w io.Writer, rows []row) error { return printGoals(w, growthGoals, rows) },
		},
		{
			name: "soak", title: fmt.Sprintf("One run with a soak of N hours, %g times as fast.", s.speed), columns: soakColumns,
			sizes: []int{1, 8}, measure: measureSoak,
			after: func(w io.Writer, rows []row) error { return printGoals(w, soakGoals, rows) },
		},
		{
			name: "planning", title: "Executions of suites with N cells together are planned by the manager.", columns: planColumns,
			sizes: s.cells, measure: measurePlanning, after: printCellLimits,
		},
		{
			name: "judging", title: fmt.Sprintf("N points of series with %d runs each are judged by the manager after the last execution.", runsOfSeries),
			columns: judgeColumns, sizes: pointsOf(s.cells), measure: measureJudging,
			after: func(w io.Writer, _ []row) error { return printPointLimits(w) },
		},
		{
			name: "listing", title: "N points are exported as the plugin does, and its file is read and judged.", columns: listColumns,
			sizes: pointsOf(s.cells), measure: measureListing,
		},
	}
}

// namesOfParts returns the names of all parts.
func namesOfParts() (names []string) {
	for _, p := range parts(settings{}) {
		names = append(names, p.name)
	}
	return names
}

// run measures the parts that are asked for. One that fails says NOT MEASURED, and the others follow.
func run(ctx context.Context, s settings) error {
	printing, stop := context.WithCancel(ctx)
	defer stop()
	go s.progress.print(printing, os.Stderr, progressInterval)
	var problems []error
	for _, p := range parts(s) {
		if slices.Contains(s.parts, p.name) && ctx.Err() == nil {
			problems = append(problems, p.run(ctx, s, os.Stdout, os.Stderr))
			continue
		}
		fmt.Printf("\n%s: %s\n", p.name, notMeasured)
	}
	return errors.Join(append(problems, context.Cause(ctx))...)
}

// run measures each size and prints the table. A size that fails has a column without figures.
func (p part) run(ctx context.Context, s settings, out, log io.Writer) error {
	var rows []row
	var problems []error
	for _, n := range p.sizes {
		start := time.Now()
		r, err := p.measure(ctx, s, n)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s with %d: %w", p.name, n, err))
			rows = append(rows, row{n: float64(n)})
			if ctx.Err() != nil {
				break
			}
			continue
		}
		rows = append(rows, r)
		fmt.Fprintf(log, "%s with %d: done in %s\n", p.name, n, time.Since(start).Round(time.Second))
	}
	fmt.Fprintf(out, "\n%s: %s\n\n", p.name, p.title)
	printTable(out, p.columns, rows)
	if p.after != nil {
		fmt.Fprintln(out)
		problems = append(problems, p.after(out, rows))
	}
	return errors.Join(problems...)
}

// parseParts returns the parts that a list names.
func parseParts(list string) ([]string, error) {
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(namesOfParts(), name) {
			return nil, fmt.Errorf("flag -parts has %q, want some of %s, separated by commas", name, strings.Join(namesOfParts(), ", "))
		}
	}
	return names, nil
}
