package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/suite"
)

func TestPrintGoals(t *testing.T) {
	of := func(n, rss, next, cpu float64) row {
		return row{n, map[string]float64{"highest RSS MiB": rss, "next run after s": next, "CPU % while measuring": cpu}}
	}
	one := func(trials, writes, kib float64) row {
		return row{trials, map[string]float64{trialsFigure: trials, "writes": writes, "etcd KiB": kib}}
	}
	for _, c := range []struct {
		goals    []goal
		rows     []row
		out, err string
	}{
		{queueGoals, []row{of(10, 80, 1, 2), of(100, 128, 2, 5)}, "All 3 goals are met.", ""},
		{queueGoals, []row{of(10, 129, 1, 2), of(100, 100, 1, 2)}, "MISSED: memory of the manager, goal at most 128 MiB: 129.00 MiB, highest with 10 runs", "1 of 3 goals"},
		{queueGoals, []row{of(10, 80, 1, 2), {100, map[string]float64{"highest RSS MiB": 80, "next run after s": 1}}}, "NOT MEASURED: share of a core", "1 of 3 goals"},
		{queueGoals, []row{of(10, 1, 2.01, 2)}, "MISSED: time from the end", "1 of 3 goals"},
		{queueGoals, nil, "NOT MEASURED: memory", "3 of 3 goals"},
		// 60 writes and 100 KiB are there without a trial.
		{growthGoals, []row{one(10, 70, 500), one(30, 90, 1300), one(100, 160, 4100)}, "All 2 goals are met.", ""},
		{growthGoals, []row{one(10, 70, 500), one(30, 91, 1300), one(100, 178, 4100)}, "MISSED: writes for each further trial of a run, goal at most 1.1 writes: 1.20 writes, from 10 to 100 trials", "1 of 2 goals"},
		{growthGoals, []row{one(10, 70, 200), one(30, 90, 1000), one(100, 160, 10100)}, "3.25 times, 40.0 and 130.0 KiB for each", "1 of 2 goals"},
		{growthGoals, []row{one(10, 70, 200), {30, nil}, one(100, 160, 10100)}, "NOT MEASURED: bytes", "1 of 2 goals"},
	} {
		var out bytes.Buffer
		err := printGoals(&out, c.goals, c.rows)
		if text := fmt.Sprint(err); !strings.Contains(out.String(), c.out) || (err != nil) != (c.err != "") || !strings.Contains(text, c.err) && c.err != "" {
			t.Errorf("%v: %q or error %q is not in %v and\n%s", c.rows, c.out, c.err, err, out.String())
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

// TestScaleOfSuites checks that the template has as many cells as are asked for and can be measured, that more are several suites and are refused in
// one, and that what was not measured is said.
func TestScaleOfSuites(t *testing.T) {
	for cells, want := range map[int][]int{10: {10}, v1alpha1.MaxSuiteCells: {500}, 1000: {500, 500}, 1005: {500, 500, 5}} {
		sizes := suitesOf(cells)
		if !slices.Equal(sizes, want) {
			t.Errorf("%d cells are suites of %v, want %v", cells, sizes, want)
		}
		for _, size := range sizes {
			template, err := templateOf(size)
			if err != nil {
				t.Fatal(err)
			}
			if s, err := suite.Parse(&template); err != nil || len(s.Cells) != size {
				t.Errorf("the suite of %d cells: %v", size, err)
			}
		}
	}
	var out bytes.Buffer
	if err := printCellLimits(&out, nil); err != nil || !strings.Contains(out.String(), "at most 500 cells and 2000 measurements") || !strings.Contains(out.String(), "A matrix of 1000 cells is refused") {
		t.Errorf("%v: %s", err, out.String())
	}
	out.Reset()
	// docs/concepts/suites.md has the number.
	if err := printPointLimits(&out); err != nil || !strings.Contains(out.String(), "with 256 MiB the manager judges at most 164124 points") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestPointsOfSuites checks that the measurements of a suite make as many points and series as a table says, each with a verdict, and that what is
// exported is read again.
func TestPointsOfSuites(t *testing.T) {
	const cells = 10
	template, err := templateOf(cells)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := suite.Parse(&template)
	if err != nil {
		t.Fatal(err)
	}
	var points []series.Point
	for cell := range cells {
		for execution := range runsOfSeries {
			m, err := measurementOf("suite-1", parsed, cell, execution)
			if err != nil {
				t.Fatal(err)
			}
			of, err := series.OfMeasurement(m)
			if err != nil {
				t.Fatal(err)
			}
			points = append(points, of...)
		}
	}
	if want := pointsOf([]int{cells}); len(points) != want[0] {
		t.Errorf("%d points, want %d", len(points), want[0])
	}
	if last := executionOf("suite-1", runsOfSeries-1); points[len(points)-1].Execution != last {
		t.Errorf("the last execution is %q, want %q", points[len(points)-1].Execution, last)
	}
	var file bytes.Buffer
	if err := series.WriteLines(&file, points); err != nil {
		t.Fatal(err)
	}
	figures := map[string]float64{}
	if err := listFile(figures, &file, points); err != nil {
		t.Fatal(err)
	}
	for _, c := range listColumns {
		of, _, _ := strings.Cut(c.name, " ")
		if name := strings.TrimSuffix(of, "'s"); name == "grouping" || name == "reading" || name == "judging" {
			if figure, measured := figures[c.name]; !measured || figure < 0 {
				t.Errorf("%s is %v, %t", c.name, figure, measured)
			}
		}
	}
	all, err := series.Group(points)
	if err != nil || len(all) != cells*figuresOfRun {
		t.Fatalf("%d series, %v", len(all), err)
	}
	report, err := regression.JudgeAll(regression.Default(), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range report.Judgments {
		if j.Verdict == regression.VerdictNotEnoughData {
			t.Errorf("series %s is not judged: %s", j.Key, j.Message)
		}
	}
	if err := listFile(figures, strings.NewReader(""), points); err == nil {
		t.Error("a file without its points is as good")
	}
}

// TestSpend checks that what is allocated and held is counted.
func TestSpend(t *testing.T) {
	var held []byte
	took, err := spend(func() error {
		held = make([]byte, 64<<20)
		time.Sleep(50 * time.Millisecond)
		return io.EOF
	})
	runtime.KeepAlive(held)
	if !errors.Is(err, io.EOF) || took.seconds < 0.05 || took.allocatedMiB < 64 || took.allocatedMiB > 100 || took.topMiB < 60 {
		t.Errorf("%+v, %v", took, err)
	}
}

// TestPart checks that a size that cannot be measured has a column that says so, that the others are measured, and that the error is returned.
func TestPart(t *testing.T) {
	broken := errors.New("it is broken")
	p := part{
		name: "sizes", title: "With N.", columns: []column{{"twice", 0}, {"never", 1}}, sizes: []int{1, 2, 4},
		measure: func(_ context.Context, _ settings, n int) (row, error) {
			if n == 2 {
				return row{}, broken
			}
			return row{float64(n), map[string]float64{"twice": float64(2 * n)}}, nil
		},
		after: func(w io.Writer, rows []row) error { fmt.Fprintf(w, "%d rows\n", len(rows)); return nil },
	}
	var out bytes.Buffer
	if err := p.run(t.Context(), settings{}, &out, io.Discard); !errors.Is(err, broken) || !strings.Contains(err.Error(), "sizes with 2: ") {
		t.Error(err)
	}
	for _, want := range []string{"sizes: With N.\n", "twice             2  NOT MEASURED             8      1.00", "never  NOT MEASURED  NOT MEASURED  NOT MEASURED         -", "3 rows\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	calls := 0
	p.measure = func(ctx context.Context, _ settings, n int) (row, error) { calls++; return row{}, ctx.Err() }
	if err := p.run(stopped, settings{}, io.Discard, io.Discard); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d sizes are measured after an interruption: %v", calls, err)
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
	if err != nil || len(s.counts) != 2 || s.counts[1] != 1000 || s.manager != "bin/manager" || !slices.Equal(s.parts, namesOfParts()) || !slices.Equal(s.cells, []int{10, 100, 1000}) {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parse([]string{"-parts", "planning,listing", "-cells", "5", "bin/manager"}); err != nil || !slices.Equal(s.parts, []string{"planning", "listing"}) || !slices.Equal(s.cells, []int{5}) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, arguments := range [][]string{{}, {"-runs", "0", "m"}, {"-runs", "x", "m"}, {"-measured", "1", "m"}, {"-sizes", "0", "m"}, {"-sizes", "99", "m"}, {"-parts", "runs,nothing", "m"}, {"-parts", "", "m"}, {"-cells", "12", "m"}, {"-cells", "0", "m"}} {
		if _, err := parse(arguments); err == nil {
			t.Errorf("%q is accepted", arguments)
		}
	}
}
