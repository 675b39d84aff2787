//go:build linux

// Command trexrecord records the content of test/fixtures/trex again. It starts a real TRex server
// in new network namespaces, on a routed path of veth pairs, and makes the calls of every recording
// again, at the same times, with the new server's tokens instead of the old ones. It writes the
// answers, and ends with a list of answers that differ from before.
//
// One more recording is of the project's own client, which runs a trial from the handshake to the
// release.
//
// Everything happens in namespaces that end with the command, which needs root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside marks the process that is in the namespaces.
const inside = "VNFBENCH_TREXRECORD_INSIDE"

// hostName is the machine name that the server reports.
const hostName = "trex"

func main() {
	var o options
	flag.StringVar(&o.trex, "trex", os.Getenv("TREX"), "TRex: its directory, or the program _t-rex-64 in it")
	flag.StringVar(&o.from, "from", "test/fixtures/trex", "directory of the recordings whose calls are made again")
	flag.StringVar(&o.to, "to", "", "directory to write the new recordings to")
	flag.StringVar(&o.only, "only", "", "names of recordings, with commas; all if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, o)
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		os.Exit(ended.ExitCode()) // it has reported why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "trexrecord:", err)
		os.Exit(1)
	}
}

type options struct{ trex, from, to, only string }

func run(ctx context.Context, o options) error {
	program, err := o.program()
	if err != nil {
		return err
	}
	if o.to == "" {
		return errors.New("-to is not set: the directory for the new recordings")
	}
	chosen, err := o.scenarios()
	if err != nil {
		return err
	}
	if os.Getenv(inside) == "" {
		return enter(ctx)
	}
	if err := apart(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.to, 0o755); err != nil {
		return err
	}
	for _, s := range chosen {
		if err := s.record(ctx, program, o.from, o.to); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// scenarios returns those that the user asks for.
func (o options) scenarios() ([]scenario, error) {
	if o.only == "" {
		return scenarios, nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			var names []string
			for _, s := range scenarios {
				names = append(names, s.name)
			}
			return nil, fmt.Errorf("-only: there is no recording %q; there are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, scenarios[i])
	}
	return chosen, nil
}

// program returns the server's program, which must exist.
func (o options) program() (string, error) {
	if o.trex == "" {
		return "", errors.New("-trex is not set: the directory of TRex v3.08 with its program _t-rex-64, such as /opt/trex")
	}
	path, err := filepath.Abs(o.trex)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "_t-rex-64")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("-trex: %w: name the directory of TRex v3.08 with its program _t-rex-64", err)
	}
	return path, nil
}

// enter runs this command again in a new network namespace and with a separate host name, and ends
// with it.
func enter(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root: TRex does, and so do network namespaces; run with sudo")
	}
	again := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	again.Env = append(os.Environ(), inside+"=1")
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWUTS, Pdeathsig: syscall.SIGKILL,
	}
	again.Cancel = func() error { return again.Process.Signal(syscall.SIGTERM) }
	return again.Run()
}

// apart checks that this process is not in the network namespace of the one that started it: the
// next steps change sysctls and add interfaces.
func apart() error {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	parents, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", os.Getppid()))
	if err != nil {
		return err
	}
	if own == parents {
		return fmt.Errorf("%s is set, and this is not a separate network namespace: unset it", inside)
	}
	return nil
}
