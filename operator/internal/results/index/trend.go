package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/series"
)

// Summary is a series in a list.
type Summary struct {
	series.Key
	// Digest names the series in an address.
	Digest string `json:"digest"`
	// Points is how many the archive has, with those of confirmations.
	Points int `json:"points"`
	// LastTime, Value and Unit are those of the newest.
	LastTime time.Time `json:"lastTime"`
	Value    int64     `json:"value"`
	Unit     string    `json:"unit"`
	// Verdict is what the suite said last of the series; empty where it was not judged.
	Verdict string `json:"verdict,omitempty"`
}

// SeriesFilter selects series. An empty field selects all.
type SeriesFilter struct {
	// Experiment is its whole name, or what is before the @ of it.
	Namespace, Experiment, Testbed, Figure string
}

// SeriesPage is a part of the list of series.
type SeriesPage struct {
	Items []Summary `json:"items"`
	Next  string    `json:"next,omitempty"`
	Total int       `json:"total"`
}

// Series returns a page of series in the order of their names.
func (x *Index) Series(ctx context.Context, scope Scope, filter SeriesFilter, after string, limit int) (SeriesPage, error) {
	page := SeriesPage{Items: []Summary{}}
	q := &query{}
	condition, arg, err := scope.condition("s.namespace")
	if err != nil {
		return page, err
	}
	q.add(condition, arg)
	q.addEqual("s.namespace", filter.Namespace)
	q.addEqual("s.testbed", filter.Testbed)
	q.addEqual("s.figure", filter.Figure)
	if filter.Experiment != "" {
		q.add("(s.experiment=? OR substr(s.experiment, 1, length(?)+1)=?||'@')", filter.Experiment, filter.Experiment, filter.Experiment)
	}
	count := statement{"SELECT count(*) FROM series s" + q.String(), slices.Clone(q.args)}
	if after != "" {
		c, err := parseCursor(after)
		if err != nil {
			return page, err
		}
		place := strings.SplitN(c.text, "\x00", 4)
		if len(place) != 4 {
			return page, ErrCursor
		}
		q.add("(s.namespace, s.experiment, s.testbed, s.figure)>(?,?,?,?)", place[0], place[1], place[2], place[3])
	}
	found, err := findPart(ctx, x, func(r row) (s Summary, err error) {
		var last int64
		var point string
		if err := r.Scan(&s.Digest, &s.Namespace, &s.Experiment, &s.Testbed, &s.Figure, &s.Points, &last, &point, &s.Verdict); err != nil {
			return s, err
		}
		var p series.Point
		err = json.Unmarshal([]byte(point), &p)
		s.LastTime, s.Value, s.Unit = timeOf(last), p.Value, p.Unit
		return s, err
	}, count, statement{`SELECT s.digest, s.namespace, s.experiment, s.testbed, s.figure, (SELECT count(*) FROM points p WHERE p.series=s.id), p.time, p.point,
		coalesce((SELECT verdict FROM verdicts v WHERE v.series=s.digest ORDER BY v.time DESC, v.document DESC LIMIT 1), '')
		FROM series s JOIN points p ON (p.series, p.time, p.document)=(SELECT series, time, document FROM points l WHERE l.series=s.id ORDER BY l.time DESC, l.document DESC LIMIT 1)` +
		q.String() + " ORDER BY s.namespace, s.experiment, s.testbed, s.figure LIMIT ?", q.args}, limit)
	if err != nil {
		return page, err
	}
	if found.more {
		last := found.items[limit-1]
		page.Next = cursor{0, strings.Join([]string{last.Namespace, last.Experiment, last.Testbed, last.Figure}, "\x00")}.String()
	}
	page.Total, page.Items = found.total, append(page.Items, found.items...)
	return page, nil
}

// Key returns the series that a digest names.
func (x *Index) Key(ctx context.Context, digest string) (key series.Key, isKnown bool, err error) {
	found, err := find(ctx, x, func(r row) (k series.Key, err error) {
		return k, r.Scan(&k.Namespace, &k.Experiment, &k.Testbed, &k.Figure)
	}, "SELECT namespace, experiment, testbed, figure FROM series WHERE digest=?", digest)
	if err != nil || len(found) == 0 {
		return key, false, err
	}
	return found[0], true, nil
}

