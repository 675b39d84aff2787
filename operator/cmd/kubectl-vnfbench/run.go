package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/validate"
)

const runHelp = `Create the BenchmarkRuns of a manifest, and follow one with --watch.

FILE is YAML or JSON with runs alone; "-" reads the standard input. Apply Testbeds, suites
and everything else by "kubectl apply". The API server refuses unknown fields. Nothing is
created if a document is no run, or cannot be read.

Exit codes without --watch: 0 all runs were created, 2 not all. With --watch, those of
"watch".`

const rerunHelp = `Create a run with the experiment of another one, under a new name.

The new run has the spec, the labels and the annotations of RUN, without those by which
it belongs to a suite. It is not suspended. Without --name it is RUN with the next free
number: router, router-2, router-3.

Exit codes without --watch: 0 the run was created, 2 it was not. With --watch, those of
"watch".`

// starting is what the user asks for.
type starting struct {
	name    string
	watch   bool
	timeout time.Duration
}

func (s *starting) addFlags(command *cobra.Command) {
	command.Flags().BoolVarP(&s.watch, "watch", "w", false, "follow the run until it has ended")
	command.Flags().DurationVar(&s.timeout, "timeout", 0, "with --watch, how long to wait for the run's end, such as 30m; 0 waits without a limit")
}

func (s *starting) check() error {
	switch {
	case s.timeout < 0:
		return fmt.Errorf("--timeout is %s and must not be negative", s.timeout)
	case s.timeout > 0 && !s.watch:
		return errors.New("--timeout is for --watch: add that, or leave it out")
	}
	return nil
}

func newRunCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var s starting
	command := &cobra.Command{
		Use:     "run FILE",
		Short:   "Create the runs of a manifest",
		Long:    runHelp,
		Example: "  kubectl vnfbench run router.yaml --watch\n  kubectl vnfbench run - < router.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return fmt.Errorf("give the name of exactly one file with BenchmarkRuns, not %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeManifests(command, args, word)
		},
		RunE: func(command *cobra.Command, args []string) error {
			if err := s.check(); err != nil {
				return err
			}
			runs, err := readRuns(args[0], streams)
			if err != nil {
				return err
			}
			if s.watch && len(runs) != 1 {
				return fmt.Errorf("--watch follows one run, and %s has %d: leave --watch out, or give one", args[0], len(runs))
			}
			c, err := connect()
			if err != nil {
				return err
			}
			for _, run := range runs {
				if run.GetNamespace() == "" {
					run.SetNamespace(c.namespace)
				}
				if err := c.create(command.Context(), run); err != nil {
					return fmt.Errorf("creating BenchmarkRun %s: %w", run.GetName()+run.GetGenerateName(), err)
				}
				if err := s.created(command.Context(), c, run.GetNamespace(), run.GetName(), streams); err != nil {
					return err
				}
			}
			return nil
		},
	}
	s.addFlags(command)
	return command
}

// readRuns reads the runs of a manifest.
func readRuns(file string, streams genericiooptions.IOStreams) ([]*unstructured.Unstructured, error) {
	documents, findings, err := readManifests([]string{file}, streams.In)
	if err != nil {
		return nil, err
	}
	if len(findings) > 0 {
		return nil, fmt.Errorf("%s: document %d: %s", findings[0].File, findings[0].Document, findings[0].Message)
	}
	var runs []*unstructured.Unstructured
	for _, d := range documents {
		if !isRun(d) {
			return nil, fmt.Errorf("%s: document %d is a %s, and this command creates BenchmarkRuns of %s alone: use `kubectl apply -f`", d.File, d.Number, d.Object.GetKind(), v1alpha1.GroupVersion)
		}
		runs = append(runs, d.Object)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%s has no BenchmarkRun", file)
	}
	return runs, nil
}

func isRun(d validate.Document) bool {
	return d.Object.GroupVersionKind() == v1alpha1.GroupVersion.WithKind(kindRun)
}

// create creates an object. The API server refuses unknown fields.
func (c *cluster) create(ctx context.Context, object client.Object) error {
	return explain(client.WithFieldValidation(c.client, "Strict").Create(ctx, object))
}

