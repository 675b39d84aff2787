package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func TestTrafficFacts(t *testing.T) {
	for name, c := range map[string]struct {
		traffic v1alpha1.Traffic
		want    []fact
	}{
		"one flow": {v1alpha1.Traffic{Flows: 1, FlowVariation: []v1alpha1.FlowField{v1alpha1.FlowSourcePort}}, nil},
		"in their turn": {v1alpha1.Traffic{Flows: 5, FlowVariation: []v1alpha1.FlowField{v1alpha1.FlowSourcePort}, FlowOrder: v1alpha1.FlowsSequential, FlowSeed: 1},
			[]fact{{"Flows", "5 of each direction, distinguished by SourcePort, one after the other"}}},
		"random": {v1alpha1.Traffic{Flows: 9, FlowVariation: []v1alpha1.FlowField{v1alpha1.FlowSourcePort, v1alpha1.FlowSourceAddress}, FlowOrder: v1alpha1.FlowsRandom, FlowSeed: 7},
			[]fact{{"Flows", "9 of each direction, distinguished by SourcePort and SourceAddress, in random order from seed 7"}}},
		"a mix": {v1alpha1.Traffic{IMIX: []v1alpha1.FrameMix{{Name: v1alpha1.MixSimple}}},
			[]fact{{"Mix SimpleIMIX", "7 of 64 bytes, 4 of 594 bytes, 1 of 1518 bytes, evenly spread, 362 bytes on average"}}},
		"a packet": {v1alpha1.Traffic{IPFamily: v1alpha1.FamilyIPv6, Packets: []v1alpha1.Packet{{PayloadBytes: 4096}}},
			[]fact{{"Packet of 4096 bytes", "sent in IP fragments, is named udp-4096; its loads, rates and counts are those of whole packets"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, trafficFacts(c.traffic), cmp.AllowUnexported(fact{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGeneratorPortInWords(t *testing.T) {
	for want, port := range map[string]v1alpha1.GeneratorPort{
		"":                                   {},
		"frames that it refuses are counted": {RefusedFrames: measure.RefusedCounted},
		"sends to 02:00:00:00:00:05, which answered for 198.18.0.2": {NextHop: "198.18.0.2", NextHopMACAddress: "02:00:00:00:00:05"},
		"may drop frames without a count, so missing frames may be its own; delays interrupts by up to 3 us; delays them by the traffic": {
			RefusedFrames: measure.RefusedUnproven, InterruptMicroseconds: new(int64(3)), AdaptiveInterrupts: true,
		},
	} {
		if got := generatorPortInWords(port, letters{micro: "u"}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestVLANsInWords(t *testing.T) {
	for want, g := range map[string]v1alpha1.GeneratorReport{
		"": {},
		"west 100, east 200; their 4 bytes are in rates on the wire, not in frame sizes": {WestVLAN: 100, EastVLAN: 200},
		"west none, east 7; their 4 bytes are in rates on the wire, not in frame sizes":  {EastVLAN: 7},
	} {
		if got := vlansInWords(&g); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	run, records := fixture(t)
	run.Status.Generator.WestVLAN = 100
	doc, err := Build(run, Source{Trials: records}, now)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Write(&got, doc, FormatTable, Options{}); err != nil || !strings.Contains(got.String(), "west 100, east none") {
		t.Errorf("%v: no tags in\n%s", err, got.String())
	}
}

func TestPacketsAreNamed(t *testing.T) {
	frame := v1alpha1.FrameResult{Size: "udp-4096", FrameBytes: 4142, Packet: &v1alpha1.PacketResult{PayloadBytes: 4096, Fragments: 3}}
	trial := measure.Trial{Size: "udp-4096", FrameBytes: 4142, Packet: &measure.Packet{PayloadBytes: 4096}}
	for _, got := range []string{frameName(frame), sentName(trial)} {
		if got != "udp-4096 4142" {
			t.Errorf("got %q", got)
		}
	}
}

func TestMixesAreNamed(t *testing.T) {
	doc := Document{Results: []v1alpha1.FrameResult{{
		Size: v1alpha1.MixSimple, FrameBytes: 362, Mix: v1alpha1.MixSimple, Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR"}},
		Latency: []v1alpha1.LatencyResult{{Load: "idle", Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: v1alpha1.DirectionResult{Direction: "Forward"}}}}},
	}}}
	for name, s := range map[string]section{
		"throughput": throughputSection(doc, asciiLetters), "latency": latencySection(doc, asciiLetters), "variation": variationSection(doc, asciiLetters),
	} {
		if got := s.rows[0][0]; got != "SimpleIMIX 362" {
			t.Errorf("%s: the frames are called %q", name, got)
		}
	}
	for _, f := range doc.figures() {
		if f.Size != v1alpha1.MixSimple {
			t.Errorf("%s is of size %q", f.Metric, f.Size)
		}
	}
}

func TestRatesOfUnequalDirections(t *testing.T) {
	for name, c := range map[string]struct {
		traffic v1alpha1.Traffic
		scope   RateScope
		words   string
	}{
		"equal":   {v1alpha1.Traffic{ReversePercent: 100}, EachDirection, "of each direction"},
		"one way": {v1alpha1.Traffic{ReversePercent: 10, Directions: v1alpha1.DirectionsForward}, EachDirection, "of each direction"},
		"unequal": {v1alpha1.Traffic{ReversePercent: 10, Directions: v1alpha1.DirectionsBoth}, ForwardDirection, "of the forward direction; the reverse one carries 10 % of them"},
	} {
		if scope, words := rateScope(c.traffic), ratesInWords(c.traffic); scope != c.scope || words != c.words {
			t.Errorf("%s: %s, %q", name, scope, words)
		}
	}
}
