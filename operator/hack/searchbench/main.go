// Command searchbench compares this project's search with the reference implementation of
// MLRsearch, on the same simulated devices and with the same goals, those of FD.io CSIT. It prints
// the cost and the accuracy of both, and for each class of device a verdict: worse where the bias
// or the standard deviation of a goal, or the time of the search, is larger by more than the 95 % confidence
// interval of the difference. With -strict it fails if a class is worse. The seeds, and so the verdicts, are
// the same in every run.
//
// With -statistics it needs no reference: it makes repeated runs on the devices, and prints how
// often the 95 % interval of the throughput holds the truth, and how often a second run on the
// same device, or on a slower one, fails against the first as its baseline. It fails where a class is
// not between 93 and 97 %, unless expected.go has a reason why it is above.
//
// With -groups it compares groups of runs as "kubectl vnfbench compare" does, and prints how often equal devices are called better or
// worse, and how often slower ones are found. It fails where there are too many false alarms.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"vnfbench.io/operator/internal/search"
	"vnfbench.io/operator/internal/statistics"
)

func main() {
	seeds := flag.Int("seeds", 40, "how many devices of each class are drawn")
	coverage := flag.Bool("statistics", false, "print the coverage of the intervals of repeated runs, without a reference")
	repeats := flag.Int("repeats", usualRepeats, "with -statistics, how many repeats a run has, 2 to 20")
	groups := flag.Bool("groups", false, "print how often comparisons of groups of runs are right, without a reference")
	named := flag.String("class", "", "with -statistics or -groups, only the classes whose name begins with this")
	strict := flag.Bool("strict", false, "fail where a class is worse")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: searchbench [-seeds N] [-strict] REFERENCE [ARGUMENT...]\n       searchbench [-seeds N] [-repeats N] [-class NAME] -statistics\n       searchbench [-seeds N] [-class NAME] -groups")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *coverage && (*repeats < 2 || *repeats > 20 || *seeds < 1):
		err = errors.New("-statistics needs at least one device, and 2 to 20 repeats")
	case *coverage:
		err = printStatistics(ctx, os.Stdout, *named, *repeats, *seeds)
	case *groups && *seeds < 1:
		err = errors.New("-groups needs at least one device")
	case *groups:
		err = printGroups(ctx, os.Stdout, *named, *seeds)
	default:
		err = run(ctx, *seeds, *strict, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "searchbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, seeds int, strict bool, command []string) (err error) {
	if seeds < 1 || len(command) == 0 {
		return errors.New("it needs at least one seed and the reference's command")
	}
	reference, err := StartReference(ctx, command...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reference.Close()) }()

	goals := search.CSIT()
	fmt.Printf("%-24s %-10s %7s %9s %20s %20s %9s\n",
		"device", "search", "trials", "seconds", "NDR bias / stdev, %", "PDR bias / stdev, %", "irregular")
	var all []float64
	var worse []string
	for _, class := range Classes() {
		ours, err := class.Measure(ctx, Ours{}, goals, seeds)
		if err != nil {
			return err
		}
		theirs, err := class.Measure(ctx, reference, goals, seeds)
		if err != nil {
			return err
		}
		row(class.Name, "ours", ours)
		row("", "reference", theirs)
		ratios := Ratios(ours, theirs)
		all = append(all, ratios...)
		fmt.Printf("%-24s time_ratio %.3f\n", "", statistics.Median(ratios))
		if lost := compare(ours, theirs, goals); len(lost) > 0 {
			worse = append(worse, fmt.Sprintf("%q (%s)", class.Name, strings.Join(lost, ", ")))
		}
	}
	fmt.Printf("%-24s time_ratio %.3f\n", "overall", statistics.Median(all))
	if len(worse) == 0 {
		fmt.Printf("%-24s verdict no worse in any class\n", "")
		return nil
	}
	fmt.Printf("%-24s verdict worse in %d classes: %s\n", "", len(worse), strings.Join(worse, "; "))
	if strict {
		return errors.New("a class is worse than the reference's")
	}
	return nil
}

// compare prints the differences of a class and its verdict, and returns the names of those that
// are worse.
func compare(ours, theirs Figures, goals []search.Goal) (worse []string) {
	for _, figure := range []struct {
		name string
		of   func(of, than Figures, goal int) Difference
	}{{"bias_difference", BiasDifference}, {"stdev_difference", DeviationDifference}} {
		fmt.Printf("%-24s %-16s", "", figure.name)
		for i, goal := range goals {
			d := figure.of(ours, theirs, i)
			fmt.Printf("  %s %+.4f ± %.4f", goal.Name, 100*d.Value, 100*d.Interval)
			if d.Worse() {
				worse = append(worse, goal.Name+" "+figure.name)
			}
		}
		fmt.Println()
	}
	longer := TimeDifference(ours, theirs)
	fmt.Printf("%-24s %-16s  %+.4f ± %.4f\n", "", "time_difference", 100*longer.Value, 100*longer.Interval)
	if longer.Worse() {
		worse = append(worse, "time_difference")
	}
	verdict := "no worse"
	switch {
	case len(ours.Runs) < 2:
		verdict = "none: it takes two seeds"
	case len(worse) > 0:
		verdict = "worse: " + strings.Join(worse, ", ")
	}
	fmt.Printf("%-24s verdict %s\n", "", verdict)
	return worse
}

func row(class, name string, f Figures) {
	spread := func(goal int) string {
		return fmt.Sprintf("%+.3f / %.3f", 100*f.Bias[goal], 100*f.Deviation[goal])
	}
	fmt.Printf("%-24s %-10s %7.1f %9.1f %20s %20s %9d\n",
		class, name, f.MeanTrials, f.MeanSeconds, spread(0), spread(1), f.Irregular)
}
