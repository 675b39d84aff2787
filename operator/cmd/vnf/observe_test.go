//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/testing/agenttest"
)

// TestObserverGivesUpItsRights runs the observer with the two capabilities of its pod: before it answers it is
// another user without any, and it says whether cycles are counted.
func TestObserverGivesUpItsRights(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("another user's process can be made by root alone")
	}
	address := agenttest.Address(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("setpriv", "--bounding-set", "-all,+perfmon,+setuid", "--inh-caps", "-all", "--no-new-privs",
		program, "observe", "--listen", address, "--cycles", "--become-user", "65532")
	command.Env = []string{"VNF_TEST_COMMAND=1", "PATH=" + os.Getenv("PATH")}
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	var node observer.Node
	for end := time.Now().Add(testTimeout); node.CycleCounter == ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the observer did not say whether cycles are counted")
		}
		response, err := http.Get("http://" + address + observer.PathNode)
		if err != nil {
			continue
		}
		err = json.NewDecoder(response.Body).Decode(&node)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	if node.CycleCounter != v1alpha1.CycleCounterCounted && node.CycleCounter != v1alpha1.CycleCounterNoCounter {
		t.Errorf("%s: %q", node.CycleCounter, node.Problems)
	}
	// setpriv became the program.
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Uid:\t65532\t65532\t65532\t65532\n", "CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n", "NoNewPrivs:\t1\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("no %q in\n%s", want, status)
		}
	}
}
