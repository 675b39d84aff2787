package neighbor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/internal/measure"
)

// stopTimeout is how long stress-ng may take to end its workers and to write
// its account.
const stopTimeout = 10 * time.Second

// accountFile is where stress-ng writes its metrics, in the scratch folder.
const accountFile = "account.yaml"

// arguments returns stress-ng's arguments for a load. It runs until it is interrupted.
func arguments(load measure.NeighborLoad, scratch string) ([]string, error) {
	workers := strconv.Itoa(load.Workers)
	common := []string{
		// The kernel ends workers when memory runs out. They stay ended, so that it shows.
		"--timeout", "0", "--oomable", "--metrics", "--yaml", filepath.Join(scratch, accountFile), "--temp-path", scratch,
	}
	switch {
	case load.Workers < 1:
		return nil, fmt.Errorf("neighbor %q has no workers", load.Name)
	case load.Kind == measure.NeighborCPU && load.LoadPercent >= 1 && load.LoadPercent <= 100:
		return append(common, "--cpu", workers, "--cpu-load", strconv.Itoa(load.LoadPercent)), nil
	case load.Kind == measure.NeighborMemory && load.Bytes > 0:
		// All workers share the bytes, which stay mapped.
		return append(common, "--vm", workers, "--vm-bytes", strconv.FormatInt(load.Bytes, 10), "--vm-keep"), nil
	case load.Kind == measure.NeighborDisk && load.Bytes > 0:
		// Without a flush the load would be on memory alone.
		return append(common, "--hdd", workers, "--hdd-bytes", strconv.FormatInt(load.Bytes, 10), "--hdd-opts", "fsync"), nil
	}
	return nil, fmt.Errorf("neighbor %q of kind %q has no load that stress-ng could make", load.Name, load.Kind)
}

// stress is a running stress-ng.
type stress struct {
	command *exec.Cmd
	scratch string
	output  tail
	ended   chan struct{}
	err     error
}

func startStress(program string, load measure.NeighborLoad, scratch string) (*stress, error) {
	args, err := arguments(load, scratch)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(scratch, accountFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	s := &stress{command: exec.CommandContext(context.Background(), program, args...), scratch: scratch, ended: make(chan struct{})}
	s.command.Stdout, s.command.Stderr = &s.output, &s.output
	s.command.Dir = scratch
	// It has its own group, so that the agent decides the order after a signal. When
	// the agent, the first process of its container, ends, the kernel ends it as well.
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		s.err = s.command.Wait()
		close(s.ended)
	}()
	return s, nil
}

func (s *stress) running() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// problem returns why it ended by itself.
func (s *stress) problem() string {
	if s.running() {
		return ""
	}
	cause := "stress-ng ended by itself"
	if s.err != nil {
		cause = fmt.Sprintf("stress-ng ended: %v", s.err)
	}
	if last := s.output.last(); last != "" {
		cause += ": " + last
	}
	return cause
}

func (s *stress) frames() (sent, received uint64) { return 0, 0 }

// stop interrupts it and reads its account.
func (s *stress) stop() ([]measure.Stressor, error) {
	if s.running() {
		if err := s.command.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return nil, err
		}
		select {
		case <-s.ended:
		case <-time.After(stopTimeout):
			// End the rest of its group.
			_ = syscall.Kill(-s.command.Process.Pid, syscall.SIGKILL)
			<-s.ended
			return nil, fmt.Errorf("stress-ng did not end within %s and was killed", stopTimeout)
		}
	}
	return readAccount(filepath.Join(s.scratch, accountFile))
}

// readAccount reads what stress-ng writes with --metrics --yaml.
func readAccount(path string) ([]measure.Stressor, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the report of stress-ng: %w", err)
	}
	// It ends its document with "...", after which nothing follows.
	text, _, _ = bytes.Cut(text, []byte("\n..."))
	var account struct {
		Metrics []struct {
			Stressor            string  `json:"stressor"`
			Operations          float64 `json:"bogo-ops"`
			OperationsPerSecond float64 `json:"bogo-ops-per-second-real-time"`
		} `json:"metrics"`
	}
	if err := yaml.Unmarshal(text, &account); err != nil {
		return nil, fmt.Errorf("reading the report of stress-ng: %w", err)
	}
	var out []measure.Stressor
	for _, m := range account.Metrics {
		out = append(out, measure.Stressor{Name: m.Stressor, Operations: int64(m.Operations), OperationsPerSecond: int64(m.OperationsPerSecond)})
	}
	if len(out) == 0 {
		return nil, errors.New("the report of stress-ng has no stressor")
	}
	return out, nil
}

// tail keeps the end of a program's output.
type tail struct{ text []byte }

const maxTailBytes = 2048

// Write is called by one goroutine, and the text is read when that has ended.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxTailBytes):]
	return len(p), nil
}

// last returns the last line.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
