// Command scalebench runs the manager against a real API server and etcd with a growing number of
// queued and finished runs, and prints what the manager needs: memory, processor time, writes, and
// how long the testbed is idle between two runs. A second table shows how the writes of one run
// grow with its trials. Further tables show how an execution of a suite is planned, and how the points of series
// are listed and judged.
//
// The manager is the program that ships. The measurers are the real ones, with the simulated
// generator, in this process; node.go does what a kubelet and the Job controller would. The finished
// runs are copies of one that was measured. It compares the first table with the project's goals, and no test fails with them: times
// depend on the machine, so compare the tables of two managers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"vnfbench.io/operator/api/v1alpha1"
)

// settings are the command line.
type settings struct {
	manager  string
	counts   []int
	measured int
	sizes    int
	trial    time.Duration
	growth   bool
	suites   bool
	logs     bool
	progress *progress
}

func main() {
	s, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctrl.SetLogger(logr.Discard())
	if err == nil {
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scalebench:", err)
		os.Exit(1)
	}
}

func parse(arguments []string) (settings, error) {
	s := settings{progress: &progress{}}
	flags := flag.NewFlagSet("scalebench", flag.ContinueOnError)
	counts := flags.String("runs", "10,100,1000", "how many runs wait, and how many are finished, separated by commas")
	flags.IntVar(&s.measured, "measured", 10, "how many of the runs that wait are measured")
	flags.IntVar(&s.sizes, "sizes", 2, "how many frame sizes a run has that is measured")
	flags.DurationVar(&s.trial, "trial", 500*time.Millisecond, "how long a trial takes")
	flags.BoolVar(&s.growth, "growth", true, "print how the writes of one run grow with its trials")
	flags.BoolVar(&s.suites, "suites", true, "print how suites are planned, and how points of series are listed and judged")
	flags.BoolVar(&s.logs, "logs", false, "show the manager's log")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: scalebench [FLAG...] MANAGER\nKUBEBUILDER_ASSETS is the directory of kube-apiserver and etcd.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	if flags.NArg() != 1 {
		return s, errors.New("it needs the path of the manager's program")
	}
	s.manager = flags.Arg(0)
	for _, text := range strings.Split(*counts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return s, fmt.Errorf("flag -runs has %q, want numbers above 0", text)
		}
		s.counts = append(s.counts, n)
	}
	if s.measured < 2 || s.sizes < 1 || s.sizes > len(frameBytes) {
		return s, fmt.Errorf("flag -measured is at least 2, and -sizes is 1 to %d", len(frameBytes))
	}
	return s, nil
}

func run(ctx context.Context, s settings) error {
	printing, stop := context.WithCancel(ctx)
	defer stop()
	go s.progress.print(printing, os.Stderr, progressInterval)
	var rows []row
	for _, n := range s.counts {
		start := time.Now()
		r, err := measureQueue(ctx, s, n)
		if err != nil {
			return fmt.Errorf("with %d runs: %w", n, err)
		}
		rows = append(rows, r)
		fmt.Fprintf(os.Stderr, "%d runs: done in %s\n", n, time.Since(start).Round(time.Second))
	}
	fmt.Printf("With N queued and N finished runs; a trial takes %s.\n\n", s.trial)
	printTable(os.Stdout, queueColumns, rows)
	fmt.Println()
	printGoals(os.Stdout, rows)
	if s.growth {
		if err := printGrowth(ctx, s); err != nil {
			return err
		}
	}
	if s.suites {
		return printSuites(ctx, s)
	}
	return nil
}

// printGrowth prints how the writes of one run grow with its trials.
func printGrowth(ctx context.Context, s settings) error {
	var rows []row
	for _, sizes := range []int{1, 3, len(frameBytes)} {
		r, err := measureWrites(ctx, s, sizes)
		if err != nil {
			return fmt.Errorf("with %d frame sizes: %w", sizes, err)
		}
		rows = append(rows, r)
	}
	fmt.Printf("\nOne run with N trials, which take no time.\n\n")
	printTable(os.Stdout, growthColumns, rows)
	return nil
}

// printSuites prints how executions are planned, and how points are listed and judged.
func printSuites(ctx context.Context, s settings) error {
	var rows []row
	for _, cells := range []int{50, v1alpha1.MaxSuiteCells} {
		r, err := measureSuite(ctx, s, cells)
		if err != nil {
			return fmt.Errorf("with %d cells: %w", cells, err)
		}
		rows = append(rows, r)
	}
	fmt.Printf("\nAn execution of a suite with N cells is planned.\n\n")
	printTable(os.Stdout, suiteColumns, rows)
	if err := printRefusal(os.Stdout, 2*v1alpha1.MaxSuiteCells); err != nil {
		return err
	}
	rows = nil
	for _, points := range []int{10_000, 100_000} {
		s.progress.is("listing and judging %d points", points)
		r, err := measurePoints(points)
		if err != nil {
			return fmt.Errorf("with %d points: %w", points, err)
		}
		rows = append(rows, r)
	}
	fmt.Printf("\nN points of series with %d runs each are listed and judged, by the plugin's packages.\n\n", runsOfSeries)
	printTable(os.Stdout, pointColumns, rows)
	return nil
}
