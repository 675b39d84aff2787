package monitoring

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

// readRules returns the alerts, as promtool checks them.
func readRules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile(files + "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	spec, err := yaml.Marshal(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(spec, false, model.UTF8Validation, parser.NewParser(parser.Options{}), quietly)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return groups.Groups[0].Rules
}

// TestAlertsNameWhatThereIs checks the metrics and labels of alerts, and that an alert about runs names the run.
func TestAlertsNameWhatThereIs(t *testing.T) {
	shown := regexp.MustCompile(`\$labels\.(\w+)`)
	all := readRules(t)
	for _, r := range all {
		given := checkNames(t, r.Expr)
		for kind, text := range r.Annotations {
			for _, label := range shown.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(given, label[1]) {
					t.Errorf("%s: the %s shows %q, and the expression has %v", r.Alert, kind, label[1], given)
				}
			}
		}
		summary := r.Annotations["summary"]
		for _, what := range []string{"run", "execution"} {
			if slices.Contains(given, what) && !strings.Contains(summary, "{{ $labels.namespace }}/{{ $labels."+what+" }}") {
				t.Errorf("%s does not name the %s: %s", r.Alert, what, summary)
			}
		}
		if r.Labels["severity"] == "" || summary == "" || r.Annotations["description"] == "" {
			t.Errorf("%s has no severity, summary or description", r.Alert)
		}
	}
	if len(all) < 9 {
		t.Errorf("%d alerts", len(all))
	}
}

// firing evaluates an alert each minute, and returns the summaries of those that fire at the end.
func firing(t *testing.T, s *storage, r rulefmt.Rule, minutes int) (summaries []string) {
	t.Helper()
	alert := rules.NewAlertingRule(r.Alert, parse(t, r.Expr), time.Duration(r.For), 0, labels.FromMap(r.Labels), labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true, quietly)
	for minute := range minutes + 1 {
		if _, err := alert.Eval(t.Context(), 0, at(minute), s.query, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range alert.ActiveAlerts() {
		if a.State == rules.StateFiring {
			summaries = append(summaries, a.Annotations.Get("summary"))
		}
	}
	slices.Sort(summaries)
	return summaries
}

// TestAlertsFire checks that each alert fires for what it is about, and names it, and that none fires where all is well.
func TestAlertsFire(t *testing.T) {
	trouble, well := load(t, busy), load(t, quiet)
	want := map[string][]string{
		"VnfbenchRunFailed":       {"BenchmarkRun lab/broken could not be measured (PodStuck)."},
		"VnfbenchRunNotAccepted":  {"BenchmarkRun lab/slow of experiment router on Testbed bench was measured and missed a threshold."},
		"VnfbenchRunInconclusive": {"BenchmarkRun lab/unsure of experiment router on Testbed bench was measured, and its figures cannot decide a threshold."},
		"VnfbenchSuiteFailed":     {"Execution lab/nightly-7 of suite nightly has failed (CellsFailed)."},
		"VnfbenchRegressionFound": {"Figures of suite lab/nightly became worse (2 series), and interleaved runs confirm it."},
		"VnfbenchSuiteGateFailed": {"Nothing says whether suite lab/weekly became worse, so its gate fails (NotConfirmed)."},
		"VnfbenchQueueStuck":      {"BenchmarkRun lab/next, the next on Testbed bench, has waited for 6h 40m 0s."},
		"VnfbenchRunsNotArchived": {"Runs that have ended are not in the archive, and are not deleted before they are: 7."},
		"VnfbenchReconcileErrors": {"The operator's controller benchmarkrun keeps failing."},
		"VnfbenchCannotRead":      {"The operator cannot read the objects of kind BenchmarkRun."},
	}
	for _, r := range readRules(t) {
		if got := firing(t, trouble, r, 40); !slices.Equal(got, want[r.Alert]) {
			t.Errorf("%s fires for %q, want %q", r.Alert, got, want[r.Alert])
		}
		delete(want, r.Alert)
		if got := firing(t, well, r, 40); len(got) > 0 {
			t.Errorf("%s fires where all is well: %q", r.Alert, got)
		}
	}
	if len(want) > 0 {
		t.Errorf("there are no alerts %v", want)
	}
}

// TestAlertsAreNotInterrupted checks that an alert about a run stays one alert when another pod of the manager shows the run, and that it ends.
func TestAlertsAreNotInterrupted(t *testing.T) {
	s := load(t, []string{
		`vnfbench_run_completion_timestamp_seconds{namespace="lab",run="a",result="failed",reason="PodStuck",pod="one",instance="1"} 600x14 _x26`,
		`vnfbench_run_completion_timestamp_seconds{namespace="lab",run="a",result="failed",reason="PodStuck",pod="two",instance="2"} _x14 600x26`,
	})
	for _, r := range readRules(t) {
		if r.Alert != "VnfbenchRunFailed" {
			continue
		}
		for minute, count := range map[int]int{12: 1, 16: 1, 24: 1, 30: 0} {
			if got := firing(t, s, r, minute); len(got) != count {
				t.Errorf("after %d minutes: %q, want %d", minute, got, count)
			}
		}
	}
}
