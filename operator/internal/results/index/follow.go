package index

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"vnfbench.io/operator/internal/document"
)

// Entry is what an archive lists of a document.
type Entry struct {
	Key      string
	Bytes    int64
	Modified time.Time
}

// Archive is where the documents are.
type Archive interface {
	// List calls a function with every entry, until it returns an error.
	List(ctx context.Context, each func(Entry) error) error
	// Read returns what is stored under a key, at most as much as a document has. Its error is fs.ErrNotExist for a key that is gone.
	Read(ctx context.Context, key string) ([]byte, error)
}

// Status says how far the index follows the archive.
type Status struct {
	// Pending is how many documents of the last listing are not indexed yet.
	Pending int `json:"pending"`
	// Listed is when the archive was last listed to its end; zero if it never was.
	Listed time.Time `json:"listed,omitzero"`
	// Problem says why it could not be listed or read since; empty where it could.
	Problem string `json:"problem,omitempty"`
}

// Status returns how far the index follows the archive.
func (x *Index) Status() Status {
	x.state.Lock()
	defer x.state.Unlock()
	return x.status
}

func (x *Index) report(change func(*Status)) {
	x.state.Lock()
	defer x.state.Unlock()
	change(&x.status)
}

// Add says that a key is new or has changed, so that it is indexed before the archive is listed again. It does not wait.
func (x *Index) Add(key string) {
	select {
	case x.notices <- key:
	default:
	}
}

// entry is what is known of a key.
type entry struct {
	bytes, modified int64
	// pass is the number of the listing that had it.
	pass int
}

// follower is the state of Follow.
type follower struct {
	*Index
	archive Archive
	known   map[string]entry
	pass    int
}

// Follow lists the archive at once and then at each interval, indexes what is new, and forgets what is gone, until the context ends. An
// archive that is away is asked again. It decodes one document at a time.
func (x *Index) Follow(ctx context.Context, archive Archive, interval time.Duration) error {
	f := &follower{Index: x, archive: archive}
	if err := f.load(ctx); err != nil && !isUnusable(err) {
		return endOf(ctx, err)
	} else if err != nil {
		x.isDamaged.Store(true)
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for next := true; ; {
		f.settle(ctx, next)
		next = false
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			next = true
		case key := <-x.notices:
			if err := f.notice(ctx, key); err != nil {
				f.fail(ctx, err)
			}
		}
	}
}

// endOf returns no error for a context that has ended.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// settle makes a damaged index again, and lists the archive then or where it is due. An index that cannot be made is tried again at the next listing.
func (f *follower) settle(ctx context.Context, isDue bool) {
	if f.isDamaged.Load() {
		if err := f.again(ctx, errors.New("a query found it damaged")); err != nil {
			f.log.Error(err, "Making the index again")
			f.report(func(s *Status) { s.Problem = "the index cannot be made; the log says why" })
			return
		}
		f.known, isDue = map[string]entry{}, true
	}
	if isDue {
		f.fail(ctx, f.list(ctx))
	}
}

// fail notes why the archive could not be followed, or that it could.
func (f *follower) fail(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		f.report(func(s *Status) { s.Problem = "" })
		return
	case isUnusable(err):
		f.isDamaged.Store(true)
		f.Add("")
		return
	}
	f.log.Error(err, "Following the archive")
	problem := "the archive, or a document of it, cannot be read; the log says why"
	if isFull(err) {
		problem = fmt.Sprintf("the index has no room for more documents, and those that it lacks are not shown: it may have %d MiB (results.pages.indexSize of the chart)", f.maxBytes>>20)
	}
	f.report(func(s *Status) { s.Problem = problem })
}

// load reads which entries are indexed.
func (f *follower) load(ctx context.Context) error {
	f.known = map[string]entry{}
	_, err := find(ctx, f.Index, func(r row) (any, error) {
		var key string
		var e entry
		err := r.Scan(&key, &e.bytes, &e.modified)
		f.known[key] = e
		return nil, err
	}, "SELECT key, bytes, modified FROM entries")
	return err
}

