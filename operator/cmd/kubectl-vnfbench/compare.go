package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/records"
	"vnfbench.io/operator/internal/report"
)

const compareHelp = `Set the results of BenchmarkRuns side by side, in 2 to 12 columns.

A column is a run, the document of a run, a folder of documents, or with -l all
runs that a label selector matches. The runs of a folder or of a selector are
repeats of one experiment: a column has their mean. With --group-by there is a column
for each value of a label, from the oldest run on. Names come before selectors.

The other columns are compared with the first. A change is better or worse where
Welch's t-test of the repeats finds a difference at 5 %, and ~ where it cannot decide. A
column has repeats where it has several runs, or one run with
measurements.repeats and repeatScope Chain. Lower limits and doubtful figures
are shown, and not tested. Notes above the table say what else differs (testbed,
nodes, traffic, measurements), how many differences were tested, and why others were
not. The exit code says whether the comparison could be written, not how it
came out.

With -o html it is one file with pictures. The curves of delay are those of the first
run of each column; those of runs that -l matches are left out, as their trials are not read.

A name that ends in .json or .json.zst, or begins with a folder such as ./, is the
file of a document that "export" wrote, and one that ends in / is a folder of
documents. With documents alone no cluster is asked. A run whose name ends so is
run/NAME.`

// comparing is what the user asks for.
type comparing struct {
	format     string
	outputFile string
	selectors  []string
	everywhere bool
	groupBy    string
	adjust     string
}

func newCompareCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var c comparing
	command := &cobra.Command{
		Use:   "compare [RUN | DOCUMENT | FOLDER/]... [-l SELECTOR]...",
		Short: "Set the results of runs side by side",
		Long:  compareHelp,
		Example: "  kubectl vnfbench compare router-as-pod router-as-vm-virtio router-as-vm-e1000\n" +
			"  kubectl vnfbench compare -l version=1.4 -l version=1.5\n" +
			"  kubectl vnfbench compare -l vnfbench.io/suite=nightly,vnfbench.io/cell=pod-64 --group-by vnfbench.io/suite-run\n" +
			"  kubectl vnfbench compare ./before/ ./after/ --adjust holm\n" +
			"  kubectl vnfbench compare last-year.json.zst router\n" +
			"  kubectl vnfbench compare before after -o csv --output-file change.csv\n" +
			"  kubectl vnfbench compare before after -o html --output-file change.html",
		Args:              func(_ *cobra.Command, args []string) error { return c.checkNames(args) },
		ValidArgsFunction: orDocuments(completeFurtherRuns(connect)),
		RunE: func(command *cobra.Command, args []string) error {
			format, err := c.check()
			if err != nil {
				return err
			}
			columns, err := c.columns(command.Context(), args, sync.OnceValues(connect), streams)
			if err != nil {
				return err
			}
			return c.write(columns, format, streams, time.Now())
		},
	}
	flags := command.Flags()
	flags.StringVarP(&c.format, "output", "o", string(report.FormatTable), "format: "+namesOf(comparisonFormats()))
	flags.StringVar(&c.outputFile, "output-file", "", "write to this file instead of the standard output")
	flags.StringArrayVarP(&c.selectors, "selector", "l", nil, "a column with all runs that this label selector matches, such as version=1.4,vnfbench.io/cell=pod-64; may be given several times")
	flags.BoolVarP(&c.everywhere, "all-namespaces", "A", false, "selectors match the runs of all namespaces")
	flags.StringVar(&c.groupBy, "group-by", "", "make a column of each value of this label among the runs that a selector matches")
	flags.StringVar(&c.adjust, "adjust", string(comparison.AdjustNone), "adjust the p-values of all differences together: "+adjustments())
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(strings.Split(namesOf(comparisonFormats()), ", "), cobra.ShellCompDirectiveNoFileComp))
	_ = command.RegisterFlagCompletionFunc("adjust", cobra.FixedCompletions(strings.Split(adjustments(), ", "), cobra.ShellCompDirectiveNoFileComp))
	_ = command.RegisterFlagCompletionFunc("selector", completeLabels(connect, func(key, value string) string { return key + "=" + value }))
	_ = command.RegisterFlagCompletionFunc("group-by", completeLabels(connect, func(key, _ string) string { return key }))
	return command
}

// comparisonFormats returns the formats of a comparison.
func comparisonFormats() []report.Format { return append(report.ComparisonFormats(), page.Format) }

