package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/study"
)

const studyHelp = `Compare what suites measured with what a study has published.

FOLDER has the file study.yaml, with the question and the claims of the study. Each
DOCUMENT is that of an execution of one of its suites, as "report suite/NAME -o json"
writes it; all are of one size, such as the lab's. Nothing is read from a cluster.

The report answers the question first. Then it says of each claim that was published
whether it is reproduced, in direction and size or in its direction alone, not reproduced,
or cannot be shown, and why. A claim of a suite whose document is not there cannot be shown.

The exit code says whether the report could be written, not what it says.`

// comparingStudy is what the user asks for.
type comparingStudy struct {
	format     string
	outputFile string
}

// studyFormats returns the formats of a study's report.
func studyFormats() []report.Format {
	return []report.Format{report.FormatTable, report.FormatMarkdown, report.FormatJSON, page.Format}
}

func newStudyCommand(streams genericiooptions.IOStreams) *cobra.Command {
	var s comparingStudy
	command := &cobra.Command{
		Use:   "study FOLDER DOCUMENT...",
		Short: "Compare suites with what a study has published",
		Long:  studyHelp,
		Example: "  kubectl vnfbench study config/studies/rule-cost rules.json flows.json\n" +
			"  kubectl vnfbench study config/studies/rule-cost rules.json flows.json -o html --output-file rule-cost.html",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("give the folder of a study, and the document of at least one of its suites; `kubectl vnfbench report suite/NAME -o json` writes one")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return []string{"json", "zst"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			format := report.Format(s.format)
			if !slices.Contains(studyFormats(), format) {
				return fmt.Errorf("unknown format %q: use one of %s", s.format, namesOf(studyFormats()))
			}
			of, err := readStudy(args[0])
			if err != nil {
				return err
			}
			var docs []report.SuiteDocument
			for _, name := range args[1:] {
				doc, err := readFile(name, streams.In, document.ReadSuite)
				if err != nil {
					return err
				}
				docs = append(docs, doc)
			}
			return s.write(of, docs, format, streams, time.Now())
		},
	}
	flags := command.Flags()
	flags.StringVarP(&s.format, "output", "o", string(report.FormatTable), "format: "+namesOf(studyFormats()))
	flags.StringVar(&s.outputFile, "output-file", "", "write to this file instead of the standard output")
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(strings.Split(namesOf(studyFormats()), ", "), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// readStudy reads the study of a folder.
func readStudy(folder string) (study.Study, error) {
	return readFile(filepath.Join(folder, study.File), nil, func(r io.Reader) (study.Study, error) {
		text, err := io.ReadAll(io.LimitReader(r, study.MaximumBytes+1))
		if err != nil {
			return study.Study{}, err
		}
		return study.Read(text)
	})
}

func (s comparingStudy) write(of study.Study, docs []report.SuiteDocument, format report.Format, streams genericiooptions.IOStreams, now time.Time) error {
	r, err := study.Evaluate(of, docs)
	if err != nil {
		return err
	}
	r.GeneratedAt, r.WrittenBy = now.UTC(), version
	var text bytes.Buffer
	switch format {
	case page.Format:
		err = page.WriteStudy(&text, r, docs)
	case report.FormatJSON:
		encoder := json.NewEncoder(&text)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(r)
	default:
		err = report.WriteParts(&text, r.Parts(), format, report.Options{ASCII: !unicodeLocale(os.Getenv)})
	}
	if err != nil {
		return err
	}
	if r.Completeness == report.Partial {
		fmt.Fprintln(streams.ErrOut, "note: not every measurement was made and succeeded; this report is partial")
	}
	return reporting{outputFile: s.outputFile}.output(text.Bytes(), streams)
}
