package trex

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/contract"
)

func TestContract(t *testing.T) {
	for name, c := range map[string]struct {
		directions []measure.Direction
		rate       uint64
	}{
		"both directions, all timed":    {[]measure.Direction{measure.Forward, measure.Reverse}, 1000},
		"both directions, a part timed": {[]measure.Direction{measure.Forward, measure.Reverse}, 20_000},
		"one direction":                 {[]measure.Direction{measure.Reverse}, 3000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it sleeps most of the time
			contract.Run(t, func(t *testing.T) measure.Driver {
				d, err := Open(t.Context(), newSimulator(t).config(c.directions...))
				if err != nil {
					t.Fatal(err)
				}
				return d
			}, contract.Capabilities{Frames: &contract.Frames{
				Directions: c.directions, FramesPerSecond: c.rate, TimedFramesPerSecond: defaultLatencyFramesPerSecond,
			}})
		})
	}
}

func trialOf(bytes int, rate uint64, duration time.Duration) measure.Trial {
	return measure.Trial{
		FrameBytes: bytes, IntendedFramesPerSecond: rate,
		DurationNanoseconds: int64(duration), SettleNanoseconds: int64(10 * time.Millisecond),
	}
}

func run1(t *testing.T, d *Driver, trial measure.Trial) measure.Outcome {
	t.Helper()
	o, err := d.Measure(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func doubtOf(o measure.Outcome, code string) *measure.Doubt {
	for i := range o.Doubts {
		if o.Doubts[i].Code == code {
			return &o.Doubts[i]
		}
	}
	return nil
}

// The outcome has the server's figures, and no others.
func TestOutcome(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	sim.with(func(s *simulator) { s.loseEvery = 10 })
	d := openOn(t, sim.config())
	trial := trialOf(128, 20_000, 200*time.Millisecond)
	trial.TaggedFrameNanoseconds = int64(100 * time.Millisecond)
	o := run1(t, d, trial)
	for _, direction := range o.Directions {
		if direction.IntendedFrames != 4000 || direction.SentFrames != 4000 {
			t.Errorf("%s: sent %d of %d", direction.Direction, direction.SentFrames, direction.IntendedFrames)
		}
		// Of 3,798 counted and 200 timed frames, 379 and 20 are lost; of the two single
		// ones none.
		if direction.LostFrames() != 399 {
			t.Errorf("%s: lost %d of %d", direction.Direction, direction.LostFrames(), direction.SentFrames)
		}
		l := direction.Latency
		if l.Samples != 182 || l.MinNanoseconds != 20_000 || l.MaxNanoseconds != 29_000 || l.P50Nanoseconds != 24_000 || l.P99Nanoseconds != 29_000 {
			t.Errorf("%s: %+v", direction.Direction, l)
		}
		// Of 202 frames that are timed, 182 arrive: the lost ones are beyond p90.
		if s := direction.LatencyOfSent; s == nil || *s != (measure.SentDelays{}) {
			t.Errorf("%s: delays of sent frames %+v", direction.Direction, s)
		}
		if s := direction.SequencedFrames; s == nil || *s != 182 {
			t.Errorf("%s: the order of %d frames is known", direction.Direction, s)
		}
		if direction.Jitter != nil || direction.FirstFrameNanoseconds != 20_000 {
			t.Errorf("%s: jitter %+v, first %d", direction.Direction, direction.Jitter, direction.FirstFrameNanoseconds)
		}
		if direction.TaggedFrame == nil || direction.TaggedFrame.DelayNanoseconds != 20_000 {
			t.Errorf("%s: tagged %+v", direction.Direction, direction.TaggedFrame)
		}
	}
	if !o.Valid() {
		t.Errorf("an invalid trial: %+v", o.Doubts)
	}
}

func TestReorderedAndDuplicates(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	sim.with(func(s *simulator) { s.duplicates, s.outOfOrder = 3, 5 })
	d := openOn(t, sim.config(measure.Forward))
	o := run1(t, d, trialOf(128, 1000, 100*time.Millisecond))
	// All frames are timed. Three of the timed frames, and one of the first frame, of which there is only one.
	if got := o.Directions[0]; got.DuplicateFrames != 4 || got.ReorderedFrames != 10 || got.ReceivedFrames != 100 || got.LostFrames() != 0 || got.Latency.Samples > got.ReceivedFrames {
		t.Errorf("%+v", got)
	}
}

// Each anomaly is a doubt; those that make the device look bad forbid the trial.
func TestDoubts(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(s *simulator)
		trial   measure.Trial
		code    string
		invalid bool
		words   string
	}{
		"drops at the receiving port": {
			change: func(s *simulator) {
				s.loseEvery = 10
				s.extra = func(s *simulator) { s.inErrors[1] += 7 }
			}, code: measure.DoubtReceiveDrops, invalid: true, words: "east dropped 7",
		},
		"drops without loss": {
			change: func(s *simulator) { s.extra = func(s *simulator) { s.inErrors[1] += 7 } },
			code:   measure.DoubtReceiveDrops,
		},
		"refused by the port": {
			change: func(s *simulator) {
				s.loseEvery = 10
				s.extra = func(s *simulator) { s.outErrors[0] += 5 }
			}, code: measure.DoubtTransmitDrops, words: "refused 5",
		},
		"a full queue": {
			change: func(s *simulator) { s.extra = func(s *simulator) { s.queueFull += 9 } },
			code:   measure.DoubtMissedDeadlines, words: "9 times",
		},
		"no time left": {
			change: func(s *simulator) { s.cpu = 100 },
			code:   measure.DoubtMissedDeadlines, words: "100 %",
		},
		"stretched a little": {
			change: func(s *simulator) { s.stretch = 1.1 },
			trial:  trialOf(128, 20_000, 200*time.Millisecond),
			code:   measure.DoubtStretched, words: "instead of 200ms",
		},
		"stretched beyond its end": {
			change: func(s *simulator) { s.stretch = 4 },
			trial:  trialOf(128, 20_000, 200*time.Millisecond),
			code:   measure.DoubtUnsent, words: "were not sent",
		},
		"frames that still arrive": {
			change: func(s *simulator) { s.trickle = true },
			code:   measure.DoubtStillArriving, words: "may only be late",
		},
		"a changed identification": {
			change: func(s *simulator) { s.unmarked = true },
			code:   measure.DoubtReceiveDrops, invalid: true, words: "IPv4 identification",
		},
		"strays": {
			change: func(s *simulator) {
				s.loseEvery = 10
				s.extra = func(s *simulator) { s.strays += 2 }
			}, code: measure.DoubtReceiveDrops, invalid: true, words: "earlier trial",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSimulator(t)
			d := openOn(t, sim.config(measure.Forward))
			sim.with(c.change)
			if c.trial.FrameBytes == 0 {
				c.trial = trialOf(128, 20_000, 100*time.Millisecond)
			}
			o := run1(t, d, c.trial)
			found := doubtOf(o, c.code)
			if found == nil || found.Invalid != c.invalid || !strings.Contains(found.Detail, c.words) {
				t.Errorf("got %+v, want %s (invalid: %v) with %q", o.Doubts, c.code, c.invalid, c.words)
			}
			if o.Valid() == c.invalid {
				t.Errorf("valid: %v", o.Valid())
			}
		})
	}
}

