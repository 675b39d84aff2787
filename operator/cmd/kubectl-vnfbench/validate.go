package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/admission"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/validate"
)

const validateHelp = `Check manifests without a cluster, as the API server and the operator would.

Each FILE has one or more documents of YAML or JSON; "-" reads the standard input, and
a folder means its files that end in .yaml, .yml or .json. What is checked: that
no key is unknown or there twice, the schema of this version with its rules, and the
admission policies. A run whose Testbed is in one of the files is planned too, and so is
each cell of a suite. Kinds of others are left out.

Exit codes: 0 nothing is wrong, 1 something is, 2 a file cannot be read.`

// manifestExtensions are what files of manifests end with.
var manifestExtensions = []string{"yaml", "yml", "json"}

func newValidateCommand(streams genericiooptions.IOStreams) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check manifests without a cluster",
		Long:  validateHelp,
		Example: "  kubectl vnfbench validate testbed.yaml router.yaml\n" +
			"  kubectl vnfbench validate manifests/\n" +
			"  kustomize build . | kubectl vnfbench validate - -o json",
		Args:              someFiles,
		ValidArgsFunction: completeManifests,
		RunE: func(command *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			documents, findings, err := readManifests(args, streams.In)
			if err != nil {
				return err
			}
			outcome, err := validateDocuments(command.Context(), documents)
			if err != nil {
				return err
			}
			outcome.Findings = append(findings, outcome.Findings...)
			if err := writeOutcome(streams.Out, format, outcome); err != nil {
				return err
			}
			if len(outcome.Findings) > 0 {
				return &exit{exitFailed, errRunFailed}
			}
			return nil
		},
	}
	addFormat(command, &format)
	return command
}

// someFiles accepts names of files.
func someFiles(_ *cobra.Command, args []string) error {
	if len(args) == 0 || slices.Contains(args, "") {
		return fmt.Errorf("give the names of one or more files with manifests, or %q for the standard input", standardStream)
	}
	return nil
}

// completeManifests offers files of manifests.
func completeManifests(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return manifestExtensions, cobra.ShellCompDirectiveFilterFileExt
}

func validateDocuments(ctx context.Context, documents []validate.Document) (validate.Outcome, error) {
	server, err := admission.New()
	if err != nil {
		return validate.Outcome{}, err
	}
	return validate.Check(ctx, server, documents)
}

// admitDocuments puts the defaults into the project's objects, and returns what is wrong with them.
func admitDocuments(ctx context.Context, documents []validate.Document) ([]validate.Finding, error) {
	outcome, err := validateDocuments(ctx, documents)
	return outcome.Findings, err
}

// readManifests reads the documents of files and folders.
func readManifests(names []string, standardInput io.Reader) (documents []validate.Document, findings []validate.Finding, err error) {
	for _, name := range names {
		files := []string{name}
		if info, statErr := os.Stat(name); name != standardStream && statErr == nil && info.IsDir() {
			if files, err = manifestsOf(name); err != nil {
				return nil, nil, err
			}
		}
		for _, file := range files {
			_, err := readFile(file, standardInput, func(from io.Reader) (struct{}, error) {
				found, wrong, err := validate.Read(file, from)
				documents, findings = append(documents, found...), append(findings, wrong...)
				return struct{}{}, err
			})
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return documents, findings, nil
}

// manifestsOf returns the files of a folder that are named as manifests are.
func manifestsOf(folder string) ([]string, error) {
	var files []string
	for _, extension := range manifestExtensions {
		found, err := filepath.Glob(filepath.Join(folder, "*."+extension))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("folder %s has no file that ends in .%s", folder, strings.Join(manifestExtensions, ", ."))
	}
	slices.Sort(files)
	return files, nil
}

func writeOutcome(w io.Writer, format string, outcome validate.Outcome) error {
	if format == formatJSON {
		if outcome.Findings == nil {
			outcome.Findings = []validate.Finding{}
		}
		return writeJSON(w, struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			validate.Outcome
		}{report.APIVersion, "ManifestCheck", outcome})
	}
	var text strings.Builder
	for _, f := range outcome.Findings {
		place := fmt.Sprintf("%s: document %d", f.File, f.Document)
		for _, part := range []string{f.Object, f.Field} {
			if part != "" {
				place += ": " + part
			}
		}
		fmt.Fprintf(&text, "%s\n  %s\n", place, f.Message)
		if f.Remedy != "" {
			fmt.Fprintf(&text, "  to do: %s\n", f.Remedy)
		}
		if f.Cells > 0 {
			fmt.Fprintf(&text, "  the same in %s more\n", plural(int32(f.Cells), "cell"))
		}
	}
	for _, note := range outcome.Notes {
		fmt.Fprintf(&text, "note: %s\n", note)
	}
	fmt.Fprintf(&text, "%s in %s; %s\n", plural(int32(len(outcome.Findings)), "problem"), plural(int32(outcome.Checked), "object"), plural(int32(outcome.Planned), "plan"))
	// Files decide what is in it.
	_, err := io.WriteString(w, excerpt.Printable(text.String()))
	return err
}
