//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"vnfbench.io/operator/internal/testing/replay"
)

// scenario is one recording: the server, its path, and the events during the calls.
type scenario struct {
	name     string
	settings settings
	// ipv6 lets the router forward IPv6 too.
	ipv6 bool
	// eastBitsPerSecond limits traffic from west to east. 0 means no limit.
	eastBitsPerSecond uint64
	// events happen at a note of the old recording, by its number.
	events map[int]event
	// calls are made instead of those of an old recording.
	calls func(ctx context.Context, relay *replay.Relay) error
}

// event happens to the server.
type event int

const (
	paused event = iota
	killed
)

// scenarios are those that can be repeated from what was recorded. Malformed input, 01b, and the
// octets of framing.json are not among them.
var scenarios = []scenario{
	{name: "01-handshake"},
	{name: "02-acquire-release"},
	{name: "03-udp64-both-hdrh", settings: settings{arguments: []string{"--hdrh"}}},
	{name: "03b-udp64-both-no-hdrh"},
	{name: "04-imix-vm-ipv6", ipv6: true},
	{name: "05-loss", eastBitsPerSecond: 6_000_000},
	{name: "06-overload"},
	{name: "07-errors"},
	{name: "07b-unresolved-gateway", settings: settings{eastGateway: "10.20.0.77"}},
	{name: "08-server-killed", events: map[int]event{10: paused, 11: killed}},
	{name: "09-batch"},
	{name: "10-events-not-fetched"},
	{name: "11-astf", settings: settings{arguments: []string{"--astf"}}},
	{name: "12-settling"},
	{name: "13-own-client", settings: settings{arguments: []string{"--hdrh"}}, calls: ownClient},
}

// record makes a new recording of the scenario.
func (s scenario) record(ctx context.Context, program, from, to string) (err error) {
	state, err := os.MkdirTemp("", "trexrecord")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	path, err := newRouter(s.ipv6)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, path.close()) }()
	if s.eastBitsPerSecond > 0 {
		if err := path.narrow(s.eastBitsPerSecond); err != nil {
			return fmt.Errorf("limiting the way to the east: %w", err)
		}
	}
	process, err := start(ctx, program, s.settings, state)
	if err != nil {
		return err
	}
	defer func() { process.kill() }()
	relay, err := replay.NewRelay(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, relay.Close()) }()

	if s.calls != nil {
		err = s.calls(ctx, relay)
	} else {
		err = s.again(ctx, from, relay, &process, func() (*server, error) { return start(ctx, program, s.settings, state) })
	}
	if err != nil {
		return fmt.Errorf("%w; the server's last words:\n%s", err, process.output)
	}
	file, err := os.Create(filepath.Join(to, s.name+".jsonl"))
	if err != nil {
		return err
	}
	recording := relay.Recording()
	fmt.Printf("%s: %d exchanges and notes\n", s.name, len(recording))
	return errors.Join(recording.Write(file), file.Close())
}

// again repeats the calls of the old recording.
func (s scenario) again(ctx context.Context, from string, relay *replay.Relay, process **server, restart func() (*server, error)) error {
	file, err := os.Open(filepath.Join(from, s.name+".jsonl"))
	if err != nil {
		return err
	}
	old, err := replay.Read(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	p := newPlayer(relay)
	defer p.close()
	for _, next := range inTime(old) {
		if err := p.until(ctx, next.Milliseconds); err != nil {
			return err
		}
		if next.Note != "" {
			relay.Note(next.Note)
			switch happens, ok := s.events[next.N]; {
			case !ok:
			case happens == paused:
				if err := (*process).pause(); err != nil {
					return err
				}
			case happens == killed:
				(*process).kill()
			}
			continue
		}
		p.settle()
		if !(*process).alive() {
			again, err := restart()
			if err != nil {
				return err
			}
			*process = again
		}
		if err := p.make(ctx, next); err != nil {
			return fmt.Errorf("n %d: %w", next.N, err)
		}
	}
	p.settle()
	for _, difference := range p.differences {
		fmt.Printf("%s: %s\n", s.name, difference)
	}
	return nil
}
