package plan

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	"vnfbench.io/operator/internal/generator/registry"
	"vnfbench.io/operator/internal/measure"
)

const (
	// statefulHosts is how many clients and how many servers there are: enough for each of a
	// generator's threads to have some, and for 16 million connections at once.
	statefulHosts = 254
	// tcpHeaderBytes and the IP headers are the difference between an MTU and a segment.
	tcpHeaderBytes  = 20
	ipv4HeaderBytes = 20
	ipv6HeaderBytes = 40
)

// ownsTCP reports whether the generator has its own TCP.
func ownsTCP(in Input) bool {
	return limitsOf(in.Testbed).Stateful != nil
}

// makesConnections reports whether the generator itself makes TCP connections in this run.
func makesConnections(in Input) bool {
	measurements := in.Run.Spec.Experiment.Measurements
	return ownsTCP(in) && (measurements.TCP != nil || measurements.Connections != nil)
}

// statefulOf returns clients and servers in the networks at the generator's ports, which every
// chain routes as it does for frames; nil where the generator makes no connections itself.
func statefulOf(in Input, segments []Segment) *measure.Stateful {
	if !makesConnections(in) {
		return nil
	}
	family, chain := in.Run.Spec.Experiment.Traffic.IPFamily, in.Run.Spec.Experiment.Chain
	first, last := segments[0], segments[len(segments)-1]
	both := v1alpha1.Traffic{IPFamily: family, Directions: v1alpha1.DirectionsBoth}
	return &measure.Stateful{
		Path:     pathOf(both, first.West, nextEast(chain, segments, 0).MAC, last.East, nextWest(chain, segments, len(chain)).MAC),
		MSSBytes: segmentBytes(in),
		Clients:  measure.Hosts{First: stubWest.host(family), Count: statefulHosts},
		Servers:  measure.Hosts{First: stubEast.host(family), Count: statefulHosts},
	}
}

// segmentBytes returns the largest segment that fits the testbed's MTU.
func segmentBytes(in Input) int {
	header := ipv4HeaderBytes
	if in.Run.Spec.Experiment.Traffic.IPFamily == v1alpha1.FamilyIPv6 {
		header = ipv6HeaderBytes
	}
	return int(in.Testbed.Spec.Ports.MTUBytes) - header - tcpHeaderBytes
}

// checkStateful checks that a generator's own TCP has what the run asks for.
func checkStateful(in Input) error {
	if in.Run.Spec.Experiment.Measurements.Connections != nil && !ownsTCP(in) {
		return fail(v1alpha1.ReasonNotOfferedByDriver,
			fmt.Sprintf("name a testbed with driver %s in the run's spec.experiment.testbedRef, or leave measurements.connections out",
				names(registry.Offering(func(l generator.Limits) bool { return l.Stateful != nil }), " or ")),
			"measurements.connections needs a generator with its own TCP, and testbed %q has driver %s", in.Testbed.Name, in.Testbed.Spec.Generator.Driver)
	}
	if !makesConnections(in) {
		return nil
	}
	limits, driver := limitsOf(in.Testbed).Stateful, in.Testbed.Spec.Generator.Driver
	if side := taggedPort(in); side != "" && !limits.Tagged {
		return fail(v1alpha1.ReasonNotOfferedByDriver,
			fmt.Sprintf("leave measurements.tcp and measurements.connections out, or the testbed's spec.ports.%s.vlan", side),
			"%s's TCP sends no VLAN tags here, and port %s of testbed %q has one", driver, side, in.Testbed.Name)
	}
	tcp := in.Run.Spec.Experiment.Measurements.TCP
	if tcp == nil {
		return nil
	}
	if tcp.TargetBitsPerSecond != nil && !limits.TargetRate {
		return fail(v1alpha1.ReasonNotOfferedByDriver,
			"leave measurements.tcp.targetBitsPerSecond out"+orUse(", or", func(l generator.Limits) bool { return l.Stateful == nil || l.Stateful.TargetRate }),
			"%s's TCP cannot be held to a rate, and testbed %q has driver %s", driver, in.Testbed.Name, driver)
	}
	if asked := tcp.CongestionControl; asked != "" && !hasCongestionControl(asked)(limitsOf(in.Testbed)) {
		return fail(v1alpha1.ReasonNotOfferedByDriver,
			fmt.Sprintf("set measurements.tcp.congestionControl to one of %s, leave it out%s", strings.Join(limits.CongestionControls, ", "), orUse(", or", hasCongestionControl(asked))),
			"%s's TCP has no congestion control %q, and testbed %q has driver %s", driver, asked, in.Testbed.Name, driver)
	}
	return checkSegments(in)
}

// checkSegments refuses segments that do not fit the testbed's MTU.
func checkSegments(in Input) error {
	asked := in.Run.Spec.Experiment.Measurements.TCP.MSSBytes
	if most := segmentBytes(in); asked != nil && int(*asked) > most {
		return fail(v1alpha1.ReasonTCPSettingRefused,
			fmt.Sprintf("lower measurements.tcp.mssBytes to at most %d, leave it out, or raise the testbed's spec.ports.mtuBytes", most),
			"segments of %d bytes do not fit the MTU of %d bytes of testbed %q", *asked, in.Testbed.Spec.Ports.MTUBytes, in.Testbed.Name)
	}
	return nil
}

// lingeringSeconds is how long connection tracking remembers a connection that
// has ended: nf_conntrack_tcp_timeout_time_wait's default.
const lingeringSeconds = 120

// trackedConnections returns how many connections tracking has to hold at once: those that are
// held, and those that have ended within lingeringSeconds, at most all.
func trackedConnections(measurements v1alpha1.Measurements) int {
	if measurements.Connections == nil {
		return 0
	}
	var all, rate, held int64
	for _, load := range measurements.Connections.Loads {
		if load.ConcurrentConnections != nil {
			all += *load.ConcurrentConnections
			held = max(held, *load.ConcurrentConnections)
		} else {
			all += load.ConnectionsPerSecond * int64(load.DurationSeconds+1)
		}
		rate = max(rate, load.ConnectionsPerSecond)
	}
	times := int64(max(1, measurements.Repeats))
	if measurements.NoisyNeighbors == v1alpha1.NeighborsWithAndWithout {
		times *= 2
	}
	return int(min(all*times, held+rate*lingeringSeconds))
}
