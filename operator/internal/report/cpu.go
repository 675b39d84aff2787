package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

// cores is a use in whole cores with two digits.
func cores(milliCPU int64) string { return strconv.FormatFloat(float64(milliCPU)/1e3, 'f', 2, 64) }

func coresIfKnown(milliCPU *int64) string {
	if milliCPU == nil {
		return none
	}
	return cores(*milliCPU)
}

func countIfKnown(n *int64) string {
	if n == nil {
		return none
	}
	return count(*n)
}

// figureName is what a CPU use stands beside, for people.
func figureName(c use) string {
	words := map[v1alpha1.CPUFigure]string{
		v1alpha1.CPUAtThroughput: "throughput", v1alpha1.CPUAtLatency: "latency", v1alpha1.CPUAtFixedLoad: "fixed load",
		v1alpha1.CPUAtReceiveRate: "receive rate", v1alpha1.CPUAtSoak: "soak", v1alpha1.CPUAtTCP: "TCP", v1alpha1.CPUAtConnections: "connections",
	}
	name := strings.TrimSpace(words[c.Figure] + " " + c.Name)
	switch {
	case c.streams == 1:
		name += ", 1 connection"
	case c.streams > 1:
		name += fmt.Sprintf(", %d connections", c.streams)
	}
	return name
}

// use is a CPU use with what it stands beside.
type use struct {
	v1alpha1.CPUResult
	// frameBytes and mix are those of the frames; frameBytes is 0 with TCP.
	frameBytes int32
	mix        string
	// streams is the number of TCP connections; 0 without TCP.
	streams int32
}

// frames is the size as a cell.
func (u use) frames() string {
	if u.frameBytes == 0 {
		return none
	}
	return count(u.frameBytes)
}

func eachCPU(doc Document, visit func(c use)) {
	for _, frame := range doc.Results {
		for _, c := range frame.CPU {
			visit(use{CPUResult: c, frameBytes: frame.FrameBytes, mix: frame.Mix})
		}
	}
	if doc.TCP != nil {
		for _, s := range doc.TCP.Streams {
			if s.CPU != nil {
				visit(use{CPUResult: *s.CPU, streams: s.Streams})
			}
		}
	}
	eachConnections(doc, func(l v1alpha1.ConnectionsLoadResult) {
		if l.CPU != nil {
			visit(use{CPUResult: *l.CPU})
		}
	})
}

func nodeCPUSection(doc Document) section {
	s := section{title: "Cores used on the chain's node, by whomever", columns: []column{
		number("Frame bytes"), left("At"), number("Trials"), number("CPUs"), number("User"), number("System"), number("Interrupt"),
		number("Softirq"), number("of it deferred"), number("Guests"), number("Steal"),
	}}
	eachCPU(doc, func(c use) {
		if n := c.Node; n != nil {
			s.rows = append(s.rows, []string{
				c.frames(), figureName(c), count(c.Trials), count(n.CPUs), cores(n.UserMilliCPU), cores(n.SystemMilliCPU),
				cores(n.IRQMilliCPU), cores(n.SoftirqMilliCPU), coresIfKnown(n.SoftirqThreadsMilliCPU), cores(n.GuestMilliCPU), cores(n.StealMilliCPU),
			})
		}
	})
	if len(s.rows) > 0 {
		s.notes = []string{"Forwarding by a pod is in softirq. Where the generator is on the same node, so is its part."}
	}
	return s
}

