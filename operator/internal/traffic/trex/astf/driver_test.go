package astf

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

var between = measure.Stateful{
	Clients:  measure.Hosts{First: netip.MustParseAddr("198.18.128.1"), Count: 254},
	Servers:  measure.Hosts{First: netip.MustParseAddr("198.19.128.1"), Count: 254},
	MSSBytes: 1460,
}

func opened(t *testing.T, f *fake) (*Driver, *process) {
	t.Helper()
	p := &process{}
	d, err := open(t.Context(), Config{Server: p, Between: between}, f.dial)
	if err != nil {
		t.Fatal(err)
	}
	return d, p
}

func tcpTrial(directions ...measure.Direction) measure.Trial {
	return measure.Trial{
		DurationNanoseconds: 10e9, SettleNanoseconds: 1e8,
		TCP: &measure.TCPTrial{Streams: 4, OmitNanoseconds: 2e9, Directions: directions, TCPSettings: measure.TCPSettings{MSSBytes: 1460}},
	}
}

func TestTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{bytesPerSecond: 125_000_000}
		d, _ := opened(t, f)
		sent := 0
		d.NotifySent(func() { sent++ })
		outcome, err := d.Measure(t.Context(), tcpTrial(measure.Forward, measure.Reverse))
		if err != nil {
			t.Fatal(err)
		}
		if len(outcome.TCP.Directions) != 2 || len(outcome.Doubts) != 0 || sent != 1 {
			t.Fatalf("got outcome %+v and %d calls of NotifySent", outcome, sent)
		}
		for i, direction := range []measure.Direction{measure.Forward, measure.Reverse} {
			found := outcome.TCP.Directions[i]
			if found.Direction != direction || found.GoodputBitsPerSecond() < 999_000_000 || found.GoodputBitsPerSecond() > 1_001_000_000 {
				t.Errorf("direction %s: %d bit/s of %+v", found.Direction, found.GoodputBitsPerSecond(), found)
			}
			if got := time.Duration(found.ReceivedNanoseconds); got < 9900*time.Millisecond || got > 10100*time.Millisecond {
				t.Errorf("counted %s", got)
			}
			if len(found.Intervals) != 10 || found.Intervals[0].StartNanoseconds != 0 || found.Intervals[9].Bytes < 124_000_000 || found.Retransmits != 30 {
				t.Errorf("intervals %+v, %d retransmits", found.Intervals, found.Retransmits)
			}
			if found.RTTMaxNanoseconds != 0 || found.MaximumSegmentBytes != 1460 || found.CongestionControl != "newreno" || found.SenderCPUPartsPerMillion != 375_000 {
				t.Errorf("direction %+v", found)
			}
		}
		want := []measure.TCPEnd{{Name: "west", Program: measure.Program{Name: measure.ProgramTRex, Version: "v3.08"}}, {Name: "east", Program: measure.Program{Name: measure.ProgramTRex, Version: "v3.08"}}}
		if diff := cmp.Diff(want, outcome.TCP.Ends); diff != "" {
			t.Error(diff)
		}
		if f.state != rpc.ASTFLoaded || !f.params.NoClose {
			t.Errorf("state %d, start %+v", f.state, f.params)
		}
		if err := d.Close(); err != nil || !f.closed {
			t.Errorf("closing: %v, connection %t", err, f.closed)
		}
	})
}

