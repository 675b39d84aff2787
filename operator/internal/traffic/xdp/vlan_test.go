package xdp

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/contract"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/headers"
)

const testVLAN = 100

func inVLANs(path measure.Path, west, east int) measure.Path {
	path.Ports[0].VLAN, path.Ports[1].VLAN = west, east
	return path
}

func switched() (*testpath.Path, error)     { return testpath.Switched(0) }
func taggedAtWest() (*testpath.Path, error) { return testpath.Switched(testVLAN) }
func withTag(frame []byte, tag uint32) []byte { // tag is type and control information
	out := append([]byte(nil), frame[:headers.TagOffset]...)
	return append(binary.BigEndian.AppendUint32(out, tag), frame[headers.TagOffset:]...)
}

func TestVLANContract(t *testing.T) {
	for name, build := range map[string]builder{"direct": testpath.Direct, "switched": switched} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, build)
			contract.Run(t, func(t *testing.T) measure.Driver {
				d, err := tryOpen(p, Config{Path: inVLANs(p.IPv4(), testVLAN, testVLAN)})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}, contract.Capabilities{Frames: &contract.Frames{
				Directions: []measure.Direction{measure.Forward, measure.Reverse}, DelayVariation: true,
			}})
		})
	}
}

func TestVLANWaysOutAndThreads(t *testing.T) {
	for name, c := range map[string]struct {
		build      builder
		config     Config
		want       string
		west, east int
	}{
		"veth pair":              {build: testpath.Direct, want: Direct, west: testVLAN, east: testVLAN},
		"veth pair, two threads": {build: testpath.Direct, config: Config{Threads: 2}, want: Direct, west: testVLAN, east: testVLAN},
		"veth pair, inner veth":  {build: testpath.Direct, config: Config{TransmitPath: InnerVeth}, want: InnerVeth, west: testVLAN, east: testVLAN},
		"veth pair, clsact":      {build: testpath.Direct, config: Config{withoutTCX: true}, want: Direct, west: testVLAN, east: testVLAN},
		"bridge":                 {build: switched, want: InnerVeth, west: testVLAN, east: testVLAN},
		"bridge, two threads":    {build: switched, config: Config{Threads: 2}, want: InnerVeth, west: testVLAN, east: testVLAN},
		"bridge, clsact":         {build: switched, config: Config{withoutTCX: true}, want: InnerVeth, west: testVLAN, east: testVLAN},
		"the highest number":     {build: switched, want: InnerVeth, west: headers.MaximumVLAN, east: headers.MaximumVLAN},
		"one port":               {build: taggedAtWest, want: InnerVeth, west: testVLAN},
		"one port, two threads":  {build: taggedAtWest, config: Config{Threads: 2}, want: InnerVeth, west: testVLAN},
	} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, c.build)
			for family, path := range map[string]measure.Path{"IPv4": p.IPv4(), "IPv6": p.IPv6()} {
				c.config.Path = inVLANs(path, c.west, c.east)
				d := open(t, p, c.config)
				description := d.Description()
				if description.TransmitPath != c.want || description.ReceiveMode != TrafficControl || description.Threads != max(c.config.Threads, 1) {
					t.Errorf("%s: %+v, want %s and %s", family, description, c.want, TrafficControl)
				}
				for _, size := range []int{82, 1518} {
					o := run(t, d, trialOf(size, 3000, 50*time.Millisecond))
					checkWhole(t, o)
					// No size includes the tag.
					r := d.state.Receivers[0]
					if want := r.Received * uint64(size-measure.FrameCheckSequenceBytes); r.Bytes != want {
						t.Errorf("%s, %d bytes: received %d bytes, want %d", family, size, r.Bytes, want)
					}
				}
				checkWhole(t, run(t, d, mixed(3000, 50*time.Millisecond)))
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				checkIngressFree(t, p)
			}
		})
	}
}

