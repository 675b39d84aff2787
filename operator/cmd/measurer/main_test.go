//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	generators "vnfbench.io/operator/internal/generator/registry"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/measurer"
)

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	command := newCommand(slog.New(slog.DiscardHandler))
	command.SetArgs([]string{"--version"})
	command.SetOut(&out)
	if err := command.Execute(); err != nil || !strings.Contains(out.String(), version) {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// TestWrongUse checks errors of the command line. Another pod may get what this one did not, so
// none of them is final.
func TestWrongUse(t *testing.T) {
	t.Setenv(envPodName, "")
	for _, args := range [][]string{{}, {"--namespace", "lab"}, {"--namespace", "lab", "--results", "r"}, {"an argument"}} {
		command := newCommand(slog.New(slog.DiscardHandler))
		command.SetArgs(args)
		command.SetErr(&bytes.Buffer{})
		if err := command.Execute(); measurer.ExitCode(err) != measurer.ExitAgain {
			t.Errorf("%q: got %v", args, err)
		}
	}
}

func TestReadInstructions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "instructions.json")
	if _, err := readInstructions(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]string{`{"digest":"sha256:plan"}`: "sha256:plan", `{`: ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readInstructions(path)
		if got.Digest != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}

func TestStopOnSignal(t *testing.T) {
	ctx, stop := stopOnSignal(t.Context())
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); measurer.ExitCode(err) != measurer.ExitStopped {
		t.Errorf("got %v", err)
	}
}

func TestUnknownDriver(t *testing.T) {
	drivers := newDrivers(measure.OpenerConfig{})
	if driver, err := drivers.Open(t.Context(), measure.Opening{Driver: measure.DriverSettings{Name: "Pigeon"}}); driver != nil || err == nil {
		t.Errorf("got %v, %v", driver, err)
	}
	if err := drivers.Close(); err != nil {
		t.Error(err)
	}
}

// TestDriversRefuse checks that unsupported traffic, and settings of another version, are refused
// with a reason, and that no other driver is opened instead.
func TestDriversRefuse(t *testing.T) {
	known := map[string]any{}
	for _, g := range generators.All() {
		settings, err := g.Settings(&v1alpha1.Testbed{Spec: v1alpha1.TestbedSpec{Generator: v1alpha1.Generator{
			Driver: g.Name, TRex: &v1alpha1.TRexGenerator{Mode: v1alpha1.TRexAFPacket, CoresPerPort: 1},
		}}}, [2]generator.Port{})
		if err != nil {
			t.Fatal(err)
		}
		known[string(g.Name)] = settings
	}
	for name := range registry {
		settings, err := measure.NewDriverSettings(name, known[name])
		if err != nil {
			t.Fatal(err)
		}
		drivers := newDrivers(measure.OpenerConfig{})
		if driver, err := drivers.Open(t.Context(), measure.Opening{Driver: settings}); driver != nil || measure.ReasonOf(err) != v1alpha1.ReasonNotOfferedByDriver {
			t.Errorf("%s, nothing to open: got %v, %v", name, driver, err)
		}
		delete(known, name)
		if name == measure.EndpointDriver {
			continue
		}
		settings.Settings = []byte(`{"warp":9}`)
		driver, err := drivers.Open(t.Context(), measure.Opening{Driver: settings, Path: &measure.Path{}})
		if driver != nil || measure.ReasonOf(err) != v1alpha1.ReasonVersionMismatch || !strings.Contains(err.Error(), "warp") {
			t.Errorf("%s, an unknown setting: got %v, %v", name, driver, err)
		}
	}
	if len(known) > 0 {
		t.Errorf("testbeds may name drivers that the measurer does not have: %v", known)
	}
}
