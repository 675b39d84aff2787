package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

// recorder is a test that may fail without failing this one.
type recorder struct {
	testing.TB
	mutex  sync.Mutex
	faults []string
	ends   []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *recorder) Failed() bool      { return false }
func (r *recorder) Cleanup(do func()) { r.ends = append(r.ends, do) }
func (r *recorder) Helper()           {}

// end runs the test's clean-ups, and returns its complaints.
func (r *recorder) end() string {
	for i := len(r.ends) - 1; i >= 0; i-- {
		r.ends[i]()
	}
	return strings.Join(r.faults, "\n")
}

// TestUnexpectedCallsFail checks that every deviation from a recording fails its test.
func TestUnexpectedCallsFail(t *testing.T) {
	recording := replay.Load(t, "02-acquire-release").On(10).Between(1, 10)
	inOrder := func(t testing.TB) replay.Responder { return replay.InOrder(t, recording.Turns()) }
	byRequest := func(t testing.TB) replay.Responder { return replay.ByRequest(t, recording.Turns()) }
	script := func(t testing.TB) replay.Responder { return replay.NewScript(t, rpc.STL, 2) }
	for name, c := range map[string]struct {
		responder func(testing.TB) replay.Responder
		do        func(*testing.T, *rpc.Client)
		complaint string
	}{
		"not all calls": {inOrder, func(*testing.T, *rpc.Client) {}, "calls of the recording were not made"},
		"another call": {inOrder, func(t *testing.T, c *rpc.Client) {
			_ = c.Call(t.Context(), "get_version", nil, nil)
		}, "a call that is not the recorded one"},
		"another parameter": {inOrder, func(t *testing.T, c *rpc.Client) {
			if _, err := c.Events(t.Context()); err != nil {
				t.Error(err)
			}
			_ = c.Acquire(t.Context(), 1, false)
		}, "a call that is not the recorded one"},
		"not in the recording": {byRequest, func(t *testing.T, c *rpc.Client) {
			_ = c.Call(t.Context(), "get_version", nil, nil)
		}, "a call that is not in the recording"},
		"not in the script": {script, func(t *testing.T, c *rpc.Client) {
			_ = c.Call(t.Context(), "get_pgid_stats", nil, nil)
		}, `no method "get_pgid_stats"`},
		"a port that is not there": {script, func(t *testing.T, c *rpc.Client) {
			_ = c.Acquire(t.Context(), 2, false)
		}, "acquire of port 2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			server := replay.New(r, c.responder(r))
			client, err := rpc.Dial(t.Context(), server.Address(), rpc.Options{API: rpc.STL})
			if err != nil {
				t.Fatal(err)
			}
			c.do(t, client)
			_ = client.Close()
			if said := r.end(); !strings.Contains(said, c.complaint) {
				t.Errorf("it complained: %q", said)
			}
		})
	}
}

// TestBadRequestsFail checks that a request that would crash a real server, or that it could not
// read, fails the test.
func TestBadRequestsFail(t *testing.T) {
	for name, c := range map[string]struct{ request, complaint string }{
		"a text":                   {`"str"`, "neither an object"},
		"an array of a number":     {`[1]`, "not JSON-RPC"},
		"an empty array":           {`[]`, "calls nothing"},
		"no JSON":                  {`not json`, "neither an object"},
		"no id":                    {`{"jsonrpc":"2.0","method":"ping","params":{}}`, "not JSON-RPC"},
		"no parameters":            {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "not JSON-RPC"},
		"parameters in an array":   {`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, "not JSON-RPC"},
		"another version":          {`{"jsonrpc":"1.0","id":1,"method":"ping","params":{}}`, "not JSON-RPC"},
		"no api_h":                 {`{"jsonrpc":"2.0","id":1,"method":"get_owner","params":{}}`, "without api_h"},
		"a session 0":              {`{"jsonrpc":"2.0","id":1,"method":"acquire","params":{"api_h":"api00001","session_id":0}}`, "session_id 0"},
		"more than a server takes": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}` + strings.Repeat(" ", rpc.MaxRequestBytes), "a server takes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			server := replay.New(r, replay.NewScript(r, rpc.STL, 2))
			conn, err := zmtp.Dial(t.Context(), server.Address(), 0)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Exchange(t.Context(), []byte(c.request))
			_ = conn.Close()
			if said := r.end(); !strings.Contains(said, c.complaint) {
				t.Errorf("it complained: %q", said)
			}
		})
	}
}

