package xdp

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// load loads the programs into the kernel, without atomic operations if no two CPUs can
// receive for one direction at once.
func (d *Driver) load() error {
	several := d.config.ReceiveMode == Generic || d.config.Path.HasVLAN()
	for _, p := range d.ports {
		several = several || !oneReceiveQueue(p.name)
	}
	if err := d.loadFor(several, d.config.ReceiveMode == Generic); err != nil {
		return err
	}
	// Another process's frames may be present: start at a random number.
	var seed [2]byte
	_, _ = rand.Read(seed[:])
	d.trial = binary.NativeEndian.Uint16(seed[:])
	return nil
}

func (d *Driver) loadFor(severalCPUs, generic bool) error {
	if err := d.state.unmap(); err != nil {
		return err
	}
	if d.collection != nil {
		d.collection.Close()
	}
	spec, err := loadTraffic()
	if err != nil {
		return cannotLoad(err)
	}
	for name, isSet := range map[string]bool{trafficVarSeveralCpus: severalCPUs, trafficVarGeneric: generic} {
		value := uint8(0)
		if isSet {
			value = 1
		}
		if err := spec.Variables[name].Set(value); err != nil {
			return cannotLoad(err)
		}
	}
	if d.collection, err = ebpf.NewCollection(spec); err != nil {
		return cannotLoad(err)
	}
	if d.state, err = mapState(d.collection.Maps[".bss"]); err != nil {
		return cannotLoad(err)
	}
	for i := range d.ports {
		d.state.Transmitters[i].PortIfindex = uint32(d.ports[i].index)
		d.state.Receivers[i].PortIfindex = uint32(d.ports[1-i].index)
		d.state.Receivers[i].Vlan = uint32(d.config.Path.Ports[1-i].VLAN)
	}
	d.putAddresses()
	d.state.clear()
	return nil
}

func cannotLoad(err error) error {
	return measure.Failf(v1alpha1.ReasonCannotLoadBPF, "give the container the capabilities BPF and NET_ADMIN, on Linux 5.18 or later",
		"loading the XDP programs: %w", err)
}

// attachReceivers attaches the receive program to both ports, in one mode.
func (d *Driver) attachReceivers() error {
	if d.config.Path.HasVLAN() {
		return d.attachVLANReceivers()
	}
	mode := d.config.ReceiveMode
	if mode != Generic {
		err := d.attachIn(link.XDPDriverMode)
		if err == nil {
			d.description.ReceiveMode = Native
			return nil
		}
		if mode == Native || errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EPERM) {
			return cannotAttach(err)
		}
		d.description.Fallbacks = append(d.description.Fallbacks,
			fmt.Sprintf("a port's driver takes no XDP program (%v): frames are received in generic mode", err))
		// Generic mode runs on any CPU that takes a packet off its backlog.
		if err := d.loadFor(true, true); err != nil {
			return err
		}
	}
	if err := d.attachIn(link.XDPGenericMode); err != nil {
		return cannotAttach(err)
	}
	d.description.ReceiveMode = Generic
	return nil
}

func (d *Driver) attachIn(mode link.XDPAttachFlags) error {
	for _, p := range d.ports {
		l, err := link.AttachXDP(link.XDPOptions{
			Program: d.collection.Programs[trafficProgReceive], Interface: p.index, Flags: mode,
		})
		if err != nil {
			return errors.Join(fmt.Errorf("interface %q: %w", p.name, err), d.detachReceivers())
		}
		d.receivers = append(d.receivers, l)
	}
	return nil
}

// detachReceivers removes the programs from the ports, the last one first.
func (d *Driver) detachReceivers() error {
	var failed []error
	for _, r := range slices.Backward(d.receivers) {
		failed = append(failed, r.Close())
	}
	d.receivers = nil
	return errors.Join(failed...)
}

func cannotAttach(err error) error {
	if errors.Is(err, unix.EBUSY) {
		return measure.Failf(v1alpha1.ReasonPortBusy, "remove the XDP or tcx program that another process put on the port",
			"attaching the receive program: %w", err)
	}
	return cannotLoad(fmt.Errorf("attaching the receive program: %w", err))
}

// findLongest asks the kernel, whose limit is a page less what it keeps for itself there:
// 3 to 4 KiB, never less than 1514 bytes.
func (d *Driver) findLongest() error {
	buffer := make([]byte, len(d.state.Templates[0][0]))
	accepts := func(bytes int) error {
		s := sender{program: d.collection.Programs[trafficProgTransmitForward].FD(), frame: buffer[:bytes]}
		return s.once()
	}
	low, high := 60, len(buffer)
	if err := accepts(low); err != nil {
		return cannotLoad(fmt.Errorf("running a program with live frames: %w", err))
	}
	for high-low > 1 {
		middle := (low + high) / 2
		if accepts(middle) == nil {
			low = middle
		} else {
			high = middle
		}
	}
	d.longest = low
	return nil
}
