//go:build linux

// Command endpoint runs one end of the measured TCP connections: the entrypoint of its pod. It
// waits on the pod network for requests of the measurer, and runs iperf3 on the measured port.
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

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/endpoint/agent"
	"vnfbench.io/operator/internal/serve"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		// The last line that a container writes is its termination message.
		fmt.Fprintln(os.Stderr, "endpoint:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var config, listen, program string
	command := &cobra.Command{
		Use:           "endpoint",
		Short:         "An end of measured TCP connections",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return run(ctx, config, listen, program)
		},
	}
	command.CompletionOptions.DisableDefaultCmd = true
	command.Flags().StringVar(&config, "config", endpoint.DefaultPath, "the end's configuration, a JSON file")
	command.Flags().StringVar(&listen, "listen", fmt.Sprintf(":%d", endpoint.AgentPort), "address and port of the agent")
	command.Flags().StringVar(&program, "iperf3", "iperf3", "the program")
	return command
}

func run(ctx context.Context, path, listen, program string) (err error) {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	guard, err := caller.FromEnvironment()
	if err != nil {
		return err
	}
	config, err := endpoint.Load(path)
	if err != nil {
		return err
	}
	log = log.With("name", config.Name)
	served, err := agent.New(config, program, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.Close()) }()
	return serve.Until(ctx, listen, guard.Handler(served.Handler()), log, "waiting for the measurer")
}
