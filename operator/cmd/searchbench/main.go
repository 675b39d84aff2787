// Command searchbench compares this project's search with the reference
// implementation of MLRsearch, on the same simulated devices and with the same
// goals, those of FD.io CSIT. It prints what both took and how right they were.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"vnfbench.io/operator/internal/search"
	"vnfbench.io/operator/internal/searchbench"
)

func main() {
	seeds := flag.Int("seeds", 40, "how many devices of each class are drawn")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: searchbench [-seeds N] REFERENCE [ARGUMENT...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *seeds, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "searchbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, seeds int, command []string) (err error) {
	if seeds < 1 || len(command) == 0 {
		return errors.New("it needs at least one seed and the reference's command")
	}
	reference, err := searchbench.StartReference(ctx, command...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reference.Close()) }()

	goals := search.CSIT()
	fmt.Printf("%-24s %-10s %7s %9s %20s %20s %9s\n",
		"device", "search", "trials", "seconds", "NDR bias / stdev, %", "PDR bias / stdev, %", "irregular")
	var all []float64
	for _, class := range searchbench.Classes() {
		ours, err := class.Measure(ctx, searchbench.Ours{}, goals, seeds)
		if err != nil {
			return err
		}
		theirs, err := class.Measure(ctx, reference, goals, seeds)
		if err != nil {
			return err
		}
		row(class.Name, "ours", ours)
		row("", "reference", theirs)
		ratios := searchbench.Ratios(ours, theirs)
		all = append(all, ratios...)
		fmt.Printf("%-24s time_ratio %.3f\n", "", searchbench.Median(ratios))
	}
	fmt.Printf("%-24s time_ratio %.3f\n", "overall", searchbench.Median(all))
	return nil
}

func row(class, name string, f searchbench.Figures) {
	spread := func(goal int) string {
		return fmt.Sprintf("%+.3f / %.3f", 100*f.Bias[goal], 100*f.Deviation[goal])
	}
	fmt.Printf("%-24s %-10s %7.1f %9.1f %20s %20s %9d\n",
		class, name, f.MeanTrials, f.MeanSeconds, spread(0), spread(1), f.Irregular)
}
