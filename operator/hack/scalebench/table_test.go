package main

import (
	"bytes"
	"strings"
	"testing"
)

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
