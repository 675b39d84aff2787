// Package archive tests the archive of results with a real S3 server, which serves a folder on loopback.
package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	_ "gocloud.dev/blob/s3blob"

	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/testing/documenttest"
)

const (
	access, secret = "lab-access", "lab-secret-key"
	bucket         = "lab-results"
	uid            = "7f6c1c9e-0000-4000-8000-000000000001"
)

// server is an S3 server that can be stopped and started again at one address. What it serves stays.
type server struct {
	t                         *testing.T
	folder, sidecar, accounts string
	address                   string
	stop                      func()
}

func newServer(t *testing.T) *server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, folder: t.TempDir(), sidecar: t.TempDir(), accounts: t.TempDir(), address: listener.Addr().String()}
	if err := errors.Join(listener.Close(), os.Mkdir(filepath.Join(s.folder, bucket), 0o755)); err != nil {
		t.Fatal(err)
	}
	// The server changes into its folder.
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.stop()
		if err := os.Chdir(before); err != nil {
			t.Error(err)
		}
	})
	s.start()
	return s
}

// start returns when the server answers.
func (s *server) start() {
	s.t.Helper()
	kept, err := meta.NewSideCar(s.sidecar)
	if err != nil {
		s.t.Fatal(err)
	}
	backend, err := posix.New(s.folder, kept, posix.PosixOpts{SideCarDir: s.sidecar})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- embedgw.RunVersityGW(ctx, backend, &embedgw.Config{
			RootUserAccess: access, RootUserSecret: secret, Region: "us-east-1", Ports: []string{s.address},
			// With accounts it answers a stranger as S3 does.
			IAMDir:         s.accounts,
			MaxConnections: 100, MaxRequests: 100, MultipartMaxParts: 10_000, HealthPath: "/health", Quiet: true,
		})
	}()
	s.stop = func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			s.t.Errorf("the server ended: %v", err)
		}
		s.stop = func() {}
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get("http://" + s.address + "/health")
		if err == nil {
			_ = answer.Body.Close()
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the server does not answer: %v", err)
		}
	}
}

// open opens a bucket with credentials, as the results service does from its environment.
func (s *server) open(bucket, access, secret string, further ...string) *archive.Archive {
	s.t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": access, "AWS_SECRET_ACCESS_KEY": secret, "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		s.t.Setenv(name, value)
	}
	query := append([]string{"region=us-east-1", "endpoint=http://" + s.address, "use_path_style=true"}, further...)
	a, err := archive.Open(s.t.Context(), fmt.Sprintf("s3://%s?%s", bucket, strings.Join(query, "&")))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := a.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return a
}

func made(t *testing.T, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := document.Write(&out, documenttest.Make(t, documenttest.Small(), version, nil), true); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func list(t *testing.T, a *archive.Archive) (keys []string) {
	t.Helper()
	err := a.List(t.Context(), func(e archive.Entry) error {
		if e.Bytes == 0 || time.Since(e.Modified) > time.Hour {
			t.Errorf("%+v", e)
		}
		keys = append(keys, e.Key)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestS3 stores, lists and reads documents, also more than S3 lists at once, and checks that one stays and that a damaged one is replaced.
func TestS3(t *testing.T) {
	s := newServer(t)
	one, other := made(t, "1.0.0"), made(t, "2.0.0")
	for name, a := range map[string]*archive.Archive{"a bucket": s.open(bucket, access, secret), "a folder of it": s.open(bucket, access, secret, "prefix=lab-1/")} {
		key := archive.RunKey("lab", "router.v2", uid)
		if got := list(t, a); len(got) != 0 {
			t.Errorf("%s has %q", name, got)
		}
		if _, err := a.Read(t.Context(), key); !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("%s: what is not stored: %v", name, err)
		}
		for _, text := range [][]byte{one[:100], one, one} {
			if err := a.Store(t.Context(), key, text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := a.Store(t.Context(), key, other); !errors.Is(err, archive.ErrKept) {
			t.Errorf("%s: another document: %v", name, err)
		}
		if got, err := a.Read(t.Context(), key); err != nil || !bytes.Equal(got, one) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if got := list(t, a); len(got) != 1 || got[0] != key {
			t.Errorf("%s has %q", name, got)
		}
	}
	a := s.open(bucket, access, secret)
	for i := range 1100 {
		if err := a.Store(t.Context(), archive.SuiteKey("lab", fmt.Sprintf("nightly-%d", i), uid), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, a); len(got) != 1101 {
		t.Errorf("%d documents are listed", len(got))
	}
	if _, err := os.Stat(filepath.Join(s.folder, bucket, archive.RunKey("lab", "router.v2", uid))); err != nil {
		t.Errorf("the server has no such object: %v", err)
	}
}

// TestFailuresOfS3 checks what each failure is called, and that a server that was away is used again.
func TestFailuresOfS3(t *testing.T) {
	s := newServer(t)
	key, text := archive.RunKey("lab", "router", uid), made(t, "1.0.0")
	for name, test := range map[string]struct {
		bucket, access, secret string
		want                   error
	}{
		"another secret": {bucket, access, "wrong", archive.ErrDenied},
		"another key":    {bucket, "stranger", secret, archive.ErrDenied},
		"no such bucket": {"lab-other", access, secret, archive.ErrNoBucket},
	} {
		a := s.open(test.bucket, test.access, test.secret)
		if err := a.Store(t.Context(), key, text); !errors.Is(err, test.want) {
			t.Errorf("%s: storing: %v", name, err)
		}
		if _, err := a.Read(t.Context(), key); !errors.Is(err, test.want) {
			t.Errorf("%s: reading: %v", name, err)
		}
		if err := a.List(t.Context(), func(archive.Entry) error { return nil }); !errors.Is(err, test.want) {
			t.Errorf("%s: listing: %v", name, err)
		}
	}
	a := s.open(bucket, access, secret)
	s.stop()
	if err := a.Store(t.Context(), key, text); !errors.Is(err, archive.ErrUnavailable) {
		t.Errorf("a server that is stopped: %v", err)
	}
	if _, err := a.Read(t.Context(), key); !errors.Is(err, archive.ErrUnavailable) {
		t.Errorf("a server that is stopped: %v", err)
	}
	s.start()
	if err := a.Store(t.Context(), key, text); err != nil {
		t.Errorf("a server that is back: %v", err)
	}
	if got := list(t, a); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