// created says that a run was created, and follows it if the user asks for it.
func (s *starting) created(ctx context.Context, c *cluster, namespace, name string, streams genericiooptions.IOStreams) error {
	fmt.Fprintf(streams.Out, "BenchmarkRun %s/%s created\n", namespace, name)
	if !s.watch {
		return nil
	}
	in := &cluster{client: c.client, namespace: namespace, config: c.config}
	return watchRun(ctx, watching{
		source: in.source(name), run: namespace + "/" + name, missing: notFound(namespace, name), timeout: s.timeout,
		streams: streams, display: newDisplay(streams.Out), pause: clock.Sleep,
	})
}

func newRerunCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var s starting
	command := &cobra.Command{
		Use:               "rerun RUN",
		Short:             "Create a run with the experiment of another one",
		Long:              rerunHelp,
		Example:           "  kubectl vnfbench rerun router --watch\n  kubectl vnfbench rerun router --name router-tuned",
		Args:              runName,
		ValidArgsFunction: completeRuns(connect),
		RunE: func(command *cobra.Command, args []string) error {
			if err := s.check(); err != nil {
				return err
			}
			if problems := validation.IsDNS1123Subdomain(s.name); s.name != "" && len(problems) > 0 {
				return fmt.Errorf("--name %q is no name of an object: %s", s.name, strings.Join(problems, "; "))
			}
			c, err := connect()
			if err != nil {
				return err
			}
			run, err := c.run(command.Context(), args[0])
			if err != nil {
				return err
			}
			made, err := c.createAgain(command.Context(), run, s.name)
			if err != nil {
				return err
			}
			return s.created(command.Context(), c, made.Namespace, made.Name, streams)
		},
	}
	command.Flags().StringVar(&s.name, "name", "", "name of the new run; absent: the name of RUN with the next free number")
	s.addFlags(command)
	return command
}

// maxNumber is the highest number that a name gets.
const maxNumber = 9999

// createAgain creates a copy of a run, under a name or the first free number.
func (c *cluster) createAgain(ctx context.Context, run *v1alpha1.BenchmarkRun, name string) (*v1alpha1.BenchmarkRun, error) {
	if name != "" {
		made := again(run, name)
		return made, notCreated(name, c.create(ctx, made))
	}
	names, err := c.runNames(ctx)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, n := range names {
		taken[n] = true
	}
	base, number := numbered(run.Name)
	for number++; number <= maxNumber; number++ {
		next := fmt.Sprintf("%s-%d", base, number)
		if taken[next] {
			continue
		}
		made := again(run, next)
		// Another user may have taken the name since.
		if err := c.create(ctx, made); !apierrors.IsAlreadyExists(err) {
			return made, notCreated(next, err)
		}
	}
	return nil, fmt.Errorf("the numbers of %q are taken up to %d: give --name", base, maxNumber)
}

func notCreated(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("creating BenchmarkRun %s: %w", name, err)
}

// numbered splits a name into what comes before its number, and the number; 1 where it has none.
func numbered(name string) (base string, number int) {
	i := strings.LastIndex(name, "-")
	if i <= 0 {
		return name, 1
	}
	n, err := strconv.Atoi(name[i+1:])
	if err != nil || n < 2 || n >= maxNumber || strconv.Itoa(n) != name[i+1:] {
		return name, 1
	}
	return name[:i], n
}

// suiteLabels are those by which a run belongs to a suite.
var suiteLabels = []string{v1alpha1.LabelSuite, v1alpha1.LabelSuiteRun, v1alpha1.LabelCell, v1alpha1.LabelRepeat, v1alpha1.LabelTrigger}

// lastApplied is the annotation of "kubectl apply", which describes another object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// again returns a new run with the experiment of another one.
func again(run *v1alpha1.BenchmarkRun, name string) *v1alpha1.BenchmarkRun {
	made := &v1alpha1.BenchmarkRun{}
	made.Namespace, made.Name = run.Namespace, name
	run = run.DeepCopy()
	made.Labels, made.Annotations, made.Spec = run.Labels, run.Annotations, run.Spec
	for _, label := range suiteLabels {
		delete(made.Labels, label)
	}
	delete(made.Annotations, lastApplied)
	made.Spec.Suspend = false
	return made
}
