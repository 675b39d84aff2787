//go:build linux

// Command neighbor is a noisy neighbour of a chain: the entrypoint of its pod.
// It waits on the pod network for what the measurer asks, and loads its node.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vnfbench.io/operator/internal/neighbor"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		// The last line that a container writes is its termination message.
		fmt.Fprintln(os.Stderr, "neighbor:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var listen, program, scratch string
	command := &cobra.Command{
		Use:           "neighbor",
		Short:         "A load beside a measured chain, until SIGTERM",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return run(ctx, listen, program, scratch)
		},
	}
	command.CompletionOptions.DisableDefaultCmd = true
	command.Flags().StringVar(&listen, "listen", fmt.Sprintf(":%d", neighbor.Port), "address and port of the agent")
	command.Flags().StringVar(&program, "stress-ng", "stress-ng", "the program")
	command.Flags().StringVar(&scratch, "scratch", neighbor.Scratch, "folder that may be written to")
	return command
}

func run(ctx context.Context, listen, program, scratch string) error {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	agent, err := neighbor.New(program, scratch, log)
	if err != nil {
		return err
	}
	defer agent.Stop()
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: agent.Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	defer server.Close()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("waiting for the measurer", "listen", listener.Addr().String())
	select {
	case <-ctx.Done():
		log.Info("ending")
		return nil
	case err := <-served:
		return fmt.Errorf("serving %q: %w", listen, err)
	}
}
