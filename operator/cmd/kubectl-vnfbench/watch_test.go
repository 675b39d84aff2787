package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
)

type edit func(*v1alpha1.BenchmarkRun)

func newRun(edits ...edit) *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "router-pod", UID: "u1"}}
	for _, e := range edits {
		e(run)
	}
	return run
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) edit {
	return func(run *v1alpha1.BenchmarkRun) {
		run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

func queued(position int32) edit {
	return func(run *v1alpha1.BenchmarkRun) { run.Status.QueuePosition = &position }
}

func progress(stage string, trials, percent int32, remaining int64) edit {
	return func(run *v1alpha1.BenchmarkRun) {
		run.Status.Progress = &v1alpha1.Progress{Stage: stage, Trials: trials, Percent: percent, RemainingSeconds: remaining}
	}
}

func uid(u types.UID) edit { return func(run *v1alpha1.BenchmarkRun) { run.UID = u } }

var (
	succeeded = condition(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "measured and accepted")
	refused   = condition(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted, "1 of 7 acceptance checks failed")
	undecided = condition(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonInconclusive, "1 of 7 acceptance checks are inconclusive")
	running   = condition(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "the run is active")
)

// step is one answer of the API server: a list, and the watch after it.
type step struct {
	listErr, watchErr error
	listed            *v1alpha1.BenchmarkRun
	events            []watch.Event
	// hang keeps the watch open after its events.
	hang bool
}

// script gives one step after the other as answers, and hangs after the last.
type script struct {
	steps []step
	at    int
}

func (s *script) list(ctx context.Context) (*v1alpha1.BenchmarkRunList, error) {
	if s.at >= len(s.steps) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	current := s.steps[s.at]
	runs := &v1alpha1.BenchmarkRunList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(s.at)}}
	if current.listed != nil {
		runs.Items = append(runs.Items, *current.listed)
	}
	if current.listErr != nil {
		s.at++
	}
	return runs, current.listErr
}

func (s *script) watch(_ context.Context, resourceVersion string) (watch.Interface, error) {
	current := s.steps[s.at]
	if resourceVersion != fmt.Sprint(s.at) {
		return nil, fmt.Errorf("watch from %q, want %d", resourceVersion, s.at)
	}
	s.at++
	if current.watchErr != nil {
		return nil, current.watchErr
	}
	w := watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: len(current.events)})
	for _, event := range current.events {
		w.Action(event.Type, event.Object)
	}
	if !current.hang {
		w.Stop()
	}
	return w, nil
}

func modified(edits ...edit) watch.Event {
	return watch.Event{Type: watch.Modified, Object: newRun(edits...)}
}

