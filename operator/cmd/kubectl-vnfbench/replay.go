package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/report"
)

const replayHelp = `Work out every figure of a document again, and compare.

The document is one that "report -o json --trials" wrote; "-" reads it from the
standard input. Nothing is read from a cluster: the figures, the verdicts and the
deviations follow from the trials, the plan and the generator's state in the
document. Warnings are checked as far as they follow from the trials.

The exit code is 0 if everything is the same, 1 if a value differs, and 2 if the
document cannot be replayed.`

// maxDifferences is how many differences are printed.
const maxDifferences = 20

func newReplayCommand(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:     "replay DOCUMENT",
		Short:   "Work out the figures of a document again",
		Long:    replayHelp,
		Example: "  kubectl vnfbench report router-pod -o json --trials --output-file report.json\n  kubectl vnfbench replay report.json",
		Args:    documentName,
		RunE: func(_ *cobra.Command, args []string) error {
			doc, err := readDocument(args[0], streams.In)
			if err != nil {
				return err
			}
			return replay(doc, streams)
		},
	}
}

// documentName accepts exactly one name of a file.
func documentName(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("give the name of exactly one document, not %d; `kubectl vnfbench report RUN -o json --trials` writes one", len(args))
	}
	return nil
}

func readDocument(name string, standardInput io.Reader) (report.Document, error) {
	if name == "-" {
		return report.Read(standardInput)
	}
	file, err := os.Open(name)
	if err != nil {
		return report.Document{}, err
	}
	// Nothing was written that closing could lose.
	defer func() { _ = file.Close() }()
	return report.Read(file)
}

func replay(doc report.Document, streams genericiooptions.IOStreams) error {
	done, err := report.Replay(doc)
	if err != nil {
		return err
	}
	if done.OtherProtocol {
		fmt.Fprintf(streams.ErrOut, "note: the trials were made by version %q of the operator, and this program is version %q of another protocol: use the plugin of that version where values differ\n",
			doc.Versions.Operator, version)
	}
	name := doc.Run.Namespace + "/" + doc.Run.Name
	if len(done.Differences) == 0 {
		fmt.Fprintf(streams.Out, "BenchmarkRun %s: its %d trials give every figure, verdict and deviation of the document again\n", name, done.Trials)
		return nil
	}
	fmt.Fprintf(streams.Out, "BenchmarkRun %s: its %d trials give other values at %d places\n", name, done.Trials, len(done.Differences))
	for i, d := range done.Differences {
		if i == maxDifferences {
			fmt.Fprintf(streams.Out, "  and %d more\n", len(done.Differences)-i)
			break
		}
		fmt.Fprintf(streams.Out, "  %s\n    document: %s\n    replay:   %s\n", d.Path, orNone(d.Document), orNone(d.Replay))
	}
	return &exit{code: exitFailed, err: errRunFailed}
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
