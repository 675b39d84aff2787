package index

import (
	"context"
	"database/sql"
	"encoding/json"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/suite"
)

// ExecutionFacts is what a list has of an execution.
type ExecutionFacts struct {
	Counts v1alpha1.MeasurementCounts `json:"counts"`
	// Series counts the series of the suite by their verdict; absent where they were not judged after this execution.
	Series *v1alpha1.VerdictCounts `json:"series,omitempty"`
	// Said is what the suite says of them.
	Said string `json:"said,omitempty"`
	// Gate is the outcome of the suite's gate; absent without one.
	Gate string `json:"gate,omitempty"`
	// Confirms names the run after which a change was suspected; empty for an execution that is no confirmation.
	Confirms string `json:"confirms,omitempty"`
}

// prepareSuite makes the record of an execution.
func (c *content) prepareSuite() {
	doc := c.suite
	e := &ExecutionFacts{Counts: doc.Counts}
	r := record{suite: doc.Execution.Suite, created: orZero(doc.Execution.StartTime), verdict: executionVerdict(doc), facts: Facts{Execution: e}}
	if s := doc.Subject; s != nil {
		r.subject = subjectOf(s)
	}
	r.facts.common(doc.Completeness, doc.Succeeded, doc.Execution.StartTime, doc.Execution.CompletionTime)
	if asked := doc.Execution.Confirmation; asked != nil {
		r.isConfirmation, e.Confirms = true, excerpt.Line(asked.Run, 253)
	}
	if judged := doc.Regression; isJudged(doc) {
		e.Series, e.Said = &judged.Counts, excerpt.Line(judged.Message, 1024)
		for _, text := range judged.Groups[:min(len(judged.Groups), maxListed)] {
			r.words = append(r.words, text)
		}
	}
	if doc.Gate != nil {
		e.Gate = excerpt.Line(string(doc.Gate.Status), 20)
	}
	for _, cell := range doc.Cells[:min(len(doc.Cells), maxListed)] {
		r.words = append(r.words, cell.Name)
	}
	c.record = r
}

// insertSuite adds the document of an execution, and says of its runs that they are of it.
func (c *content) insertSuite(ctx context.Context, tx *sql.Tx) error {
	id, err := c.insertDocument(ctx, tx)
	if err != nil {
		return err
	}
	if err := c.insertMembers(ctx, tx, id); err != nil {
		return err
	}
	return c.insertVerdicts(ctx, tx, id, milliseconds(orZero(c.suite.Execution.CompletionTime)))
}

// isJudged reports whether the suite has judged its series after this execution.
func isJudged(doc *report.SuiteDocument) bool {
	return doc.Regression != nil && doc.Regression.Execution == doc.Execution.Name
}

func subjectOf(s *v1alpha1.Subject) series.Subject {
	return series.Subject{Name: s.Name, Version: s.Version, Revision: s.Revision, Image: s.Image}
}

// maxMembers is more than the runs of an execution. The API allows 500 cells with 20 repeats.
const maxMembers = 20_000

// insertMembers adds the runs of an execution, all attempts of each measurement.
func (c *content) insertMembers(ctx context.Context, tx *sql.Tx, id int64) error {
	doc := c.suite
	if doc.Execution.StartTime == nil {
		return nil
	}
	started, completed := doc.Execution.StartTime.UnixMilli(), always
	if end := doc.Execution.CompletionTime; end != nil {
		completed = end.UnixMilli()
	}
	count := 0
	for _, cell := range doc.Cells {
		subject, leg := doc.Subject, (*series.Leg)(nil)
		if asked := doc.Execution.Confirmation; asked != nil {
			leg = &series.Leg{Run: asked.Run, Cause: string(asked.Cause), OldRun: asked.OldRun, Side: series.New}
			if cell.Name == suite.CellOld {
				leg.Side, subject = series.Old, asked.OldSubject
			}
		}
		of := series.Subject{}
		if subject != nil {
			of = subjectOf(subject)
		}
		subjectText, err := subjectJSON(of)
		if err != nil {
			return err
		}
		for repeat, m := range cell.Measurements {
			legText := ""
			if leg != nil {
				leg.Pair = int(doc.Execution.Confirmation.FirstPair) + repeat
				text, err := json.Marshal(leg)
				if err != nil {
					return err
				}
				legText = string(text)
			}
			for attempt := 1; attempt <= int(min(m.Attempts, 10)) && count < maxMembers; attempt++ {
				count++
				name := suite.RunName(doc.Execution.Name, cell.Name, repeat+1, attempt)
				if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO members VALUES (?,?,?,?,?,?,?,?,?)",
					c.namespace, name, id, excerpt.Line(cell.Name, 63), repeat+1, started, completed, subjectText, legText); err != nil {
					return err
				}
			}
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE documents SET (suite, execution, executionUID, cell, repeat, isConfirmation, subject, leg) =
		(?1, ?2, ?3, m.cell, m.repeat, ?4, m.subject, m.leg) FROM members m
		WHERE m.document=?5 AND documents.kind='run' AND documents.namespace=m.namespace AND documents.name=m.run
		AND documents.created BETWEEN m.started AND m.completed AND documents.executionUID=''`,
		doc.Execution.Suite, c.name, c.uid, doc.Execution.Confirmation != nil, id)
	return err
}

// unlink removes what an execution says of its runs.
func unlink(ctx context.Context, tx *sql.Tx, namespace string, id int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE documents SET suite='', execution='', executionUID='', cell='', repeat=0, subject='{}', leg=''
		WHERE kind='run' AND namespace=?1 AND executionUID=(SELECT uid FROM documents WHERE id=?2)`, namespace, id)
	return err
}

// insertVerdicts adds what the suite says of its series after the execution.
func (c *content) insertVerdicts(ctx context.Context, tx *sql.Tx, id, time int64) error {
	if !isJudged(c.suite) {
		return nil
	}
	for _, v := range c.suite.Regression.Verdicts[:min(len(c.suite.Regression.Verdicts), maxFigures)] {
		v.Message = excerpt.Line(v.Message, 1024)
		said, err := json.Marshal(v)
		if err != nil {
			return err
		}
		run := ""
		if v.Change != nil {
			run = excerpt.Line(v.Change.Run, 512)
		}
		digest := SeriesDigest(series.Key{Namespace: c.namespace, Experiment: v.Experiment, Testbed: v.Testbed, Figure: v.Figure})
		if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO verdicts VALUES (?,?,?,?,?,?,?,?)",
			id, digest, time, c.namespace, c.suite.Execution.Suite, v.Verdict, run, string(said)); err != nil {
			return err
		}
	}
	return nil
}
