package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"vnfbench.io/test/lab/internal/enter"
)

// Status is what "lab status" shows.
type Status struct {
	// Nodes are those that were started and not removed since, node 1 first.
	Nodes []NodeStatus
	Port  int
	Pods  int
	// KubeVirt is its phase; empty if it is not deployed.
	KubeVirt string
	Kubeconfig,
	StateDir string
}

// NodeStatus is what "lab status" shows of a node.
type NodeStatus struct {
	Name    string
	Running bool
	Ready   bool
	// Version is the kubelet's.
	Version string
	// PID is the node's first process.
	PID int
	Age time.Duration
}

// Up reports whether node 1 runs, and with it the cluster.
func (s Status) Up() bool { return len(s.Nodes) > 0 && s.Nodes[0].Running }

// Ready reports whether the lab is up and every node is ready.
func (s Status) Ready() bool {
	return s.Up() && !slices.ContainsFunc(s.Nodes, func(n NodeStatus) bool { return !n.Ready })
}

// requestTimeout keeps an API server that does not answer from holding up the status.
const requestTimeout = "--request-timeout=5s"

// Status examines the lab without changing it.
func (l Lab) Status(ctx context.Context) (Status, error) {
	s := Status{StateDir: l.StateDir, Kubeconfig: l.KubeconfigPath()}
	known, err := l.members()
	if err != nil {
		return s, err
	}
	first, err := l.member(1).load()
	if err != nil {
		return s, err
	}
	for _, m := range known {
		n, err := m.status(ctx, first)
		if err != nil {
			return s, err
		}
		s.Nodes = append(s.Nodes, n)
	}
	if !s.Up() {
		return s, nil
	}
	s.Port = first.Port
	var pods podList
	if err := l.kubectl(first).get(ctx, &pods, "pods", "--all-namespaces", requestTimeout); err != nil {
		return s, nil // the API server does not answer: no node is ready
	}
	s.Pods = len(pods.Items)
	var object kubeVirtObject
	if err := l.getKubeVirt(ctx, first, &object, requestTimeout); err == nil { // otherwise it is not deployed
		s.KubeVirt = object.Status.Phase
	}
	return s, nil
}

// status examines a node; first is the record of the one with the API server.
func (m member) status(ctx context.Context, first record) (NodeStatus, error) {
	s := NodeStatus{Name: m.node.Name()}
	r, err := m.load()
	if err != nil || !r.Alive() {
		return s, err
	}
	s.Running, s.PID, s.Age = true, r.PID, time.Since(r.since()).Truncate(time.Second)
	var n nodeObject
	if err := m.lab.kubectl(first).get(ctx, &n, "node", m.node.Name(), requestTimeout); err != nil {
		return s, nil // the API server does not answer: not ready
	}
	s.Version, s.Ready = n.Status.NodeInfo.KubeletVersion, n.ready(r.since())
	return s, nil
}

// Print writes the status as a short table.
func (s Status) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string) { fmt.Fprintf(table, "%s\t%s\n", name, value) }
	if !s.Up() {
		row("lab", "down")
		row("state", s.StateDir)
		return table.Flush()
	}
	first := s.Nodes[0]
	row("lab", fmt.Sprintf("up for %s, process %d", first.Age, first.PID))
	row("node", readiness(first.Ready))
	for _, n := range s.Nodes[1:] {
		value := "DOWN"
		if n.Running {
			value = fmt.Sprintf("%s, up for %s, process %d", readiness(n.Ready), n.Age, n.PID)
		}
		row(n.Name, value)
	}
	row("version", first.Version)
	row("pods", strconv.Itoa(s.Pods))
	if s.KubeVirt != "" {
		row("KubeVirt", s.KubeVirt)
	}
	row("API server", fmt.Sprintf("https://127.0.0.1:%d", s.Port))
	row("kubeconfig", s.Kubeconfig)
	row("state", s.StateDir)
	return table.Flush()
}

func readiness(ready bool) string {
	if ready {
		return "ready"
	}
	return "NOT READY"
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

// Shell runs a program in the node of that name, or a shell without arguments; "" is node 1.
func (l Lab) Shell(name string, args []string, streams enter.Streams) error {
	m, err := l.find(name)
	if err != nil {
		return err
	}
	r, err := m.running()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"bash"}
	}
	env := append(m.environment(), "TERM="+os.Getenv("TERM"))
	return m.run(r, env, streams, args...)
}

// KubectlArgs returns the command line of the lab's kubectl for its cluster.
func (l Lab) KubectlArgs(args []string) ([]string, error) {
	r, err := l.Running()
	if err != nil {
		return nil, err
	}
	return l.kubectl(r).command(args...).Args, nil
}
