package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// echoing starts a server whose method "echo" returns the parameter n.
func echoing(t *testing.T) *replay.Script {
	return replay.NewScript(t, rpc.STL, 2).On("echo", func(c replay.Call) replay.Answer {
		return replay.Result(c.Params["n"])
	})
}

// echo makes a call whose answer cannot match another call.
func echo(ctx context.Context, c *rpc.Client, n int) error {
	var got int
	if err := c.Call(ctx, "echo", map[string]int{"n": n}, &got); err != nil {
		return err
	}
	if got != n {
		return fmt.Errorf("%d was answered to %d", got, n)
	}
	return nil
}

// Anything that a server does instead of answering has a name, ends in time, and does not
// affect the next call.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault replay.Fault
		want  []error
		gone  bool
	}{
		"hangs":                   {replay.Hang(), []error{rpc.ErrConnection, context.DeadlineExceeded}, false},
		"answers late":            {replay.Late(400 * time.Millisecond), []error{rpc.ErrConnection, context.DeadlineExceeded}, false},
		"closes":                  {replay.Cut(), []error{rpc.ErrConnection}, false},
		"dies":                    {replay.Die(), []error{rpc.ErrConnection}, true},
		"bad JSON":                {replay.BadJSON(), []error{rpc.ErrProtocol}, false},
		"nothing":                 {replay.Empty(), []error{rpc.ErrProtocol}, false},
		"null":                    {replay.Null(), []error{rpc.ErrProtocol}, false},
		"wrong id":                {replay.WrongID(), []error{rpc.ErrProtocol}, false},
		"a compressed answer":     {replay.Compressed(), []error{rpc.ErrProtocol}, false},
		"half an answer":          {replay.Truncated(), []error{rpc.ErrConnection}, false},
		"a huge frame":            {replay.Oversize(), []error{rpc.ErrProtocol}, false},
		"no delimiter":            {replay.NoDelimiter(), []error{rpc.ErrProtocol}, false},
		"a command for a message": {replay.Command(), []error{rpc.ErrProtocol}, false},
	} {
		t.Run(name, func(t *testing.T) {
			defer within(t, soon)()
			server := replay.New(t, echoing(t))
			client := dial(t, server, rpc.Options{})
			if err := client.Acquire(t.Context(), 0, false); err != nil {
				t.Fatal(err)
			}
			server.Inject("echo", c.fault)
			ctx := t.Context()
			if slices.Contains(c.want, context.DeadlineExceeded) {
				ctx = shortly(t)
			}
			err := echo(ctx, client, 1)
			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("%v is not %v", err, want)
				}
			}
			if said := fmt.Sprint(err); strings.Count(said, rpc.ErrProtocol.Error()) > 1 {
				t.Errorf("it says the same twice: %v", err)
			}
			if !strings.Contains(fmt.Sprint(err), `"echo"`) {
				t.Errorf("it does not say what was called: %v", err)
			}
			err = echo(t.Context(), client, 2)
			if c.gone {
				if !errors.Is(err, rpc.ErrConnection) {
					t.Errorf("no server listens any more: %v", err)
				}
				return
			}
			if err != nil {
				t.Errorf("the next call: %v", err)
			}
			// The server keeps the ownership, so it outlives the connection.
			if err := client.Release(t.Context(), 0); err != nil {
				t.Errorf("releasing: %v", err)
			}
		})
	}
}

// The second of two answers to one request is not used as the answer to the next.
func TestSecondAnswer(t *testing.T) {
	server := replay.New(t, echoing(t))
	client := dial(t, server, rpc.Options{})
	server.Inject("echo", replay.Twice())
	if err := echo(t.Context(), client, 1); err != nil {
		t.Fatal(err)
	}
	if err := echo(t.Context(), client, 2); !errors.Is(err, rpc.ErrProtocol) {
		t.Errorf("the stale answer: %v", err)
	}
	if err := echo(t.Context(), client, 3); err != nil {
		t.Errorf("the call after it: %v", err)
	}
}

