package suite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/suite"
)

// history is what is kept of a suite's measurements, in the form that judging takes.
type history struct {
	// execution is the one that is judged, points are those of all executions. room is how many there may be.
	execution   string
	points      series.Grouper
	count, room int
	// isDeleted says that the execution does not exist any more, so that nothing can be confirmed for it.
	isDeleted bool
	// series are those of which the execution has a run. refused are the same where their points do not make a series.
	series  []series.Series
	refused []series.Refused
	// leftOut says which measurements are left out of the series, and why; unread has those of the execution.
	leftOut, unread problems
	// versions are what the scheduled runs measured, by their names.
	versions map[string]version
	// pairs has the highest number of a pair of each question, whichever execution asked for it.
	pairs map[question]int32
	// confirmations is the highest number of a confirmation of the execution, confirmed has the pairs that they have legs of.
	confirmations int32
	confirmed     map[pairOf]bool
	// texts has each text of the points once.
	texts map[string]string
}

// problems are the first ones that a message has, and how many there are.
type problems struct {
	first []string
	count int
}

// add counts a problem, and keeps its text where a message has room for it: objects without end take no memory.
func (p *problems) add(text string) {
	if p.count++; len(p.first) < excerpt.MaxListed {
		p.first = append(p.first, excerpt.Line(text, reporting.MaxMessageBytes))
	}
}

func (p *problems) String() string {
	text := strings.Join(p.first, "; ")
	if more := p.count - len(p.first); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// version is what a run measured.
type version struct {
	cell string
	// experiment is the digest of it.
	experiment [sha256.Size]byte
	// namesItsDisk says that the experiment has a function whose disk it names.
	namesItsDisk bool
}

// question is what a confirmation answers.
type question struct {
	run    string
	cause  v1alpha1.RegressionCause
	oldRun string
}

// pairOf is a pair of a question.
type pairOf struct {
	question
	number int
}

// bytesOfPoint is how much memory judging takes for each point, which TestMemoryOfJudging measures. All points together take at most one part in
// shareOfMemory of what the process may use: one suite is judged at a time.
const bytesOfPoint, shareOfMemory = 736, 2

// RoomIn returns how many points of a suite a process judges that may use some bytes of memory, which is math.MaxInt64 without a limit.
func RoomIn(bytes int64) int {
	return int(min(series.MaxPoints, bytes/shareOfMemory/bytesOfPoint))
}

func newHistory(execution string) *history {
	return &history{execution: execution, room: RoomIn(debug.SetMemoryLimit(-1)), versions: map[string]version{}, pairs: map[question]int32{}, confirmed: map[pairOf]bool{}, texts: map[string]string{}}
}

// readHistory reads the measurements of a suite in pages. Its error is a *measure.Failure where they cannot be judged.
func (r *Reconciler) readHistory(ctx context.Context, s *scope, execution string) (*history, error) {
	h := newHistory(execution)
	err := series.EachMeasurement(ctx, r.Reader, s.suite.Namespace, s.suite.Name, h.add)
	switch {
	case errors.Is(err, series.ErrTooManyKept):
		return nil, measure.Failf(v1alpha1.ReasonNotJudged, "", "%w", err)
	case err != nil:
		return nil, err
	}
	h.group()
	return h, nil
}

// add takes what judging needs of a measurement. One that cannot be read is left out. Its error is a *measure.Failure for more points than there is
// room for.
func (h *history) add(m *v1alpha1.BenchmarkMeasurement, points []series.Point, err error) error {
	if err == nil && len(points) > 0 {
		if leg := points[0].Leg; leg != nil {
			err = h.addLeg(m, leg)
		} else {
			err = h.addVersion(m)
		}
	}
	if err != nil {
		h.leftOut.add(err.Error())
		if m.Spec.Execution == h.execution {
			h.unread.add(err.Error())
		}
		return nil
	}
	if h.count += len(points); h.count > h.room {
		return measure.Failf(v1alpha1.ReasonNotJudged, "give it more by resources.limits.memory of the chart, or export and delete the oldest",
			"the measurements of the suite have more than the %d points that the operator has memory for", h.room)
	}
	for _, p := range points {
		if p.Leg == nil {
			p.Deployed = h.deployed(&p)
		}
		h.points.Add(h.small(p))
	}
	return nil
}

func (h *history) addLeg(m *v1alpha1.BenchmarkMeasurement, leg *series.Leg) error {
	q := question{leg.Run, v1alpha1.RegressionCause(leg.Cause), leg.OldRun}
	if text, of := strings.CutPrefix(m.Spec.Execution, h.execution+confirmationInfix); of {
		number, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("BenchmarkMeasurement %q: it has the execution %q: %w", m.Name, m.Spec.Execution, err)
		}
		h.confirmations = max(h.confirmations, int32(number))
		h.confirmed[pairOf{q, leg.Pair}] = true
	}
	h.pairs[q] = max(h.pairs[q], int32(leg.Pair))
	return nil
}

