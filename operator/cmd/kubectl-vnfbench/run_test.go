package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestRun creates the runs of manifests, and nothing of one that has something else.
func TestRun(t *testing.T) {
	second := strings.Replace(manifest, "name: router", "name: router-2, namespace: other", 1)
	for name, test := range map[string]struct {
		input string
		args  []string
		code  int
		said  string
		// made are the runs afterwards.
		made []string
	}{
		"one":           {manifest, nil, exitSucceeded, "BenchmarkRun lab/router created", []string{"lab/router"}},
		"two":           {manifest + "---" + second, nil, exitSucceeded, "BenchmarkRun other/router-2 created", []string{"lab/router", "other/router-2"}},
		"a Testbed":     {manifest + "---\napiVersion: vnfbench.io/v1alpha1\nkind: Testbed\nmetadata: {name: lab}\n", nil, exitError, "document 2 is a Testbed", nil},
		"no YAML":       {"a: [", nil, exitError, "document 1", nil},
		"nothing":       {"# nothing\n", nil, exitError, "no BenchmarkRun", nil},
		"watch two":     {manifest + "---" + second, []string{"--watch"}, exitError, "--watch follows one run", nil},
		"timeout alone": {manifest, []string{"--timeout", "1m"}, exitError, "--timeout is for --watch", nil},
	} {
		c := clusterOf(t)
		code, out, errOut := commandOver(t, c, test.input, append([]string{"run", "-"}, test.args...)...)
		if code != test.code || !strings.Contains(out+errOut, test.said) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s%s", name, code, test.code, test.said, out, errOut)
		}
		var runs v1alpha1.BenchmarkRunList
		if err := c.client.List(t.Context(), &runs); err != nil {
			t.Fatal(err)
		}
		var made []string
		for _, run := range runs.Items {
			made = append(made, run.Namespace+"/"+run.Name)
		}
		if strings.Join(made, " ") != strings.Join(test.made, " ") {
			t.Errorf("%s: the runs are %q, want %q", name, made, test.made)
		}
	}
	file := filepath.Join(t.TempDir(), "router.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	c := clusterOf(t)
	if code, out, errOut := commandOver(t, c, "", "run", file); code != exitSucceeded {
		t.Errorf("a file: exit code %d: %s%s", code, out, errOut)
	}
	if code, _, errOut := commandOver(t, c, "", "run", file); code != exitError || !strings.Contains(errOut, "already exists") {
		t.Errorf("a run that exists: exit code %d: %s", code, errOut)
	}
	if code, _, errOut := commandOver(t, c, "", "run", file+".none"); code != exitError || !strings.Contains(errOut, "no such file") {
		t.Errorf("a file that does not exist: exit code %d: %s", code, errOut)
	}
}

// TestRerun checks the copy and its name.
func TestRerun(t *testing.T) {
	original := runNamed("router", 10, func(run *v1alpha1.BenchmarkRun) {
		endedWell(run)
		run.Labels = map[string]string{"team": "a", v1alpha1.LabelExperiment: "routers", v1alpha1.LabelSuite: "nightly", v1alpha1.LabelCell: "a", v1alpha1.LabelSuiteRun: "nightly-1", v1alpha1.LabelRepeat: "1"}
		run.Annotations = map[string]string{lastApplied: "{}", v1alpha1.AnnotationKeep: "true"}
		run.Finalizers = []string{v1alpha1.Finalizer}
		run.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: kindSuiteRun, Name: "nightly-1", UID: "u"}}
		run.Spec.Suspend = true
		run.Spec.Experiment.Traffic.Flows = 7
	})
	c := clusterOf(t, original, runNamed("router-2", 5, nil))
	code, out, errOut := commandOver(t, c, "", "rerun", "router")
	if code != exitSucceeded || out != "BenchmarkRun lab/router-3 created\n" {
		t.Fatalf("exit code %d: %s%s", code, out, errOut)
	}
	var made v1alpha1.BenchmarkRun
	if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: "lab", Name: "router-3"}, &made); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(made.Labels, map[string]string{"team": "a", v1alpha1.LabelExperiment: "routers"}) || !maps.Equal(made.Annotations, map[string]string{v1alpha1.AnnotationKeep: "true"}) ||
		len(made.Finalizers)+len(made.OwnerReferences)+len(made.Status.Conditions) > 0 || made.Spec.Suspend || made.Spec.Experiment.Traffic.Flows != 7 {
		t.Errorf("the copy is %+v", made)
	}
	for _, test := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"rerun", "router-2"}, exitSucceeded, "lab/router-4 created"},
		{[]string{"rerun", "router", "--name", "tuned"}, exitSucceeded, "lab/tuned created"},
		{[]string{"rerun", "router", "--name", "tuned"}, exitError, "already exists"},
		{[]string{"rerun", "router", "--name", "No_Name"}, exitError, "is no name"},
		{[]string{"rerun", "nothing"}, exitError, "does not exist"},
		{[]string{"rerun", "router", "--timeout", "-1s", "-w"}, exitError, "must not be negative"},
	} {
		if code, out, errOut := commandOver(t, c, "", test.args...); code != test.code || !strings.Contains(out+errOut, test.said) {
			t.Errorf("%q: exit code %d, want %d with %q: %s%s", test.args, code, test.code, test.said, out, errOut)
		}
	}
}

func TestNumbered(t *testing.T) {
	for name, want := range map[string]struct {
		base   string
		number int
	}{"router": {"router", 1}, "router-2": {"router", 2}, "router-1": {"router-1", 1}, "router-02": {"router-02", 1}, "a-b-17": {"a-b", 17}, "router-2026112812": {"router-2026112812", 1}, "2": {"2", 1}, "router-": {"router-", 1}} {
		if base, number := numbered(name); base != want.base || number != want.number {
			t.Errorf("%s: %s and %d, want %v", name, base, number, want)
		}
	}
}
