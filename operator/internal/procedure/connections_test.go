package procedure

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func connectionsOnly() measure.Instructions {
	load := func(name string, held *int64) v1alpha1.ConnectionsLoad {
		return v1alpha1.ConnectionsLoad{
			Name: name, DurationSeconds: 10, ConnectionsPerSecond: 1000, RequestBytes: 128, ResponseBytes: 1024, ConcurrentConnections: held,
		}
	}
	return measure.Instructions{
		LinkBitsPerSecond: 10_000_000_000, Stateful: &measure.Stateful{},
		Measurements: v1alpha1.Measurements{
			SettleMilliseconds: 100, Repeats: 2,
			Connections: &v1alpha1.Connections{Loads: []v1alpha1.ConnectionsLoad{load("web", nil), load("table", new(int64(5000)))}},
		},
	}
}

func connectionsRecord(index int, load string, repeat int, o measure.ConnectionsOutcome, doubts ...measure.Doubt) measure.Record {
	o.CountedNanoseconds, o.Program = 10e9, measure.Program{Name: measure.ProgramTRex, Version: "v3.08"}
	return measure.Record{
		Index: index, Stage: measure.StageConnections, Load: load, Repeat: repeat,
		Trial: measure.Trial{Connections: &measure.ConnectionsTrial{}}, Outcome: measure.Outcome{Connections: &o, Doubts: doubts},
	}
}

func TestConnections(t *testing.T) {
	instr := connectionsOnly()
	drops := measure.Doubt{Code: measure.DoubtReceiveDrops, Detail: "port west dropped 5 packets", Invalid: true}
	web := measure.ConnectionsOutcome{
		CountedAttempts: 10_000, CountedEstablished: 9990, ForwardBytes: 1_280_000, ReverseBytes: 10_240_000,
		Attempts: 11_500, Established: 11_490, Completed: 11_480, Reset: 10, TimedOut: 10, Concurrent: 500, Retransmits: 3, GeneratorCPUPartsPerMillion: 100_000,
	}
	slow := web
	slow.CountedAttempts, slow.CountedEstablished, slow.Concurrent, slow.GeneratorCPUPartsPerMillion = 9701, 9601, 490, 990_000
	table := measure.ConnectionsOutcome{Attempts: 5000, Established: 5000, Completed: 4990, Reset: 10, Concurrent: 5000, HeldAtEnd: 4995}
	list := []measure.Record{
		connectionsRecord(0, "web", 0, web, drops), connectionsRecord(1, "web", 0, web), connectionsRecord(2, "table", 0, table),
		connectionsRecord(3, "web", 1, slow), connectionsRecord(4, "table", 1, table),
	}
	for i, want := range []struct {
		load   string
		repeat int
	}{{"web", 0}, {"web", 0}, {"table", 0}, {"web", 1}, {"table", 1}} {
		step, err := Next(instr, list[:i])
		if err != nil || step.Done || step.Path != PathStateful || step.Stage != measure.StageConnections || step.Load != want.load || step.Repeat != want.repeat {
			t.Fatalf("step %d: %+v, %v", i, step, err)
		}
		if step.Trial.Duration() != 10*time.Second || step.Trial.Connections.ConnectionsPerSecond != 1000 {
			t.Errorf("step %d is %+v", i, step.Trial)
		}
	}
	if step, err := Next(instr, list); err != nil || !step.Done {
		t.Fatalf("at the end: %+v, %v", step, err)
	}
	figures := Results(instr, list)
	got := figures.Connections
	if got == nil || len(got.Loads) != 2 || *got.Program != (v1alpha1.Program{Name: v1alpha1.ProgramTRex, Version: "v3.08"}) || len(figures.Frames) != 0 {
		t.Fatalf("figures are %+v", figures)
	}
	statistics := got.Loads[0].Statistics
	got.Loads[0].Statistics = nil
	want := []v1alpha1.ConnectionsLoadResult{
		{
			Name: "web", IntendedConnectionsPerSecond: 1000, AttemptedConnectionsPerSecond: new(int64(985)), EstablishedConnectionsPerSecond: new(int64(979)),
			ConcurrentConnections: 490, Attempted: 23_000, Established: 22_980, Completed: 22_960, Reset: 20, TimedOut: 20, FailedPartsPerMillion: 1740,
			ForwardBitsPerSecond: 1_024_000, ReverseBitsPerSecond: 8_192_000, Retransmits: 6, GeneratorCPUPartsPerMillion: 990_000,
			Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtEndpointCeiling, v1alpha1.DoubtLoadNotReached},
		},
		{
			Name: "table", IntendedConnectionsPerSecond: 1000, IntendedConcurrentConnections: new(int64(5000)), HeldConnections: new(int64(4995)),
			ConcurrentConnections: 5000, Attempted: 10_000, Established: 10_000, Completed: 9980, Reset: 20, FailedPartsPerMillion: 2000,
		},
	}
	if diff := cmp.Diff(want, got.Loads); diff != "" {
		t.Errorf("loads (-want +got):\n%s", diff)
	}
	if len(statistics) != 1 || statistics[0].Mean != 979 || statistics[0].Minimum != 960 || statistics[0].Maximum != 999 {
		t.Errorf("statistics are %+v", statistics)
	}
	codes := map[string]string{}
	for _, w := range figures.Warnings {
		codes[w.Code] += w.Message
	}
	for code, words := range map[string]string{
		v1alpha1.WarningInvalidTrials:   "port west dropped 5 packets",
		v1alpha1.WarningLoadNotReached:  "At load web the generator began 985 of 1000 connections/s",
		v1alpha1.WarningEndpointCeiling: "At load web the generator's threads",
	} {
		if !strings.Contains(codes[code], words) {
			t.Errorf("%s says %q", code, codes[code])
		}
	}
	if len(codes) != 3 {
		t.Errorf("warnings are %v", codes)
	}
}

