package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const host = "vnfbench-metrics.vnfbench-system.svc"

var key = client.ObjectKey{Namespace: "vnfbench-system", Name: "vnfbench-metrics-certificate"}

// lab is a Secret with operators that keep it.
type lab struct {
	t       *testing.T
	cluster client.Client
	clock   *clocktesting.FakePassiveClock
}

func newLab(t *testing.T, data map[string][]byte) *lab {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{"of": "the chart"}}, Data: data}
	return &lab{t, fake.NewClientBuilder().WithObjects(secret).Build(), clocktesting.NewFakePassiveClock(time.Now())}
}

func (l *lab) keeper() *Keeper {
	return &Keeper{Client: l.cluster, Reader: l.cluster, Clock: l.clock, Secret: key, Host: host}
}

// keeps lets a keeper read the Secret once.
func (l *lab) keeps(k *Keeper) {
	l.t.Helper()
	if err := k.keep(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// secret returns what the Secret has.
func (l *lab) secret() map[string][]byte {
	l.t.Helper()
	secret := &corev1.Secret{}
	if err := l.cluster.Get(l.t.Context(), key, secret); err != nil {
		l.t.Fatal(err)
	}
	if secret.Labels["of"] != "the chart" {
		l.t.Errorf("the Secret has the labels %v", secret.Labels)
	}
	return secret.Data
}

// connects makes a TLS connection as who collects the metrics does, and returns the certificate that it got.
func (l *lab) connects(k *Keeper, authority []byte, name string) (*x509.Certificate, error) {
	l.t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: k.GetCertificate})
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		if server, err := listener.Accept(); err == nil {
			_ = server.(*tls.Conn).Handshake()
			_ = server.Close()
		}
	}()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Minute}, Config: &tls.Config{RootCAs: roots, ServerName: name, Time: l.clock.Now}}
	connection, err := dialer.DialContext(l.t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// TestClientVerifies checks that an empty Secret gets a certificate that who has the authority verifies by the Service's name.
func TestClientVerifies(t *testing.T) {
	l := newLab(t, nil)
	k := l.keeper()
	if _, err := k.GetCertificate(nil); err == nil {
		t.Error("a certificate is served before there is one")
	}
	l.keeps(k)
	data := l.secret()
	if _, err := l.connects(k, data[KeyAuthority], host); err != nil {
		t.Error(err)
	}
	if _, err := l.connects(k, data[KeyAuthority], "other.vnfbench-system.svc"); !errors.As(err, new(x509.HostnameError)) {
		t.Errorf("under another name: %v", err)
	}
	other := newLab(t, nil)
	other.keeps(other.keeper())
	if _, err := l.connects(k, other.secret()[KeyAuthority], host); !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Errorf("by another authority: %v", err)
	}
}

// TestRenewal checks that a certificate is renewed before it ends, once, by the same authority, and that each operator serves the new one.
func TestRenewal(t *testing.T) {
	l := newLab(t, nil)
	one, two := l.keeper(), l.keeper()
	l.keeps(one)
	l.keeps(two)
	first := l.secret()
	authority := first[KeyAuthority]
	l.clock.SetTime(l.clock.Now().Add(lifetime - renewBefore - 2*clockSkew))
	l.keeps(one)
	if !maps.EqualFunc(first, l.secret(), bytes.Equal) {
		t.Error("it is renewed too early")
	}
	before, err := l.connects(two, authority, host)
	if err != nil {
		t.Fatal(err)
	}
	l.clock.SetTime(l.clock.Now().Add(3 * clockSkew))
	l.keeps(one)
	second := l.secret()
	l.keeps(two)
	if !maps.EqualFunc(second, l.secret(), bytes.Equal) {
		t.Error("the second operator renews it again")
	}
	if !bytes.Equal(authority, second[KeyAuthority]) {
		t.Error("the authority is another")
	}
	for _, k := range []*Keeper{one, two} {
		after, err := l.connects(k, authority, host)
		if err != nil || after.Equal(before) || !after.NotAfter.After(before.NotAfter) {
			t.Errorf("serves %v after %v: %v", after, before, err)
		}
	}
}

// TestNewAuthority checks that the authority is replaced before it ends earlier than a certificate of it, and where the Secret has none that can be
// used.
func TestNewAuthority(t *testing.T) {
	l := newLab(t, nil)
	l.keeps(l.keeper())
	good := l.secret()
	without := func(key, value string) map[string][]byte {
		data := maps.Clone(good)
		data[key] = []byte(value)
		return data
	}
	for name, test := range map[string]struct {
		data  map[string][]byte
		later time.Duration
		// same: the authority stays.
		same bool
	}{
		"no certificate":           {without(corev1.TLSCertKey, ""), 0, true},
		"another key":              {without(corev1.TLSPrivateKeyKey, string(good[keyAuthorityPrivate])), 0, true},
		"no authority":             {without(KeyAuthority, "none"), 0, false},
		"no key of the authority":  {without(keyAuthorityPrivate, ""), lifetime, false},
		"an authority that is old": {good, authorityLifetime - lifetime + time.Minute, false},
		"one that is not":          {good, authorityLifetime - lifetime - time.Minute, true},
		"one that is no authority": {map[string][]byte{KeyAuthority: good[corev1.TLSCertKey], keyAuthorityPrivate: good[corev1.TLSPrivateKeyKey]}, 0, false},
		"one that has ended":       {good, authorityLifetime + time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, test.data)
			l.clock.SetTime(l.clock.Now().Add(test.later))
			k := l.keeper()
			l.keeps(k)
			if same := bytes.Equal(l.secret()[KeyAuthority], good[KeyAuthority]); same != test.same {
				t.Errorf("the authority is the same: %t", same)
			}
			if _, err := l.connects(k, l.secret()[KeyAuthority], host); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTwoOperatorsFillOneSecret checks that of two operators that begin at once, one fills the Secret and the other uses that.
func TestTwoOperatorsFillOneSecret(t *testing.T) {
	l := newLab(t, nil)
	one, two := l.keeper(), l.keeper()
	two.Reader = &interrupted{l.cluster, func() { l.keeps(one) }}
	if err := two.keep(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("the second stores its own: %v", err)
	}
	two.Reader = l.cluster
	l.keeps(two)
	for _, k := range []*Keeper{one, two} {
		if _, err := l.connects(k, l.secret()[KeyAuthority], host); err != nil {
			t.Error(err)
		}
	}
}

// interrupted lets another writer act after a read.
type interrupted struct {
	client.Reader
	after func()
}

func (i *interrupted) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	defer i.after()
	return i.Reader.Get(ctx, key, object, options...)
}

// TestSecretIsGone checks that an operator without its Secret serves what it has.
func TestSecretIsGone(t *testing.T) {
	l := newLab(t, nil)
	k := l.keeper()
	l.keeps(k)
	authority := l.secret()[KeyAuthority]
	if err := l.cluster.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}); err != nil {
		t.Fatal(err)
	}
	if err := k.keep(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	if _, err := l.connects(k, authority, host); err != nil {
		t.Error(err)
	}
}