// checkIngressFree verifies that the ports are as they were.
func checkIngressFree(t *testing.T, p *testpath.Path) {
	t.Helper()
	if err := testpath.Do(p.Generator, func() error {
		for _, name := range []string{testpath.West, testpath.East} {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			programs, err := link.QueryPrograms(link.QueryOptions{Target: l.Attrs().Index, Attach: ebpf.AttachTCXIngress})
			if err != nil {
				return err
			}
			disciplines, err := netlink.QdiscList(l)
			if err != nil {
				return err
			}
			for _, q := range disciplines {
				if q.Type() == "clsact" {
					t.Errorf("%s: clsact is left", name)
				}
			}
			gro, err := hasGRO(name)
			if err != nil {
				return err
			}
			if len(programs.Programs) > 0 || gro {
				t.Errorf("%s: %d programs are left, GRO %v", name, len(programs.Programs), gro)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestOnlyThePortsTagCounts has a device forward frames with other tags.
func TestOnlyThePortsTagCounts(t *testing.T) {
	const east = 200
	for name, c := range map[string]struct {
		tag    uint32 // 0: none
		east   int
		counts bool
	}{
		"the port's tag":            {0x8100_0000 | east, east, true},
		"another priority":          {0x8100_a000 | east, east, true},
		"another number":            {0x8100_0000 | testVLAN, east, false},
		"a service tag (802.1ad)":   {0x88a8_0000 | east, east, false},
		"no tag":                    {0, east, false},
		"none, where there is none": {0, 0, true},
		"one, where there is none":  {0x8100_0000 | east, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var mutex sync.Mutex
			foreign := uint64(0)
			d, _ := forward(t, func(p *testpath.Path) measure.Path {
				return inVLANs(p.IPv4(measure.Forward), testVLAN, c.east)
			}, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
				right, other := frame, frame
				if c.east != 0 {
					right = withTag(frame, 0x8100_0000|uint32(c.east))
				}
				if c.tag != 0 {
					other = withTag(frame, c.tag)
				}
				// Probes come through; the device changes every third frame of a trial.
				if len(frame) == frames.ProbeFrameBytes-measure.FrameCheckSequenceBytes || sequenceOf(frame)%3 != 0 {
					send(right)
					return
				}
				mutex.Lock()
				foreign++
				mutex.Unlock()
				send(other)
			})
			o := run(t, d, throughProgram(trialOf(64, 3000, 200*time.Millisecond))).Directions[0]
			changed := (o.SentFrames + 2) / 3
			want := o.SentFrames
			if !c.counts {
				want -= changed
			}
			if o.SentFrames == 0 || o.ReceivedFrames != want || o.Latency.Samples != want {
				t.Errorf("received %d and timed %d of %d frames, want %d", o.ReceivedFrames, o.Latency.Samples, o.SentFrames, want)
			}
			if got := d.state.Receivers[0].Foreign; !c.counts && got < changed {
				t.Errorf("%d foreign frames, want %d at least", got, changed)
			}
		})
	}
}

// TestVLANDelayAndLoss has a device lose frames and write send times that make the
// others' delay since the departure a second: compared to that, a busy machine's own delay is negligible.
func TestVLANDelayAndLoss(t *testing.T) {
	const delay = uint64(time.Second)
	d, _ := forward(t, func(p *testpath.Path) measure.Path {
		return inVLANs(p.IPv4(measure.Forward), testVLAN, testVLAN)
	}, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if sequenceOf(frame)%7 == 3 {
			return
		}
		binary.NativeEndian.PutUint64(frame[ethernetBytes+ipv4Bytes+udpBytes+8:], monotonicNow()-delay)
		send(withTag(frame, 0x8100_0000|testVLAN))
	})
	o := run(t, d, throughProgram(trialOf(128, 1000, 200*time.Millisecond))).Directions[0]
	if want := (o.SentFrames + 3) / 7; o.LostFrames() != want {
		t.Errorf("lost %d of %d frames, want %d", o.LostFrames(), o.SentFrames, want)
	}
	departed := sinceDeparture(d)
	for name, got := range map[string]uint64{"minimum": departed.MinNanoseconds, "mean": departed.MeanNanoseconds, "median": o.DelaySinceDeparture.P50Nanoseconds} {
		if got < delay-delay/1000 || got > delay+delay/20 {
			t.Errorf("%s delay %v, want %v", name, time.Duration(got), time.Duration(delay))
		}
	}
	if o.DelayVariation.Samples == 0 || o.DelayVariation.Samples >= o.ReceivedFrames {
		t.Errorf("%d samples of delay variation of %d frames", o.DelayVariation.Samples, o.ReceivedFrames)
	}
}

// TestTagOnTheWire reads frames with tcpdump where they reach the device.
func TestTagOnTheWire(t *testing.T) {
	for name, way := range map[string]string{"direct": Direct, "inner veth": InnerVeth} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, testpath.Wired)
			f, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
				send(withTag(frame, 0x8100_0000|testVLAN))
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(f.Stop)
			d := open(t, p, Config{Path: inVLANs(p.IPv4(measure.Forward), testVLAN, testVLAN), TransmitPath: way})
			for size, onWire := range map[int]int{64: 64, 1518: 1518} { // 4 more for the tag, 4 fewer for the check sequence
				command := exec.Command("tcpdump", "-i", testpath.DeviceWest, "-Q", "in", "-e", "-n", "-c", "20", "--immediate-mode", "-Z", "root")
				lines, err := command.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				said, err := command.StderrPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := testpath.Do(p.Device, command.Start); err != nil {
					t.Fatalf("tcpdump: %v (test/scripts/prerequisites.sh debian installs it)", err)
				}
				timer := time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() })
				for line, words := "", bufio.NewReader(said); !strings.Contains(line, "listening on"); {
					if line, err = words.ReadString('\n'); err != nil {
						t.Fatalf("tcpdump: %v: %s", err, line)
					}
				}
				checkWhole(t, run(t, d, throughProgram(trialOf(size, 1000, 200*time.Millisecond))))
				want := regexp.MustCompile(fmt.Sprintf(`ethertype 802\.1Q \(0x8100\), length %d: vlan %d, p 0, ethertype IPv4 \(0x0800\), 198\.18\.0\.2\.1024 > 198\.19\.0\.2\.2048: UDP, length %d$`,
					onWire, testVLAN, size-46))
				frames := 0
				for all := bufio.NewScanner(lines); all.Scan(); frames++ {
					if !want.MatchString(all.Text()) {
						t.Errorf("on the wire: %s", all.Text())
					}
				}
				timer.Stop()
				if err := command.Wait(); err != nil || frames != 20 {
					t.Errorf("tcpdump read %d frames: %v", frames, err)
				}
			}
		})
	}
}

