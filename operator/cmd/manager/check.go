package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/internal/commandline"
	"vnfbench.io/operator/internal/controller"
	"vnfbench.io/operator/internal/controller/installation"
)

// checkCommand is the first argument with which the program checks an installation: the pod of `helm test` does.
const checkCommand = "check"

// requestTimeout ends a request of a check that the API server does not answer.
const requestTimeout = 10 * time.Second

// checkOptions are the command line of a check.
type checkOptions struct {
	namespace   string
	deployments commandline.List
	timeout     time.Duration

	log commandline.Log
}

func parseCheck(arguments []string, output io.Writer) (*checkOptions, error) {
	o := &checkOptions{}
	flags := flag.NewFlagSet("manager check", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.namespace, "namespace", "", "the operator's namespace, which has the Deployments and takes a run by a dry run (required)")
	flags.Var(&o.deployments, "deployment", "Deployment that has to be ready; may be given several times (required)")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "how long checks are repeated until all succeed")
	o.log.Add(flags)
	// The first argument is the command.
	if err := flags.Parse(arguments[1:]); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.namespace == "":
		return nil, errors.New("flag -namespace is required")
	case len(o.deployments) == 0:
		return nil, errors.New("flag -deployment is required")
	}
	return o, o.log.Check()
}

// check checks an installation, and prints the result of each check.
func check(ctx context.Context, o *checkOptions) error {
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	return checkIn(ctx, cluster, o, os.Stdout)
}

func checkIn(ctx context.Context, cluster *rest.Config, o *checkOptions, out io.Writer) error {
	cluster.Timeout = requestTimeout
	scheme, err := controller.Scheme()
	if err != nil {
		return err
	}
	c, err := client.New(cluster, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", cluster.Host, err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(cluster)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", cluster.Host, err)
	}
	i := &installation.Installation{Client: c, Discovery: kinds, Namespace: o.namespace, Deployments: o.deployments}
	failed := 0
	results := i.Wait(ctx, o.timeout)
	for _, r := range results {
		line := "OK    " + r.Check
		if r.Err != nil {
			failed++
			line = "FAIL  " + r.Check + ": " + r.Err.Error()
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(results))
	}
	return nil
}
