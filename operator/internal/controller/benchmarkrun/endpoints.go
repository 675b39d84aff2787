package benchmarkrun

import (
	"encoding/json"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/measure"
)

// endpoints are the ends of TCP connections that the run has, by name: none where
// the generator makes the connections itself.
func (s *scope) endpoints() []string {
	if s.run.Spec.Experiment.Measurements.TCP == nil || s.plan != nil && s.plan.Instructions.Stateful != nil {
		return nil
	}
	return []string{measure.EndWest, measure.EndEast}
}

// endpointPods are the ends' pods that exist.
func (s *scope) endpointPods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, end := range s.endpoints() {
		if pod := s.pod(s.names.Endpoint(end)); pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// brokenEndpoint says which end was ready and is not any more, and why, or nil.
func (s *scope) brokenEndpoint() *trouble {
	for _, end := range s.endpoints() {
		if t := diagnoseLost(fmt.Sprintf("the %s end of the TCP connections", end), v1alpha1.ReasonEndpointFailed, s.pod(s.names.Endpoint(end))); t != nil {
			return t
		}
	}
	return nil
}

// whereEndpoints is the value of measure.KeyEndpoints: the addresses that the
// pods have on the pod network, "" where the run has no ends.
func (s *scope) whereEndpoints() (string, error) {
	var at measure.Endpoints
	for _, end := range s.endpoints() {
		into := &at.West
		if end == measure.EndEast {
			into = &at.East
		}
		pod := s.pod(s.names.Endpoint(end))
		if pod == nil {
			return "", fmt.Errorf("the %s end of the TCP connections has no pod", end)
		}
		address, err := netip.ParseAddr(pod.Status.PodIP)
		if err != nil {
			return "", fmt.Errorf("pod %q has no address on the pod network: %w", pod.Name, err)
		}
		*into = netip.AddrPortFrom(address, endpoint.AgentPort)
	}
	if !at.West.IsValid() {
		return "", nil
	}
	text, err := json.Marshal(at)
	return string(text), err
}

// endpointLeftovers are what the ends' pods needed.
func endpointLeftovers(s *scope) []client.Object {
	if len(s.endpoints()) == 0 {
		return nil
	}
	objects := []client.Object{&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.names.EndpointsPolicy}}}
	for _, end := range s.endpoints() {
		objects = append(objects, configMapNamed(s.names.Endpoint(end)))
	}
	return objects
}

// tcpHeadline is the goodput of the first number of connections, in the slower direction.
func tcpHeadline(result *v1alpha1.TCPResult) string {
	if result == nil || len(result.Streams) == 0 || len(result.Streams[0].Directions) == 0 {
		return ""
	}
	first := result.Streams[0]
	slower := first.Directions[0]
	for _, d := range first.Directions {
		if d.GoodputBitsPerSecond < slower.GoodputBitsPerSecond {
			slower = d
		}
	}
	return fmt.Sprintf("TCP goodput of streams %d in direction %s is %d bits/s; ", first.Streams, slower.Direction, slower.GoodputBitsPerSecond)
}

// connectionsHeadline is the first load of connections.
func connectionsHeadline(result *v1alpha1.ConnectionsResult) string {
	if result == nil || len(result.Loads) == 0 {
		return ""
	}
	first := result.Loads[0]
	if first.HeldConnections != nil {
		return fmt.Sprintf("load %s holds %d of %d connections; ", first.Name, *first.HeldConnections, *first.IntendedConcurrentConnections)
	}
	return fmt.Sprintf("load %s has %d of %d connections/s; ", first.Name, *first.EstablishedConnectionsPerSecond, first.IntendedConnectionsPerSecond)
}
