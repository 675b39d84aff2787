package chain

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/plan"
)

// NetworkPolicies close the pods' own network; traffic ports are no part of it
// and not touched. What the kubelet asks comes from the pod's own node, which
// policies always let pass. The measurer may reach the API server, and of its
// own run the status of the functions and the observer. Nothing else may come
// in anywhere, and functions, observer, neighbours and the ends of TCP connections
// may reach nothing.
func NetworkPolicies(p *plan.Plan) []*networkingv1.NetworkPolicy {
	egress := []networkingv1.NetworkPolicyEgressRule{
		{Ports: apiServerPorts(p)},
		{To: podsOf(p, ComponentFunction), Ports: tcp(portHTTP)},
	}
	policies := []*networkingv1.NetworkPolicy{
		policy(p, p.Names().FunctionsPolicy, ComponentFunction, nil, fromMeasurer(p, portHTTP)),
	}
	if p.Observer != nil {
		egress = append(egress, networkingv1.NetworkPolicyEgressRule{To: podsOf(p, ComponentObserver), Ports: tcp(observer.Port)})
		policies = append(policies, policy(p, p.Names().Observer, ComponentObserver, nil, fromMeasurer(p, observer.Port)))
	}
	if len(p.Endpoints) > 0 {
		egress = append(egress, endpointsEgress(p)...)
		policies = append(policies, endpointsPolicy(p))
	}
	if len(p.Neighbors) > 0 {
		egress = append(egress, neighborsEgress(p))
		policies = append(policies, neighborsPolicy(p))
	}
	return append([]*networkingv1.NetworkPolicy{policy(p, p.Names().MeasurerPolicy, ComponentMeasurer, egress, nil)}, policies...)
}

func fromMeasurer(p *plan.Plan, port int32) []networkingv1.NetworkPolicyIngressRule {
	return []networkingv1.NetworkPolicyIngressRule{{From: podsOf(p, ComponentMeasurer), Ports: tcp(port)}}
}

// podsOf are a component's pods of the same run.
func podsOf(p *plan.Plan, component string) []networkingv1.NetworkPolicyPeer {
	return []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: selectorOf(p, component)}}}
}

func tcp(port int32) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port))}}
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

func policy(p *plan.Plan, name, component string, egress []networkingv1.NetworkPolicyEgressRule, ingress []networkingv1.NetworkPolicyIngressRule) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metadata(p, name, component),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: selectorOf(p, component)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     ingress,
			Egress:      egress,
		},
	}
}
