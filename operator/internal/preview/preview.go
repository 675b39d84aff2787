package preview

import (
	"fmt"
	"net/netip"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
)

// Preview is what a plan has decided, for people.
type Preview struct {
	Run     string `json:"run"`
	Testbed string `json:"testbed"`
	// Digest names the experiment.
	Digest        string `json:"digest"`
	Driver        string `json:"driver"`
	GeneratorNode string `json:"generatorNode"`
	DeviceNode    string `json:"deviceNode"`
	// EstimatedSeconds is how long the trials take, without the start of the pods. A search needs fewer or more.
	EstimatedSeconds int64    `json:"estimatedSeconds"`
	Sizes            []string `json:"sizes"`
	Pods             []Pod    `json:"pods"`
	Ports            []Port   `json:"ports"`
	Streams          []Stream `json:"streams"`
}

// Pod is one that a run launches, or a virtual machine.
type Pod struct {
	Name string `json:"name"`
	// Role is Generator, Observer, Function, Endpoint or Neighbor.
	Role    string           `json:"role"`
	Runtime v1alpha1.Runtime `json:"runtime"`
	Node    string           `json:"node"`
	Image   string           `json:"image"`
	// RequestMilliCPU and MemoryBytes are what its pod requests.
	RequestMilliCPU int64 `json:"requestMilliCPU"`
	MemoryBytes     int64 `json:"memoryBytes"`
}

// Port is one of the generator's or of a function's.
type Port struct {
	// Of is the function's name, or "generator".
	Of        string         `json:"of"`
	Interface string         `json:"interface"`
	MAC       string         `json:"mac"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	MTUBytes  int            `json:"mtuBytes"`
	// Through is what the port joins: a bridge, a network, a device plugin's resource or a whole NIC.
	Through string `json:"through"`
	VLAN    int    `json:"vlan,omitempty"`
}

// Stream is the traffic of a direction.
type Stream struct {
	Direction   string `json:"direction"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

// Of returns the preview of a plan.
func Of(p *plan.Plan) Preview {
	out := Preview{
		Run: p.Run.Namespace + "/" + p.Run.Name, Testbed: p.Testbed.Name, Digest: p.Digest, Driver: p.Instructions.Driver.Name,
		GeneratorNode: p.GeneratorNode, DeviceNode: p.DeviceNode, EstimatedSeconds: procedure.Progress(p.Instructions, nil).RemainingSeconds,
	}
	for _, size := range p.Instructions.Sizes {
		out.Sizes = append(out.Sizes, size.String())
	}
	out.Pods = podsOf(p)
	out.Ports = portsOf(p)
	for _, s := range p.Instructions.Chain.Streams {
		out.Streams = append(out.Streams, Stream{
			Direction: string(s.Direction),
			Source:    fmt.Sprintf("%s, %s", netip.AddrPortFrom(s.SourceAddress, s.SourcePort), s.SourceMAC), Destination: fmt.Sprintf("%s, %s", netip.AddrPortFrom(s.DestinationAddress, s.DestinationPort), s.DestinationMAC),
		})
	}
	return out
}

func runtimeOf(vm *plan.VM) v1alpha1.Runtime {
	if vm != nil {
		return v1alpha1.RuntimeVirtualMachine
	}
	return v1alpha1.RuntimePod
}

func podsOf(p *plan.Plan) []Pod {
	names := p.Names()
	add := func(out []Pod, name, role string, runtime v1alpha1.Runtime, node, image string, r plan.Resources) []Pod {
		return append(out, Pod{name, role, runtime, node, image, r.RequestMilliCPU, r.MemoryBytes})
	}
	out := add(nil, names.Job, "Generator", v1alpha1.RuntimePod, p.GeneratorNode, p.Generator.Image, p.Generator.Resources)
	for i := range p.Functions {
		f := &p.Functions[i]
		out = add(out, names.Function(f.Name), "Function", runtimeOf(f.VM), p.DeviceNode, f.Image, f.Resources)
	}
	if o := p.Observer; o != nil {
		out = add(out, names.Observer, "Observer", v1alpha1.RuntimePod, p.DeviceNode, o.Image, o.Resources)
	}
	for _, e := range p.Endpoints {
		out = add(out, names.Endpoint(e.Config.Name), "Endpoint", v1alpha1.RuntimePod, p.GeneratorNode, e.Image, e.Resources)
	}
	for i := range p.Neighbors {
		n := &p.Neighbors[i]
		out = add(out, names.Neighbor(n.Load.Name), "Neighbor", runtimeOf(n.VM), p.DeviceNode, n.Image, n.Resources)
	}
	return out
}

// portsOf returns the ports from west to east, and those of the calibration at the end.
func portsOf(p *plan.Plan) []Port {
	var out []Port
	add := func(segment plan.Segment) {
		for _, end := range []plan.End{segment.West, segment.East} {
			out = append(out, Port{
				Of: nameOf(end), Interface: end.Interface, MAC: end.MAC, Addresses: addressesOf(p, end), MTUBytes: end.MTUBytes,
				Through: throughOf(segment, end), VLAN: max(end.Tag, end.VLAN),
			})
		}
	}
	for _, segment := range p.Segments {
		add(segment)
	}
	if p.Calibration != nil {
		add(*p.Calibration)
	}
	return out
}

func nameOf(end plan.End) string {
	if end.Function == "" {
		return "generator"
	}
	return end.Function
}

// throughOf says what a port joins.
func throughOf(segment plan.Segment, end plan.End) string {
	switch {
	case end.PCIAddress != "":
		return "NIC " + end.PCIAddress
	case end.ResourceName != "" && !end.Existing:
		return "resource " + end.ResourceName
	case end.Existing:
		return "network " + end.NetworkKey()
	case segment.Bridge != "":
		return "bridge " + segment.Bridge
	}
	return "network " + end.Network
}

// addressesOf returns the addresses of a function's port. The generator's ports have none: its frames have those of hosts further away.
func addressesOf(p *plan.Plan, end plan.End) []netip.Prefix {
	for _, f := range p.Functions {
		if f.Name != end.Function {
			continue
		}
		for _, port := range f.Config.Ports {
			if port.Name == end.Interface {
				return slices.Clone(port.Addresses)
			}
		}
	}
	return nil
}
