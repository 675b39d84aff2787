package regression

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/statistics"
)

// Group is figures that moved together: at the same place, in the same direction.
type Group struct {
	Verdict Verdict `json:"verdict"`
	// Figures are the series, the largest change first.
	Figures []Judgment `json:"figures"`
	// Message is one sentence.
	Message string `json:"message"`
}

// Report is what is known of a family of series.
type Report struct {
	Judgments []Judgment `json:"judgments"`
	// Groups are the regressions, and then the improvements.
	Groups []Group `json:"groups,omitempty"`
	// Unused are acknowledgements that match nothing: Accepted without a change, Expected without one although its runs are there, and Fixed
	// without a run.
	Unused []Acknowledgement `json:"unusedAcknowledgements,omitempty"`
}

// JudgeAll judges series. Those whose last runs are parts of one execution of a namespace are one family, in which changes are believed as far
// as the false discovery rate allows.
func JudgeAll(settings Settings, all []series.Series, acknowledgements []Acknowledgement) (Report, error) {
	if err := settings.Validate(); err != nil {
		return Report{}, err
	}
	var out Report
	families := map[string][]*Judgment{}
	out.Judgments = make([]Judgment, len(all))
	numbers := make(map[*Judgment]int, len(all))
	for i, s := range all {
		j := &out.Judgments[i]
		*j = settings.judge(s, acknowledgements, chanceLimit{})
		families[j.execution], numbers[j] = append(families[j.execution], j), i
	}
	for _, family := range families {
		changes, limit := settings.chances(family)
		for _, j := range changes {
			*j = settings.judgeAgain(*j, all[numbers[j]], acknowledgements, limit, len(family))
		}
	}
	out.Groups = groups(out.Judgments)
	out.Unused = unused(out.Judgments, all, acknowledgements)
	return out, nil
}

// chances returns the changes of a family that the procedure of Y. Benjamini and Y. Hochberg (Journal of the Royal Statistical Society B 57, 1995)
// does not believe, and the largest chance with which it would.
func (s Settings) chances(family []*Judgment) (unbelieved []*Judgment, limit float64) {
	chances := make([]float64, len(family))
	for i, j := range family {
		chances[i] = 1
		if j.Change != nil {
			chances[i] = j.Change.Chance
		}
	}
	// A chance that is the limit is believed, however its share is rounded.
	believed, most := 0, s.FalseDiscoveryRate*(1+1e-9)
	for i, chance := range statistics.BenjaminiHochberg(chances) {
		switch {
		case family[i].Change == nil:
		case chance <= most:
			believed++
		default:
			unbelieved = append(unbelieved, family[i])
		}
	}
	return unbelieved, s.FalseDiscoveryRate * float64(believed+1) / float64(len(family))
}

// judgeAgain judges a series whose change its family explains as chance: the change takes more pairs, until its chance is within the limit. While they
// are not there, the verdict is Inconclusive, and asks for them.
func (s Settings) judgeAgain(j Judgment, of series.Series, acknowledgements []Acknowledgement, limit float64, count int) Judgment {
	first, again := j.Change, j
	for again.Change != nil && again.Change.Chance > limit {
		again = s.judge(of, acknowledgements, chanceLimit{from: again.Change.at, chance: limit})
	}
	if again.Reason == ReasonUnconfirmed && again.Request != nil {
		again.Reason = ReasonFamilyChance
		again.Message = fmt.Sprintf("it %s %s, which chance explains after %d pairs among the %d figures of this execution: %s",
			first.Words(), first.Place(), first.Pairs, count, again.Request.words())
	}
	return again
}

