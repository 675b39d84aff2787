package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/report"
)

const suiteHelp = `Show the cells of the latest execution of a BenchmarkSuite, or of one BenchmarkSuiteRun,
and the verdicts of the series after it where the suite has spec.regression.

With --watch the table is shown again whenever it has changed, until the execution has ended
and its suite has judged the series after it, with all confirmations. With the name of a suite,
it first waits until the operator has seen the suite as it is, and for an execution that is due.

Exit codes without --watch: 0 the table was written, 2 it was not. With --watch: 0 every
measurement succeeded, 1 the execution failed, the suite cannot be executed, or its gate selects
a regression or a series that is Inconclusive, selects no series, or could not be judged, 2 any
other error.`

// suiteInterval is how often --watch looks.
const suiteInterval = 2 * time.Second

// showing is what the user asks for.
type showing struct {
	format     string
	outputFile string
	watch      bool
}

func newSuiteCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var s showing
	command := &cobra.Command{
		Use:   "suite NAME",
		Short: "Show the cells of a suite",
		Long:  suiteHelp,
		Example: "  kubectl vnfbench suite nightly\n" +
			"  kubectl vnfbench suite nightly --watch\n" +
			"  kubectl vnfbench suite nightly-7 -o csv --output-file nightly-7.csv",
		Args: suiteName,
		RunE: func(command *cobra.Command, args []string) error {
			format, err := s.check()
			if err != nil {
				return err
			}
			c, err := connect()
			if err != nil {
				return err
			}
			if s.watch {
				return watchSuite(command.Context(), c, args[0], streams.Out, clock.Sleep)
			}
			execution, err := c.execution(command.Context(), args[0])
			if err != nil {
				return err
			}
			return s.write(command.Context(), c, execution, format, streams)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&s.format, "output", "o", string(report.FormatTable), "format: "+namesOf(report.SuiteFormats()))
	flags.StringVar(&s.outputFile, "output-file", "", "write to this file instead of the standard output")
	flags.BoolVarP(&s.watch, "watch", "w", false, "show the table until the execution has ended and its series are judged")
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(strings.Split(namesOf(report.SuiteFormats()), ", "), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// suiteName accepts exactly one name.
func suiteName(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("give the name of exactly one BenchmarkSuite or BenchmarkSuiteRun, not %d; `kubectl get benchmarksuites,benchmarksuiteruns` lists them", len(args))
	}
	return nil
}

func (s showing) check() (report.Format, error) {
	format := report.Format(s.format)
	if !slices.Contains(report.SuiteFormats(), format) {
		return "", fmt.Errorf("unknown format %q: use one of %s", s.format, namesOf(report.SuiteFormats()))
	}
	if s.watch && (format != report.FormatTable || s.outputFile != "") {
		return "", errors.New("--watch shows a table: leave out --output and --output-file")
	}
	return format, nil
}

// execution finds the latest execution of a suite, or the execution that has the name itself.
func (c *cluster) execution(ctx context.Context, name string) (*v1alpha1.BenchmarkSuiteRun, error) {
	suite, err := c.suite(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case suite == nil:
		execution, err := c.suiteRun(ctx, name)
		if apierrors.IsNotFound(err) {
			return nil, c.noSuch(name)
		}
		return execution, err
	case suite.Status.LastExecution == nil:
		return nil, notExecuted(suite)
	}
	execution, err := c.suiteRun(ctx, suite.Status.LastExecution.Name)
	if apierrors.IsNotFound(err) {
		return nil, deletedLatest(suite)
	}
	return execution, err
}

// suite gets a BenchmarkSuite; nil where there is none of the name.
func (c *cluster) suite(ctx context.Context, name string) (*v1alpha1.BenchmarkSuite, error) {
	var suite v1alpha1.BenchmarkSuite
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &suite); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, explain(err)
	}
	return &suite, nil
}

func (c *cluster) noSuch(name string) error {
	return fmt.Errorf("namespace %q has no BenchmarkSuite and no BenchmarkSuiteRun %q; `kubectl get benchmarksuites,benchmarksuiteruns` lists them", c.namespace, name)
}

