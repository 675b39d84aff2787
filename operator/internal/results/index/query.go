package index

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"vnfbench.io/operator/internal/series"
)

// Scope is which namespaces a query sees. Its zero value sees none.
type Scope struct {
	// All sees every namespace, and what has none.
	All        bool
	Namespaces []string
}

// condition returns the condition of SQL that a column's namespace is seen, with its argument.
func (s Scope) condition(column string) (string, any, error) {
	if s.All {
		return "?=1", 1, nil
	}
	text, err := json.Marshal(s.Namespaces)
	return column + " IN (SELECT value FROM json_each(?))", string(text), err
}

// Item is a document in a list.
type Item struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Experiment and Testbed are those of a run.
	Experiment string `json:"experiment,omitempty"`
	Testbed    string `json:"testbed,omitempty"`
	// Suite is that of an execution; of a run, the suite and execution that made it, where the document of the execution is there.
	Suite        string `json:"suite,omitempty"`
	Execution    string `json:"execution,omitempty"`
	ExecutionUID string `json:"executionUID,omitempty"`
	Cell         string `json:"cell,omitempty"`
	Repeat       int    `json:"repeat,omitempty"`
	// IsConfirmation marks runs and executions that answer a question about another one.
	IsConfirmation bool      `json:"isConfirmation,omitempty"`
	Created        time.Time `json:"created,omitzero"`
	// Time is the latest that is known of created, started and completed. Lists are ordered by it.
	Time    time.Time      `json:"time,omitzero"`
	Verdict string         `json:"verdict"`
	Subject series.Subject `json:"subject,omitzero"`
	Facts
	// Key is that of the archive, Bytes what it has there, and Modified when it was stored.
	Key      string    `json:"key"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified,omitzero"`
	// Digest is that of what is stored.
	Digest []byte `json:"-"`
}

const itemColumns = `d.kind, d.namespace, d.name, d.uid, d.experiment, d.testbed, d.suite, d.execution, d.executionUID, d.cell, d.repeat, d.isConfirmation,
	d.created, d.time, d.verdict, d.subject, d.facts, d.key, e.bytes, e.modified, e.digest FROM documents d JOIN entries e ON e.key=d.key `

func scanItem(r row) (i Item, err error) {
	var created, at, modified int64
	var subject, facts string
	if err := r.Scan(&i.Kind, &i.Namespace, &i.Name, &i.UID, &i.Experiment, &i.Testbed, &i.Suite, &i.Execution, &i.ExecutionUID, &i.Cell, &i.Repeat, &i.IsConfirmation,
		&created, &at, &i.Verdict, &subject, &facts, &i.Key, &i.Bytes, &modified, &i.Digest); err != nil {
		return Item{}, err
	}
	i.Created, i.Time, i.Modified = timeOf(created), timeOf(at), timeOf(modified)
	return i, errors.Join(json.Unmarshal([]byte(subject), &i.Subject), json.Unmarshal([]byte(facts), &i.Facts))
}

// Filter selects documents. An empty field selects all.
type Filter struct {
	Namespace, Testbed, Experiment, Suite, Execution, Verdict string
	// Text has words that a document has, or begins with.
	Text string
	// Since and Until bound the time of a document.
	Since, Until time.Time
	// WithoutConfirmations leaves out what answers a question about another run.
	WithoutConfirmations bool
}

// Page is a part of a list.
type Page struct {
	Items []Item `json:"items"`
	// Next continues the list; empty at its end.
	Next string `json:"next,omitempty"`
	// Total is how many documents the whole list has.
	Total int `json:"total"`
}

// ErrCursor is returned for a continuation that no page gave.
var ErrCursor = errors.New("the continuation is not one that a page gave: begin the list again")

// cursor is the place after which a list continues.
type cursor struct {
	number int64
	text   string
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", c.number, c.text))
}

func parseCursor(text string) (c cursor, err error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	number, key, found := strings.Cut(string(decoded), " ")
	if err != nil || !found {
		return c, ErrCursor
	}
	if c.number, err = strconv.ParseInt(number, 10, 64); err != nil {
		return c, ErrCursor
	}
	c.text = key
	return c, nil
}

