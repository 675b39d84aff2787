//go:build linux

// Command measurer generates the traffic of one BenchmarkRun and measures it: the entrypoint of the
// traffic pod. It reads its instructions from a file, and stores every trial in the run's results,
// the only objects that it may write.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"vnfbench.io/operator/internal/measurer"
)

// version is set by the linker.
var version = "development"

// Environment variables by which the pod names itself (downward API).
const (
	envPodName = "POD_NAME"
	envPodUID  = "POD_UID"
	// envAgentToken has the path of the token for the run's agents; absent if they ask for none.
	envAgentToken = "AGENT_TOKEN_FILE"
)

type options struct {
	instructions   string
	namespace      string
	results        string
	terminationLog string
	podName        string
	podUID         string
	agentToken     string
}

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	err := newCommand(log).Execute()
	if err != nil {
		log.Error("ending", "error", err.Error(), "exitCode", measurer.ExitCode(err))
	}
	os.Exit(measurer.ExitCode(err))
}

func newCommand(log *slog.Logger) *cobra.Command {
	o := options{podName: os.Getenv(envPodName), podUID: os.Getenv(envPodUID), agentToken: os.Getenv(envAgentToken)}
	command := &cobra.Command{
		Use:           "measurer",
		Short:         "Measure one BenchmarkRun",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := stopOnSignal(command.Context())
			defer stop()
			return run(ctx, o, log)
		},
	}
	command.CompletionOptions.DisableDefaultCmd = true
	flags := command.Flags()
	flags.StringVar(&o.instructions, "instructions", "/etc/vnfbench/instructions.json", "the instructions, a JSON file")
	flags.StringVar(&o.namespace, "namespace", "", "the namespace of the results' ConfigMap")
	flags.StringVar(&o.results, "results", "", "the name of the results' ConfigMap")
	flags.StringVar(&o.terminationLog, "termination-log", "/dev/termination-log", "file for a failure, which the pod's status shows")
	for _, name := range []string{"namespace", "results"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return command
}

// stopOnSignal returns a context that a signal ends with measurer.ErrStopped as its cause.
func stopOnSignal(ctx context.Context) (context.Context, func()) {
	if ctx == nil {
		ctx = context.Background()
	}
	stopped, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		select {
		case <-signals:
			cancel(measurer.ErrStopped)
		case <-stopped.Done():
		}
	}()
	return stopped, func() {
		signal.Stop(signals)
		cancel(context.Canceled)
	}
}

func run(ctx context.Context, o options, log *slog.Logger) error {
	if o.podName == "" || o.podUID == "" {
		return fmt.Errorf("environment variables %s and %s have to name the pod", envPodName, envPodUID)
	}
	m, closeDrivers, err := assemble(o, log)
	if err != nil {
		return err
	}
	defer func() {
		if err := closeDrivers(); err != nil {
			log.Warn("a driver's server could not be closed", "error", err.Error())
		}
	}()
	log.Info("starting", "version", version, "run", m.Instructions.Run, "digest", m.Instructions.Digest)
	err = m.Run(ctx)
	if measurer.ExitCode(err) == measurer.ExitFailure {
		err = errors.Join(err, measurer.WriteTermination(o.terminationLog, err))
	}
	return err
}
