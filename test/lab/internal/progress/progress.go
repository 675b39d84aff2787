// Package progress shows a person what a long command is doing. Steps go in; lines with elapsed
// times come out, at least every 15 seconds.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const heartbeat = 15 * time.Second

// Log writes the lines. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

// New returns a log that counts its time from now.
func New(out io.Writer) *Log {
	return &Log{out: out, start: time.Now()}
}

// Printf writes one line, with the time since the log began before it.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.out, "[%6.1fs] %s\n", time.Since(l.start).Seconds(), fmt.Sprintf(format, args...))
}

// Step runs work and writes how long it took.
func (l *Log) Step(name string, work func() error) error {
	return l.Watch(name, func() string { return "" }, work)
}

// Watch does what Step does, and adds a detail, such as what is being compiled, to every line during
// the step.
func (l *Log) Watch(name string, detail func() string, work func() error) error {
	began := time.Now()
	done := make(chan struct{})
	var beat sync.WaitGroup
	beat.Go(func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				l.Printf("%s ... %s %s", name, time.Since(began).Round(time.Second), detail())
			}
		}
	})
	err := work()
	close(done)
	beat.Wait()
	took := time.Since(began).Seconds()
	if err != nil {
		l.Printf("%s FAILED after %.1fs", name, took)
		return err
	}
	l.Printf("%s (%.1fs)", name, took)
	return nil
}
