//go:build linux

// Package agent runs iperf3 on a machine at an end of TCP connections. Requests
// of the measurer go in over HTTP, iperf3's output comes out. A request names
// no argument of a program: the agent checks each field and puts it into its place.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/measure"
)

// listenTimeout is how long iperf3 may take until it listens.
const listenTimeout = 5 * time.Second

// Agent serves one machine. One test runs at a time.
type Agent struct {
	config *endpoint.Config
	port   Port
	// program is iperf3's path.
	program string
	tool    measure.Program
	log     *slog.Logger

	mu sync.Mutex
	// running are the servers by their port, and the client under 0.
	running map[uint16]*process
}

// New finds iperf3 and the port, and takes the port down until a request sets it up.
func New(config *endpoint.Config, program string, log *slog.Logger) (*Agent, error) {
	a := &Agent{config: config, port: Port{config}, program: program, log: log, running: map[uint16]*process{}}
	text, err := exec.Command(program, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("asking %s for its version: %w", program, err)
	}
	a.tool = programOf(string(text))
	return a, a.port.Down()
}

// programOf reads what "iperf3 --version" writes: "iperf 3.12 (cJSON 1.7.15)" and more.
func programOf(text string) measure.Program {
	tool := measure.Program{Name: measure.ProgramIperf3}
	if words := strings.Fields(text); len(words) >= 2 && words[0] == "iperf" {
		tool.Version = words[1]
	}
	return tool
}

// threadPerConnection reports whether this version of iperf3 has a thread for
// each connection, which it has since 3.16. For an unknown version it is false.
func threadPerConnection(tool measure.Program) bool {
	number, err := version.ParseGeneric(tool.Version)
	return err == nil && number.AtLeast(version.MajorMinor(3, 16))
}

// Close ends what runs and takes the port down.
func (a *Agent) Close() error {
	a.stopAll()
	return a.port.Down()
}

// Handler serves the requests.
//
//	GET    /readyz          200: the port and iperf3 are there
//	PUT    /up              ends what runs, sets the port up, describes this end
//	PUT    /down            ends what runs, takes the port down
//	POST   /servers         starts a server; answers when it listens
//	GET    /servers/{port}  answers with its output when it has ended
//	DELETE /servers/{port}  ends it
//	POST   /clients         makes a test and answers with its output
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := a.port.find(); err != nil {
			refuse(w, http.StatusServiceUnavailable, err)
		}
	})
	mux.HandleFunc("PUT /up", a.up)
	mux.HandleFunc("PUT /down", a.down)
	mux.HandleFunc("POST /servers", a.startServer)
	mux.HandleFunc("GET /servers/{port}", a.awaitServer)
	mux.HandleFunc("DELETE /servers/{port}", a.stopServer)
	mux.HandleFunc("POST /clients", a.runClient)
	return mux
}

func (a *Agent) up(w http.ResponseWriter, _ *http.Request) {
	a.stopAll()
	a.log.Info("setting the port up", "interface", a.config.Interface)
	if err := a.port.Up(); err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, measure.TCPEnd{Name: a.config.Name, Program: a.tool, ThreadPerConnection: threadPerConnection(a.tool), MTUBytes: a.config.MTUBytes, Offloads: a.port.Offloads()})
}

func (a *Agent) down(w http.ResponseWriter, _ *http.Request) {
	a.log.Info("taking the port down", "interface", a.config.Interface)
	if err := a.Close(); err != nil {
		refuse(w, http.StatusInternalServerError, err)
	}
}

func (a *Agent) startServer(w http.ResponseWriter, r *http.Request) {
	var request endpoint.Server
	if !read(w, r, &request) {
		return
	}
	if err := request.Check(a.config); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	p := a.begin(w, request.Port, request.Lifetime(), request.Arguments())
	if p == nil {
		return
	}
	if err := p.listening(r.Context(), request.Port); err != nil {
		a.end(request.Port, p)
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// listening returns when the server accepts connections.
func (p *process) listening(ctx context.Context, port uint16) error {
	ctx, cancel := context.WithTimeoutCause(ctx, listenTimeout,
		fmt.Errorf("iperf3 does not listen on port %d after %s", port, listenTimeout))
	defer cancel()
	for {
		found, err := listens(port)
		if err != nil || found {
			return err
		}
		select {
		case <-p.ended:
			return errors.Join(p.err, reportedError(p.output))
		default:
		}
		if err := clock.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// reportedError returns the error that iperf3 put into its output, or nil.
func reportedError(output []byte) error {
	var result struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(output, &result) == nil && result.Error != "" {
		return errors.New(result.Error)
	}
	return nil
}

func (a *Agent) awaitServer(w http.ResponseWriter, r *http.Request) {
	port, p := a.find(r)
	if p == nil {
		refuse(w, http.StatusNotFound, fmt.Errorf("there is no server on port %q", r.PathValue("port")))
		return
	}
	a.finish(w, r, port, p)
}

func (a *Agent) stopServer(_ http.ResponseWriter, r *http.Request) {
	if port, p := a.find(r); p != nil {
		a.end(port, p)
	}
}

func (a *Agent) runClient(w http.ResponseWriter, r *http.Request) {
	var request endpoint.Client
	if !read(w, r, &request) {
		return
	}
	if err := request.Check(a.config); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	if p := a.begin(w, 0, request.Lifetime(), request.Arguments()); p != nil {
		a.finish(w, r, 0, p)
	}
}

// begin starts iperf3 at a place where nothing runs, or refuses.
func (a *Agent) begin(w http.ResponseWriter, place uint16, lifetime time.Duration, arguments []string) *process {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[place] != nil {
		refuse(w, http.StatusConflict, fmt.Errorf("a test is running there (port %d)", place))
		return nil
	}
	a.log.Info("starting iperf3", "arguments", arguments)
	p, err := start(a.program, lifetime, arguments...)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return nil
	}
	a.running[place] = p
	return p
}

// finish answers with the output. A requester that goes away ends its test.
func (a *Agent) finish(w http.ResponseWriter, r *http.Request, place uint16, p *process) {
	output, err := p.wait(r.Context())
	a.end(place, p)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(output); err != nil {
		a.log.Warn("an answer was lost", "error", err.Error())
	}
}

func (a *Agent) find(r *http.Request) (uint16, *process) {
	var port uint16
	if _, err := fmt.Sscanf(r.PathValue("port"), "%d", &port); err != nil || port == 0 {
		return 0, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return port, a.running[port]
}

func (a *Agent) end(place uint16, p *process) {
	p.stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[place] == p {
		delete(a.running, place)
	}
}

func (a *Agent) stopAll() {
	a.mu.Lock()
	running := a.running
	a.running = map[uint16]*process{}
	a.mu.Unlock()
	for _, p := range running {
		p.stop()
	}
}

// maxRequestBytes is more than any request needs.
const maxRequestBytes = 4096

func read(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return false
	}
	return true
}

func refuse(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// The requester may be gone; there is no other place to report the error.
	_ = json.NewEncoder(w).Encode(endpoint.Problem{Message: err.Error()})
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
