package regression

import (
	"cmp"
	"math"
	"slices"

	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/statistics"
)

// judging is the state of one judgment.
type judging struct {
	settings         Settings
	acknowledgements []Acknowledgement
	points           []series.Point
	// series has the runs that are not left out, and runs has all of them.
	series series.Series
	runs   []series.Point
	walk   *walk
	// level is the sum of the confirmed changes since the level that was last accepted, best the best one since.
	level, best, minor float64
	// open is the last change that made the level worse, since it was the best one.
	open    *Change
	changes []Change
	// taken has the first run of what each acknowledgement names that is used, by its number.
	taken map[int]int
	// floor is the fall of the last runs below a floor; nil where there is none. floors are the places of all.
	floor  *floorFall
	floors []place
}

// Judge judges one series. A point without a value is no run of it, but the last one decides nothing if it has none. A run that tested an older
// version than a run before it is left out: it says nothing of the newest version.
func Judge(settings Settings, s series.Series, acknowledgements []Acknowledgement) (Judgment, error) {
	if err := settings.Validate(); err != nil {
		return Judgment{}, err
	}
	return settings.judge(s, acknowledgements, chanceLimit{}), nil
}

// judge judges one series with settings that are valid.
func (s Settings) judge(of series.Series, acknowledgements []Acknowledgement, limit chanceLimit) Judgment {
	legs := newRecorded(of)
	j := &judging{settings: s, acknowledgements: acknowledgements, series: of, runs: of.Runs, taken: map[int]int{}}
	j.series.Runs = of.Forward()
	j.points = valuesOf(j.series.Runs)
	runs := make([]Run, len(j.points))
	for i, p := range j.points {
		runs[i] = Run{Value: p.LogValue(), Platform: p.Platform, Calibration: p.LogCalibration(), Deployed: p.Deployed}
	}
	legs.points = j.points
	j.walk = walkThrough(s, runs, legs, limit)
	for _, e := range j.walk.events {
		j.follow(e)
	}
	if j.walk.open != nil && j.isAccepted(j.walk.open.Question) {
		j.walk.giveUp()
		j.follow(*j.lastEvent())
	}
	j.floor = j.belowFloor()
	out := j.judgment()
	if legs.twice != "" {
		out.Message += "; " + legs.twice
	}
	return out
}

// valuesOf returns the runs that have a value.
func valuesOf(runs []series.Point) []series.Point {
	return slices.DeleteFunc(slices.Clone(runs), func(p series.Point) bool { return p.NoValue() != "" })
}

// follow adds a confirmed change to the level.
func (j *judging) follow(e Event) {
	if e.Kind == Closed {
		// No later change is measured against the level before it.
		j.minor = 0
	}
	if e.isUnanswered() && e.Size <= -j.settings.alarmSize() {
		// What is accepted here is no acknowledgement of a later change.
		j.take(j.placeOf(e.Question, e.Size), Accepted)
	}
	if e.Kind != Regression && e.Kind != Improvement && e.Kind != Minor {
		return
	}
	before := j.level
	if e.Cause == Slow {
		// It was measured against the level before the minor changes.
		j.level -= j.minor
		j.minor = 0
	}
	j.level += e.Size
	if e.Kind == Minor {
		j.minor += e.Size
	} else {
		j.minor = 0
	}
	c := j.change(e)
	c.Acknowledged = j.take(c.place, Expected, Accepted)
	isWorse := j.level-j.best <= -j.settings.alarmSize()
	switch {
	case c.Acknowledged != "" && (j.open == nil || !isWorse):
		j.level, j.best, j.open = 0, 0, nil
	case c.Acknowledged != "":
		// A regression before it stays open, and as large as it was.
		j.best += min(j.level-before, 0)
	case isWorse:
		if e.Size < 0 || j.open == nil {
			j.open = &c
		}
	default:
		j.best, j.open = max(j.best, j.level), nil
	}
	j.changes = append(j.changes, c)
}