func TestExchanges(t *testing.T) {
	load := measure.ConnectionsTrial{ConnectionsPerSecond: 1000, RequestBytes: 128, ResponseBytes: 1024}
	for name, test := range map[string]struct {
		fake fake
		held int64
		want func(measure.ConnectionsOutcome) bool
	}{
		"all good": {fake{}, 0, func(o measure.ConnectionsOutcome) bool {
			return near(o.AttemptsPerSecond(), 1000) && near(o.EstablishedPerSecond(), 1000) && o.Failed() == 0 && o.Completed == o.Attempts &&
				near(measure.BitsPerSecond(o.ForwardBytes, o.CountedNanoseconds), 1_024_000) &&
				near(measure.BitsPerSecond(o.ReverseBytes, o.CountedNanoseconds), 8_192_000) && o.Concurrent > 0 && o.HeldAtEnd == 0
		}},
		"a tenth reset": {fake{resetPercent: 10}, 0, func(o measure.ConnectionsOutcome) bool {
			return near(o.EstablishedPerSecond(), 1000) && near(o.Reset*10, o.Attempts) && o.TimedOut == 0 && o.Completed+o.Reset == o.Attempts
		}},
		"a fifth never answered": {fake{lostPercent: 20}, 0, func(o measure.ConnectionsOutcome) bool {
			return near(o.EstablishedPerSecond(), 800) && near(o.TimedOut*5, o.Attempts) && o.Reset == 0 && near(o.AttemptsPerSecond(), 1000)
		}},
		"a generator that is too slow": {fake{slow: 40}, 0, func(o measure.ConnectionsOutcome) bool {
			return near(o.AttemptsPerSecond(), 600) && o.Failed() == 0
		}},
		"held": {fake{}, 3000, func(o measure.ConnectionsOutcome) bool {
			return o.Attempts == 3000 && o.Established == 3000 && o.Completed == 3000 && o.HeldAtEnd == 3000 && o.Concurrent == 3000 && o.Failed() == 0
		}},
		"held over a device that forgets": {fake{resetPercent: 50}, 3000, func(o measure.ConnectionsOutcome) bool {
			return o.Established == 3000 && o.Reset == 1500 && o.Completed == 1500
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &test.fake
				d, _ := opened(t, f)
				trial := measure.Trial{DurationNanoseconds: 10e9, SettleNanoseconds: 1e8, Connections: new(load)}
				trial.Connections.ConcurrentConnections = test.held
				outcome, err := d.Measure(t.Context(), trial)
				if err != nil {
					t.Fatal(err)
				}
				if o := *outcome.Connections; !test.want(o) || o.Program != (measure.Program{Name: measure.ProgramTRex, Version: "v3.08"}) || o.Retransmits != 2 || o.GeneratorCPUPartsPerMillion != 375_000 {
					t.Errorf("%+v", o)
				}
			})
		})
	}
}

// near allows for what happens between two readings.
func near(got, want int64) bool { return got*100 >= want*98 && got*100 <= want*102 }

func TestGeneratorLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{bytesPerSecond: 1}
		d, _ := opened(t, f)
		f.refuse = func(method string, _ int) error {
			if method == "get_port_stats" {
				f.inputErrors++
			}
			return nil
		}
		f.bytesPerSecond = 1e6
		outcome, err := d.Measure(t.Context(), tcpTrial(measure.Forward))
		if err != nil {
			t.Fatal(err)
		}
		if outcome.Valid() || outcome.Doubts[0].Code != measure.DoubtReceiveDrops || !strings.Contains(outcome.Doubts[0].Detail, "port west dropped") {
			t.Errorf("doubts %+v", outcome.Doubts)
		}
	})
}

func TestOpenFails(t *testing.T) {
	for name, test := range map[string]struct {
		fake   fake
		dead   error
		reason string
		words  string
	}{
		"another mode":       {fake: fake{mode: "STL"}, reason: v1alpha1.ReasonTRexServerFailed, words: `mode "STL"`},
		"an unknown server":  {fake: fake{missing: cDrops}, reason: v1alpha1.ReasonTRexServerFailed, words: "no counter tcps_drops"},
		"no way through":     {fake: fake{lostPercent: 100}, reason: v1alpha1.ReasonNoPathThroughChain, words: "TCP connections came through"},
		"the profile":        {fake: fake{whyNot: "not enough clients for cores"}, reason: v1alpha1.ReasonTRexServerFailed, words: "not enough clients"},
		"a refused call":     {fake: fake{refuse: refusing("profile_fragment")}, reason: v1alpha1.ReasonTRexServerFailed, words: "part 1 of"},
		"a server that died": {fake: fake{refuse: refusing("start")}, dead: &measure.Failure{Reason: v1alpha1.ReasonTRexMissing, Err: errors.New("killed by signal 9")}, reason: v1alpha1.ReasonTRexMissing, words: "killed by signal 9"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &process{dead: test.dead}
				_, err := open(t.Context(), Config{Server: p, Between: between}, test.fake.dial)
				if measure.ReasonOf(err) != test.reason || !strings.Contains(err.Error(), test.words) {
					t.Errorf("got %v", err)
				}
				if !test.fake.closed {
					t.Error("the connection is left open")
				}
			})
		})
	}
}

