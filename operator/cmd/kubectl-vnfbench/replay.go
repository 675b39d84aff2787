package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/report"
)

const replayHelp = `Work out every figure of a document again, and compare.

The document is one that "export" wrote; "-" reads it from the standard input.
Nothing is read from a cluster: the figures, the verdicts and the deviations follow
from the trials, the plan and the generator's state in the document. Warnings are
checked as far as they follow from the trials. With --figures, each figure is
written with both values.

The exit code is 0 if everything is the same, 1 if a value differs, and 2 if the
document cannot be replayed.`

// maxDifferences is how many differences are printed.
const maxDifferences = 20

func newReplayCommand(streams genericiooptions.IOStreams) *cobra.Command {
	figures := false
	command := &cobra.Command{
		Use:     "replay DOCUMENT",
		Short:   "Work out the figures of a document again",
		Long:    replayHelp,
		Example: "  kubectl vnfbench export router\n  kubectl vnfbench replay router.json.zst --figures",
		Args:    documentName,
		RunE: func(_ *cobra.Command, args []string) error {
			doc, err := readDocument(args[0], streams.In)
			if err != nil {
				return err
			}
			return replay(doc, figures, streams)
		},
	}
	command.Flags().BoolVar(&figures, "figures", false, "write every figure with its value in the document and the one that its trials give")
	return command
}

func replay(doc report.Document, figures bool, streams genericiooptions.IOStreams) error {
	done, err := report.Replay(doc)
	if err != nil {
		return err
	}
	if done.OtherProtocol {
		fmt.Fprintf(streams.ErrOut, "note: the trials were made by version %q of the operator, and this program is version %q of another protocol: use the plugin of that version where values differ\n",
			doc.Versions.Operator, version)
	}
	var text strings.Builder
	name := doc.Run.Namespace + "/" + doc.Run.Name
	if len(done.Differences) == 0 {
		fmt.Fprintf(&text, "BenchmarkRun %s: its %d trials give all %d figures of the document again, with every verdict and deviation\n", name, done.Trials, len(done.Figures))
	} else {
		differ := slices.Clone(done.Figures)
		differ = slices.DeleteFunc(differ, report.ReplayedFigure.Agrees)
		fmt.Fprintf(&text, "BenchmarkRun %s: its %d trials give other values at %d places; of %d figures %d differ\n", name, done.Trials, len(done.Differences), len(done.Figures), len(differ))
		if !figures {
			writeFigures(&text, differ, maxDifferences)
		}
		writeDifferences(&text, done.Differences)
	}
	if figures {
		writeFigures(&text, done.Figures, len(done.Figures))
	}
	// The document decides what the names are.
	if _, err := io.WriteString(streams.Out, excerpt.Printable(text.String())); err != nil {
		return err
	}
	if len(done.Differences) > 0 {
		return &exit{code: exitFailed, err: errRunFailed}
	}
	return nil
}

// writeFigures writes a table of the first figures.
func writeFigures(w io.Writer, figures []report.ReplayedFigure, most int) {
	if len(figures) == 0 {
		return
	}
	value := func(n *int64) string {
		if n == nil {
			return "none"
		}
		return strconv.FormatInt(*n, 10)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// What is written into memory does not fail.
	_, _ = fmt.Fprintln(out, "  SAME\tFIGURE\tOF\tUNIT\tDOCUMENT\tREPLAY")
	for _, f := range figures[:min(len(figures), most)] {
		same := "no"
		if f.Agrees() {
			same = "yes"
		}
		_, _ = fmt.Fprintf(out, "  %s\t%s\t%s\t%s\t%s\t%s\n", same, f.Metric, f.About, f.Unit, value(f.Document), value(f.Replay))
	}
	_ = out.Flush()
	if len(figures) > most {
		fmt.Fprintf(w, "  and %d more; --figures writes all\n", len(figures)-most)
	}
}

// writeDifferences writes the first places that differ.
func writeDifferences(w io.Writer, differences []report.Difference) {
	for i, d := range differences {
		if i == maxDifferences {
			fmt.Fprintf(w, "  and %d more places\n", len(differences)-i)
			return
		}
		fmt.Fprintf(w, "  %s\n    document: %s\n    replay:   %s\n", d.Path, orNone(d.Document), orNone(d.Replay))
	}
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
