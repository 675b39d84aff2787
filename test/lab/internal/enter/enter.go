// Package enter finds a running node and runs programs in it. A process id and
// a start time go in; processes in that node's namespaces come out.
package enter

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Node is the first process of a node, as this machine sees it.
type Node struct {
	// PID is the process id in this process's namespace.
	PID int `json:"pid"`
	// StartTicks is when the process started, in clock ticks since boot: ids are reused, the pair
	// is not.
	StartTicks uint64 `json:"startTicks"`
}

// Identify describes the running process pid.
func Identify(pid int) (Node, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Node{}, fmt.Errorf("identifying a process: %w", err)
	}
	state, ticks, err := parseStat(string(stat))
	if err != nil {
		return Node{}, fmt.Errorf("identifying the process %d: %w", pid, err)
	}
	if state == "Z" || state == "X" {
		return Node{}, fmt.Errorf("identifying the process %d: it has ended", pid)
	}
	return Node{PID: pid, StartTicks: ticks}, nil
}

// parseStat reads the state and the start time, fields 3 and 22 of proc(5)'s
// stat. The second field, a name in parentheses, may hold anything.
func parseStat(stat string) (state string, startTicks uint64, err error) {
	_, rest, found := cutLast(stat, ")")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return "", 0, fmt.Errorf("unexpected process status %q", stat)
	}
	startTicks, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], startTicks, err
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Alive reports whether the node runs.
func (n Node) Alive() bool {
	if n.PID <= 0 {
		return false
	}
	now, err := Identify(n.PID)
	return err == nil && now == n
}

// Kill ends the node, with all its processes, and waits until they are gone.
func (n Node) Kill() error {
	pidfd, err := n.open()
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("ending the node: %w", err)
	}
	for range 300 {
		if !n.Alive() {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("ending the node: process %d is still there", n.PID)
}

var errGone = errors.New("the node is not running")

// open returns a file descriptor that stays with the node's first process.
func (n Node) open() (int, error) {
	if n.PID <= 0 {
		return -1, errGone
	}
	pidfd, err := unix.PidfdOpen(n.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return -1, errGone
	}
	if err != nil {
		return -1, fmt.Errorf("opening the node's process %d: %w", n.PID, err)
	}
	if !n.Alive() { // the id belongs to another process by now
		_ = unix.Close(pidfd)
		return -1, errGone
	}
	return pidfd, nil
}

// Network opens the node's network namespace.
func (n Node) Network() (*os.File, error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", n.PID))
	if err != nil {
		return nil, fmt.Errorf("opening the node's network: %w", err)
	}
	if !n.Alive() { // the id may belong to another process by now
		return nil, errors.Join(errGone, namespace.Close())
	}
	return namespace, nil
}

// Streams are the standard streams of a program in the node.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// namespaces are the ones that a node does not share with the machine.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWCGROUP

// Run runs a program in all of the node's namespaces and waits for its end. If the program itself
// fails, the error is an *exec.ExitError.
func (n Node) Run(env []string, streams Streams, args ...string) error {
	pidfd, err := n.open()
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	result := make(chan error, 1)
	go func() {
		// The thread is never unlocked: it ends with this goroutine, and its namespaces with it.
		runtime.LockOSThread()
		result <- runOnThread(pidfd, env, streams, args)
	}()
	return <-result
}

func runOnThread(pidfd int, env []string, streams Streams, args []string) error {
	// A thread that shares its working directory with others may not change
	// its mount namespace.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("preparing to enter the node: %w", err)
	}
	if err := unix.Setns(pidfd, namespaces); err != nil {
		return fmt.Errorf("entering the node: %w", err)
	}
	path, err := lookPath(env, args[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env, cmd.Dir = env, "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, streams.Out, streams.Err
	// No death signal: the program sees no parent in its process namespace, concludes that the
	// parent died, and ends at once.
	return cmd.Run()
}

// lookPath searches the PATH in env, in the node's file tree.
func lookPath(env []string, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, variable := range env {
		dirs, found := strings.CutPrefix(variable, "PATH=")
		if !found {
			continue
		}
		for dir := range strings.SplitSeq(dirs, ":") {
			candidate := dir + "/" + name
			if unix.Access(candidate, unix.X_OK) == nil {
				return candidate, nil
			}
		}
	}
	return "", fmt.Errorf("the node has no program %q", name)
}
