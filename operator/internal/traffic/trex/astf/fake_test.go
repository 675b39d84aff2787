package astf

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfbench.io/operator/internal/traffic/trex/connection"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// fake behaves like a server in stateful mode, as far as this package sees it:
// connections as the profile says, through a device that resets and loses some.
type fake struct {
	state, epoch int
	// acquired says that the client has the server, closed that the connection has ended.
	acquired, closed bool
	text             strings.Builder
	md5              string
	profile          profile
	begun            time.Time
	params           startParams
	// calls are the methods in their order.
	calls []string

	// resetPercent of connections end with a reset after they were established,
	// lostPercent are never answered.
	resetPercent, lostPercent int64
	// bytesPerSecond is the rate of bulk transfers in each direction.
	bytesPerSecond int64
	// slow is how much fewer than requested are opened, in percent.
	slow int64
	// inputErrors grow at the east port by one with each reading.
	inputErrors uint64
	// dials counts the connections; unreachable refuses all.
	dials       int
	unreachable bool
	// refuse gives a call an error.
	refuse func(method string, calls int) error
	// whyNot keeps the server from starting.
	whyNot string
	// missing is a counter that the server does not have.
	missing string
	mode    string
}

const (
	// The server's clock starts when the first connection is established.
	firstAfter  = 110 * time.Millisecond
	lastsFor    = 10 * time.Millisecond
	givenUp     = 5 * time.Second
	fakeVersion = "v3.08"
)

// dial makes a connection to it.
func (f *fake) dial(context.Context, string, rpc.Options) (connection.Client, error) {
	f.closed = false
	f.dials++
	if f.unreachable {
		return nil, rpc.ErrConnection
	}
	return f, nil
}

// again makes another server process, which knows nothing of the one before.
func (f *fake) again() { *f = fake{dials: f.dials, calls: f.calls, bytesPerSecond: f.bytesPerSecond} }

func (f *fake) Close() error                             { f.closed = true; return nil }
func (f *fake) SessionID() uint32                        { return 1 }
func (f *fake) Acquire(context.Context, int, bool) error { f.acquired = true; return nil }
func (f *fake) Release(context.Context, int) error       { f.acquired = false; return nil }
func (f *fake) Events(context.Context) ([]rpc.Event, error) {
	if f.whyNot == "" {
		return nil, nil
	}
	return []rpc.Event{{Type: rpc.ASTFState}, {Type: rpc.ASTFProfileState, Error: f.whyNot}}, nil
}

func (f *fake) Call(ctx context.Context, method string, params, result any) error {
	return f.answer(ctx, method, params, result)
}

func (f *fake) CallPort(ctx context.Context, port int, method string, params, result any) error {
	if port != rpc.AllPorts || !f.acquired {
		return &rpc.Error{Method: method, Code: rpc.CodeExecute, Specific: "must acquire the context for this operation"}
	}
	return f.answer(ctx, method, params, result)
}

func (f *fake) Batch(ctx context.Context, requests []*rpc.Request) error {
	var failed []error
	for _, r := range requests {
		failed = append(failed, f.answer(ctx, r.Method, r.Params, r.Result))
	}
	return errors.Join(failed...)
}

