//go:build linux

// Package agent reports the state of a network function: whether it is ready,
// and if not, why; what its ports counted; what processor time it used. It
// answers over HTTP, and logs each change between ready and not ready.
package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"vnfbench.io/operator/internal/vnf"
)

// errNotConfigured is the reason until Configured is called.
var errNotConfigured = errors.New("the configuration is not applied yet")

// Kernel is what the agent reads about the ports.
type Kernel interface {
	// Check returns nil when the function forwards as configured.
	Check() error
	Ports() []vnf.PortStatus
	// Status returns the function's own state and counters.
	Status() vnf.FunctionStatus
}

// Meter is what the agent reads about processor time.
type Meter interface {
	Read() (vnf.CPUUsage, error)
}

// Agent answers for one function.
type Agent struct {
	config    *vnf.Config
	kernel    Kernel
	meter     Meter
	log       *slog.Logger
	startedAt time.Time

	mu         sync.Mutex
	configured bool
	// failed is why the function will never forward again, whatever the kernel
	// reports.
	failed error
	// last is the state that was logged last.
	last error
	// lost receives the reason when a function that was ready stops being ready.
	lost chan error
}

// New returns the agent of a function that is not configured yet.
func New(config *vnf.Config, kernel Kernel, meter Meter, startedAt time.Time, log *slog.Logger) *Agent {
	return &Agent{
		config: config, kernel: kernel, meter: meter, startedAt: startedAt, log: log,
		last: errNotConfigured, lost: make(chan error, 1),
	}
}

// NewBroken returns the agent of a pod or VM that has no usable configuration;
// Fail gives the reason.
func NewBroken(meter Meter, startedAt time.Time, log *slog.Logger) *Agent {
	return New(nil, nil, meter, startedAt, log)
}

// Fail records that the function does not forward and never will. From now on
// the agent reports this reason.
func (a *Agent) Fail(reason error) {
	a.mu.Lock()
	a.failed = reason
	a.mu.Unlock()
	_ = a.Observe() // logs it
}

// Lost returns a channel that receives, once, why a function that was ready is no longer ready.
func (a *Agent) Lost() <-chan error { return a.lost }

// Configured records that the configuration is in the kernel.
func (a *Agent) Configured() {
	a.mu.Lock()
	a.configured = true
	a.mu.Unlock()
	_ = a.Observe() // logs the first state
}

// Observe checks the kernel now, logs the answer if it changed, and returns why
// the function is not ready, or nil.
func (a *Agent) Observe() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.failed
	switch {
	case err != nil:
	case !a.configured:
		return errNotConfigured
	default:
		err = a.kernel.Check()
	}
	if text(err) != text(a.last) {
		if err == nil {
			a.log.Info("ready")
		} else {
			a.log.Error("not ready", "reasons", reasons(err))
		}
		if a.last == nil {
			select {
			case a.lost <- err:
			default: // the first reason is on its way already
			}
		}
		a.last = err
	}
	return err
}

// Handler serves /healthz, /readyz and /status.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := a.Observe(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET "+vnf.PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(a.Status()); err != nil {
			a.log.Error("writing the status", "error", err.Error())
		}
	})
	return mux
}

// Status returns the function's current state.
func (a *Agent) Status() vnf.Status {
	err := a.Observe()
	status := vnf.Status{Version: vnf.StatusVersion, StartedAt: a.startedAt, Ready: err == nil, Reasons: reasons(err)}
	if a.config != nil {
		status.Function, status.Name, status.ConfigurationDigest = a.config.Function, a.config.Name, a.config.Digest()
		status.Ports, status.FunctionStatus = a.kernel.Ports(), a.kernel.Status()
	}
	usage, err := a.meter.Read()
	if err != nil {
		status.CPUProblem = err.Error()
		return status
	}
	status.CPU = &usage
	return status
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// reasons returns the lines of a joined error.
func reasons(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}
