// Package archive keeps result documents in a bucket, where they outlive the cluster: in a folder, or in object storage for
// which a program imports a driver.
//
// A document is final. It is stored once, whole or not at all, and one that can be read is never replaced.
package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"vnfbench.io/operator/internal/document"
)

// timeout limits one request to the bucket, with the driver's own attempts.
const timeout = time.Minute

// Archive is an open bucket. Several goroutines may use it.
type Archive struct {
	bucket *blob.Bucket
	// folder is that of a bucket of files, and "" of another one. prefix is what its documents' keys begin with there.
	folder, prefix string
}

// Entry is a document that the archive has.
type Entry struct {
	Key      string
	Bytes    int64
	Modified time.Time
}

// Open opens the bucket of a URL, such as file:///var/lib/archive or s3://bucket?region=eu-central-1. It makes the folder of a
// file URL, and asks no other bucket whether it is there.
func Open(ctx context.Context, bucketURL string) (*Archive, error) {
	u, err := url.Parse(bucketURL)
	if err != nil {
		return nil, fmt.Errorf("the archive's URL cannot be read: %w", err)
	}
	a := &Archive{}
	if u.Scheme == fileblob.Scheme {
		if u.Host != "" || !filepath.IsAbs(u.Path) {
			return nil, fmt.Errorf("the archive's URL is %q, want one with three slashes and a whole path, such as file:///var/lib/vnfbench/archive", bucketURL)
		}
		query := u.Query()
		a.folder, a.prefix = filepath.Clean(u.Path), query.Get("prefix")
		// Documents are written next to where they stay, so that they can be renamed, and have no files with metadata.
		for name, value := range map[string]string{"create_dir": "true", "no_tmp_dir": "true", "metadata": "skip"} {
			query.Set(name, value)
		}
		u.RawQuery = query.Encode()
	}
	if a.bucket, err = blob.OpenBucket(ctx, u.String()); err != nil {
		return nil, fmt.Errorf("opening the archive: %w", err)
	}
	return a, nil
}

// Close ends the use of the bucket.
func (a *Archive) Close() error { return a.bucket.Close() }

// List calls each with every document, in the order of their keys. It leaves out what has another name than a document. It ends with
// the first error of each.
func (a *Archive) List(ctx context.Context, each func(Entry) error) error {
	for _, folder := range []string{folderOfRuns, folderOfSuites} {
		if err := a.list(ctx, folder, each); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) list(ctx context.Context, folder string, each func(Entry) error) error {
	objects := a.bucket.List(&blob.ListOptions{Prefix: folder + "/"})
	for {
		object, err := next(ctx, objects)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("listing the archive: %w", a.classify(ctx, err))
		}
		if _, err := Parse(object.Key); err != nil || object.IsDir {
			continue
		}
		if err := each(Entry{object.Key, object.Size, object.ModTime}); err != nil {
			return err
		}
	}
}

// next returns the next object, for which it may ask the bucket once.
func next(ctx context.Context, objects *blob.ListIterator) (*blob.ListObject, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return objects.Next(ctx)
}

// Read returns a document as it is stored. Its error is ErrNotFound for one that the archive does not have, and document.ErrTooLarge
// for what is no document.
func (a *Archive) Read(ctx context.Context, key string) ([]byte, error) {
	if _, err := Parse(key); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	text, err := a.read(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("reading %s from the archive: %w", key, err)
	}
	return text, nil
}

func (a *Archive) read(ctx context.Context, key string) ([]byte, error) {
	r, err := a.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, a.classify(ctx, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, document.MaximumBytes+1))
	switch err := errors.Join(err, r.Close()); {
	case err != nil:
		return nil, a.classify(ctx, err)
	case len(text) > document.MaximumBytes:
		return nil, fmt.Errorf("%w: it has more than %d bytes", document.ErrTooLarge, document.MaximumBytes)
	}
	return text, nil
}

// Store stores a document, which is in the archive when Store returns nil. Where the archive has another one under the key, Store keeps
// that and returns ErrKept. It replaces what is damaged or was stored in part, and a run's document without trials by one that has them.
func (a *Archive) Store(ctx context.Context, key string, text []byte) error {
	kind, err := Parse(key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch before, err := a.read(ctx, key); {
	case err == nil && bytes.Equal(before, text):
		return nil
	case err == nil && !kind.replaces(text, before):
		return fmt.Errorf("storing %s: %w", key, ErrKept)
	case err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, document.ErrTooLarge):
		return fmt.Errorf("looking for %s in the archive: %w", key, err)
	}
	if err := a.write(ctx, key, text); err != nil {
		return fmt.Errorf("storing %s: %w", key, err)
	}
	return nil
}

// write returns when the bucket has the object. A bucket shows the earlier object, or none, until it has all of the new one.
func (a *Archive) write(ctx context.Context, key string, text []byte) error {
	writing, cancel := context.WithCancel(ctx)
	// It has no effect on a document that is stored.
	defer cancel()
	w, err := a.bucket.NewWriter(writing, key, &blob.WriterOptions{ContentType: "application/zstd", MaxConcurrency: 1})
	if err != nil {
		return a.classify(ctx, err)
	}
	if _, err := w.Write(text); err != nil {
		// A writer that is canceled stores nothing.
		cancel()
		_ = w.Close()
		return a.classify(ctx, err)
	}
	if err := w.Close(); err != nil {
		return a.classify(ctx, err)
	}
	if a.folder == "" {
		return nil
	}
	return a.classify(ctx, persist(filepath.Clean(a.folder+"/"+a.prefix+key), a.folder))
}

// persist returns when a file and the folders that it is in, up to one, would outlive the end of the machine.
func persist(file, top string) error {
	for name := file; ; name = filepath.Dir(name) {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil || name == top {
			return err
		}
	}
}
