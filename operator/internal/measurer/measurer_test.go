package measurer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/trialstore"
)

func TestWholeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		var lines bytes.Buffer
		m := l.measurer("a")
		m.Log = slog.New(slog.NewJSONHandler(&lines, nil))
		go func() {
			time.Sleep(20*time.Second + time.Millisecond)
			var p measure.Progress
			if err := json.Unmarshal([]byte(l.server.Data()[measure.KeyProgress]), &p); err != nil || !p.Calibrated || p.Trials != 4 {
				t.Errorf("while the chain starts: %+v, %v", p, err)
			}
			l.chainReady()
		}()
		if err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"cal0", "west"}, l.opened); diff != "" || l.closed != 2 {
			t.Error(diff, l.closed)
		}
		store, figures := l.stored(t)
		if !store.Finished() || store.Failure() != nil {
			t.Error("not done")
		}
		if g := store.Generator(); g.Chain == nil || g.Calibration == nil {
			t.Errorf("%+v", g)
		}
		if p := store.Progress(); p.Percent != 100 || p.RemainingSeconds != 0 || p.Trials != len(store.Records()) {
			t.Errorf("%+v", p)
		}
		if len(figures.Frames) != 2 || figures.Summary.Goal != "NDR" || figures.Summary.Load != "pdr90" {
			t.Errorf("%+v", figures)
		}
		rate := figures.Frames[0].Throughput[0].FramesPerSecond
		if rate < 392_000 || rate > 404_000 {
			t.Errorf("NDR %d, the device's is 400000", rate)
		}
		if got := strings.Count(lines.String(), `"msg":"trial"`); got != len(store.Records()) {
			t.Errorf("%d lines for %d trials", got, len(store.Records()))
		}
	})
}

// TestRestartAnywhere kills the measurer in every trial and continues with another. The
// results are those of an undisturbed measurement.
func TestRestartAnywhere(t *testing.T) {
	undisturbed := newLab()
	undisturbed.chainReady()
	if err := undisturbed.measurer("a").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, want := undisturbed.stored(t)
	longest := longestUnit(before.Records())
	for k := range undisturbed.trials {
		t.Run(fmt.Sprintf("before trial %d", k), func(t *testing.T) {
			l := newLab()
			l.chainReady()
			killed := errors.New("killed")
			l.before = func(trial int, _ *measure.Outcome) error {
				if trial == k {
					return killed
				}
				return nil
			}
			if err := l.measurer("a").Run(t.Context()); !errors.Is(err, killed) || ExitCode(err) != ExitAgain {
				t.Fatalf("got %v", err)
			}
			if err := l.measurer("b").Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			store, got := l.stored(t)
			if made, most := l.trials, undisturbed.trials+1+longest; made <= undisturbed.trials || made > most {
				t.Errorf("%d trials, want more than %d and at most %d", made, undisturbed.trials, most)
			}
			if diff := cmp.Diff(want, got, anySessions); diff != "" || !store.Finished() || store.Holder().Restarts != 2 {
				t.Errorf("%+v: %s", store.Holder(), diff)
			}
		})
	}
}

// anySessions compares figures without the sessions in which they were measured.
var anySessions = cmp.Options{
	cmpopts.IgnoreFields(procedure.Figures{}, "Sessions"),
	cmpopts.IgnoreSliceElements(func(w v1alpha1.Warning) bool { return w.Code == v1alpha1.WarningSeveralSessions }),
}

// longestUnit returns the trials of the longest repeat of a size.
func longestUnit(records []measure.Record) int {
	longest, trials := 0, map[string]int{}
	for _, r := range records {
		if r.Stage != measure.StageCalibrateRate && r.Stage != measure.StageCalibrateLatency {
			unit := fmt.Sprint(r.Trial.Size, r.Repeat)
			trials[unit]++
			longest = max(longest, trials[unit])
		}
	}
	return longest
}

// TestRestartAgainAndAgain stops each measurer as soon as it has made as many trials as the longest repeat of a size has. What was
// under way is made again, so that every measurer ends something.
func TestRestartAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		undisturbed, l := newLab(), newLab()
		undisturbed.chainReady()
		l.chainReady()
		if err := undisturbed.measurer("a").Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		before, want := undisturbed.stored(t)
		longest, percent, pods := longestUnit(before.Records()), 0, 0
		for err := errors.New("none yet"); err != nil; pods++ {
			ctx, cancel := context.WithCancelCause(t.Context())
			made := 0
			l.before = func(int, *measure.Outcome) error {
				if made++; made == longest {
					cancel(ErrStopped)
				}
				return nil
			}
			err = l.measurer(fmt.Sprint("pod-", pods)).Run(ctx)
			if err != nil && ExitCode(err) != ExitStopped || pods > 4 {
				t.Fatalf("pod %d: got %v", pods, err)
			}
			var p measure.Progress
			if err := json.Unmarshal([]byte(l.server.Data()[measure.KeyProgress]), &p); err != nil || p.Percent < percent {
				t.Fatalf("after %d%%: %+v, %v", percent, p, err)
			}
			percent = p.Percent
		}
		store, got := l.stored(t)
		if diff := cmp.Diff(want, got, anySessions); diff != "" || !store.Finished() || store.Failure() != nil || len(got.Sessions) < 3 {
			t.Errorf("%d pods, %+v: %s", pods, got.Sessions, diff)
		}
	})
}

