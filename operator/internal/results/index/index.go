// Package index keeps what the pages of results ask for in an SQLite file, so that no page reads the whole archive: runs and executions
// of suites, their figures as points of series, verdicts, and the words of a search. It is a cache: one that is lost, damaged or has
// another form is made again from the archive.
package index

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed schema.sql
var schema string

const (
	// version changes with schema.sql, and with what is stored in its columns.
	version = 1
	// application marks the file as an index of vnfbench.
	application = 0x766e6662
	// maxReaders is how many queries run at the same time. Each has a cache of a few MiB.
	maxReaders = 4
	// maxNotices is how many keys wait to be indexed before the next listing; that finds the others.
	maxNotices = 1024
)

// Index is the index of an archive. Its queries can be used by several goroutines, and Follow by one.
type Index struct {
	path string
	// maxBytes limits the file; 0: it has no limit.
	maxBytes int64
	log      logr.Logger
	// open guards the two handles: to make the index again takes it alone.
	open        sync.RWMutex
	write, read *sql.DB
	// isDamaged is set by a query that finds the file damaged.
	isDamaged atomic.Bool
	notices   chan string

	state  sync.Mutex
	status Status
}

// Open opens the index in a file, which it makes where it is missing. One that is damaged or of another version is deleted and made
// again. The file has at most maxBytes, where that is not 0: what has no room is not indexed, and its status says so.
func Open(ctx context.Context, path string, maxBytes int64, log logr.Logger) (*Index, error) {
	x := &Index{path: path, maxBytes: maxBytes, log: log, notices: make(chan string, maxNotices)}
	if err := x.connect(ctx); err == nil {
		return x, nil
	} else if !isUnusable(err) {
		return nil, fmt.Errorf("opening the index %q: %w", path, err)
	} else {
		log.Info("Making the index again from the archive", "file", path, "reason", err.Error())
	}
	return x, x.begin(ctx)
}

// errOther says that a file is no index of this version.
var errOther = errors.New("it is no index of this version")

// isUnusable reports whether the index has to be made again.
func isUnusable(err error) bool {
	var e *sqlite.Error
	if errors.As(err, &e) {
		code := e.Code() & 0xff
		return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_SCHEMA
	}
	return errors.Is(err, errOther)
}

// isFull reports whether there is no room for what was to be stored.
func isFull(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL
}

// begin deletes what is in the file, and makes an empty index.
func (x *Index) begin(ctx context.Context) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(x.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting the index: %w", err)
		}
	}
	if err := x.connect(ctx); err != nil {
		return fmt.Errorf("making the index %q: %w", x.path, err)
	}
	return nil
}

// connect opens the file, and checks it or makes what is in it.
func (x *Index) connect(ctx context.Context) error {
	_, err := os.Stat(x.path)
	isNew := errors.Is(err, fs.ErrNotExist)
	write, err := handle(x.path, fmt.Sprintf("_txlock=immediate&_pragma=max_page_count(%d)", x.maxPages()), 1)
	if err != nil {
		return err
	}
	if isNew {
		_, err = write.ExecContext(ctx, fmt.Sprintf("BEGIN; %s; PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", schema, application, version))
	} else {
		err = check(ctx, write)
	}
	if err != nil {
		return errors.Join(err, write.Close())
	}
	read, err := handle(x.path, "_pragma=query_only(1)", maxReaders)
	if err != nil {
		return errors.Join(err, write.Close())
	}
	x.write, x.read = write, read
	return nil
}

const (
	// pageBytes is the size of a page of SQLite, which is that of a new file.
	pageBytes = 4096
	// maxPages is the most that SQLite takes.
	maxPages = 4294967294
)

// maxPages returns how many pages the file may have. A third of the room is for the journal, which has what changed since the file was written.
func (x *Index) maxPages() int64 {
	if x.maxBytes == 0 {
		return maxPages
	}
	return max(1, x.maxBytes/3*2/pageBytes)
}

// handle opens a file with at most some connections. What is written need not survive the machine: the archive has it. Temporary tables and journals
// of statements are in memory, because the program may have no folder for temporary files.
func handle(path, option string, connections int) (*sql.DB, error) {
	name := "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=foreign_keys(1)&_pragma=cache_size(-8192)&_pragma=temp_store(MEMORY)&" + option
	db, err := sql.Open("sqlite", name)
	if err == nil {
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
	return db, err
}

// check returns why a file cannot be used; nil if it can.
func check(ctx context.Context, db *sql.DB) error {
	var is, has int
	var found string
	for query, into := range map[string]any{"PRAGMA application_id": &is, "PRAGMA user_version": &has} {
		if err := db.QueryRowContext(ctx, query).Scan(into); err != nil {
			return err
		}
	}
	if is != application || has != version {
		return fmt.Errorf("%w: its version is %d, and this program's is %d", errOther, has, version)
	}
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", errOther, found)
	}
	return nil
}

// Close closes the file.
func (x *Index) Close() error {
	x.open.Lock()
	defer x.open.Unlock()
	return errors.Join(x.read.Close(), x.write.Close())
}

// again deletes a damaged index and makes an empty one. Queries wait.
func (x *Index) again(ctx context.Context, reason error) error {
	x.log.Error(reason, "The index is damaged: making it again from the archive", "file", x.path)
	x.open.Lock()
	defer x.open.Unlock()
	// What cannot be closed is deleted too.
	_ = errors.Join(x.read.Close(), x.write.Close())
	err := x.begin(ctx)
	if err == nil {
		x.isDamaged.Store(false)
	}
	return err
}

// find returns what a query finds, one value for each row.
func find[T any](ctx context.Context, x *Index, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	x.open.RLock()
	defer x.open.RUnlock()
	out, err := scanAll(ctx, x.read, scan, query, args...)
	return out, x.noteDamage(err)
}

// noteDamage has the index made again where an error says that it is damaged, and returns the error.
func (x *Index) noteDamage(err error) error {
	if err != nil && isUnusable(err) {
		x.isDamaged.Store(true)
		x.Add("")
	}
	return err
}

// statement is a query with its arguments.
type statement struct {
	text string
	args []any
}

// part is a page of what a query finds: how many rows there are in all, those of the page, and whether more follow.
type part[T any] struct {
	total int
	items []T
	more  bool
}

// findPart counts rows and returns the first of those that another query finds, which has a limit of one more than that as its last argument. Both
// queries see the index of one moment.
func findPart[T any](ctx context.Context, x *Index, scan func(row) (T, error), count, rows statement, limit int) (part[T], error) {
	x.open.RLock()
	defer x.open.RUnlock()
	var out part[T]
	at, err := x.read.BeginTx(ctx, nil)
	if err != nil {
		return out, x.noteDamage(err)
	}
	// It has changed nothing.
	defer func() { _ = at.Rollback() }()
	counts, err := scanAll(ctx, at, scanInt, count.text, count.args...)
	if err != nil {
		return out, x.noteDamage(err)
	}
	if out.items, err = scanAll(ctx, at, scan, rows.text, append(rows.args, limit+1)...); err != nil {
		return out, x.noteDamage(err)
	}
	out.total, out.more = counts[0], len(out.items) > limit
	out.items = out.items[:min(len(out.items), limit)]
	return out, nil
}

// row is what a query found.
type row interface{ Scan(...any) error }

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func scanAll[T any](ctx context.Context, from queryer, scan func(row) (T, error), query string, args ...any) (out []T, err error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	// An error that ended the rows is that of Err.
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		value, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, rows.Err()
}
