package envtest

import (
	"crypto/x509"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/internal/controller/certificate"
)

// TestCertificateOfMetrics checks that the operator fills its Secret with the rights of an installation, which are to no other.
func TestCertificateOfMetrics(t *testing.T) {
	l := NewWithT(t)
	l.SetDefaultEventuallyTimeout(testTimeout)
	key := client.ObjectKey{Namespace: "vnfbench-system", Name: "vnfbench-metrics-certificate"}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	l.Expect(cluster.Create(t.Context(), secret)).To(Succeed())
	c, err := client.New(operator, client.Options{Scheme: cluster.Scheme()})
	l.Expect(err).NotTo(HaveOccurred())
	keeper := &certificate.Keeper{Client: c, Reader: c, Clock: clock.RealClock{}, Secret: key, Host: "vnfbench-metrics.vnfbench-system.svc"}
	ended := make(chan error, 1)
	go func() { ended <- keeper.Start(t.Context()) }()
	t.Cleanup(func() { l.Expect(<-ended).To(Succeed()) })
	l.Eventually(func() error { _, err := keeper.GetCertificate(nil); return err }).Should(Succeed())
	l.Expect(cluster.Get(t.Context(), key, secret)).To(Succeed())
	served, err := keeper.GetCertificate(nil)
	l.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	l.Expect(roots.AppendCertsFromPEM(secret.Data[certificate.KeyAuthority])).To(BeTrue())
	_, err = served.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: keeper.Host})
	l.Expect(err).NotTo(HaveOccurred())
	for name, err := range map[string]error{
		"another Secret":   c.Get(t.Context(), client.ObjectKey{Namespace: key.Namespace, Name: "other"}, &corev1.Secret{}),
		"a list":           c.List(t.Context(), &corev1.SecretList{}, client.InNamespace(key.Namespace)),
		"in a run's space": c.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: key.Name}, &corev1.Secret{}),
	} {
		l.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", name, err)
	}
}
