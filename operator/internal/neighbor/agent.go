//go:build linux

package neighbor

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/vnf/cpu"
)

// load is one that goes on.
type load interface {
	running() bool
	// problem is why it ended by itself, or "".
	problem() string
	frames() (sent, received uint64)
	// stop ends it; again, it answers alike.
	stop() ([]measure.Stressor, error)
}

// Agent starts and stops one load at a time.
type Agent struct {
	program, scratch string
	log              *slog.Logger
	started          time.Time
	meter            *cpu.Meter

	mu sync.Mutex
	// current is nil where nothing loads.
	current load
	// sent and received are those of the loads that have ended.
	sent, received uint64
	stressors      []measure.Stressor
	problem        string
}

// New is an agent that loads nothing yet. The program is stress-ng, scratch a
// folder that it may write to.
func New(program, scratch string, log *slog.Logger) (*Agent, error) {
	meter, err := cpu.NewMeter(os.DirFS("/"), time.Now)
	if err != nil {
		return nil, err
	}
	return &Agent{program: program, scratch: scratch, log: log, started: time.Now(), meter: meter}, nil
}

// Start ends the load that goes on, and starts another.
func (a *Agent) Start(wanted measure.NeighborLoad) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end()
	a.stressors, a.problem = nil, ""
	var next load
	var err error
	if wanted.Kind == measure.NeighborNetwork {
		next, err = start(startFrames(wanted, InterfaceWest, InterfaceEast))
	} else {
		next, err = start(startStress(a.program, wanted, a.scratch))
	}
	if err != nil {
		a.problem = err.Error()
		return err
	}
	a.current = next
	a.log.Info("loading", "load", wanted)
	return nil
}

// start keeps a nil pointer from becoming a load.
func start[L load](made L, err error) (load, error) {
	if err != nil {
		return nil, err
	}
	return made, nil
}

// Stop ends the load.
func (a *Agent) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end()
}

// end needs the lock.
func (a *Agent) end() {
	if a.current == nil {
		return
	}
	// Why it ended by itself is known only before it is stopped.
	a.problem = a.current.problem()
	stressors, err := a.current.stop()
	if err != nil && a.problem == "" {
		a.problem = err.Error()
	}
	sent, received := a.current.frames()
	a.sent, a.received = a.sent+sent, a.received+received
	a.stressors, a.current = stressors, nil
	a.log.Info("stopped", "stressors", stressors, "sentFrames", sent, "receivedFrames", received, "problem", a.problem)
}

// Status is what the load has done so far.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	status := Status{
		StartedAt: a.started, ElapsedNanoseconds: time.Since(a.started).Nanoseconds(),
		Problem: a.problem, SentFrames: a.sent, ReceivedFrames: a.received, Stressors: a.stressors,
	}
	if a.current != nil {
		sent, received := a.current.frames()
		status.SentFrames, status.ReceivedFrames = status.SentFrames+sent, status.ReceivedFrames+received
		status.Running, status.Problem = a.current.running(), a.current.problem()
	}
	usage, err := a.meter.Read()
	switch {
	case err != nil:
		status.CPUProblem = err.Error()
	case usage.Container == nil:
		status.CPUProblem = usage.ContainerProblem
	default:
		status.CPUNanoseconds = usage.Container.UserNanoseconds + usage.Container.SystemNanoseconds
	}
	return status
}

// longestRequest is more than any load takes.
const longestRequest = 16 << 10

// Handler serves the agent and /readyz.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(value); err != nil {
			a.log.Error("writing an answer", "error", err.Error())
		}
	}
	mux.HandleFunc("POST "+PathStart, func(w http.ResponseWriter, r *http.Request) {
		var wanted measure.NeighborLoad
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestRequest))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&wanted); err != nil {
			http.Error(w, fmt.Sprintf("reading the load: %v", err), http.StatusBadRequest)
			return
		}
		if err := a.Start(wanted); err != nil {
			a.log.Error("the load did not start", "error", err.Error())
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		answer(w, a.Status())
	})
	mux.HandleFunc("POST "+PathStop, func(w http.ResponseWriter, _ *http.Request) {
		a.Stop()
		answer(w, a.Status())
	})
	mux.HandleFunc("GET "+PathStatus, func(w http.ResponseWriter, _ *http.Request) { answer(w, a.Status()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, "ok") })
	return mux
}
