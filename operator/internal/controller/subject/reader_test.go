package subject

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// images is a registry in the process. before sees each request first, and answers it if it returns true.
type images struct {
	*httptest.Server
	t        *testing.T
	host     string
	requests atomic.Int64
	before   func(http.ResponseWriter, *http.Request) bool
}

func newImages(t *testing.T, start func(http.Handler) *httptest.Server) *images {
	t.Helper()
	i := &images{t: t}
	stored := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	i.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.requests.Add(1)
		if i.before == nil || !i.before(w, r) {
			stored.ServeHTTP(w, r)
		}
	}))
	i.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(i.Close)
	_, i.host, _ = strings.Cut(i.URL, "://")
	return i
}

// image returns one with labels.
func image(t *testing.T, labels map[string]string) v1.Image {
	t.Helper()
	made, err := mutate.Config(empty.Image, v1.Config{Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// push stores an image and returns its name and digest.
func (i *images) push(of v1.Image) (string, string) {
	i.t.Helper()
	named := i.host + "/team/vyos:1.5"
	ref, err := parse(named)
	if err != nil {
		i.t.Fatal(err)
	}
	if err := remote.Write(ref, of, remote.WithTransport(i.Client().Transport)); err != nil {
		i.t.Fatal(err)
	}
	digest, err := of.Digest()
	if err != nil {
		i.t.Fatal(err)
	}
	i.requests.Store(0)
	return named, digest.String()
}

// folder returns one that has the certificate of the registry, and files.
func (i *images) folder(files map[string]string) string {
	i.t.Helper()
	folder := i.t.TempDir()
	if certificate := i.Certificate(); certificate != nil {
		files[certificatesFile] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			i.t.Fatal(err)
		}
	}
	return folder
}

func (i *images) reader(allowed ...string) *Reader {
	i.t.Helper()
	return NewReader(registriesOf(i.t, allowed...), i.folder(map[string]string{}))
}

func registriesOf(t *testing.T, hosts ...string) Registries {
	t.Helper()
	registries, err := ParseRegistries(hosts)
	if err != nil {
		t.Fatal(err)
	}
	return registries
}

// read reads with a time limit, so that no fault of the code waits without an end.
func read(t *testing.T, r *Reader, of string) (*v1alpha1.Subject, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return r.Read(ctx, of, &v1alpha1.Subject{Version: "given"})
}

// expect checks the reason of an error, whether it may pass, and what it says.
func expect(t *testing.T, err error, reason string, passing bool, parts ...string) {
	t.Helper()
	var failure *measure.Failure
	if !errors.As(err, &failure) || failure.Reason != reason || failure.Passing != passing {
		t.Fatalf("%v, want %s, passing %t", err, reason, passing)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

// TestRead reads over HTTPS and over plain HTTP, which the administrator has to allow, whatever the host is called.
func TestRead(t *testing.T) {
	secure, plain := newImages(t, httptest.NewTLSServer), newImages(t, httptest.NewServer)
	for name, test := range map[string]struct {
		images  *images
		allowed string
	}{"HTTPS": {secure, secure.host}, "HTTPS where both are allowed": {secure, "http://" + secure.host}, "plain HTTP": {plain, "http://" + plain.host}} {
		t.Run(name, func(t *testing.T) {
			named, digest := test.images.push(image(t, goodLabels()))
			got, err := read(t, test.images.reader(test.allowed), named)
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != "vyos" || got.Version != "given" || got.Revision != "9f8e7d6c" || got.Image != test.images.host+"/team/vyos@"+digest {
				t.Errorf("%+v", got)
			}
		})
	}
	named, _ := plain.push(image(t, goodLabels()))
	_, err := read(t, plain.reader(plain.host), named)
	expect(t, err, v1alpha1.ReasonImageLabelsUnreadable, true, "HTTPS")
	t.Run("a certificate that no one trusts", func(t *testing.T) {
		named, _ := secure.push(image(t, goodLabels()))
		_, err := read(t, NewReader(registriesOf(t, secure.host), ""), named)
		expect(t, err, v1alpha1.ReasonImageLabelsUnreadable, true, "certificate")
	})
}

// TestReadOfAnIndex checks that the image of the operator's architecture is read, and that the digest is that of what the name leads to.
func TestReadOfAnIndex(t *testing.T) {
	i := newImages(t, httptest.NewTLSServer)
	for name, test := range map[string]struct {
		architecture string
		fails        bool
	}{"this one": {runtime.GOARCH, false}, "another one": {"s390x-other", true}} {
		t.Run(name, func(t *testing.T) {
			index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image(t, goodLabels()), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: test.architecture}}})
			named := i.host + "/team/index:1"
			ref, err := parse(named)
			if err != nil {
				t.Fatal(err)
			}
			if err := remote.WriteIndex(ref, index, remote.WithTransport(i.Client().Transport)); err != nil {
				t.Fatal(err)
			}
			digest, err := index.Digest()
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(t, i.reader(i.host), named)
			if test.fails {
				expect(t, err, v1alpha1.ReasonImageLabelsUnreadable, true, "linux/"+runtime.GOARCH)
				return
			}
			if err != nil || got.Image != i.host+"/team/index@"+digest.String() || got.Revision != "9f8e7d6c" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func parse(text string) (name.Reference, error) { return name.ParseReference(text, name.Insecure) }

// TestHostsThatAreNotAllowed checks that no request reaches a host that is not in the list: neither the one that a tenant names, nor one to which a
// registry redirects or sends for a token.
func TestHostsThatAreNotAllowed(t *testing.T) {
	other := newImages(t, httptest.NewTLSServer)
	_, port, _ := strings.Cut(other.host, ":")
	for name, test := range map[string]struct {
		before  func(http.ResponseWriter, *http.Request) bool
		allowed func(i *images) []string
	}{
		"none":         {nil, func(*images) []string { return nil }},
		"another port": {nil, func(*images) []string { return []string{"127.0.0.1", "127.0.0.1:1"} }},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet {
				http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
				return true
			}
			return false
		}, func(i *images) []string { return []string{i.host} }},
		"a redirect to plain HTTP": {func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet {
				http.Redirect(w, r, "http://"+other.host+r.URL.Path, http.StatusTemporaryRedirect)
				return true
			}
			return false
		}, func(i *images) []string { return []string{i.host} }},
		"a token": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet {
				return false
			}
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="https://localhost:%s/token",service="r"`, port))
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}, func(i *images) []string { return []string{i.host} }},
	} {
		t.Run(name, func(t *testing.T) {
			i := newImages(t, httptest.NewTLSServer)
			named, _ := i.push(image(t, goodLabels()))
			i.before = test.before
			other.requests.Store(0)
			r := i.reader(test.allowed(i)...)
			_, err := read(t, r, named)
			expect(t, err, v1alpha1.ReasonRegistryNotAllowed, false, "subjectImages.registries")
			if n := other.requests.Load(); n != 0 {
				t.Errorf("%d requests reached the other host", n)
			}
			if test.before == nil {
				expect(t, r.Check(named), v1alpha1.ReasonRegistryNotAllowed, false, "127.0.0.1")
				if n := i.requests.Load(); n != 0 {
					t.Errorf("%d requests reached the registry", n)
				}
			} else {
				// A registry can name another host each time.
				expect(t, err, v1alpha1.ReasonRegistryNotAllowed, false, named, "the log of the operator")
				if strings.Contains(err.Error(), port) {
					t.Errorf("the other host is named: %v", err)
				}
				if err := r.Check(named); err != nil {
					t.Error(err)
				}
			}
		})
	}
	t.Run("a redirect to a host in the list", func(t *testing.T) {
		i := newImages(t, httptest.NewTLSServer)
		named, _ := i.push(image(t, goodLabels()))
		other.push(image(t, goodLabels()))
		i.before = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet {
				http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
				return true
			}
			return false
		}
		if _, err := read(t, i.reader(i.host, other.host), named); err != nil {
			t.Error(err)
		}
		if other.requests.Load() == 0 {
			t.Error("no request reached the other host")
		}
	})
}

// TestAnswersOfARegistry checks which answers are waited for, that none is shown, and that the remedy fits.
func TestAnswersOfARegistry(t *testing.T) {
	answer := func(status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	for name, test := range map[string]struct {
		before  func(http.ResponseWriter, *http.Request) bool
		reason  string
		passing bool
		parts   []string
	}{
		"not found": {answer(404, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"secret text"}]}`), v1alpha1.ReasonImageLabelsUnreadable, true, []string{"404 Not Found; ", "was pushed"}},
		"refused":   {answer(403, "secret text"), v1alpha1.ReasonImageLabelsUnreadable, true, []string{"403 Forbidden", "subjectImages.secret"}},
		"busy":      {answer(429, `{"errors":[{"code":"secret text"}]}`), v1alpha1.ReasonImageLabelsUnreadable, true, []string{"429"}},
		"broken":    {answer(500, ""), v1alpha1.ReasonImageLabelsUnreadable, true, []string{"500"}},
		"a token service that is none": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				_, _ = io.WriteString(w, `{"secret text":1}`)
				return true
			}
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="https://%s/token"`, r.Host))
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}, v1alpha1.ReasonImageLabelsUnreadable, true, []string{"that can be read"}},
		"no registry": {func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.WriteString(w, "secret text")
			return true
		}, v1alpha1.ReasonImageLabelsUnreadable, true, []string{"that can be read"}},
		"too much": {func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			for line := []byte(strings.Repeat(" ", 64<<10)); r.Context().Err() == nil; {
				if _, err := w.Write(line); err != nil {
					break
				}
			}
			return true
		}, v1alpha1.ReasonImageLabelsInvalid, false, []string{"sends more"}},
		"a circle of redirects": {func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
			return true
		}, v1alpha1.ReasonImageLabelsInvalid, false, []string{"sends more"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := newImages(t, httptest.NewTLSServer)
			named, _ := i.push(image(t, goodLabels()))
			i.before = test.before
			_, err := read(t, i.reader(i.host), named)
			expect(t, err, test.reason, test.passing, test.parts...)
			if strings.Contains(err.Error(), "secret text") || strings.Contains(err.Error(), "MANIFEST_UNKNOWN") {
				t.Errorf("the answer is shown: %v", err)
			}
			if n := i.requests.Load(); n > maxRequests {
				t.Errorf("%d requests", n)
			}
		})
	}
	t.Run("large labels", func(t *testing.T) {
		i := newImages(t, httptest.NewTLSServer)
		labels := goodLabels()
		labels["other"] = strings.Repeat("x", maxBytes)
		named, _ := i.push(image(t, labels))
		_, err := read(t, i.reader(i.host), named)
		expect(t, err, v1alpha1.ReasonImageLabelsInvalid, false, "sends more")
	})
	t.Run("away", func(t *testing.T) {
		i := newImages(t, httptest.NewTLSServer)
		named, _ := i.push(image(t, goodLabels()))
		r := i.reader(i.host)
		i.Close()
		_, err := read(t, r, named)
		expect(t, err, v1alpha1.ReasonImageLabelsUnreadable, true, "check that the registry answers")
	})
	t.Run("no name of an image", func(t *testing.T) {
		i := newImages(t, httptest.NewTLSServer)
		_, err := read(t, i.reader(i.host), i.host+"/UPPER CASE")
		expect(t, err, v1alpha1.ReasonInvalidExperiment, false, "containerDisk")
	})
}

// TestReadIsBounded checks that a registry that does not answer is given up, and that it delays no image of another one, unless as many do not answer
// as may be asked.
func TestReadIsBounded(t *testing.T) {
	done := make(chan bool)
	defer close(done)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, AtOnce)
	var hosts, names []string
	for range AtOnce {
		i := newImages(t, httptest.NewTLSServer)
		named, _ := i.push(image(t, goodLabels()))
		i.before = func(_ http.ResponseWriter, r *http.Request) bool {
			select {
			case <-r.Context().Done():
			case <-done:
			}
			return true
		}
		hosts, names = append(hosts, i.host), append(names, named)
	}
	other := newImages(t, httptest.NewTLSServer)
	named, _ := other.push(image(t, goodLabels()))
	r := other.reader(append(hosts, other.host)...)
	for i, slow := range names {
		if _, err := read(t, r, named); err != nil {
			t.Errorf("while %d registries do not answer: %v", i, err)
		}
		go func() {
			_, err := r.Read(ctx, slow, &v1alpha1.Subject{})
			ended <- err
		}()
		for asked := 0; asked <= i; time.Sleep(time.Millisecond) {
			r.mutex.Lock()
			asked = len(r.asked)
			r.mutex.Unlock()
		}
		if _, err := r.Read(ctx, slow, &v1alpha1.Subject{}); !errors.Is(err, ErrBusy) {
			t.Errorf("another image of registry %d: %v", i, err)
		}
	}
	if _, err := r.Read(ctx, named, &v1alpha1.Subject{}); !errors.Is(err, ErrBusy) {
		t.Errorf("one more registry: %v", err)
	}
	cancel()
	for range AtOnce {
		expect(t, <-ended, v1alpha1.ReasonImageLabelsUnreadable, true)
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := r.Read(soon, names[0], &v1alpha1.Subject{})
	expect(t, err, v1alpha1.ReasonImageLabelsUnreadable, true, "no answer within")
	if _, err := read(t, r, named); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestMemoryOfHostileAnswers checks that a configuration and a manifest whose short items become large ones take a small share of the manager's memory.
func TestMemoryOfHostileAnswers(t *testing.T) {
	items := strings.Repeat("{},", maxBytes/3-1000) + "{}"
	for name, test := range map[string]struct {
		kind, body, reason string
		passing            bool
	}{
		"layers":    {"image.manifest", `{"schemaVersion":2,"layers":[` + items + `]}`, v1alpha1.ReasonImageLabelsUnreadable, true},
		"manifests": {"image.index", `{"schemaVersion":2,"manifests":[` + items + `]}`, v1alpha1.ReasonImageLabelsInvalid, false},
	} {
		t.Run(name, func(t *testing.T) {
			i := newImages(t, httptest.NewTLSServer)
			named, _ := i.push(image(t, goodLabels()))
			i.before = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/manifests/") {
					return false
				}
				w.Header().Set("Content-Type", "application/vnd.oci."+test.kind+".v1+json")
				_, _ = io.WriteString(w, test.body)
				return true
			}
			expectMemory(t, 32<<20, func() {
				_, err := read(t, i.reader(i.host), named)
				expect(t, err, test.reason, test.passing)
			})
		})
	}
	t.Run("history", func(t *testing.T) {
		i := newImages(t, httptest.NewTLSServer)
		named := i.host + "/team/vyos:1.5"
		config := `{"config":{"Labels":{"` + labelTitle + `":"vyos","` + labelRevision + `":"one"}},"history":[` + items[9000:] + `]}`
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(config)))
		i.before = func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case strings.Contains(r.URL.Path, "/manifests/"):
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":%d,"digest":%q},"layers":[]}`, len(config), digest)
			case strings.Contains(r.URL.Path, "/blobs/"):
				_, _ = io.WriteString(w, config)
			default:
				return false
			}
			return true
		}
		expectMemory(t, 8<<20, func() {
			got, err := read(t, i.reader(i.host), named)
			if err != nil || got.Revision != "one" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	})
}

