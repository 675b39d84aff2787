// Package e2e tests a running lab: what the project's runs need of it, on a real node. It needs
// VNFBENCH_LAB, the path of the lab program.
package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const namespace = "lab-network"

// lab runs the lab program and returns what it wrote.
func lab(t *testing.T, args ...string) string {
	t.Helper()
	program := os.Getenv("VNFBENCH_LAB")
	if program == "" {
		t.Fatal("VNFBENCH_LAB names no lab program: run this by `make e2e`")
	}
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("lab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return lab(t, append([]string{"kubectl", "--", "--namespace", namespace}, args...)...)
}

// TestNetwork sends packets through a router on two secondary networks and looks up a service from
// there, and checks that all of it is gone afterwards.
func TestNetwork(t *testing.T) {
	lab(t, "status")
	kubectl(t, "apply", "--filename", filepath.Join("testdata", "network.yaml"))
	t.Cleanup(func() {
		kubectl(t, "delete", "namespace", namespace, "--timeout=5m")
		checkGone(t)
	})
	kubectl(t, "wait", "--for=condition=Complete", "job/ping", "job/host-network", "--timeout=5m")
	if got := kubectl(t, "exec", "router", "--", "cat", "/proc/sys/net/ipv4/conf/left0/forwarding"); strings.TrimSpace(got) != "1" {
		t.Errorf("the tuning plugin left forwarding at %q", got)
	}
	if got := kubectl(t, "exec", "router", "--", "ip", "link", "show", "left0"); !strings.Contains(got, "02:00:00:00:01:01") {
		t.Errorf("the interface has another address than the one asked for:\n%s", got)
	}
	if got := kubectl(t, "get", "events", "--field-selector=type=Warning", "--output=name"); strings.TrimSpace(got) != "" {
		t.Errorf("there are warnings:\n%s", kubectl(t, "get", "events"))
	}
}

// checkGone waits until no pod has an interface on the bridges: then the sandboxes are removed, and
// the plugins were called to delete.
func checkGone(t *testing.T) {
	t.Helper()
	const script = `for i in $(seq 1200); do
  [ -z "$(ls /sys/class/net/br-left/brif /sys/class/net/br-right/brif | grep veth)" ] && exit 0
  sleep 0.1
done; exit 1`
	lab(t, "shell", "--", "sh", "-c", script)
}

// TestShellReturnsExitCodes checks that scripts can rely on lab shell.
func TestShellReturnsExitCodes(t *testing.T) {
	lab(t, "shell", "--", "true")
	err := exec.Command(os.Getenv("VNFBENCH_LAB"), "shell", "--", "sh", "-c", "exit 7").Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("got %v, want exit code 7", err)
	}
}
