//go:build linux

// Package noisy runs a noisy neighbor as a virtual machine: the work of a guest's
// second process. The neighbor's configuration goes in; an agent that loads the
// machine on request, or a clear reason why it does not, comes out, on the
// console and over HTTP.
package noisy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/guest"
	"vnfbench.io/operator/internal/neighbor"
)

// program is stress-ng in the guest's file system. There is no PATH in a guest.
const program = "/usr/bin/stress-ng"

// Run is the second process: it sets the machine up as a neighbor and follows
// the measurer's requests, until the context ends or the power button is pushed.
// failed, when set, is why the process before it ended: then Run only reports
// that.
//
// The console and the agent report every failure. Run returns only what makes
// this report impossible.
func Run(ctx context.Context, failed string, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if _, err := guest.Boot(ctx, cancel, log); err != nil {
		return err
	}
	agent, err := neighbor.NewInGuest(program, neighbor.Scratch, log)
	if err != nil {
		return err
	}
	defer agent.Stop()
	userData, config, problem := configure(ctx)
	if failed != "" {
		problem = errors.New(failed)
	}
	var guard *caller.Guard // without a configuration the agent starts nothing
	if config != nil {
		if guard, err = config.Caller.Guard(); err != nil {
			return err
		}
	}
	cards, err := guest.FindCards(ctx, userData, log)
	if ctx.Err() != nil {
		return nil // the power button, while it was starting
	}
	if err != nil {
		return err
	}
	cards.Serve(ctx, neighbor.Port, guard.Handler(agent.Handler()), log)
	var noDisk error
	if problem == nil {
		noDisk, problem = setUp(ctx, config, cards, log)
	}
	if problem != nil {
		agent.Fail(problem)
	} else {
		agent.Ready(noDisk)
	}
	<-ctx.Done()
	return nil
}

// configure reads the configuration. Without one, problem gives the reason, and
// userData is what was read.
func configure(ctx context.Context) (userData []byte, config *neighbor.GuestConfig, problem error) {
	userData, err := guest.Seed(ctx)
	if err != nil {
		return nil, nil, err
	}
	config, err = neighbor.ParseGuestConfig(userData)
	if err != nil {
		return userData, nil, fmt.Errorf("user-data: %w", err)
	}
	return userData, config, nil
}

// setUp makes the ports and the scratch folder ready. noDisk is why the folder is
// in memory.
func setUp(ctx context.Context, config *neighbor.GuestConfig, cards guest.Cards, log *slog.Logger) (noDisk, problem error) {
	for _, port := range config.Ports {
		if err := setUpPort(port, cards, log); err != nil {
			return nil, fmt.Errorf("port %q: %w", port.Name, err)
		}
	}
	return mountScratch(ctx, log)
}
