package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// rfc2544Pause is the wait before the next trial, after rfc2544Settle (section 23).
const rfc2544Pause = 5 * time.Second

// rfc2544Sizes are the frame sizes of section 9.1.
var rfc2544Sizes = []int32{64, 128, 256, 512, 1024, 1280, 1518}

// done is what was measured: deviations follow from it, and not from what was asked for.
type done struct {
	spec    v1alpha1.Experiment
	results []v1alpha1.FrameResult
	// trials are those through the chain, in their order; none where they may not be read.
	trials []measure.Record
	// isReplaced reports whether another trial replaces one.
	isReplaced func(measure.Record) bool
}

// newDone reads what was measured. Without inputs, those trials are replaced that are invalid.
func newDone(spec v1alpha1.Experiment, results []v1alpha1.FrameResult, trials []measure.Record, inputs *Inputs) (done, error) {
	d := done{spec: spec, results: results, isReplaced: func(r measure.Record) bool { return !r.Outcome.Valid() }}
	if inputs != nil {
		p, err := inputs.planned()
		if err != nil {
			return done{}, err
		}
		replaced := procedure.MadeAgain(p.Instructions, trials)
		d.isReplaced = func(r measure.Record) bool { return replaced[r.Index] }
	}
	for _, r := range trials {
		if !r.Stage.Calibrates() && len(r.Outcome.Directions) > 0 {
			d.trials = append(d.trials, r)
		}
	}
	return d, nil
}

// deviations returns where the measurement differs from RFC 2544, one sentence each: by its
// settings, by what happened, and in any case.
func (d done) deviations() []string {
	// RFC 2544 has no TCP, and what has no figure yet deviates from nothing.
	if !d.spec.Measurements.HaveFrames() || len(d.results) == 0 {
		return nil
	}
	found := settingDeviations(d.spec, d.results)
	for _, further := range []func() []string{
		d.sizes, d.streams, d.waits, d.warmUps, d.bounds, d.unsent, d.drained, d.madeAgain, d.repeats, d.loads, d.referencePoints, d.maximums, d.always,
	} {
		found = append(found, further()...)
	}
	return found
}

func (d done) sizes() (found []string) {
	var measured, mixes, packets []string
	missing := slices.Clone(rfc2544Sizes)
	for _, frame := range d.results {
		switch {
		case frame.Mix != "":
			mixes = append(mixes, frame.Size)
		case frame.Packet != nil:
			packets = append(packets, frame.Size)
		default:
			measured = append(measured, frame.Size)
			missing = slices.DeleteFunc(missing, func(size int32) bool { return size == frame.FrameBytes })
		}
	}
	if len(measured) > 0 && len(missing) > 0 {
		found = append(found, fmt.Sprintf("frames: %s bytes were measured, RFC 2544 section 9.1 has %s bytes too", enumerate(measured), enumerate(missing)))
	}
	if len(mixes) > 0 {
		found = append(found, fmt.Sprintf("frames: %s has frames of several sizes, RFC 2544 section 9 has one at a time", enumerate(mixes)))
	}
	if len(packets) > 0 {
		found = append(found, fmt.Sprintf("frames: %s is a packet in fragments, RFC 2544 has packets that one frame carries", enumerate(packets)))
	}
	return found
}

func (d done) streams() (found []string) {
	t := d.spec.Traffic
	switch {
	case t.Directions == v1alpha1.DirectionsForward || t.Directions == v1alpha1.DirectionsReverse:
		found = append(found, fmt.Sprintf("traffic: frames ran in direction %s alone, RFC 2544 section 14 has both at the same time", t.Directions))
	case t.ReversePercent != 0 && t.ReversePercent != 100:
		found = append(found, fmt.Sprintf("traffic: the reverse direction carried %d %% of the load, RFC 2544 section 14 has the same rate from each direction", t.ReversePercent))
	}
	streams := "one stream in each direction"
	if t.Flows > 1 {
		streams = fmt.Sprintf("%d flows in each direction, with addresses of one network on each side", t.Flows)
	}
	found = append(found, fmt.Sprintf("traffic: %s; RFC 2544 section 12 has a single stream first, and then random destinations in 256 networks", streams))
	if len(d.spec.NoisyNeighbors) > 0 {
		found = append(found, "conditions: noisy neighbors loaded the device's node, RFC 2544 has no such load")
	}
	return found
}

