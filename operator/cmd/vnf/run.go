//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/serve"
	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/agent"
	"vnfbench.io/operator/internal/vnf/cpu"
	"vnfbench.io/operator/internal/vnf/kernel"
)

// watchRetry is the wait before the agent subscribes to the kernel's messages again.
const watchRetry = time.Second

func newRunCommand() *cobra.Command {
	var config, keys, listen string
	command := &cobra.Command{
		Use:   "run",
		Short: "Apply the configuration, then serve readiness and status until SIGTERM or until the function no longer forwards",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			// The kernel's state stays: it ends with the pod's network namespace, and a restarted
			// container finds it there. What ports keep longer is restored at every end: a container that
			// waits for its next start gets no SIGTERM.
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return run(ctx, config, keys, listen, newLogger())
		},
	}
	configFlag(command, &config)
	command.Flags().StringVar(&keys, "keys", vnf.DefaultKeys, "the folder with an encryption gateway's keys")
	command.Flags().StringVar(&listen, "listen", ":8080", "address and port of /healthz, /readyz and /status")
	return command
}

func run(ctx context.Context, path, keys, listen string, log *slog.Logger) error {
	started := time.Now()
	guard, err := caller.FromEnvironment()
	if err != nil {
		return err
	}
	config, err := vnf.Load(path)
	if err != nil {
		return err
	}
	log = log.With("name", config.Name)
	log.Info("starting", "function", config.Function, "configurationDigest", config.Digest(), "listen", listen)
	meter, err := cpu.NewMeter("/", time.Now)
	if err != nil {
		return err
	}
	function := kernel.New(config, keys, log)
	agent := agent.New(config, function, meter, started, log)

	server, err := serve.Start(listen, guard.Handler(agent.Handler()))
	if err != nil {
		return err
	}
	defer server.Close()

	defer func() {
		if err := function.Release(); err != nil {
			log.Warn("releasing ports", "error", err.Error())
		}
	}()
	if err := function.Apply(); err != nil {
		return fmt.Errorf("applying the configuration: %w", err)
	}
	agent.Configured()
	go watch(ctx, function, agent, log)

	select {
	case <-ctx.Done():
		log.Info("ending")
		return nil
	case err := <-server.Failed():
		return err
	case err := <-agent.Lost():
		// Figures from before and after cannot be combined. The last line that a container writes
		// is the pod's termination message, so a user who looks at the pod finds the reason.
		return fmt.Errorf("the function was ready and no longer forwards: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// watch makes the agent check whenever a link changes. Without the kernel's messages, each call of
// /readyz still checks.
func watch(ctx context.Context, function *kernel.Function, agent *agent.Agent, log *slog.Logger) {
	for {
		err := function.Watch(ctx, func() { _ = agent.Observe() })
		if errors.Is(err, context.Canceled) {
			return
		}
		log.Warn("watching links again", "error", err.Error())
		if clock.Sleep(ctx, watchRetry) != nil {
			return
		}
	}
}