// TestVLANFrames reads what the device gets, without the tag, byte by byte: checksums
// hold, flows repeat and the payload is zero after the signature.
func TestVLANFrames(t *testing.T) {
	for name, path := range map[string]func(*testpath.Path) measure.Path{"IPv4": ipv4Forward, "IPv6": ipv6Forward} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, testpath.Wired)
			var mutex sync.Mutex
			problems, frames, flows := []string{}, 0, map[[4]uint16]bool{}
			f, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
				mutex.Lock()
				defer mutex.Unlock()
				frames++
				flows[wordsOf(frame)] = true
				if problem := checkChecksums(frame); problem != "" && len(problems) < 3 {
					problems = append(problems, problem)
				}
				send(withTag(frame, 0x8100_0000|testVLAN))
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(f.Stop)
			way := inVLANs(path(p), testVLAN, testVLAN)
			way.Streams[0].SourcePort, way.Streams[0].DestinationPort = measure.FirstSourcePort, measure.FirstDestinationPort
			way.Streams[0].Flows = &measure.Flows{Count: 50, Fields: []measure.FlowField{measure.FlowSourcePort, measure.FlowDestinationPort}}
			d := open(t, p, Config{Path: way, TransmitPath: Direct})
			checkWhole(t, run(t, d, throughProgram(trialOf(100, 5000, 200*time.Millisecond))))
			mutex.Lock()
			defer mutex.Unlock()
			if len(problems) > 0 || frames == 0 || len(flows) != 50 {
				t.Errorf("%d frames of %d flows: %v", frames, len(flows), problems)
			}
		})
	}
}

func TestVLANFailures(t *testing.T) {
	p := buildPath(t, testpath.Direct)
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"a reserved number": {Config{Path: inVLANs(p.IPv4(), headers.MaximumVLAN+1, 0)}, v1alpha1.ReasonInvalidPath},
		"a negative number": {Config{Path: inVLANs(p.IPv4(), 0, -1)}, v1alpha1.ReasonInvalidPath},
		"native mode":       {Config{Path: inVLANs(p.IPv4(), 1, 1), ReceiveMode: Native}, v1alpha1.ReasonInvalidPath},
		"two tags":          {Config{Path: inVLANs(p.IPv4(), 1, 2), ProbeTimeout: time.Millisecond}, v1alpha1.ReasonNoPathThroughChain},
	} {
		if _, err := tryOpen(p, c.config); measure.ReasonOf(err) != c.want {
			t.Errorf("%s: %v, want reason %q", name, err, c.want)
		}
		checkIngressFree(t, p)
	}
	tagged := Config{Path: inVLANs(p.IPv4(), 1, 1)}
	for name, first := range map[string]Config{"with tags": tagged, "without": {Path: p.IPv4()}} {
		d := open(t, p, first)
		if _, err := tryOpen(p, tagged); measure.ReasonOf(err) != v1alpha1.ReasonPortBusy {
			t.Errorf("on the ports of a driver %s: %v, want reason %q", name, err, v1alpha1.ReasonPortBusy)
		}
		checkWhole(t, run(t, d, trialOf(64, 1000, 50*time.Millisecond)))
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLongestVLANFrame(t *testing.T) {
	p := buildPath(t, testpath.Direct)
	if err := testpath.Do(p.Generator, func() error {
		for _, name := range []string{testpath.West, testpath.East} {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetMTU(l, 9000); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	d := open(t, p, Config{Path: inVLANs(p.IPv4(), testVLAN, testVLAN)})
	longest := d.longest + measure.FrameCheckSequenceBytes - measure.VLANTagBytes
	checkWhole(t, run(t, d, trialOf(longest, 1000, 50*time.Millisecond)))
	if _, err := d.Measure(t.Context(), trialOf(longest+1, 1000, 10*time.Millisecond)); measure.ReasonOf(err) != v1alpha1.ReasonFrameTooLarge {
		t.Errorf("%d bytes: %v, want reason %q", longest+1, err, v1alpha1.ReasonFrameTooLarge)
	}
}