func functionCPUSection(doc Document) section {
	s := section{title: "Cores used by each function", columns: []column{
		number("Frame bytes"), left("At"), left("Function"), number("Process"),
		number("Guest: user"), number("Guest: system"), number("Guest: interrupt"), number("Guest: softirq"), number("Guest: steal"),
		number("Node: vCPUs"), number("of it in the guest"), number("Node: emulator"), number("Node: I/O threads"), number("Node: vhost"),
		number("Dropped frames"),
	}}
	eachCPU(doc, func(c use) {
		for _, f := range c.Functions {
			row := []string{c.frames(), figureName(c), f.Name, coresIfKnown(f.ProcessMilliCPU)}
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
	return withoutEmptyColumns(s)
}

// withoutEmptyColumns leaves out what no row knows: a chain of pods has no guests.
func withoutEmptyColumns(s section) section {
	for i := len(s.columns) - 1; i >= 0; i-- {
		if slices.ContainsFunc(s.rows, func(row []string) bool { return row[i] != none }) {
			continue
		}
		s.columns = slices.Delete(s.columns, i, i+1)
		for j := range s.rows {
			s.rows[j] = slices.Delete(s.rows[j], i, i+1)
		}
	}
	return s
}

// platformSections are what the figures hold for: the nodes and the virtual machines.
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
	for _, port := range f.Interfaces {
		add("Port", portInWords(port))
	}
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

// cpuHead are the columns of what was used. A row has one kind of one function,
// or of the node where function is empty.
var cpuHead = []string{"function", "cpuKind", "milliCPU", "droppedFrames"}

func cpuRows(doc Document) []row {
	var rows []row
	eachCPU(doc, func(c use) {
		add := func(function, kind string, milliCPU *int64) {
			if milliCPU == nil {
				return
			}
			r := cpuRow(doc, c, function, "CPU")
			r["cpuKind"] = kind
			r.set("milliCPU", *milliCPU)
			rows = append(rows, r)
		}
		if n := c.Node; n != nil {
			add("", "nodeUser", &n.UserMilliCPU)
			add("", "nodeSystem", &n.SystemMilliCPU)
			add("", "nodeIRQ", &n.IRQMilliCPU)
			add("", "nodeSoftirq", &n.SoftirqMilliCPU)
			add("", "nodeSoftirqThreads", n.SoftirqThreadsMilliCPU)
			add("", "nodeGuest", &n.GuestMilliCPU)
			add("", "nodeSteal", &n.StealMilliCPU)
		}
		for _, f := range c.Functions {
			add(f.Name, "process", f.ProcessMilliCPU)
			if g := f.Guest; g != nil {
				add(f.Name, "guestUser", &g.UserMilliCPU)
				add(f.Name, "guestSystem", &g.SystemMilliCPU)
				add(f.Name, "guestIRQ", &g.IRQMilliCPU)
				add(f.Name, "guestSoftirq", &g.SoftirqMilliCPU)
				add(f.Name, "guestSteal", &g.StealMilliCPU)
			}
			if d := f.Domain; d != nil {
				add(f.Name, "vcpu", d.VCPUMilliCPU)
				add(f.Name, "vcpuInGuest", d.GuestMilliCPU)
				add(f.Name, "emulator", d.EmulatorMilliCPU)
				add(f.Name, "ioThread", d.IOThreadMilliCPU)
				add(f.Name, "vhost", d.VhostMilliCPU)
				add(f.Name, "other", d.OtherMilliCPU)
			}
			if f.DroppedFrames != nil || f.SentFrames != nil {
				r := cpuRow(doc, c, f.Name, "Counters")
				if f.DroppedFrames != nil {
					r.set("droppedFrames", *f.DroppedFrames)
				}
				if f.SentFrames != nil {
					r.set("sentFrames", *f.SentFrames)
				}
				rows = append(rows, r)
			}
			rows = append(rows, counterRows(doc, c, f)...)
		}
	})
	return rows
}

// cpuRow begins a row of a figure such as latencyCPU or throughputCounters.
func cpuRow(doc Document, c use, function, kind string) row {
	r := origin(doc)
	name := string(c.Figure)
	r["figure"], r["mix"], r["function"] = strings.ToLower(name[:min(1, len(name))])+name[min(1, len(name)):]+kind, c.mix, function
	r.set("trials", int64(c.Trials))
	switch c.Figure {
	case v1alpha1.CPUAtTCP:
		r["figure"] = "tcp" + kind
		r.set("streams", int64(c.streams))
		return r
	case v1alpha1.CPUAtConnections:
		r["load"] = c.Name
		return r
	case v1alpha1.CPUAtThroughput:
		r["goal"] = c.Name
	default:
		r["load"] = c.Name
	}
	r.set("frameBytes", int64(c.frameBytes))
	return r
}
