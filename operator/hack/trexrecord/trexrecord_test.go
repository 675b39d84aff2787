//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// play makes the calls of a recording again at a server of the test.
func play(t *testing.T, server *replay.Server, recording replay.Recording) (replay.Recording, []string) {
	t.Helper()
	relay, err := replay.NewRelay(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = relay.Close() }()
	p := newPlayer(relay)
	defer p.close()
	for _, next := range inTime(recording) {
		if err := p.until(t.Context(), next.Milliseconds); err != nil {
			t.Fatal(err)
		}
		if next.Note != "" {
			relay.Note(next.Note)
			continue
		}
		if err := p.make(t.Context(), next); err != nil {
			t.Fatalf("n %d: %v", next.N, err)
		}
	}
	p.settle()
	return relay.Recording(), p.differences
}

// TestPlaysWithNewTokens checks that every answer is the same as before with the tokens of another
// server.
func TestPlaysWithNewTokens(t *testing.T) {
	script := replay.NewScript(t, rpc.STL, 2).
		On("get_port_status", func(replay.Call) replay.Answer { return replay.Result(map[string]any{"owner": "alice"}) }).
		On("remove_all_streams", func(replay.Call) replay.Answer { return replay.Result(map[string]any{}) })
	old := replay.Load(t, "02-acquire-release").Between(1, 24)
	again, differences := play(t, replay.New(t, script), old)
	if len(differences) > 0 {
		t.Errorf("it differs: %v", differences)
	}
	calls := func(r replay.Recording) (all []string) {
		for _, turn := range r.Turns() {
			code, _ := turn.Answer.Refused()
			all = append(all, turn.Call.Method+" "+turn.Call.Text("user")+" "+string(turn.Call.Params["force"])+" "+strings.Repeat("!", -code/1000))
		}
		return all
	}
	if diff := cmp.Diff(calls(old), calls(again)); diff != "" {
		t.Errorf("(-old +new):\n%s", diff)
	}
	notes := func(r replay.Recording) (all []string) {
		for _, e := range r {
			if e.Note != "" {
				all = append(all, e.Note)
			}
		}
		return all
	}
	if diff := cmp.Diff(notes(old), notes(again)); diff != "" {
		t.Errorf("notes (-old +new):\n%s", diff)
	}
}

// TestReportsDifferences checks that a server is reported that refuses what was accepted, or accepts
// what was refused.
func TestReportsDifferences(t *testing.T) {
	script := replay.NewScript(t, rpc.STL, 2).
		On("get_owner", func(replay.Call) replay.Answer { return replay.Refuse(rpc.CodeInternal, "not today") }).
		On("get_port_status", func(replay.Call) replay.Answer { return replay.Result(map[string]any{}) }).
		On("acquire", func(replay.Call) replay.Answer { return replay.Result("everyone") })
	_, differences := play(t, replay.New(t, script), replay.Load(t, "02-acquire-release").Between(1, 17))
	want := []string{
		`n 12: was refused: "port is already owned by another session of 'alice'" (-32000)`,
		`n 15: was refused: "port is already taken by 'alice'" (-32000)`,
		`n 16: is refused now: "not today" (-32603)`,
	}
	if diff := cmp.Diff(want, differences); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWaitsForSlowerJobs checks that the player waits for a job that takes longer than before, and
// delays what follows.
func TestWaitsForSlowerJobs(t *testing.T) {
	fetches := 0
	script := replay.NewScript(t, rpc.STL, 2).
		On("add_stream", func(replay.Call) replay.Answer { return replay.Result(map[string]any{}) }).
		On("start_traffic", func(replay.Call) replay.Answer { return replay.Result(map[string]any{}) })
	fetched := func(replay.Call) replay.Answer {
		data := []map[string]any{}
		if fetches++; fetches == 6 {
			data = append(data, map[string]any{"type": rpc.PortJobDone, "seq": 0, "data": map[string]int{"port_id": 0}})
		}
		return replay.Result(map[string]any{"data": data})
	}
	script.On("get_async_events", fetched)
	again, differences := play(t, replay.New(t, script), replay.Load(t, "10-events-not-fetched").Between(1, 9))
	if len(differences) > 0 {
		t.Errorf("it differs: %v", differences)
	}
	if fetches != 6 || len(again) < 12 {
		t.Errorf("%d fetches, %d exchanges", fetches, len(again))
	}
}

// TestOwnClient runs the trial of the project's client with a server of the test.
func TestOwnClient(t *testing.T) {
	script := replay.NewScript(t, rpc.STL, 2)
	empty := func(replay.Call) replay.Answer { return replay.Result(map[string]any{}) }
	for _, method := range []string{"get_system_info", "add_stream", "get_pgid_stats", "get_port_stats", "stop_traffic", "remove_rx_filters", "remove_all_streams"} {
		script.On(method, empty)
	}
	script.On("start_traffic", func(c replay.Call) replay.Answer {
		script.Publish(rpc.PortJobDone, map[string]any{"port_id": c.Number("port_id")})
		return replay.Result(map[string]any{})
	})
	server := replay.New(t, script)
	relay, err := replay.NewRelay(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = relay.Close() }()
	if err := ownClient(t.Context(), relay); err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]int{"acquire": 2, "add_stream": 4, "start_traffic": 2, "release": 2} {
		if got := server.Count(method); got != want {
			t.Errorf("%q came %d times", method, got)
		}
	}
}

// TestScenarios checks that every scenario has a recording whose calls can be made, and that each
// of its events is at a note there.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios {
		recording := replay.Load(t, s.name)
		for n := range s.events {
			if at := recording.Between(n, n); len(at) != 1 || at[0].Note == "" {
				t.Errorf("%s: n %d is not a note", s.name, n)
			}
		}
		p := newPlayer(nil)
		for _, e := range recording {
			if e.Note != "" {
				continue
			}
			message, err := p.message(e)
			if err != nil {
				t.Errorf("%s: n %d: %v", s.name, e.N, err)
			}
			// The offsets in the server's sentences must stay valid.
			if !e.RequestCompressed && len(message) != e.RequestBytes {
				t.Errorf("%s: n %d has %d bytes, and had %d", s.name, e.N, len(message), e.RequestBytes)
			}
		}
	}
}

func TestConfiguration(t *testing.T) {
	want := `- version: 2
  low_end: true
  low_end_core: 1
  interfaces:
  - "--vdev=net_af_packet0,iface=west,framecnt=4096,blocksz=65536,qdisc_bypass=1"
  - "--vdev=net_af_packet1,iface=east,framecnt=4096,blocksz=65536,qdisc_bypass=1"
  port_info:
  - ip: 10.10.0.2
    default_gw: 10.10.0.1
  - ip: 10.20.0.2
    default_gw: 10.20.0.77
`
	if diff := cmp.Diff(want, settings{eastGateway: "10.20.0.77"}.configuration()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]options{
		"no TRex":          {to: t.TempDir()},
		"TRex elsewhere":   {trex: t.TempDir(), to: t.TempDir()},
		"nowhere to write": {trex: "/proc/self/exe"},
		"no such scenario": {trex: "/proc/self/exe", to: t.TempDir(), only: "99-none"},
	} {
		if err := run(t.Context(), o); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
}

// TestApart checks that nothing changes in the namespace of the process that started the command.
func TestApart(t *testing.T) {
	t.Setenv(inside, "1")
	o := options{trex: "/proc/self/exe", to: t.TempDir(), only: "02-acquire-release", from: replay.Directory(t)}
	if err := run(t.Context(), o); err == nil || !strings.Contains(err.Error(), inside) {
		t.Errorf("it is %v", err)
	}
}
