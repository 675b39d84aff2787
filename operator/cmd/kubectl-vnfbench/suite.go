package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
and its suite has judged the series after it, with all confirmations.

Exit codes without --watch: 0 the table was written, 2 it was not. With --watch: 0 every
measurement succeeded, 1 the execution failed, or the gate of the suite selects a regression
or a series that is Inconclusive, selects no series, or could not be judged, 2 any other error.`

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
			execution, err := c.execution(command.Context(), args[0])
			if err != nil {
				return err
			}
			if s.watch {
				return watchSuite(command.Context(), c, execution.Name, streams.Out, clock.Sleep)
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
	var suite v1alpha1.BenchmarkSuite
	err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &suite)
	switch {
	case apierrors.IsNotFound(err):
		execution, err := c.suiteRun(ctx, name)
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("namespace %q has no BenchmarkSuite and no BenchmarkSuiteRun %q; `kubectl get benchmarksuites,benchmarksuiteruns` lists them", c.namespace, name)
		}
		return execution, err
	case err != nil:
		return nil, explain(err)
	case suite.Status.LastExecution == nil:
		return nil, fmt.Errorf("BenchmarkSuite %q has no execution yet: %s", name, whyNotExecuted(&suite))
	}
	execution, err := c.suiteRun(ctx, suite.Status.LastExecution.Name)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("BenchmarkSuiteRun %q, the latest execution of BenchmarkSuite %q, was deleted", suite.Status.LastExecution.Name, name)
	}
	return execution, err
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

// runsInPage is how many runs are read at a time. Each has all its figures.
const runsInPage = 50

// outcomes returns what the report of an execution takes from those of its runs that exist, by their names.
func (c *cluster) outcomes(ctx context.Context, execution *v1alpha1.BenchmarkSuiteRun) (map[string]report.RunOutcome, error) {
	found := map[string]report.RunOutcome{}
	for next := ""; ; {
		var page v1alpha1.BenchmarkRunList
		err := c.client.List(ctx, &page, client.InNamespace(execution.Namespace), client.MatchingLabels{v1alpha1.LabelSuiteRun: execution.Name}, client.Limit(runsInPage), client.Continue(next))
		if err != nil {
			return nil, fmt.Errorf("listing the runs of BenchmarkSuiteRun %q: %w", execution.Name, explain(err))
		}
		for i := range page.Items {
			if metav1.IsControlledBy(&page.Items[i], execution) {
				found[page.Items[i].Name] = report.OutcomeOf(&page.Items[i])
			}
		}
		if next = page.Continue; next == "" {
			return found, nil
		}
	}
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
	var suite v1alpha1.BenchmarkSuite
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: owner.Name}, &suite); apierrors.IsNotFound(err) {
		return nil, nil // it is being deleted with the execution
	} else if err != nil {
		return nil, explain(err)
	}
	if suite.UID != owner.UID {
		return nil, nil
	}
	return &suite, nil
}

// judged returns what the suite says of the series after an execution, or nil.
func judged(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) *v1alpha1.RegressionStatus {
	if suite == nil || suite.Status.Regression == nil || suite.Status.Regression.Execution != execution.Name {
		return nil
	}
	return suite.Status.Regression
}

// hasEnded returns the condition Succeeded of an execution that has ended, or nil.
func hasEnded(execution *v1alpha1.BenchmarkSuiteRun) *metav1.Condition {
	if c := meta.FindStatusCondition(execution.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil && c.Status != metav1.ConditionUnknown {
		return c
	}
	return nil
}

// isSettled reports whether nothing more will be said of the series after an execution that has ended: its suite judges nothing, has
// judged them with all confirmations, or has gone on to another execution, or cannot be executed.
func isSettled(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) bool {
	if suite == nil || suite.Spec.Regression == nil {
		return true
	}
	if last := suite.Status.LastExecution; last != nil && last.Name != execution.Name {
		return true
	}
	if suite.Status.ObservedGeneration != suite.Generation {
		return false
	}
	if r := judged(suite, execution); r != nil {
		return r.Confirmation == nil
	}
	ready := meta.FindStatusCondition(suite.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionFalse
}

// failsSuite reports whether series fail the suite, or its gate selects none or could not be judged.
func failsSuite(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) bool {
	r := judged(suite, execution)
	if r == nil || suite.Spec.Regression == nil {
		return false
	}
	isGated := slices.ContainsFunc(r.Verdicts, func(v v1alpha1.SeriesVerdict) bool { return v.Gated })
	return isGated || (r.Problem != "" || r.GateProblem != "") && len(suite.Spec.Regression.Gate) > 0
}

// stateOf reads what there is around an execution of a suite, which may be nil.
func (c *cluster) stateOf(ctx context.Context, suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) (report.SuiteState, error) {
	state := report.SuiteState{Judged: judged(suite, execution)}
	state.IsToJudge = hasEnded(execution) != nil && state.Judged == nil && !isSettled(suite, execution)
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

// clearScreen moves the cursor to the corner and erases what follows (ECMA-48 CUP and ED).
const clearScreen = "\x1b[H\x1b[J"

// watchSuite shows an execution until it has ended and the series after it are judged, and returns the outcome as an error with an exit
// code. The API server may be away meanwhile.
func watchSuite(ctx context.Context, c *cluster, name string, out io.Writer, pause func(context.Context, time.Duration) error) error {
	before, erase, until := "", "", "it ended"
	if isTerminal(out) {
		erase = clearScreen
	}
	for {
		suite, execution, text, err := c.look(ctx, name)
		switch {
		case ctx.Err() != nil:
			return &exit{exitError, fmt.Errorf("interrupted; BenchmarkSuiteRun %s/%s continues", c.namespace, name)}
		case apierrors.IsNotFound(err):
			return fmt.Errorf("BenchmarkSuiteRun %q was deleted before %s", name, until)
		case err != nil && before == "":
			return err
		case err == nil && string(text) != before:
			fmt.Fprintf(out, "%s%s\n", erase, text)
			before = string(text)
		}
		if err == nil {
			if c := hasEnded(execution); c != nil {
				until = "its series were judged"
				if isSettled(suite, execution) {
					if c.Status == metav1.ConditionTrue && !failsSuite(suite, execution) {
						return nil
					}
					return &exit{exitFailed, errRunFailed}
				}
			}
		}
		if err := pause(ctx, suiteInterval); err != nil {
			return &exit{exitError, fmt.Errorf("interrupted; BenchmarkSuiteRun %s/%s continues", c.namespace, name)}
		}
	}
}

// look reads an execution and its suite, and shows them as text. The suite is read last: what it says of an execution that has ended is not
// older than its end.
func (c *cluster) look(ctx context.Context, name string) (*v1alpha1.BenchmarkSuite, *v1alpha1.BenchmarkSuiteRun, []byte, error) {
	execution, err := c.suiteRun(ctx, name)
	if err != nil {
		return nil, nil, nil, err
	}
	suite, err := c.suiteOf(ctx, execution)
	if err != nil {
		return nil, nil, nil, err
	}
	text, err := c.render(ctx, suite, execution, report.FormatTable)
	return suite, execution, text, err
}
