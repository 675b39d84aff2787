package archive_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"vnfbench.io/operator/internal/archive"
)

// silent is a bucket that lists nothing in any time, and has the same error for everything else.
type silent struct {
	driver.Bucket
	err error
}

func (silent) ListPaged(ctx context.Context, _ *driver.ListOptions) (*driver.ListPage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s silent) NewRangeReader(context.Context, string, int64, int64, *driver.ReaderOptions) (driver.Reader, error) {
	return nil, s.err
}

func (silent) ErrorCode(error) gcerrors.ErrorCode { return gcerrors.Unknown }

func (silent) Close() error { return nil }

// OpenBucketURL implements blob.BucketURLOpener.
func (s silent) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	return blob.NewBucket(s), nil
}

// away is what the driver of Azure returns where it does not reach the server.
var away = &url.Error{Op: "Get", URL: "https://lab.blob.example/results/runs/x?sv=2024&sig=secret%3D", Err: errors.New("no such host")}

func init() { blob.DefaultURLMux().RegisterBucket("silent", silent{err: away}) }

// TestSilentBucket checks that a bucket which does not answer is not waited for without an end, and that no error shows the query of an address: with a
// token of Azure, that is the credential.
func TestSilentBucket(t *testing.T) {
	a := opened(t, "silent://results")
	_, err := a.Read(t.Context(), archive.RunKey("lab", "router", uid))
	if !errors.Is(err, archive.ErrUnavailable) || !errors.Is(err, away) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "https://lab.blob.example/results/runs/x") {
		t.Errorf("%v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := a.List(t.Context(), func(archive.Entry) error { return nil })
		if took := time.Since(began); !errors.Is(err, archive.ErrUnavailable) || took > 2*time.Minute {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