// groups puts changes together that are on one testbed, have one direction, and whose places cannot be distinguished: the later one is
// not after the run that confirmed the earlier one.
func groups(all []Judgment) []Group {
	var moved []Judgment
	for _, j := range all {
		if j.Verdict == VerdictRegression || j.Verdict == VerdictImprovement {
			moved = append(moved, j)
		}
	}
	slices.SortStableFunc(moved, func(a, b Judgment) int {
		return cmp.Or(-strings.Compare(string(a.Verdict), string(b.Verdict)), strings.Compare(a.Testbed, b.Testbed), a.Change.from.Compare(b.Change.from))
	})
	var out []Group
	for len(moved) > 0 {
		first, end := moved[0], 1
		for end < len(moved) && moved[end].Verdict == first.Verdict && moved[end].Testbed == first.Testbed && !moved[end].Change.from.After(first.Change.until) {
			end++
		}
		figures := slices.Clone(moved[:end])
		slices.SortStableFunc(figures, func(a, b Judgment) int { return cmp.Compare(absolute(b), absolute(a)) })
		out = append(out, Group{Verdict: first.Verdict, Figures: figures, Message: groupSentence(figures, of(all, first.Testbed))})
		moved = moved[end:]
	}
	return out
}

// of counts the series of a testbed.
func of(all []Judgment, testbed string) (count int) {
	for _, j := range all {
		if j.Testbed == testbed {
			count++
		}
	}
	return count
}

func absolute(j Judgment) int64 {
	return max(j.Change.ChangePartsPerMillion, -j.Change.ChangePartsPerMillion)
}

// groupSentence says what moved together. It names the three largest changes.
func groupSentence(figures []Judgment, total int) string {
	const named = 3
	first := figures[0]
	verb := map[Verdict]string{VerdictRegression: "became worse", VerdictImprovement: "became better"}[first.Verdict]
	var words []string
	for _, j := range figures[:min(named, len(figures))] {
		words = append(words, fmt.Sprintf("%s: %s %s", j.Experiment, j.Figure, j.Change.Words()))
	}
	text := fmt.Sprintf("%d of %d figures of testbed %s %s %s: %s", len(figures), total, first.Testbed, verb, first.Change.Place(), strings.Join(words, "; "))
	if more := len(figures) - named; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// unused returns the acknowledgements that match nothing: of a change that no series has, or of a fix that was never measured.
func unused(judgments []Judgment, all []series.Series, list []Acknowledgement) []Acknowledgement {
	var out []Acknowledgement
	values := make([][]series.Point, len(all))
	valuesAt := func(i int) []series.Point {
		if values[i] == nil {
			values[i] = valuesOf(all[i].Forward())
		}
		return values[i]
	}
	for _, a := range list {
		// What is expected may still come: without a run of it, nothing is known.
		isUsed, isMeasured := false, a.Kind != Expected
		for i := 0; i < len(judgments) && !isUsed; i++ {
			j := &judgments[i]
			if !a.selects(j.Key) {
				continue
			}
			hasRuns := a.Kind != Accepted && slices.ContainsFunc(all[i].Runs, a.names)
			if a.Kind == Fixed {
				isUsed = hasRuns
				continue
			}
			if places := j.places(); len(places) > 0 {
				isUsed = slices.ContainsFunc(places, func(p place) bool { return a.covers(p) && a.beginningAt(p, valuesAt(i), 0) >= 0 })
			}
			if a.Kind == Expected && hasRuns && !isUsed {
				isUsed = j.mayFind(a, valuesAt(i))
				isMeasured = true
			}
		}
		if isMeasured && !isUsed {
			out = append(out, a)
		}
	}
	return out
}

// mayFind reports whether a change that an acknowledgement expects may still be found with the runs of a series: a question is open, or there are too
// few of them.
func (j *Judgment) mayFind(a Acknowledgement, points []series.Point) bool {
	first := slices.IndexFunc(points, a.names)
	isOpen := j.Request != nil || j.Verdict == VerdictInconclusive || j.Verdict == VerdictNotEnoughData
	return isOpen || first < 0 || len(points)-first < window
}

// places returns where an acknowledgement can be.
func (j *Judgment) places() []place {
	out := slices.Clone(j.closed)
	for _, c := range j.Changes {
		out = append(out, c.place)
	}
	return out
}
