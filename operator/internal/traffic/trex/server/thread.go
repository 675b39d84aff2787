//go:build linux

package server

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// thread is one of the operating system's, which lives as long as the server's
// process: the kernel sends a parent-death signal when the thread ends that
// started the process, and not when the whole program does. It stays in the
// network namespace of whoever made it.
type thread struct{ work chan func() }

func newThread() (*thread, error) {
	// The namespace is that of the caller's own thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	namespace, err := os.Open(ownNamespace)
	if err != nil {
		return nil, fmt.Errorf("opening the network namespace: %w", err)
	}
	defer func() { _ = namespace.Close() }()
	t := &thread{work: make(chan func())}
	ready := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		err := enter(namespace)
		ready <- err
		if err != nil {
			return
		}
		for do := range t.work {
			do()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return t, nil
}

const ownNamespace = "/proc/thread-self/ns/net"

// enter joins a network namespace where the thread is not in it already: in a
// pod it is, and the right to join one is not there.
func enter(namespace *os.File) error {
	var wanted, own unix.Stat_t
	if err := unix.Fstat(int(namespace.Fd()), &wanted); err != nil {
		return fmt.Errorf("looking at the network namespace: %w", err)
	}
	if err := unix.Stat(ownNamespace, &own); err != nil {
		return fmt.Errorf("looking at the network namespace: %w", err)
	}
	if wanted.Ino == own.Ino && wanted.Dev == own.Dev {
		return nil
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("joining the network namespace: %w", err)
	}
	return nil
}

// run calls do on the thread and waits for it.
func (t *thread) run(do func() error) error {
	result := make(chan error)
	t.work <- func() { result <- do() }
	return <-result
}

// end lets the thread go. What was started from it is killed.
func (t *thread) end() { close(t.work) }
