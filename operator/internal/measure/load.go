package measure

import (
	"math/bits"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

// FramesPerSecond returns a load of a size in whole frames, rounded down; 0 if the load is
// less than one frame. For packets in fragments, it counts packets.
func (i Instructions) FramesPerSecond(load v1alpha1.Load, size Size) uint64 {
	switch {
	case load.Layer1BitsPerSecond != nil:
		return i.framesOf(uint64(*load.Layer1BitsPerSecond), size, FrameOverheadBytes+i.tagBytes())
	case load.Layer2BitsPerSecond != nil:
		return i.framesOf(uint64(*load.Layer2BitsPerSecond), size, i.tagBytes())
	case load.LineRatePercent != nil:
		return i.LineRateFramesPerSecond(size) * uint64(*load.LineRatePercent) / 100
	}
	return uint64(ptr.Deref(load.FramesPerSecond, 0))
}

// LineRateFramesPerSecond returns the line rate of a size.
func (i Instructions) LineRateFramesPerSecond(size Size) uint64 {
	return i.framesOf(i.LinkBitsPerSecond, size, FrameOverheadBytes+i.tagBytes())
}

// Layer1BitsPerSecond returns the rate of a size on the wire, including preamble, gap and
// VLAN tag.
func (i Instructions) Layer1BitsPerSecond(framesPerSecond float64, size Size) float64 {
	if mix := size.Mix; mix != nil {
		return mix.Layer1BitsPerSecond(framesPerSecond) + framesPerSecond*float64(i.tagBytes())*8
	}
	if packet := size.Packet; packet != nil {
		return packet.Layer1BitsPerSecond(framesPerSecond)
	}
	return Layer1BitsPerSecond(framesPerSecond, size.FrameBytes+i.tagBytes())
}

// tagBytes returns what a VLAN tag adds to the size of frames. With a tag at only one port,
// the link at that port counts. Packets in fragments have no tag.
func (i Instructions) tagBytes() int {
	if i.Chain.HasVLAN() {
		return VLANTagBytes
	}
	return 0
}

// framesOf divides bits per second by the bits of a frame with its overhead.
func (i Instructions) framesOf(bitsPerSecond uint64, size Size, overhead int) uint64 {
	if p := size.Packet; p != nil {
		return p.bitsInto(bitsPerSecond, overhead)
	}
	bytes, frames := size.FrameBytes, 1
	if m := size.Mix; m != nil {
		bytes, frames = m.round()
	}
	high, low := bits.Mul64(bitsPerSecond, uint64(frames))
	rate, _ := bits.Div64(high, low, uint64(bytes+frames*overhead)*8)
	return rate
}

// Minimum returns the lowest load in the search of a size.
func (i Instructions) Minimum(size Size) uint64 {
	if load := i.Throughput.MinimumLoad; load != nil {
		return i.FramesPerSecond(*load, size)
	}
	return uint64(i.Throughput.MinimumFramesPerSecond)
}

// Maximum returns the highest requested load, or 0 if there is none.
func (i Instructions) Maximum(size Size) uint64 {
	if load := i.Throughput.MaximumLoad; load != nil {
		return i.FramesPerSecond(*load, size)
	}
	return uint64(ptr.Deref(i.Throughput.MaximumFramesPerSecond, 0))
}

// Rate returns a latency load's own rate, or 0 if it is a share of a goal's throughput.
func (i Instructions) Rate(load v1alpha1.LatencyLoad, size Size) uint64 {
	if load.Rate != nil {
		return i.FramesPerSecond(*load.Rate, size)
	}
	return uint64(ptr.Deref(load.FramesPerSecond, 0))
}

// ProfileRate returns the rate of a profile of fixedLoad in frames of its size.
func (i Instructions) ProfileRate(profile v1alpha1.LoadProfile, size Size) uint64 {
	return i.FramesPerSecond(v1alpha1.Load{FramesPerSecond: profile.FramesPerSecond, Layer2BitsPerSecond: profile.Layer2BitsPerSecond}, size)
}
