package trex

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/headers"
)

// purpose is what a part of a stream's frames is for.
type purpose int

const (
	// load frames are counted.
	load purpose = iota
	// timed frames are counted and timed.
	timed
	// first is the frame with which a trial begins, and tagged the requested one: each is
	// timed separately.
	first
	tagged
)

// part is what one of TRex's streams sends of a direction's frames.
type part struct {
	purpose    purpose
	frameBytes int
	// frames in total; 0 sends until stopped.
	frames          uint64
	framesPerSecond float64
	// after is when its first frame is due.
	after time.Duration
	// group is the number by which TRex counts it (its pg_id).
	group int
	// stream is the part as TRex's add_stream takes it.
	stream stream
}

// schedule is what one direction sends in a trial.
type schedule struct {
	direction int
	// intended frames; 0 means as many as possible.
	intended uint64
	share    int
	parts    []part
}

const (
	// signatureBytes is what TRex writes into the end of a packet that it times.
	signatureBytes = 16
	// maximumFrameBytes is TRex's own limit, 9,238 bytes without the check sequence.
	maximumFrameBytes = 9238 + measure.FrameCheckSequenceBytes
	// burstLimit is the largest size of a burst in packets.
	burstLimit = math.MaxUint32
	// groupsEach is the number of groups for a direction: one for counted frames, one for
	// each size that is timed, and those of the first and the tagged frame.
	groupsEach = 16
)

// groupOf returns the number of a group, which is never 0.
func groupOf(direction, n int) int { return 1 + direction*groupsEach + n }

const (
	loadGroup   = 0
	firstGroup  = 1
	taggedGroup = 2
	timedGroup  = 3 // and those that follow, up to measure.MaximumMixFrames of them
)

// sizesOf returns a trial's frame sizes, how many of each are in a round, and the round's
// order.
func sizesOf(trial measure.Trial) (frames []measure.MixFrame, sequence []int) {
	if trial.Mix == nil {
		return []measure.MixFrame{{FrameBytes: trial.FrameBytes, Weight: 1}}, []int{0}
	}
	return trial.Mix.Frames, trial.Mix.Sequence()
}

// schedule divides a direction's frames among TRex's streams. Their sum is exactly the
// intended load, the sizes of a mix are exact too, and every stream is evenly spread over
// the whole time.
func (c Config) schedule(direction int, s measure.Stream, trial measure.Trial, lineRate uint64) schedule {
	out := schedule{direction: direction}
	framesPerSecond := float64(lineRate)
	if trial.IntendedFramesPerSecond > 0 {
		framesPerSecond = float64(s.FramesPerSecond(trial))
		out.share, out.intended = s.LoadPercent, s.IntendedFrames(trial)
	}
	sizes, sequence := sizesOf(trial)
	p := splitter{
		framesPerSecond: framesPerSecond, frames: sizes, sequence: sequence,
		timedFrames: uint64(float64(c.LatencyFramesPerSecond)*trial.Duration().Seconds() + 0.5),
	}
	// The two directions alternate instead of being due at once.
	p.offset = 0.5 * float64(direction) / framesPerSecond
	if out.intended > 0 {
		out.parts = p.bursts(out.intended, trial)
	} else {
		out.parts = p.endless(float64(c.LatencyFramesPerSecond), trial)
	}
	vlan := c.Path.Ports[direction].VLAN
	for n := range out.parts {
		out.parts[n].group = groupOf(direction, out.parts[n].group)
		out.parts[n].stream = streamOf(s, out.parts[n], n, vlan)
	}
	return out
}

// splitter is what the division of a direction's frames depends on.
type splitter struct {
	framesPerSecond float64
	frames          []measure.MixFrame
	sequence        []int
	timedFrames     uint64
	// offset applies to the whole direction, in seconds.
	offset float64
}

