//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one run of the server.
type process struct {
	command *exec.Cmd
	output  *lastLines
	// ended is closed after the end, and err is set before that.
	ended chan struct{}
	err   error

	// mutex is held while the process is reaped, so that no signal goes to a number that
	// another process has received.
	mutex  sync.Mutex
	reaped bool
}

// outputTimeout is how long the output may stay open after the process's end.
const outputTimeout = 2 * time.Second

// startProcess starts the server in a separate process group. The caller must use a
// thread that lives as long as the process.
func startProcess(program string, arguments []string, directory string, environment []string, output *lastLines) (*process, error) {
	command := exec.Command(program, arguments...)
	command.Dir, command.Env = directory, environment
	command.Stdout, command.Stderr = output, output
	command.WaitDelay = outputTimeout
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	p := &process{command: command, output: output, ended: make(chan struct{})}
	go p.watch()
	return p, nil
}

// watch waits for the end. Before the process is reaped, no other process can have its
// number, or that of its group: so watch kills what it left before that.
func (p *process) watch() {
	for {
		err := unix.Waitid(unix.P_PID, p.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mutex.Lock()
	_ = unix.Kill(-p.pid(), unix.SIGKILL)
	err := p.command.Wait()
	p.reaped = true
	p.mutex.Unlock()
	p.output.finish()
	p.err = err
	close(p.ended)
}

func (p *process) pid() int { return p.command.Process.Pid }

// signal signals the whole group, while there is one.
func (p *process) signal(signal unix.Signal) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.reaped {
		_ = unix.Kill(-p.pid(), signal)
	}
}

// over returns how the process has ended; false while it runs.
func (p *process) over() (string, bool) {
	select {
	case <-p.ended:
	default:
		return "", false
	}
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		return strings.TrimSpace(exit.String()), true
	}
	if p.err != nil {
		return p.err.Error(), true
	}
	return "exit status 0", true
}

// stop asks the process to end, and kills it if it does not. It reports whether it killed
// it.
func (p *process) stop(timeout time.Duration) (killed bool) {
	p.signal(unix.SIGINT)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	select {
	case <-p.ended:
		return false
	case <-ctx.Done():
	}
	p.signal(unix.SIGKILL)
	<-p.ended
	return true
}