// query is a condition with its arguments.
type query struct {
	conditions []string
	args       []any
}

func (q *query) add(condition string, args ...any) {
	q.conditions, q.args = append(q.conditions, condition), append(q.args, args...)
}

// addEqual adds a condition for a value that is not empty.
func (q *query) addEqual(column, value string) {
	if value != "" {
		q.add(column+"=?", value)
	}
}

func (q *query) String() string { return " WHERE " + strings.Join(q.conditions, " AND ") }

// where returns the conditions of a list.
func (f Filter) where(scope Scope, kind string) (*query, error) {
	q := &query{}
	q.add("d.kind=?", kind)
	q.addEqual("d.namespace", f.Namespace)
	q.addEqual("d.testbed", f.Testbed)
	q.addEqual("d.experiment", f.Experiment)
	q.addEqual("d.suite", f.Suite)
	q.addEqual("d.execution", f.Execution)
	q.addEqual("d.verdict", f.Verdict)
	if f.WithoutConfirmations {
		q.add("d.isConfirmation=0")
	}
	if !f.Since.IsZero() {
		q.add("d.time>=?", f.Since.UnixMilli())
	}
	if !f.Until.IsZero() {
		q.add("d.time<?", f.Until.UnixMilli())
	}
	if f.Text != "" {
		match := matchOf(f.Text)
		if match == "" {
			q.add("0")
			return q, nil
		}
		q.add("d.id IN (SELECT rowid FROM search WHERE search MATCH ?)", match)
	}
	if condition, arg, err := scope.condition("d.namespace"); err != nil {
		return nil, err
	} else if !scope.All {
		q.add(condition, arg)
	}
	return q, nil
}

// maxWords bounds a search.
const maxWords = 10

// matchOf returns the expression of a search: every word, such as router-po, as the beginning of what a document has. Nothing of it is an operator.
func matchOf(text string) string {
	var parts []string
	for _, word := range strings.Fields(strings.Map(blank, text)) {
		if strings.ContainsFunc(word, isOfToken) && len(parts) < maxWords {
			parts = append(parts, `"`+word+`"*`)
		}
	}
	return strings.Join(parts, " AND ")
}

// isOfToken reports whether the tokenizer of the search keeps a character in a word.
func isOfToken(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}

// blank replaces what ends a text of the expression.
func blank(r rune) rune {
	if r == '"' || r == 0 {
		return ' '
	}
	return r
}

// List returns a page of documents of a kind, the newest first.
func (x *Index) List(ctx context.Context, scope Scope, kind string, filter Filter, after string, limit int) (Page, error) {
	page := Page{Items: []Item{}}
	q, err := filter.where(scope, kind)
	if err != nil {
		return page, err
	}
	count := statement{"SELECT count(*) FROM documents d" + q.String(), slices.Clone(q.args)}
	if after != "" {
		c, err := parseCursor(after)
		if err != nil {
			return page, err
		}
		q.add("(d.time, d.key)<(?,?)", c.number, c.text)
	}
	found, err := findPart(ctx, x, scanItem, count, statement{"SELECT " + itemColumns + q.String() + " ORDER BY d.time DESC, d.key DESC LIMIT ?", q.args}, limit)
	if err != nil {
		return page, err
	}
	if found.more {
		last := found.items[limit-1]
		page.Next = cursor{milliseconds(last.Time), last.Key}.String()
	}
	page.Total, page.Items = found.total, append(page.Items, found.items...)
	return page, nil
}

func scanInt(r row) (n int, err error) { return n, r.Scan(&n) }

func scanText(r row) (text string, err error) { return text, r.Scan(&text) }

// Find returns the documents of a kind that have a UID: at most one of each namespace.
func (x *Index) Find(ctx context.Context, scope Scope, kind, uid string) ([]Item, error) {
	condition, arg, err := scope.condition("d.namespace")
	if err != nil {
		return nil, err
	}
	return find(ctx, x, scanItem, "SELECT "+itemColumns+"WHERE d.kind=? AND d.uid=? AND "+condition+" LIMIT 2", kind, uid, arg)
}

