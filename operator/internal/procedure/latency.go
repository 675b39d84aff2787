package procedure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// latencyOf measures delays at given loads, or at shares of a throughput.
type latencyOf struct{ timed }

var latencyMeasurement = latencyOf{timed{base{name: measure.StageLatency, noun: "latency at load"}}}

func (latencyOf) distributions() bool { return true }

func (latencyOf) series(instr measure.Instructions) (int, time.Duration) {
	if instr.Latency == nil {
		return 0, 0
	}
	n, nanoseconds := latencyTrials(instr.Latency)
	return n, time.Duration(nanoseconds)
}

func (latencyOf) repetition() repetition { return repeatedly }

func (latencyOf) check(instr measure.Instructions) error {
	l := instr.Latency
	switch {
	case l == nil:
		return nil
	case len(l.Loads) == 0:
		return fmt.Errorf("%w: latency without a load", ErrInstructions)
	case l.TaggedFrame != nil && (l.TaggedFrame.Streams < 1 || l.TaggedFrame.AfterMilliseconds >= l.TaggedFrame.StreamMilliseconds):
		return fmt.Errorf("%w: a frame is tagged after %d ms of %d streams of %d ms", ErrInstructions,
			l.TaggedFrame.AfterMilliseconds, l.TaggedFrame.Streams, l.TaggedFrame.StreamMilliseconds)
	}
	return nil
}

// phases returns one for each load, and one for each that is measured at the baseline's rate too.
func (latencyOf) phases(instr measure.Instructions, size measure.Size) []phase {
	if instr.Latency == nil {
		return nil
	}
	var out []phase
	for _, load := range instr.Latency.Loads {
		out = append(out, phase{load: load})
	}
	for _, l := range instr.BaselineLoads {
		if l.Size == size.Name {
			out = append(out, phase{load: v1alpha1.LatencyLoad{Name: l.Load + v1alpha1.BaselineLoadSuffix, FramesPerSecond: &l.FramesPerSecond}})
		}
	}
	return out
}

func (latencyOf) highest(w *replay, ph phase) (uint64, error) {
	return w.instr.Rate(ph.load, ph.size), nil
}

func (latencyOf) trials(w *replay, _ phase) int {
	n, _ := latencyTrials(w.instr.Latency)
	return n
}

func (latencyOf) expected(w *replay, _ phase) time.Duration {
	return w.cost(latencyTrials(w.instr.Latency))
}

// latencyTrials returns the number of trials at each load, and their duration: one, or a stream
// for each tagged frame.
func latencyTrials(l *v1alpha1.Latency) (n int, nanoseconds int64) {
	if tagged := l.TaggedFrame; tagged != nil {
		return int(tagged.Streams), milliseconds(tagged.StreamMilliseconds)
	}
	return 1, milliseconds(l.TrialMilliseconds)
}

func (latencyOf) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	if len(parts) > 0 {
		frame.Latency = w.latencyResults(parts[0].size)
	}
	return len(frame.Latency) > 0
}

func (latencyOf) cpuGroups(p *part) []cpuGroup {
	return []cpuGroup{{atLoad(p.load.Name), p.counted}}
}

func (latencyOf) warn(w *replay, d *warningList, size measure.Size, parts []*part) {
	for _, p := range parts {
		warnLoad(d, p)
		warnGrowing(d, p, "load "+p.load.Name)
		warnTaggedFrames(d, p)
	}
	w.warnUnsteadyLatency(d, size)
	for _, l := range w.latencyResults(size) {
		for _, direction := range l.Directions {
			w.warnBelowBias(d, size, l.Load, l.Bias, direction.DirectionResult, w.latencyParts(size, l.Load)...)
		}
	}
	// This is about throughput, but everything unsteady is reported in one place.
	w.warnTwoBands(d, size)
}

func (latencyOf) fill(w *replay, p *part, records []measure.Record) error {
	rate := w.latencyRate(p)
	if rate == 0 {
		p.over, p.skipped = true, true
		if len(records) > 0 {
			return fmt.Errorf("%w: record %d is a trial of load %q, which cannot be derived", ErrRecords, records[0].Index, p.load.Name)
		}
		return nil
	}
	trials, nanoseconds := latencyTrials(w.instr.Latency)
	p.next = w.trial(p.size, rate, nanoseconds)
	var err error
	if tagged := w.instr.Latency.TaggedFrame; tagged != nil {
		p.next.TaggedFrameNanoseconds = milliseconds(tagged.AfterMilliseconds)
		err = p.take(records) // RFC 2544 section 26.2 has one time for all streams
	} else {
		err = w.takeProlonged(p, records, trials, 0)
	}
	if err != nil {
		return err
	}
	if last := p.last(); last != nil && nothingReceived(last.Outcome) {
		return w.chainFailed(p.size, rate)
	}
	p.over = len(p.counted) >= trials
	p.left = w.cost(trials-len(p.counted), p.next.DurationNanoseconds)
	return nil
}

