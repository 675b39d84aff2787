package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/series"
)

// insert adds the document.
func (c *content) insert(ctx context.Context, tx *sql.Tx) error {
	if c.kind == KindRun {
		return c.insertRun(ctx, tx)
	}
	return c.insertSuite(ctx, tx)
}

// Verdicts of runs.
const (
	VerdictPassed       = "Passed"
	VerdictFailed       = "Failed"
	VerdictInconclusive = "Inconclusive"
	// VerdictNotJudged is that of a run without criteria.
	VerdictNotJudged = "NotJudged"
	// VerdictNotMeasured is that of a run or of an execution that has failed.
	VerdictNotMeasured = "NotMeasured"
	VerdictNotEnded    = "NotEnded"
	// VerdictRegression is that of an execution after which a series of its suite had a regression.
	VerdictRegression = "Regression"
)

// Verdicts returns all verdicts of runs.
func Verdicts() []string {
	return []string{VerdictPassed, VerdictFailed, VerdictInconclusive, VerdictNotJudged, VerdictNotMeasured, VerdictNotEnded}
}

// Facts are what a document has besides the columns that queries select by.
type Facts struct {
	Started      time.Time           `json:"started,omitzero"`
	Completed    time.Time           `json:"completed,omitzero"`
	Completeness report.Completeness `json:"completeness"`
	Succeeded    string              `json:"succeeded"`
	Reason       string              `json:"reason,omitempty"`
	Message      string              `json:"message,omitempty"`
	Doubt        string              `json:"doubt,omitempty"`
	Functions    []string            `json:"functions,omitempty"`
	Warnings     []string            `json:"warnings,omitempty"`
	Figures      []Figure            `json:"figures,omitempty"`
	Execution    *ExecutionFacts     `json:"execution,omitempty"`
}

// common fills what documents of both kinds have.
func (f *Facts) common(completeness report.Completeness, succeeded report.Outcome, started, completed *metav1.Time) {
	f.Completeness, f.Succeeded = completeness, string(succeeded.Status)
	f.Reason, f.Message = excerpt.Line(succeeded.Reason, 100), excerpt.Line(succeeded.Message, 1024)
	if started != nil {
		f.Started = started.UTC()
	}
	if completed != nil {
		f.Completed = completed.UTC()
	}
}

// sortTime is the time by which documents are ordered: the latest that is known.
func (f Facts) sortTime(created time.Time) int64 {
	for _, t := range []time.Time{f.Completed, f.Started, created} {
		if !t.IsZero() {
			return milliseconds(t)
		}
	}
	return 0
}

// words are the texts that a search finds, at most 16 KiB.
func words(texts ...string) string {
	const most = 16 << 10
	text := strings.Join(texts, " ")
	return excerpt.Text(text, most)
}

func subjectJSON(s series.Subject) (string, error) {
	text, err := json.Marshal(series.Subject{
		Name: excerpt.Line(s.Name, 100), Version: excerpt.Line(s.Version, 100), Revision: excerpt.Line(s.Revision, 200), Image: excerpt.Line(s.Image, 512),
	})
	return string(text), err
}

// record is a row of the table of documents.
type record struct {
	experiment, testbed, suite string
	isConfirmation             bool
	created                    time.Time
	verdict                    string
	subject                    series.Subject
	facts                      Facts
	words                      []string
}

// insertDocument adds the row of the record and its words, and returns its id.
func (c *content) insertDocument(ctx context.Context, tx *sql.Tx) (int64, error) {
	r := c.record
	text, err := json.Marshal(r.facts)
	if err != nil {
		return 0, err
	}
	subject, err := subjectJSON(r.subject)
	if err != nil {
		return 0, err
	}
	execution, executionUID := "", ""
	if c.kind == KindSuite {
		execution, executionUID = c.name, c.uid
	}
	done, err := tx.ExecContext(ctx, `INSERT INTO documents
		(key, kind, namespace, name, uid, experiment, testbed, suite, execution, executionUID, cell, repeat, isConfirmation, created, time, verdict, subject, facts)
		VALUES (?,?,?,?,?,?,?,?,?,?,'',0,?,?,?,?,?,?)`,
		c.key, c.kind, c.namespace, c.name, c.uid, r.experiment, r.testbed, r.suite, execution, executionUID, r.isConfirmation,
		milliseconds(r.created), r.facts.sortTime(r.created), r.verdict, subject, string(text))
	if err != nil {
		return 0, err
	}
	id, err := done.LastInsertId()
	if err != nil {
		return 0, err
	}
	r.words = append(r.words, c.namespace, c.name, c.uid, r.experiment, r.testbed, r.suite, r.verdict, r.facts.Reason, r.facts.Message,
		r.subject.Name, r.subject.Version, r.subject.Revision, r.subject.Image)
	_, err = tx.ExecContext(ctx, "INSERT INTO search (rowid, text) VALUES (?,?)", id, words(r.words...))
	return id, err
}

// remove removes what is indexed of a key.
func remove(ctx context.Context, tx *sql.Tx, key string) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM entries WHERE key=?", key); err != nil {
		return err
	}
	var id int64
	var kind, namespace string
	err := tx.QueryRowContext(ctx, "SELECT id, kind, namespace FROM documents WHERE key=?", key).Scan(&id, &kind, &namespace)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if kind == KindSuite {
		if err := unlink(ctx, tx, namespace, id); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		"DELETE FROM search WHERE rowid=?",
		"CREATE TEMP TABLE IF NOT EXISTS emptied (id INTEGER)",
		"INSERT INTO emptied SELECT DISTINCT series FROM points WHERE document=?",
		"DELETE FROM documents WHERE id=?",
		"DELETE FROM series WHERE id IN (SELECT id FROM emptied) AND NOT EXISTS (SELECT 1 FROM points WHERE points.series=series.id)",
		"DELETE FROM emptied",
	} {
		args := []any{id}[:strings.Count(statement, "?")]
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			return err
		}
	}
	return nil
}

// verdictOf returns the verdict of a run.
func verdictOf(doc *report.Document) string {
	switch {
	case doc.Succeeded.Status == metav1.ConditionUnknown:
		return VerdictNotEnded
	case doc.Measured.Status != metav1.ConditionTrue:
		return VerdictNotMeasured
	case len(doc.Acceptance) == 0:
		return VerdictNotJudged
	case doc.Accepted.Status == metav1.ConditionTrue:
		return VerdictPassed
	case doc.Accepted.Reason == v1alpha1.ReasonInconclusive:
		return VerdictInconclusive
	}
	return VerdictFailed
}

// executionVerdict returns the verdict of an execution.
func executionVerdict(doc *report.SuiteDocument) string {
	regression := doc.Regression
	switch {
	case !doc.Ended():
		return VerdictNotEnded
	case regression != nil && regression.Execution == doc.Execution.Name && regression.Counts.Regression > 0:
		return VerdictRegression
	case doc.Succeeded.Status != metav1.ConditionTrue:
		return VerdictNotMeasured
	case regression != nil && regression.Execution == doc.Execution.Name && regression.Counts.Inconclusive > 0:
		return VerdictInconclusive
	}
	return VerdictPassed
}

// orZero returns the time, or the zero one for nil.
func orZero(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
