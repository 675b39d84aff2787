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

// pictures are those that stay for a study: the suite, and how the caption begins.
var pictures = map[string]struct{ suite, caption string }{
	"rule-cost":         {"rule-cost-rules-lab", "Delay p99 over rules"},
	"iptables-nftables": {"iptables-nftables-sizes-lab", "Throughput over size"},
	"gateway-scaling":   {"gateway-scaling-threads-lab", "TCP goodput over threads"},
	"nics":              {"nics-neighbors-lab", "idle: "},
	"vcpe":              {"vcpe-two-lab", "p99-b256: "},
}

// published returns the documents of each report by its name, and the name of its study. docs/studies/reports/NAME/*-lab.json are those of the report NAME.
// Another one, such as long-30-minutes.json, takes the place of that of its suite in a further report: NAME-30-minutes.
func published(t *testing.T, reports string) (docs map[string][]report.SuiteDocument, of map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(reports, "*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d documents: %v", len(files), err)
	}
	docs, of = map[string][]report.SuiteDocument{}, map[string]string{}
	further := map[string]report.SuiteDocument{}
	for _, file := range files {
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
		if _, size, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-"); size != "lab" {
			further[name+"-"+size], of[name+"-"+size] = doc, name
			continue
		}
		docs[name], of[name] = append(docs[name], doc), name
	}
	for name, doc := range further {
		docs[name] = slices.Clone(docs[of[name]])
		at := slices.IndexFunc(docs[name], func(other report.SuiteDocument) bool { return other.Execution.Suite == doc.Execution.Suite })
		if at < 0 {
			t.Fatalf("%s has no document of suite %s", of[name], doc.Execution.Suite)
		}
		docs[name][at] = doc
	}
	return docs, of
}

// TestPublishedReports checks that the reports of studies in the documentation are those of the documents next to them, by the claims of today: NAME.html is
// what is concluded, and NAME.svg a picture of it.
func TestPublishedReports(t *testing.T) {
	const studies, reports = "../../../config/studies", "../../../docs/studies/reports"
	documents, of := published(t, reports)
	for name, docs := range documents {
		claims, err := os.ReadFile(filepath.Join(studies, of[name], study.File))
		if err != nil {
			t.Fatal(err)
		}
		from, err := study.Read(claims)
		if err != nil {
			t.Fatal(err)
		}
		r, err := study.Evaluate(from, docs)
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
		files := map[string][]byte{name + ".html": page.Bytes()}
		if of[name] == name {
			files[name+".svg"] = []byte(alone(pictureOf(t, name, Study(r, docs))))
		}
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

// pictureOf returns the picture that stays for a study.
func pictureOf(t *testing.T, name string, v View) string {
	t.Helper()
	chosen, known := pictures[name]
	for _, s := range v.Sections {
		for _, f := range s.Figures {
			if known && s.Title == "Suite "+chosen.suite && strings.HasPrefix(f.Caption, chosen.caption) {
				return string(f.Picture)
			}
		}
	}
	t.Fatalf("study %s has no picture of suite %q whose caption begins with %q", name, chosen.suite, chosen.caption)
	return ""
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
