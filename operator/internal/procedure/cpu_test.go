package procedure

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/evidence"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// seen returns evidence of a trial of a second on a node with four CPUs.
func seen(change func(*measure.Evidence)) *measure.Evidence {
	e := &measure.Evidence{
		ElapsedMilliseconds: 1000, CPUs: 4,
		Node: &measure.CPUTime{UserMilliseconds: 100, NiceMilliseconds: 50, SystemMilliseconds: 20, SoftirqMilliseconds: 900, IdleMilliseconds: 2000},
		Functions: []measure.FunctionEvidence{{
			Name: "r1", ElapsedMilliseconds: 1000, Process: &measure.CPUTime{UserMilliseconds: 3, SystemMilliseconds: 2},
			Ports: []measure.PortEvidence{{Name: "west", ReceivedFrames: 1000, ReceiveDroppedFrames: 4}, {Name: "east", SentFrames: 996}},
		}},
	}
	if change != nil {
		change(e)
	}
	return e
}

func TestUsedIn(t *testing.T) {
	guest := func(e *measure.Evidence) {
		e.ElapsedMilliseconds, e.SoftirqThreadsMilliseconds = 3000, new(int64(30))
		e.Functions = []measure.FunctionEvidence{{
			Name: "fw", ElapsedMilliseconds: 2000, Guest: &measure.CPUTime{SoftirqMilliseconds: 1800, StealMilliseconds: 20},
			Domain:   &measure.DomainTime{VCPUMilliseconds: new(int64(2400)), GuestMilliseconds: new(int64(2100)), VhostMilliseconds: new(int64(1800))},
			Counters: map[string]int64{"matchedPackets": 7, "enteredPackets": 9, "invalidPackets": 0},
		}}
	}
	for name, test := range map[string]struct {
		evidence []*measure.Evidence
		outcome  measure.Outcome
		want     v1alpha1.CPUResult
		found    bool
	}{
		"no agent was asked": {evidence: []*measure.Evidence{nil, nil}},
		"no agent answered":  {evidence: []*measure.Evidence{{Notes: []string{"it took too long"}}}},
		"no time has passed": {evidence: []*measure.Evidence{seen(func(e *measure.Evidence) { e.ElapsedMilliseconds, e.Functions = 0, nil })}, want: v1alpha1.CPUResult{Trials: 1}, found: true},
		// 900 ms of 1000 ms, and 900 of 3000.
		"two trials of a pod": {
			evidence: []*measure.Evidence{seen(nil), nil, seen(func(e *measure.Evidence) { e.ElapsedMilliseconds = 3000 })},
			want: v1alpha1.CPUResult{
				Trials: 2, Node: &v1alpha1.NodeCPU{CPUs: 4, UserMilliCPU: 75, SystemMilliCPU: 10, SoftirqMilliCPU: 450},
				Functions: []v1alpha1.FunctionCPU{{Name: "r1", ProcessMilliCPU: new(int64(5)), DroppedFrames: new(int64(8))}},
			},
			found: true,
		},
		"a virtual machine": {
			evidence: []*measure.Evidence{seen(guest)},
			want: v1alpha1.CPUResult{
				Trials: 1, Node: &v1alpha1.NodeCPU{CPUs: 4, UserMilliCPU: 50, SystemMilliCPU: 7, SoftirqMilliCPU: 300, SoftirqThreadsMilliCPU: new(int64(10))},
				Functions: []v1alpha1.FunctionCPU{{
					Name: "fw", Guest: &v1alpha1.GuestCPU{SoftirqMilliCPU: 900, StealMilliCPU: 10},
					Domain:   &v1alpha1.DomainCPU{VCPUMilliCPU: new(int64(800)), GuestMilliCPU: new(int64(700)), VhostMilliCPU: new(int64(600))},
					Counters: []v1alpha1.FunctionCounter{{Name: "enteredPackets", Value: 9}, {Name: "invalidPackets"}, {Name: "matchedPackets", Value: 7}},
				}},
			},
			found: true,
		},
		// The sending takes half of the node's second, and a quarter of the two of the function, which answered late.
		"a late answer": {
			evidence: []*measure.Evidence{seen(func(e *measure.Evidence) { e.Functions[0].ElapsedMilliseconds = 2000 })},
			outcome:  measure.Outcome{SendingNanoseconds: int64(500 * time.Millisecond)},
			want: v1alpha1.CPUResult{
				Trials: 1, SendingPartsPerMillion: new(int64(250_000)), Node: &v1alpha1.NodeCPU{CPUs: 4, UserMilliCPU: 150, SystemMilliCPU: 20, SoftirqMilliCPU: 900},
				Functions: []v1alpha1.FunctionCPU{{Name: "r1", ProcessMilliCPU: new(int64(3)), DroppedFrames: new(int64(4))}},
			},
			found: true,
		},
		"looks that are close": {
			evidence: []*measure.Evidence{seen(func(e *measure.Evidence) { e.Functions = nil })},
			outcome:  measure.Outcome{SendingNanoseconds: int64(1000500 * time.Microsecond)},
			want: v1alpha1.CPUResult{
				Trials: 1, SendingPartsPerMillion: new(int64(1_000_000)), Node: &v1alpha1.NodeCPU{CPUs: 4, UserMilliCPU: 150, SystemMilliCPU: 20, SoftirqMilliCPU: 900},
			},
			found: true,
		},
		"functions alone": {
			evidence: []*measure.Evidence{seen(func(e *measure.Evidence) { e.Node, e.CPUs, e.ElapsedMilliseconds = nil, 0, 0 })},
			want: v1alpha1.CPUResult{Trials: 1, Functions: []v1alpha1.FunctionCPU{
				{Name: "r1", ProcessMilliCPU: new(int64(5)), DroppedFrames: new(int64(4))},
			}},
			found: true,
		},
		"shortened where nothing dropped": {
			evidence: []*measure.Evidence{seen(func(e *measure.Evidence) { e.Functions[0].Ports, e.Shortened, e.Node = nil, true, nil })},
			want:     v1alpha1.CPUResult{Trials: 1, Functions: []v1alpha1.FunctionCPU{{Name: "r1", ProcessMilliCPU: new(int64(5)), DroppedFrames: new(int64(0))}}},
			found:    true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var records []measure.Record
			for _, e := range test.evidence {
				records = append(records, measure.Record{Evidence: e, Outcome: test.outcome})
			}
			got, found := usedIn(records)
			if diff := cmp.Diff(test.want, got); diff != "" || found != test.found {
				t.Errorf("%t %s", found, diff)
			}
		})
	}
}

