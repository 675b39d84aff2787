// Package nodefacts reads how the CPUs of this node are set for a measurement.
// The system's files and the CPUs that this process may use go in, facts come
// out. What cannot be read is left out: a missing fact causes no doubt.
package nodefacts

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/internal/measure"
)

const cpuDirectory = "devices/system/cpu"

// Read reads the facts from sysfs; system is its root.
func Read(system fs.FS, cpus []int) measure.NodeFacts {
	m := measure.NodeFacts{CPUs: slices.Sorted(slices.Values(cpus))}
	m.OnlineCPUs = len(readList(system, cpuDirectory+"/online"))
	isolated := readList(system, cpuDirectory+"/isolated")
	for _, cpu := range m.CPUs {
		if slices.Contains(isolated, cpu) {
			m.IsolatedCPUs = append(m.IsolatedCPUs, cpu)
		}
		governor := readLine(system, fmt.Sprintf("%s/cpu%d/cpufreq/scaling_governor", cpuDirectory, cpu))
		if governor != "" && !slices.Contains(m.ScalingGovernors, governor) {
			m.ScalingGovernors = append(m.ScalingGovernors, governor)
		}
	}
	slices.Sort(m.ScalingGovernors)
	return m
}

func readLine(system fs.FS, name string) string {
	text, err := fs.ReadFile(system, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func readList(system fs.FS, name string) []int {
	cpus, err := ParseList(readLine(system, name))
	if err != nil {
		return nil
	}
	return cpus
}

// maxCPUs keeps a broken range from filling the memory.
const maxCPUs = 1 << 16

// ParseList parses the kernel's lists of CPUs, such as "0-3,8".
func ParseList(text string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(high)
		}
		if err != nil || first < 0 || last < first || last >= maxCPUs {
			return nil, fmt.Errorf("reading the list of CPUs %q: %q is not a CPU or a range", text, part)
		}
		for cpu := first; cpu <= last; cpu++ {
			out = append(out, cpu)
		}
	}
	return out, nil
}

// StarvesSoftirqs reports whether a kernel of a release leaves network work to ksoftirqd as soon as that has some,
// and then does none of it itself ("softirq: Let ksoftirqd do its job", taken back in Linux 6.5).
func StarvesSoftirqs(release string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return n == 2 && (major < 6 || major == 6 && minor < 5)
}
