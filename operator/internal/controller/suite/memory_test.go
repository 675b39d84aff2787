package suite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/series"
)

// TestMemoryOfJudging measures what judging takes for each point: 12 cells with 20 figures each, 3 repeats and 60 executions.
func TestMemoryOfJudging(t *testing.T) {
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	h := newHistory("nightly-60")
	count := 0
	for night := 1; night <= 60; night++ {
		for cell := range 12 {
			for repeat := range 3 {
				for figure := range 20 {
					count++
					h.points.Add(h.small(series.Point{
						Key:  series.Key{Experiment: fmt.Sprintf("nightly.cell-%d@0123456789ab", cell), Testbed: "lab", Figure: fmt.Sprintf("LatencyP99Nanoseconds %d NDR", figure)},
						Time: epoch.Add(time.Duration(night*100+repeat) * time.Minute), Run: fmt.Sprintf("nightly-%d-cell-%d-%d", night, cell, repeat), Execution: fmt.Sprint("nightly-", night),
						Value: 1_000_000 + int64((night*7919+repeat*31)%997), Unit: "ns", LowerIsBetter: true, Platform: strings.Repeat("0", 64),
						PlatformParts: map[string]string{"kernel": "6.12"}, Repeats: []int64{1, 2, 3}, CalibrationLevel: 2_000_000,
						Subject: series.Subject{Name: "fw", Revision: fmt.Sprint("revision-", night), Image: strings.Repeat("1", 71)},
					}))
				}
			}
		}
	}
	h.group()
	held := used()
	if _, err := judge(gateOfThroughput, h, nil, ending{}); err != nil {
		t.Fatal(err)
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(h)
	held = (held - before) / uint64(count)
	if t.Logf("%d points: %d bytes each, and %d more until judged", count, held, (after.HeapAlloc-before)/uint64(count)-held); held > bytesOfPoint {
		t.Errorf("a point takes %d bytes, and bytesOfPoint is %d", held, bytesOfPoint)
	}
}

// TestRoomForPoints checks that the number of points follows from the memory of the process, and that more are a problem that says what to do.
func TestRoomForPoints(t *testing.T) {
	for bytes, want := range map[int64]int{math.MaxInt64: series.MaxPoints, 230 << 20: 163_840, 1 << 40: series.MaxPoints} {
		if got := RoomIn(bytes); got != want {
			t.Errorf("%d bytes: %d points, want %d", bytes, got, want)
		}
	}
	n := fallen(t)
	h := newHistory("nightly-2")
	h.room = 12
	var err error
	for _, m := range n.measured {
		points, unreadable := series.OfMeasurement(m)
		if err = h.add(m, points, unreadable); err != nil {
			break
		}
	}
	var failure *measure.Failure
	if !errors.As(err, &failure) || failure.Reason != v1alpha1.ReasonNotJudged || !strings.Contains(err.Error(), "the 12 points that the operator has memory for") {
		t.Errorf("%v", err)
	}
}

// listing answers a list.
type listing struct {
	client.Reader
	list func(client.ObjectList, client.ListOptions) error
}

func (r listing) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	return r.list(into, *o.ApplyOptions(options))
}

// ended is a suite with a gate whose execution has ended, and is to be judged.
func ended() *scope {
	s := newScope(executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded))
	s.suite.Spec.Regression, s.judged = &v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{{Metric: v1alpha1.MetricThroughputFramesPerSecond}}}, "settings"
	return s
}

// TestOneSuiteIsJudgedAtATime checks that the points of one suite alone are in memory. The other one waits, has no outcome yet, and keeps no
// worker.
func TestOneSuiteIsJudgedAtATime(t *testing.T) {
	r := &Reconciler{}
	lists := 0
	r.Reader = listing{list: func(client.ObjectList, client.ListOptions) error {
		lists++
		other, d := ended(), decision{action: actJudge, after: time.Hour}
		if err := r.judge(t.Context(), other, &d); err != nil {
			t.Error(err)
		}
		status := summarize(other, d)
		if c := succeeded(&status); d.after != turnInterval || c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonProgressing || status.Regression != nil {
			t.Errorf("after %s, %+v", d.after, c)
		}
		if events := eventsBetween(&other.known, &status, d); len(events) > 0 {
			t.Errorf("%+v", events)
		}
		return nil
	}}
	for range 2 {
		s, d := ended(), decision{action: actJudge}
		if err := r.judge(t.Context(), s, &d); err != nil || d.blocked != nil || summarize(s, d).Regression.Digest != "settings" {
			t.Errorf("%+v, %v", d, err)
		}
	}
	if lists != 2 {
		t.Errorf("%d lists", lists)
	}
}

