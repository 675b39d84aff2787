package monitoring

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"
)

// rendered returns the object of a kind that the chart gives with some values.
func rendered(t *testing.T, kind string, values ...string) []byte {
	t.Helper()
	helm := os.Getenv("HELM")
	if helm == "" {
		t.Fatal("HELM is not set: its value is the tool's path (make test-monitoring sets it)")
	}
	arguments := []string{"template", "vnfbench", top + "charts/vnfbench", "--namespace", "lab", "--kube-version", "1.34.0", "--set", "image.registry=r.example"}
	for _, value := range values {
		arguments = append(arguments, "--set", value)
	}
	var errors bytes.Buffer
	command := exec.Command(helm, arguments...)
	command.Stderr = &errors
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errors.String())
	}
	for document := range strings.SplitSeq("\n"+string(out), "\n---\n") {
		if strings.Contains(document, "\nkind: "+kind+"\n") {
			return []byte(document)
		}
	}
	t.Fatalf("the chart gives no %s", kind)
	return nil
}

// TestServiceMonitor checks every field by the Prometheus operator's types.
func TestServiceMonitor(t *testing.T) {
	for name, test := range map[string]struct {
		values    []string
		account   bool
		scheme    string
		class     string
		selecting string
	}{
		"defaults":       {values: []string{}, account: true, scheme: "https"},
		"labels":         {values: []string{"metrics.serviceMonitor.labels.release=stack"}, account: true, scheme: "https", selecting: "stack"},
		"a scrape class": {values: []string{"metrics.serviceMonitor.scrapeClass=cluster"}, scheme: "https", class: "cluster"},
		"over HTTP":      {values: []string{"metrics.secure=false"}},
	} {
		t.Run(name, func(t *testing.T) {
			var m monitoringv1.ServiceMonitor
			if err := yaml.UnmarshalStrict(rendered(t, "ServiceMonitor", append(test.values, "metrics.serviceMonitor.enabled=true")...), &m); err != nil {
				t.Fatal(err)
			}
			e := m.Spec.Endpoints[0]
			if (e.Authorization != nil) != test.account || string(schemeOf(e)) != test.scheme || !e.HonorLabels || m.Labels["release"] != test.selecting {
				t.Errorf("%+v of %v", e, m.Labels)
			}
			if class := m.Spec.ScrapeClassName; (class != nil) != (test.class != "") || class != nil && *class != test.class {
				t.Errorf("the scrape class is %v", class)
			}
			//nolint:staticcheck // It is deprecated, which is why it must not be there.
			if e.BearerTokenFile != "" {
				t.Error("it names a file of Prometheus")
			}
			interval, err := model.ParseDuration(string(e.Interval))
			timeout, other := model.ParseDuration(string(e.ScrapeTimeout))
			if err != nil || other != nil || timeout > interval || time.Duration(timeout) <= 5*time.Second {
				t.Errorf("it waits %s of %s: the manager itself may take 5 s", e.ScrapeTimeout, e.Interval)
			}
		})
	}
}

func schemeOf(e monitoringv1.Endpoint) string {
	if e.Scheme == nil {
		return ""
	}
	return string(*e.Scheme)
}

// TestPrometheusRule checks every field by the Prometheus operator's types, and that the chart gives the alerts that other tests look at.
func TestPrometheusRule(t *testing.T) {
	var rule monitoringv1.PrometheusRule
	if err := yaml.UnmarshalStrict(rendered(t, "PrometheusRule", "metrics.prometheusRule.enabled=true", "metrics.prometheusRule.labels.release=stack"), &rule); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, r := range rule.Spec.Groups[0].Rules {
		got = append(got, r.Alert+r.Expr.String())
	}
	for _, r := range readRules(t) {
		want = append(want, r.Alert+r.Expr)
	}
	if !slices.Equal(got, want) || rule.Labels["release"] != "stack" {
		t.Errorf("got %q of %v, want %q", got, rule.Labels, want)
	}
}
