package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
)

const (
	// confirmationInfix is between the name of an execution and the number of its confirmation.
	confirmationInfix = "-confirm-"
	// defaultMarginPercent and defaultMaximumExtraRuns are the API's defaults.
	defaultMarginPercent    = 2
	defaultMaximumExtraRuns = 48
	// runsOfPair is how many runs a pair takes: one of each version.
	runsOfPair = 2
	// madeForComplete is how many pairs of a question are made at most for each one that must have a value on both sides.
	madeForComplete = 2
)

// digestOf returns a text that differs where the settings, or what is judged, differ.
func digestOf(spec *v1alpha1.SuiteRegression, execution string, uid types.UID) (string, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encoding spec.regression: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(text, "\x00%s\x00%s", execution, uid))
	return hex.EncodeToString(sum[:8]), nil
}

// judging makes the status of one judgment.
type judging struct {
	spec    *v1alpha1.SuiteRegression
	history *history
	after   *v1alpha1.RegressionStatus
}

// ending says how a confirmation has ended.
type ending struct {
	// problem says why pairs may be missing; "" where it succeeded.
	problem string
	// isDeleted says that it was deleted.
	isDeleted bool
}

// judge judges the series of an execution, and names the next confirmation that they need. before is what the status says, last how the
// confirmation that it names has ended. It is pure.
func judge(spec *v1alpha1.SuiteRegression, h *history, before *v1alpha1.RegressionStatus, last ending) (*v1alpha1.RegressionStatus, error) {
	settings := regression.Default()
	settings.Effect = effectOf(spec)
	found, err := regression.JudgeAll(settings, h.series, acknowledgementsOf(spec))
	if err != nil {
		return nil, err
	}
	j := judging{spec: spec, history: h, after: &v1alpha1.RegressionStatus{Execution: h.execution}}
	j.remember(before, last)
	verdicts := make([]v1alpha1.SeriesVerdict, len(found.Judgments), len(found.Judgments)+len(h.refused))
	for i := range found.Judgments {
		verdicts[i] = j.verdict(&found.Judgments[i], h.series[i])
	}
	j.askAll(found.Judgments, verdicts)
	for i := range found.Judgments {
		j.applyGate(&verdicts[i], &found.Judgments[i], h.series[i])
	}
	for _, s := range h.refused {
		verdicts = append(verdicts, j.refusedVerdict(s))
	}
	j.after.Counts = countVerdicts(verdicts)
	j.after.Message = sentenceOf(h.execution, j.after.Counts, countOlder(h.series), found.Unused, &h.leftOut)
	if h.unread.count > 0 {
		j.after.Problem = excerpt.Line("measurements of the execution cannot be read: "+h.unread.String(), reporting.MaxMessageBytes)
	}
	j.after.GateProblem = gateProblem(spec.Gate, verdicts)
	slices.SortStableFunc(verdicts, func(a, b v1alpha1.SeriesVerdict) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(size(b), size(a))) })
	j.after.Cells = cellVerdicts(verdicts)
	j.after.Verdicts = verdicts[:min(len(verdicts), v1alpha1.MaxSeriesVerdicts)]
	for _, g := range found.Groups[:min(len(found.Groups), v1alpha1.MaxRegressionGroups)] {
		j.after.Groups = append(j.after.Groups, excerpt.Line(string(g.Verdict)+": "+g.Message, reporting.MaxMessageBytes))
	}
	return j.after, nil
}

// Measured is a measurement of a suite with its points.
type Measured struct {
	Measurement *v1alpha1.BenchmarkMeasurement
	Points      []series.Point
}

// Judge judges measurements as the operator does after an execution, and names the next confirmation. before is the status of the last judgment of the
// execution, whose confirmation has succeeded. It is pure.
func Judge(spec *v1alpha1.SuiteRegression, execution string, measured []Measured, before *v1alpha1.RegressionStatus) (*v1alpha1.RegressionStatus, error) {
	h := newHistory(execution)
	for _, m := range measured {
		if err := h.add(m.Measurement, m.Points, nil); err != nil {
			return nil, err
		}
	}
	h.group()
	return judge(spec, h, before, ending{})
}

