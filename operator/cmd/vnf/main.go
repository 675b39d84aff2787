//go:build linux

// Command vnf is a network function: the entrypoint of its pod, or the first process of its guest.
// It writes its configuration into the kernel of its network namespace, lets the kernel forward,
// and reports its state over HTTP.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"vnfbench.io/operator/internal/guest"
	"vnfbench.io/operator/internal/vnf"
)

func main() {
	command := newCommand()
	command.SetArgs(guest.Arguments(os.Args))
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "vnf:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "vnf",
		Short:         "A reference network function of vnfbench",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newRunCommand(), newReadyCommand(), newLinkCommand(), newDeleteBridgesCommand(),
		newObserveCommand())
	root.AddCommand(machine.Commands()...)
	return root
}

func configFlag(command *cobra.Command, path *string) {
	command.Flags().StringVar(path, "config", vnf.DefaultPath, "the function's configuration, a JSON file")
}

func newLogger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(os.Stdout, nil))
}
