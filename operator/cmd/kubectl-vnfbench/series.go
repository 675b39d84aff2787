package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/series"
)

const seriesHelp = `Make points of series from documents, and keep them in a store.

A document is one that "export" or "report -o json" wrote; "-" reads it from the
standard input. Each figure that a baseline compares is a point of a separate series, named by
the experiment, the testbed and the figure. A point keeps its repeats, bound,
cause, doubts and warnings, the generator's calibration, the platform and the
subject: what was tested, which you name.

With --suite, the points are those that the operator keeps of a suite in the cluster.

With --store, points are added to the folder's files, which only grow. A point that
is there already is left out. Points of documents and files have no namespace: with
--namespace they belong to the series of the suites there, and so do legs that you
make for a suite. Without a document, --import and --suite, the store's
points are written out.`

// Forms of points.
const (
	formatLines = "jsonl"
	formatCSV   = "csv"
	formatTable = "table"
)

// keeping is what the user asks for.
type keeping struct {
	store, from, suite, format, outputFile string
	execution, leg, subjectTime            string
	// namespace is given to points without one; empty for none.
	namespace string
	subject   series.Subject
}

func newSeriesCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var k keeping
	command := &cobra.Command{
		Use:   "series [DOCUMENT...]",
		Short: "Keep the figures of runs as series",
		Long:  seriesHelp,
		Example: "  kubectl vnfbench export router-61\n" +
			"  kubectl vnfbench series router-61.json.zst --store history --revision 3f2a1c0\n" +
			"  kubectl vnfbench series --store history -o csv --output-file history.csv\n" +
			"  kubectl vnfbench series --suite nightly -o table\n" +
			"  kubectl vnfbench series --suite nightly --store history\n" +
			"  kubectl vnfbench series --import history.csv --store copy",
		RunE: func(command *cobra.Command, args []string) error {
			// The namespace of the kubeconfig says nothing of a document.
			if flag := command.Flags().Lookup("namespace"); flag != nil && flag.Changed {
				k.namespace = flag.Value.String()
			}
			return k.run(command.Context(), args, streams, connect)
		},
	}
	flags := command.Flags()
	flags.StringVar(&k.store, "store", "", "folder in which points are kept")
	flags.StringVar(&k.from, "import", "", "add the points of this file, JSON lines or CSV, to the store")
	flags.StringVar(&k.suite, "suite", "", "take the points that the operator keeps of this BenchmarkSuite")
	flags.StringVarP(&k.format, "output", "o", formatLines, "format of points that are written out: jsonl, csv, or table with a line for each series")
	flags.StringVar(&k.outputFile, "output-file", "", "write to this file instead of the standard output")
	flags.StringVar(&k.execution, "execution", "", "what the run is a part of; its figures are judged together. Default: the run")
	flags.StringVar(&k.leg, "leg", "", "the run is a leg: RUN,CAUSE,SIDE,PAIR,OLDRUN as \"judge -o json\" asks for it, such as night-61,Step,Old,1,night-57")
	flags.StringVar(&k.subject.Name, "subject", "", "name of what was tested")
	flags.StringVar(&k.subject.Version, "subject-version", "", "its version")
	flags.StringVar(&k.subject.Revision, "revision", "", "its revision, such as a commit")
	flags.StringVar(&k.subjectTime, "subject-time", "", "when the revision was made, such as 2026-01-31T12:00:00Z: a later run of an older one is in no verdict")
	flags.StringVar(&k.subject.Image, "image", "", "its image; default: that of the chain's only function")
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{formatLines, formatCSV, formatTable}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

func (k keeping) run(ctx context.Context, args []string, streams genericiooptions.IOStreams, connect func() (*cluster, error)) error {
	switch {
	case k.format != formatLines && k.format != formatCSV && k.format != formatTable:
		return fmt.Errorf("unknown format %q: use %s, %s or %s", k.format, formatLines, formatCSV, formatTable)
	case k.suite != "" && (k.from != "" || len(args) > 0):
		return errors.New("--suite takes the points of a suite: give no documents and no --import with it")
	case k.from != "" && len(args) > 0:
		return errors.New("--import takes the points of a file: give no documents with it")
	case k.from != "" && k.store == "":
		return errors.New("--import needs --store, the folder to which points are added")
	case k.store == "" && k.suite == "" && len(args) == 0:
		return errors.New("give the names of documents, --suite or --store; `kubectl vnfbench export RUN` writes a document")
	}
	points, err := k.points(ctx, args, streams, connect)
	if err != nil {
		return err
	}
	for i := range points {
		points[i].Namespace = cmp.Or(points[i].Namespace, k.namespace)
	}
	if k.store == "" {
		return k.write(points, streams)
	}
	if k.from == "" && k.suite == "" && len(args) == 0 {
		all, err := series.Read(k.store)
		if err != nil {
			return err
		}
		return k.write(all, streams)
	}
	store, err := series.Open(k.store)
	if err != nil {
		return err
	}
	stored, err := store.Append(points...)
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "%d points are stored in %s, and %d were there\n", stored, k.store, len(points)-stored)
	return nil
}

