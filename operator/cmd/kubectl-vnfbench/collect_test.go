package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain/kinds"
	"vnfbench.io/operator/internal/installed"
	"vnfbench.io/operator/internal/plan"
)

// TestCollect checks what a bundle has, that no Secret and no token is in it, and that it says what it lacks.
func TestCollect(t *testing.T) {
	run := runNamed("router", 1, func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.TestbedRef = &v1alpha1.TestbedReference{Name: "lab-1"}
		run.Status.Plan = &v1alpha1.PlanSummary{GeneratorNode: "node-a", DeviceNode: "node-a"}
	})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	node.Status.Images = []corev1.ContainerImage{{Names: []string{"registry.example/of-others"}}}
	operator := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "vnfbench-system", Name: "vnfbench", Labels: installed.Labels()}}
	manager := podOf(runNamed("manager", 1, nil), "vnfbench-1", "manager", nil)
	manager.Namespace, manager.Labels = "vnfbench-system", installed.Labels()
	mine := map[string]string{v1alpha1.LabelRun: string(run.UID)}
	event := func(name, about, message string) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: about}, Type: "Warning", Reason: "Failed", Message: message}
	}
	c := clusterWithPods(t, run, &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: "lab-1"}}, node, operator, manager,
		podOf(run, "r-measurer", kinds.ComponentMeasurer, nil), podOf(run, "broken", kinds.ComponentObserver, nil),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "r-plan", Labels: mine}, Data: map[string]string{"plan.json": `{"password": "hidden"}`}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "of-another"}, Data: map[string]string{"key": "hidden"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "r-keys", Labels: mine}, Data: map[string][]byte{"key": []byte("hidden")}},
		event("e1", plan.NamesOf(run).Base+"-fn-r1", "of an earlier pod"), event("e2", "of-another", "hidden event"))
	var packed bytes.Buffer
	file := filepath.Join(t.TempDir(), "router.tar.gz")
	code, out, errOut := commandOver(t, c, "", "collect", "router", "--output-file", file)
	text, err := os.ReadFile(file)
	if code != exitSucceeded || err != nil || !strings.HasPrefix(out, file+" has ") {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, errOut)
	}
	packed.Write(text)
	plain, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var all strings.Builder
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if _, err := io.Copy(&all, archive); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"README.txt", "run.yaml", "testbed.yaml", "nodes/node-a.yaml", "objects/pod-broken.yaml", "objects/pod-r-measurer.yaml", "objects/configmap-r-plan.yaml", "events.txt", "logs/r-measurer-measurer.log",
		"operator/vnfbench-system-vnfbench.yaml", "operator/vnfbench-1-manager.log", "versions.json"}
	for i := range want {
		want[i] = "router/" + want[i]
	}
	if !slices.Equal(names, want) {
		t.Errorf("the bundle has %q, want %q", names, want)
	}
	if text := all.String(); strings.Contains(text, "hidden") || strings.Contains(text, "of-others") {
		t.Errorf("the bundle has what is not to be in it:\n%s", text)
	}
	for _, part := range []string{"kind: BenchmarkRun", "kind: Testbed", "of an earlier pod", "about lab/router password=REDACTED", "logs/broken-observer.log: refused", "Secrets: none is read", `"plugin": "development"`} {
		if !strings.Contains(all.String(), part) {
			t.Errorf("the bundle lacks %q:\n%s", part, all.String())
		}
	}
	if !strings.Contains(errOut, "note: left out: logs/broken-observer.log: refused") {
		t.Errorf("it notes %q", errOut)
	}
	if code, _, errOut := commandOver(t, c, "", "collect", "router", "--output-file", file); code != exitError || !strings.Contains(errOut, "exists already") {
		t.Errorf("a file that exists: exit code %d: %s", code, errOut)
	}
	if code, out, _ := commandOver(t, c, "", "collect", "router", "--output-file", "-"); code != exitSucceeded || !strings.HasPrefix(out, "\x1f\x8b") {
		t.Errorf("the standard output: exit code %d, %.10q", code, out)
	}
}

// TestEndOf checks that the end of a log is kept.
func TestEndOf(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcdef": "(the beginning was left out)\ncdef", strings.Repeat("x", 100) + "yz12": "(the beginning was left out)\nyz12"} {
		if got, err := endOf(strings.NewReader(text), 4); err != nil || string(got) != want {
			t.Errorf("%q gives %q, want %q: %v", text, got, want, err)
		}
	}
}

// TestAboutRun checks that lines about others are left out whose names have the run's or its namespace's as a part.
func TestAboutRun(t *testing.T) {
	run := runNamed("router", 1, nil)
	run.Namespace = "bench"
	for line, want := range map[string]bool{
		`{"controller":"vnfbench.io","BenchmarkRun":{"name":"router","namespace":"bench"}}`:   true,
		`{"controller":"vnfbench.io","BenchmarkRun":{"name":"router","namespace":"other"}}`:   false,
		`{"controller":"vnfbench.io","BenchmarkRun":{"name":"router-2","namespace":"bench"}}`: false,
		`{"msg":"router-2 waits for router","namespace":"bench"}`:                             true,
		"bench/router":                true,
		"in bench: waits for router.": true,
		"router. It is in bench...":   true,
		"router\tbench":               true,
		"namespace=bench run=router":  true,
		"--run=-router bench":         true,
		"bench/router-2":              false,
		"bench/router.2":              false,
		"bench/my-router":             false,
		"bench/my.router":             false,
		"bench/router2":               false,
		"bench-2/router":              false,
		"router in workbench":         false,
		"router.bench.svc":            false,
		"bench":                       false,
		"router":                      false,
		"":                            false,
	} {
		if got := string(aboutRun([]byte("first\n"+line+"\nlast"), run)) == line+"\n"; got != want {
			t.Errorf("%q is about the run: %v, want %v", line, got, want)
		}
	}
	if got := string(aboutRun([]byte("bench router"), run)); got != "bench router" {
		t.Errorf("a line at the end gives %q", got)
	}
	run.Name = "a-a"
	if line := "a-a-a bench a-a\n"; string(aboutRun([]byte(line), run)) != line {
		t.Errorf("%q is left out", line)
	}
}
