//go:build linux

package server

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// thread is an operating system's thread, which lives as long as the server's process:
// the kernel sends a parent-death signal when the thread that started the process ends,
// and not when the whole program does. It stays in the network namespace of its creator.
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
		// It is never unlocked: the thread ends with the goroutine.
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

// enter joins a network namespace if the thread is not already in it: in a pod it is, and
// has no right to join one.
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

// run runs do on the thread and waits for it.
func (t *thread) run(do func() error) error {
	result := make(chan error)
	t.work <- func() { result <- do() }
	return <-result
}

// end ends the thread. The kernel kills what was started from it.
func (t *thread) end() { close(t.work) }