func (h *history) addVersion(m *v1alpha1.BenchmarkMeasurement) error {
	experiment, err := suite.Comparable(m.Spec.Experiment)
	if err != nil {
		return fmt.Errorf("BenchmarkMeasurement %q: %w", m.Name, err)
	}
	namesItsDisk, err := suite.NamesItsDisk(experiment)
	if err != nil {
		return fmt.Errorf("BenchmarkMeasurement %q: %w", m.Name, err)
	}
	h.versions[h.once(m.Spec.Run)] = version{h.once(m.Spec.Cell), sha256.Sum256(experiment), namesItsDisk}
	return nil
}

// deployed identifies what the run of a point deployed: its experiment, with the image of the functions whose disk it does not name.
func (h *history) deployed(p *series.Point) string {
	known, found := h.versions[p.Run]
	if !found {
		return ""
	}
	return h.once(string(known.experiment[:]) + p.Subject.Image)
}

// small returns a point without what no judgment reads.
func (h *history) small(p series.Point) series.Point {
	p.Repeats, p.Warnings, p.PlatformParts, p.Document = nil, nil, nil, ""
	// All are of one namespace, where no two runs have one name.
	p.Namespace, p.RunUID = "", ""
	for _, text := range []*string{
		&p.Experiment, &p.Testbed, &p.Figure, &p.Run, &p.Execution, &p.Unit, &p.Cause, &p.Platform,
		&p.Subject.Name, &p.Subject.Version, &p.Subject.Revision, &p.Subject.Image,
	} {
		*text = h.once(*text)
	}
	return p
}

// once returns the first text that is equal.
func (h *history) once(text string) string {
	if known, has := h.texts[text]; has {
		return known
	}
	text = strings.Clone(text)
	h.texts[text] = text
	return text
}

// group makes series of the points, and drops those of which the execution has no run: a cell that the suite no longer has is not judged.
func (h *history) group() {
	all, refused := h.points.Split()
	isOf := func(s series.Series) bool { return len(s.Runs) > 0 && s.Runs[len(s.Runs)-1].Execution == h.execution }
	for _, s := range all {
		if isOf(s) {
			h.dropSecondLegs(&s)
			h.series = append(h.series, s)
		}
	}
	for _, s := range refused {
		if isOf(s.Series) {
			h.refused = append(h.refused, s)
		}
	}
}

// dropSecondLegs keeps the first one of the legs that are the same side of the same pair. No one can change or correct a measurement.
func (h *history) dropSecondLegs(s *series.Series) {
	first := map[series.Leg]string{}
	s.Legs = slices.DeleteFunc(s.Legs, func(p series.Point) bool {
		run, known := first[*p.Leg]
		if !known {
			first[*p.Leg] = p.Run
			return false
		}
		h.leftOut.add(fmt.Sprintf("%s in series %s: it is the leg %s of pair %d for run %s, as %s is", p.Run, s.Key, p.Leg.Side, p.Leg.Pair, p.Leg.Run, run))
		return true
	})
}

// whyNotDeployed says why the old version of a request cannot be deployed again; "" if it can. An experiment says how the functions are
// set up. The image of the project's own functions is that of the installation, and no experiment names it.
func (h *history) whyNotDeployed(r *regression.Request) string {
	older, newer := h.versions[r.OldRun], h.versions[r.NewRun]
	before, after := r.OldSubject, r.NewSubject
	switch {
	case older.cell == "" || newer.cell == "":
		return "the measurement of one of the two versions is not kept"
	case !older.namesItsDisk && before.Image != "" && after.Image != "" && before.Image != after.Image:
		return fmt.Sprintf("the installation's image of the function has changed from %s to %s, and no experiment names it", before.Image, after.Image)
	case older.experiment != newer.experiment:
		return ""
	case before != after:
		return fmt.Sprintf("run %q (%s) and run %q (%s) have the same experiment, so what differs is not in it", r.OldRun, before, r.NewRun, after)
	}
	return ""
}
