package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

const (
	headerBytes = 14 + 20 + 8
	// firstFrames must have arrived before a peer's frames are counted.
	firstFrames = 1000
	startWithin = 15 * time.Second
)

// peer is another generator. start runs it on the core until its processes are
// killed.
type peer struct {
	name  string
	start func(processes *group, p *testpath.Path, size int) error
}

var peers = []peer{
	{"trafgen", startTrafgen},
	{"iperf3", startIperf},
	{"dpdk-testpmd", startTestpmd},
}

// measure counts what arrives while the peer sends as fast as it can. A peer may begin with a
// dialogue between both ends; afterwards an XDP program at the receiving port drops all frames, as
// it does for the driver.
func (r peer) measure(ctx context.Context, p *testpath.Path, size int, window time.Duration) (rate, error) {
	processes := &group{}
	defer processes.kill()
	before, _, err := received(p.Sink)
	if err != nil {
		return rate{}, err
	}
	if err := r.start(processes, p, size); err != nil {
		return rate{}, err
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		now, _, err := received(p.Sink)
		if err != nil {
			return rate{}, err
		}
		if now-before >= firstFrames {
			break
		}
		if time.Since(began) > startWithin || ctx.Err() != nil {
			return rate{}, fmt.Errorf("%d frames arrived in %v; it says %q", now-before, startWithin, processes.lastWords())
		}
	}
	dropped, err := dropAll(p)
	if err != nil {
		return rate{}, err
	}
	defer func() { _ = dropped.Close() }()
	counted, err := count(p.Sink, window, processes.id)
	if err == nil && counted.perSecond < firstFrames {
		err = fmt.Errorf("%.0f frames/s arrived; it says %q", counted.perSecond, processes.lastWords())
	}
	return counted, err
}

// dropAll attaches the smallest XDP program to the receiving port.
func dropAll(p *testpath.Path) (dropped link.Link, err error) {
	err = testpath.Do(p.Sink, func() error {
		east, err := netlink.LinkByName(testpath.East)
		if err != nil {
			return err
		}
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Name: "drop", Type: ebpf.XDP, License: "Dual MIT/GPL",
			Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1 /* XDP_DROP */), asm.Return()},
		})
		if err != nil {
			return err
		}
		defer func() { _ = program.Close() }()
		dropped, err = link.AttachXDP(link.XDPOptions{Program: program, Interface: east.Attrs().Index, Flags: link.XDPDriverMode})
		return err
	})
	return dropped, err
}

// group is the processes of a peer: one process group, so that all their children end with them.
type group struct {
	id       int
	commands []*exec.Cmd
	outputs  []*strings.Builder
	cleanups []func()
}

// start runs a command on the core, in the calling thread's namespace.
func (g *group) start(name string, arguments ...string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("it is not installed: %w", err)
	}
	output := &strings.Builder{}
	command := exec.Command("taskset", append([]string{"-c", strconv.Itoa(core), name}, arguments...)...)
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	// Some end when their standard input does.
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	g.cleanups = append(g.cleanups, func() { _ = stdin.Close() })
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting it: %w", err)
	}
	if g.id == 0 {
		g.id = command.Process.Pid
	}
	g.commands, g.outputs = append(g.commands, command), append(g.outputs, output)
	return nil
}

func (g *group) kill() {
	if g.id != 0 {
		_ = syscall.Kill(-g.id, syscall.SIGKILL)
	}
	for _, c := range g.commands {
		_ = c.Wait()
	}
	for _, cleanup := range g.cleanups {
		cleanup()
	}
}

// lastWords ends the peer and returns the last line of its output with a complaint, or else the
// last line.
func (g *group) lastWords() string {
	g.kill()
	g.id, g.commands = 0, nil
	last, complaint := "", ""
	for _, o := range g.outputs {
		for line := range strings.Lines(o.String()) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			last = line
			if lower := strings.ToLower(line); strings.Contains(lower, "error") || strings.Contains(lower, " not ") {
				complaint = line
			}
		}
	}
	return cmp.Or(complaint, last)
}

// startTrafgen starts one process that repeats one frame from a ring.
func startTrafgen(g *group, p *testpath.Path, size int) error {
	config, err := os.CreateTemp("", "trafgen-*.cfg")
	if err != nil {
		return err
	}
	g.cleanups = append(g.cleanups, func() { _ = os.Remove(config.Name()) })
	s := p.IPv4(measure.Forward).Streams[0]
	_, err = fmt.Fprintf(config, "{ eth(da=%s, sa=%s), ipv4(sa=%s, da=%s, ttl=64), udp(sp=%d, dp=%d), fill(0x00, %d) }\n",
		s.DestinationMAC, s.SourceMAC, s.SourceAddress, s.DestinationAddress, s.SourcePort, s.DestinationPort,
		size-measure.FrameCheckSequenceBytes-headerBytes)
	if err := errors.Join(err, config.Close()); err != nil {
		return err
	}
	return testpath.Do(p.Generator, func() error {
		return g.start("trafgen", "--dev", testpath.West, "--conf", config.Name(), "--cpus", "1", "--num", "0", "--no-sock-mem")
	})
}

// startIperf starts a UDP stream without a limit. The client first agrees on it with the server
// over TCP.
func startIperf(g *group, p *testpath.Path, size int) error {
	if err := testpath.Do(p.Sink, func() error { return g.start("iperf3", "--server", "--one-off", "--forceflush") }); err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	s := p.IPv4(measure.Forward).Streams[0]
	return testpath.Do(p.Generator, func() error {
		return g.start("iperf3", "--client", s.DestinationAddress.String(), "--udp", "--bitrate", "0", "--time", "600",
			"--length", strconv.Itoa(size-measure.FrameCheckSequenceBytes-headerBytes))
	})
}

// startTestpmd starts DPDK's test program, sending only, on an AF_PACKET ring, since a veth has no
// DPDK driver. Both of its threads share one core; the second sleeps.
func startTestpmd(g *group, p *testpath.Path, size int) error {
	s := p.IPv4(measure.Forward).Streams[0]
	return testpath.Do(p.Generator, func() error {
		return g.start("dpdk-testpmd", "--no-huge", "--no-shconf", "-m", "256", "--no-pci", "--no-telemetry",
			"--lcores", fmt.Sprintf("(0,1)@%d", core), "--main-lcore", "0",
			"--vdev", "net_af_packet0,iface="+testpath.West+",qdisc_bypass=1,blocksz=65536,framesz=2048,framecnt=2048",
			"--", "--forward-mode=txonly", "--auto-start", "--no-mlockall", "--total-num-mbufs=8192", "--burst=64",
			"--txpkts="+strconv.Itoa(size-measure.FrameCheckSequenceBytes),
			"--eth-peer=0,"+s.DestinationMAC,
			fmt.Sprintf("--tx-ip=%s,%s", s.SourceAddress, s.DestinationAddress),
			fmt.Sprintf("--tx-udp=%d,%d", s.SourcePort, s.DestinationPort))
	})
}