// The last frame left between the planned end and the time at which the ports were seen to have ended.
func TestStartIsUncertain(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	sim.with(func(s *simulator) { s.stretch = 1.04 })
	d := openOn(t, sim.config(measure.Forward))
	o := run1(t, d, trialOf(128, 20_000, 200*time.Millisecond))
	sending, unsure := time.Duration(o.SendingNanoseconds), time.Duration(o.StartUncertaintyNanoseconds)
	if unsure <= 0 || sending+unsure < 208*time.Millisecond {
		t.Errorf("a trial that took 208 ms sent for %v, with an uncertainty of %v", sending, unsure)
	}
}

// Refused frames do not count as sent, and what arrived was sent in any case.
func TestRefusedFramesAreNotSent(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	d := openOn(t, sim.config(measure.Forward))
	sim.with(func(s *simulator) {
		s.loseEvery = 10
		s.extra = func(s *simulator) { s.outErrors[0] += 50 }
	})
	o := run1(t, d, trialOf(128, 20_000, 100*time.Millisecond))
	if got := o.Directions[0]; got.SentFrames != 1950 || got.LostFrames() != 149 {
		t.Errorf("%+v", got)
	}
}

// A small share of the load does not affect the probes, but applies to the trial.
func TestShareOfAPath(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	c := sim.config()
	c.Path.Streams[1].LoadPercent = 1
	o := run1(t, openOn(t, c), trialOf(128, 20_000, 100*time.Millisecond))
	if f, r := o.Directions[0], o.Directions[1]; f.ReceivedFrames != 2000 || f.LoadPercent != 0 || r.ReceivedFrames != 20 || r.LoadPercent != 1 {
		t.Errorf("%+v", o.Directions)
	}
}

