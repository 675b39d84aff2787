package frames

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const signatureBytes = 16

func streamTo(direction measure.Direction, source, destination string) measure.Stream {
	return measure.Stream{
		Direction: direction, SourceMAC: "02:00:5e:10:00:00", DestinationMAC: "02:00:5e:10:00:01",
		SourceAddress: netip.MustParseAddr(source), DestinationAddress: netip.MustParseAddr(destination),
	}
}

func streamIPv4() measure.Stream { return streamTo(measure.Forward, "198.18.0.1", "198.19.0.1") }
func streamIPv6() measure.Stream { return streamTo(measure.Forward, "2001:2::1", "2001:2:0:1::1") }

func pathOf(streams ...measure.Stream) measure.Path {
	return measure.Path{Ports: [2]measure.Port{{Interface: "west"}, {Interface: "east"}}, Streams: streams}
}

func TestMinFrameBytes(t *testing.T) {
	v4, v6 := streamIPv4(), streamIPv6()
	for name, c := range map[string]struct {
		streams Streams
		want    int
	}{
		"none": {Streams{}, 64}, "IPv4": {Streams{&v4}, 64}, "IPv6": {Streams{nil, &v6}, 82}, "both": {Streams{&v6, &v4}, 82},
	} {
		if got := c.streams.minFrameBytes(signatureBytes); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestOf(t *testing.T) {
	reverse := streamIPv4()
	reverse.Direction = measure.Reverse
	got, err := Of(pathOf(reverse))
	if err != nil || got[0] != nil || got[1] == nil || got[1].Direction != measure.Reverse {
		t.Errorf("got %v and %v, want the reverse stream alone, in the second place", got, err)
	}
	unknown, noMAC := streamIPv4(), streamIPv4()
	unknown.Direction, noMAC.SourceMAC = "Up", ""
	same, tagged := pathOf(streamIPv4()), pathOf(streamIPv4())
	same.Ports[1], tagged.Ports[1].VLAN = same.Ports[0], 4095
	for name, c := range map[string]struct {
		path  measure.Path
		words string
	}{
		"one port":             {same, `both ports are "west"`},
		"a reserved VLAN":      {tagged, "from 1 to 4094"},
		"no stream":            {pathOf(), "there is no stream"},
		"one direction twice":  {pathOf(streamIPv4(), streamIPv6()), "there twice"},
		"an unknown direction": {pathOf(unknown), "unknown"},
		"no source MAC":        {pathOf(noMAC), "not an Ethernet address"},
	} {
		wantFailure(t, name, lastOf(Of(c.path)), v1alpha1.ReasonInvalidPath, c.words)
	}
}

func TestCheck(t *testing.T) {
	v4 := streamIPv4()
	streams := Streams{&v4}
	good := measure.Trial{FrameBytes: 64, IntendedFramesPerSecond: 1000, DurationNanoseconds: int64(time.Second)}
	mixed := good
	mixed.Mix = &measure.Mix{Frames: []measure.MixFrame{{FrameBytes: 64, Weight: 7}, {FrameBytes: 1518, Weight: 1}, {FrameBytes: 594, Weight: 4}}}
	packets := good
	packets.Packet = &measure.Packet{PayloadBytes: 4096, IPVersion: 4, MTUBytes: 1500}
	for name, c := range map[string]struct {
		trial measure.Trial
		want  int
	}{
		"one size": {good, 64}, "a mix": {mixed, 1518}, "fragments": {packets, slices.Max(packets.Packet.FragmentFrameBytes())},
	} {
		if got, err := streams.Check(c.trial, signatureBytes); err != nil || got != c.want {
			t.Errorf("%s: %d and %v, want %d", name, got, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		spoil         func(*measure.Trial)
		reason, words string
	}{
		"TCP":          {func(trial *measure.Trial) { trial.TCP = &measure.TCPTrial{} }, v1alpha1.ReasonInvalidTrial, "another driver"},
		"exchanges":    {func(trial *measure.Trial) { trial.Connections = &measure.ConnectionsTrial{} }, v1alpha1.ReasonInvalidTrial, "another driver"},
		"no time":      {func(trial *measure.Trial) { trial.DurationNanoseconds = 0 }, v1alpha1.ReasonInvalidTrial, "give a positive duration"},
		"no settling":  {func(trial *measure.Trial) { trial.SettleNanoseconds = -1 }, v1alpha1.ReasonInvalidTrial, "give a positive duration"},
		"a tag before": {func(trial *measure.Trial) { trial.TaggedFrameNanoseconds = -1 }, v1alpha1.ReasonInvalidTrial, "before the trial's end"},
		"a tag after": {
			func(trial *measure.Trial) { trial.TaggedFrameNanoseconds = trial.DurationNanoseconds }, v1alpha1.ReasonInvalidTrial, "before the trial's end",
		},
		"an empty mix":        {func(trial *measure.Trial) { trial.Mix = &measure.Mix{} }, v1alpha1.ReasonInvalidTrial, "correct the mix"},
		"a packet of nothing": {func(trial *measure.Trial) { trial.Packet = &measure.Packet{} }, v1alpha1.ReasonInvalidTrial, "correct the mix or the packet"},
		"too small":           {func(trial *measure.Trial) { trial.FrameBytes = 63 }, v1alpha1.ReasonFrameTooSmall, "at least 64 bytes"},
		"no frame":            {func(trial *measure.Trial) { trial.DurationNanoseconds = 1000 }, v1alpha1.ReasonInvalidTrial, "raise the load or the duration"},
	} {
		trial := good
		c.spoil(&trial)
		wantFailure(t, name, lastOf(streams.Check(trial, signatureBytes)), c.reason, c.words)
	}
	v6 := streamIPv6()
	wantFailure(t, "too small for IPv6", lastOf(Streams{&v4, &v6}.Check(good, signatureBytes)), v1alpha1.ReasonFrameTooSmall, "at least 82 bytes")
}

// TestProbe sends enough frames of every stream, whatever their shares are.
func TestProbe(t *testing.T) {
	v6 := streamIPv6()
	v6.LoadPercent = 1
	shared := Streams{nil, &v6}
	whole := shared.WithoutShares()
	if got := whole[1].IntendedFrames(whole.Probe(signatureBytes)); got != probeFrames {
		t.Errorf("%d frames, want %d", got, probeFrames)
	}
	if shared[1].LoadPercent != 1 {
		t.Errorf("the shares of the streams themselves are gone: %+v", shared[1])
	}
	if _, err := whole.Check(whole.Probe(200), 200); err != nil {
		t.Errorf("a probe with a signature of 200 bytes: %v", err)
	}
}

func TestMissing(t *testing.T) {
	got := Missing(measure.Outcome{Directions: []measure.DirectionOutcome{
		{Direction: measure.Forward, ReceivedFrames: 1}, {Direction: measure.Reverse},
	}})
	if want := []measure.Direction{measure.Reverse}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func lastOf[T any](_ T, err error) error { return err }

func wantFailure(t *testing.T, name string, err error, reason, words string) {
	t.Helper()
	if measure.ReasonOf(err) != reason || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: got %v, want %s with %q", name, err, reason, words)
	}
}
