package benchmarkrun

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/measurer"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/configmaptest"
	"vnfbench.io/operator/internal/traffic/simulated"
	"vnfbench.io/operator/internal/trialstore"
)

const (
	soakSeconds         = 8 * 3600
	soakIntervalSeconds = soakSeconds / 288
	// maxSoakHeapGrowthBytes is how much more a measurer may hold after eight hours than after the first
	// half hour: its records, and what evaluates them.
	maxSoakHeapGrowthBytes = 16 << 20
	// maxSoakStatusBytes is a third of what an API server takes as one object.
	maxSoakStatusBytes = 512 << 10
)

// soakLab opens simulated devices, whose trials take no time, and reads the heap after each trial.
type soakLab struct{ heaps []uint64 }

func (l *soakLab) Open(_ context.Context, opening measure.Opening) (measure.Driver, error) {
	capacity := 500_000.0
	if opening.Path.Ports[0].Interface == plan.InterfaceCalibrationWest {
		capacity = 100e6
	}
	return &soakDriver{l, simulated.New(simulated.Config{
		Device: simulated.HardCap{CapacityFramesPerSecond: capacity}, GeneratorFramesPerSecond: 2_000_000,
		Directions: []measure.Direction{measure.Forward, measure.Reverse},
	})}, nil
}

type soakDriver struct {
	lab *soakLab
	measure.Driver
}

func (d *soakDriver) Measure(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	outcome, err := d.Driver.Measure(ctx, trial)
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	d.lab.heaps = append(d.lab.heaps, memory.HeapAlloc)
	return outcome, err
}

// TestSoakOfEightHours makes the measurement of a run that lasts eight hours, by the measurer's own loop
// and store, without waiting. It checks that the measurer's memory does not grow with time, and that results and status stay far
// below what an API server takes. `make soak` does the same with the manager and a real API server.
func TestSoakOfEightHours(t *testing.T) {
	lab := &soakLab{}
	run, made := plannedRun(t, small(func(e *v1alpha1.Experiment) {
		e.Measurements.Latency = nil
		e.Measurements.Soak = &v1alpha1.Soak{Size: "64", FramesPerSecond: new(int64(100_000)), DurationSeconds: soakSeconds, IntervalSeconds: soakIntervalSeconds}
	}))
	server := configmaptest.New(run.Namespace, "results")
	server.Edit(func(c *corev1.ConfigMap) { c.Data[measure.KeyChain] = measure.ChainReady })
	m := &measurer.Measurer{
		Instructions: made.Instructions, Drivers: lab, Log: slog.New(slog.DiscardHandler),
		Results: trialstore.Config{ConfigMaps: server, Name: "results", Measurer: "m-1", UID: "u-1"},
	}
	start := time.Now()
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)

	s := newScope(launched)
	made.Run.UID = s.run.UID
	s.run.Spec, s.plan = run.Spec, made
	evaluating := time.Now()
	head, err := server.Get("results", "")
	if err != nil {
		t.Fatal(err)
	}
	s.decode(head, &kept{}, server.Get)
	evaluated := time.Since(evaluating)
	if s.recordsErr != nil || s.foreign != nil {
		t.Fatal(s.recordsErr, s.foreign)
	}
	status, err := json.Marshal(summarize(s, decision{action: actFinish, measured: true, outcome: s.verdict()}))
	if err != nil {
		t.Fatal(err)
	}
	results := measure.Bytes(server.All())
	seconds := int64(0)
	for _, r := range s.records.trials {
		seconds += int64(r.Trial.DurationNanoseconds / 1e9)
	}
	// The first sixteenth of the trials is the first half hour, and fills what is allocated once.
	early, late := lab.heaps[len(lab.heaps)/16], lab.heaps[len(lab.heaps)-1]
	t.Logf("%d trials of %d s in %s, %d writes; heap %d KiB after half an hour, %d KiB at the end; results %d KiB, status %d KiB; evaluated in %s",
		len(s.records.trials), seconds, took.Round(time.Millisecond), server.Writes(), early>>10, late>>10, results>>10, len(status)>>10, evaluated.Round(time.Millisecond))
	switch frames := s.figures.Frames; {
	case len(frames) != 1 || frames[0].Soak == nil || frames[0].Soak.SendingSeconds < soakSeconds:
		t.Errorf("the soak is %+v", frames)
	case late > early+maxSoakHeapGrowthBytes:
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	case results > measure.MaximumResultsBytes:
		t.Errorf("the results have %d bytes, and %d fit", results, measure.MaximumResultsBytes)
	case len(status) > maxSoakStatusBytes:
		t.Errorf("the status has %d bytes", len(status))
	}
	if most := len(s.records.trials) + 20; server.Writes() > most {
		t.Errorf("%d writes, want at most one for each trial and 20 more", server.Writes())
	}
}
