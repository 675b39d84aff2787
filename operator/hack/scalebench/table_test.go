package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/suite"
)

func TestPrintGoals(t *testing.T) {
	of := func(n, rss, next, cpu float64) row {
		return row{n, map[string]float64{"highest RSS MiB": rss, "next run after s": next, "CPU % while measuring": cpu}}
	}
	for want, rows := range map[string][]row{
		"All 3 goals are met.":            {of(10, 80, 1, 2), of(100, 128, 2, 5)},
		"1 of 3 goals are missed.":        {of(10, 129, 1, 2), of(100, 100, 1, 2)},
		"NOT MEASURED: share of a core":   {of(10, 80, 1, 2), {100, map[string]float64{"highest RSS MiB": 80, "next run after s": 1}}},
		"MISSED: time from the end":       {of(10, 1, 2.01, 2)},
		"highest 129.00 MiB with 10 runs": {of(10, 129, 1, 2), of(100, 100, 1, 2)},
	} {
		var out bytes.Buffer
		if printGoals(&out, rows); !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestSettingsOfTheChart checks that the manager runs with the chart's settings of the garbage collector.
func TestSettingsOfTheChart(t *testing.T) {
	text, err := os.ReadFile("../../../charts/vnfbench/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Resources struct{ Limits struct{ Memory string } }
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	if limit, err := resource.ParseQuantity(values.Resources.Limits.Memory); err != nil || limit.Value() != memoryLimitBytes {
		t.Errorf("the chart's limit is %q, %v, want %d bytes", values.Resources.Limits.Memory, err, memoryLimitBytes)
	}
	if text, err = os.ReadFile("../../../charts/vnfbench/templates/deployment.yaml"); err != nil || !strings.Contains(string(text), `{name: GOGC, value: "`+collection+`"}`) {
		t.Errorf("the chart has another GOGC than %s: %v", collection, err)
	}
}

// TestScaleOfSuites checks that the template has as many cells as are asked for and can be measured, that more are refused, and
// that points are listed and judged.
func TestScaleOfSuites(t *testing.T) {
	template, err := templateOf(v1alpha1.MaxSuiteCells)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := suite.Parse(&template); err != nil || len(s.Cells) != v1alpha1.MaxSuiteCells {
		t.Errorf("the largest suite: %v", err)
	}
	var out bytes.Buffer
	if err := printRefusal(&out, 2*v1alpha1.MaxSuiteCells); err != nil || !strings.Contains(out.String(), "A matrix of 1000 cells is refused") {
		t.Errorf("%v: %s", err, out.String())
	}
	if r, err := measurePoints(1000); err != nil || r.figures["series"] != 10 || r.figures["judging s"] <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPrintTable(t *testing.T) {
	rows := []row{
		{10, map[string]float64{"same": 3, "linear": 5, "square": 2, "none": 0}},
		{100, map[string]float64{"same": 4, "linear": 70, "square": 100, "none": 0}},
		{1000, map[string]float64{"same": 3, "linear": 500, "square": 20_000, "none": 1}},
	}
	var out bytes.Buffer
	printTable(&out, []column{{"same", 1}, {"linear", 0}, {"square", 0}, {"none", 0}}, rows)
	var lines [][]string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Fields(line))
	}
	want := [][]string{
		{"N", "10", "100", "1000", "exponent"},
		{"same", "3.0", "4.0", "3.0", "0.00"},
		{"linear", "5", "70", "500", "1.00"},
		{"square", "2", "100", "20000", "2.00"},
		{"none", "0", "0", "1", "-"},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.String())
	}
	for i := range want {
		if strings.Join(lines[i], " ") != strings.Join(want[i], " ") {
			t.Errorf("line %d is %q, want %q", i, lines[i], want[i])
		}
	}
}

func TestSumOf(t *testing.T) {
	const text = `# HELP rest_client_requests_total Number of HTTP requests.
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1",method="GET"} 7
rest_client_requests_total{code="200",host="127.0.0.1",method="PATCH"} 3
rest_client_requests_total{code="409",host="127.0.0.1",method="PATCH"} 2
rest_client_requests_total{code="201",host="127.0.0.1",method="POST"} 1.5e+1
rest_client_requests_total_of_another{method="POST"} 100
etcd_disk_wal_write_bytes_total 4096
`
	for want, s := range map[float64]sum{
		20:   {"rest_client_requests_total", []string{`method="PATCH"`, `method="POST"`}},
		4096: {"etcd_disk_wal_write_bytes_total", nil},
	} {
		if got, err := sumOf(text, s); err != nil || got != want {
			t.Errorf("%+v is %v, %v, want %v", s, got, err, want)
		}
	}
	if _, err := sumOf(text, sum{"absent", nil}); err == nil {
		t.Error("a metric that is not there has a value")
	}
}

// TestProgress checks that the program says what it does while a step takes long.
func TestProgress(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	lines, out := io.Pipe()
	var p progress
	p.is("making finished run %d", 3)
	ended := make(chan struct{})
	go func() { p.print(ctx, out, time.Millisecond); close(ended) }()
	text := bufio.NewReader(lines)
	for range 2 {
		if line, err := text.ReadString('\n'); err != nil || !strings.HasSuffix(line, ": making finished run 3\n") {
			t.Errorf("%q, %v", line, err)
		}
	}
	stop()
	lines.Close()
	<-ended
	if progressInterval > 30*time.Second {
		t.Errorf("a line comes every %s", progressInterval)
	}
}

func TestParse(t *testing.T) {
	s, err := parse([]string{"-runs", "10,1000", "bin/manager"})
	if err != nil || len(s.counts) != 2 || s.counts[1] != 1000 || s.manager != "bin/manager" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, arguments := range [][]string{{}, {"-runs", "0", "m"}, {"-runs", "x", "m"}, {"-measured", "1", "m"}, {"-sizes", "0", "m"}, {"-sizes", "99", "m"}} {
		if _, err := parse(arguments); err == nil {
			t.Errorf("%q is accepted", arguments)
		}
	}
}
