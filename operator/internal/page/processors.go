package page

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/plot"
)

// processors returns the section of the CPU that the chain used.
func (r run) processors() Section {
	s := Section{ID: "processors", Title: "Processors"}
	node := plot.Stacks{Names: []string{"user", "system", "interrupt", "softirq", "guests", "steal"}}
	guest := plot.Stacks{Names: []string{"user", "system", "interrupt", "softirq", "process", "steal"}}
	var nodeNames, guestNames []string
	cpus := int32(0)
	for _, c := range r.CPU {
		if n := c.Node; n != nil && len(nodeNames) < maxDrawn {
			cpus = n.CPUs
			nodeNames = append(nodeNames, r.usedFor(c.FigureKey))
			node.Values = append(node.Values, cores(n.UserMilliCPU, n.SystemMilliCPU, n.IRQMilliCPU, n.SoftirqMilliCPU, n.GuestMilliCPU, n.StealMilliCPU))
		}
		for _, f := range c.Functions {
			name := f.Name + ": " + r.usedFor(c.FigureKey)
			switch {
			case len(guestNames) == maxDrawn:
			case f.Guest != nil:
				g := f.Guest
				guestNames = append(guestNames, name)
				guest.Values = append(guest.Values, cores(g.UserMilliCPU, g.SystemMilliCPU, g.IRQMilliCPU, g.SoftirqMilliCPU, 0, g.StealMilliCPU))
			case f.ProcessMilliCPU != nil && *f.ProcessMilliCPU > 0:
				guestNames = append(guestNames, name)
				guest.Values = append(guest.Values, cores(0, 0, 0, 0, *f.ProcessMilliCPU, 0))
			}
		}
	}
	note := fmt.Sprintf("Each bar is named by the figure it was used for and by its rate. The node has %d CPUs; the work of all processes is in it, and that of the generator where it is on the same node. A use is over the time between two looks, which is longer than the sending time: see the table.", cpus)
	s.Figures = append(s.Figures, draw("Cores used on the chain's node, by kind", note, plot.Chart{
		Description: "How many cores of the chain's node were busy at each figure, by the kind of work.",
		X:           plot.Axis{Label: "cores in use", FromZero: true}, Y: plot.Axis{Categories: nodeNames}, Layers: []plot.Layer{node},
	})...)
	s.Figures = append(s.Figures, draw("Cores used by the functions, by kind", "What the guest of each virtual machine counted, and the process of each function in a pod. The node's kernel forwards for pods: that is softirq of the node.", plot.Chart{
		Description: "How many cores each function used at each figure, by the kind of work.",
		X:           plot.Axis{Label: "cores in use", FromZero: true}, Y: plot.Axis{Categories: guestNames}, Layers: []plot.Layer{guest},
	})...)
	if len(r.CPU) > maxDrawn {
		s.Notes = append(s.Notes, fmt.Sprintf("A picture has the first %d uses; the tables have all.", maxDrawn))
	}
	return s
}

func cores(milli ...int64) []float64 {
	out := make([]float64, len(milli))
	for i, m := range milli {
		out[i] = float64(m) / 1e3
	}
	return out
}

// usedFor names a figure with its rate: "NDR, 64 bytes: 412 kfps".
func (r run) usedFor(key v1alpha1.FigureKey) string {
	words := r.about(key)
	for _, frame := range r.Results {
		if frame.Size != key.Size {
			continue
		}
		for _, t := range frame.Throughput {
			if key.Goal == t.Goal {
				return fmt.Sprintf("%s: %s kfps", words, plot.Number(kilo(t.FramesPerSecond)))
			}
		}
		for _, l := range frame.Latency {
			if key.Load != "" && key.Load == l.Load {
				return fmt.Sprintf("%s: %s kfps", words, plot.Number(kilo(l.IntendedFramesPerSecond)))
			}
		}
		for _, f := range frame.FixedLoad {
			if key.Load != "" && key.Load == f.Profile {
				return fmt.Sprintf("%s: %s kfps", words, plot.Number(kilo(f.IntendedFramesPerSecond)))
			}
		}
		if frame.ReceiveRate != nil && key.Goal+key.Load == "" {
			return fmt.Sprintf("%s: receive rate %s kfps", words, plot.Number(kilo(frame.ReceiveRate.MeanFramesPerSecond)))
		}
	}
	if i := slices.IndexFunc(r.tcpStreams(), func(s v1alpha1.TCPStreamsResult) bool { return key.Streams > 0 && s.Streams == key.Streams }); i >= 0 {
		sum := int64(0)
		for _, d := range r.TCP.Streams[i].Directions {
			sum += d.GoodputBitsPerSecond
		}
		return fmt.Sprintf("TCP, %s: %s Mbit/s", words, plot.Number(float64(sum)/1e6))
	}
	return words
}

func (r run) tcpStreams() []v1alpha1.TCPStreamsResult {
	if r.TCP == nil {
		return nil
	}
	return r.TCP.Streams
}

// metricOf names a figure with its metric: "throughput NDR, 64 bytes".
func (r run) metricOf(key v1alpha1.FigureKey) string {
	words := figure.Describe(key.Metric).Words
	if words == "" {
		words = string(key.Metric)
	}
	return words + " " + r.about(key)
}
