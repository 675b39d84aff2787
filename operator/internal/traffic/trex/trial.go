package trex

import (
	"context"
	"fmt"
	"time"

	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/connection"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

const (
	// slowPoll is the time between two polls for events while a trial's end is far; the
	// server drops events that are not fetched for 10 s.
	slowPoll = 500 * time.Millisecond
	// quickPoll is the same near the end: the resolution of the trial's length.
	quickPoll = 2 * time.Millisecond
	// near is how long before its end a trial is polled often.
	near = 20 * time.Millisecond
	// tolerance is how much later than due the driver may notice the end of a trial
	// without a doubt that it was late.
	tolerance = 10 * time.Millisecond
	// stopTimeout is how long the server may take to stop sending.
	stopTimeout = 5 * time.Second
	// maxReadings bounds the readings of counters that still change.
	maxReadings = 10
)

// overtime returns how long after its duration a trial may send before it is stopped:
// TRex does not catch up after a stall, it sends everything later.
func overtime(trial measure.Trial) time.Duration {
	return max(trial.Duration()/20, 50*time.Millisecond)
}

// Measure runs one trial, and repeats it if the server failed in it.
func (d *Driver) Measure(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return measure.Outcome{}, err
	}
	if d.closed {
		return measure.Outcome{}, measure.ErrClosed
	}
	if err := checkTrial(trial, d.streams, d.largestFrameBytes); err != nil {
		return measure.Outcome{}, err
	}
	began, notified := time.Now(), false
	sent := func() {
		if !notified && d.onSent != nil {
			d.onSent()
		}
		notified = true
	}
	var outcome measure.Outcome
	err := d.connection.Try(ctx, func() (err error) {
		outcome, err = d.attempt(ctx, trial, sent)
		return err
	})
	switch {
	case err == nil:
		outcome.TotalNanoseconds = int64(time.Since(began))
		return outcome, nil
	case ctx.Err() != nil:
		d.abandon()
		return measure.Outcome{}, ctx.Err()
	}
	return measure.Outcome{}, d.connection.Explain(err)
}

// abandon ends a trial whose context has ended.
func (d *Driver) abandon() {
	if d.connection.Client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	// The next trial clears the ports too, and finds what is wrong.
	_ = d.clear(ctx)
}

// run is what is known about a trial's course.
type run struct {
	schedules []schedule
	groups    []int
	startedAt time.Time
	// ended is when the ports were seen not to send any more.
	ended time.Time
	// lasted is the time until the last port had sent everything, or had stopped.
	lasted time.Duration
	// busyPercent is the highest load of the sending cores in a second.
	busyPercent float64
	// moving says that frames still arrived when the trial was over.
	moving bool
}

// attempt runs a trial once. It calls sent after the last frame.
func (d *Driver) attempt(ctx context.Context, trial measure.Trial, sent func()) (measure.Outcome, error) {
	r := run{}
	for i, s := range d.streams {
		if s != nil {
			r.schedules = append(r.schedules, d.config.schedule(i, *s, trial, d.lineRate(trial)))
		}
	}
	if err := d.load(ctx, &r); err != nil {
		return measure.Outcome{}, err
	}
	before, err := d.read(ctx, r.groups)
	if err != nil {
		return measure.Outcome{}, err
	}
	if err := before.fresh(r.schedules); err != nil {
		return measure.Outcome{}, err
	}
	if err := d.send(ctx, trial, &r); err != nil {
		return measure.Outcome{}, err
	}
	sent()
	after, err := d.settle(ctx, trial, &r)
	if err != nil {
		return measure.Outcome{}, err
	}
	statuses, err := d.status(ctx)
	if err != nil {
		return measure.Outcome{}, err
	}
	if err := d.checkLinks(statuses); err != nil {
		return measure.Outcome{}, err
	}
	seen, err := after.since(before)
	if err != nil {
		return measure.Outcome{}, err
	}
	return d.outcome(trial, r, seen)
}

// lineRate returns the maximum frames per second of a trial that the ports can carry.
func (d *Driver) lineRate(trial measure.Trial) uint64 {
	if trial.Mix != nil {
		return max(1, trial.Mix.LineRateFramesPerSecond(d.lineRateBitsPerSecond))
	}
	return max(1, measure.LineRateFramesPerSecond(d.lineRateBitsPerSecond, trial.FrameBytes))
}

// load gives the ports the trial's streams, and with them counters of 0.
func (d *Driver) load(ctx context.Context, r *run) error {
	statuses, err := d.status(ctx)
	if err != nil {
		return err
	}
	if err := d.checkLinks(statuses); err != nil {
		return err
	}
	if err := d.clear(ctx); err != nil {
		return err
	}
	var requests []*rpc.Request
	seen := map[int]bool{}
	for _, s := range r.schedules {
		for n, p := range s.parts {
			requests = append(requests, &rpc.Request{Method: "add_stream", Port: d.ports[s.direction], Params: map[string]any{
				"profile_id": defaultProfile, "stream_id": n + 1, "stream": p.stream,
			}})
			if !seen[p.group] {
				seen[p.group] = true
				r.groups = append(r.groups, p.group)
			}
		}
	}
	return d.connection.Batch(ctx, requests)
}

