package rpc_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// framing is a message of framing.json: what was on the wire, and its text.
type framing struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Wire       string `json:"wire_hex"`
	Compressed bool   `json:"compressed"`
	Text       string `json:"text"`
	Frames     []struct {
		Length int `json:"length"`
	} `json:"frames"`
}

// bodies are the messages' last frames.
func bodies(t testing.TB) map[*framing][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(replay.Directory(t), "framing.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*framing
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	found := map[*framing][]byte{}
	for _, one := range all {
		wire, err := hex.DecodeString(one.Wire)
		if err != nil {
			t.Fatal(err)
		}
		if one.Type == "message" {
			found[one] = wire[len(wire)-one.Frames[len(one.Frames)-1].Length:]
		}
	}
	return found
}

// What the server and libzmq's client compressed is read as what it was, and
// what is compressed here is read again.
func TestCompression(t *testing.T) {
	compressed := 0
	for one, body := range bodies(t) {
		if rpc.IsCompressed(body) != one.Compressed {
			t.Errorf("%s: compressed is %t", one.Name, !one.Compressed)
		}
		if one.Text == "" {
			continue
		}
		got, err := rpc.Expand(body, len(one.Text))
		if err != nil || string(got) != one.Text {
			t.Errorf("%s: %q, %v", one.Name, got, err)
		}
		if !one.Compressed {
			continue
		}
		compressed++
		if _, err := rpc.Expand(body, len(one.Text)-1); !errors.Is(err, rpc.ErrProtocol) {
			t.Errorf("%s: above the limit: %v", one.Name, err)
		}
		for length := 8; length < len(body)-1; length++ {
			if _, err := rpc.Expand(body[:length], len(one.Text)); !errors.Is(err, rpc.ErrProtocol) {
				t.Fatalf("%s: after %d of %d octets: %v", one.Name, length, len(body), err)
			}
		}
		again, err := rpc.Compress([]byte(one.Text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rpc.Expand(again, len(one.Text)); err != nil || string(got) != one.Text {
			t.Errorf("%s: compressed here: %q, %v", one.Name, got, err)
		}
	}
	if compressed < 7 {
		t.Errorf("only %d compressed messages were recorded", compressed)
	}
}

// FuzzExpand: whatever comes, no panic and no more than the limit.
func FuzzExpand(f *testing.F) {
	for _, body := range bodies(f) {
		f.Add(body)
	}
	f.Add([]byte("\xab\xe8\x5c\xea\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, message []byte) {
		const limit = 4096
		raw, err := rpc.Expand(message, limit)
		switch {
		case err != nil && !errors.Is(err, rpc.ErrProtocol):
			t.Fatalf("an error of no kind: %v", err)
		case err == nil && rpc.IsCompressed(message) && len(raw) > limit:
			t.Fatalf("%d octets came out", len(raw))
		case err == nil && !rpc.IsCompressed(message) && !bytes.Equal(raw, message):
			t.Fatal("a plain message was changed")
		}
	})
}

// FuzzDecode: whatever answers, no panic, and as many results as requests or an
// error with a name.
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

// FuzzEvent: whatever data an event has, no panic.
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
