package rpc

import (
	"context"
	"encoding/json"
	"net"
	"testing"

	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

func TestSmoke(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		s, err := l.Accept()
		if err != nil {
			return
		}
		c, err := zmtp.Accept(t.Context(), s, 0)
		if err != nil {
			t.Error(err)
			return
		}
		for {
			b, err := c.Receive(t.Context())
			if err != nil {
				return
			}
			t.Logf("%s", b)
			var r call
			if err := json.Unmarshal(b, &r); err != nil {
				var rs []call
				if err := json.Unmarshal(b, &rs); err != nil {
					t.Error(err)
				}
				out := []map[string]any{}
				for _, r := range rs {
					out = append(out, map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": r.Method})
				}
				j, _ := json.Marshal(out)
				_ = c.Send(t.Context(), append(j, '\n'))
				continue
			}
			var result any = map[string]any{"api_h": "abc"}
			if r.Method == "acquire" {
				result = "h"
			}
			j, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
			_ = c.Send(t.Context(), append(j, '\n'))
		}
	}()
	c, err := Dial(context.Background(), l.Addr().String(), Options{API: STL})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Acquire(t.Context(), 1, true); err != nil {
		t.Fatal(err)
	}
	if err := c.CallPort(t.Context(), 1, "x", nil, nil); err != nil {
		t.Fatal(err)
	}
	var a, b string
	if err := c.Batch(t.Context(), []*Request{{Method: "m1", Port: 1, Result: &a}, {Method: "m2", Port: NoPort, Result: &b}}); err != nil || a != "m1" || b != "m2" {
		t.Fatal(err, a, b)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); err != ErrClosed {
		t.Fatal(err)
	}
	_ = l.Close()
}
