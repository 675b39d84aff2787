package procedure

import (
	"maps"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	// maxCPUFigures and maxFunctionFigures are bounds of the API: for what the chain used in a
	// run, and for what single functions did.
	maxCPUFigures      = 1024
	maxFunctionFigures = 256
)

// cpu returns what the chain used in the trials of each figure: those of the sizes first, then
// those of no size.
func (w *replay) cpu(frames []v1alpha1.FrameResult) []v1alpha1.CPUResult {
	var out []v1alpha1.CPUResult
	functions := 0
	for _, frame := range append(slices.Clone(frames), v1alpha1.FrameResult{}) {
		for _, group := range w.cpuGroups(frame.Size) {
			result, found := usedIn(group.records)
			if !found || len(out) == maxCPUFigures {
				continue
			}
			result.FigureKey = group.key
			result.Size = frame.Size
			if functions += len(result.Functions); functions > maxFunctionFigures {
				result.Functions = nil
			}
			out = append(out, result)
		}
	}
	return out
}

// cpuGroup holds the trials of one reported figure, over all repeats.
type cpuGroup struct {
	key     v1alpha1.FigureKey
	records []measure.Record
}

func (w *replay) cpuGroups(size string) []cpuGroup {
	var groups []cpuGroup
	add := func(key v1alpha1.FigureKey, records []measure.Record) {
		for i := range groups {
			if groups[i].key == key {
				groups[i].records = append(groups[i].records, records...)
				return
			}
		}
		groups = append(groups, cpuGroup{key, append([]measure.Record(nil), records...)})
	}
	for _, p := range w.parts {
		if p.size.Name != size || !p.over || p.skipped {
			continue
		}
		for _, group := range p.measurement.cpuGroups(p) {
			add(group.key, group.records)
		}
	}
	return groups
}

// atLoad returns the key of the CPU use at a load, whose trials make many figures.
func atLoad(load string) v1alpha1.FigureKey {
	return v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyMean, Load: load}
}

// atLoad returns the trials that count at a load.
func (p *part) atLoad(framesPerSecond uint64) []measure.Record {
	var out []measure.Record
	for _, r := range p.counted {
		if framesPerSecond > 0 && r.Trial.IntendedFramesPerSecond == framesPerSecond {
			out = append(out, r)
		}
	}
	return out
}

// span is what a processor time is divided by: the time between two looks, and the frames that the
// generator sent in between.
type span struct{ elapsed, frames int64 }

// use adds up processor time and the span in which it was used, in milliseconds.
type use struct {
	used int64
	over span
}

// milliCPU returns thousandths of a core, rounded to the nearest.
func (u use) milliCPU() int64 { return rounded(u.used*1000, u.over.elapsed) }

// perFrame returns nanoseconds for each frame, rounded to the nearest. The time in which nothing
// was sent makes it no smaller, as it makes milliCPU.
func (u use) perFrame() int64 { return rounded(u.used*1_000_000, u.over.frames) }

// rounded divides to the nearest, and returns 0 where there is nothing to divide by.
func rounded(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return (part + whole/2) / whole
}

// sending adds up the sending time of trials and the time between the two looks, in nanoseconds.
type sending struct{ sent, elapsed int64 }

func (s *sending) add(r measure.Record, elapsedMilliseconds int64) {
	if sent := int64(r.Outcome.SendingTime(r.Trial)); sent > 0 && elapsedMilliseconds > 0 {
		s.sent, s.elapsed = s.sent+sent, s.elapsed+elapsedMilliseconds*int64(time.Millisecond)
	}
}

// lesser returns the lesser of a share, nil for none, and that of s, in parts per million.
func (s sending) lesser(share *int64) *int64 {
	if s.elapsed == 0 {
		return share
	}
	own := lossPartsPerMillion(uint64(s.sent), uint64(s.elapsed))
	if share != nil {
		own = min(own, *share)
	}
	return &own
}

// sums adds up kinds of time by their names; a kind that was never known is absent.
type sums map[string]use

func (s sums) add(kind string, used int64, over span) {
	u := s[kind]
	s[kind] = use{u.used + used, span{u.over.elapsed + over.elapsed, u.over.frames + over.frames}}
}

func (s sums) addKnown(kind string, used *int64, over span) {
	if used != nil {
		s.add(kind, *used, over)
	}
}

func (s sums) addTime(t *measure.CPUTime, over span) {
	s.add("user", t.UserMilliseconds+t.NiceMilliseconds, over)
	s.add("system", t.SystemMilliseconds, over)
	s.add("irq", t.IRQMilliseconds, over)
	s.add("softirq", t.SoftirqMilliseconds, over)
	s.add("guest", t.GuestMilliseconds, over)
	s.add("steal", t.StealMilliseconds, over)
}

