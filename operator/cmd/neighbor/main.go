//go:build linux

// Command neighbor is a noisy neighbor of a chain: the entrypoint of its pod, or the first process
// of its guest. It waits on the pod network for requests of the measurer, and loads its node.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/guest"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/serve"
)

func main() {
	command := newCommand()
	command.SetArgs(guest.Arguments(os.Args))
	if err := command.Execute(); err != nil {
		// The last line that a container writes is its termination message.
		fmt.Fprintln(os.Stderr, "neighbor:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var listen, program, scratch string
	command := &cobra.Command{
		Use:           "neighbor",
		Short:         "Load the node next to a measured chain, until SIGTERM",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return run(ctx, listen, program, scratch)
		},
	}
	command.AddCommand(machine.Commands()...)
	command.CompletionOptions.DisableDefaultCmd = true
	command.Flags().StringVar(&listen, "listen", fmt.Sprintf(":%d", neighbor.Port), "address and port of the agent")
	command.Flags().StringVar(&program, "stress-ng", "stress-ng", "the program")
	command.Flags().StringVar(&scratch, "scratch", neighbor.Scratch, "folder to write to")
	return command
}

func run(ctx context.Context, listen, program, scratch string) error {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	guard, err := caller.FromEnvironment()
	if err != nil {
		return err
	}
	agent, err := neighbor.New(program, scratch, log)
	if err != nil {
		return err
	}
	defer agent.Stop()
	return serve.Until(ctx, listen, guard.Handler(agent.Handler()), log, "waiting for the measurer")
}
