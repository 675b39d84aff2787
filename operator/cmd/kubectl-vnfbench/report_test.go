package main

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/report"
)

// TestPageNeedsTheTrials checks that a page of a run whose ConfigMaps cannot be read is an error, while a table leaves the trials out.
func TestPageNeedsTheTrials(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	run.Namespace, run.Name = "lab", "router"
	run.Status.ResultsRef = &v1alpha1.LocalReference{Name: "router-results"}
	for format, fails := range map[report.Format]bool{report.FormatTable: false, page.Format: true} {
		var notes bytes.Buffer
		_, err := (reporting{}).source(t.Context(), clusterOf(t), run, format, genericiooptions.IOStreams{ErrOut: &notes})
		if (err != nil) != fails || strings.Contains(notes.String(), "leaves out the trials") == fails {
			t.Errorf("%s: %v, and the note %q", format, err, notes.String())
		}
	}
}
