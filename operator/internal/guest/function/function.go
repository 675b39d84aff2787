//go:build linux

// Package function runs a network function as a virtual machine: the work of a
// guest's second process. The function's configuration and the disk of keys go
// in; a function that forwards, or a clear reason why it does not, comes out, on
// the console and over HTTP.
package function

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/guest"
	"vnfbench.io/operator/internal/guest/modules"
	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/agent"
	"vnfbench.io/operator/internal/vnf/cpu"
	"vnfbench.io/operator/internal/vnf/kernel"
)

// Port is the port of /healthz, /readyz and /status, as in a pod.
const Port = 8080

// watchRetry is the wait before the next subscription to the kernel's messages.
const watchRetry = time.Second

// Run is the second process: it makes the machine a network function and reports
// its state, until the context ends or the power button is pushed. failed, when
// set, is why the process before it ended: then Run only reports that.
//
// The console and /readyz show every failure. Run returns only what makes this
// report impossible.
func Run(ctx context.Context, failed string, log *slog.Logger) error {
	started := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	index, err := guest.Boot(ctx, cancel, log)
	if err != nil {
		return err
	}
	meter, err := cpu.NewGuestMeter("/", time.Now)
	if err != nil {
		return err
	}
	userData, config, problem := configure(ctx, log)
	if failed != "" {
		problem = errors.New(failed)
	}
	var function *kernel.Function
	var guard *caller.Guard // without a configuration there is nothing to keep
	reporter := agent.NewBroken(meter, started, log)
	if config != nil {
		if guard, err = config.Caller.Guard(); err != nil {
			return err
		}
		log = log.With("name", config.Name)
		log.Info("starting", "function", config.Function, "configurationDigest", config.Digest())
		if err := loadModules(index, config.Needs(), log); err != nil {
			log.Warn("loading modules", "problem", err.Error())
		}
		function = kernel.New(config, KeysDirectory, log)
		reporter = agent.New(config, function, meter, started, log)
	}
	cards, err := guest.FindCards(ctx, userData, log)
	if ctx.Err() != nil {
		return nil // the power button, while it was starting
	}
	if err != nil {
		return err
	}
	cards.Serve(ctx, Port, guard.Handler(reporter.Handler()), log)
	if problem == nil {
		problem = apply(config, function, cards, log)
	}
	if problem != nil {
		reporter.Fail(problem)
		<-ctx.Done()
		return nil
	}
	follow(ctx, function, reporter, log)
	return nil
}

// follow watches a configured function. One that was ready and stops being ready
// stays not ready, whatever the kernel reports later.
func follow(ctx context.Context, function *kernel.Function, reporter *agent.Agent, log *slog.Logger) {
	reporter.Configured()
	go watch(ctx, function, reporter, log)
	select {
	case <-ctx.Done():
	case err := <-reporter.Lost():
		reporter.Fail(fmt.Errorf("the function was ready and no longer forwards: %s", strings.ReplaceAll(err.Error(), "\n", "; ")))
		<-ctx.Done()
	}
}

// loadModules loads what the function needs and the kernel does not load on
// demand. The kernel tests each accelerated cipher, which takes seconds on an
// emulated processor, so functions that encrypt nothing do without.
func loadModules(index *modules.Index, needs vnf.Needs, log *slog.Logger) error {
	var problems []error
	if needs.Ciphers {
		loaded, err := index.Processor(os.DirFS("/sys"))
		log.Info("modules for this machine's processor", "modules", strings.Join(loaded, " "))
		problems = append(problems, err)
	}
	for _, name := range needs.Modules {
		if _, err := index.Load(name); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// configure reads the configuration. Without one, problem gives the reason, and
// userData is what was read.
func configure(ctx context.Context, log *slog.Logger) (userData []byte, config *vnf.Config, problem error) {
	userData, err := guest.Seed(ctx)
	if err != nil {
		return nil, nil, err
	}
	// For every function: a console that names keys helps to find them.
	if err := findKeys(log); err != nil {
		return userData, nil, err
	}
	config, err = vnf.Parse(userData)
	if err != nil {
		return userData, nil, fmt.Errorf("user-data: %w", err)
	}
	if config.Needs().Keys {
		if err := awaitKeys(ctx, log); err != nil {
			return userData, nil, err
		}
	}
	return userData, config, nil
}

// apply tunes the measured cards and puts the configuration into the kernel.
func apply(config *vnf.Config, function *kernel.Function, cards guest.Cards, log *slog.Logger) error {
	for _, port := range config.Ports {
		card, found := cards.Port(port.MAC)
		if !found {
			continue // Apply reports that there is none
		}
		queues, err := guest.Tune(card.Interface)
		if err != nil {
			return fmt.Errorf("port %q: %w", port.Name, err)
		}
		log.Info("tuned", "port", port.Name, "interface", card.Interface, "queues", queues)
	}
	if err := function.Apply(); err != nil {
		return fmt.Errorf("applying the configuration: %w", err)
	}
	return nil
}

// watch has the agent check whenever a link changed. Without the kernel's
// messages, each call of /readyz still checks.
func watch(ctx context.Context, function *kernel.Function, reporter *agent.Agent, log *slog.Logger) {
	for {
		err := function.Watch(ctx, func() { _ = reporter.Observe() })
		if ctx.Err() != nil {
			return
		}
		log.Warn("watching links again", "error", err.Error())
		if clock.Sleep(ctx, watchRetry) != nil {
			return
		}
	}
}
