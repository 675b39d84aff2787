package page

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/study"
)

var update = flag.Bool("update", false, "write the reports in docs/studies/reports again")

// pictures are the captions, from their beginning, of those that a study shows instead of the last one.
var pictures = map[string]string{"vcpe": "p99-b256: "}

// TestPublishedReports checks that the reports of studies in the documentation are those of the documents next to them, by the claims of today:
// docs/studies/reports/NAME/*-lab.json are what was measured, NAME.html is what is concluded,
// and NAME.svg the last picture of it, or the one that pictures names.
func TestPublishedReports(t *testing.T) {
	const studies, reports = "../../../config/studies", "../../../docs/studies/reports"
	folders, err := filepath.Glob(filepath.Join(reports, "*", "*-lab.json"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("found %d documents: %v", len(folders), err)
	}
	bySuite := map[string][]report.SuiteDocument{}
	for _, file := range folders {
		text, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := document.ReadSuite(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := text.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(file))
		bySuite[name] = append(bySuite[name], doc)
	}
	for name, docs := range bySuite {
		claims, err := os.ReadFile(filepath.Join(studies, name, study.File))
		if err != nil {
			t.Fatal(err)
		}
		of, err := study.Read(claims)
		if err != nil {
			t.Fatal(err)
		}
		r, err := study.Evaluate(of, docs)
		if err != nil {
			t.Fatal(err)
		}
		// The report was written when the last document was.
		r.WrittenBy, r.GeneratedAt = docs[0].WrittenBy, time.Time{}
		for _, doc := range docs {
			if doc.GeneratedAt.After(r.GeneratedAt) {
				r.GeneratedAt = doc.GeneratedAt
			}
		}
		var page bytes.Buffer
		if err := WriteStudy(&page, r, docs); err != nil {
			t.Fatal(err)
		}
		sections := Study(r, docs).Sections
		figures := sections[len(sections)-1].Figures
		at := len(figures) - 1
		if caption, chosen := pictures[name]; chosen {
			at = slices.IndexFunc(figures, func(f Figure) bool { return strings.HasPrefix(f.Caption, caption) })
		}
		if at < 0 {
			t.Fatalf("the last suite of %s has no picture", name)
		}
		files := map[string][]byte{name + ".html": page.Bytes(), name + ".svg": []byte(alone(string(figures[at].Picture)))}
		for file, content := range files {
			file = filepath.Join(reports, file)
			if *update {
				if err := os.WriteFile(file, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if has, err := os.ReadFile(file); err != nil || !bytes.Equal(has, content) {
				t.Errorf("%s is not what its documents give (%v): `go test ./internal/page -run PublishedReports -update` writes it", file, err)
			}
		}
	}
}

// alone returns a picture with the light colors of the style sheet, for places that have none.
func alone(picture string) string {
	colors := map[string]string{}
	light, _, _ := strings.Cut(Style, "}")
	for _, found := range regexp.MustCompile(`--(\w+): (#[0-9a-f]{6})`).FindAllStringSubmatch(light, -1) {
		colors[found[1]] = found[2]
	}
	css := ".plot { color: " + colors["ink"] + "; } .g { color: " + colors["grid"] + "; } .f { color: " + colors["axis"] + "; }"
	for i := range plot.Styles {
		name := fmt.Sprintf("s%d", i)
		css += " ." + name + " { color: " + colors[name] + "; }"
	}
	open := strings.Index(picture, ">") + 1
	return picture[:open] + "<style>" + css + `</style><rect width="100%" height="100%" fill="` + colors["paper"] + `"/>` + picture[open:] + "\n"
}
