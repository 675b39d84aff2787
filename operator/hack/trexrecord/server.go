//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

// address is where a server listens, in this process's network namespace.
const address = "127.0.0.1:4501"

// startTimeout is how long a server may take until it answers. One whose gateway does not answer
// takes 17 s.
const startTimeout = 90 * time.Second

// server is one process of TRex.
type server struct {
	command *exec.Cmd
	output  *tail
	ended   chan struct{}
}

// settings are the differences between the recordings.
type settings struct {
	arguments []string
	// eastGateway is one that does not answer, or empty.
	eastGateway string
}

// start starts a server and waits until it answers.
func start(ctx context.Context, program string, s settings, state string) (*server, error) {
	configuration := filepath.Join(state, "trex_cfg.yaml")
	if err := os.WriteFile(configuration, []byte(s.configuration()), 0o600); err != nil {
		return nil, err
	}
	arguments := append([]string{"-i", "--cfg", configuration, "--iom", "0", "--no-key", "--no-scapy-server"}, s.arguments...)
	p := &server{command: exec.Command(program, arguments...), output: &tail{}, ended: make(chan struct{})}
	directory := filepath.Dir(program)
	p.command.Dir = directory
	p.command.Env = append(os.Environ(), "LD_LIBRARY_PATH="+directory+":"+filepath.Join(directory, "so", "x86_64"), "RUNTIME_DIRECTORY="+state)
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.WaitDelay = time.Second
	// It ends with the thread that started it, so that thread stays.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := p.command.Start()
		if started <- err; err == nil {
			_ = p.command.Wait() // its output shows how it ended
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	if err := p.answers(ctx); err != nil {
		p.kill()
		return nil, fmt.Errorf("%w; its last words:\n%s", err, p.output)
	}
	return p, nil
}

func (s settings) configuration() string {
	var text strings.Builder
	text.WriteString("- version: 2\n  low_end: true\n  low_end_core: 1\n  interfaces:\n")
	for i, end := range ends {
		fmt.Fprintf(&text, "  - \"--vdev=net_af_packet%d,iface=%s,framecnt=4096,blocksz=65536,qdisc_bypass=1\"\n", i, end.port)
	}
	text.WriteString("  port_info:\n")
	for i, end := range ends {
		gateway := end.gateway
		if i == 1 && s.eastGateway != "" {
			gateway = s.eastGateway
		}
		fmt.Fprintf(&text, "  - ip: %s\n    default_gw: %s\n", end.portAddress, gateway)
	}
	return text.String()
}

// answers waits for the first answer.
func (p *server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the server did not answer within %s", startTimeout))
	defer cancel()
	for {
		if conn, err := zmtp.Dial(ctx, address, 0); err == nil {
			_, err = conn.Exchange(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`))
			_ = conn.Close()
			if err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.ended:
			return errors.New("the server ended")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *server) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// pause stops the process so that it acts like a hanging one: it listens and does not answer.
func (p *server) pause() error { return syscall.Kill(-p.command.Process.Pid, syscall.SIGSTOP) }

// kill ends the process and waits for it.
func (p *server) kill() {
	if p.alive() {
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	}
	<-p.ended
}

// tail keeps the end of what a server prints.
type tail struct {
	mutex sync.Mutex
	text  []byte
}

func (t *tail) Write(text []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.text = append(t.text, text...)
	const kept = 4000
	if len(t.text) > kept {
		t.text = bytes.Clone(t.text[len(t.text)-kept:])
	}
	return len(text), nil
}

func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(t.text)
}
