package xdp

import (
	"runtime"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

// timedOf returns how many of so many frames are timed as fast as possible, and how many of them
// follow another one.
func timedOf(frames uint64) (timed, pairs uint64) {
	whole, rest := frames/timedEvery, frames%timedEvery
	return 2*whole + min(rest, 2), whole + min(rest/2, 1)
}

// TestFlatOutTimesAPart checks that each frame counts as fast as possible, and that two of each
// timedEvery are timed.
func TestFlatOutTimesAPart(t *testing.T) {
	varied := func(path measure.Path) measure.Path {
		for i := range path.Streams {
			path.Streams[i].Flows = &measure.Flows{Count: 1000, Fields: []measure.FlowField{measure.FlowSourcePort}}
		}
		return path
	}
	mix := mixed(0, 50*time.Millisecond)
	small := trialOf(64, 0, 50*time.Millisecond)
	packets := packetTrial(4096, 4, 1500, 0, 50*time.Millisecond)
	for name, c := range map[string]struct {
		build   builder
		path    func(*testpath.Path) measure.Path
		threads int
		trial   measure.Trial
		all     bool
	}{
		"both directions":        {routedWithNAPI, func(p *testpath.Path) measure.Path { return p.IPv4() }, 1, small, false},
		"a thread for each":      {routedWithNAPI, func(p *testpath.Path) measure.Path { return p.IPv4() }, 2, small, false},
		"IPv6":                   {routedWithNAPI, func(p *testpath.Path) measure.Path { return p.IPv6() }, 1, trialOf(90, 0, 50*time.Millisecond), false},
		"flows":                  {routedWithNAPI, func(p *testpath.Path) measure.Path { return varied(p.IPv4()) }, 1, small, false},
		"a mix":                  {routedWithNAPI, func(p *testpath.Path) measure.Path { return p.IPv4() }, 1, mix, false},
		"VLANs":                  {taggedAtWest, func(p *testpath.Path) measure.Path { return inVLANs(p.IPv4(), testVLAN, 0) }, 1, small, false},
		"the inner veth pair":    {testpath.Bridged, func(p *testpath.Path) measure.Path { return p.IPv4() }, 1, small, false},
		"all, where asked for":   {routedWithNAPI, func(p *testpath.Path) measure.Path { return p.IPv4() }, 1, small, true},
		"packets, which are all": {routedWithNAPI, func(p *testpath.Path) measure.Path { return p.IPv4() }, 1, packets, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, c.build)
			d := open(t, p, Config{Path: c.path(p), Threads: c.threads, TimeAll: c.all && c.trial.Packet == nil})
			for i, o := range run(t, d, c.trial).Directions {
				made := d.state.Transmitters[i].Made
				timed, pairs := timedOf(made)
				if c.all {
					timed, pairs = made, max(made, 1)-1
				}
				if got := d.state.Transmitters[i].Timed; made == 0 || got != timed {
					t.Errorf("%s: %d of %d frames were to be timed, want %d", o.Direction, got, made, timed)
				}
				if o.ReceivedFrames == 0 || o.DuplicateFrames > 0 || o.ReorderedFrames > 0 || o.SequencedFrames != nil {
					t.Errorf("%s: received %d, %d twice, %d out of order", o.Direction, o.ReceivedFrames, o.DuplicateFrames, o.ReorderedFrames)
				}
				if o.LostFrames() == 0 && o.RefusedFrames == 0 && (o.Latency.Samples != timed || o.DelayVariation.Samples != pairs || o.LatencyOfSent != nil || o.ReceivedFrames != made) {
					t.Errorf("%s: %d of %d frames came; %d delays, want %d; %d variations, want %d; of those sent %+v", o.Direction, o.ReceivedFrames, made,
						o.Latency.Samples, timed, o.DelayVariation.Samples, pairs, o.LatencyOfSent)
				}
				if o.LostFrames() > 0 || o.RefusedFrames > 0 {
					t.Logf("%s: %d of %d frames lost, %d refused", o.Direction, o.LostFrames(), made, o.RefusedFrames)
				}
				if o.FirstFrameNanoseconds == 0 || o.Jitter == nil {
					t.Errorf("%s: first frame %d ns, jitter %+v", o.Direction, o.FirstFrameNanoseconds, o.Jitter)
				}
			}
			// At a load all are.
			o := run(t, d, trialOf(500, 1000, 50*time.Millisecond))
			for _, o := range o.Directions {
				if o.Latency.Samples != o.ReceivedFrames || o.ReceivedFrames == 0 {
					t.Errorf("%s: %d of %d frames were timed at a load", o.Direction, o.Latency.Samples, o.ReceivedFrames)
				}
			}
		})
	}
}

// TestFlatOutEndsWithABatch runs the programs batch by batch: after the end no frame of a next batch is made, though
// none of them is timed, and all of the batch that has begun are, though one in its middle is timed. The end is when a
// batch began. Two directions on one thread take turns.
func TestFlatOutEndsWithABatch(t *testing.T) {
	p := buildPath(t, testpath.Direct)
	one, both := []measure.Direction{measure.Forward}, []measure.Direction{measure.Forward, measure.Reverse}
	for name, c := range map[string]struct {
		directions []measure.Direction
		// begun is how many runs of a batch are over at the end, and ahead how many frames later the next one is timed.
		begun uint32
		ahead uint64
		all   bool
	}{
		"one direction":                {directions: one, ahead: 1000},
		"both":                         {directions: both, ahead: 1000},
		"one, in the middle":           {directions: one, begun: 4, ahead: 5},
		"both, in the middle":          {directions: both, begun: 4, ahead: 5},
		"all timed, in the middle":     {directions: one, begun: 4, all: true},
		"all timed, a batch has ended": {directions: one, all: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, p, Config{Path: p.IPv4(c.directions...), Threads: 1, TimeAll: c.all})
			trial := trialOf(64, 0, time.Second)
			templates, err := d.prepare(trial)
			if err != nil {
				t.Fatal(err)
			}
			s := d.senders(trial, templates)[0]
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			restore, err := s.settle()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := restore(); err != nil {
					t.Error(err)
				}
			}()
			var pins runtime.Pinner
			defer pins.Unpin()
			pins.Pin(&s.frame[0])
			runs := func(n uint32) {
				t.Helper()
				if n == 0 {
					return
				}
				if err := s.request(n).run(); err != nil {
					t.Fatal(err)
				}
			}
			all := d.state.Transmitters[:len(c.directions)]
			made := func(runs uint32) {
				t.Helper()
				for i := range all {
					if want := uint64(int(runs) / len(all)); all[i].Made != want {
						t.Errorf("direction %d made %d frames, want %d", i, all[i].Made, want)
					}
				}
			}
			for i := range all {
				all[i].Eligible, all[i].EndAt = 0, never
			}
			runs(5*flatOutBatch + c.begun)
			made(5*flatOutBatch + c.begun)
			end := monotonicNow()
			for i := range all {
				all[i].EndAt = end
				if !c.all {
					all[i].NextTimed = all[i].Made + c.ahead
				}
			}
			whole := (5*flatOutBatch + c.begun + flatOutBatch - 1) / flatOutBatch * flatOutBatch
			runs(whole - 5*flatOutBatch - c.begun)
			made(whole)
			runs(flatOutBatch)
			made(whole)
			for i := range all {
				if all[i].Eligible != never || all[i].LastDeparture < end {
					t.Errorf("direction %d ends at %d, %d ns after its time", i, all[i].Eligible, int64(all[i].LastDeparture-end))
				}
			}
		})
	}
}