func TestFailures(t *testing.T) {
	refuse := func(port, reason string, times int) func(measure.Path) error {
		return func(path measure.Path) error {
			if path.Ports[0].Interface != port || times == 0 {
				return nil
			}
			times--
			return errors.Join(&measure.Failure{Reason: reason, Err: errors.New("it does not open"), Remedy: "see to it"})
		}
	}
	invalid := func(_ int, o *measure.Outcome) error {
		o.Doubts = []measure.Doubt{{Code: measure.DoubtStretched, Detail: "it took 9 s", Invalid: true}}
		return nil
	}
	for name, test := range map[string]struct {
		open     func(measure.Path) error
		before   func(int, *measure.Outcome) error
		notReady bool
		reason   string
		atMost   time.Duration
	}{
		"cannot load":             {open: refuse("cal0", v1alpha1.ReasonCannotLoadBPF, -1), reason: v1alpha1.ReasonCannotLoadBPF},
		"no port":                 {open: refuse("west", v1alpha1.ReasonPortMissing, -1), reason: v1alpha1.ReasonPortMissing},
		"no path, then there is":  {open: refuse("west", v1alpha1.ReasonNoPathThroughChain, 20), atMost: 21 * time.Second},
		"link comes up late":      {open: refuse("cal0", v1alpha1.ReasonPortDown, 5), atMost: 6 * time.Second},
		"no path":                 {open: refuse("west", v1alpha1.ReasonNoPathThroughChain, -1), reason: v1alpha1.ReasonNoPathThroughChain, atMost: 30 * time.Second},
		"no path without a chain": {open: refuse("cal0", v1alpha1.ReasonNoPathThroughChain, -1), reason: v1alpha1.ReasonGeneratorUnreliable, atMost: 30 * time.Second},
		"chain never ready":       {notReady: true, reason: v1alpha1.ReasonChainNotReady, atMost: 16*time.Minute + time.Second},
		"invalid trials":          {before: invalid, reason: v1alpha1.ReasonGeneratorUnreliable},
		"device stops": {before: func(trial int, o *measure.Outcome) error {
			for i := range o.Directions {
				if trial > 6 {
					o.Directions[i].ReceivedFrames = 0
				}
			}
			return nil
		}, reason: v1alpha1.ReasonChainFailed},
		"driver fails": {before: func(trial int, _ *measure.Outcome) error {
			if trial == 6 {
				return &measure.Failure{Reason: v1alpha1.ReasonFrameTooLarge, Err: errors.New("1518 bytes")}
			}
			return nil
		}, reason: v1alpha1.ReasonFrameTooLarge},
		"link is lost in a trial": {before: func(trial int, _ *measure.Outcome) error {
			if trial == 6 {
				return &measure.Failure{Reason: v1alpha1.ReasonPortDown, Err: errors.New("no carrier")}
			}
			return nil
		}, reason: v1alpha1.ReasonPortDown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.open, l.before = test.open, test.before
				if !test.notReady {
					l.chainReady()
				}
				start := time.Now()
				err := l.measurer("a").Run(t.Context())
				if measure.ReasonOf(err) != test.reason || (err == nil) != (test.reason == "") {
					t.Fatalf("got %v", err)
				}
				if took := time.Since(start); took > test.atMost {
					t.Errorf("took %v", took)
				}
				if l.closed != len(l.opened) {
					t.Errorf("%d drivers opened, %d closed", len(l.opened), l.closed)
				}
				store, _ := l.stored(t)
				if test.reason == "" {
					return
				}
				if got := store.Failure(); got == nil || got.Reason != test.reason || strings.HasPrefix(got.Message, test.reason) || strings.Contains(got.Message, "\n") {
					t.Errorf("stored %+v", got)
				}
				if again := l.measurer("b").Run(t.Context()); ExitCode(again) != ExitFailure || measure.ReasonOf(again) != test.reason {
					t.Errorf("the next measurer: %v", again)
				}
			})
		})
	}
}

