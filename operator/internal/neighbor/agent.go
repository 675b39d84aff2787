//go:build linux

package neighbor

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/vnf/cpu"
)

// load is a load that is running.
type load interface {
	running() bool
	// problem returns why it ended by itself, or "".
	problem() string
	frames() (sent, received uint64)
	// stop ends it. A second call returns the same.
	stop() ([]measure.Stressor, error)
}

// Agent starts and stops one load at a time.
type Agent struct {
	program, scratch string
	log              *slog.Logger
	started          time.Time
	account          string
	meter            *cpu.Meter

	mu sync.Mutex
	// notReady is why no load can be started, or nil.
	notReady error
	// noDisk is why none can be started that writes files, or nil.
	noDisk error
	// current is nil while nothing loads.
	current load
	// sent and received are the counts of the loads that have ended.
	sent, received uint64
	stressors      []measure.Stressor
	problem        string
}

// errNotConfigured is the reason until Ready or Fail is called.
var errNotConfigured = errors.New("the machine is not set up yet")

// New returns a pod's agent that loads nothing yet. program is the path of
// stress-ng, scratch a folder that it may write to.
func New(program, scratch string, log *slog.Logger) (*Agent, error) {
	meter, err := cpu.NewMeter("/", time.Now)
	if err != nil {
		return nil, err
	}
	return &Agent{program: program, scratch: scratch, log: log, started: time.Now(), account: AccountContainer, meter: meter}, nil
}

// NewInGuest returns the agent of a machine in which nothing else runs. It is not
// ready until Ready is called.
func NewInGuest(program, scratch string, log *slog.Logger) (*Agent, error) {
	meter, err := cpu.NewGuestMeter("/", time.Now)
	if err != nil {
		return nil, err
	}
	return &Agent{
		program: program, scratch: scratch, log: log, started: time.Now(), account: AccountMachine, meter: meter,
		notReady: errNotConfigured,
	}, nil
}

// Ready records that loads can be started. noDisk, when set, is why loads that
// write files cannot: their files would stay in memory.
func (a *Agent) Ready(noDisk error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notReady, a.noDisk = nil, noDisk
	a.log.Info("ready")
}

// Fail records that no load can be started, and why.
func (a *Agent) Fail(reason error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notReady = reason
	a.log.Error("not ready", "reason", reason.Error())
}

// refuse returns why a load cannot be started. The caller holds the lock.
func (a *Agent) refuse(wanted measure.NeighborLoad) error {
	if a.notReady != nil {
		return fmt.Errorf("neighbor %q is not ready: %w", wanted.Name, a.notReady)
	}
	if a.noDisk != nil && wanted.Kind == measure.NeighborDisk {
		return fmt.Errorf("neighbor %q has nothing to write to: %w", wanted.Name, a.noDisk)
	}
	return nil
}

// Start ends the running load, if any, and starts another.
func (a *Agent) Start(wanted measure.NeighborLoad) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refuse(wanted); err != nil {
		return err
	}
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

// end ends the load. The caller holds the lock.
func (a *Agent) end() {
	if a.current == nil {
		return
	}
	// The reason why it ended by itself is known only before the stop.
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

// Status returns what the load has done so far.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	status := Status{
		StartedAt: a.started, ElapsedNanoseconds: time.Since(a.started).Nanoseconds(),
		Problem: a.problem, Account: a.account, SentFrames: a.sent, ReceivedFrames: a.received, Stressors: a.stressors,
	}
	if a.current != nil {
		sent, received := a.current.frames()
		status.SentFrames, status.ReceivedFrames = status.SentFrames+sent, status.ReceivedFrames+received
		status.Running, status.Problem = a.current.running(), a.current.problem()
	}
	if a.notReady != nil {
		status.NotReady = a.notReady.Error()
	}
	usage, err := a.meter.Read()
	switch {
	case err != nil:
		status.CPUProblem = err.Error()
	case a.account == AccountMachine:
		t := usage.Total
		status.CPUNanoseconds = t.UserNanoseconds + t.SystemNanoseconds + t.HardirqNanoseconds + t.SoftirqNanoseconds
	case usage.Container == nil:
		status.CPUProblem = usage.ContainerProblem
	default:
		status.CPUNanoseconds = usage.Container.UserNanoseconds + usage.Container.SystemNanoseconds
	}
	return status
}

// maxRequestBytes is more than any load takes.
const maxRequestBytes = 16 << 10

// Handler serves the agent and PathReady.
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
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequestBytes))
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
	mux.HandleFunc("GET "+PathReady, func(w http.ResponseWriter, _ *http.Request) {
		if reason := a.Status().NotReady; reason != "" {
			http.Error(w, reason, http.StatusServiceUnavailable)
			return
		}
		answer(w, "ok")
	})
	return mux
}