// list compares the archive with the index, and indexes the difference. What cannot be read now is tried at the next listing.
func (f *follower) list(ctx context.Context) error {
	f.pass++
	var changed []Entry
	err := f.archive.List(ctx, func(e Entry) error {
		known, found := f.known[e.Key]
		if !found || known.bytes != e.Bytes || known.modified != milliseconds(e.Modified) {
			changed = append(changed, e)
		}
		if found {
			known.pass = f.pass
			f.known[e.Key] = known
		}
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("listing the archive: %w", err)
	}
	if err := f.forgetGone(ctx); err != nil {
		return err
	}
	f.report(func(s *Status) { s.Listed, s.Pending = time.Now(), len(changed) })
	var failed error
	for i, e := range changed {
		if err := f.index(ctx, e); ctx.Err() != nil || isUnusable(err) || isFull(err) {
			// The others would fare no better.
			return err
		} else if err != nil {
			failed = err
		}
		f.report(func(s *Status) { s.Pending = len(changed) - i - 1 })
	}
	return failed
}

// forgetGone removes what the last listing does not have. What was there twice is read again at the next one.
func (f *follower) forgetGone(ctx context.Context) error {
	isGone := false
	for key, e := range f.known {
		if e.pass == f.pass {
			continue
		}
		if err := f.forget(ctx, key); err != nil {
			return err
		}
		isGone = true
	}
	if !isGone {
		return nil
	}
	twice, err := find(ctx, f.Index, scanText, "SELECT key FROM entries WHERE reason=?", Twice)
	for _, key := range twice {
		err = errors.Join(err, f.forget(ctx, key))
	}
	return err
}

// notice indexes one key that is new or has changed. An empty one only wakes the loop.
func (f *follower) notice(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	return f.index(ctx, Entry{Key: key})
}

// index reads what is stored under a key and indexes it.
func (f *follower) index(ctx context.Context, e Entry) error {
	var data []byte
	var err error
	if e.Bytes <= document.MaximumBytes {
		data, err = f.archive.Read(ctx, e.Key)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.forget(ctx, e.Key)
	case err != nil:
		err = fmt.Errorf("reading %q: %w", e.Key, err)
		if ctx.Err() == nil {
			err = errors.Join(err, f.noteWithheld(ctx, e.Key))
		}
		return err
	}
	stored := entry{bytes: max(e.Bytes, int64(len(data))), modified: milliseconds(e.Modified), pass: f.pass}
	digest := sha256.Sum256(data)
	if err := f.store(ctx, e.Key, stored, digest[:], data); err != nil {
		return fmt.Errorf("indexing %q: %w", e.Key, err)
	}
	f.known[e.Key] = stored
	return nil
}

// store replaces what is indexed of a key, in one transaction.
func (f *follower) store(ctx context.Context, key string, e entry, digest, data []byte) error {
	return f.change(ctx, func(tx *sql.Tx) error {
		// An archiver gives notice of a key without its time, which the next listing has.
		same, err := tx.ExecContext(ctx, "UPDATE entries SET bytes=?, modified=? WHERE key=? AND digest=?", e.bytes, e.modified, key, digest)
		if err != nil {
			return err
		}
		if n, err := same.RowsAffected(); n > 0 || err != nil {
			return err
		}
		if err := remove(ctx, tx, key); err != nil {
			return err
		}
		c := read(key, e.bytes, data)
		if c.damage == nil {
			c.damage, err = c.checkPlace(ctx, tx)
			if err != nil {
				return err
			}
		}
		reason, message := "", ""
		if c.damage != nil {
			reason, message = c.damage.reason, c.damage.message
			f.log.Info("A document of the archive is not shown", "key", key, "reason", reason, "message", message)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO entries VALUES (?,?,?,?,?,?,?)", key, e.bytes, e.modified, digest, c.namespace, reason, message); err != nil {
			return err
		}
		if c.damage != nil {
			return nil
		}
		return c.insert(ctx, tx)
	})
}

// noteWithheld lists a key whose document the archive does not give, until it does. What is indexed of the key already stays.
func (f *follower) noteWithheld(ctx context.Context, key string) error {
	if _, known := f.known[key]; known {
		return nil
	}
	// No document has this size, so the next listing reads it again.
	e := entry{bytes: -1, pass: f.pass}
	const message = "the archive lists it and does not give it: the log of the results service says why, and it is read again at each listing"
	err := f.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO entries VALUES (?,?,?,?,?,?,?)", key, e.bytes, e.modified, []byte{}, namespaceOf(keyForm.FindStringSubmatch(key)), Withheld, message)
		return err
	})
	if err == nil {
		f.known[key] = e
	}
	return err
}

// forget removes what is indexed of a key.
func (f *follower) forget(ctx context.Context, key string) error {
	err := f.change(ctx, func(tx *sql.Tx) error { return remove(ctx, tx, key) })
	if err == nil {
		delete(f.known, key)
	}
	return err
}

// change makes a change in one transaction.
func (f *follower) change(ctx context.Context, do func(*sql.Tx) error) error {
	f.open.RLock()
	defer f.open.RUnlock()
	tx, err := f.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		// The first error says more.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(milliseconds int64) time.Time {
	if milliseconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(milliseconds).UTC()
}
