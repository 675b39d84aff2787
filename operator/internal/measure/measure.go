// Package measure is the vocabulary that traffic drivers, the search and the
// report share: what a trial is asked to do, and what it found.
//
// A trial is RFC 2544's and RFC 9971's: one load, one frame size, one duration. A
// Trial goes into a driver; an Outcome comes out. Everything here is plain data
// with units in its names. It is safe to store as JSON, and a later process can
// read it again.
package measure

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// FrameOverheadBytes is what a frame occupies on layer 1 in addition to itself: preamble,
// start delimiter and the minimum gap (IEEE 802.3).
const FrameOverheadBytes = 20

// FrameCheckSequenceBytes is counted in a frame's size (RFC 1242 section 3.5) but is never in
// a buffer that software sees.
const FrameCheckSequenceBytes = 4

// Direction is the way of a stream through the chain.
type Direction string

const (
	// Forward runs from the first traffic port (west) to the second (east).
	Forward Direction = "Forward"
	// Reverse runs from the second traffic port (east) to the first (west).
	Reverse Direction = "Reverse"
)

// Stream is one direction's frames: UDP over IPv4 or IPv6 over Ethernet II.
type Stream struct {
	Direction Direction `json:"direction"`
	// SourceMAC and DestinationMAC are "aa:bb:cc:dd:ee:ff". The plan's digest leaves out fields
	// with the tag digest:"-".
	SourceMAC      string `json:"sourceMAC" digest:"-"`
	DestinationMAC string `json:"destinationMAC" digest:"-"`
	// Both addresses are of one family.
	SourceAddress      netip.Addr `json:"sourceAddress"`
	DestinationAddress netip.Addr `json:"destinationAddress"`
	SourcePort         uint16     `json:"sourcePort"`
	DestinationPort    uint16     `json:"destinationPort"`
	// LoadPercent is the stream's share of every load; 0 means all of it. A trial that is as
	// fast as possible has no shares.
	LoadPercent int `json:"loadPercent,omitempty"`
	// Flows is nil if all frames are of one flow.
	Flows *Flows `json:"flows,omitempty"`
}

// Port is one traffic port as the traffic pod sees it.
type Port struct {
	// Interface is the network interface's name, at most 15 characters.
	Interface string `json:"interface"`
	// VLAN is the number of the 802.1Q tag of the port's frames, 1 to 4094; 0 means no tag.
	VLAN int `json:"vlan,omitempty"`
	// Addresses are those for which the port answers ARP (RFC 826) and neighbor discovery
	// (RFC 4861), one of each family at most; none if its neighbors are static.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// NextHop is the address that the driver resolves before the first trial: the answer
	// replaces the DestinationMAC of the port's stream. Absent: that is used as it is.
	NextHop netip.Addr `json:"nextHop,omitzero"`
}

// Address returns the port's address of a family, and no valid one if it has none.
func (p Port) Address(is4 bool) netip.Addr {
	for _, address := range p.Addresses {
		if address.Is4() == is4 {
			return address
		}
	}
	return netip.Addr{}
}

// Hop is how frames pass from a traffic port to the first function.
type Hop string

const (
	// HopInline is a veth pair or a bridge on one node: the function's kernel forwards on the
	// core that sends, so frames that find no room are the device's loss.
	HopInline Hop = "Inline"
	// HopTap is a virtual machine that a tap of the same node connects. The bridge and the tap
	// work on the core that sends, the VM does not.
	HopTap Hop = "Tap"
	// HopSeparate is everything else, such as a network card: no part of the device works on the
	// core that sends.
	HopSeparate Hop = "Separate"
)

// Path is what a driver is opened on: two ports and one or two streams. Ports[0] sends
// Forward and receives Reverse, Ports[1] the other way round.
type Path struct {
	Ports   [2]Port  `json:"ports"`
	Streams []Stream `json:"streams"`
	// Hop is HopSeparate if empty: then no frame that did not leave a port is the device's loss.
	Hop Hop `json:"hop,omitempty"`
	// PodsFirst says, with HopTap, that in a direction that is used the first function is a pod whose
	// kernel forwards on the core that sends, and so may be the limit.
	PodsFirst bool `json:"podsFirst,omitempty"`
}

// VLANTagBytes is what a tag adds to a frame (IEEE 802.1Q). No frame size includes it, so
// results with and without a tag are comparable. It does take time on the wire.
const VLANTagBytes = 4

// HasVLAN reports whether frames have a tag at one port or both.
func (p Path) HasVLAN() bool { return p.Ports[0].VLAN != 0 || p.Ports[1].VLAN != 0 }