// expectMemory checks how much the heap grows at most meanwhile. Garbage counts until the collector, which a busy machine delays, takes it: this takes the least
// of three.
func expectMemory(t *testing.T, most uint64, do func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	least := uint64(math.MaxUint64)
	for range 3 {
		if least = min(least, heapGrowth(do)); least <= most {
			return
		}
	}
	t.Errorf("the heap grows by %d bytes, want at most %d", least, most)
}

// heapGrowth returns by how many bytes the heap grows at most meanwhile.
func heapGrowth(do func()) uint64 {
	inUse := func() uint64 {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return now.HeapInuse
	}
	runtime.GC()
	before := inUse()
	peak := before
	done, watched := make(chan bool), make(chan bool)
	go func() {
		defer close(watched)
		for {
			select {
			case <-done:
				return
			default:
				peak = max(peak, inUse())
			}
		}
	}()
	do()
	close(done)
	<-watched
	return peak - before
}

// TestMessagesStay checks that a state has the same text each time: another text would be another status, which leads to another request at once.
func TestMessagesStay(t *testing.T) {
	i := newImages(t, httptest.NewTLSServer)
	named, _ := i.push(image(t, goodLabels()))
	i.before = func(w http.ResponseWriter, _ *http.Request) bool {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return true
		}
		if err := connection.(*tls.Conn).NetConn().(*net.TCPConn).SetLinger(0); err != nil {
			t.Error(err)
		}
		if err := connection.(*tls.Conn).NetConn().Close(); err != nil {
			t.Error(err)
		}
		return true
	}
	r := i.reader(i.host)
	_, first := read(t, r, named)
	_, second := read(t, r, named)
	expect(t, first, v1alpha1.ReasonImageLabelsUnreadable, true, "connection reset by peer")
	if first.Error() != second.Error() {
		t.Errorf("%q, then %q", first, second)
	}
	for name, test := range map[string]struct {
		err         error
		why, remedy string
	}{
		"expired":      {x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time is now"}, "has expired", "another certificate"},
		"another host": {x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"secret text"}}, Host: "h"}, "for another host", "another certificate"},
		"not trusted":  {x509.UnknownAuthorityError{}, "does not trust", "ca.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			why, remedy := whyOf(fmt.Errorf("get: %w", &tls.CertificateVerificationError{Err: test.err}))
			if !strings.Contains(why, test.why) || !strings.Contains(remedy, test.remedy) {
				t.Errorf("%q, %q", why, remedy)
			}
		})
	}
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "registry.example", Server: "192.0.2.53:53"}}
	if why, _ := whyOf(unknown); why != "the name of the registry cannot be resolved" {
		t.Error(why)
	}
}

