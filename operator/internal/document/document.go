// Package document reads and writes result documents: everything that is known about a run, or about an execution of a suite, as
// JSON or as JSON compressed with zstd. Package report has what is in them.
//
// A document comes from a file that anyone may have made, changed or damaged. So it is bounded before it is
// decoded, and what is no whole document is an error that says why.
package document

//go:generate go run ../../hack/documentschema document ../../../docs/reference/document.v1.schema.json
//go:generate go run ../../hack/documentschema comparison ../../../docs/reference/comparison.v1.schema.json

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	strictjson "sigs.k8s.io/json"

	"vnfbench.io/operator/internal/report"
)

// Bounds of a document. Write refuses what Read would refuse.
const (
	// MaximumBytes limits the JSON, and a file.
	MaximumBytes = 16 << 20
	// MaximumTrials is more than the results of a run have room for.
	MaximumTrials = 4096
	// maximumValues limits the members and elements of all objects and lists.
	maximumValues = 500_000
	// MaximumElements limits those of all lists: two bytes of a list can take some hundred in memory.
	MaximumElements = 250_000
	// maximumDepth limits how deep objects and lists are within others.
	maximumDepth = 64
	// windowBytes is the part of the JSON that Write looks back at.
	windowBytes = 8 << 20
)

// What Read returns is one of these where the file itself is the cause.
var (
	ErrTruncated    = errors.New("the document is truncated")
	ErrDamaged      = errors.New("the document is damaged")
	ErrNewer        = errors.New("the document is of a newer version")
	ErrNotADocument = errors.New("this is no result document")
	ErrTooLarge     = errors.New("the document is larger than any run's")
)

// Extensions of files with documents.
const (
	ExtensionJSON       = ".json"
	ExtensionCompressed = ".json.zst"
)

// IsName reports whether a file with this name is expected to have a document.
func IsName(name string) bool {
	return strings.HasSuffix(name, ExtensionJSON) || strings.HasSuffix(name, ExtensionCompressed)
}

// zstdMagic begins each frame of zstd (RFC 8878 section 3.1.1).
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Write writes the whole document with its trials: indented, or compressed.
func Write(w io.Writer, doc report.Document, compressed bool) error { return write(w, doc, compressed) }

// WriteSuite writes the document of an execution of a suite.
func WriteSuite(w io.Writer, doc report.SuiteDocument, compressed bool) error {
	return write(w, doc, compressed)
}

func write(w io.Writer, doc any, compressed bool) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if !compressed {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(doc); err != nil {
		return fmt.Errorf("writing the document: %w", err)
	}
	if err := inBounds(text.Bytes()); err != nil {
		return fmt.Errorf("writing the document: %w", err)
	}
	out := text.Bytes()
	if compressed {
		packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(windowBytes), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("compressing the document: %w", err)
		}
		out = packer.EncodeAll(out, nil)
		// Nothing is left to be written.
		_ = packer.Close()
	}
	_, err := w.Write(out)
	return err
}

// Read reads a document. Its content says whether it is compressed.
func Read(r io.Reader) (report.Document, error) {
	return read(r, form{report.Kind, "run", always}, check)
}

// ReadSuite reads the document of an execution of a suite, with the errors of Read.
func ReadSuite(r io.Reader) (report.SuiteDocument, error) {
	return read(r, form{report.SuiteKind, "suite", alwaysOfSuites}, checkSuite)
}

// read reads a document of one form, which check accepts.
func read[T any](r io.Reader, of form, check func(T) error) (T, error) {
	var doc, none T
	text, err := plain(r)
	if err == nil {
		err = checkHead(text, of)
	}
	if err == nil {
		err = decode(text, &doc)
	}
	if err == nil {
		err = check(doc)
	}
	if err != nil {
		return none, fmt.Errorf("reading the document: %w", err)
	}
	return doc, nil
}

// plain returns the JSON of a document, which is in its bounds.
func plain(r io.Reader) ([]byte, error) {
	text, err := limited(r)
	if err != nil {
		return nil, err
	}
	if begin := text[:min(len(text), len(zstdMagic))]; len(begin) > 0 && bytes.HasPrefix(zstdMagic, begin) {
		if text, err = unpacked(text); err != nil {
			return nil, err
		}
	}
	return text, inBounds(text)
}

// limited reads at most as much as a document has.
func limited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaximumBytes+1))
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded), err == nil && len(text) > MaximumBytes:
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, MaximumBytes)
	case err != nil:
		return nil, err
	}
	return text, nil
}

// unpacked returns what was compressed.
func unpacked(packed []byte) ([]byte, error) {
	unpacker, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaximumBytes), zstd.WithDecoderMaxWindow(MaximumBytes))
	if err != nil {
		return nil, err
	}
	defer unpacker.Close()
	text, err := limited(unpacker)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: its %d bytes end within what was compressed; copy it again from where it is whole", ErrTruncated, len(packed))
	case err != nil && !errors.Is(err, ErrTooLarge):
		return nil, fmt.Errorf("%w: it cannot be decompressed (%w); copy it again from where it is whole", ErrDamaged, err)
	}
	return text, err
}

