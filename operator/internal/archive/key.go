package archive

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
)

// Folders of the documents of each kind.
const (
	folderOfRuns   = "runs"
	folderOfSuites = "suites"
)

// Kind is that of a document, by its key.
type Kind string

// Kinds of documents.
const (
	Run   Kind = report.Kind
	Suite Kind = report.SuiteKind
)

// RunKey returns the key of a run's document. No two runs have the same: the UID distinguishes those of one name.
func RunKey(namespace, name, uid string) string { return key(folderOfRuns, namespace, name, uid) }

// SuiteKey returns the key of the document of an execution of a suite.
func SuiteKey(namespace, name, uid string) string { return key(folderOfSuites, namespace, name, uid) }

// maxNameBytes leaves room for the UID, the extension and what a folder's files are called while they are written: a name has 255 bytes there at most.
const maxNameBytes = 180

// key returns the key of an object. The document in it has the whole name.
func key(folder, namespace, name, uid string) string {
	name = strings.TrimRight(name[:min(len(name), maxNameBytes)], ".-")
	return folder + "/" + namespace + "/" + name + "." + uid + document.ExtensionCompressed
}

// Parse returns the kind of the document that a key names. Its error says what a key looks like: the names of objects are the only ones that
// it lets through, so no key leads out of the archive.
func Parse(key string) (Kind, error) {
	kinds := map[string]Kind{folderOfRuns: Run, folderOfSuites: Suite}
	parts := strings.Split(key, "/")
	if len(parts) == 3 && kinds[parts[0]] != "" && len(validation.IsDNS1123Label(parts[1])) == 0 {
		object, isDocument := strings.CutSuffix(parts[2], document.ExtensionCompressed)
		at := strings.LastIndex(object, ".")
		// The UID is what follows the last dot: it has none, and names may have some.
		if isDocument && at > 0 && len(validation.IsDNS1123Subdomain(object[:at])) == 0 && len(validation.IsDNS1123Label(object[at+1:])) == 0 {
			return kinds[parts[0]], nil
		}
	}
	return "", fmt.Errorf("%q is no key of the archive: want %s or %s", key, RunKey("NAMESPACE", "NAME", "UID"), SuiteKey("NAMESPACE", "NAME", "UID"))
}

// replaces reports whether a document is stored instead of another one of the same object: that cannot be read, or it lacks trials of a run
// that were not readable when it was made.
func (k Kind) replaces(text, before []byte) bool {
	if k == Suite {
		_, err := document.ReadSuite(bytes.NewReader(before))
		return err != nil
	}
	kept, err := document.Read(bytes.NewReader(before))
	if err != nil || len(kept.Trials) > 0 {
		return err != nil
	}
	with, err := document.Read(bytes.NewReader(text))
	return err == nil && len(with.Trials) > 0
}