// Trial is what the search asks of a driver.
type Trial struct {
	// Size is the name of what is sent; empty for a trial of TCP or of connections.
	Size string `json:"size,omitempty"`
	// FrameBytes is the frame's size with its check sequence (RFC 1242 section 3.5),
	// or the mean of a mix.
	FrameBytes int `json:"frameBytes"`
	// Mix is nil if all frames have one size.
	Mix *Mix `json:"mix,omitempty"`
	// Packet is nil if every frame is a packet. Otherwise the trial's load and all counts are
	// in packets, and FrameBytes is Packet's.
	Packet *Packet `json:"packet,omitempty"`
	// TCP is set for a trial of TCP connections, which has no frame size and no load.
	TCP *TCPTrial `json:"tcp,omitempty"`
	// Connections is set for a trial of many connections, which also has neither.
	Connections *ConnectionsTrial `json:"connections,omitempty"`
	// IntendedFramesPerSecond is the intended load (RFC 2285 section 3.5.1) of each stream, the
	// same for every direction except for a stream's LoadPercent. 0 means as fast as the
	// generator can (RFC 2285's maximum offered load).
	IntendedFramesPerSecond uint64 `json:"intendedFramesPerSecond"`
	// DurationNanoseconds is the time in which frames are sent.
	DurationNanoseconds int64 `json:"durationNanoseconds"`
	// SettleNanoseconds is the wait for frames still under way after the last
	// was sent (RFC 2544 section 23).
	SettleNanoseconds int64 `json:"settleNanoseconds"`
	// TaggedFrameNanoseconds is when, after the start of the trial and before its end, each
	// stream's next frame is tagged and timed by itself (RFC 2544 section 26.2); 0 means never.
	TaggedFrameNanoseconds int64 `json:"taggedFrameNanoseconds,omitempty"`
}

// Duration returns the sending time.
func (t Trial) Duration() time.Duration { return time.Duration(t.DurationNanoseconds) }

// Settle returns the wait after the last frame.
func (t Trial) Settle() time.Duration { return time.Duration(t.SettleNanoseconds) }

// Delays summarize one direction's distribution of a delay or of a delay's variation. Zero
// Samples means that nothing arrived and no figure is valid.
type Delays struct {
	Samples          uint64 `json:"samples"`
	MinNanoseconds   uint64 `json:"minNanoseconds"`
	MeanNanoseconds  uint64 `json:"meanNanoseconds"`
	P50Nanoseconds   uint64 `json:"p50Nanoseconds"`
	P90Nanoseconds   uint64 `json:"p90Nanoseconds"`
	P99Nanoseconds   uint64 `json:"p99Nanoseconds"`
	P999Nanoseconds  uint64 `json:"p999Nanoseconds"`
	P9999Nanoseconds uint64 `json:"p9999Nanoseconds"`
	MaxNanoseconds   uint64 `json:"maxNanoseconds"`
}

// DelayQuantiles summarize a distribution, in nanoseconds, in fewer and shorter figures than
// Delays, because each record holds four of them.
type DelayQuantiles struct {
	P50Nanoseconds uint64 `json:"p50"`
	P99Nanoseconds uint64 `json:"p99"`
	MaxNanoseconds uint64 `json:"max"`
}

// Distributions are those of one direction as package distribution writes them.
type Distributions struct {
	// Delay is that of Latency.
	Delay string `json:"delay,omitempty"`
	// Lateness is that of Lateness; empty where the driver does not separate it.
	Lateness string `json:"lateness,omitempty"`
	// DelayVariation is that of DelayVariation; empty where the driver does not count it.
	DelayVariation string `json:"delayVariation,omitempty"`
}

// Jitter is RFC 3550 section 6.4.1's running mean with gain 1/16, over the trial: all values after
// the first frame's.
type Jitter struct {
	MeanNanoseconds uint64 `json:"mean"`
	P99Nanoseconds  uint64 `json:"p99"`
	MaxNanoseconds  uint64 `json:"max"`
}

// SentDelays are percentiles of the delay over all frames that were sent to be timed, in nanoseconds:
// a frame that was lost took longer than any other. 0 where more frames were lost than take longer
// than the percentile.
type SentDelays struct {
	P99Nanoseconds  uint64 `json:"p99,omitempty"`
	P999Nanoseconds uint64 `json:"p999,omitempty"`
}

// TaggedFrame is the one frame of a stream that was timed by itself: the first that was due
// at the trial's TaggedFrameNanoseconds or later.
type TaggedFrame struct {
	// DueNanoseconds is when it was due, after the start of the trial.
	DueNanoseconds int64 `json:"dueNanoseconds"`
	// DelayNanoseconds is its one-way delay, at least 1, or 0 if it was lost.
	DelayNanoseconds uint64 `json:"delayNanoseconds"`
}