// TestByRequest checks that several answers to one call come in their order, and the last is
// repeated.
func TestByRequest(t *testing.T) {
	turn := func(method, result string) replay.Turn {
		return replay.Turn{Call: replay.Call{Method: method}, Answer: replay.Result(result)}
	}
	responder := replay.ByRequest(t, []replay.Turn{turn("ping", "one"), turn("get_version", "v"), turn("ping", "two")})
	var got []any
	for _, method := range []string{"ping", "ping", "get_version", "ping", "get_version"} {
		got = append(got, responder.Respond(replay.Call{Method: method}).Result)
	}
	if diff := cmp.Diff([]any{"one", "two", "v", "two", "v"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRelay checks that the recording of a relay between a client and a server can be replayed, and
// is what both sides saw.
func TestRelay(t *testing.T) {
	script := replay.NewScript(t, rpc.STL, 2)
	server := replay.New(t, script)
	relay, err := replay.NewRelay(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	exchange := func(address string) {
		client, err := rpc.Dial(t.Context(), address, rpc.Options{API: rpc.STL, User: "alice", SessionID: 7})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		if err := client.Acquire(t.Context(), 1, true); err != nil {
			t.Fatal(err)
		}
		if err := client.Batch(t.Context(), []*rpc.Request{
			{Method: "get_owner", Port: rpc.NoPort, Params: map[string]int{"port_id": 1}},
			{Method: "ping", Port: rpc.NoPort},
		}); err != nil {
			t.Fatal(err)
		}
		if err := client.Release(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	relay.Note("plain")
	exchange(relay.Address())
	relay.Note("compressed")
	conn, err := zmtp.Dial(t.Context(), relay.Address(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ping := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`)
	packed, err := replay.Compress(ping)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := conn.Exchange(t.Context(), packed); err != nil || !replay.IsCompressed(answer) {
		t.Errorf("got %q, %v, want a compressed answer", answer, err)
	}
	relay.Note("cut & malformed")
	server.Inject("ping", replay.Cut())
	if _, err := conn.Exchange(t.Context(), ping); err == nil {
		t.Error("the relay continues where the server does not")
	}
	if err := relay.Close(); err != nil {
		t.Error(err)
	}

	var written bytes.Buffer
	recording := relay.Recording()
	if err := recording.Write(&written); err != nil {
		t.Fatal(err)
	}
	again, err := replay.Read(&written)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recording, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-recorded +read):\n%s", diff)
	}
	if last := again[len(again)-1]; !last.ConnectionLost || last.Connection != 2 {
		t.Errorf("the last is %+v", last)
	}
	var compressed int
	for _, e := range again {
		if e.RequestCompressed && e.ResponseCompressed {
			compressed++
		}
	}
	if compressed != 1 {
		t.Errorf("%d exchanges are compressed", compressed)
	}
	second := replay.New(t, replay.InOrder(t, again.On(1).Turns()))
	exchange(second.Address())
}

// TestRecordingsSurviveWriting checks that recordings do not change when they are written and read
// again.
func TestRecordingsSurviveWriting(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(replay.Directory(t), "*.jsonl"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		t.Run(name, func(t *testing.T) {
			recording := replay.Load(t, name)
			var written bytes.Buffer
			if err := recording.Write(&written); err != nil {
				t.Fatal(err)
			}
			again, err := replay.Read(&written)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(recording, again) {
				t.Errorf("(-before +after):\n%s", cmp.Diff(recording, again))
			}
		})
	}
}

// TestStopAndStart checks that a server that died cannot be reached, and can return at the same
// address.
func TestStopAndStart(t *testing.T) {
	server := replay.New(t, replay.NewScript(t, rpc.STL, 2))
	address := server.Address()
	server.Stop()
	if _, err := rpc.Dial(t.Context(), address, rpc.Options{API: rpc.STL}); !errors.Is(err, rpc.ErrConnection) {
		t.Errorf("it is %v", err)
	}
	server.Start()
	client, err := rpc.Dial(t.Context(), address, rpc.Options{API: rpc.STL})
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	if server.Address() != address {
		t.Error("it listens elsewhere")
	}
}