func (s sums) of(kind string) int64 { return s[kind].milliCPU() }

func (s sums) known(kind string) *int64 {
	if _, found := s[kind]; !found {
		return nil
	}
	return new(s.of(kind))
}

// framesKnown reports whether frames were counted in the trials of any kind.
func (s sums) framesKnown() bool {
	for _, u := range s {
		if u.over.frames > 0 {
			return true
		}
	}
	return false
}

func (s sums) perFrame(kind string) int64 { return s[kind].perFrame() }

// knownPerFrame returns nil where a kind or its frames are not known.
func (s sums) knownPerFrame(kind string) *int64 {
	if s[kind].over.frames == 0 {
		return nil
	}
	return new(s.perFrame(kind))
}

// sentFrames returns the frames of a trial in both directions, with each fragment counted.
func sentFrames(r measure.Record) int64 {
	sum := int64(0)
	for _, d := range r.Outcome.Directions {
		if r.Trial.Packet != nil {
			sum += signed(d.SentFragments)
		} else {
			sum += signed(d.SentFrames)
		}
	}
	return sum
}

// usedIn returns what the chain used in those of the trials that have evidence.
func usedIn(records []measure.Record) (v1alpha1.CPUResult, bool) {
	var out v1alpha1.CPUResult
	node, cpus, onNode := sums{}, 0, sending{}
	var functions []*functionSums
	for _, r := range records {
		e := r.Evidence
		if e == nil || e.Node == nil && len(e.Functions) == 0 {
			continue
		}
		out.Trials++
		frames := sentFrames(r)
		if frames > 0 {
			out.SentFrames = plus(out.SentFrames, frames)
		}
		if e.Node != nil && e.ElapsedMilliseconds > 0 {
			cpus = e.CPUs
			onNode.add(r, e.ElapsedMilliseconds)
			node.addTime(e.Node, span{e.ElapsedMilliseconds, frames})
			node.addKnown("threads", e.SoftirqThreadsMilliseconds, span{e.ElapsedMilliseconds, frames})
			node.addKnown(kindCycles, e.Cycles, span{e.ElapsedMilliseconds, frames})
		}
		for _, f := range e.Functions {
			functions = addFunction(functions, f, r)
		}
	}
	if cpus > 0 {
		out.Node = &v1alpha1.NodeCPU{
			CPUs: int32(cpus), UserMilliCPU: node.of("user"), SystemMilliCPU: node.of("system"), IRQMilliCPU: node.of("irq"),
			SoftirqMilliCPU: node.of("softirq"), GuestMilliCPU: node.of("guest"), StealMilliCPU: node.of("steal"),
			SoftirqThreadsMilliCPU: node.known("threads"), PerFrame: nodePerFrame(node),
		}
	}
	out.SendingPartsPerMillion = onNode.lesser(nil)
	for _, f := range functions {
		out.Functions = append(out.Functions, f.result())
		out.SendingPartsPerMillion = f.sending.lesser(out.SendingPartsPerMillion)
	}
	return out, out.Trials > 0
}

// functionSums adds up what one function used.
type functionSums struct {
	name                   string
	process, guest, domain sums
	dropped, sentFrames    *int64
	counters               map[string]int64
	sending                sending
}

func addFunction(all []*functionSums, f measure.FunctionEvidence, r measure.Record) []*functionSums {
	var s *functionSums
	e := r.Evidence
	for _, known := range all {
		if known.name == f.Name {
			s = known
		}
	}
	if s == nil {
		s = &functionSums{name: f.Name, process: sums{}, guest: sums{}, domain: sums{}}
		all = append(all, s)
	}
	frames := sentFrames(r)
	own := span{f.ElapsedMilliseconds, frames}
	s.sending.add(r, f.ElapsedMilliseconds)
	if f.Process != nil {
		s.process.add("process", f.Process.UserMilliseconds+f.Process.SystemMilliseconds, own)
	}
	if f.Guest != nil {
		s.guest.addTime(f.Guest, own)
	}
	if d := f.Domain; d != nil {
		// The node's clock was read together with the domain's.
		onNode := span{e.ElapsedMilliseconds, frames}
		s.domain.addKnown("vcpu", d.VCPUMilliseconds, onNode)
		s.domain.addKnown("guest", d.GuestMilliseconds, onNode)
		s.domain.addKnown("emulator", d.EmulatorMilliseconds, onNode)
		s.domain.addKnown("io", d.IOThreadMilliseconds, onNode)
		s.domain.addKnown("vhost", d.VhostMilliseconds, onNode)
		s.domain.addKnown("other", d.OtherMilliseconds, onNode)
	}
	// Shortened evidence still has the ports that dropped something.
	if len(f.Ports) > 0 || e.Shortened {
		s.dropped = plus(s.dropped, f.DroppedFrames())
	}
	s.addCounters(f.Counters, r)
	return all
}

