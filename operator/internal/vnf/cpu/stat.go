package cpu

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// nanosecondsPerTick: /proc/stat counts in USER_HZ, which is 100 on every
// architecture that Kubernetes runs on.
const nanosecondsPerTick = 10_000_000

// parseStat reads the lines "cpu0 user nice system idle iowait irq softirq
// steal guest guest_nice" (proc_stat(5)). The sum line "cpu" is left out:
// readers add up the processors they care for.
func parseStat(text string) ([]Processor, error) {
	var processors []Processor
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") || fields[0] == "cpu" {
			continue
		}
		number, err := strconv.Atoi(strings.TrimPrefix(fields[0], "cpu"))
		if err != nil {
			return nil, fmt.Errorf("%q is no processor", fields[0])
		}
		const wanted = 8
		if len(fields) < 1+wanted {
			return nil, fmt.Errorf("%s has %d counters, want %d or more", fields[0], len(fields)-1, wanted)
		}
		var counters [wanted]uint64
		for i := range counters {
			ticks, err := strconv.ParseUint(fields[1+i], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is no counter", fields[0], fields[1+i])
			}
			counters[i] = ticks * nanosecondsPerTick
		}
		user, nice, system, idle := counters[0], counters[1], counters[2], counters[3]
		iowait, hardirq, softirq, steal := counters[4], counters[5], counters[6], counters[7]
		processors = append(processors, Processor{Processor: number, Times: Times{
			UserNanoseconds:    user + nice,
			SystemNanoseconds:  system,
			HardirqNanoseconds: hardirq,
			SoftirqNanoseconds: softirq,
			StealNanoseconds:   steal,
			IdleNanoseconds:    idle + iowait,
		}})
	}
	if len(processors) == 0 {
		return nil, errors.New("no processor in it")
	}
	return processors, nil
}
