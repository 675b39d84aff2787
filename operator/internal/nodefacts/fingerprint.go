package nodefacts

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

const (
	cpuFolder = "sys/devices/system/cpu"
	// maxParameters and maxTextBytes limit what an unusual node can put into
	// every result.
	maxParameters = 32
	maxTextBytes  = 200
)

// timingParameters are the kernel's parameters that affect timing. The others
// are left out: command lines contain addresses, and sometimes secrets.
var timingParameters = map[string]bool{
	"isolcpus": true, "nohz": true, "nohz_full": true, "rcu_nocbs": true, "rcu_nocb_poll": true, "irqaffinity": true,
	"kthread_cpus": true, "skew_tick": true, "threadirqs": true, "preempt": true, "nosmt": true, "maxcpus": true, "nr_cpus": true,
	"mitigations": true, "spectre_v2": true, "spec_store_bypass_disable": true, "l1tf": true, "mds": true, "retbleed": true, "pti": true, "nopti": true,
	"idle": true, "nohlt": true, "cpuidle.off": true, "intel_idle.max_cstate": true, "processor.max_cstate": true,
	"intel_pstate": true, "amd_pstate": true, "cpufreq.default_governor": true, "cpufreq.off": true,
	"hugepages": true, "hugepagesz": true, "default_hugepagesz": true, "transparent_hugepage": true, "numa_balancing": true,
	"intel_iommu": true, "amd_iommu": true, "iommu": true, "iommu.passthrough": true, "pci": true,
	"tsc": true, "clocksource": true, "hpet": true, "nosoftlockup": true, "nowatchdog": true, "nmi_watchdog": true, "mce": true, "audit": true,
}

// timingPrefixes are the modules whose parameters affect timing.
var timingPrefixes = []string{"kvm.", "kvm_intel.", "kvm_amd.", "kvm-intel.", "kvm-amd.", "vhost.", "vhost_net.", "haltpoll.", "rcutree.", "rcupdate."}

