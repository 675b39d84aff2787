package plan

import (
	"fmt"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator/registry"
	"vnfbench.io/operator/internal/measure"
)

// Hop returns how frames pass from the traffic ports to the first function of each direction that
// is used, and why, in one clause. Both directions have the same answer: the one that blames the
// device for less. So has a chain of which another function does not work on the core that sends: what
// leaves the ring at once after a stall would come to that function as a burst.
func (p *Plan) Hop() (measure.Hop, string) {
	g := registry.Of(v1alpha1.GeneratorDriver(p.Instructions.Driver.Name))
	if g == nil || !g.Limits.ReceiveRing {
		return measure.HopSeparate, fmt.Sprintf("driver %s has no ring in which frames wait for the device", p.Instructions.Driver.Name)
	}
	if p.GeneratorNode != p.DeviceNode {
		return measure.HopSeparate, fmt.Sprintf("the traffic is made on node %q and the chain runs on node %q", p.GeneratorNode, p.DeviceNode)
	}
	var names []string
	for _, first := range p.firstHops() {
		f := first.function
		if wayOf(first.attachment) == wayWire {
			return measure.HopSeparate, fmt.Sprintf("port %s of function %q is a network card", first.port, f.Name)
		}
		if first.segment.Bridge == "" {
			return measure.HopSeparate, fmt.Sprintf("traffic port %s joins a network that is not the operator's, so the way to function %q is not known", first.port, f.Name)
		}
		names = append(names, fmt.Sprintf("%q", f.Name))
	}
	for _, f := range p.Functions {
		if where := p.elsewhere(f); where != "" {
			if p.podsFirst() {
				where += "; a pod before it works there, and may be the limit"
			}
			return measure.HopTap, where
		}
	}
	return measure.HopInline, fmt.Sprintf("frames pass over a bridge of node %q to a pod with function %s, whose kernel forwards on the core that sends",
		p.DeviceNode, strings.Join(slices.Compact(names), " or "))
}

// podsFirst reports whether the first function of a direction that is used works on the core that sends.
func (p *Plan) podsFirst() bool {
	return slices.ContainsFunc(p.firstHops(), func(first firstHop) bool { return p.elsewhere(first.function) == "" })
}

// elsewhere returns why a function need not work on the core that sends, in one clause; "" where it does.
func (p *Plan) elsewhere(f Function) string {
	if f.IsVM() {
		return fmt.Sprintf("function %q is a virtual machine on node %q, and does not work on the core that sends", f.Name, p.DeviceNode)
	}
	if f.Container != nil {
		return fmt.Sprintf("function %q runs a program of the user's on node %q, and need not work on the core that sends", f.Name, p.DeviceNode)
	}
	if what := plannerOf(v1alpha1.Function(f.Config.Function)).elsewhere(p.DeviceNode); what != "" {
		return fmt.Sprintf("function %q %s that need not work on the core that sends", f.Name, what)
	}
	return ""
}

// firstHop is where one direction's frames enter the chain.
type firstHop struct {
	port       string
	segment    Segment
	function   Function
	attachment v1alpha1.Attachment
}

// firstHops returns those of the directions that have a stream.
func (p *Plan) firstHops() []firstHop {
	first, last := p.Functions[0], p.Functions[len(p.Functions)-1]
	var out []firstHop
	for _, stream := range p.Instructions.Chain.Streams {
		if stream.Direction == measure.Forward {
			out = append(out, firstHop{InterfaceWest, p.Segments[0], first, first.WestAttachment})
		} else {
			out = append(out, firstHop{InterfaceEast, p.Segments[len(p.Segments)-1], last, last.EastAttachment})
		}
	}
	return out
}
