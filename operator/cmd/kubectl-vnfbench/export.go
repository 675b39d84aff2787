package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/records"
	"vnfbench.io/operator/internal/report"
)

const exportHelp = `Write the result document of a BenchmarkRun to a file.

The document has everything that is known about the run: what was asked for, the
plan, what took part, all trials and every figure. "report", "compare", "replay",
"distribution" and "series" read it without the cluster.

A name that ends in .json.zst is compressed with zstd, one that ends in .json is
not. "-" writes JSON to the standard output. The file is complete or not there.`

func newExportCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	outputFile := ""
	command := &cobra.Command{
		Use:   "export RUN",
		Short: "Write the result document of a run to a file",
		Long:  exportHelp,
		Example: "  kubectl vnfbench export router\n" +
			"  kubectl vnfbench export router --output-file results/2026-router.json.zst\n" +
			"  kubectl vnfbench report results/2026-router.json.zst",
		Args:              runName,
		ValidArgsFunction: completeRuns(connect),
		RunE: func(command *cobra.Command, args []string) error {
			kind, name, err := kindOf(args[0])
			if err == nil && kind != kindRun {
				err = fmt.Errorf("export is for a run, and %q is a %s", args[0], kind)
			}
			if err != nil {
				return err
			}
			if outputFile == "" {
				outputFile = name + document.ExtensionCompressed
			}
			if outputFile != standardStream && !document.IsName(outputFile) {
				return fmt.Errorf("--output-file is %q: give a name that ends in %s or %s, or -", outputFile, document.ExtensionCompressed, document.ExtensionJSON)
			}
			c, err := connect()
			if err != nil {
				return err
			}
			run, err := c.run(command.Context(), name)
			if err != nil {
				return err
			}
			found, err := records.Read(command.Context(), c.client, run, version)
			if err != nil {
				return err
			}
			doc, err := report.Build(run, found, time.Now())
			if err != nil {
				return err
			}
			return export(doc, outputFile, streams)
		},
	}
	command.Flags().StringVar(&outputFile, "output-file", "", "write to this file, or to the standard output with - (default: RUN"+document.ExtensionCompressed+")")
	return command
}

// export writes a document to a file, or to the standard output.
func export(doc report.Document, name string, streams genericiooptions.IOStreams) error {
	var text bytes.Buffer
	if err := document.Write(&text, doc, strings.HasSuffix(name, document.ExtensionCompressed)); err != nil {
		return err
	}
	switch {
	case !doc.Ended():
		fmt.Fprintln(streams.ErrOut, "note: the run has not ended; this document is partial, and cannot be replayed")
	case len(doc.Trials) == 0:
		fmt.Fprintln(streams.ErrOut, "note: the run has no trials; this document cannot be replayed")
	default:
		noteDoubt(name, doc, streams)
	}
	if name == standardStream {
		_, err := streams.Out.Write(text.Bytes())
		return err
	}
	if err := replaceFile(name, text.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "BenchmarkRun %s/%s: %d trials are in %s, %d bytes\n", doc.Run.Namespace, doc.Run.Name, len(doc.Trials), name, text.Len())
	return nil
}

// replaceFile writes a file that is whole at any moment, or as it was.
func replaceFile(name string, text []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// The first error is the cause.
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
