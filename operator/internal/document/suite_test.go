package document_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
)

// executed returns the document of an execution with one cell.
func executed() report.SuiteDocument {
	e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "nightly-1", UID: "u", Labels: map[string]string{v1alpha1.LabelSuite: "nightly"}}}
	e.Spec.Template.Matrix.Axes = []v1alpha1.Axis{{Name: "size", Path: "traffic.frameBytes"}}
	e.Status.Cells = []v1alpha1.SuiteCell{{Name: "64", Values: map[string]v1alpha1.AxisLabel{"size": "64"}, State: v1alpha1.MeasurementSucceeded, FramesPerSecond: ptr.To[int64](1000), Measurements: []v1alpha1.SuiteMeasurement{{State: v1alpha1.MeasurementSucceeded, Attempts: 1}}}}
	e.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded}}
	return report.BuildSuite(e, map[string]report.RunOutcome{}, nil, "1.2.3", time.Unix(0, 0))
}

func writtenSuite(t *testing.T, doc report.SuiteDocument, compressed bool) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := document.WriteSuite(&out, doc, compressed); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSuiteRoundTrip checks that both forms of an execution's document give it again, that each cut is found, and that neither kind is taken for the
// other.
func TestSuiteRoundTrip(t *testing.T) {
	want := executed()
	for _, compressed := range []bool{false, true} {
		text := writtenSuite(t, want, compressed)
		got, err := document.ReadSuite(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("compressed %t: %s", compressed, diff)
		}
		text = bytes.TrimSpace(text)
		for at := range text {
			if _, err := document.ReadSuite(bytes.NewReader(text[:at])); !errors.Is(err, document.ErrTruncated) {
				t.Fatalf("compressed %t, cut after %d of %d bytes: %v", compressed, at, len(text), err)
			}
		}
		if _, err := document.Read(bytes.NewReader(text)); !errors.Is(err, document.ErrNotADocument) || !strings.Contains(err.Error(), "that of a run's document") {
			t.Errorf("it is read as a run's: %v", err)
		}
	}
	if _, err := document.ReadSuite(bytes.NewReader(written(t, made(t), true))); !errors.Is(err, document.ErrNotADocument) || !strings.Contains(err.Error(), "that of a suite's document") {
		t.Errorf("a run's document is read as a suite's: %v", err)
	}
}

// TestSuiteRefused checks what is no document of an execution, each with its named error.
func TestSuiteRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(map[string]any)
		want   error
	}{
		"a newer version":     {func(o map[string]any) { o["apiVersion"] = "report.vnfbench.io/v9" }, document.ErrNewer},
		"no cells":            {func(o map[string]any) { delete(o, "cells") }, document.ErrDamaged},
		"no execution":        {func(o map[string]any) { o["execution"].(map[string]any)["name"] = "" }, document.ErrDamaged},
		"completeness":        {func(o map[string]any) { o["completeness"] = "Half" }, document.ErrDamaged},
		"status":              {func(o map[string]any) { o["succeeded"].(map[string]any)["status"] = "Maybe" }, document.ErrDamaged},
		"cells of other type": {func(o map[string]any) { o["cells"] = "none" }, document.ErrDamaged},
		"cells without end":   {func(o map[string]any) { o["cells"] = make([]int, 300_000) }, document.ErrTooLarge},
	} {
		var o map[string]any
		if err := json.Unmarshal(writtenSuite(t, executed(), false), &o); err != nil {
			t.Fatal(err)
		}
		test.change(o)
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := document.ReadSuite(bytes.NewReader(text)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if name == "a newer version" && !strings.Contains(func() string { _, err := document.ReadSuite(bytes.NewReader(text)); return err.Error() }(), "1.2.3") {
			t.Error("the version of the writer is not named")
		}
	}
}
