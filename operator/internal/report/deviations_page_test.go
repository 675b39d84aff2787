package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// pageRows maps each row of docs/methodology/deviations.md, by the beginning of its first cell, to
// what a report says; "" where there is no deviation.
var pageRows = map[string]string{
	"a routing update before each trial":          "no update goes before a trial",
	"learning frames before each trial":           "no warm-up",
	"2 s after the last frame":                    "asks for 2 s for frames under way",
	"at least 5 s before the next trial":          "at least 5 s before the next trial",
	"full-length trials of at least 60 s":         "throughput PDR: full-length trials last 1 s",
	"shorter trials may search":                   "",
	"the highest rate with as many frames out":    "1000 ppm loss are allowed",
	"every trial counts":                          "50 % of the trials' time may exceed the loss",
	"no search, no stop rule":                     "bounds are at most 2 % apart",
	"frames that were not sent are not mentioned": "in trials that count (1) up to 0.05 % of the intended frames were not sent",
	"a trial counts once":                         "trials: 1 of ",
	"a frame that arrives was carried":            "loss: in trials that count (2) frames waited in a queue",
	"lost frames of all that were sent":           "loss is that of the worse direction",
	"one figure":                                  "the mean of 3 repeats",
	"at the throughput rate, which is known":      "is only a floor, RFC 2544 section 26.2 measures at the throughput rate: pdr50",
	"at the throughput rate":                      "at which RFC 2544 section 26.2 measures: idle, pdr50 and pdr90",
	"a stream of at least 120 s":                  "latency: trials last 5 s",
	"one tagged frame after 60 s":                 "frames are timed throughout",
	"at least 20 times":                           "one frame in each of 20 trials",
	"a second time with each tagged frame":        "a second test with each to a new destination network",
	"RFC 1242's latency":                          "from the time when a frame is due",
	"seven Ethernet sizes":                        "64, 512 and 1518 bytes were measured, RFC 2544 section 9.1 has 128, 256, 1024 and 1280 bytes too",
	"the device is not changed between tests":     "",
	"modifiers such as broadcast":                 "no modifiers such as broadcasts",
	"first one stream, then random":               "one stream in each direction; RFC 2544 section 12",
	"one frame size at a time":                    "frames: imix has frames of several sizes",
	"sizes that one frame carries":                "frames: udp-4096 is a packet in fragments",
	"both directions at the same time":            "frames ran in direction Forward alone",
	"the same rate from each direction":           "the reverse direction carried 10 % of the load",
	"the highest load is the medium's":            "receive rate, 64 bytes: the highest load is 5 frames/s",
	"no other load on the device":                 "noisy neighbors loaded the device's node",
}

// rowsOfPage returns the first cells of the page's tables.
func rowsOfPage(t *testing.T) (rows []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "methodology", "deviations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.Contains(cells[1], "---") || strings.TrimSpace(cells[1]) == "RFC 2544" {
			continue
		}
		rows = append(rows, strings.TrimSpace(cells[1]))
	}
	return rows
}

// worst returns what reports say of runs that differ in everything.
func worst(t *testing.T) string {
	t.Helper()
	run, records := fixture(t)
	spec := run.Spec.Experiment
	m := &spec.Measurements
	m.Repeats, m.Throughput.Goals[1].ExceedPercent = 3, 50
	spec.NoisyNeighbors = []v1alpha1.NoisyNeighbor{{Name: "noise"}}
	records = slices.DeleteFunc(records, func(r measure.Record) bool { return r.Stage == measure.StageWarmUp })
	searched := slices.IndexFunc(records, func(r measure.Record) bool {
		return r.Stage == measure.StageThroughput && r.Outcome.Valid() && r.Trial.IntendedFramesPerSecond > 0
	})
	// A receive rate counts frames in the same way.
	rate := records[searched]
	rate.Index, rate.Stage, rate.Outcome.Hop = len(records), "ReceiveRate", measure.HopTap
	rate.Outcome.Directions = slices.Clone(rate.Outcome.Directions)
	for i := range rate.Outcome.Directions {
		d := &rate.Outcome.Directions[i]
		d.QueueGrowthNanoseconds, d.SentFrames = rate.Outcome.SendingNanoseconds/2, max(d.SentFrames, d.IntendedFrames)
	}
	records = append(records, rate)
	outcome := &records[searched].Outcome
	outcome.Hop = measure.HopInline
	for i := range outcome.Directions {
		d := &outcome.Directions[i]
		d.DrainNanoseconds = outcome.SendingNanoseconds / 2
		d.SentFrames = d.IntendedFrames - d.IntendedFrames/2000
		d.ReceivedFrames = min(d.ReceivedFrames, d.SentFrames)
	}
	for i := range records {
		// Only that one lacks frames.
		for j := range records[i].Outcome.Directions {
			if d := &records[i].Outcome.Directions[j]; i != searched && d.SentFrames < d.IntendedFrames {
				d.SentFrames = d.IntendedFrames
			}
		}
	}
	first := &run.Status.Results[0]
	first.ReceiveRate = &v1alpha1.ReceiveRateResult{IntendedFramesPerSecond: 5, MaximumOrigin: v1alpha1.MaximumCalibration}
	first.Latency[1].Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtLoadOfFloor}
	first.Latency[0].Directions[0].DelaySinceDeparture = &v1alpha1.DelayQuantiles{P50Nanoseconds: 1}
	for i := range run.Status.Results {
		for j := range run.Status.Results[i].Latency {
			run.Status.Results[i].Latency[j].Directions = first.Latency[0].Directions[:1]
		}
	}
	run.Status.Results = append(run.Status.Results, v1alpha1.FrameResult{Size: "imix", Mix: "imix"}, v1alpha1.FrameResult{Size: "udp-4096", Packet: &v1alpha1.PacketResult{}})
	said := saidOf(t, spec, run.Status.Results, records)

	// A latency has tagged frames or not, and traffic runs one way or both.
	m.Latency.TaggedFrame = &v1alpha1.TaggedFrame{Streams: 1, StreamMilliseconds: 1, AfterMilliseconds: 1}
	spec.Traffic.Directions = v1alpha1.DirectionsForward
	said += saidOf(t, spec, run.Status.Results, records)
	spec.Traffic.Directions, spec.Traffic.ReversePercent = v1alpha1.DirectionsBoth, 10
	return said + saidOf(t, spec, run.Status.Results, records)
}

