package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/report"
)

// standardStream names the standard input or output.
const standardStream = "-"

// documentName accepts exactly one name of a file.
func documentName(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("give the name of exactly one document, not %d; `kubectl vnfbench export RUN` writes one", len(args))
	}
	return nil
}

// isDocument reports whether an argument is the name of a document's file, and not that of an object: it is "-", begins with
// a folder, or ends as documents do. A run whose name ends so is named with its type: run/NAME.
func isDocument(argument string) bool {
	if word, name, found := strings.Cut(argument, "/"); found && name != "" && kindNamed(word) != "" {
		return false
	}
	for _, folder := range []string{"/", "./", "../"} {
		if strings.HasPrefix(argument, folder) {
			return true
		}
	}
	return argument == standardStream || filepath.IsAbs(argument) || document.IsName(argument)
}

// readDocument reads a run's document from a file, or from the standard input.
func readDocument(name string, standardInput io.Reader) (report.Document, error) {
	return readFile(name, standardInput, document.Read)
}

// readFile reads a file, or the standard input.
func readFile[T any](name string, standardInput io.Reader, read func(io.Reader) (T, error)) (T, error) {
	var none T
	if name == standardStream {
		return read(standardInput)
	}
	file, err := os.Open(name)
	if err != nil {
		return none, err
	}
	// Nothing was written that closing could lose.
	defer func() { _ = file.Close() }()
	found, err := read(file)
	if err != nil {
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return found, nil
}

// shownDocument reads a document whose figures are used as they are. Where they are not those of its trials, it says so.
func shownDocument(name string, streams genericiooptions.IOStreams) (report.Document, error) {
	doc, err := readDocument(name, streams.In)
	if err == nil {
		noteDoubt(name, doc, streams)
	}
	return doc, err
}

// noteDoubt says why a replay does not give the document again, where it does not.
func noteDoubt(name string, doc report.Document, streams genericiooptions.IOStreams) {
	if note := report.Doubt(doc); note != "" {
		fmt.Fprintf(streams.ErrOut, "note: %s: %s\n", name, excerpt.Printable(note))
	}
}

// errNoTrials says that a document has no trials that could be written.
var errNoTrials = errors.New("--trials: the document has no trials; one that `kubectl vnfbench export RUN` writes has them")

// orDocuments offers files with documents where no run's name begins with the word, or no cluster answers.
func orDocuments(runs cobra.CompletionFunc) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		names, directive := runs(command, args, word)
		for _, name := range names {
			if strings.HasPrefix(name, word) {
				return names, directive
			}
		}
		return []string{"json", "zst"}, cobra.ShellCompDirectiveFilterFileExt
	}
}
