//go:build linux

package serve

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

func TestStart(t *testing.T) {
	server, err := Start("127.0.0.1:0", hello)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get("http://" + server.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "hello" {
		t.Errorf("answered %q, %v", body, err)
	}
	// The address is in use: the error comes at once.
	if _, err := Start(server.Address(), hello); err == nil {
		t.Error("two servers have one address")
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-server.Failed():
		if !strings.Contains(err.Error(), "127.0.0.1:0") {
			t.Errorf("the error does not name the address: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("a closed server does not report that it ended")
	}
}

func TestUntil(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Until(ctx, "127.0.0.1:0", hello, slog.New(slog.DiscardHandler), "serving") }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("continues although its context has ended")
	}
	if err := Until(t.Context(), "256.0.0.1:1", hello, slog.New(slog.DiscardHandler), "serving"); err == nil {
		t.Error("serves at an address that is none")
	}
}
