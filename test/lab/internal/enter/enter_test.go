package enter

import (
	"os"
	"os/exec"
	"testing"
)

func TestParseStat(t *testing.T) {
	const tail = " 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 5000 6000"
	tests := map[string]struct {
		stat, state string
		ticks       uint64
		fails       bool
	}{
		"plain":               {stat: "7 (lab) S" + tail, state: "S", ticks: 4242},
		"a name with it all":  {stat: "7 (a) Z (b) R" + tail, state: "R", ticks: 4242},
		"too short":           {stat: "7 (lab) S 1 2", fails: true},
		"no name":             {stat: "7 lab S", fails: true},
		"a strange start":     {stat: "7 (lab) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 x 1", fails: true},
		"nothing, as of none": {stat: "", fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			state, ticks, err := parseStat(test.stat)
			if test.fails {
				if err == nil {
					t.Error("no error")
				}
				return
			}
			if err != nil || state != test.state || ticks != test.ticks {
				t.Errorf("got %q, %d, %v", state, ticks, err)
			}
		})
	}
}

func TestAlive(t *testing.T) {
	self, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !self.Alive() {
		t.Error("this process is not alive")
	}
	self.StartTicks++
	if self.Alive() {
		t.Error("another process with the same id counts as this one")
	}
	if (Node{}).Alive() {
		t.Error("no process is alive")
	}
}

func TestKill(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	impostor := Node{PID: n.PID, StartTicks: n.StartTicks + 1}
	if err := impostor.Kill(); err != nil {
		t.Error(err)
	}
	if !n.Alive() {
		t.Fatal("killing an earlier process of the same id killed this one")
	}
	if err := n.Kill(); err != nil {
		t.Error(err)
	}
	if n.Alive() {
		t.Error("it is still alive")
	}
	_ = cmd.Wait() // it was killed
	if err := n.Kill(); err != nil {
		t.Errorf("killing what is gone: %v", err)
	}
}

func TestLookPath(t *testing.T) {
	if got, err := lookPath([]string{"A=B", "PATH=/nonexistent:/bin"}, "sh"); err != nil || got != "/bin/sh" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := lookPath([]string{"PATH=/bin"}, "no-such-program"); err == nil {
		t.Error("found a program that does not exist")
	}
	if got, err := lookPath(nil, "/x/y"); err != nil || got != "/x/y" {
		t.Errorf("got %q, %v", got, err)
	}
}