// A generator that opens the connections to hold too late causes a warning.
func TestConnectionsOpenedLate(t *testing.T) {
	instr := connectionsOnly()
	instr.Repeats, instr.Connections.Loads = 1, instr.Connections.Loads[1:]
	for late, want := range map[int64]int{50: 0, 51: 1} {
		o := measure.ConnectionsOutcome{CountedAttempts: late, Attempts: 5000, Established: 5000, Completed: 5000, Concurrent: 5000, HeldAtEnd: 5000}
		warnings := Results(instr, []measure.Record{connectionsRecord(0, "table", 0, o)}).Warnings
		if len(warnings) != want || want == 1 && (warnings[0].Code != v1alpha1.WarningLoadNotReached || !strings.Contains(warnings[0].Message, "opened 51 of 5000 connections late")) {
			t.Errorf("%d late: %+v", late, warnings)
		}
	}
}

func TestConnectionsFail(t *testing.T) {
	instr := connectionsOnly()
	silent := connectionsRecord(0, "web", 0, measure.ConnectionsOutcome{CountedAttempts: 10, Attempts: 10, TimedOut: 10})
	if _, err := Next(instr, []measure.Record{silent}); measure.ReasonOf(err) != v1alpha1.ReasonChainFailed {
		t.Errorf("nothing established: %v", err)
	}
	other := silent
	other.Outcome.Connections, other.Outcome.TCP = nil, &measure.TCPOutcome{}
	if _, err := Next(instr, []measure.Record{other}); !errors.Is(err, ErrRecords) {
		t.Errorf("another outcome: %v", err)
	}
	for name, change := range map[string]func(*measure.Instructions){
		"no generator":       func(i *measure.Instructions) { i.Stateful = nil },
		"no load":            func(i *measure.Instructions) { i.Connections.Loads = nil },
		"a name twice":       func(i *measure.Instructions) { i.Connections.Loads[1].Name = "web" },
		"no rate":            func(i *measure.Instructions) { i.Connections.Loads[0].ConnectionsPerSecond = 0 },
		"less than a second": func(i *measure.Instructions) { i.Connections.Loads[0].DurationSeconds = 0 },
	} {
		changed := connectionsOnly()
		change(&changed)
		if _, err := Next(changed, nil); !errors.Is(err, ErrInstructions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Connections come after everything else, and their time is known before: connections to hold are
// opened, held, and ended at the rate at which they were opened.
func TestConnectionsComeLast(t *testing.T) {
	instr := connectionsOnly()
	instr.Repeats = 1
	instr.TCP = tcpOnly(1).TCP
	var stages []measure.Stage
	for _, ph := range phases(instr) {
		stages = append(stages, ph.stage())
	}
	if diff := cmp.Diff([]measure.Stage{measure.StageTCP, measure.StageConnections, measure.StageConnections}, stages); diff != "" {
		t.Error(diff)
	}
	instr.TCP = nil
	// 10 s, and 10 s with 5 s before and after, each with a trial's overhead.
	if p := Progress(instr, nil); p.RemainingSeconds != 39 || p.Stage != "connections at load web" {
		t.Errorf("progress is %+v", p)
	}
	text, err := json.Marshal(connectionsRecord(100_000, "a-load-with-a-long-na", 9, measure.ConnectionsOutcome{
		CountedAttempts: 1 << 40, CountedEstablished: 1 << 40, ForwardBytes: 1 << 50, ReverseBytes: 1 << 50, Attempts: 1 << 40, Established: 1 << 40,
		Completed: 1 << 40, Reset: 1 << 40, TimedOut: 1 << 40, Unfinished: 1 << 40, Concurrent: 1 << 30, HeldAtEnd: 1 << 30, Retransmits: 1 << 40,
	}))
	if err != nil || len(text) > connectionsRecordBytes {
		t.Errorf("a record takes %d bytes: %v", len(text), err)
	}
}
