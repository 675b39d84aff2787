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

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/proc/cycles"
	"vnfbench.io/operator/internal/serve"
)

func newObserveCommand() *cobra.Command {
	var listen string
	var guests []string
	var countCycles bool
	var user int
	command := &cobra.Command{
		Use:   "observe",
		Short: "Serve what the node's kernel shows to every user about processor time, until SIGTERM",
		Long: `Serve what the node's kernel shows to every user: the processor time of the node
and of the named virtual machines by kind, what the node is, and how the virtual
machines really run.

It reads /proc and /sys, and needs the node's process table and no privilege. With
--cycles it counts the cycles of the node's processors too: that needs CAP_PERFMON
at the start, and --become-user CAP_SETUID.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return observe(ctx, listen, guests, countCycles, user, newLogger())
		},
	}
	command.Flags().StringVar(&listen, "listen", fmt.Sprintf(":%d", observer.Port), "address and port of "+observer.PathSnapshot+", "+observer.PathNode+" and /readyz")
	command.Flags().StringArrayVar(&guests, "guest", nil, "a virtual machine to look for, by libvirt's name; can be repeated")
	command.Flags().BoolVar(&countCycles, "cycles", false, "count the cycles of the node's processors")
	command.Flags().IntVar(&user, "become-user", 0, "the user to become before the first answer; 0 stays the same")
	return command
}

func observe(ctx context.Context, listen string, guests []string, countCycles bool, user int, log *slog.Logger) error {
	guard, err := caller.FromEnvironment()
	if err != nil {
		return err
	}
	o, err := observer.New("/", guests, time.Now)
	if err != nil {
		return err
	}
	if countCycles {
		o.CountCycles(func(cpus []int) (observer.Counter, error) { return cycles.Open(cycles.Hardware, cpus) })
	}
	if user > 0 {
		// All threads become it, and lose every capability; the counters stay open.
		if err := syscall.Setresuid(user, user, user); err != nil {
			return fmt.Errorf("becoming user %d, which needs CAP_SETUID: %w", user, err)
		}
	}
	return serve.Until(ctx, listen, guard.Handler(o.Handler(log)), log.With("guests", guests), "observing")
}
