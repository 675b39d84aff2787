package astf

import (
	"context"
	"crypto/md5" //nolint:gosec // the server compares profiles by it; nothing is kept secret or signed
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/connection"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// profileID is the server's name of its first profile.
const profileID = "_"

// session is a connection to a server in stateful mode that we have acquired.
type session struct {
	*connection.Connection
	// names are the counters' by their numbers.
	names map[string]string
	// version of the server.
	version string
}

type onProfile struct {
	Profile string `json:"profile_id"`
}

// begin acquires the server from any earlier client, and leaves it without traffic and
// profile.
func (s *session) begin(ctx context.Context) error {
	var version struct {
		Version string `json:"version"`
		Mode    string `json:"mode"`
	}
	if err := s.Call(ctx, "get_version", nil, &version); err != nil {
		return err
	}
	if version.Mode != "ASTF" {
		return fmt.Errorf("the server is in mode %q and not in ASTF", version.Mode)
	}
	s.version = version.Version
	d, err := s.describe(ctx)
	if err != nil {
		return err
	}
	if s.names, err = d.names(); err != nil {
		return err
	}
	if err := s.Acquire(ctx, rpc.AllPorts, true); err != nil {
		return err
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	return s.CallPort(ctx, rpc.AllPorts, "profile_clear", onProfile{profileID}, nil)
}

// describe asks for the counters until there are some: a server that has just started has
// none, and reports that.
func (s *session) describe(ctx context.Context) (description, error) {
	var d description
	until := time.Now().Add(countersTimeout)
	for {
		err := s.Call(ctx, "get_counter_desc", onProfile{profileID}, &d)
		var said *rpc.Error
		if err == nil || !errors.As(err, &said) || !strings.Contains(said.Specific, "not initialized yet") || time.Now().After(until) {
			return d, err
		}
		if err := clock.Sleep(ctx, lookPause); err != nil {
			return d, err
		}
	}
}

// load sends a profile, unless the server already has the same one.
func (s *session) load(ctx context.Context, p profile) error {
	encoded, err := p.encode()
	if err != nil {
		return err
	}
	digest := md5.Sum(encoded) //nolint:gosec // see the import
	type fragment struct {
		onProfile
		Fragment string `json:"fragment"`
		First    bool   `json:"frag_first,omitempty"`
		Last     bool   `json:"frag_last,omitempty"`
		MD5      string `json:"md5,omitempty"`
	}
	parts := fragments(encoded)
	for i, part := range parts {
		f := fragment{onProfile: onProfile{profileID}, Fragment: string(part), First: i == 0, Last: i == len(parts)-1}
		if f.First && !f.Last {
			f.MD5 = hex.EncodeToString(digest[:])
		}
		var answer struct {
			Matches bool `json:"matches_loaded"`
		}
		if err := s.CallPort(ctx, rpc.AllPorts, "profile_fragment", f, &answer); err != nil {
			return fmt.Errorf("sending part %d of %d of the profile: %w", i+1, len(parts), err)
		}
		if answer.Matches {
			return nil
		}
	}
	return nil
}

// startParams are the request's parameters; a duration of 0 never ends.
type startParams struct {
	onProfile
	Multiplier      float64 `json:"mult"`
	DurationSeconds float64 `json:"duration"`
	// NoClose ends connections at the duration's end without closing them.
	NoClose      bool    `json:"nc"`
	LatencyPPS   int     `json:"latency_pps"`
	IPv6         bool    `json:"ipv6"`
	ClientMask   uint32  `json:"client_mask"`
	Establish    float64 `json:"e_duration"`
	Terminate    float64 `json:"t_duration"`
	DumpInterval float64 `json:"dump_interval"`
}

// start starts the profile's traffic and waits until it runs.
func (s *session) start(ctx context.Context, duration time.Duration, noClose, ipv6 bool) error {
	// Earlier events do not explain what happens now.
	if _, err := s.Events(ctx); err != nil {
		return err
	}
	err := s.CallPort(ctx, rpc.AllPorts, "start", startParams{
		onProfile: onProfile{profileID}, Multiplier: 1, DurationSeconds: duration.Seconds(), NoClose: noClose, IPv6: ipv6, ClientMask: 0xffff_ffff,
	}, nil)
	if err != nil {
		return err
	}
	return s.await(ctx, buildTimeout, func(state int) (bool, error) {
		if state == rpc.ASTFLoaded || state == rpc.ASTFIdle {
			return false, s.whyNot(ctx)
		}
		return state == rpc.ASTFTransmitting, nil
	})
}

// errProfile means that the server did not start.
var errProfile = errors.New("the server did not begin with the profile's traffic")

// whyNot returns why a start failed: the server reports it in an event.
func (s *session) whyNot(ctx context.Context) error {
	events, err := s.Events(ctx)
	if err != nil {
		return errors.Join(errProfile, err)
	}
	for _, event := range events {
		if event.Type == rpc.ASTFProfileState && event.Error != "" {
			return fmt.Errorf("%w: %s", errProfile, event.Error)
		}
	}
	return errProfile
}

const (
	// buildTimeout bounds the time from start to the first packet, which grows with the
	// profile; stopTimeout bounds the end of connections.
	buildTimeout = 30 * time.Second
	stopTimeout  = 30 * time.Second
	statePause   = 20 * time.Millisecond
	// countersTimeout is how long a new server may take until it counts.
	countersTimeout = 10 * time.Second
)

// stop ends the traffic, regardless of open connections, and waits for the end.
func (s *session) stop(ctx context.Context) error {
	// The server ignores a stop while it parses or builds a profile, so the client
	// repeats it until nothing runs.
	return s.await(ctx, stopTimeout, func(state int) (bool, error) {
		if state == rpc.ASTFIdle || state == rpc.ASTFLoaded {
			return true, nil
		}
		if state == rpc.ASTFTransmitting {
			return false, s.CallPort(ctx, rpc.AllPorts, "stop", onProfile{profileID}, nil)
		}
		return false, nil
	})
}

// await polls the profile's state until done.
func (s *session) await(ctx context.Context, timeout time.Duration, done func(state int) (bool, error)) error {
	until := time.Now().Add(timeout)
	for {
		state, err := s.state(ctx)
		if err != nil {
			return err
		}
		over, err := done(state)
		if over || err != nil {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("the server's profile is still in state %d after %s", state, timeout)
		}
		if err := clock.Sleep(ctx, statePause); err != nil {
			return err
		}
	}
}

// state returns the profile's state; a profile that the server does not know is idle.
func (s *session) state(ctx context.Context) (int, error) {
	var answer struct {
		Profiles map[string]int `json:"state_profile"`
	}
	if err := s.Call(ctx, "sync", onProfile{"sync"}, &answer); err != nil {
		return 0, err
	}
	return answer.Profiles[profileID], nil
}

// look reads the counters of all groups together.
func (s *session) look(ctx context.Context) (look, int64, error) {
	var answer reply
	if err := s.Call(ctx, "get_counter_values", onProfile{profileID}, &answer); err != nil {
		return look{}, 0, err
	}
	found, err := answer.named(s.names)
	return found, answer.Epoch, err
}

// lookAt reads the counters of each group, from 1, at an epoch.
func (s *session) lookAt(ctx context.Context, groups int, epoch int64) (map[int]look, error) {
	type request struct {
		onProfile
		Groups []int `json:"tg_ids"`
		Epoch  int64 `json:"epoch"`
	}
	asked := request{onProfile: onProfile{profileID}, Epoch: epoch}
	for i := range groups {
		asked.Groups = append(asked.Groups, i+1)
	}
	var raw map[string]json.RawMessage
	if err := s.Call(ctx, "get_tg_id_stats", asked, &raw); err != nil {
		return nil, err
	}
	replies, err := groupReplies(raw, asked.Groups)
	if err != nil {
		return nil, err
	}
	out := map[int]look{}
	for group, r := range replies {
		if out[group], err = r.named(s.names); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// losses reads what the server itself loses. Its ports count from 0.
func (s *session) losses(ctx context.Context) (l connection.Losses, err error) {
	err = s.Batch(ctx, l.Requests([2]int{0, 1}))
	return l, err
}

func (s *session) tool() measure.Program {
	return measure.Program{Name: measure.ProgramTRex, Version: s.version}
}
