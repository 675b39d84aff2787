package procedure

import (
	"maps"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	// maxCPUFigures and maxFunctionFigures are bounds of the API: for what the chain used at
	// one frame size, and for what single functions did in a run.
	maxCPUFigures      = 24
	maxFunctionFigures = 256
)

// addCPU adds to each figure what the chain used in the trials of the figure.
func (w *replay) addCPU(frames []v1alpha1.FrameResult) {
	functions := 0
	for i := range frames {
		for _, group := range w.cpuGroups(frames[i].Size) {
			result, found := usedIn(group.records)
			if !found || len(frames[i].CPU) == maxCPUFigures {
				continue
			}
			result.FigureKey = group.key
			result.Size = frames[i].Size
			if functions += len(result.Functions); functions > maxFunctionFigures {
				result.Functions = nil
			}
			frames[i].CPU = append(frames[i].CPU, result)
		}
	}
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

// use adds up processor time and the time in which it was used.
type use struct{ used, elapsed int64 }

// milliCPU returns thousandths of a core, rounded to the nearest.
func (u use) milliCPU() int64 {
	if u.elapsed <= 0 {
		return 0
	}
	return (u.used*1000 + u.elapsed/2) / u.elapsed
}

// sums adds up kinds of time by their names; a kind that was never known is absent.
type sums map[string]use

func (s sums) add(kind string, used, elapsed int64) {
	s[kind] = use{s[kind].used + used, s[kind].elapsed + elapsed}
}

func (s sums) addKnown(kind string, used *int64, elapsed int64) {
	if used != nil {
		s.add(kind, *used, elapsed)
	}
}

func (s sums) addTime(t *measure.CPUTime, elapsed int64) {
	s.add("user", t.UserMilliseconds+t.NiceMilliseconds, elapsed)
	s.add("system", t.SystemMilliseconds, elapsed)
	s.add("irq", t.IRQMilliseconds, elapsed)
	s.add("softirq", t.SoftirqMilliseconds, elapsed)
	s.add("guest", t.GuestMilliseconds, elapsed)
	s.add("steal", t.StealMilliseconds, elapsed)
}

func (s sums) of(kind string) int64 { return s[kind].milliCPU() }

func (s sums) known(kind string) *int64 {
	if _, found := s[kind]; !found {
		return nil
	}
	return new(s.of(kind))
}

// usedIn returns what the chain used in those of the trials that have evidence.
func usedIn(records []measure.Record) (v1alpha1.CPUResult, bool) {
	var out v1alpha1.CPUResult
	node, cpus := sums{}, 0
	var functions []*functionSums
	for _, r := range records {
		e := r.Evidence
		if e == nil || e.Node == nil && len(e.Functions) == 0 {
			continue
		}
		out.Trials++
		if e.Node != nil && e.ElapsedMilliseconds > 0 {
			cpus = e.CPUs
			node.addTime(e.Node, e.ElapsedMilliseconds)
			node.addKnown("threads", e.SoftirqThreadsMilliseconds, e.ElapsedMilliseconds)
		}
		for _, f := range e.Functions {
			functions = addFunction(functions, f, r)
		}
	}
	if cpus > 0 {
		out.Node = &v1alpha1.NodeCPU{
			CPUs: int32(cpus), UserMilliCPU: node.of("user"), SystemMilliCPU: node.of("system"), IRQMilliCPU: node.of("irq"),
			SoftirqMilliCPU: node.of("softirq"), GuestMilliCPU: node.of("guest"), StealMilliCPU: node.of("steal"),
			SoftirqThreadsMilliCPU: node.known("threads"),
		}
	}
	for _, f := range functions {
		out.Functions = append(out.Functions, f.result())
	}
	return out, out.Trials > 0
}

// functionSums adds up what one function used.
type functionSums struct {
	name                   string
	process, guest, domain sums
	dropped, sentFrames    *int64
	counters               map[string]int64
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
	if f.Process != nil {
		s.process.add("process", f.Process.UserMilliseconds+f.Process.SystemMilliseconds, f.ElapsedMilliseconds)
	}
	if f.Guest != nil {
		s.guest.addTime(f.Guest, f.ElapsedMilliseconds)
	}
	if d := f.Domain; d != nil {
		// The node's clock was read together with the domain's.
		s.domain.addKnown("vcpu", d.VCPUMilliseconds, e.ElapsedMilliseconds)
		s.domain.addKnown("guest", d.GuestMilliseconds, e.ElapsedMilliseconds)
		s.domain.addKnown("emulator", d.EmulatorMilliseconds, e.ElapsedMilliseconds)
		s.domain.addKnown("io", d.IOThreadMilliseconds, e.ElapsedMilliseconds)
		s.domain.addKnown("vhost", d.VhostMilliseconds, e.ElapsedMilliseconds)
		s.domain.addKnown("other", d.OtherMilliseconds, e.ElapsedMilliseconds)
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
	for _, d := range r.Outcome.Directions {
		sent := d.SentFrames
		if r.Trial.Packet != nil {
			sent = d.SentFragments
		}
		s.sentFrames = plus(s.sentFrames, signed(sent))
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
		Name: s.name, ProcessMilliCPU: s.process.known("process"), DroppedFrames: s.dropped, SentFrames: s.sentFrames,
	}
	for _, name := range slices.Sorted(maps.Keys(s.counters)) {
		out.Counters = append(out.Counters, v1alpha1.FunctionCounter{Name: name, Value: s.counters[name]})
	}
	if len(s.guest) > 0 {
		out.Guest = &v1alpha1.GuestCPU{
			UserMilliCPU: s.guest.of("user"), SystemMilliCPU: s.guest.of("system"), IRQMilliCPU: s.guest.of("irq"),
			SoftirqMilliCPU: s.guest.of("softirq"), StealMilliCPU: s.guest.of("steal"),
		}
	}
	if len(s.domain) > 0 {
		out.Domain = &v1alpha1.DomainCPU{
			VCPUMilliCPU: s.domain.known("vcpu"), GuestMilliCPU: s.domain.known("guest"), EmulatorMilliCPU: s.domain.known("emulator"),
			IOThreadMilliCPU: s.domain.known("io"), VhostMilliCPU: s.domain.known("vhost"), OtherMilliCPU: s.domain.known("other"),
		}
	}
	return out
}
