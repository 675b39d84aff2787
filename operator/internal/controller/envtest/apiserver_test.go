package envtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// apiServerKey names the Service and the EndpointSlice that the API server writes of itself.
var apiServerKey = client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}

// TestMeasurerReachesTheAPIServerAlone checks that the policy of a measurer has the addresses of the API server, and follows them when they change
// or when the policy is deleted.
func TestMeasurerReachesTheAPIServerAlone(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	service, slice := &corev1.Service{}, &discoveryv1.EndpointSlice{}
	l.Expect(cluster.Get(l.ctx, apiServerKey, service)).To(Succeed())
	l.Expect(cluster.Get(l.ctx, apiServerKey, slice)).To(Succeed())
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).MeasurerPolicy}}
	// reached returns the addresses and ports of the policy; "every" for a rule that names none.
	reached := func() string {
		if err := l.get(policy); err != nil {
			return err.Error()
		}
		var found []string
		for _, rule := range policy.Spec.Egress {
			if len(rule.To) == 0 || len(rule.Ports) == 0 {
				return "every address or port"
			}
			for _, to := range rule.To {
				for _, port := range rule.Ports {
					if to.IPBlock != nil {
						found = append(found, fmt.Sprintf("%s:%d", to.IPBlock.CIDR, port.Port.IntValue()))
					}
				}
			}
		}
		return strings.Join(found, " ")
	}
	front, port := " "+service.Spec.ClusterIP+"/32:443", *slice.Ports[0].Port
	l.Expect(reached()).To(Equal(fmt.Sprintf("%s/32:%d", slice.Endpoints[0].Addresses[0], port) + front))
	digest := run.Status.Plan.StoredDigest

	// The API server writes its own address again every ten seconds.
	l.Eventually(func() string {
		l.Expect(cluster.Get(l.ctx, apiServerKey, slice)).To(Succeed())
		slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"198.51.100.3"}}, {Addresses: []string{"198.51.100.2"}}}
		if err := cluster.Update(l.ctx, slice); err != nil {
			return err.Error()
		}
		l.passes(time.Minute, run)
		time.Sleep(time.Second)
		return reached()
	}).Should(Equal(fmt.Sprintf("198.51.100.2/32:%d 198.51.100.3/32:%d", port, port) + front))

	l.Expect(cluster.Delete(l.ctx, policy)).To(Succeed())
	l.passes(time.Minute, run)
	l.Eventually(reached).Should(HaveSuffix(front))
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.Expect(run.Status.Plan.StoredDigest).To(Equal(digest))
}

// TestRightsInDefault checks that the operator reads of namespace default no Service and no EndpointSlice but those of the API server.
func TestRightsInDefault(t *testing.T) {
	l := NewWithT(t)
	c, err := client.New(operator, client.Options{Scheme: cluster.Scheme()})
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(c.Get(t.Context(), apiServerKey, &corev1.Service{})).To(Succeed())
	slice := &discoveryv1.EndpointSlice{}
	l.Expect(c.Get(t.Context(), apiServerKey, slice)).To(Succeed())
	for name, err := range map[string]error{
		"another Service":    c.Get(t.Context(), client.ObjectKey{Namespace: apiServerKey.Namespace, Name: "other"}, &corev1.Service{}),
		"another slice":      c.Get(t.Context(), client.ObjectKey{Namespace: apiServerKey.Namespace, Name: "other"}, &discoveryv1.EndpointSlice{}),
		"another namespace":  c.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "kubernetes"}, &discoveryv1.EndpointSlice{}),
		"a list of Services": c.List(t.Context(), &corev1.ServiceList{}, client.InNamespace(apiServerKey.Namespace)),
		"a list of slices":   c.List(t.Context(), &discoveryv1.EndpointSliceList{}, client.InNamespace(apiServerKey.Namespace)),
		"a change":           c.Update(t.Context(), slice),
	} {
		l.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", name, err)
	}
}