// Known returns which of some digests name a series that the archive has points of.
func (x *Index) Known(ctx context.Context, digests []string) (map[string]bool, error) {
	text, err := json.Marshal(digests)
	if err != nil {
		return nil, err
	}
	found, err := find(ctx, x, scanText, "SELECT digest FROM series WHERE digest IN (SELECT value FROM json_each(?))", string(text))
	known := make(map[string]bool, len(found))
	for _, digest := range found {
		known[digest] = true
	}
	return known, err
}

// Points returns the newest points of a series in the order of their time, at most limit, with what is known of their subjects. A run of a
// confirmation whose execution the archive does not have is left out: it is no run of the series.
func (x *Index) Points(ctx context.Context, digest string, limit int) ([]series.Point, error) {
	key, isKnown, err := x.Key(ctx, digest)
	if err != nil || !isKnown {
		return nil, err
	}
	platforms, err := x.platforms(ctx, digest)
	if err != nil {
		return nil, err
	}
	points, err := find(ctx, x, func(r row) (p series.Point, err error) {
		var text, name, uid, execution, subject, leg string
		var at, platform int64
		if err := r.Scan(&text, &at, &name, &uid, &execution, &subject, &leg, &platform); err != nil {
			return p, err
		}
		var of series.Subject
		if err := errors.Join(json.Unmarshal([]byte(text), &p), json.Unmarshal([]byte(subject), &of)); err != nil {
			return p, err
		}
		if of != (series.Subject{}) {
			if of.Image == "" {
				of.Image = p.Subject.Image
			}
			p.Subject = of
		}
		p.Key, p.Time, p.Run, p.RunUID, p.Execution = key, timeOf(at), name, uid, execution
		p.Platform, p.PlatformParts = platforms[platform].Digest, platforms[platform].Parts
		if leg != "" {
			p.Leg = &series.Leg{}
			err = json.Unmarshal([]byte(leg), p.Leg)
		}
		return p, err
	}, `SELECT p.point, p.time, d.name, d.uid, d.execution, d.subject, d.leg, p.platform FROM series s JOIN points p ON p.series=s.id JOIN documents d ON d.id=p.document
		WHERE s.digest=? AND (d.isConfirmation=0 OR d.leg!='') ORDER BY p.time DESC, p.document DESC LIMIT ?`, digest, limit)
	if err != nil {
		return nil, err
	}
	slices.Reverse(points)
	return points, nil
}

// platform is what the points of a run were measured on.
type platform struct {
	Digest string            `json:"digest"`
	Parts  map[string]string `json:"parts"`
}

// platforms returns the platforms of a series by their ids.
func (x *Index) platforms(ctx context.Context, digest string) (map[int64]platform, error) {
	out := map[int64]platform{}
	_, err := find(ctx, x, func(r row) (any, error) {
		var id int64
		var text string
		if err := r.Scan(&id, &text); err != nil {
			return nil, err
		}
		var p platform
		err := json.Unmarshal([]byte(text), &p)
		out[id] = p
		return nil, err
	}, "SELECT id, parts FROM platforms WHERE id IN (SELECT p.platform FROM series s JOIN points p ON p.series=s.id WHERE s.digest=?)", digest)
	return out, err
}

// Said is what a suite said of a series after an execution.
type Said struct {
	Namespace string `json:"namespace"`
	Suite     string `json:"suite"`
	// Execution is the first one after which the suite said it, UID that of it, and Time when it was over.
	Execution string    `json:"execution"`
	UID       string    `json:"uid"`
	Time      time.Time `json:"time"`
	// Digest names the series in an address.
	Digest string `json:"digest"`
	v1alpha1.SeriesVerdict
}

const saidColumns = "v.namespace, v.suite, d.name, d.uid, %s, v.series, v.said FROM verdicts v JOIN documents d ON d.id=v.document "

func scanSaid(r row) (s Said, err error) {
	var at int64
	var text string
	if err := r.Scan(&s.Namespace, &s.Suite, &s.Execution, &s.UID, &at, &s.Digest, &text); err != nil {
		return s, err
	}
	s.Time = timeOf(at)
	return s, json.Unmarshal([]byte(text), &s.SeriesVerdict)
}