// points reads the documents, the file to import or what the operator keeps.
func (k keeping) points(ctx context.Context, documents []string, streams genericiooptions.IOStreams, connect func() (*cluster, error)) ([]series.Point, error) {
	switch {
	case k.from != "":
		return readPointsFile(k.from, streams.In)
	case k.suite != "":
		return keptPoints(ctx, k.suite, connect)
	}
	leg, err := parseLeg(k.leg)
	if err != nil {
		return nil, err
	}
	made, err := parseSubjectTime(k.subjectTime)
	if err != nil {
		return nil, err
	}
	var all []series.Point
	for _, name := range documents {
		doc, err := shownDocument(name, streams)
		if err != nil {
			return nil, err
		}
		points, err := report.Points(doc, k.subject, k.execution, leg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i := range points {
			points[i].SubjectTime, points[i].RunUID = made, doc.Run.UID
		}
		all = append(all, points...)
	}
	return all, nil
}

// parseSubjectTime reads --subject-time; zero for an empty text.
func parseSubjectTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	made, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--subject-time is %q: give a time as 2026-01-31T12:00:00Z", text)
	}
	return made.UTC(), nil
}

// parseLeg reads RUN,CAUSE,SIDE,PAIR,OLDRUN; nil for an empty text. OLDRUN can be left out: then the leg answers the question of its run and cause.
func parseLeg(text string) (*series.Leg, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) != 4 && len(parts) != 5 {
		return nil, fmt.Errorf("--leg has %q: give RUN,CAUSE,SIDE,PAIR,OLDRUN, such as night-61,Step,Old,1,night-57", text)
	}
	pair, err := strconv.Atoi(parts[3])
	if err != nil {
		return nil, fmt.Errorf("--leg has the pair %q: give a number from 1", parts[3])
	}
	leg := &series.Leg{Run: parts[0], Cause: parts[1], Side: series.Side(parts[2]), Pair: pair}
	if len(parts) == 5 {
		leg.OldRun = parts[4]
	}
	if err := leg.Validate(); err != nil {
		return nil, fmt.Errorf("--leg: %w", err)
	}
	return leg, nil
}

// keptPoints reads the points that the operator keeps of a suite.
func keptPoints(ctx context.Context, suite string, connect func() (*cluster, error)) ([]series.Point, error) {
	c, err := connect()
	if err != nil {
		return nil, err
	}
	points, err := series.ReadMeasurements(ctx, c.client, c.namespace, suite, func(*v1alpha1.BenchmarkMeasurement) {})
	if err != nil {
		return nil, explain(err)
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("namespace %q has no measurement of a BenchmarkSuite %q; `kubectl get benchmarkmeasurements` lists all", c.namespace, suite)
	}
	return points, nil
}

func (k keeping) write(points []series.Point, streams genericiooptions.IOStreams) error {
	var text bytes.Buffer
	write := map[string]func(io.Writer, []series.Point) error{formatLines: series.WriteLines, formatCSV: series.WriteCSV, formatTable: writeSeries}[k.format]
	if err := write(&text, points); err != nil {
		return err
	}
	return writeOut(text.Bytes(), k.outputFile, streams)
}

// writeSeries writes a line for each series, with its last run.
func writeSeries(out io.Writer, points []series.Point) error {
	all, err := series.Group(points)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SERIES\tRUNS\tLEGS\tLAST RUN\tTIME\tVALUE\tUNIT\tSUBJECT\tNO VALUE BECAUSE")
	for _, s := range all {
		if len(s.Runs) == 0 {
			fmt.Fprintf(table, "%s\t0\t%d\t\t\t\t\t\t\n", s.Key, len(s.Legs))
			continue
		}
		last := s.Runs[len(s.Runs)-1]
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%d\t%s\t%s\t%s\n", s.Key, len(s.Runs), len(s.Legs), last.Run, last.Time.Format(time.RFC3339), last.Value, last.Unit, last.Subject, last.NoValue())
	}
	return table.Flush()
}

// writeOut writes to a file, or to the standard output where none is named.
func writeOut(text []byte, file string, streams genericiooptions.IOStreams) error {
	if file == "" {
		_, err := streams.Out.Write(text)
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// readPoints reads the points of a store's folder, of a file, or of the standard input for "-".
func readPoints(name string, standardInput io.Reader) ([]series.Point, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return series.Read(name)
	}
	return readPointsFile(name, standardInput)
}

func readPointsFile(name string, standardInput io.Reader) ([]series.Point, error) {
	if name == "-" {
		return decodePoints(standardInput)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	// Nothing was written that closing could lose.
	defer func() { _ = file.Close() }()
	points, err := decodePoints(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return points, nil
}

// decodePoints reads JSON lines, which begin with a brace, or else CSV.
func decodePoints(in io.Reader) ([]series.Point, error) {
	reader := bufio.NewReader(in)
	for {
		next, _, err := reader.ReadRune()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there are no points")
		}
		if err != nil {
			return nil, err
		}
		if unicode.IsSpace(next) || next == '\ufeff' {
			continue
		}
		if err := reader.UnreadRune(); err != nil {
			return nil, err
		}
		if next == '{' {
			return series.ReadLines(reader)
		}
		return series.ReadCSV(reader)
	}
}