// Another listener at the address is not mistaken for a TRex server.
func TestWelcomes(t *testing.T) {
	for name, c := range map[string]struct {
		welcome replay.Welcome
		want    error
	}{
		"says nothing":   {replay.Silent, context.DeadlineExceeded},
		"speaks HTTP":    {replay.Foreign, rpc.ErrProtocol},
		"speaks ZMTP 1":  {replay.Old, rpc.ErrProtocol},
		"wants CURVE":    {replay.Secure, rpc.ErrProtocol},
		"is a publisher": {replay.Publisher, rpc.ErrProtocol},
		"refuses":        {replay.Refusing, rpc.ErrProtocol},
		"closes":         {replay.Slamming, rpc.ErrConnection},
	} {
		t.Run(name, func(t *testing.T) {
			defer within(t, soon)()
			server := replay.New(t, echoing(t))
			server.Greet(c.welcome)
			ctx := t.Context()
			if c.want == context.DeadlineExceeded {
				ctx = shortly(t)
			}
			if _, err := rpc.Dial(ctx, server.Address(), rpc.Options{API: rpc.STL}); !errors.Is(err, c.want) {
				t.Errorf("it is %v", err)
			}
			// If it is a TRex server later, the next Dial succeeds.
			server.Greet(replay.Polite)
			dial(t, server, rpc.Options{})
		})
	}
	t.Run("no server listens", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = listener.Close()
		if _, err := rpc.Dial(t.Context(), listener.Addr().String(), rpc.Options{API: rpc.STL}); !errors.Is(err, rpc.ErrConnection) {
			t.Errorf("it is %v", err)
		}
	})
}

func TestVersions(t *testing.T) {
	for name, c := range map[string]struct {
		server rpc.API
		want   error
	}{
		"the same":          {rpc.API{Name: "STL", Major: 5, Minor: 1}, nil},
		"a newer minor":     {rpc.API{Name: "STL", Major: 5, Minor: 9}, nil},
		"an older minor":    {rpc.API{Name: "STL", Major: 5, Minor: 0}, rpc.ErrVersion},
		"an older major":    {rpc.API{Name: "STL", Major: 4, Minor: 9}, rpc.ErrVersion},
		"a newer major":     {rpc.API{Name: "STL", Major: 6, Minor: 0}, rpc.ErrVersion},
		"a stateful server": {rpc.ASTF, rpc.ErrMode},
	} {
		t.Run(name, func(t *testing.T) {
			server := replay.New(t, replay.NewScript(t, c.server, 2))
			client, err := rpc.Dial(t.Context(), server.Address(), rpc.Options{API: rpc.STL})
			if !errors.Is(err, c.want) {
				t.Errorf("it is %v", err)
			}
			if client != nil {
				_ = client.Close()
			}
		})
	}
	t.Run("before the handshake was invented", func(t *testing.T) {
		server := replay.New(t, replay.Func(func(replay.Call) replay.Answer {
			return replay.Refuse(rpc.CodeMethodNotFound, "")
		}))
		if _, err := rpc.Dial(t.Context(), server.Address(), rpc.Options{API: rpc.STL}); !errors.Is(err, rpc.ErrVersion) {
			t.Errorf("it is %v", err)
		}
	})
	t.Run("a handshake that gives nothing", func(t *testing.T) {
		server := replay.New(t, replay.Func(func(replay.Call) replay.Answer { return replay.Result(map[string]any{}) }))
		if _, err := rpc.Dial(t.Context(), server.Address(), rpc.Options{API: rpc.STL}); !errors.Is(err, rpc.ErrProtocol) {
			t.Errorf("it is %v", err)
		}
	})
	t.Run("the real sentences", func(t *testing.T) {
		refusals := 0
		for _, turn := range append(replay.Load(t, "01-handshake").Turns(), replay.Load(t, "11-astf").Turns()...) {
			code, refused := turn.Answer.Refused()
			if turn.Call.Method != "api_sync_v2" || !refused || code != rpc.CodeExecute {
				continue
			}
			refusals++
			server := replay.New(t, replay.Func(func(replay.Call) replay.Answer { return turn.Answer }))
			_, err := rpc.Dial(t.Context(), server.Address(), rpc.Options{API: rpc.STL})
			if !errors.Is(err, rpc.ErrVersion) && !errors.Is(err, rpc.ErrMode) {
				t.Errorf("n %d: it is %v", turn.N, err)
			}
		}
		if refusals < 6 {
			t.Errorf("only %d refusals were recorded", refusals)
		}
	})
}

// The client notices a restarted server, whether or not the connection outlived it, and
// permanently.
func TestRestartedServer(t *testing.T) {
	for name, restart := range map[string]func(*replay.Server, *replay.Script){
		"with its connections": func(s *replay.Server, _ *replay.Script) { s.Restart() },
		// A proxy may keep the connection.
		"without cutting the connection": func(_ *replay.Server, s *replay.Script) { s.Restart() },
	} {
		t.Run(name, func(t *testing.T) {
			defer within(t, soon)()
			script := echoing(t)
			server := replay.New(t, script)
			client := dial(t, server, rpc.Options{})
			restart(server, script)
			// The first call may find the dead connection only.
			err := echo(t.Context(), client, 1)
			if !errors.Is(err, rpc.ErrConnection) && !errors.Is(err, rpc.ErrServerRestarted) {
				t.Errorf("it is %v", err)
			}
			for range 2 {
				if err := echo(t.Context(), client, 2); !errors.Is(err, rpc.ErrServerRestarted) {
					t.Errorf("it is %v", err)
				}
			}
			if server.Count("echo") > 1 {
				t.Error("the new process was asked as if it were the old one")
			}
			if err := echo(t.Context(), dial(t, server, rpc.Options{}), 3); err != nil {
				t.Errorf("a new client: %v", err)
			}
		})
	}
}

