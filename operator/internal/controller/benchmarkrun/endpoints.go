package benchmarkrun

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/measure"
)

// endpointAddresses returns the value of measure.KeyEndpoints: the addresses of the pods on
// the pod network, "" if the run has no ends.
func (s *scope) endpointAddresses() (string, error) {
	var at measure.Endpoints
	for _, end := range s.plan.Endpoints {
		name := end.Config.Name
		into := &at.West
		if name == measure.EndEast {
			into = &at.East
		}
		pod := s.pod(s.names.Endpoint(name))
		if pod == nil {
			return "", fmt.Errorf("the %s end of the TCP connections has no pod", name)
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

// tcpHeadline returns the goodput of the first number of connections, in the slower direction.
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

// connectionsHeadline returns the figure of the first load of connections.
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