// Verdict returns what the suite said last of a series.
func (x *Index) Verdict(ctx context.Context, digest string) (Said, bool, error) {
	found, err := find(ctx, x, scanSaid, "SELECT "+fmt.Sprintf(saidColumns, "v.time")+"WHERE v.series=? ORDER BY v.time DESC, v.document DESC LIMIT 1", digest)
	if err != nil || len(found) == 0 {
		return Said{}, false, err
	}
	return found[0], true, nil
}

// Regressions returns the newest regressions that suites found. One that stays over several executions is there once, with the first.
func (x *Index) Regressions(ctx context.Context, scope Scope, namespace string, limit int) ([]Said, error) {
	q := &query{}
	condition, arg, err := scope.condition("v.namespace")
	if err != nil {
		return nil, err
	}
	q.add(condition, arg)
	q.addEqual("v.namespace", namespace)
	// With min(), the other columns are those of its row.
	return find(ctx, x, scanSaid, "SELECT "+fmt.Sprintf(saidColumns, "min(v.time) AS first")+q.String()+
		" AND v.verdict='Regression' GROUP BY v.series, v.run ORDER BY first DESC, v.series LIMIT ?", append(q.args, limit)...)
}

// SuiteSummary is a suite in a list.
type SuiteSummary struct {
	Namespace string `json:"namespace"`
	Suite     string `json:"suite"`
	// Executions is how many documents the archive has of it, without confirmations.
	Executions int `json:"executions"`
	// Latest is the newest of them.
	Latest Item `json:"latest"`
}

// SuitePage is a part of the list of suites.
type SuitePage struct {
	Items []SuiteSummary `json:"items"`
	Next  string         `json:"next,omitempty"`
}

// Suites returns a page of suites in the order of their names, each with its latest execution.
func (x *Index) Suites(ctx context.Context, scope Scope, namespace, after string, limit int) (SuitePage, error) {
	page := SuitePage{Items: []SuiteSummary{}}
	q := &query{}
	condition, arg, err := scope.condition("d.namespace")
	if err != nil {
		return page, err
	}
	q.add("d.kind='suite' AND d.isConfirmation=0 AND "+condition, arg)
	q.addEqual("d.namespace", namespace)
	if after != "" {
		c, err := parseCursor(after)
		if err != nil {
			return page, err
		}
		space, suite, _ := strings.Cut(c.text, "\x00")
		q.add("(d.namespace, d.suite)>(?,?)", space, suite)
	}
	type group struct {
		namespace, suite string
		id               int64
		count            int
	}
	groups, err := find(ctx, x, func(r row) (g group, err error) {
		var newest int64
		return g, r.Scan(&g.namespace, &g.suite, &g.id, &g.count, &newest)
	}, "SELECT d.namespace, d.suite, d.id, count(*), max(d.time) FROM documents d"+q.String()+" GROUP BY d.namespace, d.suite ORDER BY d.namespace, d.suite LIMIT ?", append(q.args, limit+1)...)
	if err != nil {
		return page, err
	}
	if len(groups) > limit {
		groups = groups[:limit]
		last := groups[limit-1]
		page.Next = cursor{0, last.namespace + "\x00" + last.suite}.String()
	}
	for _, g := range groups {
		latest, err := find(ctx, x, scanItem, "SELECT "+itemColumns+"WHERE d.id=?", g.id)
		if err != nil {
			return page, err
		}
		if len(latest) == 1 {
			page.Items = append(page.Items, SuiteSummary{g.namespace, g.suite, g.count, latest[0]})
		}
	}
	return page, nil
}

// SeriesOf returns the series that have a point of a document.
func (x *Index) SeriesOf(ctx context.Context, key string) ([]series.Key, error) {
	return find(ctx, x, func(r row) (k series.Key, err error) {
		return k, r.Scan(&k.Namespace, &k.Experiment, &k.Testbed, &k.Figure)
	}, `SELECT s.namespace, s.experiment, s.testbed, s.figure FROM documents d JOIN points p ON p.document=d.id JOIN series s ON s.id=p.series
		WHERE d.key=? AND (d.isConfirmation=0 OR d.leg!='') ORDER BY s.figure`, key)
}
