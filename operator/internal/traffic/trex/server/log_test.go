//go:build linux

package server

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// The output is bounded, for any server.
func TestLastLines(t *testing.T) {
	var logged strings.Builder
	l := &lastLines{log: slog.New(slog.NewTextHandler(&logged, nil))}
	write := func(text string) {
		if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	for i := range keptLines + 10 {
		write(fmt.Sprintf("line %d\n", i))
	}
	if lines := l.all(); len(lines) != keptLines || lines[0] != "line 10" {
		t.Errorf("%d lines from %q", len(lines), lines[0])
	}
	write("half a ")
	write("line\r\n\n  \x00\xff\n")
	write(strings.Repeat("x", 3*maxLineBytes))
	write("no end")
	l.finish()
	lines := l.all()
	if last := lines[len(lines)-3:]; last[0] != "half a line" || len(last[1]) != maxLineBytes || last[2] != "no end" {
		t.Errorf("got %q", last)
	}
	if !strings.Contains(logged.String(), `line="half a line"`) {
		t.Error("lines are not logged")
	}
	if text := tail(lines); len(text) > tailBytes+len(" | ") || text != "no end" {
		t.Errorf("got %q", text)
	}
	if text := tail([]string{strings.Repeat("y", maxLineBytes)}); len(text) != tailBytes {
		t.Errorf("%d bytes", len(text))
	}
	if text := tail([]string{"a", "b"}); text != "a | b" {
		t.Errorf("got %q", text)
	}
	if text := tail(nil); text != "" {
		t.Errorf("got %q", text)
	}
}

// The message contains the line with the cause, even if many lines follow it.
func TestExplain(t *testing.T) {
	lines := []string{"EAL: Not enough memory available on socket 0! Requested: 2048MB, available: 1024MB"}
	for range 30 {
		lines = append(lines, "EAL: something that went wrong because of that")
	}
	err := explain("ended", lines, "")
	if measure.ReasonOf(err) != v1alpha1.ReasonHugepagesMissing || !strings.Contains(err.Error(), "available: 1024MB | ... | EAL: something") || len(err.Error()) > 1000 {
		t.Errorf("got %v", err)
	}
	err = explain("ended", []string{"an unknown line"}, " ")
	if measure.ReasonOf(err) != v1alpha1.ReasonTRexServerFailed || strings.Contains(err.Error(), "extraConfiguration") || !strings.Contains(err.Error(), "an unknown line") {
		t.Errorf("got %v", err)
	}
	if err := explain("ended", nil, ""); strings.Contains(err.Error(), "lines") {
		t.Errorf("got %v", err)
	}
}
