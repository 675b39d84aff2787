package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
)

const judgeHelp = `Judge series: did the device become worse?

POINTS is a folder of "series --store", or a file of JSON lines or CSV; "-" reads
the standard input. With --suite, the points are those that the operator keeps of a
suite, and nothing else is read from a cluster.

The verdict of a series is Pass, Regression, Improvement, Inconclusive or
NotEnoughData. A history alone is never a regression: where the last runs differ
from those before them, the verdict is Inconclusive and says which two versions to
run again, by turns. Add these runs with "series --leg" and judge again.

NotEnoughData says how many more runs it takes: by default, 11 of one level.

The exit code is 0 if nothing became worse, 1 if a figure did, 2 if the points cannot
be read, and 4 if a question is open.`

// judging is what the user asks for.
type judging struct {
	effectPercent    float64
	settings         regression.Settings
	acknowledgements string
	suite            string
	format           string
	outputFile       string
}

func newJudgeCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	j := judging{settings: regression.Default()}
	command := &cobra.Command{
		Use:   "judge [POINTS]",
		Short: "Find regressions in series",
		Long:  judgeHelp,
		Example: "  kubectl vnfbench judge history\n" +
			"  kubectl vnfbench judge --suite nightly\n" +
			"  kubectl vnfbench judge history.csv --effect-percent 5 --acknowledgements accepted.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case j.suite != "" && len(args) > 0:
				return errors.New("--suite takes the points of a suite: give no folder or file with it")
			case j.suite == "" && (len(args) != 1 || args[0] == ""):
				return fmt.Errorf("give exactly one folder or file of points, not %d, or --suite; `kubectl vnfbench series` makes one", len(args))
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			return j.run(command.Context(), args, streams, connect)
		},
	}
	flags := command.Flags()
	flags.StringVar(&j.suite, "suite", "", "judge the points that the operator keeps of this BenchmarkSuite")
	flags.Float64Var(&j.effectPercent, "effect-percent", 100*j.settings.Effect, "the change that must be found; less than half of it is no alarm")
	flags.IntVar(&j.settings.MaxPairs, "max-pairs", j.settings.MaxPairs, "how many pairs of interleaved runs a question takes at most")
	flags.IntVar(&j.settings.MinRuns, "min-runs", j.settings.MinRuns, "how many runs of one level the newest three are compared with")
	flags.Float64Var(&j.settings.FalseDiscoveryRate, "false-discovery-rate", j.settings.FalseDiscoveryRate, "the share of changes among the figures of an execution that may be chance")
	flags.StringVar(&j.acknowledgements, "acknowledgements", "", "file with a list of changes that are expected, accepted or fixed")
	flags.StringVarP(&j.format, "output", "o", "table", "format: table, json")
	flags.StringVar(&j.outputFile, "output-file", "", "write to this file instead of the standard output")
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

// points reads the folder or file, or what the operator keeps.
func (j judging) points(ctx context.Context, args []string, standardInput io.Reader, connect func() (*cluster, error)) ([]series.Point, error) {
	if j.suite != "" {
		return keptPoints(ctx, j.suite, connect)
	}
	return readPoints(args[0], standardInput)
}

func (j judging) run(ctx context.Context, args []string, streams genericiooptions.IOStreams, connect func() (*cluster, error)) error {
	if j.format != "table" && j.format != "json" {
		return fmt.Errorf("unknown format %q: use table or json", j.format)
	}
	j.settings.Effect = j.effectPercent / 100
	if err := j.settings.Validate(); err != nil {
		return err
	}
	acknowledgements, err := j.acknowledged()
	if err != nil {
		return err
	}
	points, err := j.points(ctx, args, streams.In, connect)
	if err != nil {
		return err
	}
	all, err := series.Group(points)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("there are no points")
	}
	found, err := regression.JudgeAll(j.settings, all, acknowledgements)
	if err != nil {
		return err
	}
	for _, a := range found.Unused {
		fmt.Fprintf(streams.ErrOut, "note: the acknowledgement of %s%s matches no change\n", a.Revision, a.Run)
	}
	var text bytes.Buffer
	if j.format == "json" {
		encoder := json.NewEncoder(&text)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(found)
	} else {
		err = writeVerdicts(&text, found)
	}
	if err != nil {
		return err
	}
	if err := writeOut(text.Bytes(), j.outputFile, streams); err != nil {
		return err
	}
	return exitOf(found)
}

func (j judging) acknowledged() ([]regression.Acknowledgement, error) {
	if j.acknowledgements == "" {
		return nil, nil
	}
	file, err := os.Open(j.acknowledgements)
	if err != nil {
		return nil, err
	}
	// Nothing was written that closing could lose.
	defer func() { _ = file.Close() }()
	list, err := regression.ReadAcknowledgements(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.acknowledgements, err)
	}
	return list, nil
}

// writeVerdicts writes a sentence for each group of figures that moved together, and a line for each series.
func writeVerdicts(out io.Writer, found regression.Report) error {
	for _, g := range found.Groups {
		fmt.Fprintf(out, "%s: %s\n", g.Verdict, g.Message)
	}
	if len(found.Groups) > 0 {
		fmt.Fprintln(out)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VERDICT\tREASON\tSERIES\tRUNS\tVARIATION\tWHY")
	for _, j := range found.Judgments {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%.2f %%\t%s\n", j.Verdict, j.Reason, j.Key, j.Runs, float64(j.VariationPartsPerMillion)/1e4, j.Message)
	}
	return table.Flush()
}

// exitOf returns the error with the exit code of the worst verdict; nil where nothing is wrong.
func exitOf(found regression.Report) error {
	code := exitSucceeded
	for _, j := range found.Judgments {
		switch {
		case j.Verdict == regression.VerdictRegression:
			code = exitFailed
		case j.Verdict == regression.VerdictInconclusive && code == exitSucceeded:
			code = exitInconclusive
		}
	}
	if code == exitSucceeded {
		return nil
	}
	return &exit{code: code, err: errRunFailed}
}