func adjustments() string {
	var names []string
	for _, a := range comparison.Adjustments() {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}

// checkNames accepts different names. How many columns selectors make is not known yet, except that each without --group-by makes one.
func (c comparing) checkNames(args []string) error {
	if count := len(args) + len(c.selectors); slices.Contains(args, "") || c.groupBy == "" && (count < 2 || count > report.MaxColumns) || count == 0 {
		return fmt.Errorf("give the names of two BenchmarkRuns or more, not %d, and of %d at most, or a label selector with -l for each column; `kubectl get benchmarkruns --show-labels` lists them", count, report.MaxColumns)
	}
	for i, name := range args {
		if slices.Contains(args[:i], name) {
			return fmt.Errorf("%q is named twice; each run has one column", name)
		}
	}
	return nil
}

func (c comparing) check() (report.Format, error) {
	switch format := report.Format(c.format); {
	case !slices.Contains(comparisonFormats(), format):
		return "", fmt.Errorf("unknown format %q: use one of %s", c.format, namesOf(comparisonFormats()))
	case !slices.Contains(comparison.Adjustments(), comparison.Adjustment(c.adjust)):
		return "", fmt.Errorf("--adjust is %q: use one of %s", c.adjust, adjustments())
	case c.groupBy != "" && len(c.selectors) == 0:
		return "", errors.New("--group-by divides the runs that a selector matches: give one with -l")
	case c.everywhere && len(c.selectors) == 0:
		return "", errors.New("--all-namespaces is for selectors: a name is of one namespace, which -n gives")
	default:
		return format, nil
	}
}

// columns returns those of the names, and then those of the selectors.
func (c comparing) columns(ctx context.Context, args []string, connect func() (*cluster, error), streams genericiooptions.IOStreams) ([]report.Column, error) {
	var columns []report.Column
	for _, name := range args {
		if isFolder(name) {
			column, err := folderColumn(name, streams)
			if err != nil {
				return nil, err
			}
			columns = append(columns, column)
			continue
		}
		doc, err := compared(ctx, name, c.format == string(page.Format), connect, streams)
		if err != nil {
			return nil, err
		}
		columns = append(columns, report.Column{Name: columnName(name, doc, columns), Documents: []report.Document{doc}})
	}
	for _, selector := range c.selectors {
		from, err := connect()
		if err != nil {
			return nil, err
		}
		selected, err := c.selected(ctx, from, selector)
		if err != nil {
			return nil, err
		}
		columns = append(columns, selected...)
	}
	return columns, nil
}

// columnName returns the name of the run, or that of the file where another column has the run's name.
func columnName(argument string, doc report.Document, columns []report.Column) string {
	if slices.ContainsFunc(columns, func(other report.Column) bool { return other.Name == doc.Run.Name }) {
		return argument
	}
	return doc.Run.Name
}

// compared returns the document of a file, or makes one of a run, with its trials where they are drawn.
func compared(ctx context.Context, argument string, trials bool, connect func() (*cluster, error), streams genericiooptions.IOStreams) (report.Document, error) {
	if isDocument(argument) {
		return shownDocument(argument, streams)
	}
	kind, name, err := kindOf(argument)
	if err == nil && kind != kindRun {
		err = fmt.Errorf("compare is for runs and their documents, and %q is a %s: compare its runs with -l %s=NAME,%s=CELL", argument, kind, labelOfKind[kind], v1alpha1.LabelCell)
	}
	if err != nil {
		return report.Document{}, err
	}
	from, err := connect()
	if err != nil {
		return report.Document{}, err
	}
	run, err := from.run(ctx, name)
	if err != nil {
		return report.Document{}, err
	}
	source := report.Source{}
	if trials {
		if source, err = records.Read(ctx, from.client, run, version); err != nil {
			return report.Document{}, err
		}
	}
	return report.Build(run, source, time.Now())
}

// labelOfKind is the label of the runs that belong to an object of a kind.
var labelOfKind = map[string]string{kindSuite: v1alpha1.LabelSuite, kindSuiteRun: v1alpha1.LabelSuiteRun}

func (c comparing) write(columns []report.Column, format report.Format, streams genericiooptions.IOStreams, now time.Time) error {
	comparison, err := report.Compare(columns, comparison.Adjustment(c.adjust), now)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if format == page.Format {
		err = page.WriteComparison(&text, comparison)
	} else {
		err = report.WriteComparison(&text, comparison, format, report.Options{ASCII: !unicodeLocale(os.Getenv)})
	}
	if err != nil {
		return err
	}
	return writeOut(text.Bytes(), c.outputFile, streams)
}
