package evidence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// status is what is used of a function's own status (package vnf/agent).
// Unknown parts are left alone, so that any version of a function can be asked.
type status struct {
	StartedAt time.Time `json:"startedAt"`
	Ports     []struct {
		Name     string    `json:"name"`
		Counters *counters `json:"counters"`
	} `json:"ports"`
	CPU *struct {
		ElapsedNanoseconds int64       `json:"elapsedNanoseconds"`
		Container          *times      `json:"container"`
		Node               []processor `json:"node"`
	} `json:"cpu"`
	CPUProblem string `json:"cpuProblem"`
	// Firewall and EncryptionGateway are a function's own objects; their numbers
	// are counters or settings.
	Firewall          map[string]json.RawMessage `json:"firewall"`
	EncryptionGateway map[string]json.RawMessage `json:"encryptionGateway"`
}

type counters struct {
	RxPackets int64 `json:"rxPackets"`
	RxDropped int64 `json:"rxDropped"`
	RxErrors  int64 `json:"rxErrors"`
	TxPackets int64 `json:"txPackets"`
	TxDropped int64 `json:"txDropped"`
	TxErrors  int64 `json:"txErrors"`
}

type times struct {
	UserNanoseconds   int64 `json:"userNanoseconds"`
	SystemNanoseconds int64 `json:"systemNanoseconds"`
}

type processor struct {
	times
	HardirqNanoseconds int64 `json:"hardirqNanoseconds"`
	SoftirqNanoseconds int64 `json:"softirqNanoseconds"`
	StealNanoseconds   int64 `json:"stealNanoseconds"`
	IdleNanoseconds    int64 `json:"idleNanoseconds"`
}

// state is what a function says that it is.
func (s *status) state(name string) (measure.FunctionState, error) {
	out := measure.FunctionState{Name: name}
	if s.Firewall != nil {
		out.Firewall = &measure.FirewallState{}
		if err := fill(s.Firewall, out.Firewall); err != nil {
			return out, fmt.Errorf("its firewall: %w", err)
		}
	}
	if s.EncryptionGateway != nil {
		out.EncryptionGateway = &measure.EncryptionGatewayState{}
		if err := fill(s.EncryptionGateway, out.EncryptionGateway); err != nil {
			return out, fmt.Errorf("its encryption gateway: %w", err)
		}
	}
	return out, nil
}

// fill reads the fields of an object that a struct knows.
func fill(object map[string]json.RawMessage, into any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// until is what a function counted between two answers. The second result says
// what is missing.
func (s *status) until(later *status, source measure.FunctionSource) (out measure.FunctionEvidence, problems []string) {
	out = measure.FunctionEvidence{Name: source.Name}
	out.Counters, problems = moved(s, later)
	for i, port := range later.Ports {
		if i >= len(s.Ports) || s.Ports[i].Name != port.Name || port.Counters == nil || s.Ports[i].Counters == nil {
			continue
		}
		out.Ports = append(out.Ports, portUntil(port.Name, *s.Ports[i].Counters, *port.Counters))
	}
	switch {
	case s.CPU == nil || later.CPU == nil:
		problems = append(problems, "no processor time: "+later.CPUProblem+s.CPUProblem)
	case source.Guest != "":
		used := sum(later.CPU.Node).Minus(sum(s.CPU.Node))
		out.Guest = &used
	case s.CPU.Container == nil || later.CPU.Container == nil:
		problems = append(problems, "no processor time of its container")
	default:
		used := later.CPU.Container.milliseconds().Minus(s.CPU.Container.milliseconds())
		out.Process = &used
	}
	if s.CPU != nil && later.CPU != nil {
		out.ElapsedMilliseconds = max(0, later.CPU.ElapsedNanoseconds-s.CPU.ElapsedNanoseconds) / int64(time.Millisecond)
	}
	return out, problems
}

func portUntil(name string, before, after counters) measure.PortEvidence {
	return measure.PortEvidence{
		Name:                 name,
		ReceivedFrames:       max(0, after.RxPackets-before.RxPackets),
		SentFrames:           max(0, after.TxPackets-before.TxPackets),
		ReceiveDroppedFrames: max(0, after.RxDropped-before.RxDropped) + max(0, after.RxErrors-before.RxErrors),
		SendDroppedFrames:    max(0, after.TxDropped-before.TxDropped) + max(0, after.TxErrors-before.TxErrors),
	}
}

func (t times) milliseconds() measure.CPUTime {
	return measure.CPUTime{
		UserMilliseconds:   t.UserNanoseconds / int64(time.Millisecond),
		SystemMilliseconds: t.SystemNanoseconds / int64(time.Millisecond),
	}
}

// sum is the time of all processors of a guest.
func sum(processors []processor) measure.CPUTime {
	var out measure.CPUTime
	for _, p := range processors {
		out.UserMilliseconds += p.UserNanoseconds / int64(time.Millisecond)
		out.SystemMilliseconds += p.SystemNanoseconds / int64(time.Millisecond)
		out.IRQMilliseconds += p.HardirqNanoseconds / int64(time.Millisecond)
		out.SoftirqMilliseconds += p.SoftirqNanoseconds / int64(time.Millisecond)
		out.StealMilliseconds += p.StealNanoseconds / int64(time.Millisecond)
		out.IdleMilliseconds += p.IdleNanoseconds / int64(time.Millisecond)
	}
	return out
}

// moved are the counters of a function's own objects that grew, by their names.
// Settings are numbers as well, but do not move. An object that could not read
// its counters shows them as 0, so that nothing can be said of how they moved:
// the second result says why.
func moved(before, after *status) (counters map[string]int64, problems []string) {
	out := map[string]int64{}
	for _, object := range []struct {
		name       string
		then, now  map[string]json.RawMessage
		whatCounts string
	}{
		{"firewall", before.Firewall, after.Firewall, "its rules"},
		{"encryptionGateway", before.EncryptionGateway, after.EncryptionGateway, "its tunnel"},
	} {
		if problem := cmp.Or(problemOf(object.now), problemOf(object.then)); problem != "" {
			problems = append(problems, "it is not known what "+object.whatCounts+" counted: "+problem)
			continue
		}
		for name, text := range object.now {
			now, isNumber := number(text)
			then, wasNumber := number(object.then[name])
			if isNumber && wasNumber && now > then {
				out[object.name+"."+name] = now - then
			}
		}
	}
	for _, name := range sorted(out, mostCounters) {
		if counters == nil {
			counters = map[string]int64{}
		}
		counters[name] = out[name]
	}
	return counters, problems
}

// problemOf is why an object has no counters, or "".
func problemOf(object map[string]json.RawMessage) (problem string) {
	if text, found := object["problem"]; found && json.Unmarshal(text, &problem) != nil {
		return string(text)
	}
	return problem
}

func number(text json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}
