package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain/kinds"
	"vnfbench.io/operator/internal/excerpt"
)

const logsHelp = `Write the logs of a run's pods: the measurer, the functions, the observer, the ends of
TCP connections and the neighbors. Of a virtual machine they are the logs of the pod
that runs it, among them the guest's console where KubeVirt keeps it.

Each line begins with the pod and the container, unless there is one. The operator deletes
the pods of a run when it has ended; what the run says of them is in its conditions
and events.`

// components are those that a run's pods can be.
var components = []string{kinds.ComponentMeasurer, kinds.ComponentFunction, kinds.ComponentObserver, kinds.ComponentEndpoint, kinds.ComponentNeighbor}

// logging is what the user asks for.
type logging struct {
	follow, previous bool
	tail             int64
	component        string
}

func newLogsCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var l logging
	command := &cobra.Command{
		Use:   "logs RUN",
		Short: "Write the logs of a run's pods",
		Long:  logsHelp,
		Example: "  kubectl vnfbench logs router\n" +
			"  kubectl vnfbench logs router --component measurer --follow\n" +
			"  kubectl vnfbench logs router --previous --tail 100",
		Args:              runName,
		ValidArgsFunction: completeRuns(connect),
		RunE: func(command *cobra.Command, args []string) error {
			if err := l.check(); err != nil {
				return err
			}
			c, err := connect()
			if err != nil {
				return err
			}
			run, err := c.run(command.Context(), args[0])
			if err != nil {
				return err
			}
			pods, err := c.podsOf(command.Context(), run)
			if err != nil {
				return err
			}
			logs, err := c.logs()
			if err != nil {
				return err
			}
			return l.write(command.Context(), run, pods, logs, streams)
		},
	}
	flags := command.Flags()
	flags.BoolVarP(&l.follow, "follow", "f", false, "write further lines as they come, until the pods end")
	flags.BoolVarP(&l.previous, "previous", "p", false, "write the logs of the containers before those that run")
	flags.Int64Var(&l.tail, "tail", -1, "how many of the last lines of each container; -1: all")
	flags.StringVar(&l.component, "component", "", "only pods of this component: "+strings.Join(components, ", "))
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("component", cobra.FixedCompletions(components, cobra.ShellCompDirectiveNoFileComp))
	return command
}

func (l logging) check() error {
	switch {
	case l.component != "" && !slices.Contains(components, l.component):
		return fmt.Errorf("unknown component %q: use one of %s", l.component, strings.Join(components, ", "))
	case l.tail < -1:
		return fmt.Errorf("--tail is %d: give the number of lines, or -1 for all", l.tail)
	case l.follow && l.previous:
		return errors.New("--follow and --previous exclude each other: containers before have ended")
	}
	return nil
}

// podsOf returns the pods of a run by their names.
func (c *cluster) podsOf(ctx context.Context, run *v1alpha1.BenchmarkRun) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: string(run.UID)}); err != nil {
		return nil, fmt.Errorf("listing the pods of BenchmarkRun %q: %w", run.Name, err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods.Items, nil
}

// logOpener opens the log of a container.
type logOpener func(ctx context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error)

// logs returns what opens logs of the cluster.
func (c *cluster) logs() (logOpener, error) {
	if c.openLog != nil {
		return c.openLog, nil
	}
	clients, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error) {
		return clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	}, nil
}

// container is one whose log is written.
type container struct {
	pod  *corev1.Pod
	name string
}

// containersOf returns the containers of pods that have a log: those that have started.
func (l logging) containersOf(pods []corev1.Pod) []container {
	var out []container
	for i := range pods {
		pod := &pods[i]
		if l.component != "" && pod.Labels[v1alpha1.LabelComponent] != l.component {
			continue
		}
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			runs := status.State.Running != nil || status.State.Terminated != nil
			if runs && !l.previous || l.previous && status.LastTerminationState.Terminated != nil {
				out = append(out, container{pod, status.Name})
			}
		}
	}
	return out
}

// write writes the logs one after the other, or all at once where they are followed.
func (l logging) write(ctx context.Context, run *v1alpha1.BenchmarkRun, pods []corev1.Pod, open logOpener, streams genericiooptions.IOStreams) error {
	found := l.containersOf(pods)
	if len(found) == 0 {
		why := "has no pod: it waits, or it has ended and the operator has deleted them"
		if len(pods) > 0 {
			why = fmt.Sprintf("has %s, and none of their containers has such a log", plural(int32(len(pods)), "pod"))
		}
		return fmt.Errorf("BenchmarkRun %q %s; it is %q", run.Name, why, phaseOf(run))
	}
	out := &lines{to: streams.Out}
	read := func(c container) error {
		prefix := ""
		if len(found) > 1 {
			prefix = fmt.Sprintf("[%s/%s] ", c.pod.Name, c.name)
		}
		if err := l.copy(ctx, c, open, prefix, out); err != nil {
			return fmt.Errorf("reading the log of container %s of pod %q: %w", c.name, c.pod.Name, err)
		}
		return nil
	}
	errs := make([]error, len(found))
	if !l.follow {
		for i, c := range found {
			errs[i] = read(c)
		}
		return errors.Join(errs...)
	}
	var all sync.WaitGroup
	for i, c := range found {
		all.Go(func() { errs[i] = read(c) })
	}
	all.Wait()
	if ctx.Err() != nil {
		// The user has ended it.
		return nil
	}
	return errors.Join(errs...)
}

func (l logging) copy(ctx context.Context, c container, open logOpener, prefix string, to *lines) (err error) {
	options := &corev1.PodLogOptions{Container: c.name, Follow: l.follow, Previous: l.previous}
	if l.tail >= 0 {
		options.TailLines = &l.tail
	}
	log, err := open(ctx, c.pod, options)
	if err != nil {
		return err
	}
	// Nothing was written that closing could lose.
	defer func() { _ = log.Close() }()
	for reader := bufio.NewReader(log); ; {
		line, err := reader.ReadString('\n')
		if line != "" {
			if err := to.write(prefix + strings.TrimSuffix(line, "\n")); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// lines writes whole lines of several writers.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// write writes a line. A guest decides what is in it.
func (l *lines) write(line string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintln(l.to, excerpt.Printable(line))
	return err
}
