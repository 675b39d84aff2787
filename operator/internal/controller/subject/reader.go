// Package subject reads from the OCI labels of an image what a suite tests.
//
// A tenant names the image, so each request goes through a guard (guard.go), which lets only those pass that the administrator
// allows, and bounds what is read. What the labels say is checked like a subject that is given (labels.go).
package subject

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	// The manager's image has no certificates of public authorities.
	_ "golang.org/x/crypto/x509roots/fallback"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// Bounds of reading the labels of an image.
const (
	// timeout bounds all requests for one image.
	timeout = 10 * time.Second
	// maxBytes bounds all answers for one image. A manifest and a configuration of a disk have some KB each. What the library makes of a manifest takes up to
	// a hundred times its bytes, and the manager has 256 MiB by default.
	maxBytes = 128 << 10
	// maxRequests bounds the requests for one image: the registry's version, a token, an index, a manifest and the configuration, with
	// redirects.
	maxRequests = 20
	// maxHeaderBytes bounds the header of an answer.
	maxHeaderBytes = 64 << 10
	// AtOnce is how many images are read at the same time, each of another registry. A controller that reads labels needs so many workers more.
	AtOnce = 4
)

// ErrBusy is returned while an image of the same registry is being read, or as many images as may be.
var ErrBusy = errors.New("the operator is reading the labels of other images")

// Reader reads the labels of images.
type Reader struct {
	allowed Registries
	folder  string

	mutex sync.Mutex
	// asked are the registries that are asked now. A registry that does not answer delays no one else's images.
	asked map[string]bool
}

// NewReader returns a reader of images of the registries. folder has the operator's credentials and certificates, both of which may be absent; "" for
// neither.
func NewReader(allowed Registries, folder string) *Reader {
	return &Reader{allowed: allowed, folder: folder, asked: map[string]bool{}}
}

// begin notes that a registry is asked, and reports whether it may be asked now.
func (r *Reader) begin(host string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.asked[host] || len(r.asked) == AtOnce {
		return false
	}
	r.asked[host] = true
	return true
}

func (r *Reader) end(host string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.asked, host)
}

// Check returns a *measure.Failure if the labels of an image may not be read.
func (r *Reader) Check(image string) error {
	_, err := r.reference(image)
	return err
}

// reference returns an image as a reference to its registry.
func (r *Reader) reference(image string) (name.Reference, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return nil, measure.Failf(v1alpha1.ReasonInvalidExperiment, "write it as REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST", "custom.containerDisk is no image: %w", err)
	}
	host := ref.Context().RegistryStr()
	access, allowed := r.allowed.of(host, "https")
	switch {
	case !allowed:
		return nil, measure.Failf(v1alpha1.ReasonRegistryNotAllowed, "ask the administrator to add it to subjectImages.registries of the chart, or "+giveFields, "%w", &refusedHost{host})
	case access == plainHTTP:
		return name.ParseReference(image, name.Insecure)
	}
	return ref, nil
}

// Read returns the subject of an image: what is given, and for the rest what its labels say. Its error is ErrBusy or a *measure.Failure.
func (r *Reader) Read(ctx context.Context, image string, given *v1alpha1.Subject) (*v1alpha1.Subject, error) {
	ref, err := r.reference(image)
	if err != nil {
		return nil, err
	}
	host := address(ref.Context().RegistryStr(), "https")
	if !r.begin(host) {
		return nil, ErrBusy
	}
	defer r.end(host)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	base, err := r.transport()
	if err != nil {
		return nil, wrongSettings(image, err)
	}
	defer base.CloseIdleConnections()
	own, err := credentialsIn(r.folder)
	if err != nil {
		return nil, wrongSettings(image, err)
	}
	labels, digest, err := labelsOf(ctx, ref, newGuard(base, r.allowed), own)
	if err != nil {
		var refused *refusedHost
		if errors.As(err, &refused) {
			logr.FromContextOrDiscard(ctx).Info("Not reading from a host to which a registry leads", "image", image, "host", refused.host)
		}
		return nil, failureOf(image, err)
	}
	return fromLabels(labels, given, ref.Context().Digest(digest).Name())
}

// labelsOf asks the registry for the labels of an image and for its digest.
func labelsOf(ctx context.Context, ref name.Reference, through http.RoundTripper, own credentials) (map[string]string, string, error) {
	// The library's own retries would hold a worker.
	once := remote.Backoff{Duration: time.Millisecond, Steps: 1}
	found, err := remote.Get(ref, remote.WithContext(ctx), remote.WithTransport(through), remote.WithAuthFromKeychain(own),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}), remote.WithRetryBackoff(once), remote.WithUserAgent("vnfbench"))
	if err != nil {
		return nil, "", err
	}
	image, err := found.Image()
	if err != nil {
		return nil, "", err
	}
	text, err := image.RawConfigFile()
	if err != nil {
		return nil, "", err
	}
	// The rest of the configuration, which no registry checks, would take far more memory than its text.
	var configuration struct {
		Config struct{ Labels map[string]string } `json:"config"`
	}
	if err := json.Unmarshal(text, &configuration); err != nil {
		return nil, "", err
	}
	return configuration.Config.Labels, found.Digest.String(), nil
}

