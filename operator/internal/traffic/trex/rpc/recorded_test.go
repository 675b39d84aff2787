package rpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// makeable returns the turns of a recording that this client can make: with the tokens
// that it was given, with its own session, and none that ends a server.
func makeable(turns []replay.Turn) []replay.Turn {
	type port struct{ connection, port int }
	apiH, handlers := "", map[port]string{}
	synced := map[int]bool{}
	var found []replay.Turn
	for _, turn := range turns {
		c, said := turn.Call, turn.Answer
		_, refused := said.Refused()
		if c.Method == "api_sync_v2" && !refused && !synced[turn.Connection] && c.Number("minor") > 0 {
			var given struct {
				APIH string `json:"api_h"`
			}
			if json.Unmarshal(said.Result.(json.RawMessage), &given) == nil {
				apiH, synced[turn.Connection] = given.APIH, true
				found = append(found, turn)
			}
			continue
		}
		where := port{turn.Connection, int(c.Number("port_id"))}
		if _, one := c.Params["port_id"]; !one {
			where.port = rpc.AllPorts
		}
		_, owned := c.Params["handler"]
		switch {
		case said.Lost, !synced[turn.Connection], c.Text("api_h") != apiH, c.Method == "api_sync_v2":
			continue
		case owned && (c.Text("handler") == "" || c.Text("handler") != handlers[where]):
			continue
		case c.Method == "acquire" && (c.Number("session_id") < 1 || c.Number("session_id") > 1<<32-1 || c.Text("user") == ""):
			continue
		case c.Method == "acquire" && !refused:
			var all struct {
				Handler string            `json:"handler"`
				Ports   map[string]string `json:"ports"`
			}
			var one string
			text := said.Result.(json.RawMessage)
			if json.Unmarshal(text, &one) == nil {
				handlers[where] = one
			} else if json.Unmarshal(text, &all) == nil {
				handlers[where] = all.Handler
				for number, handler := range all.Ports {
					handlers[port{turn.Connection, int(number[0] - '0')}] = handler
				}
			}
		case c.Method == "release" && !refused:
			delete(handlers, where)
		}
		found = append(found, turn)
	}
	return found
}

// follow makes the turns of a recording with one client per connection, and expects what
// was recorded: each result, each error.
func follow(t *testing.T, api rpc.API, turns []replay.Turn) {
	t.Helper()
	server := replay.New(t, replay.InOrder(t, turns))
	clients := map[int]*rpc.Client{}
	for _, turn := range turns {
		c := clients[turn.Connection]
		if c == nil {
			c = dial(t, server, rpc.Options{API: api})
			clients[turn.Connection] = c
			continue // this turn was the handshake
		}
		if t.Failed() {
			return
		}
		result, err := turnOf(t, c, turn.Call)
		where := fmt.Sprintf("n %d, %q", turn.N, turn.Call.Method)
		if code, refused := turn.Answer.Refused(); refused {
			var said *rpc.Error
			if !errors.As(err, &said) || said.Code != code || said.Method != turn.Call.Method {
				t.Fatalf("%s: was refused with %d, and is now: %v", where, code, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if result == nil {
			continue
		}
		var want any
		if err := json.Unmarshal(turn.Answer.Result.(json.RawMessage), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, *result); diff != "" {
			t.Fatalf("%s (-recorded +got):\n%s", where, diff)
		}
	}
}

// turnOf makes one call as a user of the client would.
func turnOf(t *testing.T, c *rpc.Client, call replay.Call) (*any, error) {
	t.Helper()
	port := rpc.AllPorts
	if _, one := call.Params["port_id"]; one {
		port = int(call.Number("port_id"))
	}
	switch call.Method {
	case "acquire":
		return nil, c.Acquire(t.Context(), port, string(call.Params["force"]) == "true")
	case "release":
		return nil, c.Release(t.Context(), port)
	case "get_async_events":
		_, err := c.Events(t.Context())
		return nil, err
	}
	var result any
	params := map[string]json.RawMessage{}
	for name, text := range call.Params {
		if name != "handler" && name != "api_h" {
			params[name] = text
		}
	}
	if _, owned := call.Params["handler"]; owned {
		return &result, c.CallPort(t.Context(), port, call.Method, params, &result)
	}
	return &result, c.Call(t.Context(), call.Method, params, &result)
}

// Every exchange of every recording that this client can make gives the same as a real
// server.
func TestFollowsRecordings(t *testing.T) {
	for name, want := range map[string]struct {
		api   rpc.API
		turns int // the minimum number that the client can follow
	}{
		"01-handshake":           {rpc.STL, 15},
		"02-acquire-release":     {rpc.STL, 25},
		"03-udp64-both-hdrh":     {rpc.STL, 150},
		"03b-udp64-both-no-hdrh": {rpc.STL, 150},
		"04-imix-vm-ipv6":        {rpc.STL, 100},
		"05-loss":                {rpc.STL, 90},
		"06-overload":            {rpc.STL, 100},
		"07-errors":              {rpc.STL, 100},
		"07b-unresolved-gateway": {rpc.STL, 10},
		"09-batch":               {rpc.STL, 40},
		"10-events-not-fetched":  {rpc.STL, 13},
		"11-astf":                {rpc.ASTF, 70},
		"12-settling":            {rpc.STL, 50},
		"13-own-client":          {rpc.STL, 33},
	} {
		t.Run(name, func(t *testing.T) {
			turns := makeable(replay.Load(t, name).Turns())
			if len(turns) < want.turns {
				t.Errorf("only %d turns can be followed, and %d are expected", len(turns), want.turns)
			}
			follow(t, want.api, turns)
		})
	}
}
