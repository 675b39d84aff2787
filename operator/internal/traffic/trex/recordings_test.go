package trex

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/connection"
)

// answers returns those to one method in a recording, read into T.
func answers[T any](t *testing.T, recording, method string) []T {
	t.Helper()
	var all []T
	for _, turn := range replay.Load(t, recording).Turns() {
		if _, refused := turn.Answer.Refused(); turn.Call.Method != method || refused {
			continue
		}
		text, err := json.Marshal(turn.Answer.Result)
		if err != nil {
			t.Fatal(err)
		}
		var one T
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatalf("%s: %v in %.300s", recording, err, text)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no answer to %s", recording, method)
	}
	return all
}

// lastWith returns the last answer that has a group.
func lastWith(t *testing.T, recording string, group int) pgidStatistics {
	t.Helper()
	for _, s := range slices.Backward(answers[pgidStatistics](t, recording, "get_pgid_stats")) {
		if _, there := s.timings[group]; there {
			return s
		}
	}
	t.Fatalf("%s has no group %d", recording, group)
	return pgidStatistics{}
}

// A path that loses a known part: what is missing is tp - rp. TRex's own count of drops
// misses the tail.
func TestRecordedLoss(t *testing.T) {
	seen := lastWith(t, "05-loss", 10)
	d := &Driver{ports: [2]int{0, 1}}
	forward, reverse := streamTo(measure.Forward), streamTo(measure.Reverse)
	d.streams = [2]*measure.Stream{&forward, &reverse}
	for direction, want := range []measure.DirectionOutcome{
		{SentFrames: 8001 + 2001, ReceivedFrames: 3948 + 1982},
		{SentFrames: 8001 + 2001, ReceivedFrames: 8001 + 2001},
	} {
		s := schedule{direction: direction, parts: []part{{purpose: load, group: 1 + direction}, {purpose: timed, group: 10 + direction}}}
		got, err := d.direction(s, reading{pgids: seen})
		if err != nil {
			t.Fatal(err)
		}
		if got.SentFrames != want.SentFrames || got.ReceivedFrames != want.ReceivedFrames ||
			got.DuplicateFrames != 0 || got.ReorderedFrames != 0 {
			t.Errorf("%s: %+v", got.Direction, got)
		}
	}
	if !d.coarse {
		t.Error("a server without HdrHistogram was not noticed")
	}
}

// In every answer of a server with --hdrh, its two histograms agree: each bucket of the
// coarse one holds as many delays as the fine one has in its bounds, and the number below
// 10 us is what is missing of the packets received.
func TestRecordedHistogramsAgree(t *testing.T) {
	compared := 0
	for _, recording := range []string{"03-udp64-both-hdrh", "04-imix-vm-ipv6"} {
		for _, s := range answers[pgidStatistics](t, recording, "get_pgid_stats") {
			for group, timing := range s.timings {
				var received uint64
				for _, n := range s.groups[group].Received {
					received += n
				}
				if timing.Latency.HDR == "" || received == 0 {
					continue
				}
				compared++
				fine, err := distributionOf(timing, received)
				if err != nil {
					t.Fatal(err)
				}
				timing.Latency.HDR = ""
				coarse, err := distributionOf(timing, received)
				if err != nil {
					t.Fatal(err)
				}
				compareDistributions(t, recording, fine, coarse, received)
			}
		}
	}
	if compared < 4 {
		t.Errorf("compared %d answers", compared)
	}
}

func compareDistributions(t *testing.T, recording string, fine, coarse distribution, received uint64) {
	t.Helper()
	// While traffic runs, a packet may come between two of an answer's figures.
	if fine.samples()-received+1 > 2 || coarse.samples()-received+1 > 2 || !fine.exact || coarse.exact {
		t.Fatalf("%s: %d and %d delays of %d packets", recording, fine.samples(), coarse.samples(), received)
	}
	if fine.samples() != coarse.samples() {
		return
	}
	byBucket := map[uint64]uint64{}
	for _, s := range fine.spans {
		bucket := uint64(0)
		if s.from >= bucketMinimum {
			bucket = s.from / decade(s.from) * decade(s.from)
		}
		byBucket[bucket] += s.samples
	}
	for n, s := range coarse.spans {
		bucket := s.from
		if bucket >= bucketMinimum {
			bucket = bucket / decade(bucket) * decade(bucket)
		} else {
			bucket = 0
		}
		if byBucket[bucket] != s.samples {
			t.Errorf("%s: %d delays in bucket %d (span %d), the HdrHistogram has %d there", recording, s.samples, bucket, n, byBucket[bucket])
		}
	}
	f, c := fine.delays(), coarse.delays()
	for name, pair := range map[string][2]uint64{
		"p50": {f.P50Nanoseconds, c.P50Nanoseconds}, "p90": {f.P90Nanoseconds, c.P90Nanoseconds}, "p99": {f.P99Nanoseconds, c.P99Nanoseconds},
		"p999": {f.P999Nanoseconds, c.P999Nanoseconds}, "p9999": {f.P9999Nanoseconds, c.P9999Nanoseconds}, "max": {f.MaxNanoseconds, c.MaxNanoseconds},
	} {
		// Above 2,047 us, an HdrHistogram rounds up by up to 0.1 %.
		if pair[1]+pair[0]/1000 < pair[0] || pair[1] > 2*pair[0]+10_000 {
			t.Errorf("%s: %s is %d ns, by buckets %d", recording, name, pair[0], pair[1])
		}
	}
	if c.MinNanoseconds > f.MinNanoseconds {
		t.Errorf("%s: the minimum is %d ns, by buckets %d", recording, f.MinNanoseconds, c.MinNanoseconds)
	}
}

