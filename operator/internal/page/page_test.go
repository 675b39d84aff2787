package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/report"
)

// written returns the page of a run, which it checks.
func written(t *testing.T, doc report.Document) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.WriteRun(&out, doc); err != nil {
		t.Fatal(err)
	}
	checkPage(t, out.String())
	return out.String()
}

// elements are those that a page may have.
var elements = strings.Fields("html head meta title style body header p h1 h2 h3 strong ul li span nav a main section div figure figcaption table thead tbody tr th td details summary pre code dl dt dd footer svg path text desc")

// attributes are those that they may have.
var attributes = strings.Fields("lang charset name content http-equiv id class href scope tabindex aria-label xmlns role viewBox width height font-family d fill stroke stroke-width stroke-dasharray stroke-opacity fill-opacity x y font-size font-weight textLength lengthAdjust transform")

// checkPage checks that a page has no script, no style attribute, no link but to its own parts, nothing that would be fetched,
// and that its tags are balanced.
func checkPage(t *testing.T, text string) {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ids, links := map[string]bool{}, []string{}
	for node := range tree.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(elements, node.Data) {
			t.Errorf("the page has the element %s", node.Data)
		}
		for _, a := range node.Attr {
			if !slices.Contains(attributes, a.Key) {
				t.Errorf("%s has the attribute %s=%q", node.Data, a.Key, a.Val)
			}
			switch a.Key {
			case "id":
				if ids[a.Val] {
					t.Errorf("two elements have the id %q", a.Val)
				}
				ids[a.Val] = true
			case "href":
				links = append(links, a.Val)
			}
			if strings.Contains(strings.ToLower(a.Val), "javascript:") {
				t.Errorf("%s has %s=%q", node.Data, a.Key, a.Val)
			}
		}
	}
	for _, link := range links {
		if !strings.HasPrefix(link, "#") || !ids[link[1:]] {
			t.Errorf("a link leads to %q, which is no part of the page", link)
		}
	}
	var open []string
	tokens := html.NewTokenizer(strings.NewReader(text))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		token := tokens.Token()
		switch {
		case kind == html.StartTagToken && token.Data != "meta":
			open = append(open, token.Data)
		case kind == html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Fatalf("</%s> closes %v", token.Data, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%v stays open", open)
	}
}

// TestPolicy checks that the policy in a page allows its own style sheet and nothing else.
func TestPolicy(t *testing.T) {
	text := written(t, report.Document{})
	_, rest, _ := strings.Cut(text, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	want := fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))
	if page.Policy() != want || !strings.Contains(text, strings.ReplaceAll(strings.ReplaceAll(want, "'", "&#39;"), "+", "&#43;")) {
		t.Errorf("the policy is %s, want %s", page.Policy(), want)
	}
	if strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style sheet fetches something")
	}
}

// TestPiecesAfterAPage checks that other packages can copy the templates after a page was written.
func TestPiecesAfterAPage(t *testing.T) {
	written(t, report.Document{Run: report.Run{Name: "a"}})
	if page.Pieces().Lookup("view") == nil {
		t.Error("the templates have no view")
	}
}
