package procedure

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/nodefacts"
)

// steadyGovernor keeps a CPU at one frequency.
const steadyGovernor = "performance"

// GeneratorWarnings returns doubts about the node that made the traffic. sameNode says that the
// chain ran on it too. What the measurer could not read is no doubt.
func GeneratorWarnings(state *measure.GeneratorState, sameNode bool) []v1alpha1.Warning {
	if state == nil {
		return nil
	}
	d := &warningList{seen: map[string]bool{}}
	for _, description := range []*measure.Description{state.Calibration, state.Chain} {
		if description == nil {
			continue
		}
		for _, fallback := range description.Fallbacks {
			d.add(v1alpha1.WarningTransmitFallback, wholeRun, "About the generator: %s.", fallback)
		}
	}
	if different := openedDifferently(state); different != "" {
		d.add(v1alpha1.WarningTransmitFallback, wholeRun,
			"The generator was calibrated in another way than it sent to the device (%s), so its calibrated rate and delay are not those that it has there.", different)
	}
	m := state.Node
	warnModeration(d, state.Chain)
	warnRealTime(d, state)
	if m == nil {
		return d.list
	}
	if changing := unsteadyGovernors(m); len(changing) > 0 {
		d.add(v1alpha1.WarningFrequencyScaling, wholeRun,
			"CPUs of the generator change their frequency with their load (scaling governor %s), so delays depend on what ran before; set the governor to %s.",
			words(changing), steadyGovernor)
	}
	if len(m.CPUs) == 0 || len(m.IsolatedCPUs) == len(m.CPUs) {
		return d.list
	}
	d.add(v1alpha1.WarningNoCPUIsolation, wholeRun,
		"%d of the generator's %s not isolated from the kernel's scheduler, so other work may hold up a frame.",
		len(m.CPUs)-len(m.IsolatedCPUs), plural(len(m.CPUs), "CPU is", "CPUs are"))
	if sameNode && len(m.CPUs) >= m.OnlineCPUs && m.OnlineCPUs > 0 {
		d.add(v1alpha1.WarningSharedCores, wholeRun,
			"The generator may use every CPU of its node (%d), and the chain runs on the same node: what one uses, the other lacks. Where the chain forwards on a core that sends, its limit is what the generator leaves of that core.", m.OnlineCPUs)
	}
	return d.list
}

// openedDifferently returns what the driver does not do alike on both paths; "" where all is alike
// or one of them is not known.
func openedDifferently(state *measure.GeneratorState) string {
	without, with := state.Calibration, state.Chain
	if without == nil || with == nil {
		return ""
	}
	var out []string
	for _, setting := range []struct{ name, without, with string }{
		{"transmit path", without.TransmitPath, with.TransmitPath},
		{"receive mode", without.ReceiveMode, with.ReceiveMode},
		{"threads", strconv.Itoa(without.Threads), strconv.Itoa(with.Threads)},
		{"scheduling", without.Scheduling, with.Scheduling},
	} {
		if setting.without != setting.with {
			out = append(out, fmt.Sprintf("%s %s without the device, %s with it", setting.name, setting.without, setting.with))
		}
	}
	return strings.Join(out, ", ")
}

// warnModeration names the ports whose interrupts wait for more frames.
func warnModeration(d *warningList, description *measure.Description) {
	if description == nil {
		return
	}
	for _, port := range description.Ports {
		if n := ptr.Deref(port.InterruptMicroseconds, 0); n > 0 || port.AdaptiveInterrupts {
			how := fmt.Sprintf("by up to %v", time.Duration(n)*time.Microsecond)
			if port.AdaptiveInterrupts {
				how = "by a time that depends on the traffic"
			}
			d.add(v1alpha1.WarningInterruptModeration, wholeRun,
				"The generator's port %s delays its interrupts %s, which is in the delay of frames that arrive there; set generator.xdp.interruptMicroseconds to 0.",
				port.Interface, how)
		}
	}
}

// warnRealTime names what limits real-time threads on this node, and what they displace.
func warnRealTime(d *warningList, state *measure.GeneratorState) {
	description := state.Chain
	if description == nil {
		description = state.Calibration
	}
	if description == nil || description.Scheduling != string(v1alpha1.SchedulingRealTime) {
		return
	}
	if description.RealTimeLimited {
		d.add(v1alpha1.WarningRealTimeScheduling, wholeRun,
			"The threads that send are scheduled in real time, and the node's kernel limits such threads, "+
				"so it may hold back frames for some 50 ms of each second; set kernel.sched_rt_runtime_us to -1 there.")
	}
	if m := state.Node; m != nil && m.Fingerprint != nil && nodefacts.StarvesSoftirqs(m.Fingerprint.Kernel) {
		d.add(v1alpha1.WarningRealTimeScheduling, wholeRun,
			"The threads that send are scheduled in real time, and Linux before 6.5 may leave network work of their CPUs to ksoftirqd, which never runs next to them, "+
				"so frames may stay in a device on those CPUs for as long as frames are sent; use a newer kernel, or scheduling Fair.")
	}
	if m := state.Node; m != nil && m.OnlineCPUs > 0 && len(m.CPUs) >= m.OnlineCPUs {
		d.add(v1alpha1.WarningRealTimeScheduling, wholeRun,
			"The threads that send are scheduled in real time on a node that set no CPUs aside for the traffic pod (it may use all %d), "+
				"so whatever else is on their CPUs has to wait; use the kubelet's static CPU manager policy.", m.OnlineCPUs)
	}
}

func plural(n int, one, more string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, more)
}
