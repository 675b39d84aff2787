package suiterun

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/suite"
)

var epoch = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// newScope returns an execution of cells with numbers, as after Begin.
func newScope(t *testing.T, cells, repeats int) *scope {
	t.Helper()
	template := v1alpha1.SuiteTemplate{Repeats: int32(repeats), MaximumAttempts: 2}
	template.Experiment.Raw = []byte(`{"chain":[{"name":"fw","function":"Firewall"}]}`)
	var values []string
	for i := range cells / 5 {
		values = append(values, fmt.Sprint(i))
	}
	axes := fmt.Sprintf(`[{"name":"twenty-characters-ax","path":"chain[fw].firewall.rules","values":[%s]},{"name":"b","path":"startupSeconds","values":[5,6,7,8,9]}]`, strings.Join(values, ","))
	if err := json.Unmarshal([]byte(axes), &template.Matrix.Axes); err != nil {
		t.Fatal(err)
	}
	s := &scope{now: epoch, execution: &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "e", UID: "uid"}}}
	s.execution.Spec.Template = template
	var err error
	if s.suite, err = suite.Parse(&template); err != nil {
		t.Fatal(err)
	}
	if d := decide(s); d.action != actBegin {
		t.Fatalf("the first action is %s", d.action)
	}
	s.execution.Status = summarize(s, decision{action: actBegin})
	return s
}

// maxTableBytes is how large the status of an execution becomes. With a template of 256 KiB, as much again that the API server notes of its
// fields, and annotations of 256 KiB, it fits into an object, of which etcd takes 1.5 MiB, with 30,000 bytes left.
const maxTableBytes = 755_000

// TestLargestStatus checks that the largest table fits into an object, with everything that can be in it: the longest names and figures, and as many
// values as a template can have.
func TestLargestStatus(t *testing.T) {
	s := newScope(t, v1alpha1.MaxSuiteCells, v1alpha1.MaxSuiteMeasurements/v1alpha1.MaxSuiteCells)
	cells := s.execution.Status.Cells
	if len(cells) != v1alpha1.MaxSuiteCells {
		t.Fatalf("%d cells", len(cells))
	}
	// A status has at most 256 KiB of values, which Parse checks: 524 bytes for each cell.
	values := map[string]v1alpha1.AxisLabel{"a": v1alpha1.AxisLabel(strings.Repeat("v", 516))}
	for i := range cells {
		cells[i].Name, cells[i].Values = fmt.Sprintf("%040d", i), values
		cells[i].Figure, cells[i].FramesPerSecond, cells[i].P99Nanoseconds = strings.Repeat("f", 41), ptr.To[int64](14_880_952), ptr.To[int64](9_999_999_999)
		cells[i].EstimatedSeconds = 604_800
		for j := range cells[i].Measurements {
			cells[i].Measurements[j] = v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementSucceeded, Attempts: 5, Reason: v1alpha1.ReasonVirtualMachineNotStarted, Seconds: 604_800, FramesPerSecond: ptr.To[int64](14_880_952), P99Nanoseconds: ptr.To[int64](9_999_999_999),
				RateNote: v1alpha1.NoteDoubtful, P99Note: v1alpha1.NoteDoubtful}
		}
	}
	s.execution.Status.PlannedCells = v1alpha1.MaxSuiteCells
	s.suite.Cells = nil
	status := summarize(s, finish(v1alpha1.ReasonMaximumDurationExceeded, "%s", strings.Repeat("m", 900)))
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d bytes", len(text)); len(text) > maxTableBytes {
		t.Errorf("the status has %d bytes, and %d is the most that an object has room for", len(text), maxTableBytes)
	}
}

// TestPlaceFollowsFromTheStatus follows an execution to its end, each time with a scope that has nothing but the status,
// as an operator that has just started has.
func TestPlaceFollowsFromTheStatus(t *testing.T) {
	s := newScope(t, 5, 3)
	s.execution.Status.PlannedCells = 5
	var made []string
	for range 1000 {
		s = &scope{now: epoch, execution: s.execution, suite: s.suite}
		if s.findCurrent(); s.current != nil {
			s.run = &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: s.runName(), UID: types.UID(s.runName())}}
			s.run.OwnerReferences = []metav1.OwnerReference{{UID: s.execution.UID, Controller: ptr.To(true)}}
			s.run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: "Succeeded"}}
			made = append(made, s.runName())
		}
		d := decide(s)
		s.execution.Status = summarize(s, d)
		if Ended(s.execution) {
			break
		}
	}
	var want []string
	for _, m := range suite.Order(5, 3, v1alpha1.OrderRandom, s.execution.Status.Seed) {
		want = append(want, suite.RunName("e", s.suite.Cells[m.Cell].Name, m.Repeat+1, 1))
	}
	if fmt.Sprint(made) != fmt.Sprint(want) {
		t.Errorf("made %v, want %v", made, want)
	}
	if c := s.execution.Status.Counts; c.Succeeded != 15 || c.Total != 15 {
		t.Errorf("%+v", c)
	}
}

