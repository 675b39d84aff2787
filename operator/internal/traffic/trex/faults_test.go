package trex

import (
	"context"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/connection"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// The driver repairs a fault within a trial once, or names it.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		fault  replay.Fault
		// dead servers answer no requests.
		restarts int
	}{
		"dies at the start":                {"start_traffic", replay.Die(), 1},
		"dies while it sends":              {"get_async_events", replay.Die(), 1},
		"cuts the connection":              {"get_global_stats", replay.Cut(), 0},
		"answers late, within the timeout": {"get_pgid_stats", replay.Late(300 * time.Millisecond), 0},
		"hangs":                            {"get_pgid_stats", replay.Hang(), 0},
		"cuts an answer":                   {"get_pgid_stats", replay.Truncated(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSimulator(t)
			d := openOn(t, sim.config())
			sentCalls := 0
			d.NotifySent(func() { sentCalls++ })
			sim.Inject(c.method, c.fault)
			o := run1(t, d, trialOf(64, 2000, 100*time.Millisecond))
			for _, direction := range o.Directions {
				if direction.SentFrames != 200 || direction.ReceivedFrames != 200 {
					t.Errorf("%+v", direction)
				}
			}
			if sentCalls != 1 {
				t.Errorf("NotifySent was called %d times, want once", sentCalls)
			}
			if sim.restarts != c.restarts {
				t.Errorf("the server was started again %d times, want %d", sim.restarts, c.restarts)
			}
		})
	}
}

func TestNonsenseHasAName(t *testing.T) {
	for name, fault := range map[string]replay.Fault{
		"bad JSON": replay.BadJSON(), "a wrong id": replay.WrongID(), "null": replay.Null(), "oversize": replay.Oversize(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSimulator(t)
			d := openOn(t, sim.config())
			sim.Inject("get_pgid_stats", fault)
			_, err := d.Measure(t.Context(), trialOf(64, 2000, 50*time.Millisecond))
			if err != nil {
				wantFailure(t, err, v1alpha1.ReasonTRexServerFailed)
			}
			// The fault does not affect the next trial.
			if o := run1(t, d, trialOf(64, 2000, 50*time.Millisecond)); o.Directions[0].ReceivedFrames != 100 {
				t.Errorf("%+v", o.Directions)
			}
		})
	}
}

func TestAServerThatCannotBeStartedAgain(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	d := openOn(t, sim.config())
	sim.with(func(s *simulator) { s.restartFails = errNoStart })
	sim.Inject("start_traffic", replay.Die())
	_, err := d.Measure(t.Context(), trialOf(64, 2000, 50*time.Millisecond))
	wantFailure(t, err, v1alpha1.ReasonTRexServerFailed, errNoStart.Error())
	_, err = d.Measure(t.Context(), trialOf(64, 2000, 50*time.Millisecond))
	wantFailure(t, err, v1alpha1.ReasonTRexServerFailed)
}

// A server that another client restarted has other counters: the driver repeats the trial
// on them.
func TestRestartedWithinATrial(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	d := openOn(t, sim.config())
	time.AfterFunc(50*time.Millisecond, func() { _ = sim.Restart(context.Background()) })
	o := run1(t, d, trialOf(64, 2000, 200*time.Millisecond))
	if o.Directions[0].ReceivedFrames != 400 || o.Directions[0].SentFrames != 400 {
		t.Errorf("%+v", o.Directions)
	}
}

func TestAnotherVersion(t *testing.T) {
	for name, c := range map[string]struct {
		api    rpc.API
		reason string
	}{
		"older":    {rpc.API{Name: "STL", Major: 4, Minor: 6}, v1alpha1.ReasonTRexVersion},
		"newer":    {rpc.API{Name: "STL", Major: 6, Minor: 0}, v1alpha1.ReasonTRexVersion},
		"stateful": {rpc.ASTF, v1alpha1.ReasonTRexServerFailed},
	} {
		t.Run(name, func(t *testing.T) {
			server := &simulator{Server: replay.New(t, replay.NewScript(t, c.api, 2))}
			config := server.config()
			_, err := Open(t.Context(), config)
			wantFailure(t, err, c.reason)
		})
	}
}

func TestStuckServer(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	d := openOn(t, sim.config(measure.Forward))
	sim.with(func(s *simulator) { s.stuck, s.restartFails = true, errNoStart })
	_, err := d.Measure(t.Context(), trialOf(64, 0, 50*time.Millisecond))
	wantFailure(t, err, v1alpha1.ReasonTRexServerFailed, connection.ErrStuck.Error())
	sim.with(func(s *simulator) { s.stuck = false })
}
