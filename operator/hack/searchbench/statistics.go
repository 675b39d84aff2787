package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

const (
	// minCoverage and maxCoverage are what a 95 % interval may cover.
	minCoverage, maxCoverage = 0.93, 0.97
	// maxWithheld is the share of intervals that may be withheld from a device of one limit.
	maxWithheld = 0.05
	// minIntervals is the share of intervals that the coverage of a device without one limit is
	// judged by.
	minIntervals = 0.05
	// maxWrong is the share of the runs that may have an interval that misses the truth, where almost all are withheld.
	maxWrong = 0.02
	// maxAlarms is the share of the runs on an unchanged device that may fail against the first.
	maxAlarms = 0.05
)

// printStatistics prints the coverage of each class whose name begins with a text, and returns an error where
// it is not that of a 95 % interval.
func printStatistics(ctx context.Context, out io.Writer, named string, repeats, seeds int) error {
	classes, err := classesNamed(named)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d devices of each class, %d repeats each, default goals\n", seeds, repeats)
	fmt.Fprintf(out, "%-24s %-10s %-5s %9s %9s %9s %9s %9s %10s %9s %9s %9s %9s %9s %9s  %s\n",
		"device", "method", "goal", "censored", "drifting", "inverted", "coverage", "width", "resolution", "scatter", "limited", "alarms", "unsure", "found", "missed", "verdict")
	missed := 0
	for _, class := range classes {
		for _, method := range []v1alpha1.SearchMethod{v1alpha1.MethodMLRsearch, v1alpha1.MethodRFC2544} {
			goals, err := class.Cover(ctx, method, repeats, seeds)
			if err != nil {
				return err
			}
			for _, c := range goals {
				verdict, reached := class.judge(method, repeats, c)
				if !reached {
					missed++
				}
				fmt.Fprintf(out, "%-24s %-10s %-5s %s  %s\n", class.Name, method, c.Goal, c.row(), verdict)
			}
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d coverages, shares without an interval or false alarms are not what they have to be", missed)
	}
	return nil
}

// classesNamed returns those whose name begins with a text, and an error where there is none.
func classesNamed(text string) (found []Class, err error) {
	var names []string
	for _, class := range Classes() {
		names = append(names, fmt.Sprintf("%q", class.Name))
		if strings.HasPrefix(class.Name, text) {
			found = append(found, class)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("-class: no name begins with %q; the classes are %s", text, strings.Join(names, ", "))
	}
	return found, nil
}

// judge says whether a 95 % interval is what it is called: it holds the truth in 93 to 97 % of the
// runs, or in more where a reason is known, or where there are fewer repeats than the reasons were found with; it is
// withheld from few devices of one limit; and few runs on an unchanged device fail against the first. Without an
// interval nothing is claimed. Where almost all are withheld, as they must be from a device without one limit, the others are
// too few for a share: they have to be right, or the class is an exception with a name, and few runs have a wrong one.
func (c Class) judge(method v1alpha1.SearchMethod, repeats int, got Coverage) (verdict string, reached bool) {
	why, above := c.above(method)
	switch {
	case float64(got.Alarms) > maxAlarms*float64(got.Compared):
		return "too many false alarms", false
	case !c.severalLimits() && float64(got.Withheld()) > maxWithheld*float64(got.Runs):
		return "withheld too often", false
	case got.Intervals() == 0:
		return "no interval is given", true
	case c.severalLimits() && float64(got.Intervals()) < minIntervals*float64(got.Runs):
		return c.judgeFew(method, got)
	case got.Share() < minCoverage:
		return "too low", false
	case got.Share() > maxCoverage && repeats < usualRepeats:
		return "above: few repeats", true
	case got.Share() > maxCoverage && !above:
		return "too high", false
	case got.Share() > maxCoverage:
		return "above: " + why, true
	}
	return "reached", true
}

// judgeFew judges the few intervals of a class that withholds almost all.
func (c Class) judgeFew(method v1alpha1.SearchMethod, got Coverage) (verdict string, reached bool) {
	withheld := fmt.Sprintf("%s of the runs are withheld, and %d of the other %d intervals miss the truth",
		share(float64(got.Withheld()), float64(got.Runs)), got.Wrong(), got.Intervals())
	why, named := reasonsFew[c.Name][method]
	switch {
	case got.Share() >= minCoverage:
		return withheld, true
	case !named:
		return "too low: " + withheld, false
	case float64(got.Wrong()) > maxWrong*float64(got.Runs):
		return "too many wrong intervals: " + withheld, false
	}
	return "exception: " + withheld + ": " + why, true
}

func (c Coverage) row() string {
	intervals, runs := float64(c.Intervals()), float64(c.Runs)
	return fmt.Sprintf("%9s %9s %9s %9s %9s %10s %9s %9s %9s %9s %9s %9s",
		share(float64(c.Censored), runs), share(float64(c.Drifting), runs), share(float64(c.Inverted), runs),
		share(float64(c.Held), intervals), share(c.Width, intervals), share(c.Resolution, intervals), share(c.Scatter, intervals), share(float64(c.Limited), intervals),
		share(float64(c.Alarms), float64(c.Compared)), share(float64(c.Unsure), float64(c.Compared)),
		share(float64(c.Found), float64(c.Slower)), share(float64(c.Missed), float64(c.Slower)))
}

func share(part, whole float64) string {
	if whole == 0 || math.IsNaN(part) {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*part/whole)
}
