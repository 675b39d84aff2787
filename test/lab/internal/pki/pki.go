// Package pki issues the certificates of the lab's cluster. The names and addresses of nodes go in;
// a directory of certificates and keys for each, laid out as kubeadm does, comes out.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime outlasts any lab: its state ends with the machine's next boot.
const lifetime = 10 * 365 * 24 * time.Hour

// certificate is an issued certificate and its key.
type certificate struct {
	parsed  *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
	keyPEM  []byte
}

// request says what to certify.
type request struct {
	commonName    string
	organizations []string
	// names are DNS names and IP addresses; they make it a server's.
	names []string
	// authority makes it one that issues others.
	authority bool
}

// issue signs a new certificate; a nil issuer means that it signs itself.
func issue(r request, issuer *certificate) (*certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of %q: %w", r.commonName, err)
	}
	template, err := r.template()
	if err != nil {
		return nil, err
	}
	parent, signer := template, key
	if issuer != nil {
		parent, signer = issuer.parsed, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("certifying %q: %w", r.commonName, err)
	}
	return encode(der, key)
}

func (r request) template() (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: r.commonName, Organization: r.organizations},
		NotBefore:    now.Add(-24 * time.Hour), // clocks differ
		NotAfter:     now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if r.authority {
		t.IsCA, t.BasicConstraintsValid, t.ExtKeyUsage = true, true, nil
		t.KeyUsage |= x509.KeyUsageCertSign
	}
	if len(r.names) > 0 {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	for _, name := range r.names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	return t, nil
}

func encode(der []byte, key *ecdsa.PrivateKey) (*certificate, error) {
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return &certificate{
		parsed:  parsed,
		key:     key,
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}

// load reads a certificate and its key, which save wrote.
func load(dir, name string) (*certificate, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	if err != nil {
		return nil, fmt.Errorf("reading the certificate %s: %w", name, err)
	}
	key, isECDSA := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !isECDSA {
		return nil, fmt.Errorf("reading the certificate %s: its key is a %T", name, pair.PrivateKey)
	}
	return encode(pair.Leaf.Raw, key)
}

func (c *certificate) save(dir, name string) error {
	if err := writeFile(dir, name+".key", c.keyPEM); err != nil {
		return err
	}
	return writeFile(dir, name+".crt", c.certPEM)
}

func writeFile(dir, name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
