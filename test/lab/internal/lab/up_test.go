package lab

import (
	"io"
	"os"
	"strings"
	"testing"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/progress"
)

// TestWorkerThatCannotBeStarted checks what the user reads when a worker cannot be started at all: of the machine also how the
// lab comes up without it, since each later lab up tries it again.
func TestWorkerThatCannotBeStarted(t *testing.T) {
	l := Lab{Settings: Settings{StateDir: t.TempDir()}, Log: progress.New(io.Discard)}
	for _, number := range []int{2, config.MachineNumber} {
		m := l.member(number)
		if err := os.MkdirAll(m.path(), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.path(recordName), []byte("half a rec"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := m.up(t.Context(), record{}, artifacts{})
		if err == nil || !strings.Contains(err.Error(), "reading the record of "+m.node.Name()) {
			t.Fatalf("%s: %v", m.node.Name(), err)
		}
		const hint = "hw1: lab up starts it again; lab up --hardware=false brings the lab up without it"
		if got := strings.Contains(err.Error(), hint); got != m.node.Machine() {
			t.Errorf("%s: the error says %q: %t, want %t: %v", m.node.Name(), hint, got, m.node.Machine(), err)
		}
	}
}