func (f *fake) answer(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.calls = append(f.calls, method)
	if f.refuse != nil {
		if err := f.refuse(method, len(f.calls)); err != nil {
			return err
		}
	}
	given, err := json.Marshal(params)
	if err != nil {
		return err
	}
	value, err := f.do(method, given)
	if err != nil || result == nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

// knows reports whether a call is about traffic, which the fake answers.
func (f *fake) knows(method string) bool {
	return slices.Contains([]string{
		"get_version", "get_counter_desc", "sync", "profile_clear", "profile_fragment", "start", "stop",
		"get_global_stats", "get_port_stats", "get_counter_values", "get_tg_id_stats",
	}, method)
}

func (f *fake) do(method string, given []byte) (any, error) {
	f.move()
	switch method {
	case "get_version":
		mode := f.mode
		if mode == "" {
			mode = "ASTF"
		}
		return map[string]any{"version": fakeVersion, "mode": mode}, nil
	case "get_counter_desc":
		var d []map[string]any
		for i, name := range wanted {
			if name != f.missing {
				d = append(d, map[string]any{"id": i, "name": name, "real": true})
			}
		}
		return map[string]any{"data": append(d, map[string]any{"id": 900, "name": "-", "real": false})}, nil
	case "sync":
		return map[string]any{"state": f.state, "state_profile": map[string]any{profileID: f.state}}, nil
	case "profile_clear":
		f.state = rpc.ASTFIdle
		return nil, nil
	case "profile_fragment":
		return f.fragment(given)
	case "start":
		if f.whyNot != "" {
			return nil, nil
		}
		f.params = startParams{}
		f.begun, f.state, f.epoch = time.Now(), rpc.ASTFTransmitting, f.epoch+1
		return nil, json.Unmarshal(given, &f.params)
	case "stop":
		f.stop()
		return nil, nil
	case "get_global_stats":
		return connection.Global{MeanCPUPercent: 37.5}, nil
	case "get_port_stats":
		return connection.Port{InErrors: f.inputErrors}, nil
	case "get_counter_values":
		if len(f.profile.Buffers) == 1 {
			return f.counters(f.bulk(1)), nil
		}
		return f.counters(f.count()), nil
	case "get_tg_id_stats":
		var asked struct {
			Groups []int `json:"tg_ids"`
			Epoch  int   `json:"epoch"`
		}
		if err := json.Unmarshal(given, &asked); err != nil {
			return nil, err
		}
		out := map[string]any{"epoch": f.epoch}
		for _, group := range asked.Groups {
			if asked.Epoch == f.epoch {
				out[strconv.Itoa(group)] = f.counters(f.bulk(group))
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("the fake does not know %q", method)
}

func (f *fake) fragment(given []byte) (any, error) {
	var part struct {
		Fragment string `json:"fragment"`
		First    bool   `json:"frag_first"`
		Last     bool   `json:"frag_last"`
		MD5      string `json:"md5"`
	}
	if err := json.Unmarshal(given, &part); err != nil {
		return nil, err
	}
	if part.First {
		if !part.Last && part.MD5 == f.md5 {
			return map[string]any{"matches_loaded": true}, nil
		}
		f.text.Reset()
		f.md5 = part.MD5
	}
	f.text.WriteString(part.Fragment)
	if part.Last {
		f.profile, f.state = profile{}, rpc.ASTFLoaded
		return nil, json.Unmarshal([]byte(f.text.String()), &f.profile)
	}
	return nil, nil
}

// move ends traffic whose time is over.
func (f *fake) move() {
	if f.state != rpc.ASTFTransmitting {
		return
	}
	t := f.profile.Templates[0].Client
	end := time.Duration(f.params.DurationSeconds * float64(time.Second))
	switch {
	case t.Limit > 0 && f.hold() > 0:
		end = firstAfter + time.Duration(float64(t.Limit)/t.PerSecond*1e9) + f.hold() + lastsFor
	case f.params.NoClose:
	default:
		end += lastsFor
	}
	if f.lostPercent > 0 {
		end += givenUp
	}
	if time.Since(f.begun) >= end {
		f.state = rpc.ASTFLoaded
	}
}

// stop ends what is open.
func (f *fake) stop() { f.state = rpc.ASTFLoaded }

// hold returns how long connections are held.
func (f *fake) hold() time.Duration {
	for _, c := range f.profile.Programs[0].Commands {
		if c["name"] == "delay" {
			return time.Duration(c["usec"].(float64) * 1e3)
		}
	}
	return 0
}

// count returns what the clients and servers of exchanges have counted by now.
func (f *fake) count() (client, server counts) {
	if f.begun.IsZero() || len(f.profile.Templates) == 0 {
		return counts{}, counts{}
	}
	t := f.profile.Templates[0].Client
	passed := time.Since(f.begun) - firstAfter
	begunUntil := passed
	if d := time.Duration(f.params.DurationSeconds*float64(time.Second)) - firstAfter; f.params.DurationSeconds > 0 {
		begunUntil = min(passed, d)
	}
	at := func(d time.Duration) int64 {
		n := int64(d.Seconds() * t.PerSecond * float64(100-f.slow) / 100)
		if t.Limit > 0 {
			n = min(n, t.Limit)
		}
		return max(n, 0)
	}
	attempts := at(begunUntil)
	good := attempts * (100 - f.lostPercent) / 100
	ended := min(at(passed-lastsFor-f.hold()), at(begunUntil)) * (100 - f.lostPercent) / 100
	lost := min(at(passed-givenUp), at(begunUntil)) * f.lostPercent / 100
	reset := ended * f.resetPercent / 100
	unfinished := int64(0)
	if f.state != rpc.ASTFTransmitting {
		unfinished = attempts - ended - lost
	}
	exchanges := good
	if f.hold() > 0 {
		exchanges += ended
	}
	client = counts{
		cSeconds: passed.Seconds(), cAttempts: float64(attempts), cEstablished: float64(good), cEstablishedNow: float64(good - ended),
		cClosed: float64(ended + lost + unfinished), cDrops: float64(reset), cEmbryonicDrops: float64(lost), cKeepDrops: float64(lost),
		cTestDrops: float64(unfinished), cReceivedBytes: float64(exchanges * int64(f.profile.Buffers[1].Size)),
	}
	server = counts{cSeconds: passed.Seconds(), cReceivedBytes: float64(exchanges * int64(f.profile.Buffers[0].Size)), cRetransmits: 2}
	return client, server
}

// bulk returns what the clients and servers of a group have counted by now.
func (f *fake) bulk(group int) (client, server counts) {
	t := f.profile.Templates[group-1]
	passed := max(0, time.Since(f.begun)-firstAfter)
	sent := float64(f.bytesPerSecond) * passed.Seconds()
	sender := counts{cSeconds: passed.Seconds(), cSentBytes: sent, cRetransmits: passed.Seconds() * 3}
	receiver := counts{cSeconds: passed.Seconds(), cReceivedBytes: max(0, sent-1000)}
	client, server = sender, receiver
	if t.Client.Port == portReverse {
		client, server = receiver, sender
	}
	client[cEstablished] = min(float64(t.Client.Limit)*float64(100-f.lostPercent)/100, t.Client.PerSecond*passed.Seconds())
	return client, server
}

// counters returns numbered counters, absent if they are 0, as the server does; among the
// others is one that is not a number.
func (f *fake) counters(client, server counts) map[string]any {
	number := func(c counts) map[string]any {
		out := map[string]any{"900": nil}
		for name, value := range c {
			if value != 0 {
				out[strconv.Itoa(slices.Index(wanted, name))] = value
			}
		}
		return out
	}
	return map[string]any{"epoch": f.epoch, "client": number(client), "server": number(server)}
}

// process is a server that the test has started.
type process struct {
	dead error
	// restart starts it again; nil means never.
	restart  func()
	restarts int
}

func (p *process) Address() string { return "127.0.0.1:4501" }
func (p *process) Alive() error    { return p.dead }

func (p *process) Restart(context.Context) error {
	p.restarts++
	if p.restart == nil {
		return cmp.Or(p.dead, errNoStart)
	}
	p.dead = nil
	p.restart()
	return nil
}

var errNoStart = errors.New("it cannot be started again")
