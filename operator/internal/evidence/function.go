package evidence

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/vnf"
)

// counterName matches the names that a function's counter may have, so that a function of
// another origin cannot put anything else into the results.
var counterName = regexp.MustCompile(`^[a-z][A-Za-z0-9]{0,39}$`)

// boundState cuts texts and raises negative numbers to what the API accepts, so that a
// function of another origin cannot prevent the results from being stored.
func boundState(state reflect.Value) {
	switch state.Kind() {
	case reflect.Pointer:
		if !state.IsNil() {
			boundState(state.Elem())
		}
	case reflect.Struct:
		for i := range state.NumField() {
			boundState(state.Field(i))
		}
	case reflect.String:
		state.SetString(excerpt.Line(state.String(), maxStateBytes))
	case reflect.Int, reflect.Int32, reflect.Int64:
		state.SetInt(max(0, state.Int()))
	}
}

// functionDelta returns what a function counted between two answers, and what is
// missing.
func functionDelta(before, after *vnf.Status, source measure.FunctionSource) (out measure.FunctionEvidence, problems []string) {
	out = measure.FunctionEvidence{Name: source.Name}
	if problem := cmp.Or(after.CountersProblem, before.CountersProblem); problem != "" {
		problems = append(problems, "it is not known what it counted: "+problem)
	} else {
		out.Counters = counterDeltas(before.Counters, after.Counters)
	}
	for i, port := range after.Ports {
		if i >= len(before.Ports) || before.Ports[i].Name != port.Name || port.Counters == nil || before.Ports[i].Counters == nil {
			continue
		}
		out.Ports = append(out.Ports, portDelta(port.Name, *before.Ports[i].Counters, *port.Counters))
	}
	switch {
	case before.CPU == nil || after.CPU == nil:
		problems = append(problems, "no processor time: "+after.CPUProblem+before.CPUProblem)
	case source.Guest != "":
		used := guestTime(after.CPU).Minus(guestTime(before.CPU))
		out.Guest = &used
	case before.CPU.Container == nil || after.CPU.Container == nil:
		problems = append(problems, "no processor time of its container")
	default:
		used := containerTime(after.CPU).Minus(containerTime(before.CPU))
		out.Process = &used
	}
	if before.CPU != nil && after.CPU != nil {
		out.ElapsedMilliseconds = max(0, after.CPU.ElapsedNanoseconds-before.CPU.ElapsedNanoseconds) / int64(time.Millisecond)
	}
	return out, problems
}

// counterDeltas returns the increase of each counter, also if that is 0; nil if there is
// none.
func counterDeltas(before, after map[string]int64) map[string]int64 {
	var deltas map[string]int64
	for _, name := range slices.Sorted(maps.Keys(after)) {
		then, found := before[name]
		if !found || !counterName.MatchString(name) || len(deltas) == maxCounters {
			continue
		}
		if deltas == nil {
			deltas = map[string]int64{}
		}
		deltas[name] = max(0, after[name]-then)
	}
	return deltas
}

func portDelta(name string, before, after vnf.PortCounters) measure.PortEvidence {
	return measure.PortEvidence{
		Name:                 name,
		ReceivedFrames:       int64(less(after.RxPackets, before.RxPackets)),
		SentFrames:           int64(less(after.TxPackets, before.TxPackets)),
		ReceiveDroppedFrames: int64(less(after.RxDropped, before.RxDropped) + less(after.RxErrors, before.RxErrors)),
		SendDroppedFrames:    int64(less(after.TxDropped, before.TxDropped) + less(after.TxErrors, before.TxErrors)),
	}
}

func containerTime(usage *vnf.CPUUsage) measure.CPUTime {
	return measure.CPUTime{
		UserMilliseconds:   milliseconds(usage.Container.UserNanoseconds),
		SystemMilliseconds: milliseconds(usage.Container.SystemNanoseconds),
	}
}

// guestTime returns the sum of the time of all processors of a guest.
func guestTime(usage *vnf.CPUUsage) measure.CPUTime {
	var out measure.CPUTime
	for _, p := range usage.Node {
		out.UserMilliseconds += milliseconds(p.UserNanoseconds)
		out.SystemMilliseconds += milliseconds(p.SystemNanoseconds)
		out.IRQMilliseconds += milliseconds(p.HardirqNanoseconds)
		out.SoftirqMilliseconds += milliseconds(p.SoftirqNanoseconds)
		out.StealMilliseconds += milliseconds(p.StealNanoseconds)
		out.IdleMilliseconds += milliseconds(p.IdleNanoseconds)
	}
	return out
}

func milliseconds(nanoseconds uint64) int64 { return int64(nanoseconds / uint64(time.Millisecond)) }