// TestUnreadableMeasurementsAreWaitedFor checks that a suite waits for the right to read its measurements, with a reason and a bound that begins with
// the wait, and then says that its series are not judged.
func TestUnreadableMeasurementsAreWaitedFor(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Group: "vnfbench.io", Resource: "benchmarkmeasurements"}, "", errors.New("no rule"))
	r := &Reconciler{Reader: listing{list: func(client.ObjectList, client.ListOptions) error { return refused }}}
	s := ended()
	s.known.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing, LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour)),
	}}
	for _, at := range []time.Duration{0, time.Minute, refusedTimeout - time.Second} {
		if at == time.Minute {
			// Another suite is judged meanwhile.
			r.judging.Lock()
			d := decision{action: actJudge}
			if err := r.judge(t.Context(), s, &d); err != nil {
				t.Fatal(err)
			}
			r.judging.Unlock()
			s.known = summarize(s, d)
		}
		s.now = epoch.Add(at)
		d := decision{action: actJudge}
		if err := r.judge(t.Context(), s, &d); err != nil {
			t.Fatal(err)
		}
		before := s.known
		s.known = summarize(s, d)
		c := succeeded(&s.known)
		if d.after != retryInterval || s.known.Regression != nil || c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonNotJudged || !c.LastTransitionTime.Time.Equal(epoch) {
			t.Errorf("at %s: after %s, %+v", at, d.after, c)
		}
		if events := eventsBetween(&before, &s.known, d); (len(events) == 1) != (at == 0) {
			t.Errorf("at %s: %+v", at, events)
		}
	}
	s.now = epoch.Add(refusedTimeout)
	d := decision{action: actJudge}
	if err := r.judge(t.Context(), s, &d); err != nil {
		t.Fatal(err)
	}
	s.known = summarize(s, d)
	if c := succeeded(&s.known); c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonNotJudged || !strings.Contains(c.Message, "let the operator list them") {
		t.Errorf("%+v", c)
	}
}

// TestPagesOfMetadata checks that few objects are in memory at once, of which only the metadata is read, and that all of them count.
func TestPagesOfMetadata(t *testing.T) {
	pages := []string{"nightly-3", "nightly-12", "nightly-7"}
	read := 0
	r := &Reconciler{Reader: listing{list: func(into client.ObjectList, o client.ListOptions) error {
		if o.Limit < 1 || o.Limit > 50 {
			t.Errorf("a page of %d objects", o.Limit)
		}
		if want := []string{"", "1", "2"}[read]; o.Continue != want {
			t.Errorf("page %q, want %q", o.Continue, want)
		}
		list := into.(*metav1.PartialObjectMetadataList)
		list.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelSuiteRun: pages[read]}}}}
		if read++; read < len(pages) {
			list.Continue = fmt.Sprint(read)
		}
		return nil
	}}}
	if last, err := r.lastKept(t.Context(), newScope()); err != nil || last != 12 || read != len(pages) {
		t.Errorf("%d after %d pages, %v", last, read, err)
	}
}

// TestRefusedReadsAreSaid checks that a suite says what it may not read before it can make an execution or a confirmation.
func TestRefusedReadsAreSaid(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Group: "vnfbench.io", Resource: "benchmarkmeasurements"}, "", errors.New("no rule"))
	r := &Reconciler{Reader: listing{list: func(client.ObjectList, client.ListOptions) error { return refused }}}
	s := newScope(func(s *scope) { s.known = v1alpha1.BenchmarkSuiteStatus{} })
	d := decide(s)
	if err := r.perform(t.Context(), s, &d); err != nil || d.action != actExecute || d.after != retryInterval {
		t.Fatalf("%+v, %v", d, err)
	}
	status := summarize(s, d)
	if c := succeeded(&status); c.Reason != v1alpha1.ReasonWaiting || !strings.Contains(c.Message, "no rule") || status.Executions != 0 {
		t.Errorf("%+v", status)
	}
}

// TestProblemsTakeNoMemory checks that objects that cannot be read are counted, and that few of their texts are kept.
func TestProblemsTakeNoMemory(t *testing.T) {
	h := newHistory("nightly-1")
	m := &v1alpha1.BenchmarkMeasurement{}
	m.Spec.Execution = "nightly-1"
	for range 1000 {
		if err := h.add(m, nil, errors.New(strings.Repeat("x", 64<<10))); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*problems{&h.leftOut, &h.unread} {
		if text := p.String(); len(text) > 4<<10 || !strings.HasSuffix(text, "; and 997 more") {
			t.Errorf("%d bytes: %.20s", len(text), text)
		}
	}
}