func acknowledgementsOf(spec *v1alpha1.SuiteRegression) []regression.Acknowledgement {
	out := make([]regression.Acknowledgement, len(spec.Acknowledgements))
	for i, a := range spec.Acknowledgements {
		out[i] = regression.Acknowledgement{
			Kind: regression.AcknowledgementKind(a.Kind), Experiment: a.Experiment, Testbed: a.Testbed, Figure: a.Figure, Revision: a.Revision, Run: a.Run,
			MaximumLossPercent: a.MaximumLossPercent, Note: a.Note,
		}
	}
	return out
}

// remember takes over which questions of the execution were confirmed before, from the status and from the legs that are kept.
func (j *judging) remember(before *v1alpha1.RegressionStatus, last ending) {
	j.after.Confirmations = j.history.confirmations
	if before != nil && before.Execution == j.after.Execution {
		j.after.Questions = slices.Clone(before.Questions)
		j.after.Confirmations = max(j.after.Confirmations, before.Confirmations)
		j.after.ExtraRuns = before.ExtraRuns
		j.conclude(before.Confirmation, last)
	}
	for _, p := range slices.SortedFunc(maps.Keys(j.history.confirmed), func(a, b pairOf) int {
		return cmp.Or(strings.Compare(a.run, b.run), strings.Compare(string(a.cause), string(b.cause)), strings.Compare(a.oldRun, b.oldRun), a.number-b.number)
	}) {
		j.answered(p.question, j.history.pairs[p.question])
	}
	j.after.ExtraRuns = max(j.after.ExtraRuns, runsOfPair*int32(len(j.history.confirmed)))
}

// conclude notes how a confirmation has ended, which is nil for none. One that was not made, and one that spec.regression has asked for no
// longer, count with the legs that are kept of them.
func (j *judging) conclude(asked *v1alpha1.AskedConfirmation, last ending) {
	if asked == nil {
		return
	}
	isAbandoned := last.isDeleted && !ptr.Deref(j.spec.Confirm, true)
	made := asked.FirstPair - 1 + asked.Pairs
	if asked.UID == "" || isAbandoned {
		j.after.ExtraRuns -= runsOfPair * asked.Pairs
		made = asked.FirstPair - 1
		if asked.Problem == "" {
			return
		}
	}
	q := j.answered(question{asked.Run, asked.Cause, asked.OldRun}, made)
	q.Message = cmp.Or(asked.Problem, last.problem)
	q.Closed = asked.Problem != "" || last.isDeleted
}

// indexOf returns the index of a question, or -1.
func (j *judging) indexOf(q question) int {
	return slices.IndexFunc(j.after.Questions, func(known v1alpha1.RegressionQuestion) bool {
		return question{known.Run, known.Cause, known.OldRun} == q
	})
}

// answered notes that a question has at least some pairs, and returns its entry.
func (j *judging) answered(q question, pairs int32) *v1alpha1.RegressionQuestion {
	i := j.indexOf(q)
	if i < 0 {
		j.after.Questions = append(j.after.Questions, v1alpha1.RegressionQuestion{Run: q.run, Cause: q.cause, OldRun: q.oldRun})
		i = len(j.after.Questions) - 1
	}
	known := &j.after.Questions[i]
	known.Pairs = max(known.Pairs, pairs)
	return known
}

// verdict returns the verdict of a series.
func (j *judging) verdict(of *regression.Judgment, s series.Series) v1alpha1.SeriesVerdict {
	v := v1alpha1.SeriesVerdict{
		Experiment: of.Experiment, Cell: j.history.versions[s.Runs[len(s.Runs)-1].Run].cell, Testbed: of.Testbed, Figure: of.Figure,
		Verdict: string(of.Verdict), Reason: string(of.Reason), Message: of.Message,
		Runs: int32(of.Runs), VariationPartsPerMillion: of.VariationPartsPerMillion,
	}
	if c := of.Change; c != nil && (of.Verdict == regression.VerdictRegression || of.Verdict == regression.VerdictImprovement) {
		v.Change = &v1alpha1.SeriesChange{
			Run: c.Run, Revision: c.Subject.Revision, PartsPerMillion: c.ChangePartsPerMillion,
			LowPartsPerMillion: c.LowPartsPerMillion, HighPartsPerMillion: c.HighPartsPerMillion, Pairs: int32(c.Pairs),
		}
		for _, other := range c.Others[:min(len(c.Others), v1alpha1.MaxOtherRevisions)] {
			if other.Revision != "" && other.Revision != c.Subject.Revision {
				v.Change.OtherRevisions = append(v.Change.OtherRevisions, other.Revision)
			}
		}
	}
	return v
}

