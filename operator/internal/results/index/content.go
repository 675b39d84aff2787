package index

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/series"
)

// Kinds of documents.
const (
	KindRun   = "run"
	KindSuite = "suite"
)

// Why something in the archive is no document that can be shown.
const (
	Truncated    = "Truncated"
	Malformed    = "Damaged"
	Newer        = "NewerVersion"
	NotADocument = "NotADocument"
	TooLarge     = "TooLarge"
	// BadName is a document whose names no object has.
	BadName = "BadName"
	// WrongPlace is a document under the key of another one.
	WrongPlace = "WrongPlace"
	// Unreadable is a document that the program has an error with.
	Unreadable = "Unreadable"
	// Withheld is a document that the archive lists and does not give.
	Withheld = "Withheld"
	// Twice is a document that the archive has under another key too.
	Twice = "Twice"
)

// damage is why a key has no document that can be shown.
type damage struct{ reason, message string }

// content is what is indexed of one key.
type content struct {
	damage *damage
	key    string
	bytes  int64
	// namespace is that of the key, which says who may see it; that of the document where the key does not name one.
	namespace string
	kind      string
	name, uid string
	run       *report.Document
	suite     *report.SuiteDocument
	record    record
	points    []series.Point
}

var (
	// keyForm is how an archive names documents: runs/NAMESPACE/NAME.UID.json.zst. A long name is cut there.
	keyForm   = regexp.MustCompile(`^(runs|suites)/([a-z0-9-]{1,63})/([a-z0-9.-]{1,253})\.([A-Za-z0-9-]{1,64})\.json(\.zst)?$`)
	nameForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	spaceForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	uidForm   = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	wordForm  = regexp.MustCompile(`^[\P{C}]{1,512}$`)
)

// read decodes what is stored under a key. A key of another form, such as a file that "export" wrote, is read too: then the document says
// what it is of. Its namespace is not known where it has none that can be read, so that users of all namespaces alone see it.
func read(key string, size int64, data []byte) (c content) {
	place := keyForm.FindStringSubmatch(key)
	c = content{key: key, bytes: size, namespace: namespaceOf(place)}
	defer func() {
		// One document that this program has an error with is no reason to serve no other one.
		if failed := recover(); failed != nil {
			c.damage = &damage{Unreadable, excerpt.Line(fmt.Sprintf("this program fails when it reads it: %v", failed), 512)}
		}
	}()
	if size > document.MaximumBytes {
		c.damage = &damage{TooLarge, fmt.Sprintf("it has %d bytes, and a document at most %d", size, document.MaximumBytes)}
		return c
	}
	doc, err := document.Read(bytes.NewReader(data))
	if err == nil {
		c.kind, c.run = KindRun, &doc
		c.refuse(place, "runs", doc.Run.Namespace, doc.Run.Name, doc.Run.UID)
		c.refuseWords(map[string]string{"run.experiment": doc.Run.Experiment, "run.testbed": doc.Run.Testbed})
		if c.damage == nil {
			c.prepareRun()
		}
		return c
	}
	if suite, otherErr := document.ReadSuite(bytes.NewReader(data)); otherErr == nil {
		c.kind, c.suite = KindSuite, &suite
		e := suite.Execution
		c.refuse(place, "suites", e.Namespace, e.Name, e.UID)
		c.refuseWords(map[string]string{"execution.suite": e.Suite})
		if c.damage == nil {
			c.prepareSuite()
		}
		return c
	} else if place != nil && place[1] == "suites" {
		err = otherErr
	}
	c.damage = &damage{reasonOf(err), excerpt.Line(err.Error(), 512)}
	return c
}

// namespaceOf returns the namespace that a key names, "" where it names none.
func namespaceOf(place []string) string {
	if place == nil {
		return ""
	}
	return place[2]
}

// reasonOf returns the reason of an error of package document.
func reasonOf(err error) string {
	for cause, reason := range map[error]string{
		document.ErrTruncated: Truncated, document.ErrNewer: Newer, document.ErrNotADocument: NotADocument, document.ErrTooLarge: TooLarge,
	} {
		if errors.Is(err, cause) {
			return reason
		}
	}
	return Malformed
}

// refuse checks the names of a document, and that it is in its place.
func (c *content) refuse(place []string, folder, namespace, name, uid string) {
	switch {
	case !spaceForm.MatchString(namespace) || !nameForm.MatchString(name) || !uidForm.MatchString(uid):
		c.damage = &damage{BadName, excerpt.Line(fmt.Sprintf("no object has namespace %.80q, name %.80q and UID %.80q", namespace, name, uid), 512)}
		return
	case place != nil && (place[1] != folder || place[2] != namespace || !strings.HasPrefix(name, place[3]) || place[4] != uid):
		c.damage = &damage{WrongPlace, fmt.Sprintf("it is that of %s %q of namespace %q with UID %q: it was moved or changed", c.kind, name, namespace, uid)}
		return
	}
	c.namespace, c.name, c.uid = namespace, name, uid
}

// refuseWords checks texts that name something.
func (c *content) refuseWords(words map[string]string) {
	for field, word := range words {
		if c.damage == nil && !wordForm.MatchString(word) {
			c.damage = &damage{BadName, fmt.Sprintf("%s is empty, longer than 512 characters, or has control characters", field)}
		}
	}
}

// checkPlace returns the damage of a document that the archive has under another key too.
func (c *content) checkPlace(ctx context.Context, tx *sql.Tx) (*damage, error) {
	var other string
	err := tx.QueryRowContext(ctx, "SELECT key FROM documents WHERE kind=? AND namespace=? AND uid=?", c.kind, c.namespace, c.uid).Scan(&other)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &damage{Twice, fmt.Sprintf("%q has the same document: remove one of both", other)}, err
}
