package index

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/resultstest"
)

// TestLists checks that runs are listed by time, by each filter, by words and by scope, in pages, with the figures of their documents.
func TestLists(t *testing.T) {
	archive := &memory{}
	for i, name := range []string{"router-pod", "firewall", "gateway"} {
		doc := resultstest.Run(t, []string{"lab", "lab", "other"}[i], name, i)
		doc.Run.Experiment, doc.Run.Testbed = "experiment-"+name, "bed"
		if name == "firewall" {
			doc.Acceptance, doc.Accepted = []v1alpha1.Verdict{{Criterion: "rate", Result: v1alpha1.VerdictFailed}}, report.Outcome{Status: "False", Reason: v1alpha1.ReasonNotAccepted}
		}
		archive.putRun(t, doc)
	}
	f := following(t, archive)
	for _, at := range []struct {
		scope  Scope
		filter Filter
		want   string
	}{
		{everything, Filter{}, "[gateway firewall router-pod]"},
		{Scope{Namespaces: []string{"lab"}}, Filter{}, "[firewall router-pod]"},
		{Scope{}, Filter{}, "[]"},
		{Scope{Namespaces: []string{"lab"}}, Filter{Namespace: "other"}, "[]"},
		{everything, Filter{Namespace: "other"}, "[gateway]"},
		{everything, Filter{Experiment: "experiment-firewall"}, "[firewall]"},
		{everything, Filter{Testbed: "bed", Verdict: VerdictFailed}, "[firewall]"},
		{everything, Filter{Verdict: VerdictNotJudged}, "[gateway router-pod]"},
		{everything, Filter{Since: resultstest.Day.Add(time.Hour)}, "[gateway firewall]"},
		{everything, Filter{Until: resultstest.Day.Add(time.Hour)}, "[router-pod]"},
		{everything, Filter{Text: "router-po"}, "[router-pod]"},
		{everything, Filter{Text: "experiment gate"}, "[gateway]"},
		{Scope{Namespaces: []string{"lab"}}, Filter{Text: "gateway"}, "[]"},
		{everything, Filter{Text: `" OR text : * NEAR(`}, "[]"},
		{everything, Filter{Text: `"`}, "[]"},
	} {
		if got := fmt.Sprint(f.names(t, at.scope, KindRun, at.filter)); got != at.want {
			t.Errorf("%+v %+v: %s, want %s", at.scope, at.filter, got, at.want)
		}
	}
	var got []string
	next := ""
	for range 3 {
		page, err := f.List(t.Context(), everything, KindRun, Filter{}, next, 1)
		if err != nil || len(page.Items) != 1 || page.Total != 3 {
			t.Fatal(page, err)
		}
		got, next = append(got, page.Items[0].Name), page.Next
	}
	if fmt.Sprint(got) != "[gateway firewall router-pod]" || next != "" {
		t.Errorf("the pages have %v, and then %q", got, next)
	}
	if _, err := f.List(t.Context(), everything, KindRun, Filter{}, "x", 1); !errors.Is(err, ErrCursor) {
		t.Errorf("a made-up continuation: %v", err)
	}
	items, err := f.Find(t.Context(), everything, KindRun, "uid-lab-router-pod-0")
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	doc := resultstest.Run(t, "lab", "small", 0)
	want := doc.Results[0].Throughput[0].FramesPerSecond
	first := items[0].Figures[0]
	if first.Metric != v1alpha1.MetricThroughputFramesPerSecond || first.Size != "64" || first.Value != want || first.Unit != figure.FramesPerSecond || items[0].Doubt != "" {
		t.Errorf("the first figure is %+v, want %d; doubt %q", first, want, items[0].Doubt)
	}
	if spaces, err := f.Namespaces(t.Context()); err != nil || fmt.Sprint(spaces) != "[lab other]" {
		t.Errorf("the namespaces are %v, %v", spaces, err)
	}
	if found, err := f.Choices(t.Context(), Scope{Namespaces: []string{"other"}}, "experiment", 10); err != nil || fmt.Sprint(found) != "[experiment-gateway]" {
		t.Errorf("the experiments are %v, %v", found, err)
	}
}

