package pki_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"vnfbench.io/test/lab/internal/pki"
)

func issue(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pki")
	if err := pki.Ensure(dir, pki.Cluster{
		NodeName: "n", ServerNames: []string{"10.96.0.1"}, ServerURL: "https://127.0.0.1:6443",
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCertificatesVerify(t *testing.T) {
	dir := issue(t)
	client, server := x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth
	tests := map[string]struct {
		authority, dnsName, organization string
		usage                            x509.ExtKeyUsage
	}{
		"apiserver":                {"ca", "kubernetes.default.svc", "", server},
		"apiserver-kubelet-client": {"ca", "", "system:masters", client},
		"admin":                    {"ca", "", "system:masters", client},
		"kubelet":                  {"ca", "", "system:nodes", client},
		"front-proxy-client":       {"front-proxy-ca", "", "", client},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			roots := x509.NewCertPool()
			roots.AddCert(read(t, dir, test.authority))
			certificate := read(t, dir, name)
			_, err := certificate.Verify(x509.VerifyOptions{
				Roots: roots, DNSName: test.dnsName, KeyUsages: []x509.ExtKeyUsage{test.usage},
			})
			if err != nil {
				t.Error(err)
			}
			if test.organization != "" && !slices.Contains(certificate.Subject.Organization, test.organization) {
				t.Errorf("it is of %q", certificate.Subject.Organization)
			}
			if _, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestServerHasItsAddresses(t *testing.T) {
	certificate := read(t, issue(t), "apiserver")
	for _, name := range []string{"127.0.0.1", "10.96.0.1", "localhost", "n"} {
		if err := certificate.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
}

func TestEnsureKeepsWhatIsThere(t *testing.T) {
	dir := issue(t)
	before := read(t, dir, "ca")
	if err := pki.Ensure(dir, pki.Cluster{NodeName: "other"}); err != nil {
		t.Fatal(err)
	}
	if !before.Equal(read(t, dir, "ca")) {
		t.Error("the authority changed")
	}
}

func TestWorkerIsOfTheSameAuthority(t *testing.T) {
	clusterDir := issue(t)
	dir := filepath.Join(t.TempDir(), "pki")
	worker := pki.Worker{NodeName: "n2", ServerURL: "https://172.30.0.2:6443"}
	if err := pki.EnsureWorker(dir, clusterDir, worker); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(read(t, clusterDir, "ca"))
	kubelet := read(t, dir, "kubelet")
	if _, err := kubelet.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if got := kubelet.Subject.CommonName; got != "system:node:n2" {
		t.Errorf("the kubelet's name is %q", got)
	}
	want := []string{
		"ca.crt", "kube-proxy.crt", "kube-proxy.key", "kube-proxy.kubeconfig", "kubelet.crt", "kubelet.key", "kubelet.kubeconfig",
		"multus.crt", "multus.key", "multus.kubeconfig",
	}
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("unexpected files (-want +got):\n%s", diff)
	}
	for _, name := range []string{"kube-proxy", "kubelet", "multus"} {
		data, err := os.ReadFile(filepath.Join(dir, name+".kubeconfig"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), "server: "+worker.ServerURL+"\n") {
			t.Errorf("the kubeconfig of %s does not lead to %s", name, worker.ServerURL)
		}
	}
	if err := pki.EnsureWorker(dir, clusterDir, pki.Worker{NodeName: "other"}); err != nil {
		t.Fatal(err)
	}
	if !kubelet.Equal(read(t, dir, "kubelet")) {
		t.Error("a second time replaced what is there")
	}
}

func TestWorkerNeedsAnAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	if err := pki.EnsureWorker(dir, t.TempDir(), pki.Worker{NodeName: "n2"}); err == nil {
		t.Error("it was certified without an authority")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestKubeconfig(t *testing.T) {
	dir := issue(t)
	data, err := pki.Kubeconfig(dir, "admin", "https://127.0.0.1:16443")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server    string `json:"server"`
				Authority []byte `json:"certificate-authority-data"`
			}
		}
		CurrentContext string `json:"current-context"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Clusters[0].Cluster; got.Server != "https://127.0.0.1:16443" || !bytes.Equal(got.Authority, authority) {
		t.Errorf("unexpected cluster %+v", got)
	}
	if config.CurrentContext == "" {
		t.Error("no context is chosen")
	}
}

func read(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
