// Package monitoring checks what the chart gives to Prometheus and Grafana by their own code: alerts, dashboard,
// ServiceMonitor. Which metrics there are is what docs/reference/metrics.md says; a test of the operator compares that page with
// what the manager registers.
package monitoring

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	top   = "../../"
	files = top + "charts/vnfbench/files/monitoring/"
)

// target are the labels that Prometheus adds to those of a metric.
var target = []string{"instance", "pod"}

var code = regexp.MustCompile("`([^`]+)`")

// documented returns the labels of each metric that the page lists.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(top + "docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(vnfbench_[a-z_]+)` \\| (\\w+) \\| ([^|]+) \\|").FindAllStringSubmatch(string(page), -1) {
		var names []string
		for _, label := range code.FindAllStringSubmatch(strings.ReplaceAll(row[3], "[identity](#identity)", "`namespace`, `suite`, `cell`, `experiment`, `testbed`"), -1) {
			names = append(names, label[1])
		}
		if row[2] == "histogram" {
			metrics[row[1]+"_bucket"] = append(slices.Clone(names), "le")
			continue
		}
		metrics[row[1]] = names
	}
	library := regexp.MustCompile("`(controller_runtime_\\w+)\\{(\\w+)\\}`").FindStringSubmatch(string(page))
	if len(metrics) < 15 || library == nil {
		t.Fatalf("the page lists %d metrics, and of the library %v", len(metrics), library)
	}
	metrics[library[1]] = []string{library[2]}
	return metrics
}

// figures are the values of the label metric that the page lists.
func figures(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile(top + "docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range code.FindAllStringSubmatch(string(page), -1) {
		if regexp.MustCompile("^[A-Z][A-Za-z0-9]+$").MatchString(name[1]) {
			names = append(names, name[1])
		}
	}
	return names
}

// parse reads an expression.
func parse(t *testing.T, text string) parser.Expr {
	t.Helper()
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return expression
}

// checkNames checks that an expression names metrics that there are, with labels and values of the label metric that they have. It returns the
// labels of what the expression gives, as far as it is known.
func checkNames(t *testing.T, text string) []string {
	t.Helper()
	metrics, known := documented(t), figures(t)
	var given []string
	parser.Inspect(parse(t, text), func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			names, exists := metrics[n.Name]
			if !exists {
				t.Errorf("%s: there is no metric %q", text, n.Name)
			}
			given = append(given, names...)
			for _, m := range n.LabelMatchers {
				if m.Name != labels.MetricName && !slices.Contains(names, m.Name) {
					t.Errorf("%s: %s has no label %q", text, n.Name, m.Name)
				}
				if m.Name == "metric" && !slices.ContainsFunc(known, m.Matches) {
					t.Errorf("%s: no figure is %s", text, m)
				}
			}
		case *parser.AggregateExpr:
			for _, label := range n.Grouping {
				if !slices.ContainsFunc(metricsOf(n), func(name string) bool { return slices.Contains(append(metrics[name], target...), label) }) {
					t.Errorf("%s: there is no label %q", text, label)
				}
			}
		}
		return nil
	})
	if len(given) == 0 && !strings.Contains(text, "vnfbench_suite_runs_active") && !strings.Contains(text, "vnfbench_runs_awaiting_archive") {
		t.Errorf("%s names no metric", text)
	}
	return kept(parse(t, text), given)
}

// metricsOf returns the names of the metrics in an expression.
func metricsOf(node parser.Node) (names []string) {
	parser.Inspect(node, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			names = append(names, selector.Name)
		}
		return nil
	})
	return names
}

// kept returns which labels are left of an expression's by its outermost aggregation.
func kept(expression parser.Expr, given []string) []string {
	left := slices.Clone(given)
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		aggregation, is := node.(*parser.AggregateExpr)
		if is && !aggregation.Without {
			left = slices.DeleteFunc(left, func(label string) bool { return !slices.Contains(aggregation.Grouping, label) })
		}
		return nil
	})
	return left
}