// Latest returns the newest document that a filter selects.
func (x *Index) Latest(ctx context.Context, scope Scope, kind string, filter Filter) (Item, bool, error) {
	page, err := x.List(ctx, scope, kind, filter, "", 1)
	if err != nil || len(page.Items) == 0 {
		return Item{}, false, err
	}
	return page.Items[0], true, nil
}

// Member returns the documents of the runs of an execution by their names, in the namespace of the execution.
func (x *Index) Members(ctx context.Context, namespace, executionUID string) (map[string]Item, error) {
	items, err := find(ctx, x, scanItem, "SELECT "+itemColumns+"WHERE d.kind='run' AND d.namespace=? AND d.executionUID=? AND d.executionUID!=''", namespace, executionUID)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Item, len(items))
	for _, i := range items {
		out[i.Name] = i
	}
	return out, nil
}

// Namespaces returns the namespaces of which the archive has documents.
func (x *Index) Namespaces(ctx context.Context) ([]string, error) {
	// The index of documents leads from one namespace to the next.
	return find(ctx, x, scanText, `WITH RECURSIVE next (kind, namespace) AS (
		SELECT k.kind, (SELECT min(namespace) FROM documents d WHERE d.kind=k.kind) FROM (SELECT 'run' AS kind UNION ALL SELECT 'suite') k
		UNION ALL SELECT kind, (SELECT min(d.namespace) FROM documents d WHERE d.kind=next.kind AND d.namespace>next.namespace) FROM next WHERE namespace IS NOT NULL)
		SELECT namespace FROM next WHERE namespace IS NOT NULL
		UNION SELECT namespace FROM entries WHERE reason!='' AND namespace!='' ORDER BY 1`)
}

// choices are the columns whose values a page offers.
var choices = map[string]string{"namespace": "namespace", "testbed": "testbed", "experiment": "experiment", "suite": "suite"}

// Choices returns values of a field of runs, in their order.
func (x *Index) Choices(ctx context.Context, scope Scope, field string, limit int) ([]string, error) {
	column, found := choices[field]
	if !found {
		return nil, fmt.Errorf("field %q has no choices", field)
	}
	condition, arg, err := scope.condition("namespace")
	if err != nil {
		return nil, err
	}
	return find(ctx, x, scanText, "SELECT DISTINCT "+column+" FROM documents WHERE kind='run' AND "+column+"!='' AND "+condition+" ORDER BY 1 LIMIT ?", arg, limit)
}

// Damaged is something in the archive that is no document that can be shown.
type Damaged struct {
	Key string `json:"key"`
	// Namespace is that of the key; empty where the key names none.
	Namespace string    `json:"namespace,omitempty"`
	Bytes     int64     `json:"bytes"`
	Modified  time.Time `json:"modified,omitzero"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
}

// DamagedPage is a part of the list of what cannot be shown.
type DamagedPage struct {
	Items []Damaged `json:"items"`
	Next  string    `json:"next,omitempty"`
	Total int       `json:"total"`
}

// Damaged returns what cannot be shown, in the order of the keys.
func (x *Index) Damaged(ctx context.Context, scope Scope, after string, limit int) (DamagedPage, error) {
	page := DamagedPage{Items: []Damaged{}}
	condition, arg, err := scope.condition("namespace")
	if err != nil {
		return page, err
	}
	c := cursor{}
	if after != "" {
		if c, err = parseCursor(after); err != nil {
			return page, err
		}
	}
	found, err := findPart(ctx, x, func(r row) (d Damaged, err error) {
		var modified int64
		err = r.Scan(&d.Key, &d.Namespace, &d.Bytes, &modified, &d.Reason, &d.Message)
		d.Modified = timeOf(modified)
		return d, err
	}, statement{"SELECT count(*) FROM entries WHERE reason!='' AND " + condition, []any{arg}},
		statement{"SELECT key, namespace, bytes, modified, reason, message FROM entries WHERE reason!='' AND " + condition + " AND key>? ORDER BY key LIMIT ?", []any{arg, c.text}}, limit)
	if err != nil {
		return page, err
	}
	if found.more {
		page.Next = cursor{0, found.items[limit-1].Key}.String()
	}
	page.Total, page.Items = found.total, append(page.Items, found.items...)
	return page, nil
}