// withEvidence makes a whole measurement, with evidence of every trial that wants it.
func withEvidence(t *testing.T, change func(*measure.Record)) (measure.Instructions, []measure.Record) {
	t.Helper()
	instr := instructions()
	records, err := newBench(simulated.SoftKnee{KneeFramesPerSecond: 400_000, CapacityFramesPerSecond: 500_000, MaxLossRatio: 0.02}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if WantsEvidence(records[i].Stage) {
			records[i].Evidence = seen(nil)
			if change != nil {
				change(&records[i])
			}
		}
	}
	return instr, records
}

// Evidence is added to every figure and changes none.
func TestEvidenceBesideFigures(t *testing.T) {
	instr, records := withEvidence(t, nil)
	bare := append([]measure.Record(nil), records...)
	for i := range bare {
		bare[i].Evidence = nil
	}
	got, want := Results(instr, records), Results(instr, bare)
	uses := map[string]int{}
	for _, c := range got.CPU {
		uses[c.Size]++
		if c.Node == nil || c.Node.SoftirqMilliCPU != 900 || len(c.Functions) != 1 || c.Trials < 1 {
			t.Errorf("%+v", c)
		}
		if c.Load != "" && c.Trials != 1 {
			t.Errorf("%+v", c)
		}
	}
	// The bench's functions count none of the frames that are missing.
	got.Warnings = slices.DeleteFunc(got.Warnings, func(w v1alpha1.Warning) bool { return w.Code == v1alpha1.WarningFramesUnaccounted })
	for _, frame := range got.Frames {
		if uses[frame.Size] != len(frame.Throughput)+len(frame.Latency) {
			t.Errorf("%s: %d uses for %d goals and %d loads", frame.Size, uses[frame.Size], len(frame.Throughput), len(frame.Latency))
		}
	}
	got.CPU = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i := range records {
		step, err := Next(instr, records[:i])
		other, otherErr := Next(instr, bare[:i])
		if diff := cmp.Diff(other, step); diff != "" || err != nil || otherErr != nil {
			t.Fatalf("after trial %d: %v %v %s", i, err, otherErr, diff)
		}
	}
}