// transport returns one that trusts the authorities of the folder in addition to the public ones.
func (r *Reader) transport() (*http.Transport, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxResponseHeaderBytes, base.ResponseHeaderTimeout = maxHeaderBytes, timeout
	authorities, err := readIn(r.folder, certificatesFile)
	if err != nil || authorities == nil {
		return base, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the system's certificates: %w", err)
	}
	if !pool.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("%s of the operator's registry settings has no certificate: write certificates in PEM", certificatesFile)
	}
	base.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return base, nil
}

// Files of the folder with the operator's own settings, as the keys of a Secret.
const (
	credentialsFile  = ".dockerconfigjson"
	certificatesFile = "ca.crt"
)

// maxFileBytes bounds what is read of the folder, as much as a Secret can have.
const maxFileBytes = 1 << 20

// readIn returns a file of the folder, or nil without it.
func readIn(folder, file string) ([]byte, error) {
	if folder == "" {
		return nil, nil
	}
	path := filepath.Join(folder, file)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the operator's registry settings: %w", err)
	case info.Size() > maxFileBytes:
		return nil, fmt.Errorf("%s of the operator's registry settings has %d bytes, and %d is the most", file, info.Size(), maxFileBytes)
	}
	return os.ReadFile(path)
}

// giveFields is the remedy where the labels of an image cannot be the subject.
const giveFields = "give the fields of spec.template.subject, and leave fromImage out"

// wrongSettings says why the settings of the operator cannot be used.
func wrongSettings(image string, err error) *measure.Failure {
	return &measure.Failure{Reason: v1alpha1.ReasonImageLabelsUnreadable, Passing: true, Remedy: "ask the administrator to correct subjectImages.secret of the chart",
		Err: fmt.Errorf("the labels of image %q cannot be read: %w", image, err)}
}

// failureOf says why the labels of an image cannot be read. It has nothing of what a registry answers except for its status: another text each time
// would be another status of the suite, which leads to another request at once.
func failureOf(image string, err error) *measure.Failure {
	var refused *refusedHost
	switch {
	case errors.As(err, &refused):
		return measure.Failf(v1alpha1.ReasonRegistryNotAllowed, "ask the administrator to add the host, which the log of the operator names, to subjectImages.registries of the chart, or "+giveFields,
			"the labels of image %q cannot be read: its registry redirects, or sends for a token, to a host from which the operator may not read", image)
	case errors.Is(err, errTooMuch):
		return measure.Failf(v1alpha1.ReasonImageLabelsInvalid, giveFields, "image %q: %w", image, errTooMuch)
	}
	why, remedy := whyOf(err)
	return &measure.Failure{Reason: v1alpha1.ReasonImageLabelsUnreadable, Remedy: remedy, Passing: true, Err: fmt.Errorf("the labels of image %q cannot be read: %s", image, why)}
}

// whyOf describes an error, and says what to do about it. It has no address, port or time, so that the same state has the same text: another one would
// be stored, and each change of a status leads to another request. Errors of the library quote what a host sends, which may be no registry.
func whyOf(err error) (why, remedy string) {
	var answer *transport.Error
	var certificate *tls.CertificateVerificationError
	var connection *net.OpError
	const unreachable = "check that the registry answers, and that the manager's NetworkPolicy (subjectImages.ports and addresses of the chart) lets it through"
	switch {
	case errors.As(err, &answer):
		return "the registry answers " + statusOf(answer.StatusCode), remedyOf(answer.StatusCode)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", timeout), unreachable
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the registry has plain HTTP, and not HTTPS", "ask the administrator for an entry http://HOST in subjectImages.registries of the chart"
	case errors.As(err, &certificate):
		return whyNotTrusted(certificate)
	case errors.As(err, &connection):
		return whyNotConnected(connection), unreachable
	}
	return fmt.Sprintf("the answers of the registry have no image for linux/%s that can be read", runtime.GOARCH), "check the name and the tag"
}

func whyNotTrusted(err *tls.CertificateVerificationError) (why, remedy string) {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	const another = "ask the administrator of the registry for another certificate"
	switch {
	case errors.As(err, &host):
		return "the registry's certificate is for another host", another
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the registry's certificate has expired, or is not valid yet", another
	}
	return "the operator does not trust the registry's certificate", "ask the administrator for ca.crt in subjectImages.secret of the chart"
}

func whyNotConnected(err *net.OpError) string {
	var resolver *net.DNSError
	var number syscall.Errno
	switch {
	case errors.As(err, &resolver):
		return "the name of the registry cannot be resolved"
	case errors.As(err, &number):
		return number.Error()
	}
	return "the connection to the registry breaks"
}

// statusOf returns a status of HTTP in words.
func statusOf(status int) string {
	return strings.TrimSpace(fmt.Sprint(status, " ", http.StatusText(status)))
}

func remedyOf(status int) string {
	switch status {
	case http.StatusNotFound:
		return "check the name and the tag, and that the image was pushed"
	case http.StatusUnauthorized, http.StatusForbidden:
		return "check the name; an image that is not public needs credentials in subjectImages.secret of the chart"
	}
	return "look at the registry"
}
