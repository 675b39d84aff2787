package trex

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"vnfbench.io/operator/internal/traffic/trex/connection"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// counts are keyed by the server's port numbers, as text.
type counts map[string]uint64

func (c counts) at(port int) uint64 { return c[strconv.Itoa(port)] }

// less returns what was added since before. A counter that decreased was reset.
func (c counts) less(before counts) (counts, bool) {
	out, whole := counts{}, true
	for port, n := range c {
		if n < before[port] {
			whole = false
			continue
		}
		out[port] = n - before[port]
	}
	return out, whole
}

// group is what TRex counts by one pg_id.
type group struct {
	Sent     counts `json:"tp"`
	Received counts `json:"rp"`
}

// timing is what TRex knows of the packets that it timed by one pg_id.
type timing struct {
	Latency struct {
		// All in microseconds; the server updates Minimum and Maximum twice a second.
		Minimum uint64 `json:"total_min"`
		Maximum uint64 `json:"total_max"`
		// Histogram has counts by each bucket's lower end.
		Histogram map[string]uint64 `json:"histogram"`
		// HDR is a compressed HdrHistogram V2 in base64, if the server has --hdrh.
		HDR string `json:"hdrh"`
	} `json:"lat"`
	Errors struct {
		OutOfOrder uint64 `json:"ooo"`
		Duplicates uint64 `json:"dup"`
	} `json:"er"`
}

// pgidStatistics are the answer to get_pgid_stats.
type pgidStatistics struct {
	groups  map[int]group
	timings map[int]timing
	// versions change when the server makes a group again, with counters of 0.
	versions map[int]uint64
	// unknown are packets of no group, by port; strays were timed and are from an earlier
	// trial or unreadable.
	unknown counts
	strays  uint64
}

// UnmarshalJSON reads maps which have "g" next to the groups' numbers.
func (s *pgidStatistics) UnmarshalJSON(text []byte) error {
	var raw struct {
		FlowStats map[string]json.RawMessage `json:"flow_stats"`
		Latency   map[string]json.RawMessage `json:"latency"`
		Versions  map[string]uint64          `json:"ver_id"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	*s = pgidStatistics{groups: map[int]group{}, timings: map[int]timing{}, versions: map[int]uint64{}, unknown: counts{}}
	for name, one := range raw.FlowStats {
		if name == "g" {
			var errors struct {
				Received counts `json:"rx_err"`
			}
			if err := json.Unmarshal(one, &errors); err != nil {
				return err
			}
			maps.Copy(s.unknown, errors.Received)
			continue
		}
		if err := numbered(name, one, s.groups); err != nil {
			return err
		}
	}
	for name, one := range raw.Latency {
		if name == "g" {
			var errors struct {
				OldFlow   uint64 `json:"old_flow"`
				BadHeader uint64 `json:"bad_header"`
			}
			if err := json.Unmarshal(one, &errors); err != nil {
				return err
			}
			s.strays = errors.OldFlow + errors.BadHeader
			continue
		}
		if err := numbered(name, one, s.timings); err != nil {
			return err
		}
	}
	for name, version := range raw.Versions {
		number, err := strconv.Atoi(name)
		if err != nil {
			return fmt.Errorf("a packet group %q", name)
		}
		s.versions[number] = version
	}
	return nil
}

func numbered[T any](name string, text json.RawMessage, into map[int]T) error {
	number, err := strconv.Atoi(name)
	if err != nil {
		return fmt.Errorf("a packet group %q", name)
	}
	var one T
	if err := json.Unmarshal(text, &one); err != nil {
		return fmt.Errorf("packet group %d: %w", number, err)
	}
	into[number] = one
	return nil
}

// same reports whether nothing was sent or received between two answers.
func (s pgidStatistics) same(other pgidStatistics) bool {
	return maps.EqualFunc(s.groups, other.groups, func(a, b group) bool {
		return maps.Equal(a.Sent, b.Sent) && maps.Equal(a.Received, b.Received)
	})
}

// reading is all that is read before and after a trial.
type reading struct {
	pgids  pgidStatistics
	losses connection.Losses
}

func (d *Driver) read(ctx context.Context, groups []int) (reading, error) {
	var r reading
	requests := append(r.losses.Requests(d.ports), &rpc.Request{
		Method: "get_pgid_stats", Port: rpc.NoPort, Params: map[string]any{"pgids": groups}, Result: &r.pgids,
	})
	err := d.connection.Batch(ctx, requests)
	return r, err
}

// readGroups does the part of read that is repeated.
func (d *Driver) readGroups(ctx context.Context, groups []int) (pgidStatistics, error) {
	var s pgidStatistics
	err := d.connection.Call(ctx, "get_pgid_stats", map[string]any{"pgids": groups}, &s)
	return s, err
}

// fresh verifies that what is timed begins at 0: counters can be subtracted, the delays
// of an earlier trial cannot.
func (r reading) fresh(schedules []schedule) error {
	for _, s := range schedules {
		for _, p := range s.parts {
			g, there := r.pgids.groups[p.group]
			if !there {
				return fmt.Errorf("%w: TRex has no packet group %d, which a stream has", connection.ErrCountersReset, p.group)
			}
			for port, n := range g.Received {
				if p.purpose != load && n > 0 {
					return fmt.Errorf("%w: packet group %d has %d packets at port %s before the trial", connection.ErrCountersReset, p.group, n, port)
				}
			}
		}
	}
	return nil
}

// since returns what happened after before. It fails if the server reset its counters in
// between.
func (r reading) since(before reading) (reading, error) {
	out := r
	out.pgids.groups = map[int]group{}
	for _, number := range slices.Sorted(maps.Keys(before.pgids.groups)) {
		then := before.pgids.groups[number]
		now, there := r.pgids.groups[number]
		if !there || r.pgids.versions[number] != before.pgids.versions[number] {
			return out, fmt.Errorf("%w: packet group %d is another one than before the trial", connection.ErrCountersReset, number)
		}
		sent, whole := now.Sent.less(then.Sent)
		received, too := now.Received.less(then.Received)
		if !whole || !too {
			return out, fmt.Errorf("%w: those of packet group %d went back", connection.ErrCountersReset, number)
		}
		out.pgids.groups[number] = group{Sent: sent, Received: received}
	}
	out.pgids.unknown, _ = r.pgids.unknown.less(before.pgids.unknown)
	out.pgids.strays -= min(r.pgids.strays, before.pgids.strays)
	out.losses = r.losses.Since(before.losses)
	return out, nil
}