// The driver stops a trial that cannot be sent in time, and does not wait for it.
func TestOverloadEnds(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	d := openOn(t, sim.config())
	sim.with(func(s *simulator) { s.stretch = 200 })
	began := time.Now()
	o := run1(t, d, trialOf(128, 50_000, 300*time.Millisecond))
	// The complete trial would take a minute.
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, direction := range o.Directions {
		if direction.UnsentFrames() == 0 || direction.LostFrames() != 0 {
			t.Errorf("%+v", direction)
		}
	}
	if o.SendingNanoseconds <= int64(300*time.Millisecond) {
		t.Errorf("rates are formed over %v", time.Duration(o.SendingNanoseconds))
	}
}

func TestPortsByTheirAddresses(t *testing.T) {
	t.Run("swapped", func(t *testing.T) {
		sim := newSimulator(t)
		sim.macs[0], sim.macs[1] = sim.macs[1], sim.macs[0]
		d := openOn(t, sim.config())
		if d.ports != [2]int{1, 0} {
			t.Errorf("ports %v", d.ports)
		}
		if o := run1(t, d, trialOf(64, 2000, 100*time.Millisecond)); o.Directions[0].ReceivedFrames != 200 || o.Directions[1].ReceivedFrames != 200 {
			t.Errorf("%+v", o.Directions)
		}
	})
	t.Run("one that only receives", func(t *testing.T) {
		sim := newSimulator(t)
		sim.macs[0] = "02:00:00:00:00:99"
		if d := openOn(t, sim.config(measure.Reverse)); d.ports != [2]int{0, 1} {
			t.Errorf("ports %v", d.ports)
		}
	})
	t.Run("another", func(t *testing.T) {
		sim := newSimulator(t)
		sim.macs[1] = "02:00:00:00:00:99"
		_, err := Open(t.Context(), sim.config())
		wantFailure(t, err, v1alpha1.ReasonPortMissing, `"east"`, "02:00:00:00:00:02", "02:00:00:00:00:99")
	})
	t.Run("whole NICs with other addresses", func(t *testing.T) {
		sim := newSimulator(t)
		sim.macs = [2]string{"02:00:00:00:00:98", "02:00:00:00:00:99"}
		sim.addresses = [2]string{"0000:08:00.0", "0000:07:00.0"}
		c := sim.config(measure.Forward)
		c.Addresses = [2]string{"0000:07:00.0", "0000:08:00.0"}
		c.WholeNICs, c.Software = true, true
		d := openOn(t, c)
		if d.ports != [2]int{1, 0} {
			t.Errorf("ports %v", d.ports)
		}
		if got := d.Description().ReceiveMode; got != softwareReceive {
			t.Errorf("the receive mode of NICs whose server counts by software is %q", got)
		}
	})
	t.Run("a virtual function with another address", func(t *testing.T) {
		sim := newSimulator(t)
		sim.macs[1] = "02:00:00:00:00:99"
		sim.addresses = [2]string{"0000:07:10.0", "0000:08:10.0"}
		c := sim.config()
		c.Addresses = sim.addresses
		_, err := Open(t.Context(), c)
		wantFailure(t, err, v1alpha1.ReasonPortMissing, `"east"`, "0000:08:10.0", "02:00:00:00:00:99", "02:00:00:00:00:02")
	})
	t.Run("another PCI address", func(t *testing.T) {
		sim := newSimulator(t)
		sim.addresses = [2]string{"0000:07:00.0", "0000:08:00.0"}
		c := sim.config(measure.Forward)
		c.Addresses = [2]string{"0000:07:00.0", "0000:09:00.0"}
		_, err := Open(t.Context(), c)
		wantFailure(t, err, v1alpha1.ReasonPortMissing, `"east"`, "0000:09:00.0", "0000:07:00.0", "0000:08:00.0")
	})
	t.Run("the same twice", func(t *testing.T) {
		sim := newSimulator(t)
		c := sim.config()
		c.Path.Streams[1].SourceMAC = c.Path.Streams[0].SourceMAC
		_, err := Open(t.Context(), c)
		wantFailure(t, err, v1alpha1.ReasonPortMissing, "both ports")
	})
}

