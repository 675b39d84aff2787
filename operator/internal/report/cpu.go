package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

// cores returns a use in whole cores with two digits.
func cores(milliCPU int64) string { return strconv.FormatFloat(float64(milliCPU)/1e3, 'f', 2, 64) }

func coresIfKnown(milliCPU *int64) string {
	if milliCPU == nil {
		return none
	}
	return cores(*milliCPU)
}

func percentIfKnown(partsPerMillion *int64) string {
	if partsPerMillion == nil {
		return none
	}
	return percent(*partsPerMillion)
}

func countIfKnown(n *int64) string {
	if n == nil {
		return none
	}
	return count(*n)
}

// usedFor describes, for people, what the CPU was used for.
func usedFor(key v1alpha1.FigureKey) string {
	switch {
	case key.Streams == 1:
		return "TCP, 1 connection"
	case key.Streams > 1:
		return fmt.Sprintf("TCP, %d connections", key.Streams)
	case key.Size == "":
		return "connections " + key.Load
	case key.Goal != "":
		return "throughput " + key.Goal
	case key.Load != "":
		return "load " + key.Load
	}
	return "receive rate"
}

// use is a CPU use with the name of its size for people.
type use struct {
	v1alpha1.CPUResult
	frames string
}

func eachCPU(doc Document, visit func(c use)) {
	names := map[string]string{"": none}
	for _, frame := range doc.Results {
		names[frame.Size] = frameName(frame)
	}
	for _, c := range doc.CPU {
		visit(use{c, names[c.Size]})
	}
}

func nodeCPUSection(doc Document) section {
	s := section{title: "Cores used on the chain's node, by all processes", columns: []column{
		number("Size"), left("At"), number("Trials"), number(sendingHead), number("CPUs"), number("User"), number("System"), number("Interrupt"),
		number("Softirq"), number("of it deferred"), number("Guests"), number("Steal"),
	}}
	eachCPU(doc, func(c use) {
		if n := c.Node; n != nil {
			s.rows = append(s.rows, []string{
				c.frames, usedFor(c.FigureKey), count(c.Trials), percentIfKnown(c.SendingPartsPerMillion), count(n.CPUs), cores(n.UserMilliCPU), cores(n.SystemMilliCPU),
				cores(n.IRQMilliCPU), cores(n.SoftirqMilliCPU), coresIfKnown(n.SoftirqThreadsMilliCPU), cores(n.GuestMilliCPU), cores(n.StealMilliCPU),
			})
		}
	})
	if len(s.rows) > 0 {
		s.notes = []string{"Forwarding by a pod counts as softirq. Where the generator is on the same node, its softirq time is included."}
	}
	return withSending(dropIfEmpty(s, sendingHead))
}

func functionCPUSection(doc Document) section {
	s := section{title: "Cores used by each function", columns: []column{
		number("Size"), left("At"), number(sendingHead), left("Function"), number("Process"),
		number("Guest: user"), number("Guest: system"), number("Guest: interrupt"), number("Guest: softirq"), number("Guest: steal"),
		number("Node: vCPUs"), number("of it in the guest"), number("Node: emulator"), number("Node: I/O threads"), number("Node: vhost"),
		number("Dropped frames"),
	}}
	eachCPU(doc, func(c use) {
		for _, f := range c.Functions {
			row := []string{c.frames, usedFor(c.FigureKey), percentIfKnown(c.SendingPartsPerMillion), f.Name, coresIfKnown(f.ProcessMilliCPU)}
			if g := f.Guest; g != nil {
				row = append(row, cores(g.UserMilliCPU), cores(g.SystemMilliCPU), cores(g.IRQMilliCPU), cores(g.SoftirqMilliCPU), cores(g.StealMilliCPU))
			} else {
				row = append(row, none, none, none, none, none)
			}
			d := v1alpha1.DomainCPU{}
			if f.Domain != nil {
				d = *f.Domain
			}
			row = append(row, coresIfKnown(d.VCPUMilliCPU), coresIfKnown(d.GuestMilliCPU), coresIfKnown(d.EmulatorMilliCPU),
				coresIfKnown(d.IOThreadMilliCPU), coresIfKnown(d.VhostMilliCPU))
			s.rows = append(s.rows, append(row, countIfKnown(f.DroppedFrames)))
		}
	})
	return withSending(withoutEmptyColumns(s))
}

