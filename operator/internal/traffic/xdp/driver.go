// Package xdp makes and measures traffic with XDP programs. It takes a measure.Path and,
// trial by trial, a load, and returns a measure.Outcome. It needs no DPDK, no hugepages
// and no binding of network cards, only the capabilities BPF and NET_ADMIN.
//
// docs/concepts/xdp-driver.md explains how it works and where its limits are.
package xdp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/xdp/planning"
)

// How frames leave a port.
const (
	// Auto finds out with probe frames. Other choices have their own Auto.
	Auto = "Auto"
	// Direct redirects frames to the port itself: a network card that
	// transmits XDP frames, or a veth whose peer has NAPI.
	Direct = "Direct"
	// InnerVeth inserts a veth pair inside the pod: it works on every port.
	InnerVeth = "InnerVeth"
)

// How the driver receives frames.
const (
	Native  = "Native"
	Generic = "Generic"
	// TrafficControl is how the driver receives frames if a port has a VLAN tag.
	TrafficControl = "TrafficControl"
)

// Config is what Open needs. Only Path has no default.
type Config struct {
	Path measure.Path
	// Threads is how many cores send, 1 or 2. 0 takes 2 if there are two streams and at
	// least three CPUs, so that one stays free for the rest.
	Threads int
	// TransmitPath is Auto (the default), Direct or InnerVeth.
	TransmitPath string
	// ReceiveMode is Auto (the default), Native or Generic. A path with VLAN tags has
	// only Auto.
	ReceiveMode string
	// Scheduling is Auto (the default), Fair or RealTime.
	Scheduling string
	// RingFrames is how many frames that are due may wait until the device has done its work
	// for those before, 1 to planning.MaxRingFrames, by default planning.DefaultRingFrames.
	RingFrames int
	// BatchFrames is how many frames of a trial at a load may leave together, by default
	// ratedBatch, and fewer with a slow device. Only the benchmark sets it.
	BatchFrames int
	// TimeAll has every frame timed as fast as possible too, and not only a part of them, for a benchmark.
	TimeAll bool
	// InterruptMicroseconds is for how long the ports may delay an interrupt, if they can; nil
	// leaves them as they are.
	InterruptMicroseconds *int
	// ProbeTimeout is how long Open looks for a way through the chain, by default 5 s. It
	// must outlast the time that a device needs before it forwards.
	ProbeTimeout time.Duration

	withoutTCX bool
	// carrierTimeout is carrierTimeout except in tests.
	carrierTimeout time.Duration
}

// Driver is a measure.Driver. It owns the programs' memory, so one driver holds one path.
type Driver struct {
	config      Config
	ports       [2]port
	streams     frames.Streams
	description measure.Description

	handle     *netlink.Handle
	netns      *os.File
	collection *ebpf.Collection
	state      *state
	// receivers are the receive programs on the ports, and what they needed there.
	receivers []io.Closer
	inner     [2]*innerVeth
	// moderated is what Close restores, by moderationSocket.
	moderated        []moderation
	moderationSocket int
	// groups are the multicast groups that Close leaves.
	groups []membership
	// others are the hardware addresses that the next hops announced, after others had answered, before
	// the first trial: the last one of each port.
	others [2]net.HardwareAddr

	cpus []int
	// starves is true where the kernel may leave work of the transmitting CPUs to a thread that never runs.
	starves bool
	// exact is true where stopwatches show all that was taken from a thread, and steals where a hypervisor's turns are among it.
	exact, steals bool
	// longest is the maximum bytes of a frame that live frames can carry here.
	longest int
	trial   uint16
	// opened is true when a way through the chain was found. Until then a port may be without a carrier.
	opened bool
	held   held
	// fastest is the highest rate at which each thread sent frames of a size, per second.
	fastest map[frameSize][2]float64
	// samples are the last trials of a size that show how many packets the kernel takes in on each thread's
	// core for each frame.
	samples map[frameSize][2][]sample
	// armed is what the kernel had taken in when the threads of the last trial began to send.
	armed intake
	// extended is how much longer than asked the last trial settled.
	extended time.Duration
	// refusals says of each sending port whether its counters show every frame that it refuses, and
	// counted what that of sent frames must show at least before the next trial.
	refusals [2]string
	counted  [2]uint64
	// drainTimeout is drainTimeout except in tests.
	drainTimeout time.Duration
	// onSent is called after a trial's last frame; nil means no call.
	onSent func()
}

var (
	_ measure.Driver   = (*Driver)(nil)
	_ measure.Notifier = (*Driver)(nil)
)

// Open loads the programs, attaches them to the ports and finds the way out.
func Open(ctx context.Context, config Config) (_ *Driver, err error) {
	// Everything below happens in the network namespace of this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	d := &Driver{config: config, description: measure.Description{Driver: "XDP"}, drainTimeout: drainTimeout}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	steps := []func() error{
		d.checkConfig, d.openPorts, d.moderate, d.chooseCPUs, d.load, d.attachReceivers, d.attachAnswerers, d.findLongest,
		func() error { return d.awaitCarriers(ctx) }, func() error { return d.resolve(ctx) }, func() error { return d.findPath(ctx) }, func() error { return d.findRefusals(ctx) }, d.findCost,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	d.noteOthers()
	d.opened = true
	return d, nil
}

