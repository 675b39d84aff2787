package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/records"
	"vnfbench.io/operator/internal/report"
)

const reportHelp = `Write the result of a BenchmarkRun, of the latest execution of a BenchmarkSuite
(suite/NAME), or of one BenchmarkSuiteRun (suiterun/NAME).

A name that ends in .json or .json.zst, or begins with a folder such as ./, is the
file of a document that "export" wrote; "-" reads it from the standard input. Its
result is written without a cluster. A run whose name ends so is run/NAME.

With -o html it is one file with pictures, which a browser opens without a network
and without scripts. It needs the trials: those of a run of the cluster are read from
its ConfigMaps, and a document has them if "export" wrote it.

The report of what is still active is marked as partial. The exit code
says whether the report could be written, not how the run came out: for that,
use "watch" or the JUnit format.`

// reporting is what the user asks for.
type reporting struct {
	format     string
	trials     bool
	outputFile string
}

func newReportCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var r reporting
	command := &cobra.Command{
		Use:   "report {RUN | DOCUMENT | suite/NAME | suiterun/NAME}",
		Short: "Write the result of a run or of a suite",
		Long:  reportHelp,
		Example: "  kubectl vnfbench report router\n" +
			"  kubectl vnfbench report router -o junit --output-file junit.xml\n" +
			"  kubectl vnfbench report router -o csv --trials\n" +
			"  kubectl vnfbench report router.json.zst -o markdown\n" +
			"  kubectl vnfbench report router -o html --output-file router.html\n" +
			"  kubectl vnfbench report suite/nightly -o markdown\n" +
			"  kubectl vnfbench report suite/nightly -o html --output-file nightly.html\n" +
			"  kubectl vnfbench report suiterun/nightly-7 -o junit",
		Args:              runName,
		ValidArgsFunction: orDocuments(completeRuns(connect)),
		RunE: func(command *cobra.Command, args []string) error {
			format, err := r.check()
			if err != nil {
				return err
			}
			if isDocument(args[0]) {
				doc, err := shownDocument(args[0], streams)
				if err != nil {
					return err
				}
				if r.trials && len(doc.Trials) == 0 {
					return errNoTrials
				}
				return r.write(doc, format, streams)
			}
			c, err := connect()
			if err != nil {
				return err
			}
			kind, name, err := kindOf(args[0])
			switch {
			case err != nil:
				return err
			case kind != kindRun:
				return r.writeSuite(command.Context(), c, kind, name, format, streams, time.Now())
			}
			run, err := c.run(command.Context(), name)
			if err != nil {
				return err
			}
			source, err := r.source(command.Context(), c, run, format, streams)
			if err != nil {
				return err
			}
			doc, err := report.Build(run, source, time.Now())
			if err != nil {
				return err
			}
			return r.write(doc, format, streams)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&r.format, "output", "o", string(report.FormatTable), "format: "+namesOf(reportFormats()))
	flags.BoolVar(&r.trials, "trials", false, "add every trial; with -o csv, write the trials instead of the results")
	flags.StringVar(&r.outputFile, "output-file", "", "write to this file instead of the standard output")
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(strings.Split(namesOf(reportFormats()), ", "), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// reportFormats returns the formats of a report.
func reportFormats() []report.Format { return append(report.Formats(), page.Format) }

// Kinds that a report can be of.
const (
	kindRun      = "BenchmarkRun"
	kindSuite    = "BenchmarkSuite"
	kindSuiteRun = "BenchmarkSuiteRun"
)

// kindOf splits NAME or TYPE/NAME, as kubectl writes it. Without a type it is a run.
func kindOf(argument string) (kind, name string, err error) {
	word, name, found := strings.Cut(argument, "/")
	if !found {
		return kindRun, argument, nil
	}
	kind = kindNamed(word)
	if kind == "" || name == "" {
		return "", "", fmt.Errorf("%q names no object: give the name of a run, suite/NAME, or suiterun/NAME", argument)
	}
	return kind, name, nil
}

// kindNamed returns the kind that a word names as kubectl does, or "".
func kindNamed(word string) string {
	switch strings.ToLower(word) {
	case "run", "benchmarkrun", "benchmarkruns", "bmr":
		return kindRun
	case "suite", "benchmarksuite", "benchmarksuites", "bms":
		return kindSuite
	case "suiterun", "benchmarksuiterun", "benchmarksuiteruns", "bmsr":
		return kindSuiteRun
	}
	return ""
}

// writeSuite writes the report of an execution.
func (r reporting) writeSuite(ctx context.Context, c *cluster, kind, name string, format report.Format, streams genericiooptions.IOStreams, now time.Time) error {
	if r.trials {
		return errors.New("--trials is for a run: the report of a suite has none")
	}
	get := c.execution
	if kind == kindSuiteRun {
		get = c.suiteRun
	}
	execution, err := get(ctx, name)
	if err != nil {
		return err
	}
	runs, err := records.Outcomes(ctx, c.client, execution)
	if err != nil {
		return err
	}
	suite, err := c.suiteOf(ctx, execution)
	if err != nil {
		return err
	}
	doc := report.BuildSuite(execution, runs, suite, version, now)
	var text bytes.Buffer
	if format == page.Format {
		err = page.WriteSuite(&text, doc)
	} else {
		err = report.WriteSuiteReport(&text, execution, doc, format, report.Options{ASCII: !unicodeLocale(os.Getenv)})
	}
	if err != nil {
		return err
	}
	if !doc.Ended() {
		fmt.Fprintln(streams.ErrOut, "note: the execution has not ended; this report is partial")
	}
	return r.output(text.Bytes(), streams)
}

// output writes to the file that the user names, or to the standard output.
func (r reporting) output(text []byte, streams genericiooptions.IOStreams) error {
	if r.outputFile == "" {
		_, err := streams.Out.Write(text)
		return err
	}
	return os.WriteFile(r.outputFile, text, 0o644)
}

func namesOf(formats []report.Format) string {
	names := make([]string, 0, len(formats))
	for _, format := range formats {
		names = append(names, string(format))
	}
	return strings.Join(names, ", ")
}

func (r reporting) check() (report.Format, error) {
	format := report.Format(r.format)
	switch {
	case !slices.Contains(reportFormats(), format):
		return "", fmt.Errorf("unknown format %q: use one of %s", r.format, namesOf(reportFormats()))
	case r.trials && (format == report.FormatJUnit || format == page.Format):
		return "", fmt.Errorf("--trials does not apply to -o %s; use -o csv or -o json", format)
	}
	return format, nil
}

// source reads the plan and the trials. Where the trials are only counted, a user who may not read ConfigMaps gets a report
// without them.
func (r reporting) source(ctx context.Context, c *cluster, run *v1alpha1.BenchmarkRun, format report.Format, streams genericiooptions.IOStreams) (report.Source, error) {
	found, err := records.Read(ctx, c.client, run, version)
	if err != nil && !r.trials && format != page.Format {
		fmt.Fprintf(streams.ErrOut, "note: %v; the report leaves out the trials and what they were made from\n", err)
		return report.Source{Version: version}, nil
	}
	return found, err
}

func (r reporting) write(doc report.Document, format report.Format, streams genericiooptions.IOStreams) error {
	var text bytes.Buffer
	var err error
	if format == page.Format {
		err = page.WriteRun(&text, doc)
	} else {
		err = report.Write(&text, doc, format, report.Options{Trials: r.trials, ASCII: !unicodeLocale(os.Getenv)})
	}
	if err != nil {
		return err
	}
	if !doc.Ended() {
		fmt.Fprintln(streams.ErrOut, "note: the run has not ended; this report is partial")
	}
	return r.output(text.Bytes(), streams)
}

// unicodeLocale follows POSIX: the first of the three that is set decides.
func unicodeLocale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}