// addCounters adds up the function's own counters, and the frames that were sent
// in the trials in which they are known.
func (s *functionSums) addCounters(counters map[string]int64, r measure.Record) {
	if counters == nil {
		return
	}
	if s.counters == nil {
		s.counters = map[string]int64{}
	}
	for name, value := range counters {
		s.counters[name] += value
	}
	if frames := sentFrames(r); frames > 0 {
		s.sentFrames = plus(s.sentFrames, frames)
	}
}

func plus(sum *int64, n int64) *int64 {
	if sum == nil {
		return &n
	}
	return new(*sum + n)
}

func (s *functionSums) result() v1alpha1.FunctionCPU {
	out := v1alpha1.FunctionCPU{
		Name: s.name, ProcessMilliCPU: s.process.known("process"),
		ProcessNanosecondsPerFrame: s.process.knownPerFrame("process"), DroppedFrames: s.dropped, SentFrames: s.sentFrames,
	}
	for _, name := range slices.Sorted(maps.Keys(s.counters)) {
		out.Counters = append(out.Counters, v1alpha1.FunctionCounter{Name: name, Value: s.counters[name]})
	}
	if len(s.guest) > 0 {
		out.Guest = &v1alpha1.GuestCPU{
			UserMilliCPU: s.guest.of("user"), SystemMilliCPU: s.guest.of("system"), IRQMilliCPU: s.guest.of("irq"),
			SoftirqMilliCPU: s.guest.of("softirq"), StealMilliCPU: s.guest.of("steal"),
			PerFrame: guestPerFrame(s.guest),
		}
	}
	if len(s.domain) > 0 {
		out.Domain = &v1alpha1.DomainCPU{
			VCPUMilliCPU: s.domain.known("vcpu"), GuestMilliCPU: s.domain.known("guest"), EmulatorMilliCPU: s.domain.known("emulator"),
			IOThreadMilliCPU: s.domain.known("io"), VhostMilliCPU: s.domain.known("vhost"), OtherMilliCPU: s.domain.known("other"),
			PerFrame: domainPerFrame(s.domain),
		}
	}
	return out
}

// kindCycles is the one kind that is no time: what its use adds up are cycles.
const kindCycles = "cycles"

// cyclesPerFrame returns the cycles for each frame, rounded to the nearest, or nil where they or the frames are
// not known.
func (s sums) cyclesPerFrame() *int64 {
	u := s[kindCycles]
	if u.over.frames == 0 {
		return nil
	}
	return new(rounded(u.used, u.over.frames))
}

// nodePerFrame returns nil where no frames were counted.
func nodePerFrame(s sums) *v1alpha1.NodeFrameCost {
	if !s.framesKnown() {
		return nil
	}
	return &v1alpha1.NodeFrameCost{
		UserNanoseconds: s.perFrame("user"), SystemNanoseconds: s.perFrame("system"), IRQNanoseconds: s.perFrame("irq"),
		SoftirqNanoseconds: s.perFrame("softirq"), GuestNanoseconds: s.perFrame("guest"), StealNanoseconds: s.perFrame("steal"),
		SoftirqThreadsNanoseconds: s.knownPerFrame("threads"), Cycles: s.cyclesPerFrame(),
	}
}

func guestPerFrame(s sums) *v1alpha1.GuestFrameCost {
	if !s.framesKnown() {
		return nil
	}
	return &v1alpha1.GuestFrameCost{
		UserNanoseconds: s.perFrame("user"), SystemNanoseconds: s.perFrame("system"), IRQNanoseconds: s.perFrame("irq"),
		SoftirqNanoseconds: s.perFrame("softirq"), StealNanoseconds: s.perFrame("steal"),
	}
}

func domainPerFrame(s sums) *v1alpha1.DomainFrameCost {
	if !s.framesKnown() {
		return nil
	}
	return &v1alpha1.DomainFrameCost{
		VCPUNanoseconds: s.knownPerFrame("vcpu"), GuestNanoseconds: s.knownPerFrame("guest"), EmulatorNanoseconds: s.knownPerFrame("emulator"),
		IOThreadNanoseconds: s.knownPerFrame("io"), VhostNanoseconds: s.knownPerFrame("vhost"), OtherNanoseconds: s.knownPerFrame("other"),
	}
}