// The figures of one answer, calculated separately with the reference implementation of
// HdrHistogram in TRex's own client.
func TestRecordedPercentiles(t *testing.T) {
	s := lastWith(t, "03-udp64-both-hdrh", 10)
	d, err := distributionOf(s.timings[10], s.groups[10].Received.at(1))
	if err != nil {
		t.Fatal(err)
	}
	got := d.delays()
	// total_min and total_max of the same answer.
	if got.Samples != 5719 || got.MinNanoseconds != 21_000 || got.MaxNanoseconds < 5_591_000 || got.MaxNanoseconds > 5_591_000*1001/1000 {
		t.Errorf("%+v", got)
	}
	if got.MeanNanoseconds < got.MinNanoseconds || got.P50Nanoseconds > got.P90Nanoseconds || got.P9999Nanoseconds > got.MaxNanoseconds {
		t.Errorf("%+v", got)
	}
}

// The bucket "0" is what is missing, regardless of the server's value.
func TestBucketZeroIsDerived(t *testing.T) {
	var timing timing
	if err := json.Unmarshal([]byte(`{"lat": {"total_min": 3, "total_max": 25, "histogram": {"0": 999, "10": 4, "20": 1}}}`), &timing); err != nil {
		t.Fatal(err)
	}
	d, err := distributionOf(timing, 15)
	if err != nil {
		t.Fatal(err)
	}
	want := []span{{3, 9, 10}, {10, 19, 4}, {20, 25, 1}}
	if !slices.Equal(d.spans, want) {
		t.Errorf("%v, want %v", d.spans, want)
	}
	// A total_min that is not present yet narrows nothing.
	timing.Latency.Minimum = 1<<32 - 1
	if d, _ = distributionOf(timing, 15); d.spans[0].from != 0 {
		t.Errorf("%v", d.spans)
	}
}

// After the last event of a job, the counters were final at the first reading.
func TestRecordedSettling(t *testing.T) {
	all := answers[pgidStatistics](t, "12-settling", "get_pgid_stats")
	byVersion := map[uint64][]pgidStatistics{}
	for _, s := range all {
		byVersion[s.versions[1]] = append(byVersion[s.versions[1]], s)
	}
	if len(byVersion) != 3 {
		t.Errorf("%d runs, want 3 by their versions", len(byVersion))
	}
	for version, run := range byVersion {
		for _, s := range run[1:] {
			if !s.same(run[0]) {
				t.Errorf("run %d: the counters still changed", version)
			}
		}
	}
	// Each run's counters begin at 0: the figures are equal within one packet.
	for version, run := range byVersion {
		if sent := run[0].groups[1].Sent.at(0); sent < 20_000 || sent > 20_001 {
			t.Errorf("run %d: %d packets", version, sent)
		}
	}
}

// Counters of other streams under the same number are not a continuation.
func TestRecordedVersions(t *testing.T) {
	all := answers[pgidStatistics](t, "12-settling", "get_pgid_stats")
	before, after := reading{pgids: all[0]}, reading{pgids: all[len(all)-1]}
	if _, err := after.since(before); err == nil {
		t.Error("another run's counters were taken for a continuation")
	}
	if got, err := before.since(before); err != nil || got.pgids.groups[1].Sent.at(0) != 0 {
		t.Errorf("nothing happened since: %+v, %v", got.pgids.groups[1], err)
	}
}

// Only the load of the cores shows an overload.
func TestRecordedOverload(t *testing.T) {
	busiest := 0.0
	for _, g := range answers[connection.Global](t, "06-overload", "get_global_stats") {
		busiest = max(busiest, g.CPUPercent)
		if g.QueueFull != 0 {
			t.Errorf("queue_full %d", g.QueueFull)
		}
	}
	if busiest < busyLimit {
		t.Errorf("at most %v %% busy", busiest)
	}
	for _, p := range answers[connection.Port](t, "06-overload", "get_port_stats") {
		if p.InErrors+p.OutErrors != 0 {
			t.Errorf("%+v", p)
		}
	}
	for _, g := range answers[connection.Global](t, "03-udp64-both-hdrh", "get_global_stats") {
		if g.CPUPercent >= busyLimit {
			t.Errorf("%v %% busy at a moderate load", g.CPUPercent)
		}
	}
}

