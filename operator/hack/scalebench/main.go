// Command scalebench runs the manager against a real API server and etcd, and prints what grows with the work, in parts:
//
//   - runs: what the manager needs with queued and finished runs: memory, processor time, writes, and how long the testbed is idle
//     between two runs.
//   - growth: how the writes of one run grow with its trials.
//   - soak: what a run of many hours needs, whose trials take a hundredth of their time.
//   - planning: how the manager plans executions of suites.
//   - judging: how the manager reads the points of series and judges them.
//   - listing: how the plugin exports points, and reads and judges their file.
//
// The first three are compared with the project's goals; the program fails if one is missed.
//
// The manager is the program that ships. The measurers are the real ones, with the simulated
// generator, in this process; node.go does what a kubelet and the Job controller would. The finished
// runs are copies of one that was measured. Times depend on the machine, so compare the tables of two managers.
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
)

// settings are the command line.
type settings struct {
	manager  string
	parts    []string
	counts   []int
	cells    []int
	measured int
	sizes    int
	trial    time.Duration
	speed    float64
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
	chosen := flags.String("parts", strings.Join(namesOfParts(), ","), "what is measured, separated by commas")
	cells := flags.String("cells", "10,100,1000", fmt.Sprintf("how many cells suites have together, separated by commas; each has %d points", pointsOfCell))
	counts := flags.String("runs", "10,100,1000", "how many runs wait, and how many are finished, separated by commas")
	flags.IntVar(&s.measured, "measured", 10, "how many of the runs that wait are measured")
	flags.IntVar(&s.sizes, "sizes", 2, "how many frame sizes a run has that is measured")
	flags.DurationVar(&s.trial, "trial", 500*time.Millisecond, "how long a trial takes")
	flags.Float64Var(&s.speed, "speed", 100, "how much faster than time a soak is")
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
	var err error
	if s.parts, err = parseParts(*chosen); err != nil {
		return s, err
	}
	if s.counts, err = numbers("runs", *counts, 1); err != nil {
		return s, err
	}
	if s.cells, err = numbers("cells", *cells, axisValues); err != nil {
		return s, err
	}
	if !(s.speed > 0) {
		return s, errors.New("flag -speed is above 0")
	}
	if s.measured < 2 || s.sizes < 1 || s.sizes > len(frameBytes) {
		return s, fmt.Errorf("flag -measured is at least 2, and -sizes is 1 to %d", len(frameBytes))
	}
	return s, nil
}

// numbers reads a list of positive multiples of a number.
func numbers(name, list string, multiple int) (found []int, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n%multiple != 0 {
			return nil, fmt.Errorf("flag -%s has %q, want multiples of %d above 0", name, text, multiple)
		}
		found = append(found, n)
	}
	return found, nil
}
