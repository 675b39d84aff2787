package regression

import (
	"fmt"
	"math"
	"strings"
	"time"

	"vnfbench.io/operator/internal/excerpt"
)

// percent writes parts per million as percent, with as many decimals as matter.
func percent(partsPerMillion int64) string {
	share := math.Abs(float64(partsPerMillion)) / 1e4
	if share >= 10 {
		return fmt.Sprintf("%.0f %%", share)
	}
	return fmt.Sprintf("%.1f %%", share)
}

// Words says what a change does to the figure: "fell by 5.0 % (4.1 to 5.9 %)".
func (c Change) Words() string {
	verb := "fell"
	low, high := c.HighPartsPerMillion, c.LowPartsPerMillion
	if c.ChangePartsPerMillion > 0 {
		verb = "rose"
		low, high = high, low
	}
	return fmt.Sprintf("%s by %s (%s to %s)", verb, percent(c.ChangePartsPerMillion), strings.TrimSuffix(percent(low), " %"), percent(high))
}

// Place says where a change is: `with r1 3f2a (after 1c09), first in run "night-61"`.
func (c Change) Place() string {
	subject, before := c.Subject.String(), c.Before.String()
	if len(c.Others) > 0 {
		names := make([]string, len(c.Others))
		for i, other := range c.Others {
			names[i] = other.String()
		}
		subject += " or " + excerpt.List(names, ", ") + ", which the runs do not tell apart,"
	}
	switch {
	case subject == "" || subject == before:
		return fmt.Sprintf("first in run %q", c.Run)
	case before == "":
		return fmt.Sprintf("with %s, first in run %q", subject, c.Run)
	}
	return fmt.Sprintf("with %s (after %s), first in run %q", subject, before, c.Run)
}

// sentence says a judgment in words, with the remedy where there is one.
func (j *judging) sentence(out Judgment) string {
	effect := percent(int64(1e6 * j.settings.Effect))
	switch out.Reason {
	case ReasonConfirmed, ReasonSlowChange:
		return j.changed(out)
	case ReasonNoValue:
		last := j.series.Runs[len(j.series.Runs)-1]
		text := fmt.Sprintf("the last run, %q, has no value: %s", last.Run, last.NoValue())
		if out.Open {
			text += "; runs before it differ from earlier ones, and no interleaved runs say why: measure a run with a value, or accept it"
		}
		return text
	case ReasonUnconfirmed:
		return j.unconfirmed()
	case ReasonBelowFloor:
		return j.belowFloorWords()
	case ReasonNoise:
		if e := j.lastEvent(); e.HeldExplains {
			return fmt.Sprintf("%d pairs of interleaved runs differ, and other work had the core that sends for longer on one side, which may explain it: keep that work off the core, or accept the change if the version itself makes it", e.Pairs)
		}
		return fmt.Sprintf("%d pairs of interleaved runs do not show whether there is a change of %s: make the testbed quieter", j.lastEvent().Pairs, effect)
	case ReasonFewRuns:
		return j.few()
	case ReasonPlatform, ReasonGenerator:
		return j.broken(out)
	}
	return fmt.Sprintf("no change of %s was confirmed in %d runs that vary by %s", effect, out.Runs, percent(out.VariationPartsPerMillion))
}

// olderLast says that the last run is left out; "" if it is not.
func (j *judging) olderLast() string {
	last, judged := j.runs[max(0, len(j.runs)-1):], j.series.Runs[max(0, len(j.series.Runs)-1):]
	if len(last) == 0 || last[0].Run == judged[0].Run {
		return ""
	}
	newest := judged[0]
	for _, p := range j.series.Runs {
		if p.SubjectTime.After(newest.SubjectTime) && !p.SubjectTime.After(p.Time) {
			newest = p
		}
	}
	return fmt.Sprintf("; the last run, %q, tested a version of %s and is left out, because run %q tested one of %s", last[0].Run,
		last[0].SubjectTime.UTC().Format(time.RFC3339), newest.Run, newest.SubjectTime.UTC().Format(time.RFC3339))
}

func (j *judging) changed(out Judgment) string {
	text := fmt.Sprintf("it %s %s: %d pairs of interleaved runs confirm it", out.Change.Words(), out.Change.Place(), out.Change.Pairs)
	if out.Reason == ReasonSlowChange {
		text += fmt.Sprintf("; several changes since the best confirmed level make %s in all", percent(j.partsPerMillion(j.level-j.best)))
	}
	if out.Verdict != VerdictRegression {
		return text
	}
	if a := saidFixed(j.series.Key, *out.Change, j.points, j.acknowledgements); a != nil {
		text += "; it is acknowledged as fixed, and the old level is not back"
	}
	return text
}

// unconfirmed says which runs differ, and what answers it.
func (j *judging) unconfirmed() string {
	if x := j.walk.open; x != nil {
		return fmt.Sprintf("the runs since %q differ by %s from those before: %s", j.points[x.First].Run, percent(j.partsPerMillion(x.size)), j.request(*j.lastEvent()).words())
	}
	e := j.unanswered()
	return fmt.Sprintf("the runs from %q to %q differ by %s from those before, and no interleaved runs say why: %s, or accept it",
		j.points[e.First].Run, j.points[e.At].Run, percent(j.partsPerMillion(e.Size)), j.request(*e).words())
}

// few says how many more runs a verdict takes.
func (j *judging) few() string {
	missing := j.walk.missingRuns()
	if j.walk.start > 0 {
		return fmt.Sprintf("the level is new since run %q, and a verdict takes %d more runs", j.points[j.walk.start].Run, missing)
	}
	return fmt.Sprintf("there are %d runs with a value, and a verdict takes %d more", len(j.points), missing)
}

// broken says what the platform or the generator did.
func (j *judging) broken(out Judgment) string {
	if last := j.lastEvent(); last.GeneratorDiffers && last.At == len(j.points)-1 {
		return fmt.Sprintf("the generator's calibration differs between the two sides of %d pairs of interleaved runs, so they say nothing of the device: make them again", last.Pairs)
	}
	what := "the platform changed"
	if out.Reason == ReasonGenerator {
		what = "the generator's calibration moved, which is no change of the device,"
	}
	if e := j.unanswered(); e != nil {
		text := fmt.Sprintf("%s at run %q: the runs since then are worse than those before by %s, and no interleaved runs say whether that is the device: ",
			what, j.points[e.First].Run, percent(j.partsPerMillion(e.Size)))
		if out.Request != nil {
			text += out.Request.words() + ", or "
		}
		return text + "accept it"
	}
	text := what
	if e := j.lastBreak(); e != nil {
		text += fmt.Sprintf(" at run %q", j.points[e.First].Run)
	}
	text += fmt.Sprintf(": runs before and after it do not compare, and a verdict takes %d more runs", j.walk.missingRuns())
	if out.Request != nil {
		text += ", or " + out.Request.words()
	}
	return text
}

// words says what to run.
func (r *Request) words() string {
	before, after := r.OldSubject.String(), r.NewSubject.String()
	if before == "" || before == after {
		before = fmt.Sprintf("what run %q tested", r.OldRun)
	}
	if after == "" || after == r.OldSubject.String() {
		after = fmt.Sprintf("what run %q tested", r.NewRun)
	}
	return fmt.Sprintf("run %s and %s again by turns, %d times each", before, after, r.Pairs)
}
