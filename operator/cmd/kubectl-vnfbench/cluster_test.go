package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

// apiServer is a real API server with the project's CRDs, and a kubeconfig that connects through a
// relay.
type apiServer struct {
	client.Client
	relay      *relay
	kubeconfig string
}

// testTimeout is longer than any awaited step takes on a busy machine.
const testTimeout = 2 * time.Minute

// relay forwards connections until it is cut. It keeps its port until the test ends, so that no
// other process gets the port in between.
type relay struct {
	address, target string

	mu          sync.Mutex
	isCut       bool
	connections []net.Conn
}

func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: listener.Addr().String(), target: target}
	t.Cleanup(func() {
		_ = listener.Close()
		r.cut()
	})
	go r.accept(listener)
	return r
}

func (r *relay) accept(listener net.Listener) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		r.mu.Lock()
		if r.isCut {
			_, _ = near.Close(), far.Close()
		} else {
			r.connections = append(r.connections, near, far)
		}
		r.mu.Unlock()
		go func() { _, _ = io.Copy(near, far) }()
		go func() { _, _ = io.Copy(far, near) }()
	}
}

// cut ends every connection and accepts no new one, like an API server that shuts down.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = true
	for _, connection := range r.connections {
		_ = connection.Close()
	}
	r.connections = nil
}

// mend accepts connections again.
func (r *relay) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = false
}

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: run this by `make test`, which builds etcd and kube-apiserver")
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// The default timeout is too short for an API server that starts on a busy machine.
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: testTimeout},
		ControlPlaneStartTimeout: testTimeout, ControlPlaneStopTimeout: testTimeout,
	}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	server := &apiServer{Client: c, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	server.relay = newRelay(t, strings.Trim(strings.TrimPrefix(config.Host, "https:"), "/"))
	kubeconfig := strings.ReplaceAll(string(env.KubeConfig), server.relay.target, server.relay.address)
	if err := os.WriteFile(server.kubeconfig, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return server
}

// buffer may be read while the command writes.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *buffer) waitFor(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); !strings.Contains(b.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q did not appear in:\n%s", text, b.String())
		}
	}
}

// start runs the command and sends its exit code to the channel.
func (s *apiServer) start(ctx context.Context, args ...string) (*buffer, <-chan int) {
	out, code := &buffer{}, make(chan int, 1)
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: out}
	command := newCommand(streams)
	command.SetArgs(append([]string{"--kubeconfig", s.kubeconfig, "-n", "default"}, args...))
	go func() { code <- execute(ctx, command, streams) }()
	return out, code
}

func (s *apiServer) run(t *testing.T, want int, args ...string) string {
	t.Helper()
	out, code := s.start(t.Context(), args...)
	if got := <-code; got != want {
		t.Errorf("%v: exit code %d, want %d:\n%s", args, got, want, out)
	}
	return out.String()
}