// DirectionOutcome is the outcome of one stream of a trial.
type DirectionOutcome struct {
	Direction Direction `json:"direction"`
	// LoadPercent is the direction's share of the trial's load; 0 means all of it.
	LoadPercent int `json:"loadPercent,omitempty"`
	// IntendedFrames is load times duration; 0 if the load was "as fast as possible".
	IntendedFrames uint64 `json:"intendedFrames"`
	// SentFrames are the offered load (RFC 2285 section 3.5.2). On a path with HopInline that is
	// every frame whose time came; on others OverflowFrames, LeftFrames and RefusedFrames are not sent.
	SentFrames uint64 `json:"sentFrames"`
	// OverflowFrames were due and found the generator's receive ring full, which represents
	// the receive ring of the device's port.
	OverflowFrames uint64 `json:"overflowFrames,omitempty"`
	// LeftFrames were still in that ring when the trial was cut off. On a path with HopInline they
	// are sent, and lost by the device.
	LeftFrames uint64 `json:"leftFrames,omitempty"`
	// DrainNanoseconds is the time from the end of the outcome's SendingNanoseconds until the last frame
	// left that ring: the load was not carried in the trial's time. 0 without a ring. Its name in records
	// is short, as each holds two, and so is the next one's.
	DrainNanoseconds int64 `json:"drain,omitempty"`
	// QueueGrowthNanoseconds is by how much the smallest delay of the trial's last tenth exceeds that
	// of its first: a queue in the device still grew at the end. The wait in the driver's ring is part
	// of it on a path with HopInline. 0 if it is not, and if the driver does not know.
	QueueGrowthNanoseconds int64 `json:"growth,omitempty"`
	// MostInMillisecond is the most frames that left within a millisecond; 0 if the driver does not
	// count it.
	MostInMillisecond uint64 `json:"mostInMillisecond,omitempty"`
	// RefusedFrames were handed to the sending port, which dropped them.
	RefusedFrames uint64 `json:"refusedFrames,omitempty"`
	// ReceivedFrames counts distinct frames of this trial that arrived.
	ReceivedFrames uint64 `json:"receivedFrames"`
	// DuplicateFrames arrived more than once (RFC 5560).
	DuplicateFrames uint64 `json:"duplicateFrames"`
	// ReorderedFrames arrived after a frame with a higher sequence number (RFC 4737 section 3).
	ReorderedFrames uint64 `json:"reorderedFrames"`
	// SequencedFrames are those that arrived and whose order and duplicates the driver looked at; nil
	// for all.
	SequencedFrames *uint64 `json:"sequencedFrames,omitempty"`
	// LateArrivals are frames of the trial before, which arrived after it had settled: they
	// count as lost there.
	LateArrivals uint64 `json:"lateArrivals,omitempty"`
	// SentFragments and ReceivedFragments count the frames of packets in fragments, each once;
	// 0 without a Packet. A packet has arrived when all of its fragments have.
	SentFragments     uint64 `json:"sentFragments,omitempty"`
	ReceivedFragments uint64 `json:"receivedFragments,omitempty"`
	// FirstFrameNanoseconds is the delay of the frame with sequence number 0, or 0 if it was
	// lost.
	FirstFrameNanoseconds uint64 `json:"firstFrameNanoseconds,omitempty"`
	// TaggedFrame is nil if none was requested, or if the stream ended before one was sent.
	TaggedFrame *TaggedFrame `json:"taggedFrame,omitempty"`
	// Latency is the one-way delay (RFC 7679): from the time when a frame was due if a load was
	// set, otherwise from its departure.
	Latency Delays `json:"latency,omitzero"`
	// LatencyOfSent is nil if every frame with a delay arrived.
	LatencyOfSent *SentDelays `json:"latencyOfSent,omitempty"`
	// Lateness is the part of Latency before the departure, which is the wait in the ring; zero
	// if no load was set.
	Lateness DelayQuantiles `json:"lateness,omitzero"`
	// DelaySinceDeparture is the part of Latency after the departure; zero if no load was set.
	DelaySinceDeparture DelayQuantiles `json:"delaySinceDeparture,omitzero"`
	// DelayVariation is |D(i)-D(i-1)| of frames that arrived one after the
	// other in sequence: the absolute IPDV (RFC 3393, RFC 5481 section 4.1).
	DelayVariation Delays `json:"delayVariation,omitzero"`
	// Distributions are whole, where Latency, Lateness and DelayVariation are figures of them. Records
	// have them as far as there is room.
	Distributions *Distributions `json:"distributions,omitempty"`
	// Jitter is nil if fewer than two frames were timed, and if the driver does not count it.
	Jitter *Jitter `json:"jitter,omitempty"`
	// Series is nil if the driver keeps none, if no load was set, and where results have no room.
	Series *Series `json:"series,omitempty"`
}