// Fingerprint reads the facts about a node from /proc and /sys; root is "/". It
// leaves out what it cannot read.
func Fingerprint(root fs.FS) measure.Fingerprint {
	info := cpuInfo(root)
	f := measure.Fingerprint{
		CPUModel:             short(info["model name"]),
		Microcode:            short(info["microcode"]),
		CPUs:                 len(readList(root, cpuFolder+"/online")),
		SMT:                  short(readLine(root, cpuFolder+"/smt/control")),
		NUMANodes:            len(readList(root, "sys/devices/system/node/online")),
		Kernel:               kernel(root),
		KernelParameters:     kernelParameters(readLine(root, "proc/cmdline")),
		ScalingDriver:        short(readLine(root, cpuFolder+"/cpu0/cpufreq/scaling_driver")),
		Turbo:                turbo(root),
		IsolatedCPUs:         short(readLine(root, cpuFolder+"/isolated")),
		TicklessCPUs:         tickless(root),
		Mitigations:          mitigations(root),
		Hugepages:            hugepages(root),
		TransparentHugepages: bracketed(readLine(root, "sys/kernel/mm/transparent_hugepage/enabled")),
		ClockSource:          short(readLine(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")),
		Hypervisor:           slices.Contains(strings.Fields(info["flags"]), "hypervisor"),
		Product:              product(root),
	}
	f.Cores, f.Sockets = topology(root)
	for _, cpu := range readList(root, cpuFolder+"/online") {
		governor := short(readLine(root, cpuFolder+"/cpu"+strconv.Itoa(cpu)+"/cpufreq/scaling_governor"))
		if governor != "" && !slices.Contains(f.ScalingGovernors, governor) {
			f.ScalingGovernors = append(f.ScalingGovernors, governor)
		}
	}
	slices.Sort(f.ScalingGovernors)
	return f.Sealed()
}

// ReadNode returns the facts for a process that measures nothing: every online
// CPU, and the fingerprint. root is "/".
func ReadNode(root fs.FS) measure.NodeFacts {
	system, err := fs.Sub(root, "sys")
	if err != nil {
		// "sys" is a valid path.
		panic(err)
	}
	m := Read(system, readList(root, cpuFolder+"/online"))
	fingerprint := Fingerprint(root)
	m.Fingerprint = &fingerprint
	return m
}

// cpuInfo returns the first processor of /proc/cpuinfo.
func cpuInfo(root fs.FS) map[string]string {
	info := map[string]string{}
	text, err := fs.ReadFile(root, "proc/cpuinfo")
	if err != nil {
		return info
	}
	for line := range strings.Lines(string(text)) {
		name, value, found := strings.Cut(line, ":")
		if !found {
			if len(info) > 0 {
				break
			}
			continue
		}
		info[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return info
}

func kernel(root fs.FS) string {
	release, version := readLine(root, "proc/sys/kernel/osrelease"), readLine(root, "proc/sys/kernel/version")
	return short(strings.TrimSpace(release + " " + version))
}

func kernelParameters(line string) []string {
	var kept []string
	for word := range strings.FieldsSeq(line) {
		if word == "--" {
			// The rest is for init.
			break
		}
		name, _, _ := strings.Cut(word, "=")
		known := timingParameters[name] || slices.ContainsFunc(timingPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if known && len(kept) < maxParameters {
			kept = append(kept, short(word))
		}
	}
	return kept
}

// topology counts cores and packages from the CPUs' own files.
func topology(root fs.FS) (cores, sockets int) {
	seenCores, seenSockets := map[string]bool{}, map[string]bool{}
	for _, cpu := range readList(root, cpuFolder+"/online") {
		folder := cpuFolder + "/cpu" + strconv.Itoa(cpu) + "/topology"
		if siblings := readLine(root, folder+"/thread_siblings_list"); siblings != "" {
			seenCores[siblings] = true
		}
		if socket := readLine(root, folder+"/physical_package_id"); socket != "" {
			seenSockets[socket] = true
		}
	}
	return len(seenCores), len(seenSockets)
}

// turbo returns the turbo state; Intel's driver reports its opposite.
func turbo(root fs.FS) string {
	enabled := map[string]string{"1": "Enabled", "0": "Disabled"}
	if text := readLine(root, cpuFolder+"/intel_pstate/no_turbo"); text != "" {
		return map[string]string{"0": "Enabled", "1": "Disabled"}[text]
	}
	return enabled[readLine(root, cpuFolder+"/cpufreq/boost")]
}

// tickless returns the tickless CPUs; none where the kernel reports "(null)".
func tickless(root fs.FS) string {
	text := readLine(root, cpuFolder+"/nohz_full")
	if strings.HasPrefix(text, "(") {
		return ""
	}
	return short(text)
}

func mitigations(root fs.FS) map[string]string {
	folder := cpuFolder + "/vulnerabilities"
	entries, err := fs.ReadDir(root, folder)
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for _, entry := range entries {
		text := readLine(root, path.Join(folder, entry.Name()))
		if text != "" && text != "Not affected" && len(found) < maxParameters {
			found[short(entry.Name())] = short(text)
		}
	}
	return found
}

func hugepages(root fs.FS) map[int]int {
	const folder = "sys/kernel/mm/hugepages"
	entries, err := fs.ReadDir(root, folder)
	if err != nil {
		return nil
	}
	found := map[int]int{}
	for _, entry := range entries {
		size, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(entry.Name(), "hugepages-"), "kB"))
		if err != nil {
			continue
		}
		count, err := strconv.Atoi(readLine(root, path.Join(folder, entry.Name(), "nr_hugepages")))
		if err == nil && count > 0 {
			found[size] = count
		}
	}
	return found
}

// bracketed returns the selected word of "always [madvise] never".
func bracketed(text string) string {
	_, rest, _ := strings.Cut(text, "[")
	chosen, _, _ := strings.Cut(rest, "]")
	return chosen
}

func product(root fs.FS) string {
	vendor, name := readLine(root, "sys/class/dmi/id/sys_vendor"), readLine(root, "sys/class/dmi/id/product_name")
	return short(strings.TrimSpace(vendor + " " + name))
}

// short returns a text as one line within its limit.
func short(text string) string {
	return excerpt.Line(text, maxTextBytes)
}
