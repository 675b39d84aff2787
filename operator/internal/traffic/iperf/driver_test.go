package iperf

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/measure"
)

// fakes are two agents that answer with recorded output.
type fakes struct {
	mu       sync.Mutex
	requests []string
	// answer may answer a request instead of the fakes: the n-th one of its kind.
	answer func(request string, n int) (code int, text string)
	client []byte
	server []byte
}

func (f *fakes) handler(end string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := end + " " + r.Method + " " + r.URL.Path
		f.mu.Lock()
		f.requests = append(f.requests, request)
		n := f.count(request)
		f.mu.Unlock()
		if f.answer != nil {
			if code, text := f.answer(request, n); code != 0 {
				w.WriteHeader(code)
				_, _ = w.Write([]byte(text))
				return
			}
		}
		switch {
		case r.URL.Path == "/up":
			_ = json.NewEncoder(w).Encode(measure.TCPEnd{Name: end, Program: measure.Program{Name: measure.ProgramIperf3, Version: "3.12"}, MTUBytes: 1500})
		case r.URL.Path == "/clients":
			_, _ = w.Write(f.client)
		case r.Method == http.MethodGet:
			_, _ = w.Write(f.server)
		}
	})
}

// count returns how often a request was made; the caller holds the lock.
func (f *fakes) count(request string) int {
	n := 0
	for _, made := range f.requests {
		if made == request {
			n++
		}
	}
	return n
}

func (f *fakes) made(request string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count(request)
}

func (f *fakes) config(t *testing.T) Config {
	t.Helper()
	f.client, f.server = recorded(t, "sender"), recorded(t, "receiver")
	at := func(end string) netip.AddrPort {
		server := httptest.NewServer(f.handler(end))
		t.Cleanup(server.Close)
		return netip.MustParseAddrPort(strings.TrimPrefix(server.URL, "http://"))
	}
	return Config{
		Endpoints: measure.Endpoints{West: at("west"), East: at("east")},
		West:      netip.MustParseAddr("198.18.255.254"), East: netip.MustParseAddr("198.19.255.254"),
		HTTP: http.DefaultClient,
	}
}