func (j *judging) change(e Event) Change {
	p, earliest, confirmed := j.points[e.First], j.points[e.Earliest], j.points[e.At]
	c := Change{
		Run: p.Run, Execution: p.Execution, Subject: p.Subject, ConfirmedAt: confirmed.Run, Chance: e.Chance, Pairs: e.Pairs, Cause: e.Cause, Kind: e.Kind,
		ChangePartsPerMillion: j.partsPerMillion(e.Size), LowPartsPerMillion: j.partsPerMillion(e.Low), HighPartsPerMillion: j.partsPerMillion(e.High),
		place: place{first: e.Earliest, last: e.Latest, at: e.At}, from: earliest.Time, until: confirmed.Time,
	}
	if e.Size < 0 {
		c.lossPartsPerMillion = max(c.ChangePartsPerMillion, -c.ChangePartsPerMillion)
	}
	if c.LowPartsPerMillion > c.HighPartsPerMillion {
		c.LowPartsPerMillion, c.HighPartsPerMillion = c.HighPartsPerMillion, c.LowPartsPerMillion
	}
	if e.Earliest > 0 {
		c.Before = j.points[e.Earliest-1].Subject
	}
	for _, other := range j.points[e.Earliest : e.Latest+1] {
		if other.Subject != c.Subject && !slices.Contains(c.Others, other.Subject) {
			c.Others = append(c.Others, other.Subject)
		}
	}
	return c
}

// partsPerMillion returns the change of the figure that a difference of logarithms is.
func (j *judging) partsPerMillion(size float64) int64 {
	if j.lowerIsBetter() {
		size = -size
	}
	return int64(math.Round(1e6 * math.Expm1(size)))
}

func (j *judging) lowerIsBetter() bool { return len(j.points) > 0 && j.points[0].LowerIsBetter }

// placeOf returns where the change of a question without an answer is: at one of its runs.
func (j *judging) placeOf(q Question, size float64) place {
	p := place{first: q.First, last: q.At, at: q.At}
	if size < 0 {
		loss := j.partsPerMillion(size)
		p.lossPartsPerMillion = max(loss, -loss)
	}
	return p
}

// isAccepted reports whether someone accepted what a question without an answer is about. What is expected is asked first.
func (j *judging) isAccepted(q Question) bool {
	size := 0.0
	if i := slices.IndexFunc(j.walk.events, func(e Event) bool { return e.Question == q }); i >= 0 {
		size = j.walk.events[i].Size
	}
	number, _ := acknowledged(j.series.Key, j.placeOf(q, size), j.points, j.acknowledgements, j.taken, Accepted)
	return number >= 0
}

// take returns the kind of the acknowledgement of a change, of one of the kinds, and notes that it is used; empty where there is none.
func (j *judging) take(p place, kinds ...AcknowledgementKind) AcknowledgementKind {
	number, run := acknowledged(j.series.Key, p, j.points, j.acknowledgements, j.taken, kinds...)
	if number < 0 {
		return ""
	}
	j.taken[number] = run
	return j.acknowledgements[number].Kind
}

// unanswered returns the last fall without an answer; nil where there is none.
func (j *judging) unanswered() *Event {
	if falls := j.falls(); len(falls) > 0 {
		return falls[0]
	}
	return nil
}

// falls returns the falls at questions that were given up and at breaks, without an answer, that no one accepted and that nothing undid, the last one
// first.
func (j *judging) falls() (found []*Event) {
	confirmed := 0.0
	for i := len(j.walk.events) - 1; i >= 0; i-- {
		e := &j.walk.events[i]
		switch {
		case e.Kind == Regression || e.Kind == Improvement || e.Kind == Minor:
			confirmed += e.Size
		case e.isUnanswered() && e.Size < 0 && e.Size+confirmed <= -j.settings.alarmSize() && !j.isBack(i) && !j.isAccepted(e.Question):
			found = append(found, e)
		}
	}
	return found
}

