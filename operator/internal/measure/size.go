package measure

import (
	"fmt"
	"strconv"
)

// Size is one thing that is measured: frames of one size, a mix of sizes, or a
// packet in fragments. Its name is its identity: records, results and loads refer
// to it. FrameBytes is a property, which two sizes may share.
type Size struct {
	Name string `json:"name"`
	// FrameBytes is the frame's size with its check sequence, the mean of Mix, or the frame
	// that Packet would be in one piece.
	FrameBytes int `json:"frameBytes"`
	// Mix is nil if all frames have one size.
	Mix *Mix `json:"mix,omitempty"`
	// Packet is nil if every frame is a packet.
	Packet *Packet `json:"packet,omitempty"`
}

// FrameSize returns the size of equal frames, named by their bytes.
func FrameSize(frameBytes int) Size {
	return Size{Name: strconv.Itoa(frameBytes), FrameBytes: frameBytes}
}

// MixSize returns a mix as a size.
func MixSize(name string, mix Mix) Size {
	return Size{Name: name, FrameBytes: mix.MeanFrameBytes(), Mix: &mix}
}

// PacketSize returns a packet in fragments as a size, named by its payload.
func PacketSize(packet Packet) Size {
	return Size{Name: fmt.Sprintf("udp-%d", packet.PayloadBytes), FrameBytes: packet.FrameBytes(), Packet: &packet}
}

// String describes the size for a sentence: "64 bytes", "mix SimpleIMIX" or "packets of
// 4096 bytes".
func (s Size) String() string {
	switch {
	case s.Mix != nil:
		return "mix " + s.Name
	case s.Packet != nil:
		return fmt.Sprintf("packets of %d bytes", s.Packet.PayloadBytes)
	}
	return fmt.Sprintf("%d bytes", s.FrameBytes)
}

// Check returns why the size cannot be sent, or nil if it can.
func (s Size) Check() error {
	switch {
	case s.Mix != nil && s.Packet != nil:
		return fmt.Errorf("size %q is a mix and a packet", s.Name)
	case s.Mix != nil:
		if err := s.Mix.Check(); err != nil {
			return fmt.Errorf("mix %q: %w", s.Name, err)
		}
		return nil
	case s.Packet != nil:
		return s.Packet.Check()
	case s.FrameBytes <= 0:
		return fmt.Errorf("a frame of %d bytes", s.FrameBytes)
	}
	return nil
}

// CheckSizes returns why the sizes cannot be measured: each must have a unique name and
// must be one that can be sent, and the link must carry it.
func (i Instructions) CheckSizes() error {
	seen := map[string]bool{}
	for _, size := range i.Sizes {
		if size.Name == "" || seen[size.Name] {
			return fmt.Errorf("size %q has no name, or another size has it too", size.Name)
		}
		seen[size.Name] = true
		if err := size.Check(); err != nil {
			return err
		}
		if i.LineRateFramesPerSecond(size) == 0 {
			return fmt.Errorf("the link carries no frame of %s", size)
		}
	}
	return nil
}
