package monitoring

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

var quietly = slog.New(slog.NewTextHandler(io.Discard, nil))

// storage has metrics of 40 minutes, a value a minute, since the epoch.
type storage struct{ query rules.QueryFunc }

func load(t *testing.T, series []string) *storage {
	t.Helper()
	stored := promqltest.LoadedStorage(t, "load 1m\n  "+strings.Join(series, "\n  ")+"\n")
	t.Cleanup(func() { stored.Close() })
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000)
	return &storage{query: rules.EngineQueryFunc(engine, stored)}
}

func at(minute int) time.Time { return time.Unix(int64(minute)*60, 0).UTC() }

// at returns what an expression gives at a minute. Of a range that ends there, the beginning is the epoch.
func (s *storage) at(t *testing.T, expression string, minute int) promql.Vector {
	t.Helper()
	got, err := s.query(t.Context(), strings.ReplaceAll(expression, "@ start()", "@ 0"), at(minute))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return got
}

const (
	ofSuite = `namespace="lab",suite="nightly",cell="small",experiment="nightly-small",testbed="bench",pod="a",instance="1"`
	ofRun   = `namespace="lab",suite="",cell="",experiment="router",testbed="bench",pod="a",instance="1"`
)

// busy is what the manager shows with runs that ended, run and wait, and with trouble. Times are since the epoch, and the last value is at 2,400 s.
var busy = []string{
	`vnfbench_figure{` + ofSuite + `,metric="ThroughputFramesPerSecond",size="64",goal="NDR",load="",streams="",direction="",function=""} 1000000x20 900000x20`,
	`vnfbench_uncertain_figure{` + ofRun + `,metric="ThroughputFramesPerSecond",size="64",goal="NDR",load="",streams="",direction="",function="",doubt="GeneratorCeiling"} 2000000x40`,
	`vnfbench_figure{` + ofRun + `,metric="LossPartsPerMillion",size="64",goal="",load="idle",streams="",direction="Forward",function=""} 10x40`,
	`vnfbench_uncertain_figure{` + ofRun + `,metric="LossPartsPerMillion",size="64",goal="",load="full",streams="",direction="Forward",function="",doubt="LoadNotReached"} 10x40`,
	`vnfbench_figure{` + ofRun + `,metric="NodeSoftirqNanosecondsPerFrame",size="64",goal="NDR",load="",streams="",direction="",function=""} 300x40`,
	`vnfbench_figure{` + ofRun + `,metric="LatencyP50Nanoseconds",size="64",goal="",load="idle",streams="",direction="Forward",function=""} 9000x40`,
	`vnfbench_figure{` + ofRun + `,metric="LatencyP99Nanoseconds",size="64",goal="",load="idle",streams="",direction="Forward",function=""} 12000x40`,
	`vnfbench_uncertain_figure{` + ofRun + `,metric="LatencyP99Nanoseconds",size="64",goal="",load="full",streams="",direction="Forward",function="",doubt="LoadNotReached"} 12000x40`,
	`vnfbench_figure{` + ofRun + `,metric="LatencyP999Nanoseconds",size="64",goal="",load="idle",streams="",direction="Forward",function=""} 20000x40`,
	`vnfbench_uncertain_figure{` + ofRun + `,metric="LatencyMaxNanoseconds",size="64",goal="",load="full",streams="",direction="Forward",function="",doubt="LoadNotReached"} 90000x40`,
	`vnfbench_figure{` + ofRun + `,metric="JitterP99Nanoseconds",size="64",goal="",load="idle",streams="",direction="Forward",function=""} 700x40`,
	`vnfbench_uncertain_figure{` + ofRun + `,metric="JitterMeanNanoseconds",size="64",goal="",load="full",streams="",direction="Forward",function="",doubt="LoadNotReached"} 700x40`,
	`vnfbench_run_completion_timestamp_seconds{` + ofRun + `,run="broken",result="failed",reason="PodStuck"} _x30 1800x10`,
	`vnfbench_run_completion_timestamp_seconds{` + ofRun + `,run="slow",result="failed",reason="NotAccepted"} _x30 1800x10`,
	`vnfbench_run_completion_timestamp_seconds{` + ofRun + `,run="unsure",result="inconclusive",reason="Inconclusive"} _x30 1800x10`,
	`vnfbench_run_completion_timestamp_seconds{` + ofRun + `,run="long-ago",result="failed",reason="PodStuck"} 60x40`,
	`vnfbench_run_completion_timestamp_seconds{` + ofSuite + `,run="nightly-7-small-1",result="succeeded",reason="Succeeded"} _x30 1800x10`,
	`vnfbench_suite_run_completion_timestamp_seconds{namespace="lab",suite="nightly",execution="nightly-7",result="failed",reason="CellsFailed",pod="a",instance="1"} _x30 1800x10`,
	`vnfbench_suite_series{namespace="lab",suite="nightly",verdict="Regression",pod="a",instance="1"} 2x40`,
	`vnfbench_suite_series{namespace="lab",suite="nightly",verdict="Pass",pod="a",instance="1"} 9x40`,
	`vnfbench_suite_failed{namespace="lab",suite="nightly",reason="Regression",pod="a",instance="1"} 1x40`,
	`vnfbench_suite_failed{namespace="lab",suite="weekly",reason="NotConfirmed",pod="a",instance="1"} 1x40`,
	`vnfbench_testbed_queue_length{testbed="bench",pod="a",instance="1"} 3x40`,
	`vnfbench_queued_run_creation_timestamp_seconds{` + ofRun + `,run="next"} -21600x40`,
	`vnfbench_active_run_admission_timestamp_seconds{` + ofRun + `,run="going"} 1200x40`,
	`vnfbench_runs_awaiting_archive{pod="a",instance="1"} 7x40`,
	`vnfbench_runs_total{result="failed",reason="PodStuck",pod="a",instance="1"} 1x30 2x10`,
	`vnfbench_run_duration_seconds_bucket{result="succeeded",le="60",pod="a",instance="1"} 1+1x40`,
	`vnfbench_run_duration_seconds_bucket{result="succeeded",le="+Inf",pod="a",instance="1"} 1+1x40`,
	`vnfbench_suite_runs_total{result="failed",reason="CellsFailed",pod="a",instance="1"} 1x30 2x10`,
	`vnfbench_suite_measurements{state="running",pod="a",instance="1"} 1x40`,
	`controller_runtime_reconcile_errors_total{controller="benchmarkrun",pod="a",instance="1"} 0+30x40`,
	`vnfbench_watch_errors_total{kind="BenchmarkRun",pod="a",instance="1"} 0+1x40`,
}

