package procedure

import (
	"testing"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// TestPackets searches in packets and shows both them and their fragments.
func TestPackets(t *testing.T) {
	instr := instructions()
	packet := measure.Packet{PayloadBytes: 4096, IPVersion: 4, MTUBytes: 1500}
	instr.Sizes, instr.Repeats = append(sizes(64), measure.PacketSize(packet)), 2
	b := newBench(simulated.HardCap{CapacityFramesPerSecond: 100_000})
	b.spoil = func(r *measure.Record) {
		if (r.Trial.Packet != nil) != (r.Trial.Size == "udp-4096") {
			t.Errorf("%s of size %s has the packet %+v", r.Stage, r.Trial.Size, r.Trial.Packet)
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	figures := Results(instr, records)
	if len(figures.Frames) != 2 {
		t.Fatalf("%d results", len(figures.Frames))
	}
	if whole := figures.Frames[0]; whole.Packet != nil || whole.Throughput[0].FragmentsPerSecond != nil || whole.Latency[0].Directions[0].SentFragments != nil {
		t.Errorf("whole frames have fragments: %+v", whole)
	}
	got := figures.Frames[1]
	if got.Packet == nil || got.Packet.PayloadBytes != 4096 || got.Packet.Fragments != 3 || got.FrameBytes != 4142 {
		t.Fatalf("%+v", got.Packet)
	}
	ndr := got.Throughput[0]
	const onWire = (1518 + 1518 + 1182 + 3*20) * 8
	if ndr.FragmentsPerSecond == nil || *ndr.FragmentsPerSecond != 3*ndr.FramesPerSecond || ndr.Layer1BitsPerSecond != ndr.FramesPerSecond*onWire {
		t.Errorf("throughput %+v", ndr)
	}
	if ndr.FramesPerSecond < 98_000 || ndr.FramesPerSecond > 100_000 {
		t.Errorf("throughput %d packets/s, the device forwards 100000", ndr.FramesPerSecond)
	}
	d := got.Latency[0].Directions[0]
	if d.SentFragments == nil || *d.SentFragments != 3*d.SentFrames || *d.ReceivedFragments != 3*d.ReceivedFrames || d.SentFrames != 2*5000 {
		t.Errorf("idle: %+v", d)
	}
}
