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

// Another pod may get what this one was not given, so none of it is final.
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
	driver, err := (&drivers{}).Open(t.Context(), measure.Path{}, measure.DriverSettings{Name: "TRex"})
	if driver != nil || err == nil {
		t.Errorf("got %v, %v", driver, err)
	}
	if driver, err := (&drivers{}).Open(t.Context(), measure.Path{}, measure.DriverSettings{Name: "XDP"}); driver != nil || err == nil {
		t.Errorf("an empty path: got %v, %v", driver, err)
	}
}