func TestEvidenceWarnings(t *testing.T) {
	codes := func(change func(*measure.Record)) string {
		instr, records := withEvidence(t, change)
		var found []string
		for _, w := range Results(instr, records).Warnings {
			if w.Code == v1alpha1.WarningDeviceSteal || w.Code == v1alpha1.WarningEvidenceMissing {
				found = append(found, w.Code)
			}
		}
		return strings.Join(found, " ")
	}
	sizes := len(instructions().Sizes)
	each := func(code string) string { return strings.TrimSpace(strings.Repeat(code+" ", sizes)) }
	for name, test := range map[string]struct {
		change func(*measure.Record)
		want   string
	}{
		"nothing":     {nil, ""},
		"some steal":  {func(r *measure.Record) { r.Evidence.Node.StealMilliseconds = 20 }, ""},
		"much steal":  {func(r *measure.Record) { r.Evidence.Node.StealMilliseconds = 30 }, each(v1alpha1.WarningDeviceSteal)},
		"no answer":   {func(r *measure.Record) { r.Evidence = &measure.Evidence{Notes: []string{"it took too long"}} }, each(v1alpha1.WarningEvidenceMissing)},
		"not allowed": {func(r *measure.Record) { r.Evidence = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := codes(test.change); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDeviceWarnings(t *testing.T) {
	tuned := measure.NodeFacts{CPUs: []int{0, 1}, OnlineCPUs: 2, IsolatedCPUs: []int{1}, ScalingGovernors: []string{"performance"}}
	plain := measure.NodeFacts{CPUs: []int{0, 1}, OnlineCPUs: 2, ScalingGovernors: []string{"schedutil"}}
	isolated := measure.NodeFacts{CPUs: []int{1}, OnlineCPUs: 2, IsolatedCPUs: []int{1}}
	for name, test := range map[string]struct {
		device    *measure.DeviceState
		generator measure.NodeFacts
		sameNode  bool
		want      string
	}{
		"not observed":                    {generator: plain},
		"not known":                       {device: &measure.DeviceState{}, generator: plain},
		"tuned":                           {device: &measure.DeviceState{Node: &tuned}, generator: plain},
		"plain":                           {device: &measure.DeviceState{Node: &plain}, generator: tuned, want: "DeviceFrequencyScaling DeviceNoCPUIsolation"},
		"the same plain node":             {device: &measure.DeviceState{Node: &plain}, generator: plain, sameNode: true},
		"the same node, generator tuned":  {device: &measure.DeviceState{Node: &plain}, generator: isolated, sameNode: true, want: "DeviceFrequencyScaling DeviceNoCPUIsolation"},
		"the same node, some is isolated": {device: &measure.DeviceState{Node: &tuned}, generator: isolated, sameNode: true},
	} {
		t.Run(name, func(t *testing.T) {
			var codes []string
			for _, w := range DeviceWarnings(test.device, &measure.GeneratorState{Node: &test.generator}, test.sameNode) {
				codes = append(codes, w.Code)
			}
			if got := strings.Join(codes, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// However many trials a run makes, evidence leaves room for the records.
func TestEvidenceRoom(t *testing.T) {
	instr := instructions()
	room := EvidenceRoom(instr, 0)
	if room < evidence.Bytes(seen(nil)) || room > maxRecordEvidence {
		t.Errorf("%d bytes for a trial of %d", room, evidence.Bytes(seen(nil)))
	}
	if got := EvidenceRoom(instr, maxEvidenceBytes); got != 0 {
		t.Errorf("%d bytes where all is taken", got)
	}
	if got := EvidenceRoom(measure.Instructions{}, 0); got != 0 {
		t.Errorf("%d bytes of nothing", got)
	}
	for sizes := 1; sizes <= 32; sizes++ {
		instr.Sizes = nil
		for i := range sizes {
			instr.Sizes = append(instr.Sizes, measure.FrameSize(64+i))
		}
		expected, taken, trials := ExpectedBytes(instr), 0, 0
		for range 5000 {
			room := EvidenceRoom(instr, taken)
			if room == 0 {
				break
			}
			taken += room
			trials++
		}
		if free := measure.MaximumResultsBytes - expected; taken > max(0, free/3) || taken > maxEvidenceBytes {
			t.Errorf("%d sizes: %d bytes of evidence in %d trials, %d are free", sizes, taken, trials, free)
		}
	}
}

// Records from older versions have no evidence, and are read unchanged.
func TestRecordsWithoutEvidence(t *testing.T) {
	text, err := json.Marshal(measure.Record{})
	if err != nil || strings.Contains(string(text), "evidence") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestPerFrame checks that processor time is divided by the frames of the trials in which it is
// known, in both directions, however long nothing was sent.
func TestPerFrame(t *testing.T) {
	record := func(sent uint64, packet *measure.Packet, change func(*measure.Evidence)) measure.Record {
		return measure.Record{
			Trial: measure.Trial{Packet: packet}, Evidence: seen(change),
			Outcome: measure.Outcome{Directions: []measure.DirectionOutcome{{SentFrames: sent, SentFragments: 3 * sent}, {SentFrames: sent}}},
		}
	}
	guest := func(e *measure.Evidence) {
		e.SoftirqThreadsMilliseconds = new(int64(40))
		e.Functions = []measure.FunctionEvidence{{
			Name: "fw", ElapsedMilliseconds: 2000, Guest: &measure.CPUTime{SoftirqMilliseconds: 600, StealMilliseconds: 20},
			Domain: &measure.DomainTime{VCPUMilliseconds: new(int64(800)), VhostMilliseconds: new(int64(500))},
		}}
	}
	waited := func(e *measure.Evidence) {
		e.ElapsedMilliseconds, e.Functions[0].ElapsedMilliseconds = 3000, 3000
	}
	for name, test := range map[string]struct {
		records []measure.Record
		node    *v1alpha1.NodeFrameCost
		sent    *int64
		r1      v1alpha1.FunctionCPU
	}{
		// 900 ms of softirq for 1,000,000 frames.
		"a pod": {
			[]measure.Record{record(500_000, nil, nil)},
			&v1alpha1.NodeFrameCost{UserNanoseconds: 150, SystemNanoseconds: 20, SoftirqNanoseconds: 900}, new(int64(1_000_000)),
			v1alpha1.FunctionCPU{ProcessNanosecondsPerFrame: new(int64(5))},
		},
		"it answered late": {
			[]measure.Record{record(500_000, nil, waited)},
			&v1alpha1.NodeFrameCost{UserNanoseconds: 150, SystemNanoseconds: 20, SoftirqNanoseconds: 900}, new(int64(1_000_000)),
			v1alpha1.FunctionCPU{ProcessNanosecondsPerFrame: new(int64(5))},
		},
		// 1800 ms for 4,000,000 frames.
		"two trials": {
			[]measure.Record{record(500_000, nil, nil), record(1_500_000, nil, nil)},
			&v1alpha1.NodeFrameCost{UserNanoseconds: 75, SystemNanoseconds: 10, SoftirqNanoseconds: 450}, new(int64(4_000_000)),
			v1alpha1.FunctionCPU{ProcessNanosecondsPerFrame: new(int64(3))},
		},
		"a virtual machine": {
			[]measure.Record{record(500_000, nil, guest)},
			&v1alpha1.NodeFrameCost{UserNanoseconds: 150, SystemNanoseconds: 20, SoftirqNanoseconds: 900, SoftirqThreadsNanoseconds: new(int64(40))}, new(int64(1_000_000)),
			v1alpha1.FunctionCPU{
				Guest:  &v1alpha1.GuestCPU{PerFrame: &v1alpha1.GuestFrameCost{SoftirqNanoseconds: 600, StealNanoseconds: 20}},
				Domain: &v1alpha1.DomainCPU{PerFrame: &v1alpha1.DomainFrameCost{VCPUNanoseconds: new(int64(800)), VhostNanoseconds: new(int64(500))}},
			},
		},
		// The function is known in one of two trials, the node in both.
		"a trial without the function": {
			[]measure.Record{record(500_000, nil, nil), record(500_000, nil, func(e *measure.Evidence) { e.Functions = nil })},
			&v1alpha1.NodeFrameCost{UserNanoseconds: 150, SystemNanoseconds: 20, SoftirqNanoseconds: 900}, new(int64(2_000_000)),
			v1alpha1.FunctionCPU{ProcessNanosecondsPerFrame: new(int64(5))},
		},
		// Fragments of the first direction alone are counted here.
		"fragments": {
			[]measure.Record{record(100_000, &measure.Packet{}, nil)},
			&v1alpha1.NodeFrameCost{UserNanoseconds: 500, SystemNanoseconds: 67, SoftirqNanoseconds: 3000}, new(int64(300_000)),
			v1alpha1.FunctionCPU{ProcessNanosecondsPerFrame: new(int64(17))},
		},
		"TCP, whose frames are not counted": {records: []measure.Record{{Evidence: seen(nil)}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := usedIn(test.records)
			f := got.Functions[0]
			cost := v1alpha1.FunctionCPU{ProcessNanosecondsPerFrame: f.ProcessNanosecondsPerFrame}
			if f.Guest != nil {
				cost.Guest, cost.Domain = &v1alpha1.GuestCPU{PerFrame: f.Guest.PerFrame}, &v1alpha1.DomainCPU{PerFrame: f.Domain.PerFrame}
			}
			if diff := cmp.Diff(test.node, got.Node.PerFrame) + cmp.Diff(test.sent, got.SentFrames) + cmp.Diff(test.r1, cost); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCPUOfTaggedFrames checks that a load with tagged frames has the use of all of its streams.
func TestCPUOfTaggedFrames(t *testing.T) {
	const streams = 3
	instr := taggedInstructions(streams)
	records, err := newBench(hardCap()).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		records[i].Evidence = seen(nil)
	}
	for _, c := range Results(instr, records).CPU {
		if c.Load != "" && c.Trials != streams {
			t.Errorf("load %s: the use of %d trials, want that of %d streams", c.Load, c.Trials, streams)
		}
	}
}

// TestFunctionCounters checks that a function's counters and the frames of the same trials are
// added up together.
func TestFunctionCounters(t *testing.T) {
	record := func(packet *measure.Packet, counters map[string]int64, directions ...measure.DirectionOutcome) measure.Record {
		return measure.Record{
			Trial: measure.Trial{Packet: packet}, Outcome: measure.Outcome{Directions: directions},
			Evidence: &measure.Evidence{Functions: []measure.FunctionEvidence{{Name: "fw", Counters: counters}}},
		}
	}
	both := []measure.DirectionOutcome{{SentFrames: 100}, {SentFrames: 50}}
	for name, test := range map[string]struct {
		records []measure.Record
		sent    *int64
		want    []v1alpha1.FunctionCounter
	}{
		"no counters": {records: []measure.Record{record(nil, nil, both...)}},
		"two trials": {
			[]measure.Record{record(nil, map[string]int64{"b": 149, "a": 0}, both...), record(nil, map[string]int64{"b": 150, "c": 150}, both...)},
			new(int64(300)), []v1alpha1.FunctionCounter{{Name: "a"}, {Name: "b", Value: 299}, {Name: "c", Value: 150}},
		},
		// A trial whose counters had no room in the results is in neither sum.
		"one without counters": {
			[]measure.Record{record(nil, map[string]int64{"a": 150}, both...), record(nil, nil, both...)},
			new(int64(150)), []v1alpha1.FunctionCounter{{Name: "a", Value: 150}},
		},
		"fragments": {
			[]measure.Record{record(&measure.Packet{}, map[string]int64{"a": 300}, measure.DirectionOutcome{SentFrames: 100, SentFragments: 300})},
			new(int64(300)), []v1alpha1.FunctionCounter{{Name: "a", Value: 300}},
		},
		"TCP": {[]measure.Record{record(nil, map[string]int64{"a": 8})}, nil, []v1alpha1.FunctionCounter{{Name: "a", Value: 8}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := usedIn(test.records)
			want := v1alpha1.FunctionCPU{Name: "fw", SentFrames: test.sent, Counters: test.want}
			got.Functions[0].DroppedFrames = nil
			if diff := cmp.Diff(want, got.Functions[0]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestOpenAgentsBecomeAWarning checks the warning about agents that answer everyone, also without an observer.
func TestOpenAgentsBecomeAWarning(t *testing.T) {
	got := DeviceWarnings(&measure.DeviceState{OpenAgents: []string{"function old", "neighbor stress"}}, nil, false)
	if len(got) != 1 || got[0].Code != v1alpha1.WarningAgentsAnswerEveryone || !strings.Contains(got[0].Message, "function old and neighbor stress") {
		t.Errorf("%+v", got)
	}
	if got := DeviceWarnings(&measure.DeviceState{}, nil, false); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
