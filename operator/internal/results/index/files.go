package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"vnfbench.io/operator/internal/document"
)

// Files is an archive in a folder, with documents in it and in the folders below.
type Files struct{ fs.FS }

// List implements Archive. It leaves out files whose names no document has.
func (f Files) List(ctx context.Context, each func(Entry) error) error {
	return fs.WalkDir(f.FS, ".", func(name string, found fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !found.Type().IsRegular() || !document.IsName(name):
			return nil
		}
		info, err := found.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		return each(Entry{Key: name, Bytes: info.Size(), Modified: info.ModTime()})
	})
}

// Read implements Archive.
func (f Files) Read(_ context.Context, key string) ([]byte, error) {
	file, err := f.Open(key)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, document.MaximumBytes+1))
	if err == nil && len(data) > document.MaximumBytes {
		err = fmt.Errorf("%s: %w", key, document.ErrTooLarge)
	}
	return data, errors.Join(err, file.Close())
}
