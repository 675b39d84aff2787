package node

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vnfbench.io/test/lab/internal/config"
)

// TestSupervisor lets daemons end and start again: each has the files that it is to inherit, and what the supervisor writes
// about one that ended, or cannot be started, is what ReportsEnd knows. It is one test: a supervisor reaps all children of a
// process.
func TestSupervisor(t *testing.T) {
	written, err := os.Create(filepath.Join(t.TempDir(), "node.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	log.SetOutput(written)
	defer log.SetOutput(os.Stderr)
	lines := func() string {
		t.Helper()
		text, err := os.ReadFile(written.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "inherited"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s := newSupervisor(t.TempDir())
	s.files = []*os.File{file}
	go s.reap()
	var running sync.WaitGroup
	for _, d := range []config.Daemon{{Name: "ended", Args: []string{"sh", "-c", "echo here >&3"}}, {Name: "absent", Args: []string{"vnfbench-none"}}} {
		running.Go(func() { s.keep(ctx, d) })
	}
	ends := func(name string) (n int) {
		for line := range strings.Lines(lines()) {
			if ReportsEnd(strings.TrimSpace(line), name) {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(time.Minute); ends("ended") < 2 || ends("absent") < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there are not two lines about the end of each:\n%s", lines())
		}
	}
	stop()
	running.Wait()
	if ends("end") != 0 {
		t.Error("a line about another daemon, whose name begins in the same way, counts")
	}
	got, err := os.ReadFile(file.Name())
	if want := strings.Repeat("here\n", ends("ended")); err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("the daemon wrote %q into the file that it inherits, %v, want at least %q", got, err, want)
	}
}