func refusing(name string) func(string, int) error {
	return func(method string, _ int) error {
		if method == name {
			return &rpc.Error{Method: method, Code: rpc.CodeExecute, Message: "Failed To Execute Method", Specific: "no"}
		}
		return nil
	}
}

func TestMeasureFails(t *testing.T) {
	for name, test := range map[string]struct {
		trial  measure.Trial
		change func(*fake)
		reason string
		words  string
	}{
		"neither":            {trial: measure.Trial{DurationNanoseconds: 1e9}, reason: v1alpha1.ReasonInvalidTrial, words: "neither"},
		"a rate":             {trial: with(func(t *measure.TCPTrial) { t.TargetBitsPerSecond = 1 }), reason: v1alpha1.ReasonTCPSettingRefused, words: "held to a rate"},
		"congestion control": {trial: with(func(t *measure.TCPTrial) { t.CongestionControl = "bbr" }), reason: v1alpha1.ReasonTCPSettingRefused, words: "cubic, newreno, reno"},
		"not all open":       {trial: tcpTrial(measure.Forward), change: func(f *fake) { f.lostPercent = 50 }, reason: v1alpha1.ReasonChainFailed, words: "2 of 4"},
		"another epoch": {trial: tcpTrial(measure.Forward), change: func(f *fake) {
			f.refuse = func(method string, _ int) error {
				if method == "get_tg_id_stats" {
					f.epoch++
				}
				return nil
			}
		}, reason: v1alpha1.ReasonTRexServerFailed, words: "another trial has begun"},
		"counters are refused": {trial: tcpTrial(measure.Forward), change: func(f *fake) { f.refuse = refusing("get_global_stats") }, reason: v1alpha1.ReasonTRexServerFailed, words: "get_global_stats"},
		"a restart": {trial: tcpTrial(measure.Forward), change: func(f *fake) {
			f.refuse = func(string, int) error { return rpc.ErrServerRestarted }
		}, reason: v1alpha1.ReasonTRexServerFailed, words: "started again"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{bytesPerSecond: 1e6}
				d, _ := opened(t, f)
				if test.change != nil {
					test.change(f)
				}
				_, err := d.Measure(t.Context(), test.trial)
				if measure.ReasonOf(err) != test.reason || !strings.Contains(err.Error(), test.words) {
					t.Errorf("got %v", err)
				}
				if f.state == rpc.ASTFTransmitting && f.refuse == nil {
					t.Error("traffic continues")
				}
			})
		})
	}
}

