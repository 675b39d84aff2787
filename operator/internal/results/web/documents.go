package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"github.com/klauspost/compress/zstd"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/series"
)

// hold waits for some of the places of decoded documents, which the request has until its answer is made.
func (s *server) hold(r *request, places int64) error {
	if err := s.documents.Acquire(r.Context(), places); err != nil {
		return err
	}
	r.release = func() { s.documents.Release(places) }
	return nil
}

// item returns the document that a path names, where the viewer may see it.
func (s *server) item(r *request, kind, namespace, uid string) (index.Item, error) {
	may, err := r.viewer.MayGet(r.Context(), namespace)
	if err != nil {
		return index.Item{}, err
	}
	what := map[string]string{index.KindRun: "The run", index.KindSuite: "The execution"}[kind]
	if !may {
		return index.Item{}, notFound(what)
	}
	items, err := s.Index.Find(r.Context(), index.Scope{Namespaces: []string{namespace}}, kind, uid)
	if err != nil {
		return index.Item{}, err
	}
	if len(items) == 0 {
		return index.Item{}, notFound(what)
	}
	return items[0], nil
}

// read returns what the archive has of an item.
func (s *server) read(ctx context.Context, i index.Item) ([]byte, error) {
	data, err := s.Archive.Read(ctx, i.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &failure{http.StatusNotFound, "The document is gone from the archive; its figures leave the lists with the next listing."}
	}
	if err != nil {
		s.Log.Error(err, "Reading a document", "key", i.Key)
		return nil, &failure{http.StatusServiceUnavailable, "The archive does not answer; the lists and series are there without it. Try again later."}
	}
	return data, nil
}

// decoded returns the document of a run.
func (s *server) decoded(ctx context.Context, i index.Item) (report.Document, error) {
	data, err := s.read(ctx, i)
	if err != nil {
		return report.Document{}, err
	}
	doc, err := document.Read(bytes.NewReader(data))
	return doc, damaged(i, err)
}

// damaged returns the failure of a document that was whole when it was indexed.
func damaged(i index.Item, err error) error {
	if err == nil {
		return nil
	}
	return &failure{http.StatusUnprocessableEntity, fmt.Sprintf("The document %s cannot be read any more: %v", i.Key, err)}
}

// runPage is what the page of a run has around its report.
type runPage struct {
	index.Item
	Report page.View
	// Previous is the run of the same experiment before this one; nil where there is none.
	Previous *index.Item
	Series   []series.Key
}

func (s *server) run(r *request) error {
	item, err := s.item(r, index.KindRun, r.PathValue("namespace"), r.PathValue("uid"))
	if err != nil {
		return err
	}
	shown := runPage{Item: item}
	filter := index.Filter{Namespace: item.Namespace, Experiment: item.Experiment, Testbed: item.Testbed, Until: item.Time}
	if before, isKnown, err := s.Index.Latest(r.Context(), index.Scope{Namespaces: []string{item.Namespace}}, index.KindRun, filter); err != nil {
		return err
	} else if isKnown {
		shown.Previous = &before
	}
	if shown.Series, err = s.Index.SeriesOf(r.Context(), item.Key); err != nil {
		return err
	}
	if err := s.hold(r, 1); err != nil {
		return err
	}
	doc, err := s.decoded(r.Context(), item)
	if err != nil {
		return err
	}
	shown.Report = kept(page.Run(doc))
	v := s.view(r, shown.Report.Kind, shown.Report.Title)
	v.Data = shown
	return s.render(r, http.StatusOK, "run", v)
}

// download answers with a document as the archive has it, or as JSON where the query asks for that.
func (s *server) download(r *request, kind string) error {
	item, err := s.item(r, kind, r.PathValue("namespace"), r.PathValue("uid"))
	if err != nil {
		return err
	}
	if err := s.downloads.Acquire(r.Context(), 1); err != nil {
		return err
	}
	defer s.downloads.Release(1)
	data, err := s.read(r.Context(), item)
	if err != nil {
		return err
	}
	packed := isPacked(data)
	name, contentType := item.Name+document.ExtensionJSON, "application/json"
	switch format := r.URL.Query().Get("format"); {
	case format != "" && format != "json":
		return badRequest("format is %q: give json, or leave it out for what the archive has", cut(format, 40))
	case packed && format == "":
		name, contentType = item.Name+document.ExtensionCompressed, "application/zstd"
	case packed:
		if data, err = unpacked(data, document.MaximumBytes); err != nil {
			return damaged(item, err)
		}
	}
	// The index takes no name with other characters than letters, digits, "-" and ".".
	r.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return r.send(http.StatusOK, contentType, data)
}

// isPacked reports whether a document is compressed with zstd (RFC 8878 section 3.1.1).
func isPacked(data []byte) bool { return bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}) }

// unpacked returns what was compressed, which is at most as much as most.
func unpacked(data []byte, most int) ([]byte, error) {
	unpacker, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(document.MaximumBytes)), zstd.WithDecoderMaxWindow(document.MaximumBytes))
	if err != nil {
		return nil, err
	}
	defer unpacker.Close()
	text, err := io.ReadAll(io.LimitReader(unpacker, int64(most)+1))
	if err == nil && len(text) > most {
		err = document.ErrTooLarge
	}
	return text, err
}
