package procedure

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

const (
	// maxWarnings is the API's bound.
	maxWarnings = 64
	// maxDetailBytes limits a reason within a sentence that is also limited.
	maxDetailBytes = 300
	// maxStageBytes and maxVersionBytes are the API's bounds of a stage and of a tool's version.
	maxStageBytes   = 200
	maxVersionBytes = 32
	// minTrial is what RFC 2544 section 24 asks of a trial.
	minTrial = time.Minute
)

// warningList collects warnings in order, each once.
type warningList struct {
	list []v1alpha1.Warning
	seen map[string]bool
}

// wholeRun is the size of a warning that is about no single one.
var wholeRun measure.Size

// add appends a warning about a size, or about the whole run.
func (d *warningList) add(code string, size measure.Size, format string, args ...any) {
	message := excerpt.Text(fmt.Sprintf(format, args...), v1alpha1.MaxWarningBytes)
	key := fmt.Sprint(code, size.Name, message)
	if d.seen[key] || len(d.list) >= maxWarnings {
		return
	}
	d.seen[key] = true
	warning := v1alpha1.Warning{Code: code, Message: message}
	if size.Name != "" {
		warning.Size = size.Name
	}
	d.list = append(d.list, warning)
}

func (w *replay) warnings() []v1alpha1.Warning {
	d := &warningList{seen: map[string]bool{}}
	if w.instr.Calibration == nil && len(w.instr.Sizes) > 0 {
		d.add(v1alpha1.WarningNotCalibrated, wholeRun,
			"The testbed's ports are not both bridges, and its calibrationNetworks name no loop, so there is no trial without a device: the generator's own limit and latency are unknown.")
	}
	w.warnShortTrials(d)
	for _, size := range w.instr.Sizes {
		for _, m := range registry {
			if m.place() == perSize || m.place() == atTheEnd {
				m.warn(w, d, size, w.all(m.stage(), size))
			}
		}
		w.warnInvalid(d, size)
		w.warnInterrupted(d, size)
		w.warnDoubts(d, size)
		w.warnLateFrames(d, size)
		w.warnUncounted(d, size)
		w.warnEvidence(d, size)
	}
	for _, m := range registry {
		if m.place() == afterSizes {
			m.warn(w, d, wholeRun, w.all(m.stage(), wholeRun))
		}
	}
	// Trials of TCP and of connections have no size.
	w.warnInvalid(d, wholeRun)
	w.warnDoubts(d, wholeRun)
	w.warnEvidence(d, wholeRun)
	return d.list
}

func (w *replay) warnShortTrials(d *warningList) {
	if w.instr.Throughput == nil {
		return
	}
	var short []string
	for _, g := range w.instr.Throughput.Goals {
		if length := time.Duration(milliseconds(g.TrialMilliseconds)); length < minTrial {
			short = append(short, fmt.Sprintf("%s (%s)", g.Name, length))
		}
	}
	if len(short) > 0 {
		d.add(v1alpha1.WarningShortTrials, wholeRun,
			"Trials of %s are shorter than the 60 s that RFC 2544 section 24 asks for.", words(short))
	}
}

func (w *replay) warnIrregular(d *warningList, p *part) {
	for _, r := range p.results {
		switch r.Irregularity {
		case search.BelowMinimumLoad:
			d.add(v1alpha1.WarningIrregularResult, p.size,
				"Even the minimum load of %d frames/s lost more than %s allows, so its throughput is given as 0.",
				p.config.MinimumFramesPerSecond, r.Goal)
		case search.OutOfTime:
			d.add(v1alpha1.WarningIrregularResult, p.size,
				"The search ended after maximumSearchSeconds (%s) before the bounds of %s were as close as the goal asks.",
				p.config.MaxSearch, r.Goal)
		case search.OutOfTrials:
			d.add(v1alpha1.WarningIrregularResult, p.size,
				"The search ended after %d trials before the bounds of %s were as close as the goal asks.",
				len(p.history), r.Goal)
		case search.LoadResolution:
			d.add(v1alpha1.WarningIrregularResult, p.size,
				"The bounds of %s are adjacent whole frames per second, and still wider apart than the goal asks.", r.Goal)
		}
	}
}

// warnInversion names goals that a load held above one that missed them. The lower of the two
// counts, as RFC 9971 asks.
func warnInversion(d *warningList, p *part) {
	for _, r := range p.results {
		if r.LossInversionFramesPerSecond > 0 {
			d.add(v1alpha1.WarningLossInversion, p.size,
				"%d frames/s missed %s, yet %d frames/s held it; the figure stays below the lower of the two, "+
					"and the device is not steady, or loses less at some higher loads.",
				r.UpperBoundFramesPerSecond, r.Goal, r.LossInversionFramesPerSecond)
		}
	}
}

func warnLoad(d *warningList, p *part) {
	switch {
	case p.skipped && strings.HasSuffix(p.load.Name, v1alpha1.BaselineLoadSuffix):
		d.add(v1alpha1.WarningLoadNotDerived, p.size,
			"Load %s is the baseline's rate, %d frames/s. It is above the throughput of this run, so it was not measured.",
			p.load.Name, ptr.Deref(p.load.FramesPerSecond, 0))
		return
	case p.skipped:
		d.add(v1alpha1.WarningLoadNotDerived, p.size,
			"Load %s is %d %% of the throughput of %s, which was not found, so it was not measured.",
			p.load.Name, ptr.Deref(p.load.Percent, 0), p.load.Goal)
		return
	case !p.over:
		return
	}
	warnUnsent(d, p, "load "+p.load.Name)
}

