package replay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Exchange is one line of a recording. test/fixtures/trex/README.md describes its fields.
type Exchange struct {
	N                  int             `json:"n"`
	Connection         int             `json:"conn,omitempty"`
	Milliseconds       float64         `json:"t_ms"`
	Took               float64         `json:"ms,omitempty"`
	Note               string          `json:"note,omitempty"`
	Request            json.RawMessage `json:"request,omitempty"`
	Response           json.RawMessage `json:"response,omitempty"`
	RequestCompressed  bool            `json:"request_compressed,omitempty"`
	ResponseCompressed bool            `json:"response_compressed,omitempty"`
	RequestBytes       int             `json:"request_bytes,omitempty"`
	ResponseBytes      int             `json:"response_bytes,omitempty"`
	RequestRaw         *string         `json:"request_raw,omitempty"`
	RequestRawBytes    int             `json:"request_raw_bytes,omitempty"`
	ResponseRaw        *string         `json:"response_raw,omitempty"`
	ConnectionLost     bool            `json:"connection_lost,omitempty"`
}

// Recording is the traffic between clients and a server, in its order.
type Recording []Exchange

// Load reads a recording of test/fixtures/trex by its name, such as "05-loss".
func Load(t testing.TB, name string) Recording {
	t.Helper()
	file, err := os.Open(filepath.Join(Directory(t), name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	recording, err := Read(file)
	if err != nil {
		t.Fatalf("recording %q: %v", name, err)
	}
	return recording
}

// Directory returns the directory of the recordings.
func Directory(t testing.TB) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		found := filepath.Join(here, "test", "fixtures", "trex")
		if _, err := os.Stat(found); err == nil {
			return found
		}
		parent := filepath.Dir(here)
		if parent == here {
			t.Fatal("there is no test/fixtures/trex above the test's directory")
		}
		here = parent
	}
}

// Read reads a recording.
func Read(from io.Reader) (Recording, error) {
	var recording Recording
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var exchange Exchange
		if err := json.Unmarshal(lines.Bytes(), &exchange); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(recording)+1, err)
		}
		recording = append(recording, exchange)
	}
	return recording, lines.Err()
}

// Between returns the part with first <= n <= last.
func (r Recording) Between(first, last int) Recording {
	var part Recording
	for _, exchange := range r {
		if exchange.N >= first && exchange.N <= last {
			part = append(part, exchange)
		}
	}
	return part
}

// On returns the part of some connections.
func (r Recording) On(connections ...int) Recording {
	var part Recording
	for _, exchange := range r {
		for _, wanted := range connections {
			if exchange.Connection == wanted {
				part = append(part, exchange)
			}
		}
	}
	return part
}

// Without returns the recording's calls except those of some methods, also in batches.
func (r Recording) Without(methods ...string) []Turn {
	var turns []Turn
	for _, turn := range r.Turns() {
		wanted := true
		for _, method := range methods {
			wanted = wanted && turn.Call.Method != method
		}
		if wanted {
			turns = append(turns, turn)
		}
	}
	return turns
}

// Turn is one call with its answer.
type Turn struct {
	N, Connection int
	Call          Call
	Answer        Answer
}

// Turns returns the calls of a recording, those in batches one by one. It omits what is not a call,
// such as malformed input.
func (r Recording) Turns() []Turn {
	var turns []Turn
	for _, exchange := range r {
		requests, ok := many(exchange.Request)
		if !ok {
			continue
		}
		responses, _ := many(exchange.Response)
		for i, request := range requests {
			var call Call
			if json.Unmarshal(request, &call) != nil || call.Method == "" {
				continue
			}
			turn := Turn{N: exchange.N, Connection: exchange.Connection, Call: call, Answer: Answer{Lost: exchange.ConnectionLost}}
			if i < len(responses) {
				var said struct {
					Result json.RawMessage `json:"result"`
					Error  *refusal        `json:"error"`
				}
				if json.Unmarshal(responses[i], &said) != nil {
					continue
				}
				turn.Answer.Result, turn.Answer.refusal = said.Result, said.Error
			}
			turns = append(turns, turn)
		}
	}
	return turns
}

// many returns a message's objects, of which a batch has several.
func many(message json.RawMessage) ([]json.RawMessage, bool) {
	var several []json.RawMessage
	if json.Unmarshal(message, &several) == nil && several != nil {
		return several, true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(message, &object) == nil && object != nil {
		return []json.RawMessage{message}, true
	}
	return nil, false
}
