package chain

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"vnfbench.io/operator/internal/plan"
)

// networkPolicies returns policies that close the pods' own network; traffic ports are not
// part of it and not affected. Requests of the kubelet come from the pod's own node, which
// policies always let pass. The measurer may reach the API server, and the agents of its
// run. Nothing else may come in anywhere, and the rest of the chain may reach nothing.
func networkPolicies(p *plan.Plan, chain []Workload) []*networkingv1.NetworkPolicy {
	egress := []networkingv1.NetworkPolicyEgressRule{{To: apiServers(p), Ports: apiServerPorts(p)}}
	var policies []*networkingv1.NetworkPolicy
	closed := map[string]bool{}
	for i := range chain {
		w := &chain[i]
		if closed[w.Component] {
			continue
		}
		closed[w.Component] = true
		egress = append(egress, networkingv1.NetworkPolicyEgressRule{To: podsOf(p, w.Component), Ports: tcp(w.Port)})
		ingress := []networkingv1.NetworkPolicyIngressRule{{From: podsOf(p, ComponentMeasurer), Ports: tcp(w.Port)}}
		policies = append(policies, policy(p, w.Policy, w.Component, nil, ingress))
	}
	return append([]*networkingv1.NetworkPolicy{policy(p, p.Names().MeasurerPolicy, ComponentMeasurer, egress, nil)}, policies...)
}

// podsOf returns a component's pods of the same run.
func podsOf(p *plan.Plan, component string) []networkingv1.NetworkPolicyPeer {
	return []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: selectorOf(p, component)}}}
}

func tcp(port int32) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port))}}
}

// apiServers returns the addresses of the API server that the installation names; none: every address.
func apiServers(p *plan.Plan) []networkingv1.NetworkPolicyPeer {
	var peers []networkingv1.NetworkPolicyPeer
	for _, addresses := range p.APIServerAddresses {
		peers = append(peers, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: addresses}})
	}
	return peers
}

// apiServerPorts returns ports that represent the API server, because policies see its own
// address instead of the service's, which differs from cluster to cluster.
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
