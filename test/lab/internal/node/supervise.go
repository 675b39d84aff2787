package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/config"
)

// Supervise runs the second stage until a signal ends it.
func Supervise() error {
	for _, fd := range []int{ReportFD, ListenerFD, NetworkFD} {
		unix.CloseOnExec(fd) // the daemons have no use for them
	}
	spec, err := readSpec(specPlace)
	s := newSupervisor(config.LogDir)
	if err == nil && spec.Machine != nil {
		s.files, err = connectMachine()
	} else if err == nil {
		err = connect(spec.Node)
	}
	if err != nil {
		return errors.Join(err, report(err.Error()))
	}
	if err := report(Ready); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go s.reap()
	var running sync.WaitGroup
	for _, d := range spec.daemons() {
		running.Go(func() { s.keep(ctx, d) })
	}
	slog.Info("Node started", "name", spec.Node.Name())
	running.Wait()
	slog.Info("Node stopped", "name", spec.Node.Name())
	return nil
}

// connect sets up the node's network, and in node 1 what forwards connections of the machine to the API server.
func connect(n config.Node) error {
	if n.ControlPlane() {
		if err := setUpNetwork(n, nil); err != nil {
			return err
		}
		return forward(os.NewFile(ListenerFD, "listener"))
	}
	first := os.NewFile(NetworkFD, "node 1's network")
	defer first.Close() // a namespace that is open outlives the node
	return setUpNetwork(n, first)
}

// QEMU is the name of the daemon that is the emulated machine.
const QEMU = "qemu"

// Messages about a daemon that runs no longer, in the log of its node.
const (
	daemonEnded = "Daemon ended"
	notStarted  = "Starting daemon failed"
)

// ReportsEnd reports whether a line of a node's log says that a daemon ended by itself, or could not be started.
func ReportsEnd(line, daemon string) bool {
	return strings.Contains(line, daemonEnded+" name="+daemon+" ") || strings.Contains(line, notStarted+" name="+daemon+" ")
}

// daemons returns what keeps running next to this program: for a machine that is QEMU, which runs the others.
func (s Spec) daemons() []config.Daemon {
	if s.Machine != nil {
		return []config.Daemon{{Name: QEMU, Args: s.Machine.Args()}}
	}
	return s.Node.Daemons()
}

// A supervisor keeps daemons running and, being process 1, reaps all orphans.
type supervisor struct {
	logDir string
	// files are those that every daemon inherits, from descriptor 3 on.
	files []*os.File
	// mu is held while a process starts: it must be known before it is
	// reaped.
	mu    sync.Mutex
	exits map[int]chan<- syscall.WaitStatus
}

func newSupervisor(logDir string) *supervisor {
	return &supervisor{logDir: logDir, exits: map[int]chan<- syscall.WaitStatus{}}
}

// restartDelay is between a daemon's end and its next start.
const restartDelay = time.Second

// keep runs a daemon, again and again, until ctx is done, and then ends it.
func (s *supervisor) keep(ctx context.Context, d config.Daemon) {
	for {
		if err := await(ctx, d.Needs); err != nil {
			return // the node ends
		}
		slog.Info("Starting daemon", "name", d.Name)
		process, exit, err := s.start(d)
		if err != nil {
			slog.Error(notStarted, "name", d.Name, "err", err)
		} else if ended := s.watch(ctx, d, process, exit); ended {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(restartDelay):
		}
	}
}

// stopTimeout is how long a daemon may take to end before the node ends
// without waiting for it.
const stopTimeout = 5 * time.Second

// watch waits for a daemon's end, or for the node's, which it forwards.
func (s *supervisor) watch(ctx context.Context, d config.Daemon, process *os.Process, exit <-chan syscall.WaitStatus) (nodeEnded bool) {
	select {
	case status := <-exit:
		slog.Error(daemonEnded, "name", d.Name, "exitCode", status.ExitStatus(), "signal", status.Signal().String())
		return false
	case <-ctx.Done():
	}
	_ = process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-exit:
	case <-time.After(stopTimeout):
	}
	return true
}

// run runs a program to its end.
func (s *supervisor) run(d config.Daemon) error {
	_, exit, err := s.start(d)
	if err != nil {
		return err
	}
	if status := <-exit; status != 0 {
		return fmt.Errorf("%s failed with exit code %d: its output is in %s.log", d.Args[0], status.ExitStatus(), d.Name)
	}
	return nil
}

func (s *supervisor) start(d config.Daemon) (*os.Process, <-chan syscall.WaitStatus, error) {
	log, err := os.OpenFile(filepath.Join(s.logDir, d.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	input, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer input.Close()
	path, err := find(d.Args[0])
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	process, err := os.StartProcess(path, d.Args, &os.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: append([]*os.File{input, log, log}, s.files...),
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, nil, err
	}
	exit := make(chan syscall.WaitStatus, 1)
	s.exits[process.Pid] = exit
	return process, exit, nil
}

// find searches for a program in the node's path.
func find(name string) (string, error) {
	for _, dir := range filepath.SplitList(config.Path()) {
		candidate := filepath.Join(dir, name)
		if unix.Access(candidate, unix.X_OK) == nil {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("the node has no program %q", name)
}

// reap collects every process that ends, the daemons and the orphans.
func (s *supervisor) reap() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	for {
		for s.reapOne() {
		}
		select {
		case <-signals:
		case <-time.After(time.Minute): // in case a signal was lost
		}
	}
}

func (s *supervisor) reapOne() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	if err == syscall.EINTR {
		return true
	}
	if err != nil || pid <= 0 {
		return false
	}
	if exit, known := s.exits[pid]; known {
		delete(s.exits, pid)
		exit <- status
	}
	return true
}
