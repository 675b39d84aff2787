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

func tcpOnly(streams ...int32) measure.Instructions {
	return measure.Instructions{
		LinkBitsPerSecond: 10_000_000_000, Calibration: &measure.Path{}, TCPPath: &measure.TCPPath{},
		Measurements: v1alpha1.Measurements{
			SettleMilliseconds: 100, WarmUpMilliseconds: new(int32(1000)), Repeats: 2,
			TCP: &v1alpha1.TCP{
				Streams: streams, DurationSeconds: 10, OmitSeconds: new(int32(2)), Directions: v1alpha1.DirectionsBoth, CongestionControl: "reno",
			},
		},
	}
}

// tcpRecord returns a trial in which each direction carries a rate of bits/s.
func tcpRecord(index int, streams int32, repeat int, rate int64) measure.Record {
	direction := func(name measure.Direction) measure.TCPDirectionOutcome {
		return measure.TCPDirectionOutcome{
			Direction: name, SentBytes: rate / 8 * 10, SentNanoseconds: 10e9, ReceivedBytes: rate / 8 * 10, ReceivedNanoseconds: 10e9,
			Retransmits: int64(index), RTTMinNanoseconds: 100 - int64(index), RTTMeanNanoseconds: 200, RTTMaxNanoseconds: 300 + int64(index),
			SenderCPUPartsPerMillion: 500_000, ReceiverCPUPartsPerMillion: 890_000, MaximumSegmentBytes: 1000, CongestionControl: "reno",
			Intervals: []measure.TCPInterval{{StartNanoseconds: 0, Nanoseconds: 1e9, Bytes: rate / 8}},
		}
	}
	return measure.Record{
		Index: index, Stage: measure.StageTCP, Load: tcpLoad(streams), Repeat: repeat,
		Trial: measure.Trial{TCP: &measure.TCPTrial{Streams: int(streams)}},
		Outcome: measure.Outcome{TCP: &measure.TCPOutcome{
			Directions: []measure.TCPDirectionOutcome{direction(measure.Forward), direction(measure.Reverse)},
			Ends:       []measure.TCPEnd{{Name: "west"}, {Name: "east"}},
		}},
	}
}

// TCP alone needs no frame size: no calibration, no warm-up, and each repeat measures every
// number of connections.
func TestTCPAlone(t *testing.T) {
	instr := tcpOnly(1, 4)
	var records []measure.Record
	for i, want := range []struct {
		streams int32
		repeat  int
	}{{1, 0}, {4, 0}, {1, 1}, {4, 1}} {
		step, err := Next(instr, records)
		if err != nil || step.Done {
			t.Fatalf("step %d: %+v, %v", i, step, err)
		}
		wanted := &measure.TCPTrial{
			Streams: int(want.streams), OmitNanoseconds: 2e9, Directions: []measure.Direction{measure.Forward, measure.Reverse},
			TCPSettings: measure.TCPSettings{CongestionControl: "reno"},
		}
		if step.Path != PathEndpoints || step.Stage != measure.StageTCP || step.Repeat != want.repeat || step.Trial.Duration() != 10*time.Second {
			t.Errorf("step %d is %+v", i, step)
		}
		if diff := cmp.Diff(wanted, step.Trial.TCP); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
		if p := Progress(instr, records); !p.Calibrated || p.Percent != 25*i {
			t.Errorf("step %d: progress is %+v", i, p)
		}
		records = append(records, tcpRecord(i, want.streams, want.repeat, 1_000_000_000+int64(want.repeat)*2_000_000))
	}
	if step, err := Next(instr, records); err != nil || !step.Done {
		t.Errorf("at the end: %+v, %v", step, err)
	}
	figures := Results(instr, records)
	if len(figures.Frames) != 0 || figures.Summary != nil || figures.TCP == nil || len(figures.TCP.Streams) != 2 {
		t.Fatalf("figures are %+v", figures)
	}
	got := figures.TCP.Streams[1].Directions[1]
	if got.Direction != "Reverse" || got.GoodputBitsPerSecond != 1_001_000_000 || got.Retransmits != 2 {
		t.Errorf("got %+v", got)
	}
	// 1.25 GB and one segment of 1000 bytes again in the first repeat, three in the other.
	if got.EfficiencyPartsPerMillion != 999_998 {
		t.Errorf("efficiency is %d", got.EfficiencyPartsPerMillion)
	}
	if diff := cmp.Diff(&v1alpha1.TCPRoundTripTime{MinNanoseconds: 97, MeanNanoseconds: 200, MaxNanoseconds: 303}, got.RoundTripTime); diff != "" {
		t.Error(diff)
	}
	if len(got.Statistics) != 2 || got.Statistics[0].Mean != 1_001_000_000 || got.Statistics[1].Maximum != 3 {
		t.Errorf("statistics are %+v", got.Statistics)
	}
	if len(figures.Warnings) != 0 {
		t.Errorf("warnings are %+v", figures.Warnings)
	}
}