// waits compares the shortest wait after a trial with the two of section 23.
func (d done) waits() []string {
	shortest := milliseconds(d.spec.Measurements.SettleMilliseconds)
	for _, r := range d.trials {
		shortest = min(shortest, r.Trial.Settle())
	}
	if shortest <= 0 || shortest >= rfc2544Settle+rfc2544Pause {
		return nil
	}
	return []string{fmt.Sprintf("the wait after each trial is %s, RFC 2544 section 23 asks for %s for frames under way and at least %s before the next trial",
		brief(shortest), brief(rfc2544Settle), brief(rfc2544Pause))}
}

func (d done) warmUps() []string {
	for _, r := range d.trials {
		if r.Stage == measure.StageWarmUp {
			return nil
		}
	}
	if len(d.trials) == 0 {
		return nil
	}
	return []string{"no warm-up: only probe frames went before the first trial of a size, RFC 2544 section 23 has learning frames before each trial"}
}

// bounds names what a search adds to the RFC's rules: an end, and the worse direction.
func (d done) bounds() (found []string) {
	t := d.spec.Measurements.Throughput
	if t == nil {
		return nil
	}
	for _, goal := range t.Goals {
		if goal.WidthPartsPerMillion > 0 {
			found = append(found, fmt.Sprintf("throughput %s: the search ends when its bounds are at most %s %% apart, RFC 2544 has no rule for its end", goal.Name, strconv.FormatFloat(float64(goal.WidthPartsPerMillion)/1e4, 'f', -1, 64)))
		}
	}
	if t := d.spec.Traffic; t.Directions != v1alpha1.DirectionsForward && t.Directions != v1alpha1.DirectionsReverse {
		found = append(found, "throughput: loss is that of the worse direction, RFC 2544 section 26.1 counts the frames of all")
	}
	return found
}

