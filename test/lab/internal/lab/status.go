package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"vnfbench.io/test/lab/internal/enter"
)

// Status is what "lab status" shows.
type Status struct {
	Running   bool
	NodeReady bool
	// Version is the kubelet's.
	Version string
	// PID is the node's first process.
	PID  int
	Age  time.Duration
	Port int
	Pods int
	// KubeVirt is its phase; empty if it is not deployed.
	KubeVirt string
	Kubeconfig,
	StateDir string
}

// Status examines the lab without changing it.
func (l Lab) Status(ctx context.Context) (Status, error) {
	s := Status{StateDir: l.StateDir, Kubeconfig: l.KubeconfigPath()}
	r, err := l.load()
	if err != nil || !r.Alive() {
		return s, err
	}
	s.Running, s.PID, s.Port = true, r.PID, r.Port
	s.Age = time.Since(r.since()).Truncate(time.Second)
	var n nodeObject
	if err := l.kubectl(r).get(ctx, &n, "node", nodeName, "--request-timeout=5s"); err != nil {
		return s, nil // the API server does not answer: not ready
	}
	s.Version, s.NodeReady = n.Status.NodeInfo.KubeletVersion, n.ready(r.since())
	var pods podList
	if err := l.kubectl(r).get(ctx, &pods, "pods", "--all-namespaces", "--request-timeout=5s"); err != nil {
		return s, nil
	}
	s.Pods = len(pods.Items)
	var object kubeVirtObject
	if err := l.getKubeVirt(ctx, r, &object, "--request-timeout=5s"); err == nil { // otherwise it is not deployed
		s.KubeVirt = object.Status.Phase
	}
	return s, nil
}

// Print writes the status as a short table.
func (s Status) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string) { fmt.Fprintf(table, "%s\t%s\n", name, value) }
	if !s.Running {
		row("lab", "down")
		row("state", s.StateDir)
		return table.Flush()
	}
	row("lab", fmt.Sprintf("up for %s, process %d", s.Age, s.PID))
	row("node", map[bool]string{true: "ready", false: "NOT READY"}[s.NodeReady])
	row("version", s.Version)
	row("pods", strconv.Itoa(s.Pods))
	if s.KubeVirt != "" {
		row("KubeVirt", s.KubeVirt)
	}
	row("API server", fmt.Sprintf("https://127.0.0.1:%d", s.Port))
	row("kubeconfig", s.Kubeconfig)
	row("state", s.StateDir)
	return table.Flush()
}

// since returns when the node was started, rounded down to a second. Kubernetes writes times in
// whole seconds.
func (r record) since() time.Time {
	return r.started().Truncate(time.Second)
}

// started converts the process's start time to a time of day.
func (r record) started() time.Time {
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Time{}
	}
	first, _, _ := strings.Cut(string(uptime), " ")
	up, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return time.Time{}
	}
	// USER_HZ, the unit of /proc/PID/stat, is 100 on every platform of Go.
	age := time.Duration(up*float64(time.Second)) - time.Duration(r.StartTicks)*10*time.Millisecond
	return time.Now().Add(-age)
}

// Shell runs a program in the node, or a shell without arguments.
func (l Lab) Shell(args []string, streams enter.Streams) error {
	r, err := l.Running()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"bash"}
	}
	env := append(nodeEnvironment(), "TERM="+os.Getenv("TERM"))
	return r.Run(env, streams, args...)
}

// KubectlArgs returns the command line of the lab's kubectl for its cluster.
func (l Lab) KubectlArgs(args []string) ([]string, error) {
	r, err := l.Running()
	if err != nil {
		return nil, err
	}
	return l.kubectl(r).command(args...).Args, nil
}
