// Command regressionbench shows how well package regression judges series, next to other methods, on the same simulated series: nine
// shapes of noise, five deviations between runs, five changes. It prints false alarms, changes that are found within three runs, the delay
// and the interleaved runs that the answers took, also of whole suites, and fails where a target is missed that targets.go does not name as out of reach.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	series := flag.Int("series", 1000, "how many series of each kind the method judges")
	peers := flag.Int("peers", 300, "how many series the other methods judge; 0 leaves them out")
	seed := flag.Uint64("seed", 1, "the seed of all series")
	shape := flag.String("shape", "", "only the shapes of noise whose name begins with this")
	change := flag.Float64("change", 0, "only the fall of so many percent, and no series without a change; 0: everything")
	suites := flag.Int("suites", 20, "how many whole suites of each kind are judged; 0 leaves them out")
	slow := flag.Bool("slow", false, "only the losses in small steps")
	whole := flag.Bool("whole", false, "only whole suites")
	flag.Parse()
	b := bench{out: os.Stdout, progress: os.Stderr, start: time.Now(), series: *series, peers: *peers, suites: *suites, seed: *seed, changes: changes, onlySlow: *slow, onlySuites: *whole}
	if *change != 0 {
		b.changes = []float64{*change / 100}
	}
	for _, s := range shapes {
		if strings.HasPrefix(s, *shape) {
			b.shapes = append(b.shapes, s)
		}
	}
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "regressionbench:", err)
		os.Exit(1)
	}
}

type bench struct {
	// The tables go to out. How far the bench is goes to progress, because times differ from run to run.
	out, progress io.Writer
	start         time.Time
	// rows is how many rows of results are printed.
	rows          int
	series, peers int
	suites        int
	seed          uint64
	shapes        []string
	changes       []float64
	// onlySlow leaves out all but the losses in small steps.
	onlySlow bool
	// onlySuites leaves out all but whole suites.
	onlySuites bool
	missed     int
}

func (b *bench) run() error {
	if b.series < 1 || b.peers < 0 || b.suites < 0 || len(b.shapes) == 0 {
		return fmt.Errorf("give at least one series, and a shape of %s", strings.Join(shapes, ", "))
	}
	fmt.Fprintf(b.out, "seed %d, %d series of each kind, %d for other methods\n", b.seed, b.series, b.peers)
	switch {
	case b.onlySlow:
		b.slowLosses()
		return b.end()
	case b.onlySuites:
		b.wholeSuites()
		return b.end()
	}
	all := len(b.changes) == len(changes)
	if all {
		b.falseAlarms()
	}
	b.found()
	if all {
		b.best()
	}
	if all && slices.Contains(b.shapes, kernel) {
		b.bridges()
	}
	if all && slices.Contains(b.shapes, gaussian) {
		b.slowLosses()
		if b.suites > 0 {
			b.wholeSuites()
		}
	}
	return b.end()
}

// end says how long the bench took, and returns an error where targets are missed.
func (b *bench) end() error {
	fmt.Fprintf(b.progress, "all %d rows in %s\n", b.rows, time.Since(b.start).Round(time.Second))
	if b.missed > 0 {
		return errors.New(fmt.Sprint(b.missed, " targets are missed"))
	}
	return nil
}

// count returns how many series a method judges.
func (b *bench) count(m method) int {
	if m.name == ours {
		return b.series
	}
	return b.peers
}

func (b *bench) falseAlarms() {
	fmt.Fprintf(b.out, "\nfalse alarms in 100 series of %d runs without a change; extra runs in 100 runs\n", quietRuns)
	b.head("", deviations...)
	for _, shape := range b.shapes {
		for _, m := range methods() {
			if b.count(m) == 0 {
				continue
			}
			var cells, legs, verdicts []string
			for _, deviation := range deviations {
				r := cell{shape, deviation, 0, m}.measure(b.count(m), b.seed)
				cells = append(cells, fmt.Sprintf("%.1f", 100*float64(r.alarms)/float64(r.series)))
				legs = append(legs, fmt.Sprintf("%.1f", 100*float64(r.legs)/float64(r.quietRuns)))
				if m.name == ours {
					verdicts = append(verdicts, b.judge(alarmTarget(deviation), shape, deviation, r), b.judge(legTarget(deviation), shape, deviation, r))
				}
			}
			b.row(shape, m.name, cells, verdicts)
			if m.name == ours {
				b.row("", "extra runs", legs, nil)
			}
			b.done()
		}
	}
}

