package procedure

import (
	"math"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

const (
	// maxDifferences is the API's bound of the comparison.
	maxDifferences = 512
	// steadyPartsPerMillion is by how much two values of an unchanged testbed may differ where no
	// search says how near its bounds are.
	steadyPartsPerMillion = 20_000
)

// pair is one repeat of everything, without the neighbors and with them, one right after the other. The repeats that a
// measurement makes itself are numbered alike.
type pair struct{ without, with listed }

// listed are figures, and the list of them.
type listed struct {
	Figures
	all []figure.Figure
}

func listOf(f Figures) listed {
	frames := slices.Clone(f.Frames)
	for i := range frames {
		frames[i].FixedLoad = values(frames[i].FixedLoad, overRepeats)
	}
	return listed{f, figure.Results{Frames: frames, TCP: f.TCP, Connections: f.Connections, CPU: f.CPU}.Figures()}
}

// overRepeats returns a fixed load whose figures are the means of its repeats, as those of other repeats are. The worst repeat of
// each side would be one of another time.
func overRepeats(f v1alpha1.FixedLoadResult) v1alpha1.FixedLoadResult {
	var all []v1alpha1.DirectionResult
	f.Repeats = slices.Clone(f.Repeats)
	for i := range f.Repeats {
		all = append(all, f.Repeats[i].Directions...)
		f.Repeats[i].Directions = nil
	}
	for _, same := range grouped(all, func(d v1alpha1.DirectionResult) string { return d.Direction }) {
		mean, _ := combineDirection(same)
		f.Repeats[0].Directions = append(f.Repeats[0].Directions, mean)
	}
	return f
}

// compare adds the figures without the neighbors, and by how much they differ.
func (f *Figures) compare(sideWithout, sideWith *replay) {
	without := sideWithout.results()
	rows := sideWith.differences(pair{listOf(without), listOf(*f)}, pairsOf(sideWithout, sideWith), apart(sideWithout, sideWith))
	f.Neighbors.Comparison = rows
	f.Warnings = append(f.Warnings, sideWith.warnDrift(rows)...)
	for _, w := range without.Warnings {
		if !slices.ContainsFunc(f.Warnings, func(o v1alpha1.Warning) bool { return o.Message == w.Message }) && len(f.Warnings) < maxWarnings {
			w.Message = excerpt.Text("Without neighbors: "+w.Message, v1alpha1.MaxWarningBytes)
			f.Warnings = append(f.Warnings, w)
		}
	}
}

// pairsOf returns the repeats of both sides.
func pairsOf(without, with *replay) []pair {
	repeats := int(without.instr.Repeats)
	for _, p := range without.parts {
		repeats = max(repeats, p.turns)
	}
	var out []pair
	for repeat := range repeats {
		out = append(out, pair{listOf(without.only(repeat).figures()), listOf(with.only(repeat).figures())})
	}
	return out
}

// apart returns the sizes and loads of which a pair of repeats has another repeat between its halves. A side that prolongs its
// trials makes all repeats again, while the other one waits. Trials of measurements without loads are not prolonged.
func apart(without, with *replay) []v1alpha1.FigureKey {
	var out []v1alpha1.FigureKey
	for _, p := range without.parts {
		for _, o := range with.parts {
			if o.key() != p.key() || p.load.Name == "" {
				continue
			}
			for repeat := range min(p.turns, o.turns) {
				first, last := p.counted[repeat].Index, o.counted[repeat].Index
				first, last = min(first, last), max(first, last)
				if slices.ContainsFunc(slices.Concat(p.counted, o.counted), func(r measure.Record) bool { return first < r.Index && r.Index < last }) {
					out = append(out, v1alpha1.FigureKey{Size: p.size.Name, Load: p.load.Name})
				}
			}
		}
	}
	return out
}

// only returns the measurement of one repeat.
func (w *replay) only(repeat int) *replay {
	out := *w
	out.parts = nil
	for _, p := range w.parts {
		switch {
		case p.measurement.place() == beforeChain || p.repeats() && p.repeat == repeat:
			out.parts = append(out.parts, p)
		case repeat < p.turns:
			out.parts = append(out.parts, p.only(repeat))
		}
	}
	return &out
}

// own returns the measurement without what `repeats` repeats.
func (w *replay) own() *replay {
	out := *w
	out.parts = slices.DeleteFunc(slices.Clone(w.parts), func(p *part) bool { return p.repeats() })
	return &out
}

// only returns a part with one of the repeats that it makes itself.
func (p *part) only(repeat int) *part {
	out := *p
	if p.bursts != nil {
		out.bursts = p.bursts[repeat : repeat+1]
		return &out
	}
	out.counted = p.counted[repeat : repeat+1]
	return &out
}

// differences compares the figures without and with the neighbors, of all repeats and of each pair. Figures of sizes and loads
// that are apart have no interval: it takes the change between the halves of a pair as small.
func (w *replay) differences(all pair, pairs []pair, apart []v1alpha1.FigureKey) []v1alpha1.NoisyNeighborDifference {
	var out []v1alpha1.NoisyNeighborDifference
	for _, c := range figure.Join(all.without.all, all.with.all) {
		if len(out) == maxDifferences {
			break
		}
		row := v1alpha1.NoisyNeighborDifference{
			FigureKey: c.FigureKey, Without: c.Before, With: c.After, DifferencePartsPerMillion: figure.Difference(c.Before, c.After),
		}
		if slices.ContainsFunc(append(pairs[:len(pairs):len(pairs)], all), func(p pair) bool { return !p.alike(row) || w.atOtherLoads(p, row) }) {
			row.DifferencePartsPerMillion = nil
		}
		addPairs(&row, pairs)
		if slices.Contains(apart, v1alpha1.FigureKey{Size: row.Size, Load: row.Load}) {
			row.DifferenceLowPartsPerMillion, row.DifferenceHighPartsPerMillion = nil, nil
		}
		out = append(out, row)
	}
	return out
}

// alike reports whether the trials at a row's load took as long on both sides, as far as both have any. While a queue
// grows, delays follow from that: one side may have had no time to prolong its trials, and another one in the next pair.
func (p pair) alike(row v1alpha1.NoisyNeighborDifference) bool {
	without, with := trialTimesAt(p.without.all, row), trialTimesAt(p.with.all, row)
	return len(without) == 0 || len(with) == 0 || slices.Equal(without, with)
}

// atOtherLoads reports whether both sides measured a row at loads that are too far apart.
func (w *replay) atOtherLoads(p pair, row v1alpha1.NoisyNeighborDifference) bool {
	without, with := latencyAt(p.without, row), latencyAt(p.with, row)
	return without != nil && with != nil && w.loadsDiffer(with.Share, without.IntendedFramesPerSecond, with.IntendedFramesPerSecond)
}

// latencyAt returns the result at a row's load, or nil.
func latencyAt(f listed, row v1alpha1.NoisyNeighborDifference) *v1alpha1.LatencyResult {
	for _, frame := range f.Frames {
		for i, l := range frame.Latency {
			if frame.Size == row.Size && l.Load == row.Load {
				return &frame.Latency[i]
			}
		}
	}
	return nil
}

// loadsDiffer reports whether loads that are shares of a goal's throughput are further apart than two throughputs of an
// unchanged testbed.
func (w *replay) loadsDiffer(share *v1alpha1.LoadShare, loads ...int64) bool {
	if share == nil {
		return false
	}
	least, most := slices.Min(loads), slices.Max(loads)
	return distance(least, most) > w.widthOf(v1alpha1.FigureKey{Goal: share.Goal})*float64(most)
}

// trialTimesAt returns the times of the trials at a row's load, each once.
func trialTimesAt(figures []figure.Figure, row v1alpha1.NoisyNeighborDifference) []int64 {
	var times []int64
	for _, f := range figures {
		if row.Load != "" && f.Size == row.Size && f.Load == row.Load && (f.Metric == figure.TrialTime || f.Metric == figure.ShortestTrialTime) {
			times = append(times, f.Value)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// addPairs adds the interval of the ratio of what each pair found. It is computed from logarithms,
// whose mean is the same whichever side is divided by the other.
func addPairs(row *v1alpha1.NoisyNeighborDifference, pairs []pair) {
	var ratios []statistics.Bracket
	known := true
	for _, p := range pairs {
		without, with := figure.Worst(p.without.all, row.FigureKey), figure.Worst(p.with.all, row.FigureKey)
		if without == nil || with == nil {
			continue
		}
		if row.Pairs++; row.Pairs == 1 {
			row.WithoutFirst = &without.Value
		}
		row.WithoutLast = &without.Value
		ratio, ok := ratioOf(boundsOf(p.without.Figures, *without), boundsOf(p.with.Figures, *with))
		ratios, known = append(ratios, ratio), known && ok
	}
	if row.Pairs < 2 {
		row.Pairs, row.WithoutFirst, row.WithoutLast = 0, nil, nil
		return
	}
	interval, ok := statistics.IntervalOfDifference(ratios)
	if !known || !ok || row.DifferencePartsPerMillion == nil {
		return
	}
	low, high := math.Floor(math.Expm1(interval.Low)*1e6), math.Ceil(math.Expm1(interval.High)*1e6)
	if high > math.MaxInt64/2 {
		return
	}
	row.DifferenceLowPartsPerMillion = new(min(int64(low), *row.DifferencePartsPerMillion))
	row.DifferenceHighPartsPerMillion = new(max(int64(high), *row.DifferencePartsPerMillion))
}

// boundsOf returns between which values a figure of one repeat is: those of the search for a
// throughput or a burst, the value itself for others. What is only a floor has none.
func boundsOf(f Figures, of figure.Figure) statistics.Bracket {
	if of.IsFloor() {
		return statistics.Bracket{}
	}
	out := statistics.Bracket{Low: float64(of.Value), High: float64(of.Value)}
	for _, frame := range f.Frames {
		switch {
		case frame.Size != of.Size:
		case of.Metric == v1alpha1.MetricBackToBack:
			out.High += float64(frame.BackToBack.StepFrames)
		case of.Metric == v1alpha1.MetricThroughputFramesPerSecond:
			out = statistics.Bracket{}
			for _, t := range frame.Throughput {
				if t.Goal == of.Goal && t.UpperBoundFramesPerSecond != nil && t.UpperBoundCause == v1alpha1.CauseDeviceLoss {
					return statistics.Bracket{Low: float64(t.LowerBoundFramesPerSecond), High: float64(*t.UpperBoundFramesPerSecond)}
				}
			}
		}
	}
	return out
}

// ratioOf returns the logarithms between which with / without is, and false where one of them may
// be 0 or is not known.
func ratioOf(without, with statistics.Bracket) (statistics.Bracket, bool) {
	if without.Low <= 0 || with.Low <= 0 {
		return statistics.Bracket{}, false
	}
	return statistics.Bracket{Low: math.Log(with.Low / without.High), High: math.Log(with.High / without.Low)}, true
}

// drifting are the metrics by which a drift is looked for: those that are steady on a steady testbed.
var drifting = []v1alpha1.Metric{
	v1alpha1.MetricThroughputFramesPerSecond, v1alpha1.MetricReceiveRate, v1alpha1.MetricLatencyP50, v1alpha1.MetricTCPGoodput, v1alpha1.MetricConnectionsEstablished,
}

// warnDrift names one figure of each size whose first and last values without the neighbors differ
// by more than the figure's own width, and by more than half of what the neighbors change.
func (w *replay) warnDrift(rows []v1alpha1.NoisyNeighborDifference) []v1alpha1.Warning {
	inOneDeployment := func(v1alpha1.FigureKey) bool { return true }
	if w.instr.RepeatScope == v1alpha1.RepeatChain {
		// Two pairs of what `repeats` repeats differ by their deployments too.
		own := listOf(w.own().figures()).all
		inOneDeployment = func(key v1alpha1.FigureKey) bool { return figure.Worst(own, key) != nil }
	}
	d := &warningList{seen: map[string]bool{}}
	named := map[string]bool{}
	for _, row := range rows {
		if !inOneDeployment(row.FigureKey) || row.Pairs < 2 || row.With == nil || row.Without == nil || named[row.Size] || !slices.Contains(drifting, row.Metric) {
			continue
		}
		moved, changed := distance(*row.WithoutFirst, *row.WithoutLast), distance(*row.Without, *row.With)
		if moved > changed/2 && moved > w.widthOf(row.FigureKey)*float64(*row.WithoutFirst) {
			named[row.Size] = true
			d.add(v1alpha1.WarningComparisonDrift, measure.Size{Name: row.Size},
				"Without the neighbors, %s%s was %d first and %d last, and with them it differs by %.0f: the testbed changed by more than half as much by itself.",
				row.Metric, at(row.FigureKey), *row.WithoutFirst, *row.WithoutLast, changed)
		}
	}
	return d.list
}

func distance(a, b int64) float64 { return math.Abs(float64(a) - float64(b)) }

// at names a figure's goal or load, for sentences.
func at(key v1alpha1.FigureKey) string {
	if key.Goal+key.Load == "" {
		return ""
	}
	return " at " + key.Goal + key.Load
}

// widthOf returns by how much a figure may differ on an unchanged testbed, as a share.
func (w *replay) widthOf(key v1alpha1.FigureKey) float64 {
	if t := w.instr.Throughput; t != nil {
		for _, g := range t.Goals {
			if g.Name == key.Goal {
				return float64(g.WidthPartsPerMillion) / 1e6
			}
		}
	}
	return steadyPartsPerMillion / 1e6
}