func problem(t *testing.T, message string) string {
	t.Helper()
	text, err := json.Marshal(endpoint.Problem{Message: message})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func shortTrial(directions ...measure.Direction) measure.Trial {
	return measure.Trial{DurationNanoseconds: time.Second.Nanoseconds(), TCP: &measure.TCPTrial{Streams: 2, Directions: directions}}
}

func TestWhoSendsToWhom(t *testing.T) {
	f := &fakes{}
	driver, err := Open(t.Context(), f.config(t), []measure.Direction{measure.Forward})
	if err != nil {
		t.Fatal(err)
	}
	if f.made("east POST /servers") != 1 || f.made("west POST /clients") != 1 {
		t.Errorf("the probe made %v", f.requests)
	}
	outcome, err := driver.Measure(t.Context(), shortTrial(measure.Reverse))
	if err != nil {
		t.Fatal(err)
	}
	if f.made("west POST /servers") != 1 || f.made("east POST /clients") != 1 || f.made("west GET /servers/5202") != 1 {
		t.Errorf("the reverse trial made %v", f.requests)
	}
	if len(outcome.TCP.Ends) != 2 || outcome.TCP.Directions[0].Direction != measure.Reverse {
		t.Errorf("outcome is %+v", outcome.TCP)
	}
	if err := driver.Close(); err != nil || f.made("west PUT /down") != 1 || f.made("east PUT /down") != 1 {
		t.Errorf("closing: %v, %v", err, f.requests)
	}
}

// TestNotifySent checks that the notification comes after the test and before its
// settling.
func TestNotifySent(t *testing.T) {
	f := &fakes{}
	driver, err := Open(t.Context(), f.config(t), []measure.Direction{measure.Forward})
	if err != nil {
		t.Fatal(err)
	}
	var notifier measure.Notifier = driver
	calls, collected := 0, 0
	notifier.NotifySent(func() {
		calls, collected = calls+1, f.made("east GET /servers/"+strconv.Itoa(int(driver.ends[measure.Forward].port)))
	})
	if _, err := driver.Measure(t.Context(), shortTrial(measure.Forward)); err != nil {
		t.Fatal(err)
	}
	if calls != 1 || collected == 0 {
		t.Errorf("called %d times, after %d results of the receiving end; requests %v", calls, collected, f.requests)
	}
	notifier.NotifySent(nil)
	if _, err := driver.Measure(t.Context(), shortTrial(measure.Forward)); err != nil || calls != 1 {
		t.Errorf("called %d times: %v", calls, err)
	}
}

// TestBusy waits for an earlier test, but not permanently.
func TestBusy(t *testing.T) {
	for name, test := range map[string]struct {
		busy   int
		reason string
	}{"once": {1, ""}, "always": {100, v1alpha1.ReasonEndpointFailed}} {
		t.Run(name, func(t *testing.T) {
			f := &fakes{}
			config := f.config(t)
			f.answer = func(request string, n int) (int, string) {
				if request == "east POST /servers" && n <= test.busy {
					return http.StatusConflict, problem(t, "a test is running there")
				}
				return 0, ""
			}
			_, err := Open(t.Context(), config, []measure.Direction{measure.Forward})
			if measure.ReasonOf(err) != test.reason || (err == nil) != (test.reason == "") {
				t.Errorf("got %v", err)
			}
			if n := f.made("east POST /servers"); n != min(test.busy+1, attempts) {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		request, text string
		code          int
		reason, says  string
	}{
		"an agent's no":       {"west PUT /up", "{\"message\": \"setting the MTU: operation not permitted\"}", 500, v1alpha1.ReasonEndpointFailed, "the agent at the west end: setting the MTU"},
		"no JSON":             {"east POST /servers", "oops", 502, v1alpha1.ReasonEndpointFailed, "502 Bad Gateway"},
		"no way through":      {"west POST /clients", `{"error": "unable to connect to server: Connection timed out"}`, 200, v1alpha1.ReasonNoPathThroughChain, "Connection timed out"},
		"a setting":           {"west POST /clients", `{"error": "unable to set TCP/SCTP MSS: Invalid argument"}`, 200, v1alpha1.ReasonTCPSettingRefused, "measurements.tcp.mssBytes"},
		"the receiver's own":  {"east GET /servers/5201", `{"error": "the client has terminated"}`, 200, v1alpha1.ReasonEndpointFailed, "the client has terminated"},
		"half an answer":      {"west POST /clients", `{"start": `, 200, v1alpha1.ReasonEndpointFailed, "reading iperf3's output"},
		"a total is missing":  {"west POST /clients", `{"end": {}}`, 200, v1alpha1.ReasonEndpointFailed, "the sender reported no total"},
		"a path that is lost": {"west POST /clients", `{"error": "unable to write to stream socket: Connection timed out"}`, 200, v1alpha1.ReasonNoPathThroughChain, "timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakes{}
			config := f.config(t)
			f.answer = func(request string, _ int) (int, string) {
				if request == test.request {
					return test.code, test.text
				}
				return 0, ""
			}
			_, err := Open(t.Context(), config, []measure.Direction{measure.Forward})
			if measure.ReasonOf(err) != test.reason || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %s with %q", err, test.reason, test.says)
			}
			if f.made("west PUT /down") != 1 || f.made("east PUT /down") != 1 {
				t.Errorf("the ports are left up: %v", f.requests)
			}
		})
	}
}

// TestChainFailsLater checks that later in a run the same words mean that the chain has failed, and the driver ends the
// server that still waits.
func TestChainFailsLater(t *testing.T) {
	f := &fakes{}
	driver, err := Open(t.Context(), f.config(t), []measure.Direction{measure.Forward})
	if err != nil {
		t.Fatal(err)
	}
	f.answer = func(request string, _ int) (int, string) {
		if request == "west POST /clients" {
			return 200, `{"error": "unable to connect to server: No route to host"}`
		}
		return 0, ""
	}
	_, err = driver.Measure(t.Context(), shortTrial(measure.Forward))
	if measure.ReasonOf(err) != v1alpha1.ReasonChainFailed {
		t.Errorf("got %v", err)
	}
	if f.made("east DELETE /servers/5201") != 1 {
		t.Errorf("requests are %v", f.requests)
	}
}

func TestUnreachable(t *testing.T) {
	f := &fakes{}
	config := f.config(t)
	config.Endpoints.East = netip.MustParseAddrPort("127.0.0.1:1")
	_, err := Open(t.Context(), config, []measure.Direction{measure.Forward})
	if measure.ReasonOf(err) != v1alpha1.ReasonEndpointFailed || !strings.Contains(err.Error(), "asking the agent at the east end") {
		t.Errorf("got %v", err)
	}
}

func TestNoTrial(t *testing.T) {
	f := &fakes{}
	driver, err := Open(t.Context(), f.config(t), []measure.Direction{measure.Forward})
	if err != nil {
		t.Fatal(err)
	}
	for name, trial := range map[string]measure.Trial{"of frames": {FrameBytes: 64}, "of no direction": shortTrial()} {
		if _, err := driver.Measure(t.Context(), trial); measure.ReasonOf(err) != v1alpha1.ReasonInvalidTrial {
			t.Errorf("a trial %s: %v", name, err)
		}
	}
	var failure *measure.Failure
	if _, err := driver.Measure(t.Context(), shortTrial("Sideways")); !errors.As(err, &failure) {
		t.Errorf("an unknown direction: %v", err)
	}
}

// TestRefusedToken checks that the opener sends the token to both ends, and that the failure has an agent's cause without it.
func TestRefusedToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	at := func() netip.AddrPort {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer secret" {
				asked.Add(1)
			}
			http.Error(w, "the token has expired: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		}))
		t.Cleanup(server.Close)
		return netip.MustParseAddrPort(strings.TrimPrefix(server.URL, "http://"))
	}
	_, err := Opener{TokenFile: file}.Open(t.Context(), measure.Opening{Endpoints: &measure.Endpoints{West: at(), East: at()}})
	if err == nil || !strings.Contains(err.Error(), "401 Unauthorized: the token has expired: Bearer [token]") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if asked.Load() < 2 {
		t.Errorf("%d requests had the token", asked.Load())
	}
}