// bursts returns the parts of a load: each has its number of frames.
func (p splitter) bursts(intended uint64, trial measure.Trial) []part {
	counts := p.counts(intended)
	var parts []part
	// A frame that is timed separately reduces the others of its size by one.
	single := func(purpose purpose, group int, at uint64) {
		size := p.sequence[at%uint64(len(p.sequence))]
		if at >= intended || counts[size] == 0 {
			return
		}
		counts[size]--
		parts = append(parts, part{
			purpose: purpose, group: group, frameBytes: p.frames[size].FrameBytes, frames: 1,
			framesPerSecond: p.framesPerSecond, after: p.seconds(float64(at) / p.framesPerSecond),
		})
	}
	tag := p.tag(trial)
	if trial.TaggedFrameNanoseconds > 0 {
		single(tagged, taggedGroup, tag)
	}
	if trial.TaggedFrameNanoseconds == 0 || tag > 0 {
		single(first, firstGroup, 0)
	}
	rest := intended - uint64(len(parts))
	for size, frames := range p.frames {
		of := counts[size]
		if of == 0 {
			continue
		}
		// Every size has its share of the timed frames, and at least one.
		count := min(of, max(1, mulDiv(p.timedFrames, of, max(rest, 1))))
		position := p.position(size, len(parts) > 0)
		parts = append(parts, p.burst(timed, timedGroup+size, frames.FrameBytes, count, intended, position))
		if of > count {
			// Half a gap from the timed ones, if both begin there.
			parts = append(parts, p.burst(load, loadGroup, frames.FrameBytes, of-count, intended, position+0.5))
		}
	}
	return parts
}

func (p splitter) burst(purpose purpose, group, frameBytes int, frames, of uint64, position float64) part {
	return part{
		purpose: purpose, group: group, frameBytes: frameBytes, frames: frames,
		framesPerSecond: p.framesPerSecond * float64(frames) / float64(of),
		after:           p.seconds(position / p.framesPerSecond),
	}
}

// endless returns the parts of "as fast as possible".
func (p splitter) endless(timedPerSecond float64, trial measure.Trial) []part {
	var parts []part
	round := float64(len(p.sequence))
	share := min(0.5, timedPerSecond/p.framesPerSecond)
	for size, frames := range p.frames {
		of := p.framesPerSecond * float64(frames.Weight) / round
		position := p.position(size, false) / p.framesPerSecond
		parts = append(parts,
			part{purpose: timed, group: timedGroup + size, frameBytes: frames.FrameBytes, framesPerSecond: of * share, after: p.seconds(position)},
			part{purpose: load, group: loadGroup, frameBytes: frames.FrameBytes, framesPerSecond: of * (1 - share), after: p.seconds(position)})
	}
	if trial.TaggedFrameNanoseconds > 0 {
		parts = append(parts, part{
			purpose: tagged, group: taggedGroup, frameBytes: p.frames[p.sequence[0]].FrameBytes, frames: 1,
			framesPerSecond: p.framesPerSecond, after: time.Duration(trial.TaggedFrameNanoseconds),
		})
	}
	return parts
}

// tag returns the number of the first frame that is due at the tagged frame's time or
// after it.
func (p splitter) tag(trial measure.Trial) uint64 {
	at := (float64(trial.TaggedFrameNanoseconds)/1e9 - p.offset) * p.framesPerSecond
	return uint64(max(0, math.Ceil(at-1e-6)))
}

// counts returns how many of each size are among the first frames of the rounds.
func (p splitter) counts(frames uint64) []uint64 {
	rounds, rest := frames/uint64(len(p.sequence)), frames%uint64(len(p.sequence))
	counts := make([]uint64, len(p.frames))
	for size, f := range p.frames {
		counts[size] = rounds * uint64(f.Weight)
	}
	for _, size := range p.sequence[:rest] {
		counts[size]++
	}
	return counts
}

// position returns the first place of a size in the round, after the frame that is sent
// separately.
func (p splitter) position(size int, afterFirst bool) float64 {
	for n, other := range p.sequence {
		if other == size {
			if afterFirst && n == 0 {
				n++
			}
			return float64(n)
		}
	}
	return 0
}

