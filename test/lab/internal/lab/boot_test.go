package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/machine"
	"vnfbench.io/test/lab/internal/progress"
)

// startingMachine is a machine that a test lets say things.
type startingMachine struct {
	*bootWatch
	t       *testing.T
	printed bytes.Buffer
	time    time.Time
}

func newStartingMachine(t *testing.T) *startingMachine {
	t.Helper()
	s := &startingMachine{t: t, time: time.Unix(1000, 0)}
	m := Lab{Settings: Settings{StateDir: t.TempDir()}, Log: progress.New(&s.printed)}.member(config.MachineNumber)
	if err := os.MkdirAll(m.logDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	s.says(m.logDir(), machine.ConsoleLog, "of a start before: Kernel panic - not syncing: Attempted to kill init!\n")
	s.says(m.logDir(), "node.log", endOfQEMU+endOfQEMU)
	s.bootWatch = m.watchBoot()
	s.now = func() time.Time { return s.time }
	s.grew = s.time
	return s
}

// endOfQEMU is the line in the node's log that ReportsEnd knows.
const endOfQEMU = "2026/11/29 12:00:00 ERROR Daemon ended name=qemu exitCode=0 signal=\"signal -1\"\n"

func (s *startingMachine) says(dir, file, text string) {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// TestBootIsGivenUp checks when the wait for a machine ends, and what the user reads then.
func TestBootIsGivenUp(t *testing.T) {
	type step struct {
		file, text string
		after      time.Duration
	}
	serial := func(text string) step { return step{machine.ConsoleLog, text, time.Second} }
	for name, test := range map[string]struct {
		steps []step
		// fails is what the error says after the last step, "" for none. Before, there is none.
		fails string
		says  []string
		// prints is what lab up shows meanwhile.
		prints string
	}{
		"it starts": {
			steps: []step{serial("Loading, please wait...\r\n"), {"kubelet.log", "I1129 started\n", 4 * time.Minute}, {"kubelet.log", "I1129 more\n", 4 * time.Minute}},
		},
		"the lab's program ends": {
			steps: []step{serial("lab: loading kernel modules: exit status 1\r\n"), serial("[  9.1] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\r\n" + strings.Repeat("[  9.2] a call\r\n", 2*maxTail))},
			fails: "its first process ended", says: []string{"lab: loading kernel modules: exit status 1\n", "console.log"},
		},
		"a line comes in parts": {
			steps: []step{serial("[  9.1] Kernel panic - not syncing: Attempted to "), serial("kill init!\r\n")},
			fails: "its first process ended",
		},
		"a panic that the next start may not have": {
			steps:  []step{serial("Kernel panic - not syncing: IO-APIC + timer doesn't work!\r\n"), {"node.log", endOfQEMU, time.Second}, serial("Loading, please wait...\r\n")},
			prints: "timer doesn't work!",
		},
		"a panic, and then silence": {
			steps: []step{serial("Kernel panic - not syncing: IO-APIC\r\n[  9.2] a call\r\n"), {"node.log", endOfQEMU, time.Second}, serial("Begin: Running /scripts\r\n"), {"", "", silenceTimeout + time.Second}},
			fails: "nothing was added", says: []string{"IO-APIC\n  Begin: Running /scripts"}, prints: "panicked",
		},
		"QEMU ends twice": {
			steps: []step{{"qemu.log", "qemu: warning: a hub\nqemu: could not open disk\nqemu: warning: a hub\n", time.Second}, {"node.log", endOfQEMU, time.Second}, {"node.log", endOfQEMU, time.Second}},
			fails: "QEMU ended 2 times", says: []string{"said last: qemu: could not open disk; ", "is empty"}, prints: "QEMU of hw1 ended",
		},
		"QEMU cannot be started": {
			steps: []step{{"node.log", "ERROR Starting daemon failed name=qemu err=\"no program\"\nERROR Starting daemon failed name=qemu err=\"no program\"\n", time.Second}},
			fails: "QEMU ended 2 times",
		},
		"another daemon ends": {
			steps: []step{{"node.log", strings.ReplaceAll(endOfQEMU, "qemu", "kubelet") + strings.ReplaceAll(endOfQEMU, "qemu", "qemu2"), time.Second}},
		},
		"it says nothing": {
			steps: []step{serial("\x1b[0mBegin: Running \x07/scripts"), {"", "", silenceTimeout + time.Second}},
			fails: "nothing was added to its logs for 5m", says: []string{"Begin: Running  /scripts"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStartingMachine(t)
			for i, step := range test.steps {
				if err := s.look(); err != nil {
					t.Fatalf("before step %d: %v", i, err)
				}
				s.time = s.time.Add(step.after)
				if step.file != "" {
					s.says(s.logDir, step.file, step.text)
				}
			}
			err := s.look()
			if errors.Is(err, errCannotBoot) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Fatalf("got the error %v, want %q", err, test.fails)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			if err != nil && (strings.Contains(err.Error(), "of a start before") || strings.Contains(err.Error(), "a call") || strings.ContainsRune(err.Error(), '\x1b')) {
				t.Errorf("the error has what it is not to have: %v", err)
			}
			if got := s.printed.String(); !strings.Contains(got, test.prints) || test.prints == "" && got != "" {
				t.Errorf("it printed %q, want %q", got, test.prints)
			}
		})
	}
}

// TestWaitingEndsAtOnce checks that nothing waits for a machine that is given up, or for a node that has ended.
func TestWaitingEndsAtOnce(t *testing.T) {
	s := newStartingMachine(t)
	began := time.Now()
	notYet := errors.New("not yet")
	s.says(s.logDir, machine.ConsoleLog, "Kernel panic - not syncing: Attempted to kill init!\r\n")
	if err := s.waiting(func(context.Context) error { return notYet })(t.Context()); !errors.Is(err, errCannotBoot) {
		t.Errorf("the machine: %v", err)
	}
	s = newStartingMachine(t)
	if err := s.waiting(func(context.Context) error { return ErrNotUp })(t.Context()); !errors.Is(err, ErrNotUp) || !strings.Contains(err.Error(), "serial line") {
		t.Errorf("the machine's node: %v", err)
	}
	if err := poll(t.Context(), time.Hour, func(context.Context) error { return ErrNotUp }); !errors.Is(err, ErrNotUp) {
		t.Errorf("a node: %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}