// Connections that are cut while the process lives change nothing.
func TestReconnects(t *testing.T) {
	server := replay.New(t, echoing(t))
	client := dial(t, server, rpc.Options{})
	server.Stop()
	if err := echo(t.Context(), client, 1); !errors.Is(err, rpc.ErrConnection) {
		t.Errorf("while it is away: %v", err)
	}
	server.Start()
	if err := echo(t.Context(), client, 2); err != nil {
		t.Errorf("when it is back: %v", err)
	}
	if syncs := server.Count("api_sync_v2"); syncs != 2 {
		t.Errorf("%d handshakes", syncs)
	}
}

// In this recording a server is stopped and killed while its client is connected, and
// another process replaces it.
func TestKilledServer(t *testing.T) {
	defer within(t, soon)()
	recording := replay.Load(t, "08-server-killed")
	before := replay.InOrder(t, recording.On(2).Turns())
	after := replay.ByRequest(t, recording.Between(18, 18).Turns())
	responder := before
	server := replay.New(t, replay.Func(func(c replay.Call) replay.Answer { return responder.Respond(c) }))
	client := dial(t, server, rpc.Options{})
	for _, turn := range recording.On(2).Turns()[1:] {
		_, err := turnOf(t, client, turn.Call)
		if !turn.Answer.Lost && err != nil {
			t.Fatalf("n %d: %v", turn.N, err)
		}
		if turn.Answer.Lost && !errors.Is(err, rpc.ErrConnection) {
			t.Errorf("the killed server: %v", err)
		}
	}
	if err := client.Check(t.Context()); !errors.Is(err, rpc.ErrConnection) {
		t.Errorf("while it is down: %v", err)
	}
	server.Stop()
	responder = after
	server.Start()
	if err := client.Check(t.Context()); !errors.Is(err, rpc.ErrServerRestarted) {
		t.Errorf("the second process: %v", err)
	}
}

// A caller's own cancellation is not a fault of the server.
func TestCancelledCall(t *testing.T) {
	defer within(t, soon)()
	server := replay.New(t, echoing(t))
	client := dial(t, server, rpc.Options{})
	server.Inject("echo", replay.Hang())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	err := echo(ctx, client, 1)
	if !errors.Is(err, context.Canceled) || errors.Is(err, rpc.ErrConnection) {
		t.Errorf("it is %v", err)
	}
	if err := echo(ctx, client, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
	if err := echo(t.Context(), client, 3); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// A context without a deadline gets one.
func TestTimeout(t *testing.T) {
	defer within(t, soon)()
	server := replay.New(t, echoing(t))
	client := dial(t, server, rpc.Options{Timeout: 2 * time.Second})
	server.Inject("echo", replay.Hang())
	if err := echo(t.Context(), client, 1); !errors.Is(err, rpc.ErrConnection) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it is %v", err)
	}
}

// Close ends what is under way and what waits for its turn.
func TestCloseEndsCalls(t *testing.T) {
	defer within(t, soon)()
	server := replay.New(t, echoing(t))
	client := dial(t, server, rpc.Options{})
	server.Inject("echo", replay.Hang())
	var calls sync.WaitGroup
	for n := range 3 {
		calls.Go(func() {
			if err := echo(t.Context(), client, n); !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("it is %v", err)
			}
		})
	}
	for server.Count("echo") == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	calls.Wait()
	if err := echo(t.Context(), client, 4); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("after it: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// Several goroutines may use one client, each with its own answers, while
// connections break.
func TestConcurrentCalls(t *testing.T) {
	server := replay.New(t, echoing(t))
	client := dial(t, server, rpc.Options{})
	var calls sync.WaitGroup
	for worker := range 8 {
		calls.Go(func() {
			for n := range 50 {
				if n%10 == 9 {
					server.Inject("echo", replay.Cut())
				}
				err := echo(t.Context(), client, worker*1000+n)
				if err != nil && !errors.Is(err, rpc.ErrConnection) {
					t.Errorf("it is %v", err)
				}
			}
		})
	}
	calls.Wait()
}
