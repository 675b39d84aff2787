package index

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/series"
)

// maxFigures is how many figures a list has of one run. A run of 16 sizes has fewer.
const maxFigures = 100

// maxListed is how many functions, warnings and words of a document are indexed.
const maxListed = 64

// Figure is one of the figures of a run that a baseline compares where it names none.
type Figure struct {
	v1alpha1.FigureKey `json:",inline"`
	// Words name the metric for people.
	Words string       `json:"words"`
	Value int64        `json:"value"`
	Unit  figure.Unit  `json:"unit"`
	Bound figure.Bound `json:"bound,omitempty"`
}

// figuresOf returns the headline figures of a run, of both directions the worse one.
func figuresOf(doc *report.Document) (out []Figure) {
	all := figure.Results{Frames: doc.Results, TCP: doc.TCP, Connections: doc.Connections}.Figures()
	seen := map[v1alpha1.FigureKey]bool{}
	for _, f := range all {
		if seen[f.FigureKey] || !figure.Describe(f.Metric).Is(figure.Default) || len(out) == maxFigures {
			continue
		}
		seen[f.FigureKey] = true
		if worst := figure.Worst(all, f.FigureKey); worst != nil {
			key := f.FigureKey
			key.Size, key.Goal, key.Load = excerpt.Line(key.Size, 40), excerpt.Line(key.Goal, 40), excerpt.Line(key.Load, 40)
			out = append(out, Figure{key, figure.Describe(f.Metric).Words, worst.Value, worst.Unit, worst.Bound})
		}
	}
	return out
}

// prepareRun makes the record of a run and its points.
func (c *content) prepareRun() {
	doc := c.run
	r := record{
		experiment: doc.Run.Experiment, testbed: doc.Run.Testbed, created: doc.Run.CreationTime.UTC(), verdict: verdictOf(doc),
		facts: Facts{Doubt: excerpt.Line(report.Doubt(*doc), 1024), Figures: figuresOf(doc)},
	}
	r.facts.common(doc.Completeness, doc.Succeeded, doc.Run.StartTime, doc.Run.CompletionTime)
	for _, f := range doc.Experiment.Chain[:min(len(doc.Experiment.Chain), maxListed)] {
		r.facts.Functions = append(r.facts.Functions, excerpt.Line(f.Name, 63)+" ("+excerpt.Line(string(f.Function), 40)+")")
		r.words = append(r.words, f.Name, string(f.Function))
	}
	for _, f := range doc.Chain[:min(len(doc.Chain), maxListed)] {
		r.words = append(r.words, f.ImageID)
	}
	for _, w := range doc.Warnings[:min(len(doc.Warnings), maxListed)] {
		r.facts.Warnings = append(r.facts.Warnings, excerpt.Line(w.Code, 100))
		r.words = append(r.words, w.Code, w.Message)
	}
	for _, v := range doc.Acceptance[:min(len(doc.Acceptance), maxListed)] {
		r.words = append(r.words, v.Criterion, string(v.Result))
	}
	points, problem := c.pointsOf()
	if r.facts.Doubt == "" {
		r.facts.Doubt = problem
	}
	c.record, c.points = r, points
}

// insertRun adds the document of a run with its points.
func (c *content) insertRun(ctx context.Context, tx *sql.Tx) error {
	id, err := c.insertDocument(ctx, tx)
	if err != nil {
		return err
	}
	if err := c.linkRun(ctx, tx, id, milliseconds(c.record.created)); err != nil {
		return err
	}
	return insertPoints(ctx, tx, id, c.points)
}

// pointsOf returns the points of the run. A problem says why some are left out.
func (c *content) pointsOf() (out []series.Point, problem string) {
	all, err := report.Points(*c.run, series.Subject{}, "", nil)
	if err != nil {
		// The run was not measured to its end, or has no figure that has a series.
		return nil, ""
	}
	for _, p := range all {
		p.Namespace, p.RunUID = c.namespace, c.uid
		if err := p.Validate(); err != nil {
			problem = excerpt.Line(fmt.Sprintf("figure %q makes no series: %v", p.Figure, err), 512)
			continue
		}
		out = append(out, p)
	}
	return out, problem
}

// SeriesDigest returns what names a series in an address.
func SeriesDigest(k series.Key) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{k.Namespace, k.Experiment, k.Testbed, k.Figure}))
	return fmt.Sprintf("%x", sum[:12])
}

// insertPoints adds points to their series. What other columns have is not stored in the point.
func insertPoints(ctx context.Context, tx *sql.Tx, document int64, points []series.Point) error {
	platform := int64(0)
	for i, p := range points {
		if i == 0 {
			// All points of a run have one.
			parts, err := json.Marshal(map[string]any{"digest": p.Platform, "parts": p.PlatformParts})
			if err != nil {
				return err
			}
			if platform, err = identify(ctx, tx, "SELECT id FROM platforms WHERE parts=?", "INSERT INTO platforms (parts) VALUES (?)", string(parts)); err != nil {
				return err
			}
		}
		digest := SeriesDigest(p.Key)
		of, err := identify(ctx, tx, "SELECT id FROM series WHERE digest=?", "INSERT INTO series (digest, namespace, experiment, testbed, figure) VALUES (?,?,?,?,?)",
			digest, p.Namespace, p.Experiment, p.Testbed, p.Figure)
		if err != nil {
			return err
		}
		time := milliseconds(p.Time)
		p.Key, p.Run, p.RunUID, p.Platform, p.PlatformParts = series.Key{}, "", "", "", nil
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO points VALUES (?,?,?,?,?)", of, time, document, platform, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// identify returns the id of a row, which it adds where it is missing. The first argument selects it.
func identify(ctx context.Context, tx *sql.Tx, query, insert string, args ...any) (id int64, err error) {
	err = tx.QueryRowContext(ctx, query, args[0]).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	done, err := tx.ExecContext(ctx, insert, args...)
	if err != nil {
		return 0, err
	}
	return done.LastInsertId()
}

// ofConfirmation are names of runs that the operator makes for a confirmation.
var ofConfirmation = regexp.MustCompile(`-confirm-[0-9]+-(old|new)-[0-9]+(-attempt-[0-9]+)?$`)

// linkRun says of which execution a run is, where the document of the execution is there already.
func (c *content) linkRun(ctx context.Context, tx *sql.Tx, id, created int64) error {
	if ofConfirmation.MatchString(c.name) {
		// Without its execution nothing says which leg it is, and it is no run of the series.
		if _, err := tx.ExecContext(ctx, "UPDATE documents SET isConfirmation=1 WHERE id=?", id); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE documents SET (suite, execution, executionUID, cell, repeat, isConfirmation, subject, leg) = (found.suite, found.name, found.uid, found.cell,
		found.repeat, found.isConfirmation, found.subject, found.leg) FROM (
			SELECT d.suite, d.name, d.uid, m.cell, m.repeat, d.isConfirmation, m.subject, m.leg FROM members m JOIN documents d ON d.id=m.document
			WHERE m.namespace=?1 AND m.run=?2 AND ?3 BETWEEN m.started AND m.completed ORDER BY d.time, d.id LIMIT 1) AS found
		WHERE documents.id=?4`, c.namespace, c.name, created, id)
	return err
}

// always is later than every time.
var always = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
