package index

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/resultstest"
)

var everything = Scope{All: true}

// memory is an archive in memory.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
	times map[string]time.Time
	err   error
	reads int
}

func (m *memory) put(key string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		m.files, m.times = map[string][]byte{}, map[string]time.Time{}
	}
	m.files[key], m.times[key] = data, resultstest.Day.Add(time.Duration(len(m.files))*time.Second)
}

func (m *memory) putRun(t testing.TB, doc report.Document) {
	m.put(resultstest.RunKey(doc), resultstest.JSON(t, doc))
}

func (m *memory) remove(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, key)
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *memory) List(_ context.Context, each func(Entry) error) error {
	m.mu.Lock()
	keys, err := slices.Sorted(maps.Keys(m.files)), m.err
	m.mu.Unlock()
	for _, key := range keys {
		m.mu.Lock()
		e := Entry{key, int64(len(m.files[key])), m.times[key]}
		m.mu.Unlock()
		if err := each(e); err != nil {
			return err
		}
	}
	return err
}

func (m *memory) Read(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	data, found := m.files[key]
	if !found {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(data), m.err
}

// logged keeps what an index logs.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, args)
	}, funcr.Options{})
}

func open(t testing.TB, path string, log logr.Logger) *Index {
	t.Helper()
	x, err := Open(t.Context(), path, 0, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// following returns an index that has listed an archive once.
func following(t testing.TB, archive Archive) *follower {
	t.Helper()
	f := &follower{Index: open(t, filepath.Join(t.TempDir(), "index"), logr.Discard()), archive: archive}
	if err := f.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.look(t)
	return f
}

// look lists the archive once.
func (f *follower) look(t testing.TB) {
	t.Helper()
	f.settle(t.Context(), true)
}

// names returns the names of what a list has.
func (f *follower) names(t testing.TB, scope Scope, kind string, filter Filter) []string {
	t.Helper()
	page, err := f.List(t.Context(), scope, kind, filter, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	if page.Total != len(page.Items) {
		t.Errorf("the total is %d, and the list has %d", page.Total, len(page.Items))
	}
	names := []string{}
	for _, i := range page.Items {
		names = append(names, i.Name)
	}
	return names
}

// reasons returns the reasons of what is damaged, by key.
func (f *follower) reasons(t testing.TB, scope Scope) map[string]string {
	t.Helper()
	page, err := f.Damaged(t.Context(), scope, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range page.Items {
		out[d.Key] = d.Reason
	}
	return out
}

func compressed(t testing.TB, doc report.Document) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := document.Write(&out, doc, true); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
