package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/report"
)

const compareHelp = `Set the results of BenchmarkRuns side by side, a column for each run.

The other runs are compared with the first: each of their figures is followed by
its change from the first run's. Notes above the table say what else differs
(testbed, nodes, traffic, measurements) and whether a processor is emulated. The
exit code says whether the comparison could be written, not how it came out.

A name that ends in .json or .json.zst, or begins with a folder such as ./, is the
file of a document that "export" wrote. Documents and runs can be mixed. With
documents alone no cluster is asked. A run whose name ends so is run/NAME.`

// comparing is what the user asks for.
type comparing struct {
	format     string
	outputFile string
}

func newCompareCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var c comparing
	command := &cobra.Command{
		Use:   "compare {RUN | DOCUMENT} {RUN | DOCUMENT}...",
		Short: "Set the results of runs side by side",
		Long:  compareHelp,
		Example: "  kubectl vnfbench compare router-pod router-vm-virtio router-vm-e1000\n" +
			"  kubectl vnfbench compare last-year.json.zst router-pod\n" +
			"  kubectl vnfbench compare before after -o csv --output-file change.csv",
		Args:              runNames,
		ValidArgsFunction: orDocuments(completeFurtherRuns(connect)),
		RunE: func(command *cobra.Command, args []string) error {
			format, err := c.check()
			if err != nil {
				return err
			}
			var docs []report.Document
			connect := sync.OnceValues(connect)
			for _, name := range args {
				doc, err := compared(command.Context(), name, connect, streams)
				if err != nil {
					return err
				}
				docs = append(docs, doc)
			}
			return c.write(docs, format, streams, time.Now())
		},
	}
	flags := command.Flags()
	flags.StringVarP(&c.format, "output", "o", string(report.FormatTable), "format: "+namesOf(report.ComparisonFormats()))
	flags.StringVar(&c.outputFile, "output-file", "", "write to this file instead of the standard output")
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(strings.Split(namesOf(report.ComparisonFormats()), ", "), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// compared returns the document of a file, or makes one of a run.
func compared(ctx context.Context, argument string, connect func() (*cluster, error), streams genericiooptions.IOStreams) (report.Document, error) {
	if isDocument(argument) {
		return shownDocument(argument, streams)
	}
	kind, name, err := kindOf(argument)
	if err == nil && kind != kindRun {
		err = fmt.Errorf("compare is for runs and their documents, and %q is a %s", argument, kind)
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
	return report.Build(run, report.Source{}, time.Now())
}

func (c comparing) check() (report.Format, error) {
	if format := report.Format(c.format); slices.Contains(report.ComparisonFormats(), format) {
		return format, nil
	}
	return "", fmt.Errorf("unknown format %q: use one of %s", c.format, namesOf(report.ComparisonFormats()))
}

func (c comparing) write(docs []report.Document, format report.Format, streams genericiooptions.IOStreams, now time.Time) error {
	comparison, err := report.Compare(docs, now)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := report.WriteComparison(&text, comparison, format, report.Options{ASCII: !unicodeLocale(os.Getenv)}); err != nil {
		return err
	}
	if c.outputFile == "" {
		_, err = streams.Out.Write(text.Bytes())
		return err
	}
	return os.WriteFile(c.outputFile, text.Bytes(), 0o644)
}
