package observer

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

const (
	// maxTextBytes and maxNICs limit what an unusual command line can put into every result.
	maxTextBytes = 100
	maxNICs      = 16
)

// guestName returns libvirt's name of the virtual machine, or "".
func guestName(arguments []string) string {
	for _, o := range options(arguments) {
		if o.name == "name" {
			return o.values["guest"]
		}
	}
	return ""
}

// option is one of QEMU's, such as -device, with its values.
type option struct {
	name string
	// values are by their keys; the first word without a key has the key "".
	values map[string]string
}

// options reads a command line in both forms that libvirt writes:
// "driver,key=value" and JSON.
func options(arguments []string) []option {
	var out []option
	for i, argument := range arguments {
		if i == 0 || len(argument) < 2 || argument[0] != '-' {
			continue
		}
		o := option{name: strings.TrimLeft(argument, "-"), values: map[string]string{}}
		if i+1 < len(arguments) && !strings.HasPrefix(arguments[i+1], "-") {
			o.values = optionValues(arguments[i+1])
		}
		out = append(out, o)
	}
	return out
}

func optionValues(text string) map[string]string {
	values := map[string]string{}
	if strings.HasPrefix(text, "{") {
		var members map[string]any
		if json.Unmarshal([]byte(text), &members) == nil {
			for key, value := range members {
				values[key] = fmt.Sprint(value)
			}
		}
		for _, key := range []string{"driver", "qom-type", "type"} {
			if values[""] == "" {
				values[""] = values[key]
			}
		}
		return values
	}
	for i, word := range strings.Split(text, ",") {
		key, value, found := strings.Cut(word, "=")
		switch {
		case found:
			values[key] = value
		case i == 0:
			values[""] = word
		default:
			values[word] = "on"
		}
	}
	return values
}

func on(value string) bool { return value == "on" || value == "true" || value == "yes" }

// readDomain reads a virtual machine's effective settings: the arguments of its
// QEMU, and where its threads may run.
func (o *Observer) readDomain(name string, p process) (measure.Domain, error) {
	running, err := o.proc.Proc(p.id)
	if err != nil {
		return measure.Domain{}, fmt.Errorf("reading its command line: %w", err)
	}
	arguments, err := running.CmdLine()
	if err != nil {
		return measure.Domain{}, fmt.Errorf("reading its command line: %w", err)
	}
	domain := parseDomain(arguments)
	domain.Name = name
	folder := path.Join("proc", strconv.Itoa(p.id))
	if held, found := strings.CutSuffix(statusLine(o.files, folder, "HugetlbPages"), " kB"); found {
		if kibibytes, err := strconv.ParseInt(strings.TrimSpace(held), 10, 64); err == nil {
			domain.HugepageKibibytes = &kibibytes
		}
	} else {
		domain.Problems = append(domain.Problems, "the kernel does not say how many hugepages the process holds")
	}
	threads, err := threadsOf(o.proc, p)
	if err != nil {
		return measure.Domain{}, err
	}
	domain.Threads = placement(o.files, threads)
	if wanted, found := vhostNICs(domain), count(domain, measure.ThreadVhost); wanted > 0 && found == 0 {
		domain.Problems = append(domain.Problems,
			"the domain uses vhost, and the node shows no vhost thread of it: this process table is not the whole node's")
	}
	return domain, nil
}

func vhostNICs(domain measure.Domain) int {
	n := 0
	for _, nic := range domain.NICs {
		if nic.Vhost {
			n++
		}
	}
	return n
}

func count(domain measure.Domain, class string) int {
	for _, t := range domain.Threads {
		if t.Class == class {
			return t.Count
		}
	}
	return 0
}

// parseDomain reads a QEMU's command line as libvirt writes it.
func parseDomain(arguments []string) measure.Domain {
	domain := measure.Domain{MemoryBacking: "Anonymous"}
	if len(arguments) > 0 {
		domain.Emulator = bounded(path.Base(arguments[0]))
	}
	all := options(arguments)
	backends, memory := map[string]map[string]string{}, ""
	for _, o := range all {
		switch o.name {
		case "netdev":
			backends[o.values["id"]] = o.values
		case "machine":
			domain.MachineType, memory = bounded(first(o.values, "type")), o.values["memory-backend"]
			if accelerator := o.values["accel"]; accelerator != "" {
				domain.Accelerator = bounded(accelerator)
			}
		case "accel":
			domain.Accelerator = bounded(first(o.values, "accel"))
		case "enable-kvm":
			domain.Accelerator = "kvm"
		case "cpu":
			domain.CPUModel = bounded(o.values[""])
		case "smp":
			if n, err := strconv.Atoi(first(o.values, "cpus")); err == nil {
				domain.VCPUs = n
			}
		}
	}
	for _, o := range all {
		switch o.name {
		case "object":
			backing(&domain, o.values, memory)
		case "device":
			if nic, isNIC := parseNIC(o.values, backends); isNIC && len(domain.NICs) < maxNICs {
				domain.NICs = append(domain.NICs, nic)
			}
		case "mem-path":
			domain.MemoryBacking = backingOf(o.values[""])
		}
	}
	return domain
}

// first returns the word without a key, or that of the key.
func first(values map[string]string, key string) string {
	if values[""] != "" {
		return values[""]
	}
	return values[key]
}

// backing sets what holds the guest's memory, from the memory objects: the
// machine's own, or one for each NUMA node of the guest.
func backing(domain *measure.Domain, values map[string]string, memory string) {
	kind, found := strings.CutPrefix(values[""], "memory-backend-")
	id := values["id"]
	if !found || memory != "" && id != memory || memory == "" && !strings.HasPrefix(id, "ram-node") && id != "pc.ram" && id != "mach-virt.ram" {
		return
	}
	switch kind {
	case "file":
		domain.MemoryBacking = backingOf(values["mem-path"])
	case "memfd":
		domain.MemoryBacking = "Shared"
		if on(values["hugetlb"]) {
			domain.MemoryBacking = "Hugepages"
		}
	}
}

func backingOf(file string) string {
	if strings.Contains(file, "hugepages") || strings.Contains(file, "hugetlbfs") {
		return "Hugepages"
	}
	return "File"
}

// parseNIC reads a device that has a network backend, or one that is passed through.
func parseNIC(values map[string]string, backends map[string]map[string]string) (measure.DomainNIC, bool) {
	nic := measure.DomainNIC{Model: bounded(values[""]), MAC: bounded(values["mac"])}
	if nic.Model == "vfio-pci" {
		nic.HostAddress = bounded(values["host"])
		return nic, true
	}
	backend, found := backends[values["netdev"]]
	if !found || values["netdev"] == "" {
		return nic, false
	}
	nic.Backend = bounded(backend[""])
	nic.Vhost = on(backend["vhost"]) || nic.Backend == "vhost-user" || nic.Backend == "vhost-vdpa"
	nic.Queues = 1
	if descriptors := backend["fds"]; descriptors != "" {
		nic.Queues = strings.Count(descriptors, ":") + 1
	}
	if queues, err := strconv.Atoi(backend["queues"]); err == nil && queues > nic.Queues {
		nic.Queues = queues
	}
	return nic, true
}

func bounded(text string) string {
	return excerpt.Text(text, maxTextBytes)
}
