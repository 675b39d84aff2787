package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/records"
	"vnfbench.io/operator/internal/report"
)

const listHelp = `List runs with their phase, their first figures and the doubts about them.

The figures are those of "kubectl get benchmarkruns": the throughput of the first size
and goal, and the 99th percentile of the delay. ">=" before a figure says that the device
may do better, "<=" that it may do worse, and "?" after it that it is in doubt. DOUBTS
has the codes of all doubts and warnings of the run: concepts/warnings.md of the vnfbench
documentation explains them.`

// listing is what the user asks for.
type listing struct {
	format     string
	selector   string
	everywhere bool
}

// listed is a run in a list.
type listed struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Phase is what the run does, or how it has ended.
	Phase   string                  `json:"phase"`
	Testbed string                  `json:"testbed,omitempty"`
	Summary *v1alpha1.ResultSummary `json:"summary,omitempty"`
	// Accepted is True, False or Unknown; empty where the run has no criteria.
	Accepted string      `json:"accepted,omitempty"`
	Doubts   []string    `json:"doubts,omitempty"`
	Created  metav1.Time `json:"created"`
}

func newListCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var l listing
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List runs with their figures and doubts",
		Long:    listHelp,
		Example: "  kubectl vnfbench list\n" +
			"  kubectl vnfbench list -A -l vnfbench.io/suite=nightly\n" +
			"  kubectl vnfbench list -o json",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkFormat(l.format); err != nil {
				return err
			}
			selector, err := labels.Parse(l.selector)
			if err != nil {
				return fmt.Errorf("-l %q is no label selector: %w", l.selector, err)
			}
			c, err := connect()
			if err != nil {
				return err
			}
			namespace := c.namespace
			if l.everywhere {
				namespace = ""
			}
			var all []listed
			if err := c.eachRun(command.Context(), namespace, selector, func(run *v1alpha1.BenchmarkRun) { all = append(all, listedOf(run)) }); err != nil {
				return fmt.Errorf("listing runs: %w", explain(err))
			}
			slices.SortFunc(all, func(a, b listed) int {
				return cmp.Or(a.Created.Compare(b.Created.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
			})
			if len(all) == 0 && l.format == formatTable {
				fmt.Fprintln(streams.ErrOut, "note: no BenchmarkRun is there")
				return nil
			}
			return l.write(streams.Out, all, time.Now())
		},
	}
	flags := command.Flags()
	flags.StringVarP(&l.selector, "selector", "l", "", "list only runs with these labels, such as -l vnfbench.io/suite=nightly")
	flags.BoolVarP(&l.everywhere, "all-namespaces", "A", false, "list the runs of all namespaces")
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("selector", completeLabels(connect, func(key, value string) string { return key + "=" + value }))
	addFormat(command, &l.format)
	return command
}

// eachRun calls a function with each run of a namespace, or of all, page by page: each run has all its figures.
func (c *cluster) eachRun(ctx context.Context, namespace string, selector labels.Selector, take func(*v1alpha1.BenchmarkRun)) error {
	for next := ""; ; {
		var page v1alpha1.BenchmarkRunList
		err := c.client.List(ctx, &page, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}, client.Limit(records.RunsInPage), client.Continue(next))
		if err != nil {
			return err
		}
		for i := range page.Items {
			take(&page.Items[i])
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

func listedOf(run *v1alpha1.BenchmarkRun) listed {
	l := listed{Namespace: run.Namespace, Name: run.Name, Phase: phaseOf(run), Testbed: run.TestbedName(), Summary: run.Status.Summary, Doubts: doubtsOf(run), Created: run.CreationTimestamp}
	for _, c := range run.Status.Conditions {
		if c.Type == v1alpha1.ConditionAccepted {
			l.Accepted = string(c.Status)
		}
	}
	return l
}

// phaseOf returns how a run has ended, or what it does.
func phaseOf(run *v1alpha1.BenchmarkRun) string {
	v := viewOf(run)
	switch {
	case v.outcome != nil && v.outcome.Status == metav1.ConditionTrue:
		return "Succeeded"
	case v.outcome != nil:
		return v.outcome.Reason
	case v.queue > 0:
		return fmt.Sprintf("%s, position %d", v.stage, v.queue)
	case v.progress != nil && !run.Spec.Suspend:
		return fmt.Sprintf("%s, %d %%", v.stage, v.progress.Percent)
	}
	return v.stage
}

// doubtsOf returns the codes of the doubts about figures and of the warnings of a run, each once.
func doubtsOf(run *v1alpha1.BenchmarkRun) []string {
	var codes []string
	for _, f := range figure.Of(run.Status) {
		for _, code := range f.Codes() {
			codes = append(codes, string(code))
		}
	}
	for _, warning := range run.Status.Warnings {
		codes = append(codes, warning.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

func (l listing) write(w io.Writer, all []listed, now time.Time) error {
	if l.format == formatJSON {
		if all == nil {
			all = []listed{}
		}
		return writeJSON(w, struct {
			APIVersion string   `json:"apiVersion"`
			Kind       string   `json:"kind"`
			Runs       []listed `json:"runs"`
		}{report.APIVersion, "RunList", all})
	}
	header := []string{"NAME", "PHASE", "TESTBED", "SIZE", "GOAL", "FRAMES/S", "P99(ns)", "ACCEPTED", "AGE", "DOUBTS"}
	if l.everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}
	var rows [][]string
	for _, run := range all {
		row := append([]string{run.Name, clip(run.Phase, maxPhase), orDash(run.Testbed)}, figuresOf(run.Summary)...)
		row = append(row, orDash(run.Accepted), duration.HumanDuration(now.Sub(run.Created.Time)), orDash(strings.Join(run.Doubts, ",")))
		if l.everywhere {
			row = append([]string{run.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	return writeTable(w, header, rows)
}

// maxPhase is how many letters of a phase a table has.
const maxPhase = 48

// figuresOf returns size, goal, rate and delay for a table.
func figuresOf(s *v1alpha1.ResultSummary) []string {
	if s == nil {
		return []string{"-", "-", "-", "-"}
	}
	return []string{orDash(s.Size), orDash(s.Goal), noted(s.FramesPerSecond, s.RateNote), noted(s.P99Nanoseconds, s.P99Note)}
}

// noted returns a figure with what is to be known about it.
func noted(value *int64, note v1alpha1.FigureNote) string {
	if value == nil {
		return "-"
	}
	text := figure.Thousands(*value)
	switch note {
	case v1alpha1.NoteAtLeast:
		return ">=" + text
	case v1alpha1.NoteAtMost:
		return "<=" + text
	case v1alpha1.NoteDoubtful:
		return text + "?"
	}
	return text
}

func orDash(text string) string { return cmp.Or(text, "-") }
