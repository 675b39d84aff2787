package xdp

import (
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

func TestDoubts(t *testing.T) {
	trial := measure.Trial{FrameBytes: 64, IntendedFramesPerSecond: 1000, DurationNanoseconds: int64(time.Second)}
	for name, c := range map[string]struct {
		made, received, late uint64
		seen                 watched
		total, waited        time.Duration
		code                 string
		invalid              bool
	}{
		"none":                       {made: 1000, received: 1000},
		"loss alone":                 {made: 1000, received: 10},
		"receive drops with loss":    {made: 1000, received: 990, seen: watched{ports: [2]counters{1: {receiveDrops: 5}}}, code: measure.DoubtReceiveDrops, invalid: true},
		"receive drops without loss": {made: 1000, received: 1000, seen: watched{ports: [2]counters{1: {receiveDrops: 5}}}, code: measure.DoubtReceiveDrops},
		"drops on the sending port":  {made: 1000, received: 990, seen: watched{ports: [2]counters{0: {receiveDrops: 5}}}},
		"a few late frames":          {made: 1000, received: 1000, late: 10},
		"many late frames":           {made: 1000, received: 1000, late: 11, code: measure.DoubtMissedDeadlines},
		"unsent":                     {made: 999, received: 999, code: measure.DoubtUnsent},
		"little steal":               {made: 1000, received: 1000, seen: watched{steal: 5 * time.Millisecond}},
		"steal":                      {made: 1000, received: 1000, seen: watched{steal: 10 * time.Millisecond}, code: measure.DoubtSteal},
		"a little preempted":         {made: 1000, received: 1000, waited: 5 * time.Millisecond},
		"preempted":                  {made: 1000, received: 1000, waited: 6 * time.Millisecond, code: measure.DoubtPreempted},
		"packets dropped in between": {made: 1000, received: 1000, seen: watched{softnet: softnet{dropped: 1}}, code: measure.DoubtKernelQueue},
		"a few turns left":           {made: 1000, received: 1000, seen: watched{softnet: softnet{squeezed: squeezesASecond}}},
		"many turns left":            {made: 1000, received: 1000, seen: watched{softnet: softnet{squeezed: squeezesASecond + 1}}, code: measure.DoubtKernelQueue},
		"stretched":                  {made: 1000, received: 1000, total: 2 * time.Second, code: measure.DoubtStretched},
	} {
		t.Run(name, func(t *testing.T) {
			stream := streamIPv4()
			d := &Driver{cpus: []int{0}, state: &state{trafficState: &trafficState{}}}
			d.streams[0] = &stream
			d.description.TransmitPath = Direct
			d.state.Transmitters[0].Made, d.state.Transmitters[0].Late = c.made, c.late
			d.state.Receivers[0].Received = c.received
			o := d.outcome(trial, 0, c.seen)
			o.TotalNanoseconds = int64(max(c.total, time.Second))
			got := d.doubts(trial, o, []*sender{{held: held{times: 7, waited: c.waited}}}, c.seen)
			if c.code == "" {
				if len(got) != 0 {
					t.Errorf("unwanted doubts: %+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Code != c.code || got[0].Invalid != c.invalid {
				t.Errorf("got %+v, want one of %s, invalid %v", got, c.code, c.invalid)
			}
		})
	}
}

func TestRefusedFramesWereNotSent(t *testing.T) {
	stream := streamIPv4()
	d := &Driver{state: &state{trafficState: &trafficState{}}}
	d.streams[0] = &stream
	d.description.TransmitPath = Direct
	d.state.Transmitters[0].Made, d.state.Receivers[0].Received = 1000, 900
	seen := watched{ports: [2]counters{0: {sendDrops: 60}}}
	if got := d.sent(0, seen); got != 940 {
		t.Errorf("sent %d, want 940", got)
	}
	// The port's counter includes other frames: what arrived was sent.
	seen.ports[0].sendDrops = 200
	if got := d.sent(0, seen); got != 900 {
		t.Errorf("sent %d, want 900", got)
	}
	d.description.TransmitPath = InnerVeth
	d.state.Transmitters[0].LeftInner = 990
	seen.ports[0].sendDrops = 0
	if got := d.sent(0, seen); got != 990 {
		t.Errorf("sent %d, want 990", got)
	}
}
