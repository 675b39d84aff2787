package zmtp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// framing is one thing that a TRex server, or a client of it, sent.
type framing struct {
	Name   string `json:"name"`
	Socket string `json:"socket"`
	From   string `json:"from"`
	Type   string `json:"type"`
	Wire   string `json:"wire_hex"`
	Frames []struct {
		Flags  int `json:"flags"`
		Length int `json:"length"`
	} `json:"frames"`
	Compressed bool    `json:"compressed"`
	Text       *string `json:"text"`
}

func recorded(t testing.TB) map[string]framing {
	t.Helper()
	text, err := os.ReadFile("../../../../../test/fixtures/trex/framing.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []framing
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]framing{}
	for _, one := range all {
		found[one.Name] = one
	}
	return found
}

func (f framing) octets(t testing.TB) []byte {
	t.Helper()
	octets, err := hex.DecodeString(f.Wire)
	if err != nil {
		t.Fatal(err)
	}
	return octets
}

// What this package writes is what was recorded, octet by octet.
func TestWritesWhatWasRecorded(t *testing.T) {
	all := recorded(t)
	for name, own := range map[string][]byte{
		"greeting-client-minimal":  greeting(),
		"ready-client-req-minimal": ready(REQ),
		"ready-server-rep":         ready(REP),
	} {
		if diff := cmp.Diff(all[name].octets(t), own); diff != "" {
			t.Errorf("%s (-recorded +own):\n%s", name, diff)
		}
	}
	messages := 0
	for name, one := range all {
		if one.Type != "message" || one.Socket != "req" {
			continue
		}
		messages++
		wire := one.octets(t)
		body, err := ReadMessage(bytes.NewReader(wire), len(wire))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := one.Frames[len(one.Frames)-1].Length; len(body) != want {
			t.Errorf("%s: the body has %d bytes and was recorded with %d", name, len(body), want)
		}
		if !one.Compressed && string(body) != *one.Text {
			t.Errorf("%s: the body is %q", name, body)
		}
		if !bytes.Equal(AppendMessage(nil, body), wire) {
			t.Errorf("%s: written again it is another", name)
		}
	}
	if messages < 10 {
		t.Errorf("only %d messages were recorded", messages)
	}
}

// The client accepts greetings and READY of libzmq and of the server, but not those of
// another socket.
func TestReadsWhatWasRecorded(t *testing.T) {
	all := recorded(t)
	for _, name := range []string{"greeting-client-minimal", "greeting-client-libzmq", "greeting-server-rep", "greeting-server-pub"} {
		if err := readGreeting(bytes.NewReader(all[name].octets(t))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, socket := range map[string]string{
		"ready-client-req-minimal": REQ, "ready-client-req-libzmq": REQ, "ready-server-rep": REP,
	} {
		if err := readReady(bytes.NewReader(all[name].octets(t)), socket); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"ready-server-pub", "ready-client-sub", "ready-client-req-minimal"} {
		if err := readReady(bytes.NewReader(all[name].octets(t)), REP); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s instead of REP: %v", name, err)
		}
	}
	for _, name := range []string{"subscribe-all", "publisher-compressed", "publisher-kick"} {
		wire := all[name].octets(t)
		if _, err := ReadMessage(bytes.NewReader(wire), len(wire)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s has no delimiter: %v", name, err)
		}
	}
}

// Anything that is cut is io.ErrUnexpectedEOF, except an empty stream.
func TestCutMessage(t *testing.T) {
	wire := AppendMessage(nil, bytes.Repeat([]byte("x"), 300))
	for length := range wire {
		want := io.ErrUnexpectedEOF
		if length == 0 {
			want = io.EOF
		}
		if _, err := ReadMessage(bytes.NewReader(wire[:length]), 300); !errors.Is(err, want) {
			t.Fatalf("after %d of %d octets: %v", length, len(wire), err)
		}
	}
}

func TestRefusedFrames(t *testing.T) {
	long := append([]byte{1, 0, 2}, 0x40, 0, 0, 0, 0, 0, 0, 0)
	for name, c := range map[string]struct {
		wire string
		want error
	}{
		"a frame of 2^62 octets":         {string(long), ErrTooLarge},
		"a frame of 2^64-1 octets":       {"\x01\x00\x02\xff\xff\xff\xff\xff\xff\xff\xff", ErrTooLarge},
		"one octet above the limit":      {"\x01\x00\x00\x0b01234567890", ErrTooLarge},
		"an unknown flag":                {"\x01\x00\x08\x00", ErrProtocol},
		"a delimiter that is not empty":  {"\x01\x01x\x00\x00", ErrProtocol},
		"a delimiter without a body":     {"\x00\x00", ErrProtocol},
		"a command instead of a message": {"\x04\x00", ErrProtocol},
		"a command as the body":          {"\x01\x00\x04\x00", ErrProtocol},
		"a message of two bodies":        {"\x01\x00\x01\x01a\x00\x01b", ErrProtocol},
		"a command with more to come":    {"\x05\x00", ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadMessage(strings.NewReader(c.wire), 10)
			if !errors.Is(err, c.want) || !errors.Is(err, ErrProtocol) {
				t.Errorf("it is %v", err)
			}
		})
	}
}

func TestRefusedReady(t *testing.T) {
	for name, wire := range map[string]string{
		"a message":                  "\x00\x06\x05READY",
		"no name":                    "\x04\x00",
		"a name that is cut":         "\x04\x03\x05RE",
		"another command":            "\x04\x05\x04PING",
		"a refusal":                  "\x04\x0b\x05ERROR\x04nope",
		"no socket type":             "\x04\x06\x05READY",
		"a property that is cut":     "\x04\x09\x05READY\x0bSo",
		"a value that is cut":        "\x04\x0b\x05READY\x01A\xff\xff\xff",
		"a value longer than it is":  "\x04\x0c\x05READY\x01A\xff\xff\xff\xff",
		"more than a command may be": "\x06\x00\x00\x00\x00\x00\x01\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			if err := readReady(strings.NewReader(wire), REP); !errors.Is(err, ErrProtocol) {
				t.Errorf("it is %v", err)
			}
		})
	}
}

// FuzzReadMessage: no input causes a panic or takes more memory than the limit, and what
// is accepted is what AppendMessage writes.
func FuzzReadMessage(f *testing.F) {
	for _, one := range recorded(f) {
		f.Add(one.octets(f))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		const limit = 4096
		from := bytes.NewReader(wire)
		body, err := ReadMessage(from, limit)
		if err != nil {
			return
		}
		if len(body) > limit {
			t.Fatalf("%d bytes were taken", len(body))
		}
		again, err := ReadMessage(bytes.NewReader(AppendMessage(nil, body)), limit)
		if err != nil || !bytes.Equal(again, body) {
			t.Fatalf("written and read again: %v", err)
		}
	})
}

// FuzzHandshake: no greeting causes a panic, and only a REP socket is accepted.
func FuzzHandshake(f *testing.F) {
	all := recorded(f)
	for _, hello := range []string{"greeting-server-rep", "greeting-client-libzmq", "greeting-server-pub"} {
		for _, ready := range []string{"ready-server-rep", "ready-client-req-libzmq", "ready-server-pub"} {
			f.Add(append(all[hello].octets(f), all[ready].octets(f)...))
		}
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		from := bytes.NewReader(wire)
		if readGreeting(from) != nil {
			return
		}
		if readReady(from, REP) == nil && !bytes.Contains(wire, []byte("REP")) {
			t.Fatal("taken without REP in it")
		}
	})
}
