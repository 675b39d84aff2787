package pki_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