// TestDeviceStopsAnywhere checks that a device that stops is not taken for a slow one, whenever it stops.
func TestDeviceStopsAnywhere(t *testing.T) {
	whole := newLab()
	whole.chainReady()
	if err := whole.measurer("a").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	const calibration = 4
	for k := calibration; k < whole.trials; k++ {
		l := newLab()
		l.chainReady()
		l.before = func(trial int, o *measure.Outcome) error {
			for i := range o.Directions {
				if trial >= k {
					o.Directions[i].ReceivedFrames = 0
				}
			}
			return nil
		}
		if err := l.measurer("a").Run(t.Context()); measure.ReasonOf(err) != v1alpha1.ReasonChainFailed {
			t.Errorf("stopped at trial %d: %v", k, err)
		}
	}
}

func TestTwoMeasurers(t *testing.T) {
	l := newLab()
	l.chainReady()
	l.before = func(trial int, _ *measure.Outcome) error {
		if trial == 7 {
			l.before = nil
			return l.measurer("b").Run(t.Context())
		}
		return nil
	}
	err := l.measurer("a").Run(t.Context())
	if !errors.Is(err, trialstore.ErrSuperseded) || ExitCode(err) != ExitAgain {
		t.Errorf("got %v", err)
	}
	store, _ := l.stored(t)
	if !store.Finished() || store.Failure() != nil {
		t.Error("the second measurer's results were touched")
	}
}

// TestGeneratorsLog checks that the last lines of a generator are kept with the failure, and with the last trial.
func TestGeneratorsLog(t *testing.T) {
	for name, failure := range map[string]error{"done": nil, "failed": &measure.Failure{Reason: "TRexServerFailed", Err: errors.New("dead")}} {
		t.Run(name, func(t *testing.T) {
			l := newLab()
			l.chainReady()
			for i := range measure.GeneratorLogLines + 5 {
				l.log = append(l.log, fmt.Sprint(i))
			}
			l.log = append(l.log, strings.Repeat("é", measure.GeneratorLogBytes))
			l.before = func(trial int, _ *measure.Outcome) error {
				if trial == 7 {
					return failure
				}
				return nil
			}
			if err := l.measurer("one").Run(t.Context()); (err == nil) != (failure == nil) {
				t.Fatal(err)
			}
			store, _ := l.stored(t)
			got := store.Generator().Log
			if len(got) != measure.GeneratorLogLines || got[0] != "6" || !utf8.ValidString(got[len(got)-1]) || len(got[len(got)-1]) > measure.GeneratorLogBytes {
				t.Errorf("kept are %q", got)
			}
		})
	}
}

func TestFinishedAlready(t *testing.T) {
	l := newLab()
	l.chainReady()
	for _, pod := range []string{"a", "b"} {
		if err := l.measurer(pod).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.opened) != 2 {
		t.Errorf("opened %v", l.opened)
	}
}

func TestWithoutCalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		m := l.measurer("a")
		m.Instructions.Calibration = nil
		go func() {
			time.Sleep(5 * time.Second)
			if !strings.Contains(l.server.Data()[measure.KeyProgress], `"calibrated":true`) {
				t.Error("the chain is not asked for")
			}
			l.chainReady()
		}()
		if err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"west"}, l.opened); diff != "" {
			t.Error(diff)
		}
	})
}

func TestForeignPlan(t *testing.T) {
	l := newLab()
	l.server.Edit(func(c *corev1.ConfigMap) { c.Data[measure.KeyDigest] = "sha256:other" })
	err := l.measurer("a").Run(t.Context())
	if ExitCode(err) != ExitFailure || measure.ReasonOf(err) != v1alpha1.ReasonResultsLost {
		t.Errorf("got %v", err)
	}
}

func TestExitCodes(t *testing.T) {
	failure := &measure.Failure{Reason: "X", Err: errors.New("x")}
	for want, errs := range map[int][]error{
		ExitDone:    {nil},
		ExitAgain:   {errors.New("x"), trialstore.ErrSuperseded, procedure.ErrInstructions, context.DeadlineExceeded},
		ExitFailure: {failure, fmt.Errorf("y: %w", failure), errors.Join(failure, context.Canceled)},
		ExitStopped: {ErrStopped, fmt.Errorf("y: %w", context.Canceled)},
	} {
		for _, err := range errs {
			if got := ExitCode(err); got != want {
				t.Errorf("%v: got %d, want %d", err, got, want)
			}
		}
	}
}

func TestTerminationMessage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	long := &measure.Failure{Reason: "ChainFailed", Err: errors.New(strings.Repeat("ä\"", 3000)), Remedy: "look"}
	if err := WriteTermination(path, fmt.Errorf("measuring: %w", long)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	var state measure.FailureState
	if err != nil || len(text) > 4096 || json.Unmarshal(text, &state) != nil || state.Reason != "ChainFailed" {
		t.Errorf("%d bytes, %v, %+v", len(text), err, state)
	}
}
