package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
)

// TestJudgeOfASuite checks that a suite in a cluster is judged as its operator does: by spec.regression, where no flag says another thing, and without the
// cells that it no longer has.
func TestJudgeOfASuite(t *testing.T) {
	read := func(values ...int) []series.Point {
		points, err := series.ReadCSV(strings.NewReader(nights(values...)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range points {
			points[i].Execution = points[i].Run
		}
		return points
	}
	quiet, fallen := read(level(43, 100_000)...), read(append(level(40, 100_000), level(3, 95_000)...)...)
	gone := quiet[12]
	gone.Experiment = "gone"
	regressionOf := func(margin int32, acknowledgements ...v1alpha1.Acknowledgement) *v1alpha1.SuiteRegression {
		return &v1alpha1.SuiteRegression{MarginPercent: margin, Acknowledgements: acknowledgements}
	}
	file := filepath.Join(t.TempDir(), "none.yaml")
	if err := os.WriteFile(file, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	typo := v1alpha1.Acknowledgement{Kind: "Accepted", Revision: "rev400"}
	for name, test := range map[string]struct {
		points []series.Point
		spec   *v1alpha1.SuiteRegression
		// judged is the execution that the operator judged last; "" for none.
		judged string
		args   []string
		code   int
		want   []string
		not    string
	}{
		"no spec.regression":      {fallen, nil, "", nil, exitInconclusive, []string{"Unconfirmed", "of 2 series, 1 have no run of execution night-42"}, "gone"},
		"its margin":              {quiet, regressionOf(20), "", nil, exitSucceeded, []string{"no change of 20 % was confirmed"}, "gone"},
		"a flag wins":             {quiet, regressionOf(20), "", []string{"--effect-percent", "3"}, exitSucceeded, []string{"no change of 3.0 % was confirmed"}, "gone"},
		"its acknowledgements":    {fallen, regressionOf(2, typo), "", nil, exitInconclusive, []string{"note: the acknowledgement of rev400 matches no change"}, "gone"},
		"a file of them wins":     {fallen, regressionOf(2, typo), "", []string{"--acknowledgements", file}, exitInconclusive, []string{"Unconfirmed"}, "rev400"},
		"the execution it judged": {fallen, regressionOf(2), "night-12", nil, exitSucceeded, []string{"gone on lab", "of 2 series, 1 have no run of execution night-12"}, "router on lab"},
		"one that is not kept":    {fallen, regressionOf(2), "night-99", nil, exitInconclusive, []string{"execution night-42"}, "gone"},
	} {
		suite := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "nightly"}, Spec: v1alpha1.BenchmarkSuiteSpec{Regression: test.spec}}
		if test.judged != "" {
			suite.Status.Regression = &v1alpha1.RegressionStatus{Execution: test.judged}
		}
		c := clusterOf(t, suite, measurementOf(t, "nightly", "nightly-1", test.points), measurementOf(t, "nightly", "nightly-2", []series.Point{gone}))
		var out bytes.Buffer
		streams := genericiooptions.IOStreams{Out: &out, ErrOut: &out}
		command := newJudgeCommand(streams, func() (*cluster, error) { return c, nil })
		command.SetArgs(append([]string{"--suite", "nightly"}, test.args...))
		command.SilenceErrors, command.SilenceUsage = true, true
		if code := execute(t.Context(), command, streams); code != test.code {
			t.Errorf("%s: exit code %d, want %d", name, code, test.code)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: want %q in\n%s", name, want, out.String())
			}
		}
		if strings.Contains(out.String(), test.not) {
			t.Errorf("%s: %q is in\n%s", name, test.not, out.String())
		}
	}
}

// TestAcknowledgementsOfASuite checks that no field of an acknowledgement is lost.
func TestAcknowledgementsOfASuite(t *testing.T) {
	suite := &v1alpha1.BenchmarkSuite{}
	suite.Spec.Regression = &v1alpha1.SuiteRegression{Acknowledgements: []v1alpha1.Acknowledgement{
		{Kind: "Accepted", Experiment: "e", Testbed: "t", Figure: "f", Revision: "r", MaximumLossPercent: ptr.To[int32](3), Note: "n"}, {Kind: "Fixed", Run: "run"},
	}}
	want := []regression.Acknowledgement{
		{Kind: "Accepted", Experiment: "e", Testbed: "t", Figure: "f", Revision: "r", MaximumLossPercent: ptr.To[int32](3), Note: "n"}, {Kind: "Fixed", Run: "run"},
	}
	got, err := judging{}.acknowledged(suite)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}