// sendingHead is the column that says by how much a use may be diluted.
const sendingHead = "Sending %"

// withSending explains the column where there is one.
func withSending(s section) section {
	if slices.ContainsFunc(s.columns, func(c column) bool { return c.head == sendingHead }) {
		s.notes = append(s.notes, "A use is over the time between two looks. Sending is the share of it in which the trials sent, the smallest of node and functions: meanwhile the use was at most the figure divided by this share.")
	}
	return s
}

// nodeCostSection and functionCostSection have no row where no frame was counted.
func nodeCostSection(doc Document) section {
	s := section{title: "CPU time of the chain's node for each frame, by all processes", columns: []column{
		number("Size"), left("At"), number("Frames"), number("User ns"), number("System ns"), number("Interrupt ns"),
		number("Softirq ns"), number("of it deferred ns"), number("Guests ns"), number("Steal ns"), number("Cycles"),
	}}
	eachCPU(doc, func(c use) {
		if c.Node == nil || c.Node.PerFrame == nil {
			return
		}
		n := c.Node.PerFrame
		s.rows = append(s.rows, []string{
			c.frames, usedFor(c.FigureKey), countIfKnown(c.SentFrames), count(n.UserNanoseconds), count(n.SystemNanoseconds), count(n.IRQNanoseconds),
			count(n.SoftirqNanoseconds), countIfKnown(n.SoftirqThreadsNanoseconds), count(n.GuestNanoseconds), count(n.StealNanoseconds), countIfKnown(n.Cycles),
		})
	})
	if len(s.rows) > 0 {
		s.notes = []string{"What the node did besides is in it: at a low load that is most of it."}
	}
	return withoutColumnIfEmpty(s, len(s.columns)-1)
}

func functionCostSection(doc Document) section {
	s := section{title: "CPU time of each function for each frame", columns: []column{
		number("Size"), left("At"), left("Function"), number("Process ns"),
		number("Guest: user ns"), number("Guest: system ns"), number("Guest: interrupt ns"), number("Guest: softirq ns"), number("Guest: steal ns"),
		number("Node: vCPUs ns"), number("of it in the guest ns"), number("Node: emulator ns"), number("Node: I/O threads ns"), number("Node: vhost ns"),
	}}
	eachCPU(doc, func(c use) {
		for _, f := range c.Functions {
			row := []string{c.frames, usedFor(c.FigureKey), f.Name, countIfKnown(f.ProcessNanosecondsPerFrame)}
			if f.Guest != nil && f.Guest.PerFrame != nil {
				g := f.Guest.PerFrame
				row = append(row, count(g.UserNanoseconds), count(g.SystemNanoseconds), count(g.IRQNanoseconds), count(g.SoftirqNanoseconds), count(g.StealNanoseconds))
			} else {
				row = append(row, none, none, none, none, none)
			}
			d := v1alpha1.DomainFrameCost{}
			if f.Domain != nil && f.Domain.PerFrame != nil {
				d = *f.Domain.PerFrame
			}
			row = append(row, countIfKnown(d.VCPUNanoseconds), countIfKnown(d.GuestNanoseconds), countIfKnown(d.EmulatorNanoseconds),
				countIfKnown(d.IOThreadNanoseconds), countIfKnown(d.VhostNanoseconds))
			if slices.ContainsFunc(row[3:], func(cell string) bool { return cell != none }) {
				s.rows = append(s.rows, row)
			}
		}
	})
	return withoutEmptyColumns(s)
}

// withoutEmptyColumns removes columns without values: a chain of pods has no guests.
func withoutEmptyColumns(s section) section {
	for i := len(s.columns) - 1; i >= 0; i-- {
		s = withoutColumnIfEmpty(s, i)
	}
	return s
}