func (w *replay) warnInvalid(d *warningList, size measure.Size) {
	count, why := 0, ""
	for _, p := range w.parts {
		if p.size.Name != size.Name {
			continue
		}
		for _, r := range p.invalid {
			count, why = count+1, r.why
		}
	}
	if count > 0 {
		d.add(v1alpha1.WarningInvalidTrials, size,
			"Trials that were made again and do not count: %d, the last because %s.", count, why)
	}
}

// warnDoubts names what the generator doubted about trials that do count.
func (w *replay) warnDoubts(d *warningList, size measure.Size) {
	trials := 0
	counts, details := map[string]int{}, map[string]string{}
	for _, p := range w.parts {
		if p.size.Name != size.Name || p.stage() == measure.StageWarmUp {
			continue
		}
		for _, r := range p.counted {
			trials++
			for code, detail := range warningsFor(r) {
				counts[code]++
				details[code] = detail
			}
		}
	}
	for _, code := range []string{
		v1alpha1.WarningGeneratorCeiling, v1alpha1.WarningStretchedTrials, v1alpha1.WarningUnsteadyPacing, v1alpha1.WarningRefragmented,
		v1alpha1.WarningLateFrames, v1alpha1.WarningFramesUnaccounted, v1alpha1.WarningSoftirqStarved,
	} {
		if counts[code] > 0 {
			d.add(code, size, "The generator doubted %d of the %d trials that count, the last because %s.",
				counts[code], trials, excerpt.Text(details[code], maxDetailBytes))
		}
	}
}

// warnLateFrames counts the frames that arrived after their trial had settled.
func (w *replay) warnLateFrames(d *warningList, size measure.Size) {
	frames, trials := uint64(0), 0
	for _, p := range w.parts {
		if p.size.Name != size.Name {
			continue
		}
		for _, r := range p.counted {
			late := uint64(0)
			for _, direction := range r.Outcome.Directions {
				late += direction.LateArrivals
			}
			if late > 0 {
				frames, trials = frames+late, trials+1
			}
		}
	}
	if trials > 0 {
		d.add(v1alpha1.WarningLateFrames, size,
			"%d frames arrived in %d trials that were not theirs: they count as lost in the trial before, and were only late; raise settleMilliseconds.", frames, trials)
	}
}

// warningsFor returns a record's doubts by the code of the warning that they become.
func warningsFor(r measure.Record) map[string]string {
	out := map[string]string{}
	for _, doubt := range r.Outcome.Doubts {
		code := v1alpha1.WarningUnsteadyPacing
		switch doubt.Code {
		case measure.DoubtReceiveDrops, measure.DoubtTransmitUnproven:
			code = v1alpha1.WarningGeneratorCeiling
		case measure.DoubtStarved:
			// Only delays are in doubt where the trial lost nothing.
			if code = v1alpha1.WarningSoftirqStarved; r.Outcome.LossOverTime() > 0 {
				code = v1alpha1.WarningGeneratorCeiling
			}
		case measure.DoubtRefragmented, measure.DoubtFragmentsUnknown:
			code = v1alpha1.WarningRefragmented
		case measure.DoubtUnaccounted:
			code = v1alpha1.WarningFramesUnaccounted
		case measure.DoubtStillArriving:
			code = v1alpha1.WarningLateFrames
		case measure.DoubtStretched:
			code = v1alpha1.WarningStretchedTrials
		}
		if out[code] == "" && !coveredByOtherWarning(r, doubt.Code) {
			out[code] = because(doubt)
		}
	}
	return out
}

// coveredByOtherWarning reports whether a doubt adds nothing: the search and the latency loads
// count frames that were not sent, a generator at its limit is always late and fills queues, and
// drops in a trial without loss were not of the trial's frames. Late frames of a trial without loss matter only where its
// delays are figures.
func coveredByOtherWarning(r measure.Record, code string) bool {
	switch code {
	case measure.DoubtUnsent, measure.DoubtTransmitDrops, measure.DoubtOverflow, measure.DoubtLateArrivals:
		return true
	case measure.DoubtMissedDeadlines, measure.DoubtKernelQueue:
		return (r.Stage == measure.StageThroughput || isCalibratedRate(r.Stage)) && fellShort(r)
	case measure.DoubtStretched:
		return isCalibratedRate(r.Stage) && fellShort(r)
	case measure.DoubtStarved:
		m := measurementOf(r.Stage)
		return r.Outcome.LossOverTime() == 0 && (m == nil || !m.distributions())
	case measure.DoubtFragmentsUnknown:
		return r.Outcome.LossRatio() == 0
	case measure.DoubtReceiveDrops:
		return isExpectedIn(r.Stage, code) || r.Outcome.LossRatio() == 0
	}
	return false
}

// words joins names as a sentence does.
func words(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