func notExecuted(suite *v1alpha1.BenchmarkSuite) error {
	return fmt.Errorf("BenchmarkSuite %q has no execution yet: %s", suite.Name, whyNotExecuted(suite))
}

func deletedLatest(suite *v1alpha1.BenchmarkSuite) error {
	return fmt.Errorf("BenchmarkSuiteRun %q, the latest execution of BenchmarkSuite %q, was deleted", suite.Status.LastExecution.Name, suite.Name)
}

func whyNotExecuted(suite *v1alpha1.BenchmarkSuite) string {
	for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionSucceeded} {
		if c := meta.FindStatusCondition(suite.Status.Conditions, kind); c != nil {
			return c.Reason + ": " + c.Message
		}
	}
	return "waiting for the operator"
}

func (c *cluster) suiteRun(ctx context.Context, name string) (*v1alpha1.BenchmarkSuiteRun, error) {
	var execution v1alpha1.BenchmarkSuiteRun
	err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &execution)
	return &execution, explain(err)
}

// activeRun returns the run that an execution measures at the moment, or nil.
func (c *cluster) activeRun(ctx context.Context, execution *v1alpha1.BenchmarkSuiteRun) (*v1alpha1.BenchmarkRun, error) {
	if execution.Status.ActiveRun == "" {
		return nil, nil
	}
	var run v1alpha1.BenchmarkRun
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: execution.Status.ActiveRun}, &run); apierrors.IsNotFound(err) {
		return nil, nil // it is not made yet, or it has just ended
	} else if err != nil {
		return nil, explain(err)
	}
	return &run, nil
}

// suiteOf returns the suite of an execution, or nil: it was made by hand, or its suite is deleted or has another UID.
func (c *cluster) suiteOf(ctx context.Context, execution *v1alpha1.BenchmarkSuiteRun) (*v1alpha1.BenchmarkSuite, error) {
	owner := metav1.GetControllerOf(execution)
	if owner == nil || owner.Kind != kindSuite {
		return nil, nil
	}
	suite, err := c.suite(ctx, owner.Name)
	if suite == nil || suite.UID != owner.UID {
		return nil, err // without an error, it is being deleted with the execution
	}
	return suite, nil
}

// stateOf reads what there is around an execution of a suite, which may be nil.
func (c *cluster) stateOf(ctx context.Context, suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) (report.SuiteState, error) {
	state := report.StateOf(suite, execution)
	var err error
	if state.Active, err = c.activeRun(ctx, execution); err != nil || state.Judged == nil {
		return state, err
	}
	asked := state.Judged.Confirmation
	if asked == nil || asked.UID == "" {
		return state, nil
	}
	confirmation, err := c.suiteRun(ctx, asked.Name)
	switch {
	case apierrors.IsNotFound(err):
		return state, nil // it was deleted, and the operator has not seen it yet
	case err != nil:
		return state, err
	case string(confirmation.UID) != asked.UID:
		return state, nil
	}
	state.Confirmation = confirmation
	state.Confirming, err = c.activeRun(ctx, confirmation)
	return state, err
}

// render returns an execution of a suite, which may be nil, as text.
func (c *cluster) render(ctx context.Context, suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun, format report.Format) ([]byte, error) {
	state, err := c.stateOf(ctx, suite, execution)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = report.WriteSuite(&text, execution, state, format, report.Options{ASCII: !unicodeLocale(os.Getenv)})
	return text.Bytes(), err
}

func (s showing) write(ctx context.Context, c *cluster, execution *v1alpha1.BenchmarkSuiteRun, format report.Format, streams genericiooptions.IOStreams) error {
	suite, err := c.suiteOf(ctx, execution)
	if err != nil {
		return err
	}
	text, err := c.render(ctx, suite, execution, format)
	if err != nil {
		return err
	}
	if s.outputFile == "" {
		_, err = streams.Out.Write(text)
		return err
	}
	return os.WriteFile(s.outputFile, text, 0o644)
}