// dropIfEmpty leaves the column of a head out if no row has anything in it.
func dropIfEmpty(s section, head string) section {
	return withoutColumnIfEmpty(s, slices.IndexFunc(s.columns, func(c column) bool { return c.head == head }))
}

func withoutColumnIfEmpty(s section, i int) section {
	if slices.ContainsFunc(s.rows, func(row []string) bool { return row[i] != none }) {
		return s
	}
	s.columns = slices.Delete(s.columns, i, i+1)
	for j := range s.rows {
		s.rows[j] = slices.Delete(s.rows[j], i, i+1)
	}
	return s
}

// platformSections returns what the figures apply to: the nodes and the virtual machines.
func platformSections(doc Document) []section {
	var out []section
	if doc.Generator != nil && doc.Generator.Fingerprint != nil {
		out = append(out, fingerprintSection("Platform of the generator", *doc.Generator.Fingerprint))
	}
	if doc.Device == nil {
		return out
	}
	if f := doc.Device.Fingerprint; f != nil {
		switch g := doc.Generator; {
		case g != nil && g.Fingerprint != nil && g.Fingerprint.Digest == f.Digest:
			out = append(out, section{title: "Platform of the chain", facts: []fact{{"Digest", f.Digest + ", the same as the generator's"}}})
		default:
			out = append(out, fingerprintSection("Platform of the chain", *f))
		}
	}
	for _, d := range doc.Device.Domains {
		out = append(out, domainSection(d))
	}
	if len(doc.Device.Problems) > 0 {
		out = append(out, section{title: "Not known about the chain's node", notes: doc.Device.Problems})
	}
	return out
}

func fingerprintSection(title string, f v1alpha1.Fingerprint) section {
	s := section{title: title}
	add := func(name, value string) {
		if value != "" {
			s.facts = append(s.facts, fact{name, value})
		}
	}
	number := func(name string, n int32) {
		if n > 0 {
			add(name, count(n))
		}
	}
	add("Digest", f.Digest)
	add("CPU", f.CPUModel)
	add("Microcode", f.Microcode)
	number("CPUs", f.CPUs)
	number("Cores", f.Cores)
	number("Sockets", f.Sockets)
	add("SMT", f.SMT)
	number("NUMA nodes", f.NUMANodes)
	add("Kernel", f.Kernel)
	add("Kernel parameters", strings.Join(f.KernelParameters, " "))
	add("Scaling driver", f.ScalingDriver)
	add("Scaling governor", strings.Join(f.ScalingGovernors, ", "))
	add("Turbo", f.Turbo)
	add("Isolated CPUs", f.IsolatedCPUs)
	add("Tickless CPUs", f.TicklessCPUs)
	for _, m := range f.Vulnerabilities {
		add("Mitigation", m.Name+": "+m.State)
	}
	for _, pool := range f.HugepagePools {
		add("Hugepages", fmt.Sprintf("%d of %d KiB", pool.Pages, pool.SizeKibibytes))
	}
	add("Transparent hugepages", f.TransparentHugepages)
	add("Clock source", f.ClockSource)
	add("Hypervisor", f.Hypervisor)
	add("Product", f.Product)
	return s
}

func domainSection(d v1alpha1.DomainReport) section {
	s := section{title: fmt.Sprintf("Virtual machine of %s, as it ran", d.Function)}
	add := func(name, value string) {
		if value != "" {
			s.facts = append(s.facts, fact{name, value})
		}
	}
	add("Accelerator", d.Accelerator)
	add("Machine type", d.MachineType)
	add("CPU model", d.CPUModel)
	if d.VCPUs > 0 {
		add("vCPUs", count(d.VCPUs))
	}
	add("Memory backing", d.MemoryBacking)
	if d.HugepageKibibytes != nil && *d.HugepageKibibytes > 0 {
		add("In hugepages", fmt.Sprintf("%d KiB", *d.HugepageKibibytes))
	}
	for _, nic := range d.Interfaces {
		add("NIC", nicInWords(nic))
	}
	for _, threads := range d.ThreadGroups {
		add("Threads", threadsInWords(threads))
	}
	for _, problem := range d.Problems {
		add("Not known", problem)
	}
	return s
}
