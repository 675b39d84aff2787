package v1alpha1

import (
	"slices"
	"strconv"
)

// MixSimple is the name of the simple IMIX: 7 frames of 64 bytes, 4 of 594 and
// 1 of 1518.
const MixSimple = "SimpleIMIX"

// FrameMix is a mix of frame sizes that are sent together (IMIX, RFC 6985).
// +kubebuilder:validation:XValidation:rule="has(self.frames) != (self.name == 'SimpleIMIX')",message="SimpleIMIX has its own frames, and every other name needs frames: leave frames out, or give the mix another name",fieldPath=".frames"
// +kubebuilder:validation:XValidation:rule="!self.name.matches('^([0-9]+|udp-[0-9]+)$')",message="the name is that of a frame size or of a packet: give the mix another name",fieldPath=".name"
type FrameMix struct {
	// name of the mix, unique in the run. SimpleIMIX is 7 frames of 64 bytes, 4 of 594 and 1
	// of 1518, with a mean of 362 bytes. Every other name needs frames.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$`
	Name string `json:"name,omitempty"`

	// frames are the sizes of the mix and how often each is sent.
	// +optional
	// +listType=map
	// +listMapKey=frameBytes
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=8
	Frames []WeightedFrame `json:"frames,omitempty"`
}

// WeightedFrame is one size of a mix.
type WeightedFrame struct {
	// frameBytes is the frame's size with its check sequence.
	// +required
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=9018
	FrameBytes int32 `json:"frameBytes,omitempty"`

	// weight is how many of these frames are sent in each round of the mix.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight,omitempty"`
}

// Weighted returns the mix's frames, also those that its name represents.
func (m FrameMix) Weighted() []WeightedFrame {
	if len(m.Frames) == 0 && m.Name == MixSimple {
		return []WeightedFrame{{64, 7}, {594, 4}, {1518, 1}}
	}
	return m.Frames
}

// MeanFrameBytes returns the mix's mean frame size, rounded to the nearest byte: the frameBytes
// of its results.
func (m FrameMix) MeanFrameBytes() int32 {
	var bytes, weights int64
	for _, frame := range m.Weighted() {
		bytes += int64(frame.FrameBytes) * int64(frame.Weight)
		weights += int64(frame.Weight)
	}
	if weights == 0 {
		return 0
	}
	return int32((2*bytes + weights) / (2 * weights))
}

// Sizes returns the frame sizes of frameBytes and frameRanges in their order, each once.
func (t Traffic) Sizes() []int32 {
	sizes := slices.Clone(t.FrameBytes)
	for _, r := range t.FrameRanges {
		for size := r.From; size <= r.To && r.Step > 0; size += r.Step {
			if !slices.Contains(sizes, size) {
				sizes = append(sizes, size)
			}
		}
	}
	return sizes
}

// SizeNames returns the names of everything that a run with this traffic sends, in their order:
// its sizes, then its mixes, then its packets.
func (t Traffic) SizeNames() []string {
	var names []string
	for _, size := range t.Sizes() {
		names = append(names, strconv.Itoa(int(size)))
	}
	for _, mix := range t.IMIX {
		names = append(names, mix.Name)
	}
	for _, packet := range t.Packets {
		names = append(names, packet.SizeName())
	}
	return names
}

// MeasuredFrameBytes returns the frameBytes of all results of a run with this traffic, in their
// order: its sizes, then the means of its mixes, then its packets.
func (t Traffic) MeasuredFrameBytes() []int32 {
	all := t.Sizes()
	for _, mix := range t.IMIX {
		all = append(all, mix.MeanFrameBytes())
	}
	for _, packet := range t.Packets {
		all = append(all, packet.FrameBytes(t.IPFamily))
	}
	return all
}
