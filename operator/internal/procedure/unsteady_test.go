package procedure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func messages(list []v1alpha1.Warning, code string) []string {
	var out []string
	for _, w := range list {
		if w.Code == code {
			out = append(out, w.Message)
		}
	}
	return out
}

func TestUnsteadyLatency(t *testing.T) {
	instr := repeatedInstructions(5)
	instr.Sizes = sizes(64)
	for name, test := range map[string]struct {
		spoil func(*measure.Record)
		want  []string
	}{
		"steady": {},
		"a long tail": {
			spoil: func(r *measure.Record) {
				if r.Load == "pdr90" && r.Repeat == 0 {
					r.Outcome.Directions[1].Latency.P999Nanoseconds = 5_000_000
				}
			},
			want: []string{"At load pdr90 one frame in a thousand took 1"},
		},
		"a long tail of too few frames": {
			spoil: func(r *measure.Record) {
				if r.Load == "idle" {
					r.Outcome.Directions[1].Latency.Samples = 1500
					r.Outcome.Directions[1].Latency.P999Nanoseconds = 5_000_000
				}
			},
		},
		"p99 scatters": {
			spoil: func(r *measure.Record) {
				if r.Load == "idle" {
					for i := range r.Outcome.Directions {
						r.Outcome.Directions[i].Latency.P99Nanoseconds = uint64(5000 + 2000*r.Repeat)
					}
				}
			},
			// The mean of 5000 to 13000 is 9000, the standard deviation 3162.
			want: []string{"At load idle the p99 delay scatters by 35 % of its mean over 5 repeats, from 5000 to 13000 ns."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(hardCap())
			b.spoil = test.spoil
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := messages(Results(instr, records).Warnings, v1alpha1.WarningUnsteadyLatency)
			if len(got) != len(test.want) {
				t.Fatalf("got %q", got)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], test.want[i]) {
					t.Errorf("got %q, want %q", got[i], test.want[i])
				}
			}
		})
	}
}

// twoStates forwards much less in every second trial.
type twoStates struct {
	simulated.Device
	slow *bool
}

func (d twoStates) Answer(q simulated.Question) simulated.Answer {
	device := d.Device
	if *d.slow {
		device = simulated.HardCap{CapacityFramesPerSecond: 300_000}
	}
	return device.Answer(q)
}

func TestTwoBandsOverRepeats(t *testing.T) {
	instr := repeatedInstructions(6)
	instr.Sizes, instr.Latency = sizes(64), nil
	slow := false
	b := newBench(twoStates{hardCap(), &slow})
	records, err := b.run(t, instr, func(_ []measure.Record, s Step) { slow = s.Repeat%2 == 1 })
	if err != nil {
		t.Fatal(err)
	}
	got := messages(Results(instr, records).Warnings, v1alpha1.WarningTwoBands)
	if len(got) != 3 || !strings.Contains(got[0], "The throughput of NDR fell into two bands") || !strings.Contains(got[2], "Under overload") {
		t.Errorf("got %q", got)
	}
}

// The rates that overloaded trials forwarded are in two bands when the load does not explain
// them.
func TestForwardingBands(t *testing.T) {
	type trial struct{ load, received uint64 }
	for name, test := range map[string]struct {
		trials []trial
		want   bool
	}{
		"two states":          {[]trial{{1000, 500}, {900, 501}, {950, 700}, {990, 702}, {910, 701}}, true},
		"collapse":            {[]trial{{2000, 500}, {1900, 501}, {950, 700}, {990, 702}, {910, 701}}, false},
		"one state":           {[]trial{{1000, 500}, {900, 501}, {950, 502}, {990, 500}, {910, 501}}, false},
		"without loss":        {[]trial{{500, 500}, {501, 501}, {700, 700}, {702, 702}, {701, 701}}, false},
		"an outlier":          {[]trial{{1000, 500}, {900, 701}, {950, 700}, {990, 702}, {910, 701}}, false},
		"too few trials":      {[]trial{{1000, 500}, {900, 501}, {950, 700}, {990, 702}}, false},
		"nothing was counted": {},
	} {
		t.Run(name, func(t *testing.T) {
			p := &part{phase: phase{measurement: measurementOf(measure.StageThroughput), size: measure.FrameSize(64)}}
			for _, tr := range test.trials {
				p.counted = append(p.counted, measure.Record{
					Trial: measure.Trial{IntendedFramesPerSecond: tr.load},
					Outcome: measure.Outcome{SendingNanoseconds: 1e9, Directions: []measure.DirectionOutcome{
						{IntendedFrames: tr.load, SentFrames: tr.load, ReceivedFrames: tr.received},
					}},
				})
			}
			w := &replay{instr: instructions(), parts: []*part{p}}
			if b, got := w.forwardingBands(measure.FrameSize(64)); got != test.want {
				t.Errorf("got %v, %+v", got, b)
			}
		})
	}
}

func TestStretchedTrials(t *testing.T) {
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Load == "idle" {
			r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtStretched, Detail: "the trial took 9s instead of 5s"})
		}
	}
	records, err := b.run(t, instructions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := messages(Results(instructions(), records).Warnings, v1alpha1.WarningStretchedTrials)
	if len(got) != 2 || !strings.HasSuffix(got[0], "the last because the trial took 9s instead of 5s (StretchedTrial).") {
		t.Errorf("got %q", got)
	}
}