func wantFailure(t *testing.T, err error, reason string, words ...string) {
	t.Helper()
	var failure *measure.Failure
	if !errors.As(err, &failure) || failure.Reason != reason || failure.Remedy == "" {
		t.Fatalf("got %v, want the reason %s with a remedy", err, reason)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not name %s", err, word)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		server func(s *simulator)
		config func(c *Config)
		reason string
	}{
		"a link that is down":  {server: func(s *simulator) { s.linkDown = 1 }, reason: v1alpha1.ReasonPortDown},
		"a path without a way": {server: func(s *simulator) { s.loseEvery = 1 }, reason: v1alpha1.ReasonNoPathThroughChain},
		"one port twice":       {config: func(c *Config) { c.Path.Ports[1] = c.Path.Ports[0] }, reason: v1alpha1.ReasonInvalidPath},
		"no stream":            {config: func(c *Config) { c.Path.Streams = nil }, reason: v1alpha1.ReasonInvalidPath},
		"a direction twice":    {config: func(c *Config) { c.Path.Streams[1].Direction = measure.Forward }, reason: v1alpha1.ReasonInvalidPath},
		"a reserved VLAN":      {config: func(c *Config) { c.Path.Ports[0].VLAN = 4095 }, reason: v1alpha1.ReasonInvalidPath},
		"too many random flows": {config: func(c *Config) {
			c.Path.Streams[0].Flows = &measure.Flows{Count: 40_000, Random: true, Fields: []measure.FlowField{measure.FlowSourceAddress, measure.FlowDestinationAddress}}
		}, reason: v1alpha1.ReasonInvalidPath},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSimulator(t)
			if c.server != nil {
				sim.with(c.server)
			}
			config := sim.config()
			if c.config != nil {
				c.config(&config)
			}
			_, err := Open(t.Context(), config)
			wantFailure(t, err, c.reason)
		})
	}
}

func TestLinkGoesDown(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	d := openOn(t, sim.config())
	sim.with(func(s *simulator) { s.extra = func(s *simulator) { s.linkDown = 0 } })
	_, err := d.Measure(t.Context(), trialOf(64, 1000, 50*time.Millisecond))
	wantFailure(t, err, v1alpha1.ReasonPortDown, `"west"`)
}

func TestAnOwnedPortIsTakenAndNamed(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	sim.script.Take(1, "alice")
	d := openOn(t, sim.config())
	if !slices.ContainsFunc(d.Description().Fallbacks, func(s string) bool {
		return strings.Contains(s, `"east"`) && strings.Contains(s, "by force")
	}) {
		t.Errorf("%q", d.Description().Fallbacks)
	}
	// A port taken from this driver between two trials, or within one, is taken back.
	sim.script.Take(0, "mallory")
	if o := run1(t, d, trialOf(64, 1000, 50*time.Millisecond)); o.Directions[0].ReceivedFrames != 50 {
		t.Errorf("%+v", o.Directions)
	}
}

func TestCoarseServer(t *testing.T) {
	t.Parallel()
	sim := newSimulator(t)
	sim.with(func(s *simulator) { s.coarse = true })
	d := openOn(t, sim.config(measure.Forward))
	if !slices.ContainsFunc(d.Description().Fallbacks, func(s string) bool { return strings.Contains(s, "HdrHistogram") }) {
		t.Errorf("%q", d.Description().Fallbacks)
	}
	l := run1(t, d, trialOf(64, 1000, 50*time.Millisecond)).Directions[0].Latency
	if l.Samples != 50 || l.MinNanoseconds != 20_000 || l.P50Nanoseconds != 29_999 || l.MaxNanoseconds != 29_999 {
		t.Errorf("%+v", l)
	}
}

// The reasons are those of the API.
func TestReasonsAreTheAPIs(t *testing.T) {
	for ours, theirs := range map[string]string{
		v1alpha1.ReasonInvalidPath: v1alpha1.ReasonInvalidPath, v1alpha1.ReasonInvalidTrial: v1alpha1.ReasonInvalidTrial,
		v1alpha1.ReasonFrameTooSmall: v1alpha1.ReasonFrameTooSmall, v1alpha1.ReasonFrameTooLarge: v1alpha1.ReasonFrameTooLarge,
		v1alpha1.ReasonPortMissing: v1alpha1.ReasonPortMissing, v1alpha1.ReasonPortDown: v1alpha1.ReasonPortDown,
		v1alpha1.ReasonNoPathThroughChain: v1alpha1.ReasonNoPathThroughChain, v1alpha1.ReasonTRexVersion: v1alpha1.ReasonTRexVersion,
	} {
		if ours != theirs {
			t.Errorf("%q is %q in the API", ours, theirs)
		}
	}
}