func saidOf(t *testing.T, spec v1alpha1.Experiment, results []v1alpha1.FrameResult, records []measure.Record) string {
	t.Helper()
	d, err := newDone(spec, results, records, nil)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(d.deviations(), "\n") + "\n"
}

// TestEveryDeviationOfThePageIsReported checks that a report can say each row of the page.
func TestEveryDeviationOfThePageIsReported(t *testing.T) {
	said, used := worst(t), map[string]bool{}
	for _, row := range rowsOfPage(t) {
		best := ""
		for start := range pageRows {
			if strings.HasPrefix(row, start) && len(start) > len(best) {
				best = start
			}
		}
		if best == "" {
			t.Errorf("row %q of the page has no sentence of a report", row)
			continue
		}
		if used[best] = true; !strings.Contains(said, pageRows[best]) {
			t.Errorf("row %q: no report says %q", row, pageRows[best])
		}
	}
	if len(used) != len(pageRows) {
		t.Errorf("the page has %d rows of %d", len(used), len(pageRows))
	}
	if t.Failed() {
		t.Log(said)
	}
}

// TestDeviationsOfAConformingRun checks that a run as RFC 2544 has it lists only what no setting
// changes.
func TestDeviationsOfAConformingRun(t *testing.T) {
	spec := v1alpha1.Experiment{Measurements: v1alpha1.Measurements{
		Throughput: &v1alpha1.Throughput{Method: v1alpha1.MethodRFC2544, Goals: []v1alpha1.Goal{{Name: "NDR", TrialMilliseconds: 60_000}}},
	}, Traffic: v1alpha1.Traffic{Directions: v1alpha1.DirectionsBoth, ReversePercent: 100}}
	var results []v1alpha1.FrameResult
	for _, size := range rfc2544Sizes {
		results = append(results, v1alpha1.FrameResult{Size: count(size), FrameBytes: size})
	}
	trial := func(stage measure.Stage) measure.Record {
		return measure.Record{
			Stage: stage, Trial: measure.Trial{IntendedFramesPerSecond: 10, SettleNanoseconds: 7e9},
			Outcome: measure.Outcome{SendingNanoseconds: 1e9, Directions: []measure.DirectionOutcome{{IntendedFrames: 10, SentFrames: 10}}},
		}
	}
	// The time before a fixed load is in no figure, whatever it lacked.
	discarded := trial("Discard")
	discarded.Load, discarded.Outcome.Directions[0].SentFrames = "video", 5
	got := saidOf(t, spec, results, []measure.Record{trial(measure.StageWarmUp), trial(measure.StageThroughput), discarded})
	for _, want := range []string{"one stream in each direction", "loss is that of the worse direction", "in any case"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(got, "\n"); n != 3 {
		t.Errorf("%d deviations, want 3:\n%s", n, got)
	}
}

// TestUnsentFramesOfFixedLoads checks that trials at a load are among those that lack frames.
func TestUnsentFramesOfFixedLoads(t *testing.T) {
	lacking := func(stage measure.Stage) measure.Record {
		return measure.Record{Stage: stage, Load: "video", Outcome: measure.Outcome{
			SendingNanoseconds: 1e9, Directions: []measure.DirectionOutcome{{IntendedFrames: 10, SentFrames: 5}},
		}}
	}
	d, err := newDone(v1alpha1.Experiment{}, nil, []measure.Record{lacking(measure.StageWarmUp), lacking("Discard"), lacking("FixedLoad"), lacking(measure.StageLatency)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(d.unsent(), ""); !strings.HasPrefix(got, "in trials that count (2) up to 50 % of") {
		t.Error(got)
	}
}
