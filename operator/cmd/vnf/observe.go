//go:build linux

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/serve"
)

func newObserveCommand() *cobra.Command {
	var listen string
	var guests []string
	command := &cobra.Command{
		Use:   "observe",
		Short: "Serve what the node's kernel shows to every user about processor time, until SIGTERM",
		Long: `Serve what the node's kernel shows to every user: the processor time of the node
and of the named virtual machines by kind, what the node is, and how the virtual
machines really run.

It reads /proc and /sys, and needs the node's process table and no privilege.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return observe(ctx, listen, guests, newLogger())
		},
	}
	command.Flags().StringVar(&listen, "listen", fmt.Sprintf(":%d", observer.Port), "address and port of "+observer.PathSnapshot+", "+observer.PathNode+" and /readyz")
	command.Flags().StringArrayVar(&guests, "guest", nil, "a virtual machine to look for, by libvirt's name; can be repeated")
	return command
}

func observe(ctx context.Context, listen string, guests []string, log *slog.Logger) error {
	o, err := observer.New("/", guests, time.Now)
	if err != nil {
		return err
	}
	return serve.Until(ctx, listen, o.Handler(log), log.With("guests", guests), "observing")
}
