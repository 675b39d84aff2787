package chain

import (
	"net/netip"

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
func networkPolicies(p *plan.Plan, chain []Workload, servers []Server) []*networkingv1.NetworkPolicy {
	egress := apiServerRules(p, servers)
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

func tcp(numbers ...int32) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, number := range numbers {
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(number))})
	}
	return ports
}

// Server is where the API server answers: addresses, each with all of the TCP ports.
type Server struct {
	Addresses []netip.Addr
	Ports     []int32
}

// apiServerRules returns the rules by which the measurer reaches the API server. Without addresses of the installation, a plan that
// does not leave them to the cluster permits every address. A rule without addresses or ports would permit all of them, so a server
// that lacks either gets none.
func apiServerRules(p *plan.Plan, servers []Server) []networkingv1.NetworkPolicyEgressRule {
	if !p.APIServerDiscovered {
		return []networkingv1.NetworkPolicyEgressRule{{To: ranges(p.APIServerAddresses), Ports: tcp(p.APIServerPorts...)}}
	}
	var rules []networkingv1.NetworkPolicyEgressRule
	for _, server := range servers {
		if len(server.Addresses) == 0 || len(server.Ports) == 0 {
			continue
		}
		var addresses []string
		for _, address := range server.Addresses {
			addresses = append(addresses, netip.PrefixFrom(address, address.BitLen()).String())
		}
		rules = append(rules, networkingv1.NetworkPolicyEgressRule{To: ranges(addresses), Ports: tcp(server.Ports...)})
	}
	return rules
}

// ranges returns ranges of addresses, none for every address.
func ranges(addresses []string) []networkingv1.NetworkPolicyPeer {
	var peers []networkingv1.NetworkPolicyPeer
	for _, cidr := range addresses {
		peers = append(peers, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}})
	}
	return peers
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
