package chain

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"vnfbench.io/operator/internal/plan"
)

// NetworkPolicies close the pods' own network; traffic ports are no part of it
// and not touched. Nothing may come in: what the kubelet asks comes from the
// pod's own node, which policies always let pass. The functions may reach
// nothing, the measurer the API server alone; the ends of TCP connections are
// reached by the measurer and reach nothing.
func NetworkPolicies(p *plan.Plan) []*networkingv1.NetworkPolicy {
	measurer := []networkingv1.NetworkPolicyEgressRule{{Ports: apiServerPorts(p)}}
	policies := []*networkingv1.NetworkPolicy{
		policy(p, p.Names().MeasurerPolicy, ComponentMeasurer, append(measurer, endpointsEgress(p)...)),
		policy(p, p.Names().FunctionsPolicy, ComponentFunction, nil),
	}
	if len(p.Endpoints) > 0 {
		policies = append(policies, endpointsPolicy(p))
	}
	return policies
}

// apiServerPorts stand for the API server, because policies see its own
// address behind the service's, which differs from cluster to cluster.
func apiServerPorts(p *plan.Plan) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, port := range p.APIServerPorts {
		ports = append(ports, networkingv1.NetworkPolicyPort{
			Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port)),
		})
	}
	return ports
}

func policy(p *plan.Plan, name, component string, egress []networkingv1.NetworkPolicyEgressRule) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metadata(p, name, component),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: selectorOf(p, component)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Egress:      egress,
		},
	}
}