// TCP comes after everything that is measured for frames.
func TestTCPComesLast(t *testing.T) {
	instr := tcpOnly(1)
	instr.Sizes = sizes(64, 512)
	instr.ReceiveRate = &v1alpha1.ReceiveRate{Trials: 1, TrialMilliseconds: 1000}
	list := phases(instr)
	var tcp []int
	for i, ph := range list {
		if ph.stage() == measure.StageTCP {
			tcp = append(tcp, i)
		}
	}
	if diff := cmp.Diff([]int{len(list) - 2, len(list) - 1}, tcp); diff != "" {
		t.Errorf("places of TCP among %d phases: %s", len(list), diff)
	}
}

func TestTCPFailures(t *testing.T) {
	instr := tcpOnly(1)
	silent := tcpRecord(0, 1, 0, 1_000_000)
	silent.Outcome.TCP.Directions[1].ReceivedBytes = 0
	if _, err := Next(instr, []measure.Record{silent}); measure.ReasonOf(err) != v1alpha1.ReasonChainFailed {
		t.Errorf("nothing received: %v", err)
	}
	frames := tcpRecord(0, 1, 0, 1_000_000)
	frames.Outcome.TCP = nil
	if _, err := Next(instr, []measure.Record{frames}); !errors.Is(err, ErrRecords) {
		t.Errorf("a record without TCP: %v", err)
	}
	for name, spoil := range map[string]func(*measure.Instructions){
		"no number":   func(i *measure.Instructions) { i.TCP.Streams = nil },
		"twice":       func(i *measure.Instructions) { i.TCP.Streams = []int32{2, 2} },
		"no ends":     func(i *measure.Instructions) { i.TCPPath = nil },
		"no duration": func(i *measure.Instructions) { i.TCP.DurationSeconds = 0 },
	} {
		instr := tcpOnly(1)
		spoil(&instr)
		if _, err := Next(instr, nil); !errors.Is(err, ErrInstructions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	instr.TCP = nil
	if _, err := Next(instr, nil); !errors.Is(err, ErrInstructions) {
		t.Errorf("nothing asked for: %v", err)
	}
}

func TestTCPWarnings(t *testing.T) {
	instr := tcpOnly(1)
	instr.Repeats = 1
	record := tcpRecord(0, 1, 0, 1_000_000)
	record.Outcome.TCP.Directions[0].ReceiverCPUPartsPerMillion = 970_000
	record.Outcome.TCP.Ends[0].Offloads = []string{"TSO", "GRO"}
	var codes []string
	for _, warning := range Results(instr, []measure.Record{record}).Warnings {
		codes = append(codes, warning.Code)
	}
	if diff := cmp.Diff([]string{v1alpha1.WarningEndpointCeiling, v1alpha1.WarningSegmentationOffload}, codes); diff != "" {
		t.Error(diff)
	}
}

// A series of TCP trials that cannot fit is refused by the plan.
func TestTCPTakesRoom(t *testing.T) {
	instr := tcpOnly(1, 2, 3, 4)
	if got := ExpectedBytes(instr); got != 8*(tcpRecordBytes+2*tcpDirectionBytes) {
		t.Errorf("%d bytes are expected", got)
	}
}

// The expected size of a record is enough for the longest.
func TestTCPRecordSize(t *testing.T) {
	record := tcpRecord(999, 128, 19, 100_000_000_000)
	record.Measurer = "a-measurer-whose-name-has-as-many-characters-as-63-allow-abcde"
	record.Trial.TCP.Directions = []measure.Direction{measure.Forward, measure.Reverse}
	record.Outcome.TCP.Ends = []measure.TCPEnd{
		{Name: "west", Program: measure.Program{Name: measure.ProgramIperf3, Version: "3.12.1"}, ThreadPerConnection: true, MTUBytes: 9000, Offloads: []string{"TSO", "GSO", "GRO", "LRO"}},
		{Name: "east", Program: measure.Program{Name: measure.ProgramIperf3, Version: "3.12.1"}, ThreadPerConnection: true, MTUBytes: 9000, Offloads: []string{"TSO", "GSO", "GRO", "LRO"}},
	}
	for i := range record.Outcome.TCP.Directions {
		d := &record.Outcome.TCP.Directions[i]
		d.Intervals = nil
		for range measure.MaximumTCPIntervals {
			d.Intervals = append(d.Intervals, measure.TCPInterval{
				StartNanoseconds: 3_420_000_123_456, Nanoseconds: 180_000_123_456, Bytes: 2_250_000_000_000, Retransmits: 99_999_999,
			})
		}
	}
	text, err := json.Marshal(record)
	if most := tcpRecordBytes + 2*tcpDirectionBytes; err != nil || len(text) > most {
		t.Errorf("a record takes %d bytes, %d are expected at most (%v)", len(text), most, err)
	}
}

// One thread is at its limit with one CPU, several with as many.
func TestThreads(t *testing.T) {
	for threading, want := range map[v1alpha1.Threading]int64{v1alpha1.ThreadingSingle: 1, v1alpha1.ThreadingPerConnection: 4, "": 1} {
		if got := threads([]v1alpha1.TCPEnd{{Threading: v1alpha1.ThreadingPerConnection}, {Threading: threading}}, 4); got != want {
			t.Errorf("%q: %d threads, want %d", threading, got, want)
		}
	}
}

// What an end says about its program is in the result as fields.
func TestTCPEnds(t *testing.T) {
	got := tcpEnds([]measure.TCPEnd{
		{Name: "west", Program: measure.Program{Name: measure.ProgramIperf3, Version: "3.12"}, MTUBytes: 1500},
		{Name: "east", Program: measure.Program{Name: measure.ProgramIperf3, Version: strings.Repeat("3", 40)}, ThreadPerConnection: true, Offloads: []string{"TSO"}},
		{Name: "west", Program: measure.Program{Name: measure.ProgramTRex, Version: "v3.08"}},
		{Name: "east"},
	})
	want := []v1alpha1.TCPEnd{
		{Name: "west", Program: &v1alpha1.Program{Name: v1alpha1.ProgramIperf3, Version: "3.12"}, Threading: v1alpha1.ThreadingSingle, MTUBytes: 1500},
		{
			Name: "east", Program: &v1alpha1.Program{Name: v1alpha1.ProgramIperf3, Version: strings.Repeat("3", 29) + "..."},
			Threading: v1alpha1.ThreadingPerConnection, Offloads: []string{"TSO"},
		},
		{Name: "west", Program: &v1alpha1.Program{Name: v1alpha1.ProgramTRex, Version: "v3.08"}},
		{Name: "east"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each number of connections has what the chain used, over all repeats; what is missing is
// reported.
func TestTCPUse(t *testing.T) {
	instr := tcpOnly(1, 4)
	records := []measure.Record{tcpRecord(0, 1, 0, 1e9), tcpRecord(1, 4, 0, 3e9), tcpRecord(2, 1, 1, 1e9), tcpRecord(3, 4, 1, 3e9)}
	if figures := Results(instr, records); figures.CPU != nil {
		t.Errorf("a CPU use that was not measured: %+v", figures.CPU)
	}
	for i, softirq := range []int64{300, 1200, 500, 1400} {
		records[i].Evidence = seen(func(e *measure.Evidence) { e.Node.SoftirqMilliseconds = softirq })
	}
	records[3].Evidence.Notes = []string{"function r1 did not answer: it took too long"}
	figures := Results(instr, records)
	for i, want := range []int64{400, 1300} {
		got := figures.CPU[i]
		if got.Metric != v1alpha1.MetricTCPGoodput || got.Streams != figures.TCP.Streams[i].Streams || got.Trials != 2 || got.Node.SoftirqMilliCPU != want || len(got.Functions) != 1 {
			t.Errorf("%d connections: %+v, want %d milli-CPU in softirq", figures.TCP.Streams[i].Streams, got, want)
		}
	}
	missing := 0
	for _, w := range figures.Warnings {
		if w.Code == v1alpha1.WarningEvidenceMissing {
			missing++
			if w.Size != "" || !strings.Contains(w.Message, "In 1 of 4 trials") {
				t.Errorf("%+v", w)
			}
		}
	}
	if missing != 1 {
		t.Errorf("%d warnings: %+v", missing, figures.Warnings)
	}
}
