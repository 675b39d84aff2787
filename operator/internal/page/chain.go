package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/report"
)

// Places in the picture of a chain, in points.
const (
	portsWidth, portsX   = 150, 14
	functionX, functionW = 226, 240
	functionH, linkH     = 62, 30
	nodeHead, margin     = 26, 8
	neighborH            = 30
)

// topology returns the picture of the chain: the generator with its two ports on the left, the functions from the west at
// the top to the east at the bottom, and the nodes around them.
func (r run) topology() []Figure {
	chain := r.Experiment.Chain
	if len(chain) == 0 || len(chain) > maxDrawn {
		return nil
	}
	generatorNode, deviceNode := "(not planned yet)", ""
	if r.Plan != nil {
		generatorNode, deviceNode = r.Plan.GeneratorNode, r.Plan.DeviceNode
	}
	s := plot.Sketch{Title: "The chain of network functions", Description: r.chainInWords()}
	top := float64(margin + nodeHead)
	y := top
	for i, f := range chain {
		ran := r.reported(f.Name)
		west, east := report.Attachments(f, r.Chain)
		what := string(f.Function)
		if summary := ran.Summary(); summary != "" {
			what = summary
		}
		where := cmp.Or(map[v1alpha1.Runtime]string{v1alpha1.RuntimePod: "in a pod", v1alpha1.RuntimeVirtualMachine: "in a virtual machine"}[f.Runtime], string(f.Runtime))
		s.Boxes = append(s.Boxes, plot.Box{X: functionX, Y: y, Width: functionW, Height: functionH, Style: 0, Lines: []string{f.Name, what, where}})
		if i > 0 {
			_, before := report.Attachments(chain[i-1], r.Chain)
			s.Links = append(s.Links, plot.Link{FromX: functionX + functionW/2, FromY: y - linkH, ToX: functionX + functionW/2, ToY: y, Label: pair(string(before), string(west))})
		}
		const portsEnd = portsX + portsWidth
		if i == 0 {
			s.Links = append(s.Links, plot.Link{FromX: portsEnd, FromY: y + 18, ToX: functionX, ToY: y + 18, Label: string(west)})
		}
		if i == len(chain)-1 {
			s.Links = append(s.Links, plot.Link{FromX: portsEnd, FromY: y + functionH - 10, ToX: functionX, ToY: y + functionH - 10, Label: string(east)})
		}
		y += functionH + linkH
	}
	bottom := y - linkH
	driver := "traffic pod"
	if r.Generator != nil {
		driver = "driver " + r.Generator.Driver
	}
	s.Boxes = append(s.Boxes, plot.Box{X: portsX, Y: top, Width: portsWidth, Height: bottom - top, Style: 1, Lines: []string{"Generator", driver, "west and east port"}})
	for _, n := range first(r.Experiment.NoisyNeighbors, maxDrawn) {
		bottom += 10
		s.Boxes = append(s.Boxes, plot.Box{X: functionX, Y: bottom, Width: functionW, Height: neighborH, Style: 3, Lines: []string{fmt.Sprintf("neighbor %s (%s)", n.Name, n.Kind)}})
		bottom += neighborH
	}
	around := func(x, width float64, name string) plot.Box {
		return plot.Box{X: x, Y: margin, Width: width, Height: bottom - margin + 8, Style: -1, Around: true, Lines: []string{name}}
	}
	if generatorNode == deviceNode || deviceNode == "" {
		s.Boxes = append(s.Boxes, around(4, plot.SketchWidth-8, "node "+generatorNode))
	} else {
		s.Boxes = append(s.Boxes, around(4, portsWidth+2*(portsX-4), "node "+generatorNode), around(functionX-8, plot.SketchWidth-functionX+4, "node "+deviceNode))
	}
	s.Height = bottom + 2*margin
	return []Figure{{
		Caption: "What the frames pass", Picture: template.HTML(s.SVG()),
		Note: "Frames leave one port of the generator, pass the functions and arrive at its other port. Forward runs from west to east. A dashed frame is a node.",
	}}
}

// pair returns the attachments of the two ends of a link.
func pair(a, b string) string {
	if a == b {
		return a
	}
	return a + " to " + b
}

// reported returns what is known of a function as it ran.
func (r run) reported(name string) v1alpha1.FunctionReport {
	if i := slices.IndexFunc(r.Chain, func(f v1alpha1.FunctionReport) bool { return f.Name == name }); i >= 0 {
		return r.Chain[i]
	}
	return v1alpha1.FunctionReport{}
}

func (r run) chainInWords() string {
	var names []string
	for _, f := range r.Experiment.Chain {
		names = append(names, fmt.Sprintf("%s (%s)", f.Name, f.Function))
	}
	return "From the west port of the generator through " + strings.Join(names, ", ") + " to its east port."
}
