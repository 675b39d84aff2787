//go:build linux

package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vnfbench.io/operator/internal/endpoint"
)

func TestProcess(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		output    string
		says      string
	}{
		"output":                   {[]string{"-c", "echo hello"}, "hello\n", ""},
		"output of one that fails": {[]string{"-c", "echo '{}'; exit 1"}, "{}\n", ""},
		"nothing said":             {[]string{"-c", "echo broken >&2; exit 1"}, "", "exit status 1: broken"},
		"too long":                 {[]string{"-c", "sleep 30"}, "", "did not end within 300ms"},
		"deaf":                     {[]string{"-c", "exec sleep 30"}, "", "was killed"},
	} {
		t.Run(name, func(t *testing.T) {
			lifetime := time.Minute
			if strings.Contains(test.says, "300ms") || name == "deaf" {
				lifetime = 300 * time.Millisecond
			}
			if name == "deaf" {
				// A program inherits ignored signals, so it ignores them from its first instruction.
				signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
				defer signal.Reset(syscall.SIGINT, syscall.SIGTERM)
			}
			p, err := start("/bin/sh", lifetime, test.arguments...)
			if err != nil {
				t.Fatal(err)
			}
			output, err := p.wait(t.Context())
			if string(output) != test.output || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %q, %v", output, err)
			}
		})
	}
	if _, err := start("/nonexistent/program", time.Second); err == nil {
		t.Error("a program that is not there was started")
	}
}

func TestOutputIsBounded(t *testing.T) {
	b := &bounded{}
	if _, err := b.Write(make([]byte, maxOutputBytes)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte{0}); !errors.Is(err, io.ErrShortWrite) || b.err == nil {
		t.Errorf("one byte more: %v", err)
	}
}

func TestListensIn(t *testing.T) {
	table := []byte(`  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:1452 0100007F:1451 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
`)
	for port, want := range map[uint16]bool{5201: true, 5202: false, 5203: false} {
		if listensIn(table, port) != want {
			t.Errorf("port %d: %v", port, !want)
		}
	}
	if _, err := listens(5201); err != nil {
		t.Error(err)
	}
}

// agentWith returns an agent whose iperf3 is a script.
func agentWith(t *testing.T, script string) *Agent {
	t.Helper()
	program := filepath.Join(t.TempDir(), "iperf3")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := &endpoint.Config{Name: "west", Interface: "vnfbench-none", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.255.254/32")},
		Routes: []endpoint.Route{{Destination: netip.MustParsePrefix("198.19.128.0/17")}}}
	a := &Agent{config: config, port: Port{config}, program: program, log: slog.New(slog.DiscardHandler), running: map[uint16]*process{}}
	t.Cleanup(a.stopAll)
	return a
}

const clientRequest = `{"address": "198.18.255.254", "server": "198.19.255.254", "port": 5201, "streams": 1, "durationSeconds": 1}`

func ask(ctx context.Context, a *Agent, method, path, body string) (int, string) {
	response := httptest.NewRecorder()
	a.Handler().ServeHTTP(response, httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(ctx))
	return response.Code, response.Body.String()
}

func TestRequests(t *testing.T) {
	a := agentWith(t, `echo '{"error": "unable to listen"}'`)
	for name, test := range map[string]struct {
		method, path, body string
		code               int
		says               string
	}{
		"a client":            {"POST", "/clients", clientRequest, http.StatusOK, "unable to listen"},
		"no JSON":             {"POST", "/clients", "iperf3 -c x", http.StatusBadRequest, "invalid character"},
		"an unknown field":    {"POST", "/clients", `{"arguments": ["-F", "/etc/passwd"]}`, http.StatusBadRequest, "unknown field"},
		"another's address":   {"POST", "/clients", strings.Replace(clientRequest, "198.18.255.254", "198.18.0.1", 1), http.StatusBadRequest, "address"},
		"too long":            {"POST", "/clients", `{"congestionControl": "` + strings.Repeat("a", maxRequestBytes) + `"}`, http.StatusBadRequest, "too large"},
		"a server's failure":  {"POST", "/servers", `{"address": "198.18.255.254", "port": 5201, "seconds": 1}`, http.StatusInternalServerError, "unable to listen"},
		"no such server":      {"GET", "/servers/5999", "", http.StatusNotFound, "no server on port"},
		"not even a port":     {"GET", "/servers/x", "", http.StatusNotFound, "no server on port"},
		"ending what is gone": {"DELETE", "/servers/5999", "", http.StatusOK, ""},
		"alive":               {"GET", "/healthz", "", http.StatusOK, ""},
		"without its port":    {"GET", "/readyz", "", http.StatusServiceUnavailable, "interface"},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := ask(t.Context(), a, test.method, test.path, test.body)
			if code != test.code || !strings.Contains(text, test.says) {
				t.Errorf("got %d %q", code, text)
			}
		})
	}
	if len(a.running) != 0 {
		t.Errorf("%d programs are left", len(a.running))
	}
}

// TestOneAtATime checks that one test runs at a time, and ends when its requester no longer waits.
func TestOneAtATime(t *testing.T) {
	a := agentWith(t, "exec sleep 30")
	ctx, giveUp := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		ask(ctx, a, "POST", "/clients", clientRequest)
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		a.mu.Lock()
		n := len(a.running)
		a.mu.Unlock()
		if n == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the test does not start")
		}
	}
	if code, text := ask(t.Context(), a, "POST", "/clients", clientRequest); code != http.StatusConflict {
		t.Errorf("a second test: %d %s", code, text)
	}
	giveUp()
	select {
	case <-answered:
	case <-time.After(25 * time.Second):
		t.Fatal("the test continues after its caller has gone")
	}
	if len(a.running) != 0 {
		t.Errorf("%d programs are left", len(a.running))
	}
}
