package measurer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// TestCalibrationAfterTheChain opens the calibration's path again for the latency loads. A measurer
// that is killed there continues there, and the chain is not opened again.
func TestCalibrationAfterTheChain(t *testing.T) {
	l := newLab()
	l.calibrateLoads = true
	l.chainReady()
	if err := l.measurer("a").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cal0", "west", "cal0"}, l.opened); diff != "" || l.closed != 3 {
		t.Errorf("closed %d: %s", l.closed, diff)
	}
	store, want := l.stored(t)
	records := store.Records()
	if last := records[len(records)-1]; last.Stage != measure.StageCalibrateLoad || !store.Progress().Calibrated {
		t.Errorf("%+v, %+v", last, store.Progress())
	}
	if g := store.Generator(); g.Chain == nil || g.Calibration == nil {
		t.Errorf("%+v", g)
	}
	for _, frame := range want.Frames {
		for _, load := range frame.Latency {
			if load.Bias == nil || load.Bias.P50Nanoseconds == 0 || load.Bias.P99Nanoseconds < load.Bias.P50Nanoseconds {
				t.Errorf("%s, %s: %+v", frame.Size, load.Load, load.Bias)
			}
		}
	}
	again, killed := newLab(), errors.New("killed")
	again.calibrateLoads = true
	again.chainReady()
	ctx, kill := context.WithCancelCause(t.Context())
	again.before = func(trial int, _ *measure.Outcome) error {
		if trial == len(records)-1 {
			kill(killed)
			return killed
		}
		return nil
	}
	if err := again.measurer("a").Run(ctx); !errors.Is(err, killed) {
		t.Fatal(err)
	}
	if err := again.measurer("b").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cal0", "west", "cal0", "cal0"}, again.opened); diff != "" {
		t.Error(diff)
	}
	if _, got := again.stored(t); !cmp.Equal(want, got, anySessions) {
		t.Error(cmp.Diff(want, got, anySessions))
	}
}

// TestCalibrationOfASession has a measurer die while it measures through the chain. The next one waits for the chain,
// measures the delay without a device again, and continues. A path that does not open then costs no figure.
func TestCalibrationOfASession(t *testing.T) {
	for name, test := range map[string]struct {
		refused bool
		opened  []string
		known   bool
	}{
		"the path opens":         {false, []string{"cal0", "west", "cal0", "west", "cal0"}, true},
		"the path does not open": {true, []string{"cal0", "west", "west", "cal0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l, killed := newLab(), errors.New("killed")
			l.calibrateLoads, l.delayTrials = true, 3
			l.chainReady()
			l.before = func(trial int, _ *measure.Outcome) error {
				if trial == 12 {
					return killed
				}
				return nil
			}
			if err := l.measurer("a").Run(t.Context()); !errors.Is(err, killed) {
				t.Fatal(err)
			}
			l.before, l.open = nil, func(path measure.Path) error {
				if test.refused && path.Ports[0].Interface == "cal0" && len(l.opened) == 2 {
					return measure.Failf(v1alpha1.ReasonPortMissing, "", "port cal0 is gone")
				}
				return nil
			}
			if err := l.measurer("b").Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.opened, l.opened); diff != "" {
				t.Error(diff)
			}
			_, figures := l.stored(t)
			for _, load := range figures.Frames[0].Latency {
				if load.Load == "idle" && (load.Bias != nil) != test.known {
					t.Errorf("%+v", load.Bias)
				}
			}
		})
	}
}

