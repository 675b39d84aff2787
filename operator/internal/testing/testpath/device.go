package testpath

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// mtu admits every frame that live frames can carry.
const mtu = 3400

// veth makes a pair with an end in each namespace. napi gives the second end NAPI, through GRO.
func (p *Path) veth(near netns.NsHandle, nearName string, far netns.NsHandle, farName string, napi bool) error {
	return Do(near, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.NumTxQueues, attrs.NumRxQueues = nearName, mtu, 1, 1
		pair := netlink.NewVeth(attrs)
		pair.PeerName, pair.PeerMTU, pair.PeerNumTxQueues, pair.PeerNumRxQueues = farName, mtu, 1, 1
		if near != far {
			pair.PeerNamespace = netlink.NsFd(far)
		}
		if err := netlink.LinkAdd(pair); err != nil {
			return fmt.Errorf("veth %s: %w", nearName, err)
		}
		if err := netlink.LinkSetUp(pair); err != nil {
			return err
		}
		return Do(far, func() error {
			l, err := netlink.LinkByName(farName)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetUp(l); err != nil || !napi {
				return err
			}
			return EnableGRO(farName)
		})
	})
}

// EnableGRO gives a veth end NAPI. The link must be up: only then does the
// other end learn that it may be a target of redirects.
func EnableGRO(name string) error {
	if out, err := exec.Command("ethtool", "-K", name, "gro", "on").CombinedOutput(); err != nil {
		return fmt.Errorf("ethtool -K %s gro on: %w: %s", name, err, out)
	}
	return nil
}

func (p *Path) bridge(name string, ports ...string) error {
	return Do(p.Node, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = name, mtu
		snooping := false
		b := &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping}
		if err := netlink.LinkAdd(b); err != nil {
			return fmt.Errorf("bridge %s: %w", name, err)
		}
		for _, port := range ports {
			l, err := netlink.LinkByName(port)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetMaster(l, b); err != nil {
				return err
			}
		}
		return netlink.LinkSetUp(b)
	})
}

// Slow makes the device take longer for every frame that arrives at one of its ports: its kernel
// reads the clock that often, some tens of nanoseconds each time.
func (p *Path) Slow(reads int32, ports ...string) error {
	return Do(p.Device, func() error {
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "MIT", Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R6, reads),
			asm.FnKtimeGetNs.Call().WithSymbol("again"),
			asm.Add.Imm(asm.R6, -1),
			asm.JNE.Imm(asm.R6, 0, "again"),
			asm.Mov.Imm(asm.R0, -1), // TC_ACT_UNSPEC: continue
			asm.Return(),
		}})
		if err != nil {
			return fmt.Errorf("slowing the device: %w", err)
		}
		defer func() { _ = program.Close() }()
		for _, port := range ports {
			l, err := netlink.LinkByName(port)
			if err != nil {
				return err
			}
			attached, err := link.AttachTCX(link.TCXOptions{Interface: l.Attrs().Index, Program: program, Attach: ebpf.AttachTCXIngress})
			if err != nil {
				return fmt.Errorf("slowing %s: %w", port, err)
			}
			p.programs = append(p.programs, attached)
		}
		return nil
	})
}

// OnCore makes the device work on another core for frames that arrive at its ports: a program hands
// them to a queue of the kernel with that many places (a cpumap), which that core empties. A frame that
// finds it full is lost. A port whose frames come from a network stack copies them for the program.
func (p *Path) OnCore(core, places uint32, ports ...string) error {
	queue, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.CPUMap, KeySize: 4, ValueSize: 4, MaxEntries: core + 1})
	if err != nil {
		return fmt.Errorf("making a queue of core %d: %w", core, err)
	}
	p.programs = append(p.programs, queue)
	if err := queue.Put(core, places); err != nil {
		return fmt.Errorf("making a queue of core %d: %w", core, err)
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "MIT", Instructions: asm.Instructions{
		asm.LoadMapPtr(asm.R1, queue.FD()),
		asm.Mov.Imm(asm.R2, int32(core)),
		asm.Mov.Imm(asm.R3, 0), // XDP_ABORTED where there is no such queue
		asm.FnRedirectMap.Call(),
		asm.Return(),
	}})
	if err != nil {
		return fmt.Errorf("handing frames to core %d: %w", core, err)
	}
	defer func() { _ = program.Close() }()
	return Do(p.Device, func() error {
		for _, port := range ports {
			l, err := netlink.LinkByName(port)
			if err != nil {
				return err
			}
			attached, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: l.Attrs().Index, Flags: link.XDPDriverMode})
			if err != nil {
				return fmt.Errorf("handing the frames of %s to core %d: %w", port, core, err)
			}
			p.programs = append(p.programs, attached)
		}
		return nil
	})
}

