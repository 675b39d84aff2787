package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
)

const watchHelp = `Follow a BenchmarkRun until it has ended.

On a terminal one line is kept up to date; elsewhere a line is written for each
change. The watch continues through restarts of the API server.

Exit codes: 0 the run succeeded, 1 it failed (not measured, or a criterion was
missed), 2 any other error, 3 the timeout has passed and the run continues, 4 the
run was measured, missed no criterion, and its figures cannot decide one.`

func newWatchCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var timeout time.Duration
	command := &cobra.Command{
		Use:               "watch RUN",
		Short:             "Follow a run until it has ended",
		Long:              watchHelp,
		Example:           "  kubectl vnfbench watch router --timeout 30m",
		Args:              runName,
		ValidArgsFunction: completeRuns(connect),
		RunE: func(command *cobra.Command, args []string) error {
			if timeout < 0 {
				return fmt.Errorf("--timeout is %s and must not be negative", timeout)
			}
			c, err := connect()
			if err != nil {
				return err
			}
			return watchRun(command.Context(), watching{
				source:  c.source(args[0]),
				run:     c.namespace + "/" + args[0],
				missing: notFound(c.namespace, args[0]),
				timeout: timeout,
				streams: streams,
				display: newDisplay(streams.Out),
				pause:   clock.Sleep,
			})
		},
	}
	command.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait for the run's end, such as 30m; 0 waits without a limit")
	return command
}

// watching is everything that watchRun needs.
type watching struct {
	source  source
	run     string
	missing error
	timeout time.Duration
	streams genericiooptions.IOStreams
	display display
	pause   func(context.Context, time.Duration) error
}

// watchRun follows the run and returns its verdict as an error with an exit code.
func watchRun(ctx context.Context, w watching) error {
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	narrator := &narrator{display: w.display}
	follower := follower{source: w.source, observer: narrator, missing: w.missing, pause: w.pause}
	err := follower.follow(ctx)
	w.display.close()
	last := narrator.last
	switch {
	case err == nil:
		fmt.Fprintln(w.streams.Out, last.end(w.run))
		switch {
		case last.outcome.Status == metav1.ConditionTrue:
			return nil
		case last.outcome.Reason == v1alpha1.ReasonInconclusive:
			return &exit{exitInconclusive, errRunFailed}
		}
		return &exit{exitFailed, errRunFailed}
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		if last.stage == "" {
			return &exit{exitTimeout, fmt.Errorf("timed out after %s, and the API server has not answered", w.timeout)}
		}
		return &exit{exitTimeout, fmt.Errorf("timed out after %s; BenchmarkRun %s continues: %s", w.timeout, w.run, last.text())}
	case ctx.Err() != nil:
		return &exit{exitError, fmt.Errorf("interrupted; BenchmarkRun %s continues", w.run)}
	}
	return &exit{exitError, fmt.Errorf("watching BenchmarkRun %s: %w", w.run, err)}
}