func (b *bench) found() {
	for _, change := range b.changes {
		fmt.Fprintf(b.out, "\na fall of %.0f %%: percent found within %d runs; runs until it is found, where it is\n", 100*change, within)
		b.head("", deviations...)
		for _, shape := range b.shapes {
			for _, m := range methods() {
				if b.count(m) == 0 || m.name != ours && change != 0.02 {
					continue
				}
				var cells, delays, verdicts []string
				for _, deviation := range deviations {
					r := cell{shape, deviation, change, m}.measure(b.count(m), b.seed)
					cells = append(cells, fmt.Sprintf("%.1f", 100*float64(r.inTime)/float64(r.series)))
					delays = append(delays, fmt.Sprintf("%.1f", float64(r.delay)/max(1, float64(r.found))))
					if m.name == ours {
						verdicts = append(verdicts, b.judge(foundTarget(deviation, change), shape, deviation, r))
					}
				}
				b.row(shape, m.name, cells, verdicts)
				if m.name == ours {
					b.row("", "delay", delays, nil)
				}
				b.done()
			}
		}
	}
}

// bridgedChanges are the falls of the code at the run at which the kernel changes.
var bridgedChanges = []float64{0.02, 0}

func (b *bench) bridges() {
	fmt.Fprintln(b.out, "\na kernel that costs 3 % and is recorded: percent of series in which a fall of the code at the same run is confirmed at once, and in which the kernel is taken for one")
	b.head("", deviations...)
	for _, change := range bridgedChanges {
		var cells []string
		for _, deviation := range deviations {
			right, wrong := bridged(deviation, change, b.series, b.seed)
			cells = append(cells, fmt.Sprintf("%.1f", 100*float64(right+wrong)/float64(b.series)))
			if wrong*1000 > 3*b.series {
				b.missed++
			}
		}
		b.row(fmt.Sprintf("code -%.0f %%", 100*change), ours, cells, nil)
		b.done()
	}
}

// losses are slow ones, in as many steps as ramp says.
var losses = []struct {
	change float64
	ramp   int
}{{0.02, 20}, {0.04, 20}, {0.04, 40}}

func (b *bench) slowLosses() {
	fmt.Fprintln(b.out, "\na loss in small steps: percent of series in which it is found by ten runs after the last step")
	b.head("", deviations...)
	for _, l := range losses {
		var cells, verdicts []string
		for _, deviation := range deviations {
			r := result{series: b.series, found: slow(deviation, l.change, l.ramp, b.series, b.seed)}
			cells = append(cells, fmt.Sprintf("%.1f", 100*float64(r.found)/float64(r.series)))
			verdicts = append(verdicts, b.judge(slowTarget(deviation), gaussian, deviation, r))
		}
		b.row(fmt.Sprintf("%.0f %% in %d", 100*l.change, l.ramp), ours, cells, verdicts)
		b.done()
	}
}

// done says how far the bench is.
func (b *bench) done() {
	b.rows++
	fmt.Fprintf(b.progress, "%d of %d rows, %s\n", b.rows, b.total(), time.Since(b.start).Round(time.Second))
}

// total returns the number of rows of results.
func (b *bench) total() int {
	switch {
	case b.onlySlow:
		return len(losses)
	case b.onlySuites:
		return len(scenarios)
	}
	methods := len(methods())
	if b.peers == 0 {
		methods = 1
	}
	all := len(b.changes) == len(changes)
	rows := 0
	for _, change := range b.changes {
		rows++
		if change == 0.02 {
			rows += methods - 1
		}
	}
	if all {
		rows += methods
	}
	rows *= len(b.shapes)
	for _, shape := range bestShapes {
		if all && slices.Contains(b.shapes, shape) {
			rows++
		}
	}
	if all && slices.Contains(b.shapes, kernel) {
		rows += len(bridgedChanges)
	}
	if all && slices.Contains(b.shapes, gaussian) {
		rows += len(losses)
		if b.suites > 0 {
			rows += len(scenarios)
		}
	}
	return rows
}

func (b *bench) head(first string, deviations ...float64) {
	var cells []string
	for _, deviation := range deviations {
		cells = append(cells, fmt.Sprintf("%g %%", 100*deviation))
	}
	b.row(first, "deviation of a run:", cells, nil)
}

func (b *bench) row(shape, name string, cells, verdicts []string) {
	fmt.Fprintf(b.out, "%-15s %-19s", shape, name)
	for _, c := range cells {
		fmt.Fprintf(b.out, " %8s", c)
	}
	verdicts = slices.DeleteFunc(verdicts, func(v string) bool { return v == "" })
	fmt.Fprintf(b.out, "  %s\n", strings.Join(verdicts, "; "))
}
