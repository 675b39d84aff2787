package rpc_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// FuzzDecode: no answer causes a panic; each gives as many results as requests or a named
// error.
func FuzzDecode(f *testing.F) {
	recordings, err := filepath.Glob(filepath.Join(replay.Directory(f), "*.jsonl"))
	if err != nil || len(recordings) == 0 {
		f.Fatalf("there are no recordings: %v", err)
	}
	for _, path := range recordings {
		name := filepath.Base(path)
		for _, exchange := range replay.Load(f, name[:len(name)-len(".jsonl")]) {
			var several []json.RawMessage
			calls := 1
			if json.Unmarshal(exchange.Request, &several) == nil && len(several) > 0 {
				calls = len(several)
			}
			if len(exchange.Response) > 0 && len(exchange.Response) < 4096 {
				f.Add([]byte(exchange.Response), uint8(calls))
			}
		}
	}
	f.Add([]byte(`{"id":1,"jsonrpc":"2.0","result":null}`), uint8(1))
	f.Add([]byte(`[{"id":1,"jsonrpc":"2.0","result":1},{"id":2,"jsonrpc":"2.0","error":{"code":-32000,"message":"x"}}]`), uint8(2))
	f.Fuzz(func(t *testing.T, message []byte, calls uint8) {
		wanted := int(calls%8) + 1
		results, err := rpc.Decode(message, wanted)
		if err != nil {
			if !errors.Is(err, rpc.ErrProtocol) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if len(results) != wanted {
			t.Fatalf("%d results of %d requests", len(results), wanted)
		}
	})
}

// FuzzEvent: no data of an event causes a panic.
func FuzzEvent(f *testing.F) {
	f.Add(5, []byte(`{"force":false,"port_id":0,"session_id":1111,"who":"alice"}`))
	f.Add(60, []byte(`{"epoch":1,"profile_id":"_","state":5}`))
	f.Add(100, []byte(`null`))
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		event, err := rpc.DecodeEvent(rpc.EventType(kind), data)
		if err != nil && !errors.Is(err, rpc.ErrProtocol) {
			t.Fatalf("an error of no kind: %v", err)
		}
		if err == nil && event.Type != rpc.EventType(kind) {
			t.Fatal("another type")
		}
	})
}
