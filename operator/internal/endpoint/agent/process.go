//go:build linux

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// maxOutputBytes is far more than iperf3 writes about 128 connections.
const maxOutputBytes = 16 << 20

// process is a running program, which is killed when its lifetime is over.
type process struct {
	cancel context.CancelFunc
	// ended closes when the program is gone; output and err are set then.
	ended  chan struct{}
	output []byte
	err    error
}

// start runs the program. When its lifetime is over it gets SIGTERM, which lets
// iperf3 report that in its output, and SIGKILL a second later.
func start(program string, lifetime time.Duration, arguments ...string) (*process, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	stdout, stderr := &bounded{}, &bounded{}
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stdout, command.Stderr = stdout, stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Second
	if err := command.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	p := &process{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer cancel()
		err := command.Wait()
		p.output = stdout.Bytes()
		switch {
		case len(p.output) > 0:
			// iperf3 reports its errors in its output, with any exit code.
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			p.err = fmt.Errorf("%s did not end within %s and was killed", program, lifetime)
		default:
			p.err = fmt.Errorf("%s reported nothing: %w: %s", program, errors.Join(err, stdout.err), strings.TrimSpace(stderr.String()))
		}
		close(p.ended)
	}()
	return p, nil
}

// wait waits for the end, or until ctx is over, which does not affect the program.
func (p *process) wait(ctx context.Context) ([]byte, error) {
	select {
	case <-p.ended:
		return p.output, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stop ends the program and waits until it is gone.
func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// bounded keeps no more than the bound, and reports if there was more.
type bounded struct {
	bytes.Buffer
	err error
}

func (b *bounded) Write(data []byte) (int, error) {
	if b.Len()+len(data) > maxOutputBytes {
		b.err = fmt.Errorf("the output is longer than %d bytes", maxOutputBytes)
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(data)
}