// NotifySent implements measure.Notifier.
func (d *Driver) NotifySent(sent func()) { d.onSent = sent }

// Description reports how the driver transmits and receives.
func (d *Driver) Description() measure.Description { return d.description }

// CPUs returns those that the transmit threads run on.
func (d *Driver) CPUs() []int { return slices.Clone(d.cpus) }

// Close removes everything from the ports. It may be called twice.
func (d *Driver) Close() error {
	var failed []error
	for i := range d.inner {
		failed = append(failed, d.inner[i].close())
		d.inner[i] = nil
	}
	failed = append(failed, d.detachReceivers())
	failed = append(failed, d.leaveGroups(), d.closeModeration(), d.state.unmap())
	if d.collection != nil {
		d.collection.Close()
		d.collection = nil
	}
	if d.handle != nil {
		d.handle.Close()
		d.handle = nil
	}
	if d.netns != nil {
		failed = append(failed, d.netns.Close())
		d.netns = nil
	}
	return errors.Join(failed...)
}

func (d *Driver) checkConfig() error {
	invalid := func(format string, args ...any) error {
		return measure.Failf(v1alpha1.ReasonInvalidPath, "correct the path", format, args...)
	}
	c := &d.config
	if c.TransmitPath == "" {
		c.TransmitPath = Auto
	}
	if c.ReceiveMode == "" {
		c.ReceiveMode = Auto
	}
	if c.Scheduling == "" {
		c.Scheduling = Auto
	}
	if c.RingFrames == 0 {
		c.RingFrames = planning.DefaultRingFrames
	}
	if c.ProbeTimeout <= 0 {
		c.ProbeTimeout = frames.DefaultProbeTimeout
	}
	if c.carrierTimeout == 0 {
		c.carrierTimeout = carrierTimeout
	}
	if c.TransmitPath != Auto && c.TransmitPath != Direct && c.TransmitPath != InnerVeth {
		return invalid("unknown transmit path %q", c.TransmitPath)
	}
	if c.ReceiveMode != Auto && c.ReceiveMode != Native && c.ReceiveMode != Generic {
		return invalid("unknown receive mode %q", c.ReceiveMode)
	}
	if c.Scheduling != Auto && c.Scheduling != Fair && c.Scheduling != RealTime {
		return invalid("unknown scheduling %q", c.Scheduling)
	}
	if c.Threads < 0 || c.Threads > 2 {
		return invalid("%d threads: there can be 1 or 2, or 0 for a choice by the number of CPUs", c.Threads)
	}
	if c.RingFrames < 1 || c.RingFrames > planning.MaxRingFrames {
		return invalid("a ring of %d frames: there can be 1 to %d", c.RingFrames, planning.MaxRingFrames)
	}
	d.description.RingFrames = c.RingFrames
	if c.Path.HasVLAN() && c.ReceiveMode != Auto {
		return invalid("receive mode %q does not see every VLAN tag: leave the mode to the driver", c.ReceiveMode)
	}
	if err := checkResolution(c.Path); err != nil {
		return invalid("%w", err)
	}
	var err error
	d.streams, err = frames.Of(c.Path)
	return err
}

func (d *Driver) openPorts() (err error) {
	if d.netns, err = openNetNS(); err != nil {
		return fmt.Errorf("opening the network namespace: %w", err)
	}
	if d.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("opening rtnetlink: %w", err)
	}
	for i, p := range d.config.Path.Ports {
		if d.ports[i], err = findPort(d.handle, p.Interface); err != nil {
			return err
		}
		if err := removeInner(d.handle, d.ports[i]); err != nil {
			return err
		}
	}
	return nil
}

// chooseCPUs takes, of those that the process may use, the ones with the fewest device
// interrupts: each interrupt delays a departure by a few microseconds.
func (d *Driver) chooseCPUs() error {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("reading the CPU affinity: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < allowed.Count(); cpu++ {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	threads := d.config.Threads
	if threads == 0 {
		threads = 1
		if len(d.config.Path.Streams) == 2 && len(cpus) >= 3 {
			threads = 2
		}
	}
	threads = min(threads, len(d.config.Path.Streams))
	if threads > len(cpus) {
		d.description.Fallbacks = append(d.description.Fallbacks,
			fmt.Sprintf("%d transmit threads were asked for and %d CPU is allowed: one thread sends", threads, len(cpus)))
		threads = 1
	}
	d.cpus = slices.Clone(quietest(cpus, readInterrupts())[:threads])
	d.description.Threads = threads
	d.exact, d.steals = !accountsForInterrupts(), showsSteal()
	d.chooseScheduling(len(cpus), len(readCPUs()))
	return nil
}
