package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

func TestOwnership(t *testing.T) {
	script := replay.NewScript(t, rpc.STL, 2).
		On("start_traffic", func(replay.Call) replay.Answer { return replay.Result(map[string]any{}) })
	server := replay.New(t, script)
	alice := dial(t, server, rpc.Options{User: "alice"})
	again := dial(t, server, rpc.Options{User: "alice"})
	bob := dial(t, server, rpc.Options{User: "bob"})
	ctx := t.Context()

	if err := alice.CallPort(ctx, 0, "start_traffic", nil, nil); !errors.Is(err, rpc.ErrNotAcquired) {
		t.Errorf("before acquiring: %v", err)
	}
	if server.Count("start_traffic") != 0 {
		t.Error("a call without a handler was sent")
	}
	for range 2 { // the owner may acquire again
		if err := alice.Acquire(ctx, 0, false); err != nil {
			t.Fatal(err)
		}
	}
	for name, other := range map[string]*rpc.Client{"another user": bob, "another session": again} {
		if err := other.Acquire(ctx, 0, false); !errors.Is(err, rpc.ErrOwned) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := bob.Acquire(ctx, 0, true); err != nil {
		t.Fatalf("with force: %v", err)
	}
	if err := alice.CallPort(ctx, 0, "start_traffic", nil, nil); !errors.Is(err, rpc.ErrOwned) {
		t.Errorf("with a stale handler: %v", err)
	}
	if err := alice.Release(ctx, 0); !errors.Is(err, rpc.ErrOwned) {
		t.Errorf("releasing what another took: %v", err)
	}
	if err := bob.CallPort(ctx, 0, "start_traffic", nil, nil); err != nil {
		t.Errorf("by the owner: %v", err)
	}
	if err := bob.Release(ctx, 0); err != nil {
		t.Errorf("releasing: %v", err)
	}
	if err := bob.Release(ctx, 0); !errors.Is(err, rpc.ErrNotAcquired) {
		t.Errorf("releasing twice: %v", err)
	}
	for _, port := range []int{rpc.NoPort, -3} {
		if err := bob.Acquire(ctx, port, false); err == nil {
			t.Errorf("port %d was acquired", port)
		}
	}
}

// ASTF acquires the whole server, and every port with it.
func TestOwnershipOfTheServer(t *testing.T) {
	null := func(replay.Call) replay.Answer { return replay.Result(nil) }
	script := replay.NewScript(t, rpc.ASTF, 2).On("start", null).On("set_port_attr", null)
	server := replay.New(t, script)
	client := dial(t, server, rpc.Options{API: rpc.ASTF})
	ctx := t.Context()
	script.Take(rpc.AllPorts, "bob")
	if err := client.Acquire(ctx, rpc.AllPorts, false); !errors.Is(err, rpc.ErrOwned) {
		t.Errorf("another's: %v", err)
	}
	if err := client.Acquire(ctx, rpc.AllPorts, true); err != nil {
		t.Fatal(err)
	}
	if err := client.CallPort(ctx, rpc.AllPorts, "start", nil, nil); err != nil {
		t.Errorf("with the server's handler: %v", err)
	}
	for port := range 2 {
		if err := client.CallPort(ctx, port, "set_port_attr", nil, nil); err != nil {
			t.Errorf("with the handler of port %d: %v", port, err)
		}
	}
	if err := client.Release(ctx, rpc.AllPorts); err != nil {
		t.Error(err)
	}
	for _, port := range []int{rpc.AllPorts, 0, 1} {
		if err := client.CallPort(ctx, port, "start", nil, nil); !errors.Is(err, rpc.ErrNotAcquired) {
			t.Errorf("port %d after the release: %v", port, err)
		}
	}
}

// Acquire reports a fault in a profile that was there before, but the client owns the
// server: it can release it.
func TestAcquireWithAFault(t *testing.T) {
	script := replay.NewScript(t, rpc.ASTF, 2)
	server := replay.New(t, replay.Func(func(c replay.Call) replay.Answer {
		answer := script.Respond(c)
		if given, ok := answer.Result.(map[string]any); ok && c.Method == "acquire" {
			given["exception"] = map[string]string{"_": "no template"}
		}
		return answer
	}))
	client := dial(t, server, rpc.Options{API: rpc.ASTF})
	if err := client.Acquire(t.Context(), rpc.AllPorts, true); err == nil || !strings.Contains(err.Error(), "no template") {
		t.Errorf("it is %v", err)
	}
	if err := client.Release(t.Context(), rpc.AllPorts); err != nil {
		t.Errorf("releasing: %v", err)
	}
}

// The client refuses what is known to end a server, and what is too large for it.
func TestNotSent(t *testing.T) {
	large := map[string]string{"fragment": strings.Repeat("x", rpc.MaxRequestBytes)}
	for name, c := range map[string]struct {
		method string
		params any
		want   error
	}{
		"a session 0":                 {"acquire", map[string]any{"port_id": 0, "user": "a", "session_id": 0, "force": true}, rpc.ErrLethal},
		"a request that is too large": {"profile_fragment", large, rpc.ErrTooLarge},
		"an array":                    {"echo", []int{1}, nil},
		"a text":                      {"echo", "str", nil},
		"what has no JSON":            {"echo", map[string]float64{"n": math.NaN()}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := replay.New(t, echoing(t))
			client := dial(t, server, rpc.Options{})
			calls := len(server.Calls())
			err := client.Call(t.Context(), c.method, c.params, nil)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("it is %v", err)
			}
			if !strings.Contains(err.Error(), c.method) {
				t.Errorf("it does not say what was called: %v", err)
			}
			batch := []*rpc.Request{{Method: "echo", Port: rpc.NoPort}, {Method: c.method, Port: rpc.NoPort, Params: c.params}}
			if err := client.Batch(t.Context(), batch); err == nil {
				t.Error("it was sent in a batch")
			}
			if after := len(server.Calls()); c.want != rpc.ErrTooLarge && after != calls {
				t.Errorf("%d calls came to the server", after-calls)
			}
			if err := echo(t.Context(), client, 1); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// The client sends the largest request that a server takes, but no larger one.
func TestLargestRequest(t *testing.T) {
	server := replay.New(t, echoing(t))
	client := dial(t, server, rpc.Options{})
	// The bytes around x: ids have one digit here.
	around := len(`{"jsonrpc":"2.0","id":2,"method":"echo","params":{"api_h":"api00001","n":1,"x":""}}`)
	params := map[string]any{"n": 1, "x": strings.Repeat("x", rpc.MaxRequestBytes-around)}
	if err := client.Call(t.Context(), "echo", params, nil); err != nil {
		t.Errorf("the largest: %v", err)
	}
	params["x"] = strings.Repeat("x", rpc.MaxRequestBytes-around+1)
	if err := client.Call(t.Context(), "echo", params, nil); !errors.Is(err, rpc.ErrTooLarge) {
		t.Errorf("one octet more: %v", err)
	}
	if server.Count("echo") != 1 {
		t.Errorf("%d calls came to the server", server.Count("echo"))
	}
}

func TestBatch(t *testing.T) {
	server := replay.New(t, echoing(t))
	client := dial(t, server, rpc.Options{})
	server.Inject("never", replay.Hang())
	results := make([]int, 4)
	batch := []*rpc.Request{
		{Method: "echo", Port: rpc.NoPort, Params: map[string]int{"n": 10}, Result: &results[0]},
		{Method: "get_owner", Port: rpc.NoPort, Params: map[string]int{"port_id": 0}},
		{Method: "acquire", Port: rpc.NoPort, Params: map[string]any{"port_id": 0, "user": "a", "session_id": 7, "force": false}},
		{Method: "acquire", Port: rpc.NoPort, Params: map[string]any{"port_id": 0, "user": "b", "session_id": 8, "force": false}},
		{Method: "echo", Port: rpc.NoPort, Params: map[string]int{"n": 30}, Result: &results[3]},
	}
	err := client.Batch(t.Context(), batch)
	if !errors.Is(err, rpc.ErrOwned) || !errors.Is(batch[3].Err, rpc.ErrOwned) {
		t.Errorf("the fourth is refused: %v", err)
	}
	for i, r := range batch {
		if i != 3 && r.Err != nil {
			t.Errorf("request %d: %v", i, r.Err)
		}
	}
	if diff := cmp.Diff([]int{10, 0, 0, 30}, results); diff != "" {
		t.Error(diff)
	}
	if messages := server.Messages(); len(messages[len(messages)-1]) != len(batch) {
		t.Errorf("it came as %v", messages)
	}
	if err := client.Batch(t.Context(), nil); err != nil {
		t.Errorf("a batch of none: %v", err)
	}
	if err := client.Batch(t.Context(), batch[:1]); err != nil {
		t.Errorf("a batch of one: %v", err)
	}
}

// A batch is sent in as many messages as its size needs, in its order, and nothing
// follows a broken exchange.
func TestLargeBatch(t *testing.T) {
	for name, broken := range map[string]bool{"whole": false, "broken": true} {
		t.Run(name, func(t *testing.T) {
			server := replay.New(t, echoing(t))
			client := dial(t, server, rpc.Options{})
			padding := strings.Repeat("x", 200_000)
			var batch []*rpc.Request
			results := make([]int, 9)
			for i := range results {
				batch = append(batch, &rpc.Request{Method: "echo", Port: rpc.NoPort, Params: map[string]any{"n": i + 1, "x": padding}, Result: &results[i]})
			}
			// One that fits into a message, but not with another.
			batch[4].Params = map[string]any{"n": 5, "x": strings.Repeat("x", 900_000)}
			if broken {
				server.Inject("get_owner", replay.Cut())
				batch[4].Method, batch[4].Params = "get_owner", map[string]any{"port_id": 0, "x": strings.Repeat("x", 900_000)}
			}
			err := client.Batch(t.Context(), batch)
			messages := server.Messages()[1:]
			if !broken {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6, 7, 8, 9}, results); diff != "" {
					t.Error(diff)
				}
				if len(messages) != 5 {
					t.Errorf("%d messages", len(messages))
				}
				return
			}
			if !errors.Is(err, rpc.ErrConnection) {
				t.Errorf("it is %v", err)
			}
			for i, r := range batch {
				if (r.Err != nil) != (i >= 4) {
					t.Errorf("request %d: %v", i, r.Err)
				}
			}
			if len(messages) != 3 {
				t.Errorf("%d messages", len(messages))
			}
		})
	}
}

// busy answers a few times with a code before its result.
func busy(times int, code int, specific string) func(replay.Call) replay.Answer {
	return func(replay.Call) replay.Answer {
		if times--; times >= 0 {
			return replay.Refuse(code, specific)
		}
		return replay.Result("done")
	}
}

func TestBusyServer(t *testing.T) {
	newServer := func(t *testing.T, first, ticket func(replay.Call) replay.Answer) (*replay.Server, *rpc.Client) {
		script := echoing(t).On("set_l3", first)
		if ticket != nil {
			script.On("get_async_results", ticket)
		}
		server := replay.New(t, script)
		return server, dial(t, server, rpc.Options{})
	}
	t.Run("asks to try again", func(t *testing.T) {
		_, client := newServer(t, busy(2, rpc.CodeTryAgain, ""), nil)
		var got string
		if err := client.Call(t.Context(), "set_l3", nil, &got); err != nil || got != "done" {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("continues with its work", func(t *testing.T) {
		server, client := newServer(t, busy(1, rpc.CodeInProgress, "77"), busy(2, rpc.CodeInProgress, "77"))
		if err := client.Acquire(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := client.CallPort(t.Context(), 0, "set_l3", map[string]int{"x": 1}, &got); err != nil || got != "done" {
			t.Errorf("%q, %v", got, err)
		}
		if server.Count("set_l3") != 1 {
			t.Error("the work was asked for again")
		}
		for _, call := range server.Calls() {
			if call.Method == "get_async_results" && call.Number("ticket_id") != 77 {
				t.Errorf("the ticket is %s", call.Params["ticket_id"])
			}
		}
	})
	t.Run("continues within a batch", func(t *testing.T) {
		_, client := newServer(t, busy(1, rpc.CodeInProgress, "77"), busy(1, rpc.CodeTryAgain, ""))
		var got string
		var n int
		batch := []*rpc.Request{
			{Method: "set_l3", Port: rpc.NoPort, Result: &got},
			{Method: "echo", Port: rpc.NoPort, Params: map[string]int{"n": 3}, Result: &n},
		}
		if err := client.Batch(t.Context(), batch); err != nil || got != "done" || n != 3 {
			t.Errorf("%q, %d, %v", got, n, err)
		}
	})
	t.Run("lost the results", func(t *testing.T) {
		_, client := newServer(t, busy(1, rpc.CodeInProgress, "77"), busy(9, rpc.CodeNoResults, "too old"))
		err := client.Call(t.Context(), "set_l3", nil, nil)
		var said *rpc.Error
		if !errors.As(err, &said) || said.Code != rpc.CodeNoResults || said.Method != "set_l3" {
			t.Errorf("it is %v", err)
		}
	})
	t.Run("gives no ticket", func(t *testing.T) {
		_, client := newServer(t, busy(1, rpc.CodeInProgress, "soon"), nil)
		if err := client.Call(t.Context(), "set_l3", nil, nil); !errors.Is(err, rpc.ErrProtocol) {
			t.Errorf("it is %v", err)
		}
	})
	for name, first := range map[string]func(replay.Call) replay.Answer{
		"never has time": busy(math.MaxInt, rpc.CodeTryAgain, ""),
		"never is ready": busy(1, rpc.CodeInProgress, "77"),
	} {
		t.Run(name, func(t *testing.T) {
			defer within(t, soon)()
			_, client := newServer(t, first, busy(math.MaxInt, rpc.CodeInProgress, "77"))
			err := client.Call(shortly(t), "set_l3", nil, nil)
			if !errors.Is(err, rpc.ErrBusy) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "set_l3") {
				t.Errorf("it is %v", err)
			}
			// The server answers others while a call waits.
			if err := echo(t.Context(), client, 1); err != nil {
				t.Error(err)
			}
		})
	}
}

// A result that does not fit is the caller's error, and no reason to reconnect.
func TestResultOfAnotherType(t *testing.T) {
	server := replay.New(t, echoing(t).On("get_global_stats", func(replay.Call) replay.Answer {
		// A server writes this for infinity.
		return replay.Result(json.RawMessage(`{"m_bw_per_core":1e+9999}`))
	}))
	client := dial(t, server, rpc.Options{})
	var stats struct {
		PerCore float64 `json:"m_bw_per_core"`
	}
	if err := client.Call(t.Context(), "get_global_stats", nil, &stats); err == nil || !strings.Contains(err.Error(), "get_global_stats") {
		t.Errorf("it is %v", err)
	}
	if err := echo(t.Context(), client, 1); err != nil || server.Count("api_sync_v2") != 1 {
		t.Errorf("the next call: %v", err)
	}
}

func TestEvents(t *testing.T) {
	script := echoing(t)
	server := replay.New(t, script)
	client := dial(t, server, rpc.Options{User: "bench", SessionID: 42})
	now := time.Unix(0, 0)
	client.SetClock(func() time.Time { return now })
	if events, err := client.Events(t.Context()); err != nil || len(events) != 0 {
		t.Fatalf("%v, %v", events, err)
	}
	if err := client.Acquire(t.Context(), 1, true); err != nil {
		t.Fatal(err)
	}
	script.Publish(rpc.ProfileStarted, map[string]any{"port_id": 1, "profile_id": "_"})
	script.Publish(rpc.PortStarted, map[string]any{"port_id": 1})
	script.Publish(rpc.ASTFProfileState, map[string]any{"profile_id": "_", "state": 1, "epoch": 3, "error": "bad"})
	script.Publish(rpc.ServerStopped, nil)
	got, err := client.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []rpc.Event{
		{Type: rpc.PortAcquired, Sequence: 0, Port: 1, User: "bench", SessionID: 42, Force: true},
		{Type: rpc.ProfileStarted, Sequence: 1, Port: 1, Profile: "_"},
		{Type: rpc.PortStarted, Sequence: 2, Port: 1},
		{Type: rpc.ASTFProfileState, Sequence: 3, Port: rpc.NoPort, Profile: "_", State: rpc.ASTFLoaded, Epoch: 3, Error: "bad"},
		{Type: rpc.ServerStopped, Sequence: 4, Port: rpc.NoPort},
	}
	for i := range got {
		got[i].Data = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// After 10 s an empty queue has lost nothing; another one may have.
	now = now.Add(10 * time.Second)
	if events, err := client.Events(t.Context()); err != nil || len(events) != 0 {
		t.Errorf("%v, %v", events, err)
	}
	now = now.Add(10 * time.Second)
	script.Publish(rpc.PortStarted, map[string]any{"port_id": 1})
	events, err := client.Events(t.Context())
	if err != nil || len(events) != 2 || events[1].Type != rpc.EventsLost || events[1].Port != rpc.NoPort {
		t.Errorf("%v, %v", events, err)
	}
}

// In this recording a server drops the end of a job, because no client fetched it.
func TestEventsNotFetched(t *testing.T) {
	recording := replay.Load(t, "10-events-not-fetched")
	server := replay.New(t, replay.InOrder(t, recording.Turns()))
	client := dial(t, server, rpc.Options{})
	start := time.Now()
	at := start
	client.SetClock(func() time.Time { return at })
	var lost []int
	for _, turn := range recording.Turns()[1:] {
		for _, exchange := range recording.Between(turn.N, turn.N) {
			at = start.Add(time.Duration(exchange.Milliseconds * float64(time.Millisecond)))
		}
		if turn.Call.Method != "get_async_events" {
			if _, err := turnOf(t, client, turn.Call); err != nil {
				t.Fatalf("n %d: %v", turn.N, err)
			}
			continue
		}
		events, err := client.Events(t.Context())
		if err != nil {
			t.Fatalf("n %d: %v", turn.N, err)
		}
		if len(events) > 0 && events[len(events)-1].Type == rpc.EventsLost {
			lost = append(lost, turn.N)
		}
	}
	// n 12 lost events. n 18 did not, as the queue was empty, but no client can know.
	if diff := cmp.Diff([]int{12, 18}, lost); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOptions(t *testing.T) {
	if _, err := rpc.Dial(t.Context(), "127.0.0.1:1", rpc.Options{}); err == nil {
		t.Error("no API was given")
	}
	server := replay.New(t, echoing(t))
	one, other := dial(t, server, rpc.Options{}), dial(t, server, rpc.Options{})
	if one.SessionID() == 0 || one.SessionID() == other.SessionID() || one.User() != "vnfbench" || one.Address() != server.Address() {
		t.Errorf("sessions %d and %d of %q at %q", one.SessionID(), other.SessionID(), one.User(), one.Address())
	}
}
