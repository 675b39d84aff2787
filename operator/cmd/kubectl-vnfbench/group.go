package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
)

// isFolder reports whether an argument is a folder of documents. A run's name does not end in a slash, and a name without one is a run's,
// whatever folders there are.
func isFolder(argument string) bool {
	if strings.HasSuffix(argument, "/") {
		return true
	}
	info, err := os.Stat(argument)
	return isDocument(argument) && err == nil && info.IsDir()
}

// folderColumn returns a column of all documents in a folder, in the order of their names.
func folderColumn(folder string, streams genericiooptions.IOStreams) (report.Column, error) {
	column := report.Column{Name: filepath.Base(folder), IsGroup: true}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return column, err
	}
	for _, entry := range entries {
		if entry.IsDir() || !document.IsName(entry.Name()) {
			continue
		}
		doc, err := shownDocument(filepath.Join(folder, entry.Name()), streams)
		if err != nil {
			return column, err
		}
		column.Documents = append(column.Documents, doc)
	}
	if len(column.Documents) == 0 {
		return column, fmt.Errorf("folder %s has no document: their names end in .json or .json.zst, and `kubectl vnfbench export RUN` writes one", folder)
	}
	return column, nil
}

// selected returns the column of a selector, or one for each value of the label by which its runs are divided, from that of the oldest run on.
func (c comparing) selected(ctx context.Context, from *cluster, selector string) ([]report.Column, error) {
	runs, err := from.selectedRuns(ctx, selector, c.everywhere)
	if err != nil {
		return nil, err
	}
	var columns []report.Column
	for i := range runs {
		run := &runs[i]
		name := selector
		if c.groupBy != "" {
			value, found := run.Labels[c.groupBy]
			if !found {
				continue
			}
			if name = value; len(c.selectors) > 1 {
				name = fmt.Sprintf("%s, %s", selector, value)
			}
		}
		doc, err := report.Build(run, report.Source{}, time.Now())
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(columns, func(column report.Column) bool { return column.Name == name })
		if at < 0 {
			at, columns = len(columns), append(columns, report.Column{Name: name, IsGroup: true})
		}
		columns[at].Documents = append(columns[at].Documents, doc)
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("no run that -l %q matches has the label %q of --group-by; `kubectl get benchmarkruns --show-labels` lists them", selector, c.groupBy)
	}
	return columns, nil
}

// selectedRuns returns the runs that a selector matches, from the oldest on.
func (c *cluster) selectedRuns(ctx context.Context, selector string, everywhere bool) ([]v1alpha1.BenchmarkRun, error) {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("-l %q is no label selector: %w", selector, err)
	}
	namespace, place := c.namespace, fmt.Sprintf("namespace %q", c.namespace)
	if everywhere {
		namespace, place = "", "any namespace"
	}
	var all []v1alpha1.BenchmarkRun
	if err := c.eachRun(ctx, namespace, parsed, func(run *v1alpha1.BenchmarkRun) { all = append(all, *run) }); err != nil {
		return nil, fmt.Errorf("listing the runs that -l %q matches: %w", selector, explain(err))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("-l %q matches no BenchmarkRun in %s; `kubectl get benchmarkruns --show-labels` lists them", selector, place)
	}
	slices.SortFunc(all, func(a, b v1alpha1.BenchmarkRun) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// completeLabels offers what a function makes of each label that the namespace's runs have.
func completeLabels(connect func() (*cluster, error), of func(key, value string) string) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var runs v1alpha1.BenchmarkRunList
		if err := c.client.List(command.Context(), &runs, client.InNamespace(c.namespace)); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var words []string
		for _, run := range runs.Items {
			for key, value := range run.Labels {
				words = append(words, of(key, value))
			}
		}
		slices.Sort(words)
		return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
	}
}
