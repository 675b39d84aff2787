//go:build linux

// Package guest is a virtual machine that runs only one program of this project.
// The kernel's devices and a NoCloud disk go in; a machine whose drivers are
// loaded, its configuration, its cards, and a handler that is served on its
// management network come out. Each purpose of the machine has its own package:
// function forwards, noisy loads its node.
//
// The first process (Init) does very little, so that it cannot fail: it mounts,
// starts a second one that does the work, and reaps. When the second one ends,
// Init starts it again, only to report why: figures from before and after would
// not belong together.
package guest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// failedFlag is the flag that passes to the second process why the one before
// it ended.
const failedFlag = "failed"

// errNotFirst protects a machine that is not a guest.
var errNotFirst = errors.New("this is not the first process of a machine: it would mount file systems, end other processes and power off")

// restartPause is the wait between two starts of the second process.
const restartPause = time.Second

// mount is one of the kernel's own file systems.
type mount struct {
	kind, directory, options string
	flags                    uintptr
}

var mounts = []mount{
	{"proc", "/proc", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	{"sysfs", "/sys", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	{"devtmpfs", "/dev", "mode=0755", unix.MS_NOSUID | unix.MS_NOEXEC},
	{"tmpfs", "/run", "mode=0755", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	{"tmpfs", "/tmp", "mode=1777", unix.MS_NOSUID | unix.MS_NODEV},
}

// Init is the first process. It returns only when it could not begin, or when a
// signal ends it; then the machine is to be powered off. The command is that
// of the second process, and whose names its owner for people: "function".
func Init(whose string, command []string) error {
	if os.Getpid() != 1 {
		return errNotFirst
	}
	for _, m := range mounts {
		if err := unix.Mount(m.kind, m.directory, m.kind, m.flags, m.options); err != nil {
			return fmt.Errorf("mounting %s: %w", m.directory, err)
		}
	}
	go stirRandom()
	log := NewLogger(os.Stdout)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGCHLD, unix.SIGTERM, unix.SIGINT)

	reason := ""
	for {
		arguments := command
		if reason != "" {
			arguments = append(append([]string{}, command...), "--"+failedFlag, reason)
		}
		why, err := supervise(whose, arguments, signals)
		if err != nil || why == "" {
			return err
		}
		// What it had started, such as a load, must not continue without it. The
		// signal spares the first process itself.
		if err := unix.Kill(-1, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			log.Error("ending the processes that are left", "problem", err.Error())
		}
		log.Error("the "+whose+"'s process ended", "reason", why)
		if reason == "" { // the first failure is the cause
			reason = why
		}
		time.Sleep(restartPause)
	}
}

// stirRandom has the kernel fill its pool of random numbers. The kernel does so
// only while a process waits for them. The DHCP client reads without waiting, and
// would try for minutes on a processor without a random source.
func stirRandom() {
	_, _ = unix.Getrandom(make([]byte, 1), 0) // a process that needs some gets an error
}

// supervise starts the second process and reaps until it ended. It returns why
// it ended, or "" when the machine is to be powered off.
func supervise(whose string, command []string, signals <-chan os.Signal) (string, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return "", err
	}
	last := &lastWords{whose: whose}
	var copied sync.WaitGroup
	copied.Go(func() {
		_, _ = io.Copy(io.MultiWriter(os.Stderr, last), reader) // ends with the process
		_ = reader.Close()
	})
	process, err := os.StartProcess(command[0], command, &os.ProcAttr{
		Env:   os.Environ(),
		Files: []*os.File{nil, os.Stdout, writer},
	})
	_ = writer.Close() // the process has its own
	if err != nil {
		return "", fmt.Errorf("starting %q: %w", command[0], err)
	}
	for received := range signals {
		if received != unix.SIGCHLD {
			_ = process.Signal(received) // it may have ended
			return "", nil
		}
		if status, ended := reap(process.Pid); ended {
			copied.Wait()
			return last.reason(status), nil
		}
	}
	return "", errors.New("no more signals")
}

// reap takes the exit codes of all processes that ended: orphans are the first
// process's children. It returns the code of the process pid.
func reap(pid int) (status syscall.WaitStatus, ended bool) {
	for {
		var some syscall.WaitStatus
		got, err := syscall.Wait4(-1, &some, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || got <= 0 {
			return status, ended
		}
		if got == pid {
			status, ended = some, true
		}
	}
}

// lastWords keeps the line of a process's standard error that best explains its
// end: the line of a panic, else the last.
type lastWords struct {
	whose string
	rest  []byte
	line  string
	panic bool
}

const maxLineBytes = 1024

func (l *lastWords) Write(data []byte) (int, error) {
	l.rest = append(l.rest, data...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			break
		}
		l.take(string(line))
		l.rest = rest
	}
	if len(l.rest) > maxLineBytes {
		l.take(string(l.rest))
		l.rest = nil
	}
	return len(data), nil
}

func (l *lastWords) take(line string) {
	line = strings.TrimSpace(line)
	if line == "" || l.panic {
		return
	}
	l.panic = strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	l.line = line[:min(len(line), maxLineBytes)]
}

func (l *lastWords) reason(status syscall.WaitStatus) string {
	l.take(string(l.rest))
	how := fmt.Sprintf("exit code %d", status.ExitStatus())
	if status.Signaled() {
		how = fmt.Sprintf("signal %s", status.Signal())
	}
	ended := fmt.Sprintf("the %s's process ended with %s", l.whose, how)
	if l.line == "" {
		return ended
	}
	return ended + ": " + l.line
}

// PowerOff turns the machine off.
func PowerOff() error {
	unix.Sync()
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// NewLogger writes lines for a person at a serial console: time since the
// machine started instead of a clock that is not set.
func NewLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, attribute slog.Attr) slog.Attr {
			if len(groups) == 0 && attribute.Key == slog.TimeKey {
				return slog.String("uptime", fmt.Sprintf("%.2fs", Uptime().Seconds()))
			}
			return attribute
		},
	}))
}

// Uptime returns the time since the kernel started.
func Uptime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0 // the clock is older than every kernel that this runs on
	}
	return time.Duration(now.Nano())
}