// TestRateAfterTheChain opens the calibration's path for the rate as it was opened for the first one, and a path that does not open
// costs nothing else.
func TestRateAfterTheChain(t *testing.T) {
	for name, refused := range map[string]bool{"the path opens": false, "the path does not open": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab()
			l.chainReady()
			begin := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
			l.before = func(trial int, o *measure.Outcome) error {
				o.StartedAt = begin.Add(time.Duration(trial) * time.Minute)
				return nil
			}
			var hops []measure.Hop
			l.open = func(path measure.Path) error {
				hops = append(hops, path.Hop)
				if refused && len(hops) == 4 {
					return measure.Failf(v1alpha1.ReasonPortMissing, "", "port cal0 is gone")
				}
				return nil
			}
			m := l.measurer("a")
			m.Instructions.CalibrateLoads, m.Instructions.RateAgainAfterSeconds, m.Instructions.Chain.Hop = true, 60, measure.HopInline
			if err := m.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			first := m.Instructions.Calibration.Hop
			if diff := cmp.Diff([]measure.Hop{first, measure.HopInline, measure.HopInline, first}, hops); diff != "" {
				t.Error(diff)
			}
			store, _ := l.stored(t)
			figures := procedure.Results(m.Instructions, store.Records())
			for _, c := range figures.Calibration {
				if (c.FinalFramesPerSecond == nil) != refused {
					t.Errorf("%+v", c)
				}
			}
			warned := slices.ContainsFunc(figures.Warnings, func(w v1alpha1.Warning) bool {
				return w.Code == v1alpha1.WarningNotCalibrated && strings.Contains(w.Message, "port cal0 is gone")
			})
			if warned != refused || len(figures.Frames) != 2 || len(figures.Frames[1].Latency) != 2 {
				t.Errorf("warned: %t, %+v", warned, figures.Frames)
			}
		})
	}
}

// TestOpeningsOfTheCalibration checks how the path is opened again, and that the description stays that
// of the opening in which the rate was calibrated.
func TestOpeningsOfTheCalibration(t *testing.T) {
	l := newLab()
	l.calibrateLoads, l.opensDifferently = true, true
	l.chainReady()
	var hops []measure.Hop
	l.open = func(path measure.Path) error {
		hops = append(hops, path.Hop)
		return nil
	}
	m := l.measurer("a")
	m.Instructions.Chain.Hop = measure.HopInline
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The delay at a load is compared with the chain's, the rate is the generator's alone.
	if diff := cmp.Diff([]measure.Hop{"", measure.HopInline, measure.HopInline}, hops); diff != "" {
		t.Error(diff)
	}
	store, _ := l.stored(t)
	if g := store.Generator(); len(l.opened) != 3 || g.Calibration.Threads != 1 || g.Chain.Threads != 2 {
		t.Errorf("%v, %+v, %+v", l.opened, g.Calibration, g.Chain)
	}
}

// TestNoCalibrationAfterTheChain has the generator fail when everything else is measured: that costs the
// delays without a device, and no figure.
func TestNoCalibrationAfterTheChain(t *testing.T) {
	gone := measure.Failf(v1alpha1.ReasonPortMissing, "", "port cal0 is gone")
	for name, spoil := range map[string]func(*lab){
		"the path does not open": func(l *lab) {
			l.open = func(path measure.Path) error {
				if path.Ports[0].Interface == "cal0" && len(l.opened) == 2 {
					return gone
				}
				return nil
			}
		},
		"a trial fails": func(l *lab) {
			l.before = func(int, *measure.Outcome) error {
				if len(l.opened) == 3 {
					return gone
				}
				return nil
			}
		},
		"a trial fails without a reason": func(l *lab) {
			l.before = func(int, *measure.Outcome) error {
				if len(l.opened) == 3 {
					return errors.New("port cal0 is gone")
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab()
			l.calibrateLoads = true
			l.chainReady()
			spoil(l)
			if err := l.measurer("a").Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			store, got := l.stored(t)
			if next, err := procedure.Next(l.instructions(), store.Records()); err != nil || !next.Done {
				t.Errorf("next is %+v, %v", next, err)
			}
			if !slices.ContainsFunc(got.Warnings, func(w v1alpha1.Warning) bool {
				return w.Code == v1alpha1.WarningNotCalibrated && strings.Contains(w.Message, "port cal0 is gone (")
			}) {
				t.Errorf("%+v", got.Warnings)
			}
			if !store.Finished() || store.Failure() != nil || store.Progress().Percent != 100 {
				t.Errorf("finished: %t, %+v, %+v", store.Finished(), store.Failure(), store.Progress())
			}
			for _, frame := range got.Frames {
				for _, load := range frame.Latency {
					if len(load.Directions) != 2 || (load.Bias == nil) != (load.Load != "idle") {
						t.Errorf("%s, %s: %+v", frame.Size, load.Load, load)
					}
				}
			}
		})
	}
}