// latencyRate returns the load's rate: as given, or the share of the goal's conditional
// throughput; 0 where the search found none. One of the baseline is 0 where it is more than the
// throughput: frames would wait in a full queue.
func (w *replay) latencyRate(p *part) uint64 {
	if of, ok := w.baselineLoad(p); ok {
		if rate := w.instr.Rate(p.load, p.size); rate <= w.conditionalThroughput(of.Goal, p) {
			return rate
		}
		return 0
	}
	if p.load.Goal == "" {
		return w.instr.Rate(p.load, p.size)
	}
	return w.conditionalThroughput(p.load.Goal, p) * uint64(max(0, ptr.Deref(p.load.Percent, 0))) / 100
}

// baselineLoad returns the load that a part measures at the baseline's rate, and false for any other part.
func (w *replay) baselineLoad(p *part) (v1alpha1.LatencyLoad, bool) {
	name, ok := strings.CutSuffix(p.load.Name, v1alpha1.BaselineLoadSuffix)
	if !ok || w.instr.Latency == nil {
		return v1alpha1.LatencyLoad{}, false
	}
	at := slices.IndexFunc(w.instr.Latency.Loads, func(l v1alpha1.LatencyLoad) bool { return l.Name == name })
	if at < 0 {
		return v1alpha1.LatencyLoad{}, false
	}
	return w.instr.Latency.Loads[at], true
}

// conditionalThroughput returns that of a goal in a part's repeat; 0 where the search found none.
func (w *replay) conditionalThroughput(goal string, p *part) uint64 {
	throughput := w.findRepeat(measure.StageThroughput, p.size, p.repeat)
	if throughput == nil {
		return 0
	}
	for _, r := range throughput.results {
		if r.Goal == goal {
			return wholeFrames(r.ConditionalThroughputFramesPerSecond)
		}
	}
	return 0
}

func (w *replay) latencyResults(size measure.Size) []v1alpha1.LatencyResult {
	var out []v1alpha1.LatencyResult
	for _, p := range w.parts {
		if p.stage() != measure.StageLatency || p.size.Name != size.Name || !p.over || p.skipped || w.isPartlyCarried(p) {
			continue
		}
		out = append(out, w.latencyResult(p))
	}
	out = w.combineLatency(out)
	for i := range out {
		out[i].Bias = w.biasAt(size, out[i].IntendedFramesPerSecond, w.latencyParts(size, out[i].Load)...)
	}
	return out
}

// isPartlyCarried reports whether a part is of a baseline's rate that some repeat did not carry: the repeats that did
// are the faster ones.
func (w *replay) isPartlyCarried(p *part) bool {
	_, ok := w.baselineLoad(p)
	return ok && slices.ContainsFunc(w.all(measure.StageLatency, p.size), func(o *part) bool { return o.load.Name == p.load.Name && o.skipped })
}

// latencyParts returns the parts of a load, one for each repeat, that have figures.
func (w *replay) latencyParts(size measure.Size, load string) []*part {
	return slices.DeleteFunc(reportable(w.all(measure.StageLatency, size)), func(p *part) bool { return p.load.Name != load })
}

// latencyResult returns the result of one load in one repeat: of its trial, or of all its
// streams.
func (w *replay) latencyResult(p *part) v1alpha1.LatencyResult {
	result := v1alpha1.LatencyResult{
		Load: p.load.Name, IntendedFramesPerSecond: signed(p.last().Trial.IntendedFramesPerSecond),
		TrialMilliseconds: p.last().Trial.Duration().Milliseconds(),
		Share:             w.shareOf(p), Doubts: loadDoubtsOf(p.counted), AwayPartsPerMillion: awayOf(p.counted),
	}
	var directions []v1alpha1.DirectionResult
	for _, r := range p.counted {
		for _, d := range r.Outcome.Directions {
			directions = append(directions, directionResult(d))
		}
	}
	for _, same := range grouped(directions, func(d v1alpha1.DirectionResult) string { return d.Direction }) {
		combined, _ := combineDirection(same)
		result.Directions = append(result.Directions, v1alpha1.LatencyDirectionResult{DirectionResult: combined, TaggedFrames: p.taggedFrames(combined.Direction)})
	}
	return result
}