// LostFrames returns how many sent frames never arrived.
func (d DirectionOutcome) LostFrames() uint64 {
	if d.ReceivedFrames >= d.SentFrames {
		return 0
	}
	return d.SentFrames - d.ReceivedFrames
}

// UnsentFrames returns how many requested frames the generator did not send.
func (d DirectionOutcome) UnsentFrames() uint64 {
	if d.SentFrames >= d.IntendedFrames {
		return 0
	}
	return d.IntendedFrames - d.SentFrames
}

// LossRatio returns lost over sent, or 0 if nothing was sent.
func (d DirectionOutcome) LossRatio() float64 {
	if d.SentFrames == 0 {
		return 0
	}
	return float64(d.LostFrames()) / float64(d.SentFrames)
}

// PacketDelayVariationP99 returns p99(D) - min(D) (RFC 5481 section 4.2, RFC 8219 section
// 7.3.1).
func (d DirectionOutcome) PacketDelayVariationP99() uint64 {
	return d.Latency.P99Nanoseconds - min(d.Latency.MinNanoseconds, d.Latency.P99Nanoseconds)
}

// PacketDelayVariationP999 returns p99.9(D) - min(D), or nil where there is no p99.9.
func (d DirectionOutcome) PacketDelayVariationP999() *uint64 {
	p999 := d.Latency.P999()
	if p999 == nil {
		return nil
	}
	return new(*p999 - min(d.Latency.MinNanoseconds, *p999))
}

// Doubt is a problem of a trial that the generator noticed about itself.
type Doubt struct {
	// Code is one of the constants below.
	Code string `json:"code"`
	// Detail is one sentence with figures. Records of short trials of which only counts are kept
	// have none.
	Detail string `json:"detail,omitempty"`
	// Invalid is true if the trial must not be used and has to be repeated.
	Invalid bool `json:"invalid,omitempty"`
}

// The doubts that a generator can have about its own trial.
const (
	// DoubtReceiveDrops: frames reached the generator's port and were dropped there.
	DoubtReceiveDrops = "GeneratorReceiveDrops"
	// DoubtTransmitDrops: frames were made and the port refused them after they had been counted.
	DoubtTransmitDrops = "GeneratorTransmitDrops"
	// DoubtTransmitUnproven: frames are missing, and the sending port may have dropped them without
	// a count.
	DoubtTransmitUnproven = "TransmitUnproven"
	// DoubtUnsent: fewer frames were sent than intended.
	DoubtUnsent = "GeneratorBehind"
	// DoubtMissedDeadlines: frames were sent late by more than the pacing tolerance.
	DoubtMissedDeadlines = "MissedDeadlines"
	// DoubtSteal: the hypervisor took the CPU away during the trial.
	DoubtSteal = "CPUSteal"
	// DoubtPreempted: other work took the CPU away from the sending threads.
	DoubtPreempted = "GeneratorPreempted"
	// DoubtSoftirq: the kernel took in packets of others on a CPU that sends, in time of the sending thread.
	DoubtSoftirq = "SoftirqOfOthers"
	// DoubtStarved: frames are missing, or took longer than StarvedDelay, and the kernel may not have done
	// the network work of a CPU that sends.
	DoubtStarved = "SoftirqStarved"
	// DoubtKernelQueue: packets waited too long for a CPU that sends, or were dropped there.
	DoubtKernelQueue = "KernelQueueFull"
	// DoubtRefragmented: fragments arrived with other bounds than they were sent with, so the
	// number of bytes decides whether a packet is complete.
	DoubtRefragmented = "Refragmented"
	// DoubtFragmentsUnknown: fragments arrived that belong to no packet that is (still) known.
	DoubtFragmentsUnknown = "FragmentsUnknown"
	// DoubtStretched: the trial took clearly longer than requested.
	DoubtStretched = "StretchedTrial"
	// DoubtOverflow: frames were due and not sent, because the path from the generator to the
	// device took fewer.
	DoubtOverflow = "GeneratorOverflow"
	// DoubtLateArrivals: frames of the trial before arrived in this one.
	DoubtLateArrivals = "LateArrivals"
	// DoubtStillArriving: frames still arrived when the trial ended. A driver that cannot distinguish
	// the frames of two trials counts them as received in the next one.
	DoubtStillArriving = "FramesStillArriving"
	// DoubtUnaccounted: the generator's own counts of frames do not add up, and then the trial is
	// invalid; or frames arrived that are none of the trial's, or too late to be known.
	DoubtUnaccounted = "FramesUnaccounted"
)