// TestCredentials checks that the operator's own credentials are used for their registry alone, and that a file that cannot be read is not shown.
func TestCredentials(t *testing.T) {
	i := newImages(t, httptest.NewTLSServer)
	named, _ := i.push(image(t, goodLabels()))
	i.before = func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user == "operator" && password == "s3cret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	auth := base64.StdEncoding.EncodeToString([]byte("operator:s3cret"))
	for name, test := range map[string]struct {
		config string
		fails  bool
		part   string
	}{
		"of this registry":       {fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, i.host, auth), false, ""},
		"with a scheme":          {fmt.Sprintf(`{"auths":{"https://%s/v1/":{"username":"operator","password":"s3cret"}}}`, i.host), false, ""},
		"of another registry":    {fmt.Sprintf(`{"auths":{"registry.example":{"auth":%q}}}`, auth), true, "401"},
		"none":                   {`{}`, true, "401"},
		"of a helper program":    {fmt.Sprintf(`{"credHelpers":{%q:"s3cret"}}`, i.host), true, "401"},
		"of a part of it":        {fmt.Sprintf(`{"auths":{"%s/team":{"auth":%q}}}`, i.host, auth), true, "name the host alone"},
		"no JSON":                {"s3cret", true, "kubectl create secret docker-registry"},
		"an auth that is no one": {fmt.Sprintf(`{"auths":{%q:{"auth":"s3cret"}}}`, i.host), true, "kubectl create secret docker-registry"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(registriesOf(t, i.host), i.folder(map[string]string{credentialsFile: test.config}))
			_, err := read(t, r, named)
			if !test.fails {
				if err != nil {
					t.Error(err)
				}
				return
			}
			expect(t, err, v1alpha1.ReasonImageLabelsUnreadable, true, test.part)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("a secret is shown: %v", err)
			}
		})
	}
	t.Run("no certificate", func(t *testing.T) {
		folder := i.folder(map[string]string{})
		if err := os.WriteFile(filepath.Join(folder, certificatesFile), []byte("none"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := read(t, NewReader(registriesOf(t, i.host), folder), named)
		expect(t, err, v1alpha1.ReasonImageLabelsUnreadable, true, "ca.crt")
	})
}

// TestParseRegistries checks which texts name a registry, and in what form.
func TestParseRegistries(t *testing.T) {
	got := registriesOf(t, "registry.example", "Registry.Example:5000", "http://plain.example:5000", "http://plain.example", "docker.io", "[::1]:5000", "plain.example:5000")
	for host, want := range map[string]access{
		"registry.example:443": onlyHTTPS, "registry.example:5000": onlyHTTPS, "plain.example:5000": plainHTTP, "plain.example:80": plainHTTP, "plain.example:443": plainHTTP,
		"index.docker.io:443": onlyHTTPS, "[::1]:5000": onlyHTTPS,
	} {
		if how, known := got[host]; !known || how != want {
			t.Errorf("%s: %v, %t", host, how, known)
		}
	}
	if len(got) != 7 {
		t.Errorf("%v", got)
	}
	for _, host := range []string{"REGISTRY.example", "registry.example.", "registry.example:443"} {
		if _, allowed := got.of(host, "https"); !allowed {
			t.Errorf("%s is not allowed", host)
		}
	}
	for _, host := range []string{"registry.example:444", "a.registry.example", "xregistry.example", ""} {
		if _, allowed := got.of(host, "https"); allowed {
			t.Errorf("%s is allowed", host)
		}
	}
	for _, text := range []string{"", "https://registry.example", "registry.example/team", "*.example", "user@registry.example", "http://", "registry.example?x", "a b", ":5000"} {
		if _, err := ParseRegistries([]string{text}); err == nil {
			t.Errorf("%q is taken for a registry", text)
		}
	}
}
