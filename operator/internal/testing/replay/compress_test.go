package replay_test

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

// framing is a message of framing.json: the octets that were sent, and their text.
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

// bodies returns the messages' last frames.
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

// TestCompression checks that messages that the server and libzmq's client compressed are read
// correctly, and that Compress can be reversed.
func TestCompression(t *testing.T) {
	compressed := 0
	for one, body := range bodies(t) {
		if replay.IsCompressed(body) != one.Compressed {
			t.Errorf("%s: compressed is %t", one.Name, !one.Compressed)
		}
		if one.Text == "" {
			continue
		}
		got, err := replay.Expand(body, len(one.Text))
		if err != nil || string(got) != one.Text {
			t.Errorf("%s: %q, %v", one.Name, got, err)
		}
		if !one.Compressed {
			continue
		}
		compressed++
		if _, err := replay.Expand(body, len(one.Text)-1); !errors.Is(err, rpc.ErrProtocol) {
			t.Errorf("%s: above the limit: %v", one.Name, err)
		}
		for length := 8; length < len(body)-1; length++ {
			if _, err := replay.Expand(body[:length], len(one.Text)); !errors.Is(err, rpc.ErrProtocol) {
				t.Fatalf("%s: after %d of %d octets: %v", one.Name, length, len(body), err)
			}
		}
		again, err := replay.Compress([]byte(one.Text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := replay.Expand(again, len(one.Text)); err != nil || string(got) != one.Text {
			t.Errorf("%s: compressed here: %q, %v", one.Name, got, err)
		}
	}
	if compressed < 7 {
		t.Errorf("only %d compressed messages were recorded", compressed)
	}
}

// FuzzExpand checks that no input causes a panic or exceeds the limit.
func FuzzExpand(f *testing.F) {
	for _, body := range bodies(f) {
		f.Add(body)
	}
	f.Add([]byte("\xab\xe8\x5c\xea\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, message []byte) {
		const limit = 4096
		raw, err := replay.Expand(message, limit)
		switch {
		case err != nil && !errors.Is(err, rpc.ErrProtocol):
			t.Fatalf("an error of no kind: %v", err)
		case err == nil && replay.IsCompressed(message) && len(raw) > limit:
			t.Fatalf("%d octets came out", len(raw))
		case err == nil && !replay.IsCompressed(message) && !bytes.Equal(raw, message):
			t.Fatal("a plain message was changed")
		}
	})
}