func (p splitter) seconds(at float64) time.Duration {
	return time.Duration((at + p.offset) * 1e9)
}

// mulDiv returns a*b/c rounded to the nearest integer; c is not below b.
func mulDiv(a, b, c uint64) uint64 {
	high, low := bits.Mul64(a, b)
	low, carry := bits.Add64(low, c/2, 0)
	quotient, _ := bits.Div64(high+carry, low, c)
	return quotient
}

// streamOf makes a part's parameters for TRex's add_stream.
func streamOf(s measure.Stream, p part, number, vlan int) stream {
	frame := make([]byte, p.frameBytes-measure.FrameCheckSequenceBytes)
	udp := headers.Put(frame, s)
	shift, payload := 0, 0
	if vlan != 0 {
		shift = measure.VLANTagBytes
	}
	// TRex writes into the end of timed packets after the program runs, so over IPv6 no
	// checksum can be right there.
	evened := !headers.IsIPv4(s) && p.purpose == load
	if evened {
		payload = headers.Bytes(s) + shift
	}
	program := programOf(s, shift, number, payload)
	if evened && program.evens {
		putChecksum(frame, udp, s)
	}
	if vlan != 0 {
		frame = headers.InVLAN(frame, vlan)
	}
	out := stream{
		Enabled: true, SelfStart: true, Flags: ownMACs, NextStreamID: noStream,
		RandomSeed: program.seed,
		ISG:        float64(p.after) / float64(time.Microsecond),
		Packet:     packet{Binary: frame},
		Mode:       mode{Type: continuous, Rate: rate{Type: "pps", Value: p.framesPerSecond}},
		VM:         vm{Instructions: program.instructions},
		FlowStats:  flowStats{Enabled: true, StreamID: p.group, RuleType: timeRule},
	}
	if out.VM.Instructions == nil {
		out.VM.Instructions = []any{}
	}
	if p.purpose == load {
		out.FlowStats.RuleType = countRule
	}
	if p.frames > 0 {
		out.Mode.Type, out.Mode.TotalPackets = singleBurst, p.frames
	}
	return out
}

// putChecksum writes the first packet's checksum of UDP over IPv6: in those that follow,
// what the program counts up in the headers it counts down in the payload.
func putChecksum(frame, udp []byte, s measure.Stream) {
	if f := s.Flows; f != nil && f.Count > 1 {
		for n := range f.Fields {
			binary.BigEndian.PutUint16(udp[headers.UDPBytes+2*n:], uint16(f.Count-1))
		}
	}
	sum := ^headers.Fold(headers.Sum(headers.PseudoSum(frame[headers.EthernetBytes:], len(udp)), udp))
	if sum == 0 {
		sum = 0xffff // 0 would mean that there is none (RFC 768)
	}
	binary.NativeEndian.PutUint16(udp[6:], sum)
}

// checkTrial returns why a trial cannot run.
func checkTrial(trial measure.Trial, streams frames.Streams, largestFrameBytes int) error {
	if trial.Packet != nil {
		return measure.Failf(v1alpha1.ReasonInvalidTrial, "leave packets in fragments out, or use a generator that sends them", "TRex's streams cannot send packets in fragments")
	}
	largest, err := streams.Check(trial, signatureBytes)
	if err != nil {
		return err
	}
	if largest > largestFrameBytes {
		return frames.TooLarge(largest, largestFrameBytes, "use ports with a larger MTU", "TRex can send at these ports")
	}
	for _, s := range streams {
		if s == nil || s.IntendedFrames(trial) <= burstLimit {
			continue
		}
		load := s.FramesPerSecond(trial)
		return measure.Failf(v1alpha1.ReasonInvalidTrial, fmt.Sprintf("shorten the trial to %v at this load", time.Duration(burstLimit/load)*time.Second),
			"%s: %d frames/s for %v is more than the %d frames of one of TRex's streams", s.Direction, load, trial.Duration(), uint64(burstLimit))
	}
	return nil
}