// TestContinuedExecutionChecksOneCell checks that an execution that has begun does not check all of its cells in each step, and that it makes no run of
// an experiment that no run can have.
func TestContinuedExecutionChecksOneCell(t *testing.T) {
	s := newScope(t, 5, 1)
	s.execution.Spec.Template.Matrix.Axes[0].Path = "chain[fw].firewall.unknown"
	c := clientOf(t)
	r := &Reconciler{Client: c, Reader: c, Clock: clocktesting.NewFakePassiveClock(epoch)}
	s.measurement(suite.Measurement{}).State = v1alpha1.MeasurementRunning
	continued, err := r.observe(t.Context(), s.execution)
	if err != nil || continued.problem != nil || !continued.sameCells() {
		t.Fatalf("%v, %v", err, continued.problem)
	}
	if d, err := r.launch(t.Context(), continued); err != nil || d.action != actRecord || d.failure == nil || d.failure.Reason != v1alpha1.ReasonAxisPathNotFound {
		t.Errorf("%+v, %v", d, err)
	}
	s.execution.Status.Cells = nil
	if begins, err := r.observe(t.Context(), s.execution); err != nil || measure.ReasonOf(begins.problem) != v1alpha1.ReasonAxisPathNotFound {
		t.Errorf("%v, %v", err, begins.problem)
	}
}

// TestConfirmationIsByTurns checks that an execution that confirms a change has the versions by turns, whatever its seed and its template say.
func TestConfirmationIsByTurns(t *testing.T) {
	s := newScope(t, 5, 4)
	s.execution.Spec.Confirmation = &v1alpha1.SuiteConfirmation{Run: "nightly-2-base-1", Cause: "Step", FirstPair: 3}
	for seed := range int64(20) {
		s.execution.Status.Seed = seed
		order := s.order()
		for pair := 1; pair < 4; pair++ {
			if order[5*pair].Cell == order[5*(pair-1)].Cell {
				t.Fatalf("seed %d: %+v", seed, order)
			}
		}
	}
}

// TestSeed checks that a seed follows from the UID, is one that JSON keeps, and that the template's own counts.
func TestSeed(t *testing.T) {
	e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{UID: "a"}}
	other := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{UID: "b"}}
	if seedOf(e) != seedOf(e) || seedOf(e) == seedOf(other) || seedOf(e) < 1 || seedOf(e) > 1<<53-1 {
		t.Errorf("seeds %d and %d", seedOf(e), seedOf(other))
	}
	e.Spec.Template.Seed = ptr.To[int64](7)
	if seedOf(e) != 7 {
		t.Errorf("seed %d, want 7", seedOf(e))
	}
}

// TestOtherVersion checks that an operator that names cells in another way ends the execution.
func TestOtherVersion(t *testing.T) {
	s := newScope(t, 5, 1)
	s.execution.Status.Cells[0].Name = "as-it-was"
	if d := decide(s); d.action != actFinish || d.outcome.Reason != v1alpha1.ReasonVersionMismatch {
		t.Errorf("%+v", d)
	}
}

// TestOutcomeMessage checks that a message names some failures, and counts the others.
func TestOutcomeMessage(t *testing.T) {
	s := newScope(t, 5, 1)
	cells := s.execution.Status.Cells
	for i := range cells {
		cells[i].Measurements[0] = v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementFailed, Reason: v1alpha1.ReasonNotAccepted}
	}
	s.execution.Status.PlannedCells = 5
	s.execution.Status = summarize(s, decide(s))
	message := s.execution.Status.Conditions[1].Message
	const want = "0 of 5 measurements succeeded, 5 failed, 0 were skipped: twenty-characters-ax-0-b-5 in repeat 1 (NotAccepted), twenty-characters-ax-0-b-6 in repeat 1 (NotAccepted), twenty-characters-ax-0-b-7 in repeat 1 (NotAccepted), and 2 more"
	if message != want {
		t.Errorf("%q, want %q", message, want)
	}
}
