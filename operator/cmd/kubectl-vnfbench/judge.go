package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
)

const judgeHelp = `Judge series: did the device become worse?

POINTS is a folder of "series --store", or a file of JSON lines or CSV; "-" reads
the standard input. With --suite, the points are those that the operator keeps of a
suite. Where the suite exists, its spec.regression gives the margin and the
acknowledgements that no flag gives, and the series are those that the operator
judges: of each, the newest run is of the execution that was judged last.

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
	// isEffectGiven says that the user gave effectPercent.
	isEffectGiven bool
	format        string
	outputFile    string
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
			j.isEffectGiven = command.Flags().Changed("effect-percent")
			return j.run(command.Context(), args, streams, connect)
		},
	}
	flags := command.Flags()
	flags.StringVar(&j.suite, "suite", "", "judge the points that the operator keeps of this BenchmarkSuite")
	flags.Float64Var(&j.effectPercent, "effect-percent", 100*j.settings.Effect, "the change that must be found; less than half of it is no alarm; with --suite, default: its spec.regression.marginPercent")
	flags.IntVar(&j.settings.MaxPairs, "max-pairs", j.settings.MaxPairs, "how many pairs of interleaved runs a question takes at most")
	flags.IntVar(&j.settings.MinRuns, "min-runs", j.settings.MinRuns, "how many runs of one level the newest three are compared with")
	flags.Float64Var(&j.settings.FalseDiscoveryRate, "false-discovery-rate", j.settings.FalseDiscoveryRate, "the share of changes among the figures of an execution that may be chance")
	flags.StringVar(&j.acknowledgements, "acknowledgements", "", "file with a list of changes that are expected, accepted or fixed; with --suite, default: its spec.regression.acknowledgements")
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
	suite, err := j.definition(ctx, connect)
	if err != nil {
		return err
	}
	if suite != nil && suite.Spec.Regression != nil && suite.Spec.Regression.MarginPercent > 0 && !j.isEffectGiven {
		j.effectPercent = float64(suite.Spec.Regression.MarginPercent)
	}
	j.settings.Effect = j.effectPercent / 100
	if err := j.settings.Validate(); err != nil {
		return err
	}
	acknowledgements, err := j.acknowledged(suite)
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
	if suite != nil {
		all = ofExecution(judgedLast(suite, points), all, streams.ErrOut)
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

// definition gets the suite that the user names; nil where there is none.
func (j judging) definition(ctx context.Context, connect func() (*cluster, error)) (*v1alpha1.BenchmarkSuite, error) {
	if j.suite == "" {
		return nil, nil
	}
	c, err := connect()
	if err != nil {
		return nil, err
	}
	return c.suite(ctx, j.suite)
}

// judgedLast returns the execution after which the operator judged last, or the newest one where it has judged none whose points are kept.
func judgedLast(suite *v1alpha1.BenchmarkSuite, points []series.Point) string {
	newest := series.Point{}
	for _, p := range points {
		switch {
		case p.Leg != nil:
		case suite.Status.Regression != nil && p.Execution == suite.Status.Regression.Execution:
			return p.Execution
		case p.Time.After(newest.Time):
			newest = p
		}
	}
	return newest.Execution
}

// ofExecution returns the series whose newest run is of an execution, and notes how many are not: cells that the suite no longer has.
func ofExecution(execution string, all []series.Series, notes io.Writer) []series.Series {
	total := len(all)
	all = slices.DeleteFunc(all, func(s series.Series) bool { return len(s.Runs) == 0 || s.Runs[len(s.Runs)-1].Execution != execution })
	if n := total - len(all); n > 0 {
		fmt.Fprintf(notes, "note: of %d series, %d have no run of execution %s, and are not judged; `kubectl vnfbench series --suite` exports all\n", total, n, execution)
	}
	return all
}

// acknowledged returns the acknowledgements of the file that the user names, or else of the suite, which may be nil.
func (j judging) acknowledged(suite *v1alpha1.BenchmarkSuite) ([]regression.Acknowledgement, error) {
	switch {
	case j.acknowledgements != "":
	case suite != nil && suite.Spec.Regression != nil:
		// The fields have the same names.
		text, err := json.Marshal(suite.Spec.Regression.Acknowledgements)
		if err != nil {
			return nil, err
		}
		list, err := regression.ReadAcknowledgements(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("BenchmarkSuite %q: spec.regression.acknowledgements: %w", suite.Name, err)
		}
		return list, nil
	default:
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
