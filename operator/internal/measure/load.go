package measure

import "math/bits"

// Load is a load of each stream in one of four units; the others are 0. For
// packets in fragments, FramesPerSecond counts packets.
type Load struct {
	FramesPerSecond     uint64 `json:"framesPerSecond,omitempty"`
	Layer1BitsPerSecond uint64 `json:"layer1BitsPerSecond,omitempty"`
	Layer2BitsPerSecond uint64 `json:"layer2BitsPerSecond,omitempty"`
	LineRatePercent     uint64 `json:"lineRatePercent,omitempty"`
}

// FramesPerSecond is a load with what is measured under frameBytes, in whole
// frames, rounded down; 0 where the load is less than one frame.
func (i Instructions) FramesPerSecond(load Load, frameBytes int) uint64 {
	switch {
	case load.Layer1BitsPerSecond > 0:
		return i.framesOf(load.Layer1BitsPerSecond, frameBytes, FrameOverheadBytes+i.tagBytes())
	case load.Layer2BitsPerSecond > 0:
		return i.framesOf(load.Layer2BitsPerSecond, frameBytes, i.tagBytes())
	case load.LineRatePercent > 0:
		return i.LineRateFramesPerSecond(frameBytes) * load.LineRatePercent / 100
	}
	return load.FramesPerSecond
}

// LineRateFramesPerSecond is that of the link with what is measured under frameBytes.
func (i Instructions) LineRateFramesPerSecond(frameBytes int) uint64 {
	return i.framesOf(i.LinkBitsPerSecond, frameBytes, FrameOverheadBytes+i.tagBytes())
}

// Layer1BitsPerSecond is the rate on the wire of what is measured under
// frameBytes, preamble, gap and VLAN tag included.
func (i Instructions) Layer1BitsPerSecond(framesPerSecond float64, frameBytes int) float64 {
	if mix := i.MixOf(frameBytes); mix != nil {
		return mix.Layer1BitsPerSecond(framesPerSecond) + framesPerSecond*float64(i.tagBytes())*8
	}
	if packet := i.PacketOf(frameBytes); packet != nil {
		return packet.Layer1BitsPerSecond(framesPerSecond)
	}
	return Layer1BitsPerSecond(framesPerSecond, frameBytes+i.tagBytes())
}

// tagBytes is what frames have beside their size at a port with a VLAN tag. With
// a tag at one port alone, the link there is the one that counts. Packets in
// fragments have none.
func (i Instructions) tagBytes() int {
	if i.Chain.HasVLAN() {
		return VLANTagBytes
	}
	return 0
}

// framesOf divides bits per second by the bits of a frame with its overhead.
func (i Instructions) framesOf(bitsPerSecond uint64, frameBytes, overhead int) uint64 {
	if p := i.PacketOf(frameBytes); p != nil {
		return p.bitsInto(bitsPerSecond, overhead)
	}
	bytes, frames := frameBytes, 1
	if m := i.MixOf(frameBytes); m != nil {
		bytes, frames = m.round()
	}
	high, low := bits.Mul64(bitsPerSecond, uint64(frames))
	rate, _ := bits.Div64(high, low, uint64(bytes+frames*overhead)*8)
	return rate
}

// Minimum is the lowest load of the search with what is measured under frameBytes.
func (i Instructions) Minimum(frameBytes int) uint64 {
	if load := i.Throughput.MinimumLoad; load != nil {
		return i.FramesPerSecond(*load, frameBytes)
	}
	return i.Throughput.MinimumFramesPerSecond
}

// Maximum is the highest load that was asked for, 0 where none was.
func (i Instructions) Maximum(frameBytes int) uint64 {
	if load := i.Throughput.MaximumLoad; load != nil {
		return i.FramesPerSecond(*load, frameBytes)
	}
	return i.Throughput.MaximumFramesPerSecond
}

// Rate is a latency load's own rate, 0 where it is a share of a goal's throughput.
func (i Instructions) Rate(load LoadInstruction, frameBytes int) uint64 {
	if load.Rate != nil {
		return i.FramesPerSecond(*load.Rate, frameBytes)
	}
	return load.FramesPerSecond
}
