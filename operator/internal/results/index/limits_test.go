package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"vnfbench.io/operator/internal/testing/resultstest"
)

// TestNoTemporaryFiles checks that SQLite needs no folder for temporary files: the service's container has none that can be written.
func TestNoTemporaryFiles(t *testing.T) {
	f := following(t, &memory{})
	for name, db := range map[string]*sql.DB{"writing": f.write, "reading": f.read} {
		var store int
		if err := db.QueryRowContext(t.Context(), "PRAGMA temp_store").Scan(&store); err != nil || store != 2 {
			t.Errorf("%s: temp_store is %d, want 2 (memory): %v", name, store, err)
		}
	}
}

// TestHostilePlan checks that a document with a plan which no one makes is not worked through, and is shown as one in doubt.
func TestHostilePlan(t *testing.T) {
	doc := resultstest.Run(t, "lab", "one", 0)
	repeats := regexp.MustCompile(`"repeats":\s*\d+`)
	if doc.Inputs == nil || !repeats.Match(doc.Inputs.Plan) {
		t.Fatal("the document has no plan with repeats")
	}
	doc.Inputs.Plan = repeats.ReplaceAll(doc.Inputs.Plan, []byte(`"repeats":2000000000`))
	data := resultstest.JSON(t, doc)
	done := make(chan content, 1)
	go func() { done <- read(resultstest.RunKey(doc), int64(len(data)), data) }()
	select {
	case c := <-done:
		if c.damage != nil || !strings.Contains(c.record.facts.Doubt, "2000000000 repeats") {
			t.Errorf("%+v, %q", c.damage, c.record.facts.Doubt)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it takes more than 10 s")
	}
}

// TestIndexThatCannotBeMade checks that an index which cannot be made again is tried again at the next listing, and that its status says so until then.
func TestIndexThatCannotBeMade(t *testing.T) {
	archive := &memory{}
	archive.putRun(t, resultstest.Run(t, "lab", "one", 0))
	f := following(t, archive)
	// A folder with a file in it cannot be deleted as a file.
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(f.path, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.isDamaged.Store(true)
	f.look(t)
	if f.Status().Problem == "" {
		t.Error("the status says nothing")
	}
	if err := os.RemoveAll(f.path); err != nil {
		t.Fatal(err)
	}
	f.look(t)
	if names := f.names(t, everything, KindRun, Filter{}); len(names) != 1 || f.Status().Problem != "" {
		t.Errorf("%q, %q", names, f.Status().Problem)
	}
}

// withholding is an archive that lists a document and does not give it.
type withholding struct {
	*memory
	key string
}

func (w *withholding) Read(ctx context.Context, key string) ([]byte, error) {
	if key == w.key {
		return nil, errors.New("access denied")
	}
	return w.memory.Read(ctx, key)
}

// TestDocumentThatTheArchiveWithholds checks that such a document is listed with the damaged ones of its namespace, that others are shown, that one
// which was shown before stays, and that nothing of it is left when it can be read or is gone.
func TestDocumentThatTheArchiveWithholds(t *testing.T) {
	one, two := resultstest.Run(t, "lab", "one", 0), resultstest.Run(t, "lab", "two", 1)
	archive := &withholding{memory: &memory{}, key: resultstest.RunKey(one)}
	archive.putRun(t, one)
	archive.putRun(t, two)
	f := following(t, archive)
	expect := func(step, shown, damaged string, isProblem bool) {
		t.Helper()
		page, err := f.Damaged(t.Context(), Scope{Namespaces: []string{"lab"}}, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		var reasons []string
		for _, d := range page.Items {
			reasons = append(reasons, d.Reason)
		}
		if names := f.names(t, everything, KindRun, Filter{}); fmt.Sprint(names) != shown || fmt.Sprint(reasons) != damaged || f.Status().Problem != "" != isProblem {
			t.Errorf("%s: %q is shown, %q is damaged, problem %q", step, names, reasons, f.Status().Problem)
		}
	}
	expect("withheld", "[two]", "[Withheld]", true)
	f.look(t)
	expect("withheld still", "[two]", "[Withheld]", true)
	archive.key = ""
	f.look(t)
	expect("given", "[two one]", "[]", false)
	archive.key = resultstest.RunKey(two)
	archive.putRun(t, two)
	f.look(t)
	expect("withheld after it was shown", "[two one]", "[]", true)
	archive.putRun(t, resultstest.Run(t, "lab", "three", 2))
	archive.key = resultstest.RunKey(resultstest.Run(t, "lab", "three", 2))
	f.look(t)
	archive.remove(archive.key)
	f.look(t)
	expect("gone", "[two one]", "[]", false)
}

// TestFullIndex checks that an index without room shows what it has, says what it lacks, and reads no document in vain.
func TestFullIndex(t *testing.T) {
	archive := &memory{}
	for i := range 150 {
		archive.putRun(t, resultstest.Run(t, "lab", fmt.Sprintf("run-%03d", i), i))
	}
	x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index"), 600<<10, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	f := &follower{Index: x, archive: archive, known: map[string]entry{}}
	f.look(t)
	names := f.names(t, everything, KindRun, Filter{})
	if len(names) == 0 || len(names) == 150 || !strings.Contains(f.Status().Problem, "results.pages.indexSize") {
		t.Fatalf("%d runs are shown, problem %q", len(names), f.Status().Problem)
	}
	if archive.reads > len(names)+1 {
		t.Errorf("%d documents were read for %d runs", archive.reads, len(names))
	}
	info, err := os.Stat(x.path)
	if err != nil || info.Size() > 400<<10 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	f.look(t)
	if again := f.names(t, everything, KindRun, Filter{}); len(again) != len(names) {
		t.Errorf("%d runs are shown after another listing, %d before", len(again), len(names))
	}
}