// isOpen reports whether there is a question or a fall without an answer that the last run does not end.
func (j *judging) isOpen() bool {
	isOpen := j.walk.open != nil && !j.isUndone(j.walk.open.Question)
	return isOpen || slices.ContainsFunc(j.falls(), func(e *Event) bool { return !j.isUndone(e.Question) })
}

// isUndone reports whether the last run is a floor at the level before a question: then the device is as good as before.
func (j *judging) isUndone(q Question) bool {
	last := j.series.Runs[len(j.series.Runs)-1]
	if !last.IsFloor() || q.Old >= q.First {
		return false
	}
	before := j.walk.values(j.walk.accepted(q.Old, min(q.Old+floorRuns, q.First)-1))
	return last.LogValue()-statistics.Median(before) > -j.settings.alarmSize()
}

// isBack reports whether a later break led back to what was before that of an event: to the same platform and the same level.
func (j *judging) isBack(event int) bool {
	e := j.walk.events[event]
	before, isKnown := j.walk.beforeBreaks[e.Question]
	if !isKnown {
		return false
	}
	return slices.ContainsFunc(j.walk.events[event+1:], func(next Event) bool {
		return next.Kind == Break && j.points[next.First].Platform == j.points[e.First-1].Platform &&
			j.walk.beforeBreaks[next.Question].mean+next.Size-before.mean > -j.settings.alarmSize()
	})
}

// judgment returns the verdict after the last run.
func (j *judging) judgment() Judgment {
	out := Judgment{Key: j.series.Key, Runs: len(j.points), WithoutValue: len(j.series.Runs) - len(j.points), Changes: j.changes}
	out.OlderVersions = len(j.runs) - len(j.series.Runs)
	if len(j.runs) > 0 {
		last := j.runs[len(j.runs)-1]
		out.execution = last.Namespace + "/" + cmp.Or(last.Execution, last.Run)
	}
	if len(j.points) > 0 {
		if base := j.walk.baseline(len(j.points) - 1); base.count > 1 {
			out.VariationPartsPerMillion = int64(math.Round(1e6 * base.deviation))
		}
	}
	out.Verdict, out.Reason = j.verdict()
	switch out.Verdict {
	case VerdictRegression:
		out.Change = j.open
		loss := j.partsPerMillion(j.level - j.best)
		out.LossPartsPerMillion = max(loss, -loss)
	case VerdictImprovement:
		out.Change = j.lastOf(Improvement)
	}
	if e := j.question(); e != nil {
		out.Request = j.request(*e)
	}
	for _, e := range j.walk.events {
		if e.isUnanswered() {
			out.closed = append(out.closed, j.placeOf(e.Question, e.Size))
		}
	}
	out.closed = append(out.closed, j.floors...)
	if j.floor != nil {
		out.BelowFloor = j.floor.floor.Run
	}
	out.Open = j.isOpen()
	out.Message = j.sentence(out)
	if j.floor != nil && out.Reason != ReasonBelowFloor {
		out.Message += "; " + j.belowFloorWords()
	}
	out.Message += j.olderLast()
	return out
}

// question returns the question that interleaved runs can answer: the open one, the break before a level that is not known yet, or one that was given
// up. It is nil where there is none, and where the last run has no value: then nothing says that the question is still there.
func (j *judging) question() *Event {
	if len(j.points) == 0 || j.isLastWithoutValue() {
		return nil
	}
	if j.walk.open != nil {
		return j.lastEvent()
	}
	if e := j.recentBreak(); e != nil && e.Kind == Break && !j.isAccepted(e.Question) {
		return e
	}
	if e := j.unanswered(); e != nil && e.Wanted > 0 {
		return e
	}
	return nil
}

func (j *judging) isLastWithoutValue() bool {
	return len(j.series.Runs) > 0 && j.series.Newest().NoValue() != ""
}

