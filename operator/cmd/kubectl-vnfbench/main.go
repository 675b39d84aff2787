// Command kubectl-vnfbench is kubectl's plugin for benchmark runs: "kubectl vnfbench watch" follows
// a run to its end, "kubectl vnfbench report" writes its result, "kubectl vnfbench compare"
// compares results, "kubectl vnfbench export" writes all that is known about a run to a file, "kubectl
// vnfbench replay" works out the figures of a result again, and "kubectl vnfbench distribution" writes any
// percentile of its delays. "kubectl vnfbench suite" shows the cells of a suite, "kubectl vnfbench series" keeps
// the figures of runs as series, and "kubectl vnfbench judge" finds regressions in them. "kubectl vnfbench study" compares
// suites with what a study has published. "kubectl vnfbench ui" opens the pages of results in a browser.
// docs/reference/plugin.md lists all commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"vnfbench.io/operator/internal/excerpt"
)

// version is set by the linker in a release.
var version = "development"

// Exit codes. They are part of the command's contract.
const (
	exitSucceeded    = 0
	exitFailed       = 1
	exitError        = 2
	exitTimeout      = 3
	exitInconclusive = 4
)

// exit is an error that carries an exit code.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

// errRunFailed is returned after its cause was already written in full: a run failed, or a replay
// found other values, or a figure became worse.
var errRunFailed = errors.New("the run failed")

func main() {
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := execute(ctx, newCommand(streams), streams)
	stop()
	os.Exit(code)
}

// execute runs the command and returns its exit code.
func execute(ctx context.Context, command *cobra.Command, streams genericiooptions.IOStreams) int {
	return printError(command.ExecuteContext(ctx), streams)
}

// printError writes an error in one line and returns its exit code.
func printError(err error, streams genericiooptions.IOStreams) int {
	if err == nil {
		return exitSucceeded
	}
	code := exitError
	if e := (*exit)(nil); errors.As(err, &e) {
		code = e.code
	}
	if !errors.Is(err, errRunFailed) {
		// A document or an object of the cluster decides what is in it.
		fmt.Fprintf(streams.ErrOut, "error: %s\n", excerpt.Printable(err.Error()))
	}
	return code
}

func newCommand(streams genericiooptions.IOStreams) *cobra.Command {
	flags := genericclioptions.NewConfigFlags(true)
	return newCommandWith(streams, flags, func() (*cluster, error) { return newCluster(flags) })
}

// newCommandWith returns the command with a way to connect to the cluster.
func newCommandWith(streams genericiooptions.IOStreams, flags *genericclioptions.ConfigFlags, connect func() (*cluster, error)) *cobra.Command {
	command := &cobra.Command{
		Use:           "kubectl-vnfbench",
		Short:         "Make and follow benchmark runs, and read their results",
		Version:       version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl vnfbench"},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	command.SetIn(streams.In)
	command.SetOut(streams.Out)
	command.SetErr(streams.ErrOut)
	flags.AddFlags(command.PersistentFlags())

	command.AddCommand(newWatchCommand(streams, connect), newReportCommand(streams, connect), newCompareCommand(streams, connect),
		newExportCommand(streams, connect), newReplayCommand(streams), newDistributionCommand(streams),
		newSuiteCommand(streams, connect), newSeriesCommand(streams, connect), newJudgeCommand(streams, connect), newStudyCommand(streams), newUICommand(streams, flags),
		newDoctorCommand(streams, connect), newValidateCommand(streams), newPlanCommand(streams, connect), newListCommand(streams, connect),
		newRunCommand(streams, connect), newRerunCommand(streams, connect), newSuspendCommand(streams, connect), newResumeCommand(streams, connect),
		newLogsCommand(streams, connect), newCollectCommand(streams, connect))
	return command
}

// runName accepts exactly one name of a run: "router".
func runName(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("give the name of exactly one BenchmarkRun, not %d; `kubectl get benchmarkruns` lists them", len(args))
	}
	return nil
}

// completeFurtherRuns offers the names of the namespace's runs that are not on the line yet.
func completeFurtherRuns(connect func() (*cluster, error)) cobra.CompletionFunc {
	complete := completeRuns(connect)
	return func(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		names, directive := complete(command, nil, word)
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), directive
	}
}

// completeRuns offers the names of the namespace's runs.
func completeRuns(connect func() (*cluster, error)) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names, err := c.runNames(command.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