// send starts both ports and returns when both have ended.
func (d *Driver) send(ctx context.Context, trial measure.Trial, r *run) error {
	// Waiting events are from before.
	if _, err := d.connection.Events(ctx); err != nil {
		return err
	}
	var requests []*rpc.Request
	waiting := map[int]bool{}
	for _, s := range r.schedules {
		port := d.ports[s.direction]
		waiting[port] = true
		requests = append(requests, &rpc.Request{Method: "start_traffic", Port: port, Params: map[string]any{
			// Without force, a gateway that the streams do not use would have to answer.
			"profile_id": defaultProfile, "duration": -1.0, "force": true,
			"mul": map[string]any{"type": "raw", "op": "abs", "value": 1.0},
		}})
	}
	r.startedAt = time.Now()
	if err := d.connection.Batch(ctx, requests); err != nil {
		return err
	}
	started := time.Now()
	if err := d.await(ctx, trial, started, waiting, r); err != nil {
		return err
	}
	if trial.IntendedFramesPerSecond == 0 {
		// Sent frames divided by this give a rate that is too low rather than too high.
		started = r.startedAt
	}
	r.ended = time.Now()
	r.lasted = r.ended.Sub(started)
	return d.watch(ctx, r)
}

// await returns when no port sends any more. It stops ports that send for too long, or
// would do so permanently.
func (d *Driver) await(ctx context.Context, trial measure.Trial, started time.Time, waiting map[int]bool, r *run) error {
	end := started.Add(trial.Duration())
	limit := end
	if trial.IntendedFramesPerSecond > 0 {
		limit = end.Add(overtime(trial))
	}
	var stopped time.Time
	for len(waiting) > 0 {
		now := time.Now()
		switch {
		case stopped.IsZero() && !now.Before(limit):
			if err := d.stop(ctx, waiting); err != nil {
				return err
			}
			stopped = now
		case !stopped.IsZero() && now.Sub(stopped) > stopTimeout:
			return connection.ErrStuck
		}
		pause := quickPoll
		if left := end.Sub(now); left > near {
			pause = min(left-near, slowPoll)
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return err
		}
		if err := d.ended(ctx, waiting, time.Now().After(end)); err != nil {
			return err
		}
		if pause == slowPoll && len(waiting) > 0 {
			if err := d.watch(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Driver) stop(ctx context.Context, waiting map[int]bool) error {
	var requests []*rpc.Request
	for port := range waiting {
		requests = append(requests, &rpc.Request{Method: "stop_traffic", Port: port, Params: profile})
	}
	return d.connection.Batch(ctx, requests)
}

// ended removes the ports whose job has ended from those that are waited for. An event
// may belong to what was stopped before, and the server may lose one: what counts is the
// port's state, which ask requests in any case.
func (d *Driver) ended(ctx context.Context, waiting map[int]bool, ask bool) error {
	events, err := d.connection.Events(ctx)
	if err != nil {
		return err
	}
	for _, e := range events {
		switch e.Type {
		case rpc.PortJobDone, rpc.PortStopped, rpc.EventsLost:
			ask = true
		case rpc.PortError:
			return fmt.Errorf("%w: TRex reports a fault of a core that serves port %d", connection.ErrStuck, e.Port)
		case rpc.ServerStopped:
			return fmt.Errorf("%w: it says that it ends", rpc.ErrConnection)
		}
	}
	if !ask {
		return nil
	}
	statuses, err := d.status(ctx)
	if err != nil {
		return err
	}
	for i, port := range d.ports {
		if !statuses[i].sending() {
			delete(waiting, port)
		}
	}
	return nil
}

// watch records how busy the sending cores are.
func (d *Driver) watch(ctx context.Context, r *run) error {
	g, err := d.connection.Global(ctx)
	if err != nil {
		return err
	}
	r.busyPercent = max(r.busyPercent, g.CPUPercent)
	return nil
}

// settle waits for frames that are still under way, and reads until the counters no
// longer change.
func (d *Driver) settle(ctx context.Context, trial measure.Trial, r *run) (reading, error) {
	if err := clock.Sleep(ctx, trial.Settle()); err != nil {
		return reading{}, err
	}
	last, err := d.readGroups(ctx, r.groups)
	if err != nil {
		return reading{}, err
	}
	r.moving = true
	for range maxReadings {
		if err := clock.Sleep(ctx, quickPoll); err != nil {
			return reading{}, err
		}
		next, err := d.readGroups(ctx, r.groups)
		if err != nil {
			return reading{}, err
		}
		if r.moving = !next.same(last); !r.moving {
			break
		}
		last = next
	}
	return d.read(ctx, r.groups)
}