func TestRecordedPorts(t *testing.T) {
	info := answers[systemInfo](t, "01-handshake", "get_system_info")[0]
	forward := streamTo(measure.Forward)
	ports, err := findPorts(Config{}, [2]*measure.Stream{&forward, nil}, info)
	if err != nil || ports != [2]int{0, 1} || !info.Ports[0].Software || info.Cores != 1 {
		t.Errorf("ports %v of %+v: %v", ports, info, err)
	}
	for _, s := range answers[portStatus](t, "01-handshake", "get_port_status") {
		if s.sending() || !s.Attr.Link.Up || s.Attr.GigabitsPerSecond != 10 {
			t.Errorf("%+v", s)
		}
	}
	sending := false
	for _, s := range answers[portStatus](t, "08-server-killed", "get_port_status") {
		sending = sending || s.sending()
	}
	if !sending {
		t.Error("no recorded port sends")
	}
}

// The driver sends to add_stream no field that no recorded client sent, all that the
// server requires, and values of the same kinds.
func TestStreamsAreAsRecorded(t *testing.T) {
	known := map[string]map[string]bool{}
	for _, recording := range []string{"03-udp64-both-hdrh", "04-imix-vm-ipv6", "12-settling"} {
		for _, turn := range replay.Load(t, recording).Turns() {
			if turn.Call.Method == "add_stream" {
				kinds(t, "", turn.Call.Params["stream"], known)
			}
		}
	}
	if len(known) < 20 {
		t.Fatalf("found %d fields", len(known))
	}
	s := inIPv6(streamTo(measure.Forward))
	four := streamTo(measure.Forward)
	all := []measure.FlowField{measure.FlowSourceAddress, measure.FlowSourcePort}
	for name, flows := range map[string]*measure.Flows{
		"one": nil, "counting": {Count: 10, Fields: all}, "random": {Count: 10, Fields: all, Random: true, Seed: 1}, "paired": {Count: 50_000, Fields: all},
	} {
		for _, stream := range []measure.Stream{s, four} {
			stream.Flows = flows
			for _, rate := range []uint64{0, 20_000} {
				for _, p := range (Config{LatencyFramesPerSecond: 1000}).schedule(0, stream, trialOf(128, rate, time.Second), 1_000_000).parts {
					text, err := json.Marshal(p.stream)
					if err != nil {
						t.Fatal(err)
					}
					ours := map[string]map[string]bool{}
					kinds(t, "", text, ours)
					for field, kind := range ours {
						for k := range kind {
							if !known[field][k] && !written[field] {
								t.Errorf("%s: %s is a %s; recorded were %v", name, field, k, slices.Sorted(maps.Keys(known[field])))
							}
						}
					}
					for _, wanted := range []string{".enabled", ".self_start", ".flags", ".action_count", ".isg", ".next_stream_id", ".packet.binary", ".mode.type", ".vm.instructions", ".flow_stats.enabled"} {
						if ours[wanted] == nil {
							t.Errorf("%s: %s is missing", name, wanted)
						}
					}
				}
			}
		}
	}
}

// written are fields that no recording has: they are taken from parse_vm_instr_... in
// trex_stl_rpc_cmds.cpp of v3.08.
var written = map[string]bool{
	".random_seed":                     true,
	".vm.instructions[].pkt_cast_size": true,
	".vm.instructions[].mask":          true,
	".vm.instructions[].shift":         true,
	".vm.instructions[].ip_min":        true,
	".vm.instructions[].ip_max":        true,
	".vm.instructions[].port_min":      true,
	".vm.instructions[].port_max":      true,
	".vm.instructions[].limit_flows":   true,
	".vm.instructions[].flags":         true,
	".flow_stats.vxlan":                true,
	".flow_stats.ieee_1588":            true,
}

// kinds records the kind of every field of a JSON value under its path.
func kinds(t *testing.T, path string, text json.RawMessage, into map[string]map[string]bool) {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		kind := "null"
		switch v := value.(type) {
		case map[string]any:
			kind = "object"
			for name, field := range v {
				walk(path+"."+name, field)
			}
		case []any:
			kind = "array"
			for _, one := range v {
				walk(path+"[]", one)
			}
		case string:
			kind = "string"
		case float64:
			kind = "number"
		case bool:
			kind = "bool"
		}
		if into[path] == nil {
			into[path] = map[string]bool{}
		}
		into[path][kind] = true
	}
	walk(path, value)
}