// reported creates the report's own fixture in the cluster.
func (s *apiServer) reported(t *testing.T) *v1alpha1.BenchmarkRun {
	t.Helper()
	var run v1alpha1.BenchmarkRun
	var stored corev1.ConfigMap
	for name, into := range map[string]client.Object{"run.yaml": &run, "results.yaml": &stored} {
		data, err := os.ReadFile(filepath.Join("..", "..", "internal", "report", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(data, into); err != nil {
			t.Fatal(err)
		}
		into.SetNamespace("default")
	}
	run.UID = ""
	run.CreationTimestamp = metav1.Time{}
	status := run.Status
	if err := s.Create(t.Context(), &run); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(controllerutil.SetControllerReference(&run, &stored, s.Scheme()), s.Create(t.Context(), &stored)); err != nil {
		t.Fatal(err)
	}
	run.Status = status
	return &run
}

func (s *apiServer) setStatus(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	if err := s.Status().Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

func TestAgainstAPIServer(t *testing.T) {
	s := startAPIServer(t)

	if out := s.run(t, exitError, "watch", "router-pod"); !strings.Contains(out, `BenchmarkRun "router-pod" does not exist in namespace "default"`) {
		t.Errorf("watching nothing prints %q", out)
	}
	final := s.reported(t)
	run := final.DeepCopy()
	run.Status = v1alpha1.BenchmarkRunStatus{}
	out, code := s.start(t.Context(), "watch", "router-pod")
	out.waitFor(t, "waiting for the operator")

	meta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded,
		Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing})
	run.Status.Progress = &v1alpha1.Progress{Stage: "throughput, 64 bytes", Trials: 7, Percent: 20, RemainingSeconds: 60}
	s.setStatus(t, run)
	out.waitFor(t, "throughput, 64 bytes, 20 %, 7 trials, about 1m0s left")
	if out := s.run(t, exitTimeout, "watch", "router-pod", "--timeout", "500ms"); !strings.Contains(out, "timed out after 500ms") {
		t.Errorf("timing out prints %q", out)
	}
	if out := s.run(t, exitSucceeded, "report", "router-pod"); !strings.Contains(out, "PARTIAL") {
		t.Errorf("reporting a run that is active prints %q", out)
	}

	s.relay.cut()
	out.waitFor(t, "the watch was interrupted")
	s.relay.mend()
	final.ResourceVersion = run.ResourceVersion
	s.setStatus(t, final)
	if got := <-code; got != exitFailed {
		t.Errorf("watch ended with code %d, want %d", got, exitFailed)
	}
	if !strings.Contains(out.String(), "BenchmarkRun default/router-pod failed: NotAccepted: 1 of 7") {
		t.Errorf("watch printed:\n%s", out)
	}
	s.checkReports(t)
	s.checkComparison(t, final)
	s.checkGroups(t, final)
	s.checkDoctor(t)
	s.checkCommands(t)
}

// checkComparison compares a run with a new one.
func (s *apiServer) checkComparison(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	fresh := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: "router-vm"}, Spec: run.Spec}
	if err := s.Create(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	for format, text := range map[string]string{
		"table": "Not everything was measured: router-vm.", "markdown": "| router-vm |", "json": `"kind": "BenchmarkComparison"`, "csv": "side,router-pod,router-vm",
	} {
		if out := s.run(t, exitSucceeded, "compare", "router-pod", "router-vm", "-o", format); !strings.Contains(out, text) {
			t.Errorf("compare -o %s prints %q", format, out)
		}
	}
	if out := s.run(t, exitError, "compare", "router-pod", "nothing"); !strings.Contains(out, `BenchmarkRun "nothing" does not exist`) {
		t.Errorf("comparing with nothing prints %q", out)
	}
	if out := s.run(t, exitSucceeded, "__complete", "compare", "router-pod", ""); !strings.HasPrefix(out, "router-vm\n") {
		t.Errorf("completion offers %q", out)
	}
	file := filepath.Join(t.TempDir(), "change.csv")
	if out := s.run(t, exitSucceeded, "compare", "router-pod", "router-vm", "-o", "csv", "--output-file", file); out != "" {
		t.Errorf("writing a file prints %q", out)
	}
	if data, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(data, []byte("metric,unit,size,")) {
		t.Errorf("the file begins with %.40q: %v", data, err)
	}
}

func (s *apiServer) checkReports(t *testing.T) {
	t.Helper()
	for format, text := range map[string]string{
		"table": "THROUGHPUT", "markdown": "## Throughput", "json": `"apiVersion": "report.vnfbench.io/v1"`, "csv": "namespace,run,", "junit": "<testsuites",
	} {
		if out := s.run(t, exitSucceeded, "report", "router-pod", "-o", format); !strings.Contains(out, text) {
			t.Errorf("-o %s prints %q", format, out)
		}
	}
	file := filepath.Join(t.TempDir(), "trials.csv")
	if out := s.run(t, exitSucceeded, "report", "router-pod", "-o", "csv", "--trials", "--output-file", file); out != "" {
		t.Errorf("writing a file prints %q", out)
	}
	data, err := os.ReadFile(file)
	if err != nil || bytes.Count(data, []byte("\n")) != 34 {
		t.Errorf("the file has %d lines, want 34: %v", bytes.Count(data, []byte("\n")), err)
	}
	if out := s.run(t, exitSucceeded, "__complete", "watch", ""); !strings.HasPrefix(out, "router-pod\n") {
		t.Errorf("completion offers %q", out)
	}
	if out := s.run(t, exitError, "report", "router-pod", "--output-file", filepath.Join(file, "x")); !strings.Contains(out, "error: open") {
		t.Errorf("an impossible file prints %q", out)
	}
}
