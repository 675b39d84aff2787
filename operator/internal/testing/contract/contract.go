// Package contract is the suite that every traffic driver passes. A way to open a driver and its
// capabilities go in; a failed test for each promise of measure.Driver that it breaks comes out.
//
// The suite has parts. Some apply to every driver, the others to those with a capability. If a
// driver lacks the capability, its part logs that and is skipped, and another part wants the driver
// to refuse such trials with a reason: no part passes without a measurement.
package contract

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// Capabilities are the kinds of trials that a driver supports. At least one is not nil.
type Capabilities struct {
	// Frames is nil for a driver that does not send frames itself.
	Frames *Frames
	// TCP is nil for a driver without bulk transfers by TCP.
	TCP *TCP
	// Connections is nil for a driver without many connections with an exchange in each.
	Connections *Connections
	// Parallel says that several drivers may be open at once, so that parts need not wait for each
	// other.
	Parallel bool
}

// part is a promise, by the words that name it.
type part struct {
	name string
	test func(suite, *testing.T)
}

// capability is a kind of trials with the parts that apply to it.
type capability struct {
	name  string
	has   bool
	parts []part
	// trial is one of the kind, which a driver without the capability refuses.
	trial measure.Trial
}

var commonParts = []part{
	{"describes itself", suite.describes},
	{"refuses trials of other kinds", suite.refusesOthers},
	{"refuses what cannot be a trial", suite.invalid},
	{"ends on a canceled context", suite.canceled},
	{"closes twice", suite.closes},
	{"reports when all is sent", suite.notifies},
}

// Run checks that a driver keeps its contract. open is called once for each part, on a path that
// loses nothing, and must fail the test if it cannot open one; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) measure.Driver, capabilities Capabilities) {
	t.Helper()
	s := suite{open: open, Capabilities: capabilities.withDefaults()}
	for _, p := range commonParts {
		s.run(t, p)
	}
	var applying, others []string
	for _, c := range s.capabilities() {
		if c.has {
			applying = append(applying, c.name)
		} else {
			others = append(others, c.name)
		}
		t.Run(c.name, func(t *testing.T) {
			if !c.has {
				t.Skipf("%d parts do not apply: the driver makes no trials of %s, and refuses them", len(c.parts), c.name)
			}
			for _, p := range c.parts {
				s.run(t, p)
			}
		})
	}
	if len(applying) == 0 {
		t.Error("the driver is capable of nothing")
	}
	t.Logf("parts that apply: all that every driver has, and those of %s", strings.Join(applying, ", "))
	if len(others) > 0 {
		t.Logf("parts that do not apply: those of %s, which the driver refuses", strings.Join(others, ", "))
	}
}

type suite struct {
	Capabilities
	open func(t *testing.T) measure.Driver
}

func (s suite) run(t *testing.T, p part) {
	t.Helper()
	t.Run(p.name, func(t *testing.T) {
		if s.Parallel {
			t.Parallel()
		}
		p.test(s, t)
	})
}

func (c Capabilities) withDefaults() Capabilities {
	if c.Frames != nil {
		frames := *c.Frames
		if frames.FrameBytes == 0 {
			frames.FrameBytes = 128
		}
		if frames.FramesPerSecond == 0 {
			frames.FramesPerSecond = 1000
		}
		c.Frames = &frames
	}
	return c
}

func (s suite) capabilities() []capability {
	asked := suite{Capabilities: Capabilities{Frames: &Frames{}, TCP: &TCP{}, Connections: &Connections{}}.withDefaults()}
	return []capability{
		{"frames", s.Frames != nil, frameParts, asked.frames(time.Second)},
		{"TCP", s.TCP != nil, tcpParts, asked.transfer(measure.Forward)},
		{"connections", s.Connections != nil, connectionParts, asked.exchanges(0)},
	}
}

// trial returns a short one of a kind that the driver has.
func (s suite) trial(duration time.Duration) measure.Trial {
	var trial measure.Trial
	switch {
	case s.Frames != nil:
		return s.frames(duration)
	case s.TCP != nil:
		trial = s.transfer(measure.Forward)
	default:
		trial = s.exchanges(0)
	}
	// Trials of connections count whole seconds.
	trial.DurationNanoseconds = max(int64(duration), trial.DurationNanoseconds)
	return trial
}

