// Package command runs other programs. A description of the program goes in;
// its output, or an error that carries the end of its output, comes out. No
// program outlives the one that started it.
package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command describes a program to run.
type Command struct {
	// Args is the program's name and its arguments.
	Args []string
	// Dir is the working directory; empty means the caller's.
	Dir string
	// Env is the environment; nil means the caller's.
	Env []string
	// Stdin, Stdout and Stderr are connected when set. Other output of the program is kept for the
	// error message.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Niceness lowers the priority of the program and its children.
	Niceness int
	// Isolated gives the program separate mount and process namespaces: what it mounts and starts
	// is gone when it ends, however it ends.
	Isolated bool
}

// Run runs c to its end.
func (c Command) Run(ctx context.Context) error {
	// The death signal below is sent when the starting thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var tail tailBuffer
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, c.Stdin
	cmd.Stdout, cmd.Stderr = orTail(c.Stdout, &tail), orTail(c.Stderr, &tail)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c.Isolated {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
		cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %q: %w", c.Args[0], err)
	}
	if c.Niceness != 0 {
		_ = unix.Setpriority(unix.PRIO_PROCESS, cmd.Process.Pid, c.Niceness) // best effort
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("running %q: %w%s", c.Args[0], err, tail.suffix())
	}
	return nil
}

// Output runs c and returns what it wrote to its standard output.
func (c Command) Output(ctx context.Context) (string, error) {
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run(ctx)
	return out.String(), err
}

func orTail(w io.Writer, tail *tailBuffer) io.Writer {
	if w != nil {
		return w
	}
	return tail
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct{ data []byte }

const tailBytes = 2000

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if extra := len(t.data) - tailBytes; extra > 0 {
		t.data = t.data[extra:]
	}
	return len(p), nil
}

func (t *tailBuffer) suffix() string {
	text := strings.TrimSpace(string(t.data))
	if text == "" {
		return ""
	}
	return ":\n" + text
}
