package measurer

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/testing/configmaptest"
	"vnfbench.io/operator/internal/traffic/simulated"
	"vnfbench.io/operator/internal/trialstore"
)

const results = "run-results"

func instructions() measure.Instructions {
	instr := measure.Instructions{
		Run: "lab/run", Digest: "sha256:plan",
		LinkBitsPerSecond: 10_000_000_000, StartupSeconds: 30,
		Chain:        measure.Path{Ports: [2]measure.Port{{Interface: "west"}, {Interface: "east"}}},
		Calibration:  &measure.Path{Ports: [2]measure.Port{{Interface: "cal0"}, {Interface: "cal1"}}},
		Sizes:        []measure.Size{measure.FrameSize(64), measure.FrameSize(512)},
		Measurements: v1alpha1.Measurements{Profile: v1alpha1.ProfileStandard}.Filled(),
	}
	instr.Profile = ""
	instr.Latency = &v1alpha1.Latency{TrialMilliseconds: 1000, Loads: []v1alpha1.LatencyLoad{
		{Name: "idle", FramesPerSecond: new(int64(1000))}, {Name: "pdr90", Goal: "PDR", Percent: new(int32(90))},
	}}
	return instr
}

// lab is what successive measurers use: the paths and the results.
type lab struct {
	server *configmaptest.Server
	device simulated.Device
	// open may refuse to open a path.
	open func(path measure.Path) error
	// before is called with the number of the trial, over all measurers.
	before func(trial int, o *measure.Outcome) error
	opened []string
	// ends are opened for TCP.
	ends   *ends
	closed int
	trials int
	// repeats of each frame size; 0 is 1.
	repeats int32
	scope   v1alpha1.RepeatScope
	// calibrateLoads asks for the delay without a device at the latency loads.
	calibrateLoads bool
	// delayTrials is how often each of them is measured; 0 is 1, in the first session alone.
	delayTrials int
	// opensDifferently makes each opening have other threads than the one before.
	opensDifferently bool
	// log is what the generator's own program writes; nil if it has none.
	log []string
}

func newLab() *lab {
	return &lab{
		server: configmaptest.New("lab", results),
		device: simulated.SoftKnee{KneeFramesPerSecond: 400_000, CapacityFramesPerSecond: 500_000, MaxLossRatio: 0.02},
	}
}

func (l *lab) instructions() measure.Instructions {
	instr := instructions()
	instr.Repeats, instr.RepeatScope, instr.CalibrateLoads = l.repeats, l.scope, l.calibrateLoads
	instr.DelayCalibrationTrials = l.delayTrials
	return instr
}

func (l *lab) chainReady() {
	l.server.Edit(func(c *corev1.ConfigMap) { c.Data[measure.KeyChain] = measure.ChainReady })
}

// Open implements Opener. A driver's answers do not depend on what it measured before.
func (l *lab) Open(ctx context.Context, opening measure.Opening) (measure.Driver, error) {
	if opening.Path == nil {
		return l.ends.Open(ctx, opening)
	}
	path := *opening.Path
	name := path.Ports[0].Interface
	if l.open != nil {
		if err := l.open(path); err != nil {
			return nil, err
		}
	}
	l.opened = append(l.opened, name)
	device := l.device
	if name == "cal0" {
		device = simulated.HardCap{CapacityFramesPerSecond: 100e6}
	}
	d := &driver{lab: l, Driver: simulated.New(simulated.Config{
		Device: device, GeneratorFramesPerSecond: 2_000_000,
		Directions: []measure.Direction{measure.Forward, measure.Reverse},
	})}
	if l.log != nil {
		return talking{d}, nil
	}
	return d, nil
}

// talking is a driver whose generator has a log.
type talking struct{ *driver }

func (t talking) Log() []string { return t.lab.log }

type driver struct {
	measure.Driver
	lab *lab
}

func (d *driver) Description() measure.Description {
	out := d.Driver.Description()
	if d.lab.opensDifferently {
		out.Threads = len(d.lab.opened)
	}
	return out
}

func (d *driver) Measure(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	outcome, err := d.Driver.Measure(ctx, trial)
	outcome.StartedAt = time.Time{}
	if err == nil && d.lab.before != nil {
		err = d.lab.before(d.lab.trials, &outcome)
	}
	d.lab.trials++
	return outcome, err
}

func (d *driver) Close() error {
	d.lab.closed++
	return errors.Join(d.Driver.Close(), errors.New("the port is gone already"))
}

func (l *lab) measurer(pod string) *Measurer {
	return &Measurer{
		Instructions: l.instructions(), Drivers: l, Log: slog.New(slog.DiscardHandler),
		Results: trialstore.Config{ConfigMaps: l.server, Name: results, Measurer: pod, UID: "uid-of-" + pod},
	}
}

// stored reads the results as the controller does, except for who made the trials.
func (l *lab) stored(t *testing.T) (*trialstore.Store, procedure.Figures) {
	t.Helper()
	store, err := trialstore.Open(t.Context(), trialstore.Config{
		ConfigMaps: l.server, Name: results, Digest: "sha256:plan", Measurer: "reader", UID: "reader",
	})
	if err != nil {
		t.Fatal(err)
	}
	return store, procedure.Results(l.instructions(), store.Records())
}
