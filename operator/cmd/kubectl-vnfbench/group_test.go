package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
)

// checkGroups compares the runs that selectors match: four of an old and four of a new version, of which one more has not ended.
func (s *apiServer) checkGroups(t *testing.T, final *v1alpha1.BenchmarkRun) {
	t.Helper()
	for i := range 9 {
		version := map[bool]string{true: "old", false: "new"}[i < 4]
		run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{
			Namespace: final.Namespace, Name: fmt.Sprintf("grouped-%s-%d", version, i), Labels: map[string]string{"version": version, "series": "s"},
		}, Spec: *final.Spec.DeepCopy()}
		if err := s.Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if i == 8 {
			continue
		}
		run.Status = *final.Status.DeepCopy()
		rate := &run.Status.Results[0].Throughput[0]
		rate.FramesPerSecond += map[string]int64{"old": 0, "new": -20_000}[version] + int64(100*(i%4))
		rate.LowerBoundFramesPerSecond, rate.UpperBoundFramesPerSecond = rate.FramesPerSecond, new(rate.FramesPerSecond+500)
		s.setStatus(t, run)
	}
	for name, tc := range map[string]struct {
		code int
		args []string
		want []string
	}{
		"two selectors": {exitSucceeded, []string{"-l", "version=old,series=s", "-l", "version=new"}, []string{
			"Comparison of 8 runs in 2 columns", "version=old,series=s", ", worse (p<0.001, n=4+4)", "Left out of version=new, because they were not measured to the end: grouped-new-8.",
		}},
		"a label's values": {exitSucceeded, []string{"-l", "series=s", "--group-by", "version", "--adjust", "holm"}, []string{"Comparison of 8 runs in 2 columns", "adjusted together (holm)", "n=4+4"}},
		"a name first":     {exitSucceeded, []string{"router-pod", "-A", "-l", "version=new"}, []string{"n=1+4"}},
		"as JSON":          {exitSucceeded, []string{"-l", "version=old", "-l", "version=new", "-o", "json"}, []string{`"verdict": "Worse"`, `"name": "version=old"`, `"column": 1`}},
		"nothing":          {exitError, []string{"-l", "version=old", "-l", "version=none"}, []string{`-l "version=none" matches no BenchmarkRun in namespace "default"`}},
		"no selector":      {exitError, []string{"-l", "version=old", "-l", "a b"}, []string{`-l "a b" is no label selector`}},
		"twice":            {exitError, []string{"-l", "version=old", "-l", "series=s"}, []string{"is twice in the comparison"}},
		"no such label":    {exitError, []string{"-l", "series=s", "--group-by", "color"}, []string{`has the label "color"`}},
	} {
		out := s.run(t, tc.code, append([]string{"compare"}, tc.args...)...)
		for _, want := range tc.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, out)
			}
		}
	}
	for flag, want := range map[string]string{"-l": "version=old\n", "--group-by": "version\n", "--adjust": "holm\n"} {
		if out := s.run(t, exitSucceeded, "__complete", "compare", flag, ""); !strings.Contains(out, want) {
			t.Errorf("completion of %s offers %q", flag, out)
		}
	}
}

// TestFoldersOfDocuments checks that the documents of a folder are one column, without a cluster.
func TestFoldersOfDocuments(t *testing.T) {
	doc, err := readDocument(writeDocument(t, func(*report.Document) {}), strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	doc.Trials, doc.Inputs = nil, nil
	place := t.TempDir()
	for _, side := range []string{"before", "after"} {
		if err := os.Mkdir(filepath.Join(place, side), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			doc.Run.UID = fmt.Sprintf("%s-%d", side, i)
			if err := export(doc, filepath.Join(place, side, doc.Run.UID+document.ExtensionCompressed), genericiooptions.NewTestIOStreamsDiscard()); err != nil {
				t.Fatal(err)
			}
		}
	}
	before, after := filepath.Join(place, "before"), filepath.Join(place, "after")+"/"
	if out := plugin(t, "", exitSucceeded, "compare", before, after, "--kubeconfig", "/does/not/exist"); !strings.Contains(out, "Comparison of 6 runs in 2 columns") || !strings.Contains(out, "n=3+3") {
		t.Errorf("two folders print\n%s", out)
	}
	if err := os.Mkdir(filepath.Join(place, "none"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out := plugin(t, "", exitError, "compare", before, filepath.Join(place, "none")); !strings.Contains(out, "has no document") {
		t.Errorf("an empty folder prints %q", out)
	}
}