// refusedVerdict returns the verdict of a series whose points do not make one.
func (j *judging) refusedVerdict(s series.Refused) v1alpha1.SeriesVerdict {
	v := v1alpha1.SeriesVerdict{
		Experiment: s.Experiment, Cell: j.history.versions[s.Runs[len(s.Runs)-1].Run].cell, Testbed: s.Testbed, Figure: s.Figure,
		Verdict: string(regression.VerdictInconclusive), Reason: v1alpha1.ReasonNotJudged, Message: excerpt.Line(s.Err.Error(), v1alpha1.MaxVerdictMessageBytes),
	}
	v.Gated = isSelected(j.spec.Gate, v)
	return v
}

// askAll asks for the confirmations of the series: first of those that the gate selects, then of the largest suspected loss. A question that
// cannot be confirmed is Inconclusive, and the reason says why. A series whose last run has no value asks nothing.
func (j *judging) askAll(judgments []regression.Judgment, verdicts []v1alpha1.SeriesVerdict) {
	if !ptr.Deref(j.spec.Confirm, true) {
		return
	}
	var order []int
	for i := range judgments {
		if judgments[i].Request != nil && j.history.series[i].Newest().NoValue() == "" {
			order = append(order, i)
		}
	}
	place := func(i int) int {
		if isSelected(j.spec.Gate, verdicts[i]) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(place(a)-place(b), cmp.Compare(judgments[b].Request.LossPartsPerMillion, judgments[a].Request.LossPartsPerMillion))
	})
	for _, i := range order {
		v := &verdicts[i]
		if reason, message := j.ask(judgments[i].Request); reason != "" && v.Verdict == string(regression.VerdictInconclusive) {
			v.Reason, v.Message = string(reason), message+"; "+v.Message
		}
	}
	if asked := j.after.Confirmation; asked != nil {
		j.after.ExtraRuns += runsOfPair * asked.Pairs
	}
}

// isOlder reports whether the last run of a series is left out, because it tested an older version than a run before it.
func isOlder(s series.Series) bool { return s.LastForward() < len(s.Runs)-1 }

// countOlder counts the series whose last run is left out.
func countOlder(all []series.Series) (count int) {
	for _, s := range all {
		if isOlder(s) {
			count++
		}
	}
	return count
}

// applyGate notes whether a series fails the suite: the gate selects it, and it has a regression of the least loss, or it is not known whether it
// became worse, as where no run of the execution is judged.
func (j *judging) applyGate(v *v1alpha1.SeriesVerdict, of *regression.Judgment, s series.Series) {
	last, isLeftOut := s.Newest(), isOlder(s)
	isOpen := of.Verdict == regression.VerdictInconclusive && of.Reason != regression.ReasonNoValue || of.Verdict == regression.VerdictRegression && (of.Request != nil || of.BelowFloor != "")
	if noValue := last.NoValue(); noValue != "" && of.Runs > 0 && (of.Open || of.BelowFloor != "" || !j.isAsGood(last, s)) {
		isOpen = true
	}
	switch {
	case of.Verdict == regression.VerdictRegression && slices.ContainsFunc(j.spec.Gate, func(g v1alpha1.RegressionGate) bool {
		return selects(g, *v) && of.LossPartsPerMillion >= int64(g.LeastLossPercent)*10_000
	}):
		v.Gated = true
	case isLeftOut && isSelected(j.spec.Gate, *v):
		v.Gated, v.Reason = true, v1alpha1.ReasonNotConfirmed
		v.Message = "no run of this execution is judged: " + v.Message + "; measure a newer version, or correct spec.template.subject.time"
		if of.Verdict != regression.VerdictRegression {
			v.Verdict, v.Change = string(regression.VerdictInconclusive), nil
		}
	case isOpen && isSelected(j.spec.Gate, *v):
		if v.Gated = true; of.Verdict == regression.VerdictRegression {
			v.Reason = v1alpha1.ReasonNotConfirmed
			v.Message = "the gate lets this loss pass, and it is not known whether there is a larger one: " + v.Message
		}
	}
	v.Message = excerpt.Line(v.Message, v1alpha1.MaxVerdictMessageBytes)
}

// levelRuns is how many runs say what the level is that a bound is compared with.
const levelRuns = 8

