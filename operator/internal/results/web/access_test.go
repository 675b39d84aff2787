package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/testing/resultstest"
)

// TestTenants checks that a viewer of one namespace finds nothing of another one in any page, list, count, search, feed, badge, comparison or
// error, and cannot know whether something is there.
func TestTenants(t *testing.T) {
	s := newSite(t, lab(t), viewers{"lab": {"lab"}, "none": {}})
	secretRun := "secret/" + resultstest.Run(t, "secret", "secret-router", 48).Run.UID
	labRun := "lab/" + resultstest.Run(t, "lab", "lab-router", 48).Run.UID
	secretSeries := "secret/" + index.SeriesDigest(series.Key{Namespace: "secret", Experiment: experimentOf(t, "secret"), Testbed: "secret-bed", Figure: resultstest.Figure})
	s.crawl(t, "lab", func(address string, w *httptest.ResponseRecorder) {
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s (%d) has something of another namespace: %s", address, w.Code, cut(w.Body.String(), 2000))
		}
	})
	for address, want := range map[string]string{
		"/api/v1/runs": `"total": 3`, "/api/v1/executions": `"total": 2`, "/api/v1/series?limit=200": `"total": `, "/api/v1/damaged": `"total": 1`, "/api/v1/suites": `"executions": 2`,
		"/api/v1/search?q=lab-router": `"total": 1`, "/api/v1/regressions": `"namespace": "lab"`, "/api/v1/runs?namespace=secret": `"total": 0`, "/api/v1/runs?q=secret-router": `"total": 0`,
		"/api/v1/runs?testbed=secret-bed": `"total": 0`, "/api/v1/damaged?namespace=secret": `"total": 0`, "/api/v1/regressions?namespace=secret": `"items": []`, "/api/v1/suites?namespace=secret": `"items": []`,
	} {
		w := s.get(t, address, "lab")
		body := strings.ReplaceAll(w.Body.String(), "secret-router", "")
		if w.Code != http.StatusOK || !strings.Contains(body, want) || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %s, want %s", address, w.Code, cut(body, 300), want)
		}
	}
	for is, isNot := range map[string]string{
		"/runs/" + secretRun: "/runs/secret/none", "/suites/secret/nightly": "/suites/secret/none", "/series/" + secretSeries: "/series/secret/none",
		"/api/v1/runs/" + secretRun: "/api/v1/runs/secret/none", "/api/v1/runs/" + secretRun + "/document": "/api/v1/runs/secret/none/document",
		"/api/v1/executions/secret/uid-nightly-1secret":          "/api/v1/executions/secret/none",
		"/api/v1/executions/secret/uid-nightly-1secret/document": "/api/v1/executions/secret/none/document",
		"/badges/experiment/secret/nightly.base.svg":             "/badges/experiment/secret/none.svg",
		// The right namespace in the path is no way to a series of another one.
		"/series/lab/" + strings.TrimPrefix(secretSeries, "secret/"): "/series/lab/none",
	} {
		first, second := s.get(t, is, "lab"), s.get(t, isNot, "lab")
		shown := strings.NewReplacer("nightly.base", "none", "nightly", "none").Replace(first.Body.String())
		if first.Code != http.StatusNotFound || second.Code != http.StatusNotFound || strings.HasPrefix(is, "/badges/") == (shown == second.Body.String()) && !strings.HasPrefix(is, "/badges/") {
			t.Errorf("%s: %d, and %s: %d; they differ: %s", is, first.Code, isNot, second.Code, cut(first.Body.String(), 300))
		}
	}
	for _, address := range []string{"/compare?run=" + labRun + "&run=" + secretRun, "/compare?run=" + labRun + "&run=" + strings.TrimPrefix(secretRun, "secret/"), "/api/v1/compare?run=" + secretRun + "&run=" + labRun} {
		if w := s.get(t, address, "lab"); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", address, w.Code)
		}
	}
	for _, token := range []string{"", "unknown"} {
		for _, address := range []string{"/", "/api/v1/runs", "/feed.atom", "/badges/suite/lab/nightly.svg", "/api/v1/status"} {
			if w := s.get(t, address, token); w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" || strings.Contains(w.Body.String(), "nightly") {
				t.Errorf("token %q, %s: %d %s", token, address, w.Code, w.Body)
			}
		}
	}
	for _, address := range []string{"/healthz", "/readyz"} {
		if w := s.get(t, address, ""); w.Code != http.StatusOK || w.Body.String() != "ok\n" {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
	}
	if w := s.get(t, "/api/v1/runs", "none"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"total": 0`) {
		t.Errorf("who may get nothing: %d %s", w.Code, w.Body)
	}
}

// apiServer answers reviews of tokens and of rights.
type apiServer struct {
	mu sync.Mutex
	// tokens are the audiences of known tokens; their users have the same names.
	tokens map[string][]string
	// rights are the namespaces of users.
	rights                map[string][]string
	tokenReviews, reviews int
	asked                 []authorizationv1.SubjectAccessReviewSpec
	isAway                bool
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.isAway {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		a.tokenReviews++
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		audiences, isKnown := a.tokens[review.Spec.Token]
		isFor := len(review.Spec.Audiences) == 0 || slices.ContainsFunc(review.Spec.Audiences, func(audience string) bool { return slices.Contains(audiences, audience) })
		if review.Status.Authenticated = isKnown && isFor; review.Status.Authenticated {
			review.Status.User, review.Status.Audiences = authenticationv1.UserInfo{Username: review.Spec.Token}, review.Spec.Audiences
		}
		_ = json.NewEncoder(w).Encode(review)
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		a.reviews++
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.asked = append(a.asked, review.Spec)
		review.Status.Allowed = slices.Contains(a.rights[review.Spec.User], review.Spec.ResourceAttributes.Namespace)
		_ = json.NewEncoder(w).Encode(review)
	default:
		http.NotFound(w, r)
	}
}

func (a *apiServer) start(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// TestCluster checks that the cluster says who a token is of and what they may get, that its answers are kept for a while, and that a cluster
// which does not answer lets no one in.
func TestCluster(t *testing.T) {
	api := &apiServer{tokens: map[string][]string{"alice": nil, "root": nil}, rights: map[string][]string{"alice": {"lab"}, "root": {"", "lab", "secret"}}}
	access, err := NewCluster(api.start(t), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, lab(t), access)
	for range 3 {
		if w := s.get(t, "/api/v1/runs", "alice"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"total": 3`) || strings.Contains(w.Body.String(), "secret") {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if api.tokenReviews != 1 || api.reviews != 3 {
		t.Errorf("three pages took %d reviews of tokens and %d of rights, want one and one for each namespace and for all", api.tokenReviews, api.reviews)
	}
	for _, spec := range api.asked {
		if a := spec.ResourceAttributes; spec.User != "alice" || a.Verb != "get" || a.Group != "vnfbench.io" || a.Resource != "benchmarkruns" || spec.NonResourceAttributes != nil {
			t.Errorf("it asked for %+v", spec)
		}
	}
	if w := s.get(t, "/api/v1/runs", "root"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"total": 6`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if api.reviews != 4 {
		t.Errorf("who may get all runs took %d reviews", api.reviews-3)
	}
	for _, token := range []string{"", "mallory"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/runs", nil)
		// Headers of a proxy count only with the proxy's certificate.
		r.Header.Set("X-Remote-User", "root")
		r.Header.Set("X-Forwarded-User", "root")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("token %q: %d", token, w.Code)
		}
	}
	api.mu.Lock()
	api.isAway = true
	api.tokens["late"], api.rights["late"] = nil, []string{"lab"}
	api.mu.Unlock()
	if w := s.get(t, "/api/v1/runs", "late"); w.Code != http.StatusInternalServerError {
		t.Errorf("without an answer of the cluster: %d %s", w.Code, w.Body)
	}
}

// TestAudience checks that a token for something else is refused where an audience is asked for.
func TestAudience(t *testing.T) {
	api := &apiServer{tokens: map[string][]string{"api": {"https://kubernetes"}, "results": {"vnfbench.io/results"}}, rights: map[string][]string{"api": {""}, "results": {""}}}
	access, err := NewCluster(api.start(t), []string{"vnfbench.io/results"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, lab(t), access)
	if w := s.get(t, "/", "api"); w.Code != http.StatusUnauthorized {
		t.Errorf("a token for the API server: %d", w.Code)
	}
	if w := s.get(t, "/", "results"); w.Code != http.StatusOK {
		t.Errorf("a token for the results: %d", w.Code)
	}
}

// certified returns a certificate with a common name, signed by another one or by itself.
func certified(t *testing.T, name string, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: parent == nil, BasicConstraintsValid: true,
	}
	issuer, signer := template, any(key)
	if parent != nil {
		issuer, signer = parent.Leaf, parent.PrivateKey
	}
	text, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(text)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key, Leaf: leaf}
}

// TestProxy checks that headers name a user only on a connection with the client certificate of the proxy.
func TestProxy(t *testing.T) {
	api := &apiServer{rights: map[string][]string{"alice": {"lab"}}}
	authority, other := certified(t, "authority", nil), certified(t, "other", nil)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	access, err := NewCluster(api.start(t), nil, &Proxy{Authorities: file, Names: []string{"proxy"}, UserHeaders: []string{"X-Forwarded-User"}, GroupHeaders: []string{"X-Forwarded-Groups"}})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, lab(t), access)
	for name, at := range map[string]struct {
		certificate *tls.Certificate
		want        int
	}{
		"no certificate": {nil, http.StatusUnauthorized}, "the proxy's": {certified(t, "proxy", authority), http.StatusOK},
		"another name": {certified(t, "else", authority), http.StatusUnauthorized}, "another authority": {certified(t, "proxy", other), http.StatusUnauthorized},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/runs", nil)
		r.Header.Set("X-Forwarded-User", "alice")
		r.TLS = &tls.ConnectionState{}
		if at.certificate != nil {
			r.TLS.PeerCertificates = []*x509.Certificate{at.certificate.Leaf}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != at.want || at.want == http.StatusOK && !strings.Contains(w.Body.String(), `"total": 3`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if _, err := NewCluster(api.start(t), nil, &Proxy{Authorities: file, UserHeaders: []string{"X-Forwarded-User"}}); err == nil {
		t.Error("a proxy without the name of its certificate is accepted: then every certificate of the authority would do")
	}
}
