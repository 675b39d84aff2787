// Package cli is the command line of the lab. Arguments go in; an exit code
// comes out. What a person reads goes to the standard error stream, what a
// script reads to the standard output.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"vnfbench.io/test/lab/internal/build"
	"vnfbench.io/test/lab/internal/doctor"
	"vnfbench.io/test/lab/internal/lab"
	"vnfbench.io/test/lab/internal/progress"
)

// Main runs the program and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && errors.Is(err, errProgram):
		return max(exit.ExitCode(), 1) // it already reported what was wrong
	case errors.Is(err, errQuiet):
		return 1
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	if errors.Is(err, doctor.ErrUnfit) || errors.Is(err, build.ErrUnavailable) {
		return exitUnfit
	}
	return 1
}

// exitUnfit means to scripts that nothing failed: this machine cannot do what the user asked for,
// or its module proxy does not let it.
const exitUnfit = 3

var (
	// errProgram marks the failure of a program that the user asked for.
	errProgram = errors.New("the program failed")
	// errQuiet is a failure that was shown already.
	errQuiet = errors.New("not ready")
)

// app is what the sub-commands share.
type app struct{ settings lab.Settings }

func (a *app) lab() lab.Lab {
	return lab.Lab{Settings: a.settings, Log: progress.New(os.Stderr)}
}

func newRoot() *cobra.Command {
	a := &app{}
	root := &cobra.Command{
		Use:           "lab",
		Short:         "A Kubernetes cluster of one node or two in separate namespaces",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	a.addFlags(root)
	root.AddCommand(
		a.up(), a.down(), a.kill(), a.status(), a.shell(), a.kubeconfig(), a.kubectl(),
		a.load(), a.assets(), a.doctor(), imageCommand(), imagesCommand(), a.guest(), a.flux(), a.argoCD(), a.kubeVirt(), nodeCommand(),
	)
	return root
}
