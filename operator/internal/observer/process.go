package observer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"vnfbench.io/operator/internal/measure"
)

// millisecondsPerTick: /proc counts in USER_HZ, which is 100 on every
// architecture that Kubernetes runs on.
const millisecondsPerTick = 10

// process is one process or thread.
type process struct {
	id         int
	startTicks uint64
	comm       string
	// vhosts are a virtual machine's vhost threads where the kernel runs them
	// beside its process, as it does up to Linux 6.3.
	vhosts []process
}

// look makes sure that every process it wants is known, and goes through the
// node's process table where one is not, or is another by now.
func (o *Observer) look() error {
	stale := !o.looked
	for _, p := range o.softirqThreads {
		stale = stale || !o.still(p)
	}
	for _, name := range o.guests {
		found, ok := o.found[name]
		stale = stale || !ok || !o.still(found)
	}
	if !stale {
		return nil
	}
	return o.lookAtAll()
}

// still says that a process is the one that was found.
func (o *Observer) still(p process) bool {
	now, err := readStat(o.root, path.Join("proc", strconv.Itoa(p.id), "stat"))
	return err == nil && now.startTicks == p.startTicks
}

func (o *Observer) lookAtAll() error {
	entries, err := fs.ReadDir(o.root, "proc")
	if err != nil {
		return fmt.Errorf("listing the node's processes: %w", err)
	}
	o.looked, o.softirqThreads, o.found = true, nil, map[string]process{}
	wanted, vhosts := map[string]bool{}, map[string][]process{}
	for _, name := range o.guests {
		wanted[name] = true
	}
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		folder := path.Join("proc", entry.Name())
		// A process may end between the listing and here.
		stat, err := readStat(o.root, folder+"/stat")
		if err != nil {
			continue
		}
		p := process{id: id, startTicks: stat.startTicks, comm: stat.comm}
		switch {
		case strings.HasPrefix(stat.comm, vhostPrefix) && stat.kernelThread():
			vhosts[stat.comm] = append(vhosts[stat.comm], p)
		case strings.HasPrefix(stat.comm, "ksoftirqd/") && stat.kernelThread():
			o.softirqThreads = append(o.softirqThreads, p)
		case len(wanted) > 0 && strings.HasPrefix(stat.comm, "qemu"):
			if arguments, err := readArguments(o.root, id); err == nil && wanted[guestName(arguments)] {
				o.found[guestName(arguments)] = p
			}
		}
	}
	for name, p := range o.found {
		p.vhosts = vhostsOf(o.root, p, vhosts)
		o.found[name] = p
	}
	return nil
}

// vhostsOf are the kernel threads that are named after a thread of the process.
func vhostsOf(root fs.FS, p process, vhosts map[string][]process) []process {
	if len(vhosts) == 0 {
		return nil
	}
	entries, err := fs.ReadDir(root, path.Join("proc", strconv.Itoa(p.id), "task"))
	if err != nil {
		return nil
	}
	var mine []process
	for _, entry := range entries {
		mine = append(mine, vhosts[vhostPrefix+entry.Name()]...)
	}
	return mine
}

// softirqTime is that of all ksoftirqd threads, or nil where there are none.
func (o *Observer) softirqTime() *int64 {
	if len(o.softirqThreads) == 0 {
		return nil
	}
	sum := int64(0)
	for _, p := range o.softirqThreads {
		stat, err := readStat(o.root, path.Join("proc", strconv.Itoa(p.id), "stat"))
		if err != nil {
			// A CPU that is taken offline takes its thread with it.
			continue
		}
		sum += stat.milliseconds()
	}
	return &sum
}

// stat is a line of /proc/<process>/stat (proc_pid_stat(5)).
type stat struct {
	comm                 string
	flags                uint64
	userTicks, sysTicks  int64
	startTicks           uint64
	priority, policy     int
	guestTicks           int64
	hasPolicy, hasGuests bool
}

const kernelThreadFlag = 0x00200000 // PF_KTHREAD, include/linux/sched.h

func (s stat) kernelThread() bool { return s.flags&kernelThreadFlag != 0 }

func (s stat) milliseconds() int64 { return (s.userTicks + s.sysTicks) * millisecondsPerTick }

func readStat(root fs.FS, name string) (stat, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(text))
}

// parseStat reads the line. The name in parentheses may hold blanks and
// parentheses itself, so fields are counted from the last one.
func parseStat(text string) (stat, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, errors.New("a stat line without a name in parentheses")
	}
	s := stat{comm: text[open+1 : end]}
	// fields[0] is the third field of the manual.
	fields := strings.Fields(text[end+1:])
	const first, flags, user, system, start, priority, policy, guest = 3, 9, 14, 15, 22, 40, 41, 43
	if len(fields) <= start-first {
		return stat{}, fmt.Errorf("the stat line of %q has %d fields, want %d or more", s.comm, len(fields)+2, start)
	}
	var broken error
	number := func(field int) int64 {
		n, err := strconv.ParseInt(fields[field-first], 10, 64)
		if err != nil {
			broken = fmt.Errorf("field %d of the stat line of %q: %q is no number", field, s.comm, fields[field-first])
		}
		return n
	}
	s.flags, s.userTicks, s.sysTicks, s.startTicks = uint64(number(flags)), number(user), number(system), uint64(number(start))
	if len(fields) > policy-first {
		s.priority, s.policy, s.hasPolicy = int(number(priority)), int(number(policy)), true
	}
	if len(fields) > guest-first {
		s.guestTicks, s.hasGuests = number(guest), true
	}
	return s, broken
}

// readNodeTime reads the node's time and how many CPUs are online out of
// /proc/stat (proc_stat(5)).
func readNodeTime(root fs.FS) (measure.CPUTime, int, error) {
	text, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return measure.CPUTime{}, 0, fmt.Errorf("reading the node's processor time: %w", err)
	}
	return parseNodeTime(string(text))
}

func parseNodeTime(text string) (measure.CPUTime, int, error) {
	var sum []int64
	cpus := 0
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu"):
			continue
		case fields[0] != "cpu":
			cpus++
			continue
		}
		for _, field := range fields[1:] {
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return measure.CPUTime{}, 0, fmt.Errorf("reading the node's processor time: %q is no counter", field)
			}
			sum = append(sum, ticks*millisecondsPerTick)
		}
	}
	const wanted = 10
	if len(sum) < wanted || cpus == 0 {
		return measure.CPUTime{}, 0, fmt.Errorf("reading the node's processor time: %d counters of %d CPUs, want %d of at least one", len(sum), cpus, wanted)
	}
	guest, guestNice := sum[8], sum[9]
	return measure.CPUTime{
		// The kernel counts guests in user and nice as well.
		UserMilliseconds: max(0, sum[0]-guest), NiceMilliseconds: max(0, sum[1]-guestNice), SystemMilliseconds: sum[2],
		IdleMilliseconds: sum[3], IOWaitMilliseconds: sum[4], IRQMilliseconds: sum[5], SoftirqMilliseconds: sum[6],
		StealMilliseconds: sum[7], GuestMilliseconds: guest + guestNice,
	}, cpus, nil
}