// unsent names the trials of searches, rates and loads that count although frames were not sent.
func (d done) unsent() []string {
	n, most := 0, 0.0
	for _, r := range d.trials {
		ofLoad := procedure.CountsOverTime(r.Stage) || r.Load != "" && procedure.MayCount(r.Stage)
		if unsent := r.Outcome.UnsentRatio(); unsent > 0 && ofLoad && !d.isReplaced(r) {
			n, most = n+1, max(most, unsent)
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("in trials that count (%d) up to %s %% of the intended frames were not sent: beyond 0.1 %% a load counts as not reached; RFC 2544 does not mention such frames",
		n, strconv.FormatFloat(most*100, 'g', 2, 64))}
}

// drained names the trials that count frames as lost that arrived, because the device did not carry
// them in the trial's time.
func (d done) drained() []string {
	n := 0
	for _, r := range d.trials {
		if procedure.CountsOverTime(r.Stage) && !d.isReplaced(r) && r.Outcome.LossOverTime() > r.Outcome.LossRatio() {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("loss: in trials that count (%d) frames waited in a queue beyond the trial's time, and count as lost in that share; RFC 2544 section 26 counts what arrives", n)}
}

// madeAgain names the trials that are in no figure, with why.
func (d done) madeAgain() []string {
	var n int
	var spent, whole int64
	codes := map[string]int{}
	for _, r := range d.trials {
		whole += r.Outcome.TotalNanoseconds
		if !d.isReplaced(r) {
			continue
		}
		n, spent = n+1, spent+r.Outcome.TotalNanoseconds
		seen := map[string]bool{}
		for _, doubt := range r.Outcome.Doubts {
			if !seen[doubt.Code] {
				seen[doubt.Code] = true
				codes[doubt.Code]++
			}
		}
	}
	if n == 0 {
		return nil
	}
	why := ""
	for i, code := range slices.SortedFunc(maps.Keys(codes), func(a, b string) int {
		if codes[a] != codes[b] {
			return codes[b] - codes[a]
		}
		return strings.Compare(a, b)
	}) {
		why += map[bool]string{true: " (", false: ", "}[i == 0] + fmt.Sprintf("%s %d", code, codes[code])
	}
	if why != "" {
		why += ")"
	}
	return []string{fmt.Sprintf("trials: %d of %d, with %s %% of the time, count in no figure: they were invalid, disturbed, interrupted, prolonged or of a session that ended%s, and were made again; RFC 2544 counts every trial",
		n, len(d.trials), percent(spent*1_000_000/max(whole, 1)), why)}
}

func (d done) repeats() []string {
	if n := d.spec.Measurements.Repeats; n > 1 && d.spec.Measurements.Throughput != nil {
		return []string{fmt.Sprintf("throughput: the mean of %d repeats, or their smallest where one is a floor; RFC 2544 section 26.1 has one figure", n)}
	}
	return nil
}

// loads names the latency loads that are not the throughput rate.
func (d done) loads() (found []string) {
	lossless := map[string]bool{}
	if t := d.spec.Measurements.Throughput; t != nil {
		for _, goal := range t.Goals {
			lossless[goal.Name] = goal.LossPartsPerMillion == 0
		}
	}
	var others []string
	for _, frame := range d.results {
		var floors []string
		for _, l := range frame.Latency {
			if l.Share == nil || l.Share.Percent != 100 || !lossless[l.Share.Goal] {
				if !slices.Contains(others, l.Load) {
					others = append(others, l.Load)
				}
			}
			if slices.Contains(l.Doubts, v1alpha1.DoubtLoadOfFloor) {
				floors = append(floors, l.Load)
			}
		}
		if len(floors) > 0 {
			found = append(found, fmt.Sprintf("latency, %s: the throughput that a load is a share of is only a floor, RFC 2544 section 26.2 measures at the throughput rate: %s", sizeWords(frame), enumerate(floors)))
		}
	}
	if len(others) > 0 {
		found = append(found, fmt.Sprintf("latency: the load is not the throughput without loss, at which RFC 2544 section 26.2 measures: %s", enumerate(others)))
	}
	return found
}

// referencePoints says from where to where a delay is.
func (d done) referencePoints() []string {
	from := ""
	for _, frame := range d.results {
		for _, l := range frame.Latency {
			for _, direction := range l.Directions {
				from = "from the sending program"
				if direction.DelaySinceDeparture != nil {
					from = "from the time when a frame is due, with its wait for the device,"
				}
			}
		}
	}
	if from == "" {
		return nil
	}
	found := []string{fmt.Sprintf("latency: a delay is %s to the receiving program, with both ports and the generator's own time; RFC 1242 section 3.8 has it between the device's two ports", from)}
	if d.spec.Measurements.Latency != nil && d.spec.Measurements.Latency.TaggedFrame != nil {
		found = append(found, "latency: tagged frames have the addresses of their stream, RFC 2544 section 26.2 has a second test with each to a new destination network")
	}
	return found
}

// maximums names the figures whose 100 % is not the medium's.
func (d done) maximums() (found []string) {
	note := func(name string, frame v1alpha1.FrameResult, rate int64, origin v1alpha1.MaximumOrigin, section string) {
		if rate > 0 && origin != "" && origin != v1alpha1.MaximumLineRate {
			found = append(found, fmt.Sprintf("%s, %s: the highest load is %d frames/s, %s; %s means the maximum of the medium", name, sizeWords(frame), rate, maximumOrigin(origin), section))
		}
	}
	for _, frame := range d.results {
		if curve := frame.FrameLossRate; curve != nil {
			note("frame loss rate", frame, curve.MaximumFramesPerSecond, curve.MaximumOrigin, "RFC 2544 section 26.3")
		}
		if rate := frame.ReceiveRate; rate != nil {
			note("receive rate", frame, rate.IntendedFramesPerSecond, rate.MaximumOrigin, "RFC 2285 section 3.5.3")
		}
	}
	return found
}

// always has what no setting changes.
func (d done) always() []string {
	return []string{"in any case: routes are static and no update goes before a trial (RFC 2544 section 23), frames have no modifiers such as broadcasts, management frames and filters (section 11), and reset (section 26.6) is not measured"}
}

// enumerate returns words as "a, b and c".
func enumerate[T any](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = fmt.Sprint(word)
	}
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
	return strings.Join(texts, "")
}