func (s suite) driver(t *testing.T) measure.Driver {
	t.Helper()
	d := s.open(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

func (s suite) measure(t *testing.T, d measure.Driver, trial measure.Trial) measure.Outcome {
	t.Helper()
	outcome, err := d.Measure(t.Context(), trial)
	if err != nil {
		t.Fatalf("Measure(%+v): %v", trial, err)
	}
	s.check(t, trial, outcome)
	return outcome
}

func (s suite) describes(t *testing.T) {
	if got := s.driver(t).Description().Driver; got == "" {
		t.Error("the description names no driver")
	}
}

// notifies checks drivers that can notify: when they do, sending is over and the trial is not.
func (s suite) notifies(t *testing.T) {
	d := s.driver(t)
	notifier, ok := d.(measure.Notifier)
	if !ok {
		t.Skip("does not apply: the driver is not a measure.Notifier")
	}
	calls := 0
	notifier.NotifySent(func() { calls++ })
	for want := 1; want <= 2; want++ {
		s.measure(t, d, s.trial(100*time.Millisecond))
		if calls != want {
			t.Errorf("%d calls in %d trials", calls, want)
		}
	}
	notifier.NotifySent(nil)
	s.measure(t, d, s.trial(100*time.Millisecond))
	if calls != 2 {
		t.Errorf("%d calls after the end of notifications", calls-2)
	}
}

// refusesOthers wants a reason for trials of the kinds that the driver does not support, and then a
// trial that it does support.
func (s suite) refusesOthers(t *testing.T) {
	d := s.driver(t)
	for _, c := range s.capabilities() {
		if c.has {
			continue
		}
		if _, err := d.Measure(t.Context(), c.trial); measure.ReasonOf(err) == "" {
			t.Errorf("a trial of %s: got %v, want a reason", c.name, err)
		}
	}
	s.measure(t, d, s.trial(50*time.Millisecond))
}

// invalid checks that trials that are invalid for every kind are refused.
func (s suite) invalid(t *testing.T) {
	d := s.driver(t)
	for name, spoil := range map[string]func(*measure.Trial){
		"no duration":         func(trial *measure.Trial) { trial.DurationNanoseconds = 0 },
		"a negative duration": func(trial *measure.Trial) { trial.DurationNanoseconds = -1 },
		"negative settling":   func(trial *measure.Trial) { trial.SettleNanoseconds = -1 },
	} {
		trial := s.trial(50 * time.Millisecond)
		spoil(&trial)
		s.refuses(t, d, name, trial)
	}
}

func (s suite) refuses(t *testing.T, d measure.Driver, name string, trial measure.Trial) {
	t.Helper()
	if _, err := d.Measure(t.Context(), trial); err == nil {
		t.Errorf("%s: Measure(%+v) found nothing wrong", name, trial)
	} else if measure.ReasonOf(err) == "" {
		t.Errorf("%s: %v has no reason", name, err)
	}
}

func (s suite) canceled(t *testing.T) {
	d := s.driver(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Measure(ctx, s.trial(time.Second)); !errors.Is(err, context.Canceled) {
		t.Errorf("Measure with a canceled context: %v, want %v", err, context.Canceled)
	}

	const after, soon = 100 * time.Millisecond, 10 * time.Second // much less than the trial's minute
	ctx, cancel = context.WithTimeout(t.Context(), after)
	defer cancel()
	began := time.Now()
	_, err := d.Measure(ctx, s.trial(time.Minute))
	// A driver in simulated time may finish before.
	if took := time.Since(began); took >= after && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Measure: %v, want %v", err, context.DeadlineExceeded)
	} else if took > after+soon {
		t.Errorf("Measure ended %v after its context", took-after)
	}
	s.measure(t, d, s.trial(50*time.Millisecond))
}

func (s suite) closes(t *testing.T) {
	d := s.open(t)
	for range 2 {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := d.Measure(t.Context(), s.trial(50*time.Millisecond)); !errors.Is(err, measure.ErrClosed) {
		t.Errorf("a closed driver measured, or said %v", err)
	}
}

// check checks what is true of every outcome.
func (s suite) check(t *testing.T, trial measure.Trial, o measure.Outcome) {
	t.Helper()
	if o.StartedAt.IsZero() {
		t.Error("the outcome has no start")
	}
	if sent := o.SendingNanoseconds + o.StartUncertaintyNanoseconds; o.StartUncertaintyNanoseconds < 0 || sent > o.TotalNanoseconds {
		t.Errorf("the last frame left up to %v after the start, in a trial of %v", time.Duration(sent), time.Duration(o.TotalNanoseconds))
	}
	if o.SendingNanoseconds < trial.DurationNanoseconds {
		t.Errorf("sent for %v of %v", time.Duration(o.SendingNanoseconds), trial.Duration())
	}
	if o.TotalNanoseconds < o.SendingNanoseconds {
		t.Errorf("the whole trial took %v, less than the sending's %v", time.Duration(o.TotalNanoseconds), time.Duration(o.SendingNanoseconds))
	}
	known := []string{
		measure.DoubtReceiveDrops, measure.DoubtTransmitDrops, measure.DoubtUnsent,
		measure.DoubtMissedDeadlines, measure.DoubtSteal, measure.DoubtStretched,
		measure.DoubtPreempted, measure.DoubtSoftirq, measure.DoubtStarved, measure.DoubtKernelQueue, measure.DoubtRefragmented, measure.DoubtFragmentsUnknown,
		measure.DoubtOverflow, measure.DoubtTransmitUnproven, measure.DoubtLateArrivals, measure.DoubtStillArriving, measure.DoubtUnaccounted,
	}
	for _, doubt := range o.Doubts {
		if !slices.Contains(known, doubt.Code) || doubt.Detail == "" {
			t.Errorf("doubt %+v has an unknown code or no detail", doubt)
		}
	}
	switch {
	case trial.TCP != nil:
		s.checkTCP(t, trial, o)
	case trial.Connections != nil:
		s.checkConnections(t, trial, o)
	default:
		s.checkFrames(t, trial, o)
	}
}