// quiet is what the manager shows when all is well: runs that succeeded, one that failed long ago, a queue that moves.
var quiet = []string{
	`vnfbench_run_completion_timestamp_seconds{` + ofRun + `,run="good",result="succeeded",reason="Succeeded"} _x30 1800x10`,
	`vnfbench_run_completion_timestamp_seconds{` + ofRun + `,run="long-ago",result="failed",reason="PodStuck"} 60x40`,
	`vnfbench_run_completion_timestamp_seconds{` + ofRun + `,run="slow-long-ago",result="failed",reason="NotAccepted"} 60x40`,
	`vnfbench_suite_run_completion_timestamp_seconds{namespace="lab",suite="nightly",execution="nightly-7",result="succeeded",reason="Succeeded",pod="a",instance="1"} _x30 1800x10`,
	`vnfbench_suite_series{namespace="lab",suite="nightly",verdict="Regression",pod="a",instance="1"} 0x40`,
	`vnfbench_suite_failed{namespace="lab",suite="nightly",reason="Regression",pod="a",instance="1"} 1x40`,
	`vnfbench_testbed_queue_length{testbed="bench",pod="a",instance="1"} 3x40`,
	`vnfbench_queued_run_creation_timestamp_seconds{` + ofRun + `,run="next"} 600x40`,
	`vnfbench_runs_awaiting_archive{pod="a",instance="1"} 7x20 0x20`,
	`controller_runtime_reconcile_errors_total{controller="benchmarkrun",pod="a",instance="1"} 0x20 1x20`,
	`vnfbench_watch_errors_total{kind="BenchmarkRun",pod="a",instance="1"} 0x10 1x30`,
}