// head is what every version has, whatever else changes.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Versions   struct {
		Report string `json:"report"`
	} `json:"versions"`
	WrittenBy string `json:"writtenBy"`
}

// form is a kind of documents.
type form struct {
	kind string
	// about is what such a document is of.
	about string
	// always are the fields that documents of every program have had.
	always []string
}

var (
	always         = []string{"completeness", "run", "succeeded", "measured", "experiment", "results", "trialSummary"}
	alwaysOfSuites = []string{"completeness", "execution", "planned", "succeeded", "counts", "cells"}
)

// checkHead checks that this program reads the kind and the version of a document, and that it is one of a form.
func checkHead(text []byte, of form) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("%w: it is not JSON: %w", ErrDamaged, err)
	}
	var h head
	for name, into := range map[string]any{"apiVersion": &h.APIVersion, "kind": &h.Kind, "versions": &h.Versions, "writtenBy": &h.WrittenBy} {
		// What cannot be read stays empty, and is named below.
		_ = json.Unmarshal(fields[name], into)
	}
	version, known := versionOf(h.APIVersion)
	newest, _ := versionOf(report.APIVersion)
	switch {
	case !known || h.Kind == "":
		return fmt.Errorf("%w: its apiVersion is %q and its kind %q; `kubectl vnfbench export RUN` writes a document", ErrNotADocument, h.APIVersion, h.Kind)
	case h.Kind != of.kind:
		return fmt.Errorf("%w: its kind is %q, and that of a %s's document is %q", ErrNotADocument, h.Kind, of.about, of.kind)
	case version > newest:
		by := "a newer version of the plugin"
		if writer := cmp.Or(h.Versions.Report, h.WrittenBy); writer != "" {
			by = fmt.Sprintf("version %q of the plugin", writer)
		}
		return fmt.Errorf("%w: it is %q, which %s wrote, and this plugin reads up to %q: use that version of the plugin or a later one", ErrNewer, h.APIVersion, by, report.APIVersion)
	}
	for _, name := range of.always {
		if value, found := fields[name]; !found || string(value) == "null" {
			return fmt.Errorf("%w: it has no field %q, which every document has; copy it again from where it is whole", ErrDamaged, name)
		}
	}
	return nil
}

// versionOf returns the number in an apiVersion of a document.
func versionOf(apiVersion string) (int, bool) {
	group, _, _ := strings.Cut(report.APIVersion, "/")
	number, found := strings.CutPrefix(apiVersion, group+"/v")
	version, err := strconv.Atoi(number)
	return version, found && err == nil && version > 0 && strconv.Itoa(version) == number
}

// decode refuses a field that is there twice: readers would not agree on its value.
func decode(text []byte, into any) error {
	twice, err := strictjson.UnmarshalStrict(text, into, strictjson.DisallowDuplicateFields)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case len(twice) > 0:
		return fmt.Errorf("%w: %w", ErrDamaged, twice[0])
	}
	return nil
}

// check refuses values that no program writes.
func check(doc report.Document) error {
	if len(doc.Trials) > MaximumTrials {
		return fmt.Errorf("%w: it has %d trials, and a run at most %d", ErrTooLarge, len(doc.Trials), MaximumTrials)
	}
	if err := checkCompleteness(doc.Completeness); err != nil {
		return err
	}
	if doc.Run.Name == "" {
		return fmt.Errorf("%w: it does not name its run", ErrDamaged)
	}
	if err := checkOutcomes(map[string]report.Outcome{"succeeded": doc.Succeeded, "measured": doc.Measured}); err != nil {
		return err
	}
	for i := range doc.Trials {
		if err := doc.Trials[i].Check(); err != nil {
			return fmt.Errorf("%w: trial %d: %w", ErrDamaged, i, err)
		}
	}
	return nil
}

func checkCompleteness(is report.Completeness) error {
	if is != report.Complete && is != report.Partial {
		return fmt.Errorf("%w: its completeness is %q, which is neither %s nor %s", ErrDamaged, is, report.Complete, report.Partial)
	}
	return nil
}

func checkOutcomes(of map[string]report.Outcome) error {
	for name, outcome := range of {
		if !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, outcome.Status) {
			return fmt.Errorf("%w: %s.status is %q, which is no status of a condition", ErrDamaged, name, outcome.Status)
		}
	}
	return nil
}

// checkSuite refuses values that no program writes.
func checkSuite(doc report.SuiteDocument) error {
	if err := checkCompleteness(doc.Completeness); err != nil {
		return err
	}
	if doc.Execution.Name == "" {
		return fmt.Errorf("%w: it does not name its execution", ErrDamaged)
	}
	return checkOutcomes(map[string]report.Outcome{"planned": doc.Planned, "succeeded": doc.Succeeded})
}
