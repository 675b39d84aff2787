package benchmarkrun

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/measure"
)

// serversInterval is how often the operator reads where the API server is while a measurer runs, which keeps a trial that it cannot
// store for longer than that.
const serversInterval = time.Minute

// apiServerKey names the Service of the API server, and the EndpointSlice with its addresses, which the API server writes under that
// name.
var apiServerKey = client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}

// looksForServers reports whether it is time to read where the API server is, and notes that it is read.
func (k *kept) looksForServers(now time.Time) bool {
	if now.Before(k.looked.Add(serversInterval)) {
		return false
	}
	k.looked = now
	return true
}

// readAPIServer reads where the API server is, for a measurer that is planned or launched next, and from time to time for one that
// runs: its policy has to follow. Any error before the launch is waited out. After it, the policy stays as it is.
func (r *Reconciler) readAPIServer(ctx context.Context, s *scope) error {
	runs := s.job != nil && s.input == nil
	switch {
	case s.input != nil && !r.Defaults.APIServerDiscovered,
		s.input == nil && (s.plan == nil || !s.plan.APIServerDiscovered || queue.Finished(s.run)),
		runs && !s.serversDue:
		return nil
	}
	servers, err := findAPIServer(ctx, r.Reader)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.serversErr = &measure.Failure{
			Reason: v1alpha1.ReasonAPIServerNotReadable,
			Err:    fmt.Errorf("the measurer's NetworkPolicy cannot name the API server: %w", err),
			Remedy: "let the operator's account get the Service and the EndpointSlice kubernetes in namespace default; " +
				"or install the operator with apiServerAddresses, or with apiServerAccess Any",
		}
		if runs {
			ctrl.LoggerFrom(ctx).Info("Keeping the measurer's NetworkPolicy", "error", err.Error())
		}
		return nil
	}
	s.servers = servers
	if !runs {
		return nil
	}
	stored, want := &networkingv1.NetworkPolicy{}, s.measurerPolicy()
	err = r.Reader.Get(ctx, client.ObjectKeyFromObject(want), stored)
	s.policyLate = apierrors.IsNotFound(err) || err == nil && !equality.Semantic.DeepEqual(addressRules(stored), addressRules(want))
	return client.IgnoreNotFound(err)
}

// measurerPolicy returns the NetworkPolicy of the measurer.
func (s *scope) measurerPolicy() *networkingv1.NetworkPolicy {
	for _, object := range s.measurerWorkload()[0].Needs {
		if policy, ok := object.(*networkingv1.NetworkPolicy); ok && policy.Name == s.names.MeasurerPolicy {
			return policy
		}
	}
	return nil
}

// addressRules returns the rules of a policy that name addresses.
func addressRules(policy *networkingv1.NetworkPolicy) []networkingv1.NetworkPolicyEgressRule {
	return slices.DeleteFunc(slices.Clone(policy.Spec.Egress), func(rule networkingv1.NetworkPolicyEgressRule) bool {
		return len(rule.To) > 0 && rule.To[0].IPBlock == nil
	})
}

// withAPIServer adds a remedy where the measurer never reached the API server: some network plugins do not match its addresses.
func (s *scope) withAPIServer(c *cause) *cause {
	if c.reason != v1alpha1.ReasonResultsNotStored || s.holder != nil || s.plan == nil || !s.plan.APIServerDiscovered {
		return c
	}
	return newCause(c.reason, "%s; if the cluster's network plugin does not match the API server's addresses in NetworkPolicies, "+
		"install the operator with apiServerAccess Any", c.message)
}

// findAPIServer reads where the API server is. Some network plugins compare a packet with a policy before the Service's address is
// translated, and others after: both are returned.
func findAPIServer(ctx context.Context, reader client.Reader) ([]chain.Server, error) {
	slice, service := &discoveryv1.EndpointSlice{}, &corev1.Service{}
	if err := reader.Get(ctx, apiServerKey, slice); err != nil {
		return nil, fmt.Errorf("reading EndpointSlice %s: %w", apiServerKey, err)
	}
	if err := reader.Get(ctx, apiServerKey, service); err != nil {
		return nil, fmt.Errorf("reading Service %s: %w", apiServerKey, err)
	}
	var backend, front chain.Server
	for _, endpoint := range slice.Endpoints {
		addAddresses(&backend, endpoint.Addresses)
	}
	for _, port := range slice.Ports {
		if port.Port != nil && (port.Protocol == nil || *port.Protocol == corev1.ProtocolTCP) {
			backend.Ports = append(backend.Ports, *port.Port)
		}
	}
	addAddresses(&front, service.Spec.ClusterIPs)
	for _, port := range service.Spec.Ports {
		if cmp.Or(port.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
			front.Ports = append(front.Ports, port.Port)
		}
	}
	servers := []chain.Server{backend, front}
	for i, name := range []string{"EndpointSlice", "Service"} {
		if len(servers[i].Addresses) == 0 || len(servers[i].Ports) == 0 {
			return nil, fmt.Errorf("%s %s has no address with a TCP port", name, apiServerKey)
		}
		slices.SortFunc(servers[i].Addresses, netip.Addr.Compare)
	}
	return servers, nil
}

// addAddresses adds those of the texts that are addresses.
func addAddresses(server *chain.Server, texts []string) {
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil {
			server.Addresses = append(server.Addresses, address)
		}
	}
}
