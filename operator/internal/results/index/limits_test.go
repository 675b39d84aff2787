package index

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