// tagAt makes a port of the node add a tag to what it sends and remove the tag from what it
// receives, by two programs, since not every kernel has VLANs in its bridge.
func (p *Path) tagAt(name string, vlan int) error {
	return Do(p.Node, func() error {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		pass := asm.Instructions{asm.Mov.Imm(asm.R0, -1), asm.Return()} // TC_ACT_UNSPEC: continue
		push := asm.Instructions{
			asm.Mov.Imm(asm.R2, 0x0081), // ETH_P_8021Q in network order
			asm.Mov.Imm(asm.R3, int32(vlan)),
			asm.FnSkbVlanPush.Call(),
		}
		for attach, instructions := range map[ebpf.AttachType]asm.Instructions{
			ebpf.AttachTCXIngress: append(asm.Instructions{asm.FnSkbVlanPop.Call()}, pass...),
			ebpf.AttachTCXEgress:  append(push, pass...),
		} {
			program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, Instructions: instructions, License: "MIT"})
			if err != nil {
				return fmt.Errorf("tagging at %s: %w", name, err)
			}
			attached, err := link.AttachTCX(link.TCXOptions{Interface: l.Attrs().Index, Program: program, Attach: attach})
			if err := errors.Join(err, program.Close()); err != nil {
				return fmt.Errorf("tagging at %s: %w", name, err)
			}
			p.programs = append(p.programs, attached)
		}
		return nil
	})
}

// route makes the device's namespace a router with static neighbors.
func (p *Path) route() error {
	if err := p.readMACs(p.Device, DeviceWest, DeviceEast); err != nil {
		return err
	}
	return Do(p.Device, func() error {
		for _, setting := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
			if err := os.WriteFile("/proc/sys/net/"+setting, []byte("1"), 0o644); err != nil {
				return err
			}
		}
		for _, side := range []struct {
			link, mac string
			neighbors []netip.Addr
			own       []string
		}{
			{DeviceWest, p.westMAC, []netip.Addr{westIPv4, westIPv6}, []string{deviceWestIPv4, deviceWestIPv6}},
			{DeviceEast, p.eastMAC, []netip.Addr{eastIPv4, eastIPv6}, []string{deviceEastIPv4, deviceEastIPv6}},
		} {
			l, err := netlink.LinkByName(side.link)
			if err != nil {
				return err
			}
			mac, err := net.ParseMAC(side.mac)
			if err != nil {
				return err
			}
			for _, own := range side.own {
				addr, err := netlink.ParseAddr(own)
				if err != nil {
					return err
				}
				if err := netlink.AddrAdd(l, addr); err != nil {
					return fmt.Errorf("address %s: %w", own, err)
				}
			}
			for _, neighbor := range side.neighbors {
				if err := netlink.NeighSet(&netlink.Neigh{
					LinkIndex: l.Attrs().Index, State: netlink.NUD_PERMANENT,
					IP: neighbor.AsSlice(), HardwareAddr: mac,
				}); err != nil {
					return fmt.Errorf("neighbor %s: %w", neighbor, err)
				}
			}
		}
		return nil
	})
}

// The device's addresses.
const (
	deviceWestIPv4, deviceWestIPv6 = "198.18.0.1/24", "2001:2:0:1::1/64"
	deviceEastIPv4, deviceEastIPv6 = "198.19.0.1/24", "2001:2:0:2::1/64"
)

// deviceAddresses returns the device's addresses of a family.
func deviceAddresses(is4 bool) (west, east netip.Addr) {
	if is4 {
		return netip.MustParsePrefix(deviceWestIPv4).Addr(), netip.MustParsePrefix(deviceEastIPv4).Addr()
	}
	return netip.MustParsePrefix(deviceWestIPv6).Addr(), netip.MustParsePrefix(deviceEastIPv6).Addr()
}

// Forget marks the device's neighbor entries as failed, so that the next frame makes it ask again. It removes none: with
// an entry that is removed while a frame is on its way to it, the kernel drops the frame.
func (p *Path) Forget() error {
	return Do(p.Device, func() error {
		for _, name := range []string{DeviceWest, DeviceEast} {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			entries, err := netlink.NeighList(l.Attrs().Index, netlink.FAMILY_ALL)
			if err != nil {
				return err
			}
			for _, entry := range entries {
				// Entries of multicast groups need no resolution. One that failed is forgotten already, and
				// with one that is being resolved the kernel would drop the frames that wait for it.
				if entry.State&(netlink.NUD_NOARP|netlink.NUD_FAILED|netlink.NUD_INCOMPLETE|netlink.NUD_PROBE) != 0 {
					continue
				}
				entry.State, entry.HardwareAddr = netlink.NUD_FAILED, nil
				if err := netlink.NeighSet(&entry); err != nil {
					return fmt.Errorf("forgetting %s: %w", entry.IP, err)
				}
			}
		}
		return nil
	})
}

func (p *Path) addLinkLocal() error {
	return Do(p.Device, func() error {
		for _, name := range []string{DeviceWest, DeviceEast} {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			address, err := netlink.ParseAddr("fe80::1/64")
			if err != nil {
				return err
			}
			address.Flags = unix.IFA_F_NODAD
			if err := netlink.AddrAdd(l, address); err != nil {
				return fmt.Errorf("address %s: %w", address, err)
			}
		}
		return nil
	})
}