// isAsGood reports whether a run that is only a bound shows that the device is not worse: its value is at least the level before it, and the true
// one may only be better.
func (j *judging) isAsGood(last series.Point, s series.Series) bool {
	if !last.IsFloor() {
		return false
	}
	var level []float64
	for _, p := range slices.Backward(s.Forward()) {
		if p.NoValue() == "" && len(level) < levelRuns {
			level = append(level, p.LogValue())
		}
	}
	slices.Sort(level)
	return len(level) > 0 && last.LogValue() >= level[len(level)/2]-effectOf(j.spec)/2
}

// effectOf returns the change that matters, as a share.
func effectOf(spec *v1alpha1.SuiteRegression) float64 {
	return float64(cmp.Or(spec.MarginPercent, defaultMarginPercent)) / 100
}

// selects reports whether an entry of a gate is about a series. A goal is never the first word after the metric: that is the size.
func selects(g v1alpha1.RegressionGate, v v1alpha1.SeriesVerdict) bool {
	words := strings.Fields(v.Figure)
	return len(words) > 0 && words[0] == string(g.Metric) && (g.Goal == "" || slices.Contains(words[min(2, len(words)):], g.Goal)) &&
		(len(g.Cells) == 0 || slices.Contains(g.Cells, v.Cell))
}

func isSelected(gate []v1alpha1.RegressionGate, v v1alpha1.SeriesVerdict) bool {
	return slices.ContainsFunc(gate, func(g v1alpha1.RegressionGate) bool { return selects(g, v) })
}

// gateProblem names the entries of a gate, and their cells, that select no series; "" where each selects one.
func gateProblem(gate []v1alpha1.RegressionGate, verdicts []v1alpha1.SeriesVerdict) string {
	var found []string
	for i, g := range gate {
		what := fmt.Sprintf("spec.regression.gate[%d]", i)
		selected := map[string]bool{}
		for _, v := range verdicts {
			if selects(g, v) {
				selected[v.Cell] = true
			}
		}
		switch missing := slices.DeleteFunc(slices.Clone(g.Cells), func(cell string) bool { return selected[cell] }); {
		case len(selected) == 0:
			found = append(found, what+" selects no series")
		case len(missing) > 0:
			found = append(found, fmt.Sprintf("%s selects no series of the cells %s", what, excerpt.List(missing, ", ")))
		}
	}
	if len(found) == 0 {
		return ""
	}
	var figures []string
	for _, v := range verdicts {
		figures = append(figures, v.Figure)
	}
	slices.Sort(figures)
	return excerpt.Line(fmt.Sprintf("%s: correct metric, goal and cells; the execution has the figures %s", excerpt.List(found, "; "), excerpt.List(slices.Compact(figures), ", ")), reporting.MaxMessageBytes)
}

// ask makes a request the next confirmation if there is none yet. It returns why the request cannot be confirmed.
func (j *judging) ask(r *regression.Request) (regression.Reason, string) {
	q := question{r.Run, v1alpha1.RegressionCause(r.Cause), r.OldRun}
	known := v1alpha1.RegressionQuestion{}
	i := j.indexOf(q)
	if i >= 0 {
		known = j.after.Questions[i]
	}
	made, pairs := max(known.Pairs, j.history.pairs[q]), int32(r.Pairs-r.Complete)
	limit := cmp.Or(j.spec.MaximumExtraRuns, defaultMaximumExtraRuns)
	switch {
	case known.Closed:
		return regression.ReasonConfirmationFailed, fmt.Sprintf("%d of %d pairs are complete, and this execution asks for no more: %s", r.Complete, r.Pairs, known.Message)
	case made+pairs > madeForComplete*int32(r.Pairs):
		why := cmp.Or(known.Message, "a leg has no value")
		return regression.ReasonConfirmationFailed, fmt.Sprintf("of the %d pairs that were made, %d are complete, and it takes %d: %s", made, r.Complete, r.Pairs, why)
	case j.history.whyNotDeployed(r) != "":
		return regression.ReasonNotDeployable, "the old version cannot be deployed again: " + j.history.whyNotDeployed(r)
	case j.history.isDeleted:
		return regression.ReasonConfirmationFailed, "the execution was deleted, so it asks for no pairs: the next one does"
	case j.after.ExtraRuns+runsOfPair*pairs > limit, i < 0 && len(j.after.Questions) >= v1alpha1.MaxRegressionQuestions:
		const format = "spec.regression.maximumExtraRuns, %d, leaves no room for %d more pairs after the %d runs so far: raise it, or make the testbed quieter"
		return regression.ReasonConfirmationLimit, fmt.Sprintf(format, limit, pairs, j.after.ExtraRuns)
	}
	if j.after.Confirmation == nil {
		j.after.Confirmations++
		j.after.Confirmation = &v1alpha1.AskedConfirmation{
			Name: confirmationName(j.after),
			Run:  r.Run, Cause: q.cause, OldRun: r.OldRun, FirstPair: made + 1, Pairs: pairs,
		}
	}
	return "", ""
}

