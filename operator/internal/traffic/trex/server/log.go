//go:build linux

package server

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"sync"

	"vnfbench.io/operator/internal/excerpt"
)

const (
	// keptLines is how many output lines are kept, each at most maxLineBytes bytes.
	keptLines    = 200
	maxLineBytes = 1000
	// tailBytes of it go into a failure's message, which the results cut at 1024
	// characters together with the remedy.
	tailBytes = 500
)

// control matches the sequences that color a terminal.
var control = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// lastLines takes a process's output, keeps its last lines and logs each. It is an
// io.Writer for one process, and others may read it at the same time.
type lastLines struct {
	log *slog.Logger

	mutex sync.Mutex
	lines []string
	rest  []byte
}

func (l *lastLines) Write(output []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.rest = append(l.rest, output...)
	for {
		end := bytes.IndexAny(l.rest, "\r\n")
		switch {
		case end >= 0:
			l.keep(l.rest[:end])
			l.rest = l.rest[end+1:]
			continue
		case len(l.rest) >= maxLineBytes:
			l.keep(l.rest)
			l.rest = nil
		}
		return len(output), nil
	}
}

// finish keeps a last line without an end.
func (l *lastLines) finish() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.keep(l.rest)
	l.rest = nil
}

func (l *lastLines) keep(raw []byte) {
	line := strings.TrimSpace(excerpt.Text(control.ReplaceAllString(string(raw), ""), maxLineBytes))
	if line == "" {
		return
	}
	l.log.Info("TRex", "line", line)
	if len(l.lines) == keptLines {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
	l.lines = append(l.lines, line)
}

// all returns the lines that are kept.
func (l *lastLines) all() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]string(nil), l.lines...)
}

// tail returns as many of the last lines as fit into a message.
func tail(lines []string) string {
	first, length := len(lines), 0
	for first > 0 && length+len(lines[first-1]) <= tailBytes {
		first--
		length += len(lines[first]) + len(" | ")
	}
	if first == len(lines) && first > 0 {
		return excerpt.Text(lines[first-1], tailBytes)
	}
	return strings.Join(lines[first:], " | ")
}