// TestDamaged checks that what cannot be shown is listed with its reason, to who may see its namespace, while other documents are served; and
// that a document that is mended or removed is.
func TestDamaged(t *testing.T) {
	archive := &memory{}
	good := resultstest.Run(t, "lab", "good", 0)
	archive.putRun(t, good)
	put := func(name string, change func(*report.Document)) string {
		doc := resultstest.Run(t, "lab", name, 1)
		key := resultstest.RunKey(doc)
		change(&doc)
		archive.put(key, resultstest.JSON(t, doc))
		return key
	}
	want := map[string]string{}
	whole := compressed(t, resultstest.Run(t, "lab", "cut", 1))
	archive.put("runs/lab/cut.uid.json.zst", whole[:len(whole)/2])
	want["runs/lab/cut.uid.json.zst"] = Truncated
	archive.put("runs/lab/empty.uid.json.zst", nil)
	want["runs/lab/empty.uid.json.zst"] = Truncated
	archive.put("suites/lab/empty.uid.json.zst", []byte(`{"apiVersion":"report.vnfbench.io/v1"`))
	want["suites/lab/empty.uid.json.zst"] = Truncated
	archive.put("runs/lab/flipped.uid.json.zst", append(bytes.Clone(whole[:200]), append([]byte{whole[200] ^ 1}, whole[201:]...)...))
	want["runs/lab/flipped.uid.json.zst"] = Malformed
	archive.put("runs/lab/large.uid.json", bytes.Repeat([]byte(" "), document.MaximumBytes+1))
	want["runs/lab/large.uid.json"] = TooLarge
	archive.put("notes.json", []byte(`{"kind":"Notes"}`))
	want["notes.json"] = NotADocument
	want[put("newer", func(d *report.Document) { d.APIVersion = "report.vnfbench.io/v9" })] = Newer
	want[put("moved", func(d *report.Document) { d.Run.Namespace = "other" })] = WrongPlace
	want[put("named", func(d *report.Document) { d.Run.Name = "<b>named</b>" })] = BadName
	want[put("words", func(d *report.Document) { d.Run.Experiment = "a\x1b[2Jb" })] = BadName
	archive.put("copy/of/good.json", resultstest.JSON(t, good))
	f := following(t, archive)
	// Keys are read in their order, so that of the copy was the first.
	want[resultstest.RunKey(good)] = Twice
	if diff := cmp.Diff(want, f.reasons(t, everything)); diff != "" {
		t.Errorf("(-want +got) %s", diff)
	}
	delete(want, "notes.json")
	if diff := cmp.Diff(want, f.reasons(t, Scope{Namespaces: []string{"lab"}})); diff != "" {
		t.Errorf("of its namespace (-want +got) %s", diff)
	}
	if got := f.reasons(t, Scope{Namespaces: []string{"other"}}); len(got) > 0 {
		t.Errorf("of another namespace: %v", got)
	}
	if got := f.names(t, everything, KindRun, Filter{}); fmt.Sprint(got) != "[good]" {
		t.Errorf("the others are %v", got)
	}

	archive.put("runs/lab/cut.uid.json.zst", nil)
	archive.remove("runs/lab/cut.uid.json.zst")
	archive.remove("copy/of/good.json")
	newer := resultstest.Run(t, "lab", "newer", 1)
	archive.putRun(t, newer)
	f.look(t)
	f.look(t)
	delete(want, "runs/lab/cut.uid.json.zst")
	delete(want, resultstest.RunKey(good))
	delete(want, resultstest.RunKey(newer))
	want["notes.json"] = NotADocument
	if diff := cmp.Diff(want, f.reasons(t, everything)); diff != "" {
		t.Errorf("after they were mended (-want +got) %s", diff)
	}
	if got := f.names(t, everything, KindRun, Filter{}); fmt.Sprint(got) != "[newer good]" {
		t.Errorf("the others are %v", got)
	}
}

// TestContradiction checks that a document whose figures are not those of its trials says so in the list.
func TestContradiction(t *testing.T) {
	archive := &memory{}
	doc := resultstest.Run(t, "lab", "forged", 0)
	doc.Results = []v1alpha1.FrameResult{*doc.Results[0].DeepCopy()}
	doc.Results[0].Throughput[0].FramesPerSecond *= 2
	archive.putRun(t, doc)
	page, err := following(t, archive).List(t.Context(), everything, KindRun, Filter{}, "", 10)
	if err != nil || len(page.Items) != 1 || !strings.Contains(page.Items[0].Doubt, "its trials give other values") {
		t.Errorf("%+v, %v", page.Items, err)
	}
}

// TestMadeAgain checks that an index that is lost, damaged or of another version is made again with the same content, and that the log says it.
func TestMadeAgain(t *testing.T) {
	archive := &memory{}
	for i := range 20 {
		archive.putRun(t, resultstest.Run(t, "lab", fmt.Sprintf("run-%d", i), i))
	}
	for name, harm := range map[string]func(*testing.T, string){
		"lost": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"empty":       func(t *testing.T, path string) { overwrite(t, path, nil) },
		"no database": func(t *testing.T, path string) { overwrite(t, path, []byte(strings.Repeat("no database ", 1000))) },
		"damaged": func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for at := 4096; at < len(data); at += 16 {
				copy(data[at:], "damaged ")
			}
			overwrite(t, path, data)
		},
		"another version": func(t *testing.T, path string) {
			db, err := handle(path, "", 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), "PRAGMA user_version=99"); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "index")
			begin := func(log logr.Logger) *follower {
				f := &follower{Index: open(t, path, log), archive: archive}
				if err := f.load(t.Context()); err != nil {
					t.Fatal(err)
				}
				f.look(t)
				return f
			}
			f := begin(logr.Discard())
			before := f.names(t, everything, KindRun, Filter{})
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			reads := archive.reads
			unharmed := begin(logr.Discard())
			if archive.reads != reads {
				t.Errorf("an index without harm reads %d documents again", archive.reads-reads)
			}
			if err := unharmed.Close(); err != nil {
				t.Fatal(err)
			}
			harm(t, path)
			var log logged
			if diff := cmp.Diff(before, begin(log.logger()).names(t, everything, KindRun, Filter{})); diff != "" || len(before) != 20 {
				t.Errorf("(-before +again) %s", diff)
			}
			if said := strings.Contains(strings.Join(log.lines, "\n"), "Making the index again"); said == (name == "lost") {
				t.Errorf("the log has %q", log.lines)
			}
		})
	}
}