func TestGeneratorWarnings(t *testing.T) {
	fallback := &measure.Description{Fallbacks: []string{"an inner veth pair carries the frames"}}
	shared := func(governors ...string) *measure.NodeFacts {
		return &measure.NodeFacts{CPUs: []int{0, 1}, OnlineCPUs: 2, ScalingGovernors: governors}
	}
	for name, test := range map[string]struct {
		state    *measure.GeneratorState
		sameNode bool
		want     []string
	}{
		"nothing known yet": {},
		"an old log":        {state: &measure.GeneratorState{Chain: &measure.Description{}}, sameNode: true},
		"the same fallback on both paths": {
			state: &measure.GeneratorState{Chain: fallback, Calibration: fallback},
			want:  []string{"TransmitFallback: About the generator: an inner veth pair carries the frames."},
		},
		"set for measuring": {
			state:    &measure.GeneratorState{Node: &measure.NodeFacts{CPUs: []int{2, 3}, OnlineCPUs: 8, IsolatedCPUs: []int{2, 3}, ScalingGovernors: []string{"performance"}}},
			sameNode: true,
		},
		"dedicated cores that are not isolated": {
			state:    &measure.GeneratorState{Node: &measure.NodeFacts{CPUs: []int{2, 3}, OnlineCPUs: 8, IsolatedCPUs: []int{3}}},
			sameNode: true,
			want:     []string{"NoCPUIsolation: 1 of the generator's 2 CPUs are not isolated from the kernel's scheduler, so other work may hold up a frame."},
		},
		"real time, limited, on shared CPUs": {
			state: &measure.GeneratorState{
				Calibration: &measure.Description{Scheduling: "RealTime"},
				Chain:       &measure.Description{Scheduling: "RealTime", RealTimeLimited: true},
				Node:        &measure.NodeFacts{CPUs: []int{0, 1}, OnlineCPUs: 2, IsolatedCPUs: []int{0, 1}},
			},
			want: []string{
				"RealTimeScheduling: The threads that send are scheduled in real time, and the node's kernel limits such threads, so it may hold back frames for some 50 ms of each second; set kernel.sched_rt_runtime_us to -1 there.",
				"RealTimeScheduling: The threads that send are scheduled in real time on a node that set no CPUs aside for the traffic pod (it may use all 2), so whatever else is on their CPUs has to wait; use the kubelet's static CPU manager policy.",
			},
		},
		"real time on an older kernel": {
			state: &measure.GeneratorState{
				Chain: &measure.Description{Scheduling: "RealTime"},
				Node:  &measure.NodeFacts{CPUs: []int{2, 3}, OnlineCPUs: 8, IsolatedCPUs: []int{2, 3}, Fingerprint: &measure.Fingerprint{Kernel: "6.1.0-18-amd64 #1 SMP"}},
			},
			want: []string{
				"RealTimeScheduling: The threads that send are scheduled in real time, and Linux before 6.5 may leave network work of their CPUs to ksoftirqd, which never runs next to them, so frames may stay in a device on those CPUs for as long as frames are sent; use a newer kernel, or scheduling Fair.",
			},
		},
		"an older kernel without real time": {
			state: &measure.GeneratorState{
				Chain: &measure.Description{Scheduling: "Fair"},
				Node:  &measure.NodeFacts{Fingerprint: &measure.Fingerprint{Kernel: "5.15.0 #1"}},
			},
		},
		"real time as it should be": {
			state: &measure.GeneratorState{
				Chain: &measure.Description{Scheduling: "RealTime"},
				Node:  &measure.NodeFacts{CPUs: []int{2, 3}, OnlineCPUs: 8, IsolatedCPUs: []int{2, 3}},
			},
		},
		"the limit, which ordinary threads do not meet": {
			state: &measure.GeneratorState{Chain: &measure.Description{Scheduling: "Fair", RealTimeLimited: true}},
		},
		"ports that delay their interrupts": {
			state: &measure.GeneratorState{Chain: &measure.Description{Ports: []measure.PortState{
				{Interface: "west0", InterruptMicroseconds: new(int64(50))},
				{Interface: "east0", InterruptMicroseconds: new(int64(0)), AdaptiveInterrupts: true},
			}}},
			want: []string{
				"InterruptModeration: The generator's port west0 delays its interrupts by up to 50µs, which is in the delay of frames that arrive there; set generator.xdp.interruptMicroseconds to 0.",
				"InterruptModeration: The generator's port east0 delays its interrupts by a time that depends on the traffic, which is in the delay of frames that arrive there; set generator.xdp.interruptMicroseconds to 0.",
			},
		},
		"ports that do not": {
			state: &measure.GeneratorState{Chain: &measure.Description{Ports: []measure.PortState{{Interface: "west0", InterruptMicroseconds: new(int64(0))}, {Interface: "veth"}}}},
		},
		"another node": {
			state: &measure.GeneratorState{Node: shared()},
			want:  []string{"NoCPUIsolation: 2 of the generator's 2 CPUs are not isolated from the kernel's scheduler, so other work may hold up a frame."},
		},
		"nothing is set": {
			state:    &measure.GeneratorState{Node: shared("performance", "powersave", "schedutil")},
			sameNode: true,
			want: []string{
				"FrequencyScaling: CPUs of the generator change their frequency with their load (scaling governor powersave and schedutil), so delays depend on what ran before; set the governor to performance.",
				"NoCPUIsolation: 2 of the generator's 2 CPUs are not isolated from the kernel's scheduler, so other work may hold up a frame.",
				"SharedCores: The generator may use every CPU of its node (2), and the chain runs on the same node: what one uses, the other lacks. Where the chain forwards on a core that sends, its limit is what the generator leaves of that core.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, w := range GeneratorWarnings(test.state, test.sameNode) {
				got = append(got, w.Code+": "+w.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