func TestWatchRun(t *testing.T) {
	refusedConnection := errors.New("connection refused")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "benchmarkruns"}, "router-pod", errors.New("no"))
	expired := apierrors.NewResourceExpired("too old").Status()

	tests := map[string]struct {
		steps   []step
		code    int
		out     string
		errText string
	}{
		"ended already": {
			steps: []step{{listed: newRun(succeeded)}},
			code:  exitSucceeded,
			out:   "BenchmarkRun lab/router-pod succeeded: measured and accepted\n",
		},
		"from the queue to success": {
			steps: []step{{listed: newRun(), events: []watch.Event{
				modified(queued(2), running), modified(queued(1), running),
				modified(running, condition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, "", ""),
					condition(v1alpha1.ConditionChainReady, metav1.ConditionUnknown, v1alpha1.ReasonPending, "0 of 1 functions forward")),
				{Type: watch.Bookmark, Object: newRun()},
				modified(running, progress("throughput, 64 bytes", 3, 10, 90)),
				modified(succeeded, progress("done", 33, 100, 0)),
			}}},
			code: exitSucceeded,
			out: "waiting for the operator\nqueued, position 2\nqueued, position 1\nPending: 0 of 1 functions forward\n" +
				"throughput, 64 bytes, 10 %, 3 trials, about 1m30s left\nBenchmarkRun lab/router-pod succeeded: measured and accepted\n",
		},
		"a missed criterion": {
			steps: []step{{listed: newRun(running), events: []watch.Event{modified(refused)}}},
			code:  exitFailed,
			out:   "running\nBenchmarkRun lab/router-pod failed: NotAccepted: 1 of 7 acceptance checks failed\n",
		},
		"figures that cannot decide": {
			steps: []step{{listed: newRun(running), events: []watch.Event{modified(undecided)}}},
			code:  exitInconclusive,
			out:   "running\nBenchmarkRun lab/router-pod is inconclusive: 1 of 7 acceptance checks are inconclusive\n",
		},
		"it does not exist": {
			steps:   []step{{}},
			code:    exitError,
			errText: `error: watching BenchmarkRun lab/router-pod: BenchmarkRun "router-pod" does not exist in namespace "lab"` + "\n",
		},
		"deleted while watched": {
			steps:   []step{{listed: newRun(), events: []watch.Event{{Type: watch.Deleted, Object: newRun()}}}},
			code:    exitError,
			out:     "waiting for the operator\n",
			errText: "error: watching BenchmarkRun lab/router-pod: the run was deleted before it ended\n",
		},
		"deleted with its verdict": {
			steps: []step{{listed: newRun(), events: []watch.Event{{Type: watch.Deleted, Object: newRun(refused)}}}},
			code:  exitFailed,
			out:   "waiting for the operator\nBenchmarkRun lab/router-pod failed: NotAccepted: 1 of 7 acceptance checks failed\n",
		},
		"deleted while the API server was away": {
			steps:   []step{{listed: newRun()}, {listErr: refusedConnection}, {}},
			code:    exitError,
			out:     "waiting for the operator\nthe watch was interrupted (connection refused); trying again, the run itself is not affected\n",
			errText: "error: watching BenchmarkRun lab/router-pod: the run was deleted before it ended\n",
		},
		"another of its name": {
			steps:   []step{{listed: newRun()}, {listed: newRun(uid("u2"))}},
			code:    exitError,
			out:     "waiting for the operator\n",
			errText: "error: watching BenchmarkRun lab/router-pod: the run was deleted before it ended, and another run of its name was made\n",
		},
		"no API server at first": {
			steps:   []step{{listErr: refusedConnection}},
			code:    exitError,
			errText: "error: watching BenchmarkRun lab/router-pod: connection refused\n",
		},
		"no right to watch": {
			steps:   []step{{listed: newRun(), watchErr: forbidden}},
			code:    exitError,
			out:     "waiting for the operator\n",
			errText: `error: watching BenchmarkRun lab/router-pod: benchmarkruns "router-pod" is forbidden: no` + "\n",
		},
		"through a restart of the API server": {
			steps: []step{
				{listed: newRun(), events: []watch.Event{modified(running, progress("latency idle, 64 bytes", 9, 40, 60))}},
				{listErr: refusedConnection}, {listErr: refusedConnection}, {listErr: forbidden},
				{listed: newRun(running, progress("latency idle, 64 bytes", 9, 40, 60)), watchErr: refusedConnection},
				{listed: newRun(running, progress("latency idle, 64 bytes", 9, 40, 60)), events: []watch.Event{{Type: watch.Error, Object: &expired}}},
				{listed: newRun(succeeded)},
			},
			code: exitSucceeded,
			out: "waiting for the operator\nlatency idle, 64 bytes, 40 %, 9 trials, about 1m0s left\n" +
				"the watch was interrupted (connection refused); trying again, the run itself is not affected\n" +
				"latency idle, 64 bytes, 40 %, 9 trials, about 1m0s left\n" +
				"the watch was interrupted (connection refused); trying again, the run itself is not affected\n" +
				"latency idle, 64 bytes, 40 %, 9 trials, about 1m0s left\n" +
				"BenchmarkRun lab/router-pod succeeded: measured and accepted\n",
		},
		"the timeout passes": {
			steps:   []step{{listed: newRun(running, progress("throughput, 64 bytes", 1, 2, 300)), hang: true}},
			code:    exitTimeout,
			out:     "throughput, 64 bytes, 2 %, 1 trial, about 5m0s left\n",
			errText: "error: timed out after 100ms; BenchmarkRun lab/router-pod continues: throughput, 64 bytes, 2 %, 1 trial, about 5m0s left\n",
		},
		"the timeout passes without an answer": {
			code:    exitTimeout,
			errText: "error: timed out after 100ms, and the API server has not answered\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			streams := genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}
			w := watching{
				source: &script{steps: tc.steps}, run: "lab/router-pod", missing: notFound("lab", "router-pod"),
				streams: streams, display: newDisplay(&out), pause: func(context.Context, time.Duration) error { return nil },
			}
			if tc.code == exitTimeout {
				w.timeout = 100 * time.Millisecond
			}
			code := printError(watchRun(t.Context(), w), streams)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if diff := cmp.Diff(tc.out, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.errText, errOut.String()); diff != "" {
				t.Errorf("error output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	err := watchRun(ctx, watching{source: &script{}, run: "lab/r", display: newDisplay(&out), pause: clock.Sleep})
	if code := printError(err, genericiooptions.IOStreams{ErrOut: io.Discard}); code != exitError {
		t.Errorf("exit code %d, want %d", code, exitError)
	}
}

func TestLogSkipsSmallChanges(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	l := &log{out: &out, now: func() time.Time { return now }}
	for _, s := range []struct {
		at       int
		stage    string
		trials   int32
		position int32
	}{
		{0, "throughput, 64 bytes", 1, 0}, {1, "throughput, 64 bytes", 2, 0}, {4, "throughput, 64 bytes", 5, 0},
		{5, "throughput, 64 bytes", 6, 0}, {6, "latency idle, 64 bytes", 7, 0}, {7, "latency idle, 64 bytes", 8, 0},
		{30, "latency idle, 64 bytes", 8, 0}, {60, "latency idle, 64 bytes", 8, 0},
	} {
		now = time.Unix(int64(s.at), 0)
		l.show(viewOf(newRun(progress(s.stage, s.trials, 50, 10))))
	}
	want := "throughput, 64 bytes, 50 %, 1 trial, about 10s left\nthroughput, 64 bytes, 50 %, 6 trials, about 10s left\n" +
		"latency idle, 64 bytes, 50 %, 7 trials, about 10s left\nlatency idle, 64 bytes, 50 %, 8 trials, about 10s left\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestBar(t *testing.T) {
	measuring := viewOf(newRun(progress("throughput, 64 bytes", 17, 50, 95)))
	for _, tc := range []struct {
		view  view
		width int
		want  string
	}{
		{measuring, 100, "[############............] throughput, 64 bytes, 50 %, 17 trials, about 1m35s left"},
		{measuring, 40, "[############............] throughput, >"},
		{measuring, 0, "[############......>"},
		{viewOf(newRun(progress("x", 1, 250, 0))), 100, "[########################] x, 250 %, 1 trial, about 0s left"},
		{viewOf(newRun(queued(3), progress("x", 1, 2, 3))), 100, "queued, position 3"},
		{viewOf(newRun(func(r *v1alpha1.BenchmarkRun) { r.Spec.Suspend = true })), 100, "suspended"},
	} {
		if got := tc.view.bar(tc.width); got != tc.want {
			t.Errorf("bar(%d) = %q, want %q", tc.width, got, tc.want)
		}
	}
}

func TestRedrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	r := &redrawn{out: &out, width: func() int { return 60 }}
	r.show(viewOf(newRun(queued(1))))
	r.show(viewOf(newRun(progress("warm-up", 1, 0, 9))))
	r.close()
	want := "\rqueued, position 1\x1b[K\r[........................] warm-up, 0 %, 1 trial, about 9s >\x1b[K\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("terminal (-want +got):\n%s", diff)
	}
}

func TestUsageErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no run":            {[]string{"watch"}, "exactly one BenchmarkRun"},
		"two runs":          {[]string{"report", "a", "b"}, "exactly one BenchmarkRun"},
		"unknown flag":      {[]string{"watch", "a", "--color"}, "unknown flag"},
		"unknown command":   {[]string{"wach"}, "unknown command"},
		"negative timeout":  {[]string{"watch", "a", "--timeout", "-1s"}, "must not be negative"},
		"unknown format":    {[]string{"report", "a", "-o", "xml"}, "use one of table, markdown, json, csv, junit, html"},
		"trials in a page":  {[]string{"report", "a", "-o", "html", "--trials"}, "does not apply to -o html"},
		"trials in junit":   {[]string{"report", "a", "-o", "junit", "--trials"}, "does not apply to -o junit"},
		"one to compare":    {[]string{"compare", "a"}, "two BenchmarkRuns or more, not 1"},
		"one with itself":   {[]string{"compare", "a", "b", "a"}, `"a" is named twice`},
		"13 to compare":     {[]string{"compare", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "-l", "a=b", "-l", "a=c"}, "not 13, and of 12 at most"},
		"one selector":      {[]string{"compare", "-l", "a=b"}, "a label selector with -l for each column"},
		"nothing to divide": {[]string{"compare", "a", "b", "--group-by", "c"}, "give one with -l"},
		"names everywhere":  {[]string{"compare", "a", "b", "-A"}, "a name is of one namespace"},
		"other adjustment":  {[]string{"compare", "a", "b", "--adjust", "sidak"}, "use one of none, holm, benjamini-hochberg"},
		"suite to compare":  {[]string{"compare", "suiterun/a", "b"}, "compare its runs with -l vnfbench.io/suite-run=NAME,vnfbench.io/cell=CELL"},
		"compare in junit":  {[]string{"compare", "a", "b", "-o", "junit"}, "use one of table, markdown, json, csv"},
		"no document":       {[]string{"replay"}, "exactly one document, not 0"},
		"missing document":  {[]string{"replay", "/does/not/exist"}, "no such file"},
		"no report":         {[]string{"replay", "-"}, "reading the document"},
		"no percentile":     {[]string{"distribution", "-", "--percentiles", "101"}, "give numbers from 0 to 100"},
		"no percentiles":    {[]string{"distribution", "-", "--percentiles", ""}, "--percentiles is empty"},
		"no kubeconfig":     {[]string{"report", "a", "--kubeconfig", "/does/not/exist"}, "kubeconfig"},
		"no server answers": {[]string{"watch", "a", "--server", "http://127.0.0.1:1"}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			var errOut bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: &errOut}
			command := newCommand(streams)
			command.SetArgs(tc.args)
			if code := execute(t.Context(), command, streams); code != exitError {
				t.Errorf("exit code %d, want %d", code, exitError)
			}
			if got := errOut.String(); !strings.Contains(got, tc.want) || !strings.HasPrefix(got, "error: ") {
				t.Errorf("error output is %q, want an error with %q", got, tc.want)
			}
		})
	}
}

func TestUnicodeLocale(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"nothing set":           {nil, false},
		"language":              {map[string]string{"LANG": "de_DE.UTF-8"}, true},
		"overruled":             {map[string]string{"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, false},
		"character type":        {map[string]string{"LC_CTYPE": "C.utf8", "LANG": "C"}, true},
		"another character set": {map[string]string{"LANG": "de_DE.ISO-8859-1"}, false},
	} {
		if got := unicodeLocale(func(key string) string { return tc.env[key] }); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
