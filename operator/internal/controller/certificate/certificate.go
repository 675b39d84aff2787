package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Keys of the Secret. Who verifies the certificate needs the first.
const (
	KeyAuthority        = "ca.crt"
	keyAuthorityPrivate = "ca.key"
)

// The certificate is renewed while a third of its time is left, and the authority before it ends earlier than the next certificate.
// Clients have to read an authority that is new, so it is valid for long.
const (
	authorityLifetime = 10 * 365 * 24 * time.Hour
	lifetime          = 90 * 24 * time.Hour
	renewBefore       = 30 * 24 * time.Hour
	// clockSkew is how far the clock of who verifies may be late.
	clockSkew = time.Hour
)

// load returns what a Secret has for a host, or why it has to be renewed.
func load(data map[string][]byte, host string, now time.Time) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(data[KeyAuthority]) {
		return nil, fmt.Errorf("%s has no certificate", KeyAuthority)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: authorities, CurrentTime: now.Add(renewBefore)})
	return &pair, err
}

// renew returns the data of a Secret with a new certificate for a host, of the authority that the Secret has, or of a new one.
func renew(data map[string][]byte, host string, now time.Time) (map[string][]byte, error) {
	authority, key, err := authorityOf(data)
	if err != nil || now.Add(lifetime).After(authority.NotAfter) {
		authority, key, err = sign(&x509.Certificate{
			Subject: pkix.Name{CommonName: "authority of the metrics of vnfbench"}, NotAfter: now.Add(authorityLifetime),
			KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
		}, nil, nil, now)
		if err != nil {
			return nil, err
		}
	}
	leaf, private, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "vnfbench"}, DNSNames: []string{host}, NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority, key, now)
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{}
	for _, pair := range []struct {
		public, private string
		certificate     *x509.Certificate
		key             crypto.Signer
	}{
		{KeyAuthority, keyAuthorityPrivate, authority, key},
		{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, leaf, private},
	} {
		if made[pair.public], err = cert.EncodeCertificates(pair.certificate); err != nil {
			return nil, err
		}
		if made[pair.private], err = keyutil.MarshalPrivateKeyToPEM(pair.key); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// authorityOf returns the authority of a Secret with its key.
func authorityOf(data map[string][]byte) (*x509.Certificate, crypto.Signer, error) {
	pair, err := tls.X509KeyPair(data[KeyAuthority], data[keyAuthorityPrivate])
	if err != nil {
		return nil, nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, nil, errors.New("it is no authority")
	}
	return pair.Leaf, key, nil
}

// sign returns a template as a certificate with a new key. Without a parent it signs itself.
func sign(template, parent *x509.Certificate, parentKey crypto.Signer, now time.Time) (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, nil, err
	}
	template.NotBefore = now.Add(-clockSkew)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return certificate, key, err
}