// The driver restarts a server that fails between two trials, if a new connection is not
// enough; it does not restart one that fails in a trial.
func TestServerFailsBetweenTrials(t *testing.T) {
	died := &measure.Failure{Reason: v1alpha1.ReasonTRexServerFailed, Err: errors.New("killed by signal 9")}
	for name, test := range map[string]struct {
		fails    func(*fake, *process)
		restarts int
		reason   string
		words    string
	}{
		"it died": {fails: func(f *fake, p *process) { p.dead, p.restart = died, f.again; f.unreachable = true }, restarts: 1},
		"it died, and its connection failed": {fails: func(f *fake, p *process) {
			f.refuse, p.restart = func(string, int) error { p.dead = died; return rpc.ErrConnection }, f.again
		}, restarts: 1},
		"it hangs":                   {fails: func(f *fake, p *process) { f.refuse, p.restart = always(rpc.ErrConnection), f.again }, restarts: 1},
		"another started it":         {fails: func(f *fake, _ *process) { f.again() }},
		"another has it":             {fails: func(f *fake, _ *process) { f.refuse = untilDialled(f, rpc.ErrOwned) }},
		"its answers are of another": {fails: func(f *fake, _ *process) { f.refuse = untilDialled(f, rpc.ErrServerRestarted) }},
		"it cannot be started":       {fails: func(f *fake, p *process) { p.dead = died }, restarts: 1, reason: v1alpha1.ReasonTRexServerFailed, words: "killed by signal 9"},
		"it hangs again":             {fails: func(f *fake, p *process) { f.refuse, p.restart = always(rpc.ErrConnection), func() {} }, restarts: 1, reason: v1alpha1.ReasonTRexServerFailed, words: "could not continue"},
		"it refuses the profile":     {fails: func(f *fake, _ *process) { f.refuse = refusing("profile_fragment") }, reason: v1alpha1.ReasonTRexServerFailed, words: "part 1 of"},
		"it dies when it begins":     {fails: func(f *fake, p *process) { f.refuse, p.restart = dying(p, died, "start"), f.again }, reason: v1alpha1.ReasonTRexServerFailed, words: "killed by signal 9"},
		"it dies within a trial":     {fails: func(f *fake, p *process) { f.refuse, p.restart = dying(p, died, "get_tg_id_stats"), f.again }, reason: v1alpha1.ReasonTRexServerFailed, words: "killed by signal 9"},
		"it dies once it is over":    {fails: func(f *fake, p *process) { f.refuse, p.restart = dying(p, died, "stop"), f.again }, reason: v1alpha1.ReasonTRexServerFailed, words: "killed by signal 9"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{bytesPerSecond: 125_000_000}
				d, p := opened(t, f)
				test.fails(f, p)
				outcome, err := d.Measure(t.Context(), tcpTrial(measure.Forward))
				if p.restarts != test.restarts {
					t.Errorf("started again %d times, want %d", p.restarts, test.restarts)
				}
				if test.reason != "" {
					if measure.ReasonOf(err) != test.reason || !strings.Contains(err.Error(), test.words) {
						t.Errorf("got %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := outcome.TCP.Directions[0].GoodputBitsPerSecond(); got < 999_000_000 || f.dials < 2 {
					t.Errorf("%d bit/s over connection %d", got, f.dials)
				}
			})
		})
	}
}

func always(err error) func(string, int) error {
	return func(string, int) error { return err }
}

// untilDialled refuses every call on the current connection.
func untilDialled(f *fake, err error) func(string, int) error {
	before := f.dials
	return func(string, int) error {
		if f.dials > before {
			return nil
		}
		return err
	}
}

// dying ends the server at a call.
func dying(p *process, why error, at string) func(string, int) error {
	return func(method string, _ int) error {
		if method != at && p.dead == nil {
			return nil
		}
		p.dead = why
		return rpc.ErrConnection
	}
}

func with(change func(*measure.TCPTrial)) measure.Trial {
	trial := tcpTrial(measure.Forward)
	change(trial.TCP)
	return trial
}

// A cancelled trial ends at once, with the cause, and leaves no traffic.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{bytesPerSecond: 1e6}
		d, _ := opened(t, f)
		cause := errors.New("the pod ends")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(4*time.Second, func() { cancel(cause) })
		begun := time.Now()
		if _, err := d.Measure(ctx, tcpTrial(measure.Forward)); !errors.Is(err, cause) || time.Since(begun) > 5*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		if f.state != rpc.ASTFLoaded || !slices.Contains(f.calls, "stop") {
			t.Errorf("state %d, %v", f.state, f.calls)
		}
	})
}

// A profile that the server has already is not sent again.
func TestSameProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		d, _ := opened(t, f)
		f.calls = nil
		trial := measure.Trial{DurationNanoseconds: 1e9, Connections: &measure.ConnectionsTrial{ConnectionsPerSecond: 10, RequestBytes: 4000, ResponseBytes: 64}}
		for range 2 {
			if _, err := d.Measure(t.Context(), trial); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for _, call := range f.calls {
			if call == "profile_fragment" {
				n++
			}
		}
		if n != 3 {
			t.Errorf("%d parts were sent, want two and the first again", n)
		}
	})
}
