package benchmarkrun

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageItems is the most objects of a list that are read at once without the cache. An object of the API has at most
// 1.5 MB, and who writes it decides how much.
const pageItems = 20

// pages reads lists in pages, one at a time in the whole operator, so that its memory has room for one page. The
// zero value is ready.
type pages struct{ mu sync.Mutex }

// read reads pages into the list, and calls visit after each, which takes what it needs out of it. It stops after so
// many pages, with 0 after the last, and reports whether that was the last.
func (p *pages) read(ctx context.Context, reader client.Reader, list client.ObjectList, most int, visit func() error, options ...client.ListOption) (whole bool, err error) {
	next := ""
	for n := 1; ; n++ {
		if next, err = p.readOne(ctx, reader, list, next, visit, options); err != nil || next == "" {
			return err == nil, err
		}
		if n == most {
			return false, nil
		}
	}
}

// readOne reads the page that begins at a token, and returns that of the next; "" after the last.
func (p *pages) readOne(ctx context.Context, reader client.Reader, list client.ObjectList, token string, visit func() error, options []client.ListOption) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A decoder adds to what a list has.
	if err := meta.SetList(list, nil); err != nil {
		return "", err
	}
	list.SetContinue("")
	page := append([]client.ListOption{client.Limit(pageItems), client.Continue(token)}, options...)
	if err := reader.List(ctx, list, page...); err != nil {
		return "", err
	}
	return list.GetContinue(), visit()
}