// confirmationName returns the name of the latest confirmation of an execution.
func confirmationName(of *v1alpha1.RegressionStatus) string {
	return fmt.Sprint(of.Execution, confirmationInfix, of.Confirmations)
}

func countVerdicts(verdicts []v1alpha1.SeriesVerdict) (c v1alpha1.VerdictCounts) {
	for _, v := range verdicts {
		switch regression.Verdict(v.Verdict) {
		case regression.VerdictPass:
			c.Pass++
		case regression.VerdictRegression:
			c.Regression++
		case regression.VerdictImprovement:
			c.Improvement++
		case regression.VerdictInconclusive:
			c.Inconclusive++
		case regression.VerdictNotEnoughData:
			c.NotEnoughData++
		}
	}
	return c
}

// cellVerdicts returns the worst verdict of each cell, in the order of the cells' names. An execution has no more cells than the status takes.
func cellVerdicts(verdicts []v1alpha1.SeriesVerdict) []v1alpha1.CellVerdict {
	worst := map[string]v1alpha1.CellVerdict{}
	for _, v := range verdicts {
		of, known := worst[v.Cell]
		if !known || badness(v.Verdict) > badness(of.Verdict) {
			of.Name, of.Verdict = v.Cell, v.Verdict
		}
		of.Gated = of.Gated || v.Gated
		worst[v.Cell] = of
	}
	out := slices.SortedFunc(maps.Values(worst), func(a, b v1alpha1.CellVerdict) int { return strings.Compare(a.Name, b.Name) })
	return out[:min(len(out), v1alpha1.MaxSuiteCells+1)]
}

// badness orders verdicts: the worst one has the highest number.
func badness(verdict string) int {
	return slices.Index([]string{
		string(regression.VerdictPass), string(regression.VerdictImprovement), string(regression.VerdictNotEnoughData),
		string(regression.VerdictInconclusive), string(regression.VerdictRegression),
	}, verdict)
}

// sentenceOf sums up the verdicts, counts the series whose last run is of an older version, and names acknowledgements that match no change, as a
// revision may be misspelled, and measurements that are left out. The counts come first, because a message has little room for texts.
func sentenceOf(execution string, c v1alpha1.VerdictCounts, older int, unused []regression.Acknowledgement, leftOut *problems) string {
	total := c.Pass + c.Regression + c.Improvement + c.Inconclusive + c.NotEnoughData
	text := fmt.Sprintf("of %d series of execution %s, %d became worse, %d became better, %d have no change, %d are inconclusive, %d have too few runs",
		total, execution, c.Regression, c.Improvement, c.Pass, c.Inconclusive, c.NotEnoughData)
	if older > 0 {
		text += fmt.Sprintf("; the last run of %d series is left out, because it tested an older version than a run before it", older)
	}
	if len(unused) > 0 {
		names := make([]string, len(unused))
		for i, a := range unused {
			names[i] = a.Revision + a.Run
		}
		text += "; acknowledgements that match no change: " + excerpt.List(names, ", ")
	}
	if leftOut.count > 0 {
		text += "; left out: " + leftOut.String()
	}
	return excerpt.Line(text, reporting.MaxMessageBytes)
}

// rank orders verdicts for the table.
func rank(v v1alpha1.SeriesVerdict) int {
	switch {
	case v.Gated && v.Verdict == string(regression.VerdictRegression):
		return -2
	case v.Gated:
		return -1
	}
	return slices.Index([]string{
		string(regression.VerdictRegression), string(regression.VerdictImprovement), string(regression.VerdictInconclusive),
		string(regression.VerdictNotEnoughData), string(regression.VerdictPass),
	}, v.Verdict)
}

// size returns how large the change of a verdict is.
func size(v v1alpha1.SeriesVerdict) int64 {
	if v.Change == nil {
		return 0
	}
	return max(v.Change.PartsPerMillion, -v.Change.PartsPerMillion)
}