// verdict returns the verdict and its reason. A regression that is open comes before everything else.
func (j *judging) verdict() (Verdict, Reason) {
	last, fall, isBlind := j.lastEvent(), j.unanswered(), j.walk.isBlind()
	switch {
	case j.open != nil && (j.open.Kind == Minor || j.open.Cause == Slow):
		return VerdictRegression, ReasonSlowChange
	case j.open != nil:
		return VerdictRegression, ReasonConfirmed
	case len(j.points) == 0:
		return VerdictNotEnoughData, ReasonFewRuns
	case j.isLastWithoutValue():
		return VerdictInconclusive, ReasonNoValue
	case j.walk.open != nil || fall != nil && fall.Kind == Closed:
		return VerdictInconclusive, ReasonUnconfirmed
	case last != nil && last.Kind == Inconclusive && last.At == len(j.points)-1 && last.GeneratorDiffers:
		return VerdictInconclusive, ReasonGenerator
	case last != nil && last.Kind == Inconclusive && last.At == len(j.points)-1:
		return VerdictInconclusive, ReasonNoise
	case fall != nil:
		return VerdictInconclusive, reasonOf(fall.Cause)
	case j.floor != nil:
		return VerdictInconclusive, ReasonBelowFloor
	case isBlind && len(j.walk.opening) == 0:
		return j.blind()
	case j.level >= j.settings.alarmSize() && j.lastOf(Improvement) != nil:
		return VerdictImprovement, ReasonConfirmed
	case isBlind:
		// Legs opened the level, and are too few to compare with.
		return VerdictNotEnoughData, ReasonFewRuns
	}
	return VerdictPass, ReasonNoChange
}

// blind returns the verdict of a segment that is short. After a break that no one accepted, the device may have become worse at the same run.
func (j *judging) blind() (Verdict, Reason) {
	last := j.recentBreak()
	if last == nil {
		return VerdictNotEnoughData, ReasonFewRuns
	}
	if j.isAccepted(last.Question) {
		return VerdictNotEnoughData, reasonOf(last.Cause)
	}
	return VerdictInconclusive, reasonOf(last.Cause)
}

// reasonOf returns the reason of a break.
func reasonOf(c Cause) Reason {
	if c == GeneratorMoved {
		return ReasonGenerator
	}
	return ReasonPlatform
}

// recentBreak returns the break that began the segment of the last run, while that is too short to be judged; nil where there is none.
func (j *judging) recentBreak() *Event {
	if e := j.lastBreak(); e != nil && e.First == j.walk.start && len(j.walk.opening) == 0 && j.walk.isBlind() {
		return e
	}
	return nil
}

func (j *judging) lastEvent() *Event {
	if n := len(j.walk.events); n > 0 {
		return &j.walk.events[n-1]
	}
	return nil
}

// lastBreak returns the last event where runs stopped comparing; nil where there is none.
func (j *judging) lastBreak() *Event {
	for i := len(j.walk.events) - 1; i >= 0; i-- {
		if e := &j.walk.events[i]; e.Kind == Break || e.Kind == Inconclusive && e.isBreak() {
			return e
		}
	}
	return nil
}

// lastOf returns the last change of a kind; nil where there is none.
func (j *judging) lastOf(kind Kind) *Change {
	for i := len(j.changes) - 1; i >= 0; i-- {
		if j.changes[i].Kind == kind {
			return &j.changes[i]
		}
	}
	return nil
}

func (j *judging) request(e Event) *Request {
	old, at := j.points[e.Old], j.points[e.At]
	loss := j.partsPerMillion(e.Size)
	if !j.lowerIsBetter() {
		loss = -loss
	}
	return &Request{
		Run: at.Run, Cause: e.Cause, OldRun: old.Run, NewRun: at.Run, OldSubject: old.Subject, NewSubject: at.Subject, Pairs: e.Wanted,
		Complete: len(j.walk.legs.Pairs(e.Question, e.Wanted)), LossPartsPerMillion: loss,
	}
}