// StarvedDelay is the delay of a frame above which the kernel may have left it to a thread that never runs: such a time
// ends when the kernel's limit on real-time threads, or the end of the trial, lets that thread run.
const StarvedDelay = time.Millisecond

// Outcome is what a trial found. ReceivedFrames of a direction may exceed
// neither SentFrames nor, where a load was set, IntendedFrames.
type Outcome struct {
	// StartedAt is when the first frame was due.
	StartedAt time.Time `json:"startedAt"`
	// StartUncertaintyNanoseconds is how much later than StartedAt, and than SendingNanoseconds
	// after it, the first and the last frame may have left: a driver may know only when it asked.
	StartUncertaintyNanoseconds int64 `json:"startUncertaintyNanoseconds,omitempty"`
	// SendingNanoseconds is the time in which frames become due: the trial's duration where a load
	// was set, otherwise the time until the last frame's departure.
	SendingNanoseconds int64 `json:"sendingNanoseconds"`
	// TotalNanoseconds is the whole time of the trial, including its settling and overheads.
	TotalNanoseconds int64 `json:"totalNanoseconds"`
	// Hop is that of the driver's path; empty if the driver has no ring.
	Hop Hop `json:"hop,omitempty"`
	// RingFrames is how many frames of a direction that are due may wait in the driver's ring, which is the
	// device's; 0 where the hop is not HopInline, where no load was set, and in records of older drivers.
	RingFrames int `json:"ring,omitempty"`
	// AwayNanoseconds is the time for which sending threads were kept off their cores, and
	// LongestAwayNanoseconds the longest of these times, as far as the driver knows.
	AwayNanoseconds        int64 `json:"awayNanoseconds,omitempty"`
	LongestAwayNanoseconds int64 `json:"longestAwayNanoseconds,omitempty"`
	// HeldNanoseconds is the time for which others had the core of a sending thread, of the thread with the longest: all that it waited,
	// that the hypervisor held it, and that packets of others took, in pieces of any length. AwayNanoseconds counts only longer ones. nil
	// where the driver does not know each of these parts, and in records of older drivers.
	HeldNanoseconds *int64             `json:"held,omitempty"`
	Directions      []DirectionOutcome `json:"directions"`
	// TCP is set for a trial of TCP connections, which has no Directions.
	TCP *TCPOutcome `json:"tcp,omitempty"`
	// Connections is set for a trial of connections, which has no Directions either.
	Connections *ConnectionsOutcome `json:"connections,omitempty"`
	Doubts      []Doubt             `json:"doubts,omitempty"`
}

// LineRateFramesPerSecond returns the most frames of a size that a link can carry: bits per
// second over (frame + 20 bytes) * 8.
func LineRateFramesPerSecond(linkBitsPerSecond uint64, frameBytes int) uint64 {
	return linkBitsPerSecond / (uint64(frameBytes+FrameOverheadBytes) * 8)
}

// Layer1BitsPerSecond returns the rate on the wire, including preamble and gap.
func Layer1BitsPerSecond(framesPerSecond float64, frameBytes int) float64 {
	return framesPerSecond * float64(frameBytes+FrameOverheadBytes) * 8
}

// Failure is an error with a documented reason. The reason becomes that of the run's
// condition; the message says what to do.
type Failure struct {
	// Reason is UpperCamelCase and one of the API's documented reasons.
	Reason string
	// Remedy is one sentence for the user.
	Remedy string
	Err    error
	// Passing says that the cause may pass by itself, such as a node that is not ready.
	Passing bool
}

// Failf makes a Failure whose error is formatted as by fmt.Errorf.
func Failf(reason, remedy, format string, args ...any) *Failure {
	return &Failure{Reason: reason, Remedy: remedy, Err: fmt.Errorf(format, args...)}
}

func (f *Failure) Error() string {
	if f.Remedy == "" {
		return fmt.Sprintf("%s: %v", f.Reason, f.Err)
	}
	return fmt.Sprintf("%s: %v; %s", f.Reason, f.Err, f.Remedy)
}

func (f *Failure) Unwrap() error { return f.Err }

// ReasonOf returns the reason of the first Failure in err's chain, or "".
func ReasonOf(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.Reason
	}
	return ""
}
