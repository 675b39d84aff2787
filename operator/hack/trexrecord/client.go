//go:build linux

package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// ownClient runs a trial in both directions with the project's client: counted streams and timed
// ones, of an exact number of frames, events and counters while they are sent, and the release of
// everything.
func ownClient(ctx context.Context, relay *replay.Relay) (err error) {
	const frames, framesPerSecond = 2000, 2000
	client, err := rpc.Dial(ctx, relay.Address(), rpc.Options{API: rpc.STL, User: "bench"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	relay.Note(fmt.Sprintf("the project's own client: %d frames in each direction, counted, and as many timed ones", frames))
	for _, method := range []string{"get_version", "get_system_info", "get_global_cfg"} {
		if err := client.Call(ctx, method, nil, nil); err != nil {
			return err
		}
	}
	for port := range ends {
		if err := client.Acquire(ctx, port, true); err != nil {
			return err
		}
	}
	if _, err := client.Events(ctx); err != nil {
		return err
	}
	var add, begin []*rpc.Request
	var groups []int
	for port := range ends {
		for i, rule := range []string{"stats", "latency"} {
			group := 10*port + i + 1
			groups = append(groups, group)
			add = append(add, &rpc.Request{Method: "add_stream", Port: port, Params: map[string]any{
				"profile_id": "_", "stream_id": i + 1, "stream": stream(port, group, rule, frames, framesPerSecond),
			}})
		}
		begin = append(begin, &rpc.Request{Method: "start_traffic", Port: port, Params: map[string]any{
			"profile_id": "_", "duration": -1.0, "force": false, "core_mask": ^uint64(0), "start_at_ts": 0,
			"mul": map[string]any{"type": "raw", "op": "abs", "value": 1.0},
		}})
	}
	if err := client.Batch(ctx, add); err != nil {
		return err
	}
	if err := client.Batch(ctx, begin); err != nil {
		return err
	}
	if err := jobsDone(ctx, client, groups); err != nil {
		return err
	}
	relay.Note("both jobs are done: the counters are final")
	for port := range ends {
		if err := client.Call(ctx, "get_port_stats", map[string]int{"port_id": port}, nil); err != nil {
			return err
		}
		for _, method := range []string{"stop_traffic", "remove_rx_filters", "remove_all_streams"} {
			if err := client.CallPort(ctx, port, method, map[string]string{"profile_id": "_"}, nil); err != nil {
				return err
			}
		}
		if err := client.Release(ctx, port); err != nil {
			return err
		}
	}
	_, err = client.Events(ctx)
	return err
}

// jobsDone fetches events and counters until both ports are done, and then the counters again.
func jobsDone(ctx context.Context, client *rpc.Client, groups []int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("the jobs did not end within 30 s"))
	defer cancel()
	for running := len(ends); running > 0; {
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := client.Call(ctx, "get_pgid_stats", map[string]any{"pgids": groups}, nil); err != nil {
			return err
		}
		events, err := client.Events(ctx)
		if err != nil {
			return err
		}
		for _, event := range events {
			if event.Type == rpc.PortJobDone {
				running--
			}
		}
	}
	return client.Call(ctx, "get_pgid_stats", map[string]any{"pgids": groups}, nil)
}

// stream returns one that leaves a port for the other in one burst.
func stream(port, group int, rule string, frames, framesPerSecond int) map[string]any {
	return map[string]any{
		"enabled": true, "self_start": true, "flags": 0, "action_count": 0, "isg": 0.0, "next_stream_id": -1, "random_seed": 0, "core_id": -1,
		"packet": map[string]any{"binary": base64.StdEncoding.EncodeToString(frame(port)), "meta": ""},
		"mode": map[string]any{
			"type": "single_burst", "total_pkts": frames,
			"rate": map[string]any{"type": "pps", "value": framesPerSecond},
		},
		"vm":         map[string]any{"instructions": []any{}, "split_by_var": ""},
		"flow_stats": map[string]any{"enabled": true, "stream_id": group, "rule_type": rule},
	}
}

// frame returns UDP over IPv4 from one port's address to the other's, 128 bytes with the FCS. The
// server writes its MAC addresses.
func frame(port int) []byte {
	const length = 124
	packet := make([]byte, 14, length)
	packet[12], packet[13] = 0x08, 0x00
	from, to := netip.MustParseAddr(ends[port].portAddress), netip.MustParseAddr(ends[1-port].portAddress)
	header := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0}
	binary.BigEndian.PutUint16(header[2:], length-14)
	header = append(append(header, from.AsSlice()...), to.AsSlice()...)
	binary.BigEndian.PutUint16(header[10:], checksum(header))
	packet = append(packet, header...)
	packet = binary.BigEndian.AppendUint16(packet, 1024)
	packet = binary.BigEndian.AppendUint16(packet, 2048)
	packet = binary.BigEndian.AppendUint16(packet, length-34)
	packet = append(packet, 0, 0) // no checksum, which IPv4 allows
	return packet[:length]
}

// checksum returns the Internet checksum, RFC 1071.
func checksum(octets []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(octets); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(octets[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
