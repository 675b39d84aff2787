package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

const suspendHelp = `Stop a run where it is, and release its Testbed for others.

The run keeps the trials that have ended; "resume" continues it, and it makes again what
was under way. suite/NAME starts no execution and suspends the active one;
suiterun/NAME is one execution. A run of an execution is suspended with that.`

const resumeHelp = `Continue what "suspend" has stopped: a run, suite/NAME or suiterun/NAME.

A run waits for its Testbed as a new one does.`

func newSuspendCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	return suspending(streams, connect, true, &cobra.Command{
		Use: "suspend {RUN | suite/NAME | suiterun/NAME}", Short: "Stop a run where it is, and release its Testbed", Long: suspendHelp,
		Example: "  kubectl vnfbench suspend router\n  kubectl vnfbench suspend suite/nightly",
	})
}

func newResumeCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	return suspending(streams, connect, false, &cobra.Command{
		Use: "resume {RUN | suite/NAME | suiterun/NAME}", Short: "Continue a run that is suspended", Long: resumeHelp,
		Example: "  kubectl vnfbench resume router\n  kubectl vnfbench resume suite/nightly",
	})
}

// suspending adds to a command what both have in common.
func suspending(streams genericiooptions.IOStreams, connect func() (*cluster, error), suspend bool, command *cobra.Command) *cobra.Command {
	command.Args = runName
	command.ValidArgsFunction = completeRuns(connect)
	command.RunE = func(command *cobra.Command, args []string) error {
		kind, name, err := kindOf(args[0])
		if err != nil {
			return err
		}
		c, err := connect()
		if err != nil {
			return err
		}
		changed, err := c.setSuspend(command.Context(), kind, name, suspend)
		if err != nil {
			return err
		}
		done := map[bool]string{true: "suspended", false: "resumed"}[suspend]
		if !changed {
			done = map[bool]string{true: "is suspended already", false: "is not suspended"}[suspend]
		}
		fmt.Fprintf(streams.Out, "%s %s/%s %s\n", kind, c.namespace, name, done)
		return nil
	}
	return command
}

// setSuspend sets spec.suspend of a run, a suite or an execution. It reports whether that has changed.
func (c *cluster) setSuspend(ctx context.Context, kind, name string, suspend bool) (changed bool, err error) {
	object, is, why, err := c.suspendable(ctx, kind, name)
	switch {
	case err != nil:
		return false, err
	case is == suspend:
		return false, nil
	case why != "":
		return false, fmt.Errorf("%s %q %s", kind, name, why)
	}
	// Of another object with the name nothing changes.
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"suspend":%t}}`, object.GetUID(), suspend)
	if err := c.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return false, fmt.Errorf("changing spec.suspend of %s %q: %w", kind, name, explain(err))
	}
	return true, nil
}

// suspendable gets an object, whether it is suspended, and why that cannot change.
func (c *cluster) suspendable(ctx context.Context, kind, name string) (object client.Object, is bool, why string, err error) {
	switch kind {
	case kindRun:
		run, err := c.run(ctx, name)
		if err != nil {
			return nil, false, "", err
		}
		if outcomeOf(run) != nil {
			why = "has ended"
		} else if owner := metav1.GetControllerOf(run); owner != nil && owner.Kind == kindSuiteRun {
			why = fmt.Sprintf("is measured by an execution, which decides whether it is suspended: use suiterun/%s", owner.Name)
		}
		return run, run.Spec.Suspend, why, nil
	case kindSuite:
		suite, err := c.suite(ctx, name)
		if err == nil && suite == nil {
			err = fmt.Errorf("namespace %q has no BenchmarkSuite %q", c.namespace, name)
		}
		if err != nil {
			return nil, false, "", err
		}
		return suite, suite.Spec.Suspend, "", nil
	}
	execution, err := c.suiteRun(ctx, name)
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("namespace %q has no BenchmarkSuiteRun %q", c.namespace, name)
	}
	if err != nil {
		return nil, false, "", err
	}
	if ended := meta.FindStatusCondition(execution.Status.Conditions, v1alpha1.ConditionSucceeded); ended != nil && ended.Status != metav1.ConditionUnknown {
		why = "has ended"
	}
	return execution, execution.Spec.Suspend, why, nil
}
