package trex

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/testing/mutate"
	"vnfbench.io/operator/internal/testing/replay"
)

// FuzzStatistics checks that no answer with a server's counters and delays causes a panic or takes long,
// and that delays are in order.
func FuzzStatistics(f *testing.F) {
	recordings, err := filepath.Glob(filepath.Join(replay.Directory(f), "*.jsonl"))
	if err != nil || len(recordings) == 0 {
		f.Fatalf("there are no recordings: %v", err)
	}
	seeds := 0
	for _, path := range recordings {
		for _, exchange := range replay.Load(f, strings.TrimSuffix(filepath.Base(path), ".jsonl")) {
			for _, answer := range answersOf(exchange.Response) {
				if bytes.Contains(answer, []byte("flow_stats")) && len(answer) < 16<<10 && seeds < 40 {
					f.Add([]byte(answer), []byte{})
					f.Add([]byte(answer), []byte{0, 9, 0, 8, 0, 20, 0, 17})
					seeds++
				}
			}
		}
	}
	if seeds == 0 {
		f.Fatal("the recordings have no counters of packet groups")
	}
	const limit = 5 * time.Second
	f.Fuzz(func(t *testing.T, text, edits []byte) {
		var got pgidStatistics
		if json.Unmarshal(mutate.JSON(text, edits), &got) != nil {
			return
		}
		got.same(got)
		start := time.Now()
		for _, timing := range got.timings {
			d, err := distributionOf(timing, 1000)
			if err != nil {
				continue
			}
			delays := merge([]distribution{d, d}).delays()
			if delays.MinNanoseconds > delays.MaxNanoseconds || delays.P50Nanoseconds > delays.P99Nanoseconds {
				t.Fatalf("the delays are %+v", delays)
			}
		}
		if took := time.Since(start); took > limit {
			t.Fatalf("it took %s", took)
		}
	})
}

// answersOf returns the results of an answer to one request or to several.
func answersOf(response []byte) []json.RawMessage {
	type answer struct {
		Result json.RawMessage `json:"result"`
	}
	var several []answer
	if json.Unmarshal(response, &several) != nil {
		several = make([]answer, 1)
		if json.Unmarshal(response, &several[0]) != nil {
			return nil
		}
	}
	var results []json.RawMessage
	for _, one := range several {
		results = append(results, one.Result)
	}
	return results
}
