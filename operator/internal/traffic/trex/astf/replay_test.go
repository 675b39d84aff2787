package astf

import (
	"errors"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/connection"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

func recordedAnswers(t *testing.T) replay.Responder {
	return replay.ByRequest(t, replay.Load(t, "11-astf").Turns(),
		"user", "session_id", "fragment", "frag_first", "frag_last", "md5", "duration", "nc", "latency_pps")
}

// asRecorded answers as the recorded server did, except for its states, which the
// recording has only once: traffic runs from start to stop.
func asRecorded(t *testing.T) *replay.Server {
	t.Helper()
	recorded := recordedAnswers(t)
	state := rpc.ASTFIdle
	return replay.New(t, replay.Func(func(c replay.Call) replay.Answer {
		switch c.Method {
		case "sync":
			return replay.Result(map[string]any{"state": state, "state_profile": map[string]int{profileID: state}})
		case "start":
			state = rpc.ASTFTransmitting
		case "stop":
			state = rpc.ASTFLoaded
		}
		return recorded.Respond(c)
	}))
}

// The recorded server knows every request of a session, and the client reads its answers.
func TestReplay(t *testing.T) {
	s := asRecorded(t)
	client, err := rpc.Dial(t.Context(), s.Address(), rpc.Options{API: rpc.ASTF})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	session := &session{Connection: &connection.Connection{Client: client}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(session.begin(t.Context()))
	if session.version != "v3.08" || session.names["16"] != cEstablished {
		t.Errorf("%q counts %q", session.version, session.names["16"])
	}
	must(session.load(t.Context(), forConnections(between, measure.ConnectionsTrial{ConnectionsPerSecond: 50, RequestBytes: 4000, ResponseBytes: 640}, 1e9)))
	must(session.start(t.Context(), 3*time.Second, false, false))
	before, err := session.losses(t.Context())
	must(err)
	var at look
	epoch := int64(0)
	for range 4 { // the recorded client read twice before traffic, once within it, and once after it
		at, epoch, err = session.look(t.Context())
		must(err)
	}
	if epoch != 1 || at.client.of(cAttempts) != 161 || at.server.of(cReceivedBytes) != 5635 || at.client.nanoseconds() != 3_503_970_002 {
		t.Errorf("epoch %d, %+v", epoch, at)
	}
	groups, err := session.lookAt(t.Context(), 2, epoch)
	must(err)
	if groups[1].client.of(cEstablished) != 161 || groups[2].client.of(cEstablished) != 0 {
		t.Errorf("groups %+v", groups)
	}
	must(session.stop(t.Context()))
	after, err := session.losses(t.Context())
	must(err)
	if doubts := doubtsOf(after.Since(before), at); len(doubts) != 0 {
		t.Errorf("doubts %+v", doubts)
	}
	if s.Count("profile_fragment") != 2 || s.Count("stop") != 1 {
		t.Errorf("%d parts, stopped %d times", s.Count("profile_fragment"), s.Count("stop"))
	}
}

// A server that ends, or answers nonsense, is reported with a reason.
func TestReplayFaults(t *testing.T) {
	for name, fault := range map[string]replay.Fault{"dies": replay.Die(), "cuts": replay.Cut(), "half an answer": replay.BadJSON(), "another's answer": replay.WrongID()} {
		for _, method := range []string{"api_sync_v2", "acquire", "profile_fragment", "start", "get_counter_values"} {
			t.Run(name+" at "+method, func(t *testing.T) {
				s := asRecorded(t)
				s.Inject(method, fault)
				p := &listening{s.Address(), &process{}}
				_, err := Open(t.Context(), Config{Server: p, Between: between})
				if measure.ReasonOf(err) != v1alpha1.ReasonTRexServerFailed {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// listening is a process at an address.
type listening struct {
	address string
	*process
}

func (l *listening) Address() string { return l.address }

// The driver distinguishes a stateless server from a stateful one.
func TestReplayMode(t *testing.T) {
	s := replay.New(t, replay.NewScript(t, rpc.STL, 2))
	p := &listening{s.Address(), &process{}}
	if _, err := Open(t.Context(), Config{Server: p, Between: between}); !errors.Is(err, rpc.ErrMode) {
		t.Errorf("got %v", err)
	}
}
