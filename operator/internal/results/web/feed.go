package web

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"vnfbench.io/operator/internal/excerpt"
)

// atom is a feed (RFC 4287).
type atom struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string     `xml:"id"`
	Title   string     `xml:"title"`
	Updated string     `xml:"updated"`
	Links   []atomLink `xml:"link"`
	Summary string     `xml:"summary"`
}

// feed answers with the newest regressions that suites found, of all namespaces that the viewer sees or of one.
func (s *server) feed(r *request) error {
	namespace := r.URL.Query().Get("namespace")
	scope, err := s.scope(r, namespace)
	if err != nil {
		return err
	}
	found, err := s.Index.Regressions(r.Context(), scope, namespace, pageLength)
	if err != nil {
		return err
	}
	f := atom{ID: "tag:vnfbench.io,2026:regressions/" + url.PathEscape(namespace), Title: "Regressions", Author: "vnfbench", Links: []atomLink{{Href: "./"}},
		Updated: time.Unix(0, 0).UTC().Format(time.RFC3339)}
	for i, said := range found {
		when := said.Time.UTC().Format(time.RFC3339)
		if i == 0 {
			f.Updated = when
		}
		run := ""
		if said.Change != nil {
			run = said.Change.Run
		}
		entry := atomEntry{
			ID:    fmt.Sprintf("tag:vnfbench.io,2026:regressions/%s/%s", said.Digest, url.PathEscape(run)),
			Title: excerpt.Line(fmt.Sprintf("%s/%s: %s of %s", said.Namespace, said.Suite, said.Figure, said.Experiment), 500), Updated: when,
			Links: []atomLink{{Href: "./suites/" + said.Namespace + "/" + url.PathEscape(said.Suite) + "?execution=" + url.QueryEscape(said.Execution)}}, Summary: excerpt.Line(said.Message, 1024),
		}
		if said.Change != nil {
			entry.Title += " " + percent(said.Change.PartsPerMillion)
		}
		f.Entries = append(f.Entries, entry)
	}
	text, err := xml.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return r.send(http.StatusOK, "application/atom+xml; charset=utf-8", append([]byte(xml.Header), text...))
}
