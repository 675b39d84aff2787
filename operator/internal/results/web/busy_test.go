package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/testing/resultstest"
)

// gate is an archive that reads nothing before it is open.
type gate struct {
	index.Archive
	asked sync.Once
	began chan struct{}
	open  chan struct{}
}

func (g *gate) Read(ctx context.Context, key string) ([]byte, error) {
	g.asked.Do(func() { close(g.began) })
	<-g.open
	return g.Archive.Read(ctx, key)
}

// TestComparisonsAtTheSameTime checks that comparisons which wait for the places of documents do not each take a part of them.
func TestComparisonsAtTheSameTime(t *testing.T) {
	s := newSite(t, lab(t), Everyone{})
	g := &gate{Archive: index.Files{FS: s.files}, began: make(chan struct{}), open: make(chan struct{})}
	handler := NewHandler(Options{Index: s.index, Archive: g, Access: Everyone{}, Log: logr.Discard()})
	page, err := s.index.List(t.Context(), index.Scope{All: true}, index.KindRun, index.Filter{Namespace: "lab"}, "", 2)
	if err != nil || len(page.Items) != 2 {
		t.Fatalf("%d runs, %v", len(page.Items), err)
	}
	address := "/api/v1/compare?run=lab/" + page.Items[0].UID + "&run=lab/" + page.Items[1].UID
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil))
			if w.Code != http.StatusOK {
				t.Errorf("%d: %s", w.Code, w.Body)
			}
		})
	}
	<-g.began
	// The others come to wait.
	time.Sleep(100 * time.Millisecond)
	close(g.open)
	all.Wait()
}

// slow is who begins to read an answer, and does not go on before open is closed.
type slow struct {
	*httptest.ResponseRecorder
	begin sync.Once
	began chan struct{}
	open  chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	s.begin.Do(func() { close(s.began) })
	<-s.open
	return s.ResponseRecorder.Write(p)
}

// TestSlowReaders checks that who reads slowly keeps no one from pages, and how many documents are in memory to be sent.
func TestSlowReaders(t *testing.T) {
	s := newSite(t, lab(t), Everyone{})
	doc := resultstest.Run(t, "lab", "lab-router", 48)
	page, document := "/runs/lab/"+doc.Run.UID, "/api/v1/runs/lab/"+doc.Run.UID+"/document"
	open := make(chan struct{})
	var all sync.WaitGroup
	defer func() {
		close(open)
		all.Wait()
	}()
	for address, readers := range map[string]int{page: maxDocuments, document: maxDownloads} {
		for range readers {
			w := &slow{ResponseRecorder: httptest.NewRecorder(), began: make(chan struct{}), open: open}
			all.Go(func() { s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)) })
			<-w.began
		}
	}
	for address, want := range map[string]int{page: http.StatusOK, document: http.StatusServiceUnavailable} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil))
		cancel()
		if w.Code != want {
			t.Errorf("%s: %d, want %d", address, w.Code, want)
		}
	}
}

// TestRequestsAtTheSameTime checks that readers who take as many pages as there may be in memory keep others waiting, and that places come back.
func TestRequestsAtTheSameTime(t *testing.T) {
	s := newSite(t, lab(t), Everyone{})
	get := func(w http.ResponseWriter, limit time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/runs", nil))
	}
	open := make(chan struct{})
	var all sync.WaitGroup
	for range maxRequests {
		w := &slow{ResponseRecorder: httptest.NewRecorder(), began: make(chan struct{}), open: open}
		all.Go(func() { get(w, time.Minute) })
		<-w.began
	}
	w := httptest.NewRecorder()
	get(w, 100*time.Millisecond)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("while all places are taken: %d", w.Code)
	}
	close(open)
	all.Wait()
	w = httptest.NewRecorder()
	get(w, 10*time.Second)
	if w.Code != http.StatusOK {
		t.Errorf("when all readers have ended: %d", w.Code)
	}
}