func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedWhileServing damages the file under an index that is open: a query finds it, and the index is made again.
func TestDamagedWhileServing(t *testing.T) {
	archive := &memory{}
	for i := range 50 {
		archive.putRun(t, resultstest.Run(t, "lab", fmt.Sprintf("run-%d", i), i))
	}
	f := following(t, archive)
	if _, err := f.write.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	f.read.SetMaxIdleConns(0) // the next query has a new connection, and with it nothing in memory
	file, err := os.OpenFile(f.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(bytes.Repeat([]byte("damaged "), int(info.Size()-4096)/8), 4096); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.List(t.Context(), everything, KindRun, Filter{}, "", 100); err == nil {
		t.Fatal("a query reads a damaged file")
	}
	f.settle(t.Context(), false)
	if got := f.names(t, everything, KindRun, Filter{}); len(got) != 50 {
		t.Errorf("it was made again with %v", got)
	}
}

// TestReadersWhileIndexing lists while documents are added and removed: every list is a whole one.
func TestReadersWhileIndexing(t *testing.T) {
	archive := &memory{}
	f := following(t, archive)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				page, err := f.List(t.Context(), everything, KindRun, Filter{Text: "run"}, "", 100)
				if err != nil {
					t.Error(err)
					return
				}
				if page.Total != len(page.Items) {
					t.Errorf("the total is %d, and the list has %d", page.Total, len(page.Items))
				}
				for _, i := range page.Items {
					if len(i.Figures) == 0 || i.Key == "" {
						t.Errorf("%+v is no whole item", i)
					}
				}
			}
		})
	}
	for i := range 30 {
		archive.putRun(t, resultstest.Run(t, "lab", fmt.Sprintf("run-%d", i), i))
		if i%3 == 0 {
			archive.remove(resultstest.RunKey(resultstest.Run(t, "lab", fmt.Sprintf("run-%d", i/2), i/2)))
		}
		f.look(t)
	}
	close(stop)
	readers.Wait()
	if got := f.names(t, everything, KindRun, Filter{}); len(got) != len(archive.files) {
		t.Errorf("the index has %d, the archive %d", len(got), len(archive.files))
	}
}

// TestFollow checks that a notice is indexed before the next listing, that an archive that is away is said and asked again, and that what was
// indexed is served meanwhile.
func TestFollow(t *testing.T) {
	archive := &memory{}
	archive.putRun(t, resultstest.Run(t, "lab", "first", 0))
	x := open(t, filepath.Join(t.TempDir(), "index"), logr.Discard())
	done := make(chan error, 1)
	f := &follower{Index: x}
	go func() { done <- x.Follow(t.Context(), archive, 50*time.Millisecond) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	eventually := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	eventually("it does not list the archive", func() bool { return len(f.names(t, everything, KindRun, Filter{})) == 1 })
	archive.fail(errors.New("the bucket is away"))
	eventually("it does not say that the archive is away", func() bool { return x.Status().Problem != "" })
	archive.putRun(t, resultstest.Run(t, "lab", "second", 1))
	if got := f.names(t, everything, KindRun, Filter{}); fmt.Sprint(got) != "[first]" || strings.Contains(x.Status().Problem, "bucket") {
		t.Errorf("meanwhile it has %v and says %q", got, x.Status().Problem)
	}
	archive.fail(nil)
	eventually("it does not list the archive again", func() bool { return len(f.names(t, everything, KindRun, Filter{})) == 2 && x.Status().Problem == "" })
}

// TestNotice checks that a key of which the archiver gives notice is read once more at most.
func TestNotice(t *testing.T) {
	archive := &memory{}
	f := following(t, archive)
	doc := resultstest.Run(t, "lab", "first", 0)
	archive.putRun(t, doc)
	f.Add(resultstest.RunKey(doc))
	if err := f.notice(t.Context(), <-f.notices); err != nil {
		t.Fatal(err)
	}
	if got := f.names(t, everything, KindRun, Filter{}); fmt.Sprint(got) != "[first]" {
		t.Errorf("after the notice it has %v", got)
	}
	f.look(t)
	f.look(t)
	if archive.reads != 2 {
		t.Errorf("the document was read %d times", archive.reads)
	}
}
