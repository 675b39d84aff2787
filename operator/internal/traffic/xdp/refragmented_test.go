package xdp

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

// A device that reassembles may send fragments of other sizes, or the whole packet in
// one. The driver still counts the packets, with a doubt.
func TestRefragmentedPackets(t *testing.T) {
	for _, version := range []int{4, 6} {
		for name, size := range map[string]int{"1000 bytes": 1000, "1008 bytes": 1008, "24 bytes": 24, "3000 bytes": 3000} {
			t.Run(fmt.Sprintf("IPv%d, %s", version, name), func(t *testing.T) {
				var first []byte
				var whole piece
				o, driver := packetDevice(t, version, func(f piece, frame []byte, send func([]byte)) {
					if f.offset == 0 {
						first, whole = slices.Clone(frame), f
						whole.data = nil
					}
					whole.data = append(whole.data, f.data...)
					if whole.more = false; f.more {
						return
					}
					for from := 0; from < len(whole.data); from += size {
						send(cut(first, whole, from, min(from+size, len(whole.data))))
					}
				})
				d := o.Directions[0]
				if d.ReceivedFrames != d.SentFrames || d.SentFrames == 0 || d.DuplicateFrames != 0 {
					t.Errorf("received %d of %d packets, unknown %d", d.ReceivedFrames, d.SentFrames, driver.state.Receivers[0].UnknownFragments)
				}
				if doubt := hasDoubt(o, measure.DoubtRefragmented); doubt == nil || doubt.Invalid {
					t.Errorf("doubts %+v, want one that lets the trial count", o.Doubts)
				}
			})
		}
	}
}

// TestPacketsThroughConntrack has the device's kernel put every packet together, track
// its connection, and fragment it again: fragments from a stateful firewall have the same
// bounds as those sent.
func TestPacketsThroughConntrack(t *testing.T) {
	for _, version := range []int{4, 6} {
		p := buildPath(t, routedWithNAPI)
		path := p.IPv4(measure.Forward)
		if version == 6 {
			path = p.IPv6(measure.Forward)
		}
		rules := "table inet t { chain f { type filter hook forward priority 0; policy drop; ct state new,established counter accept; }; }"
		if err := testpath.Do(p.Device, func() error {
			if out, err := exec.Command("nft", rules).CombinedOutput(); err != nil {
				return fmt.Errorf("nft: %w: %s", err, out)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		d := open(t, p, Config{Path: path})
		sent, fragments := uint64(0), uint64(0)
		for _, payload := range []int{4096, 2960, 65507} {
			trial := packetTrial(payload, version, 1500, 200, 200*time.Millisecond)
			o := run(t, d, trial)
			checkWhole(t, o)
			checkFragments(t, trial, o)
			if doubt := hasDoubt(o, measure.DoubtRefragmented); doubt != nil {
				t.Errorf("IPv%d, %d bytes: %+v", version, payload, doubt)
			}
			sent, fragments = sent+o.Directions[0].SentFrames, fragments+o.Directions[0].SentFragments
		}
		// The rule counts whole packets, probes too.
		if passed := rulePackets(t, p); passed < sent || passed >= fragments {
			t.Errorf("IPv%d: %d passed the rule, sent were %d packets in %d fragments", version, passed, sent, fragments)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// rulePackets returns the value of the device's counter.
func rulePackets(t *testing.T, p *testpath.Path) (packets uint64) {
	t.Helper()
	if err := testpath.Do(p.Device, func() error {
		out, err := exec.Command("nft", "list", "ruleset").Output()
		if err != nil {
			return err
		}
		_, count, _ := strings.Cut(string(out), "counter packets ")
		_, err = fmt.Sscan(count, &packets)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return packets
}

// Fragments with no room for a signature belong to no packet: the loss that follows is
// not the device's, and the trial does not count.
func TestFragmentsTooShortToRecognize(t *testing.T) {
	o, _ := packetDevice(t, 4, func(f piece, frame []byte, send func([]byte)) {
		for from := 0; from < len(f.data); from += 8 {
			send(cut(frame, f, from, min(from+8, len(f.data))))
		}
	})
	if doubt := hasDoubt(o, measure.DoubtFragmentsUnknown); doubt == nil || !doubt.Invalid {
		t.Errorf("doubts %+v, want one that makes the trial invalid", o.Doubts)
	}
}
