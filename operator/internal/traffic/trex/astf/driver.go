package astf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/connection"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// Config is what Open needs.
type Config struct {
	// Server runs in stateful mode on the ports of the chain's path. The driver restarts it
	// when it fails between two trials, and never closes it.
	Server connection.Server
	// Between says which addresses the ports use.
	Between measure.Stateful
}

// Driver is a measure.Driver of TCP connections and of exchanges.
type Driver struct {
	config  Config
	session *session
	// sent is called when traffic is over; nil means no call.
	sent   func()
	closed bool
}

const (
	// startUp is the time between the server's report that traffic runs and the first
	// packet: TRex shifts its threads by 0.11 s and more.
	startUp = 200 * time.Millisecond
	// rampUp is the time in trials of exchanges before counting begins.
	rampUp = time.Second
	// margin is for how much longer than needed new exchanges begin, so that the last
	// reading of the counters is during the traffic.
	margin = 500 * time.Millisecond
	// lingering is how long connections that are still open may take to end. TRex gives
	// up a connection that was never answered after 5 s.
	lingering = 6 * time.Second
	// lookPause is between two readings of what is open.
	lookPause = 100 * time.Millisecond
	// probePerSecond is the rate of exchanges at the opening, for probeDuration.
	probePerSecond = 10
	probeDuration  = time.Second
	probeBytes     = 64
	// openTimeout bounds the opening of a trial's TCP connections.
	openTimeout = 5 * time.Second
	// cleanUpTimeout bounds the cleanup after a trial that failed.
	cleanUpTimeout = 10 * time.Second
)

// Open connects to the server, and makes a few exchanges, so that it finds a chain that
// passes no traffic before anything counts.
func Open(ctx context.Context, config Config) (*Driver, error) {
	return open(ctx, config, nil)
}

// open is Open with a way to connect to the server; nil means its address.
func open(ctx context.Context, config Config, dial func(context.Context, string, rpc.Options) (connection.Client, error)) (*Driver, error) {
	s := &session{}
	s.Connection = &connection.Connection{Server: config.Server, Options: rpc.Options{API: rpc.ASTF}, Begin: s.begin, Dial: dial}
	d := &Driver{config: config, session: s}
	if err := s.Connect(ctx); err != nil {
		return nil, errors.Join(s.Explain(err), d.Close())
	}
	probe := measure.Trial{
		DurationNanoseconds: probeDuration.Nanoseconds(),
		Connections: &measure.ConnectionsTrial{
			ConnectionsPerSecond: probePerSecond, RequestBytes: probeBytes, ResponseBytes: probeBytes,
		},
	}
	outcome, err := d.Measure(ctx, probe)
	if err == nil && outcome.Connections.Completed == 0 {
		err = measure.Failf(v1alpha1.ReasonNoPathThroughChain, "see whether each function forwards TCP in both directions, and look at its logs",
			"none of %d TCP connections came through the chain", outcome.Connections.Attempts)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Description names the tool.
func (d *Driver) Description() measure.Description {
	return measure.Description{Driver: measure.ProgramTRex + " " + d.session.version}
}

// NotifySent implements measure.Notifier. A trial that failed does not call.
func (d *Driver) NotifySent(sent func()) { d.sent = sent }

// Close closes the connection.
func (d *Driver) Close() error {
	d.closed = true
	return d.session.Close()
}

// prepare gives the server a trial's profile. It restarts, if necessary, and acquires a
// server that has died, hung or been started by another client since the last trial. It
// does so only before there is traffic: a server that dies in a trial leaves its
// connections open in the device, and the next figures would be those of a device that
// has them.
func (d *Driver) prepare(ctx context.Context, p profile) error {
	return d.session.Try(ctx, func() error {
		if dead := d.config.Server.Alive(); dead != nil {
			return dead
		}
		return d.session.load(ctx, p)
	})
}

// Measure makes one trial of TCP connections or of exchanges.
func (d *Driver) Measure(ctx context.Context, trial measure.Trial) (_ measure.Outcome, err error) {
	if d.closed {
		return measure.Outcome{}, measure.ErrClosed
	}
	if tcp := trial.TCP; tcp != nil && tcp.MSSBytes == 0 {
		// The largest that fits the path, so that the outcome can name it.
		sized := *tcp
		sized.MSSBytes, trial.TCP = d.config.Between.MSSBytes, &sized
	}
	p, err := d.profileOf(trial)
	if err != nil {
		return measure.Outcome{}, err
	}
	defer func() {
		if err == nil {
			return
		}
		d.cleanUp()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
			return
		}
		err = d.session.Explain(err)
	}()
	if err := d.prepare(ctx, p); err != nil {
		return measure.Outcome{}, err
	}
	if trial.TCP != nil {
		return d.tcp(ctx, trial)
	}
	return d.connections(ctx, trial)
}

func (d *Driver) profileOf(trial measure.Trial) (profile, error) {
	if err := check(trial); err != nil {
		return profile{}, measure.Failf(v1alpha1.ReasonInvalidTrial, "correct the trial", "%w", err)
	}
	if trial.TCP != nil {
		p, err := forTCP(d.config.Between, *trial.TCP)
		if err != nil {
			return p, &measure.Failure{
				Reason: v1alpha1.ReasonTCPSettingRefused, Err: err, Remedy: "change measurements.tcp, or use a testbed with another driver",
			}
		}
		return p, nil
	}
	return forConnections(d.config.Between, *trial.Connections, trial.DurationNanoseconds), nil
}

// check refuses what the server cannot do.
func check(trial measure.Trial) error {
	switch {
	case trial.DurationNanoseconds <= 0 || trial.SettleNanoseconds < 0:
		return fmt.Errorf("a trial of %v with %v to settle cannot be measured", trial.Duration(), trial.Settle())
	case trial.TCP != nil && trial.Connections == nil:
		return trial.TCP.Check()
	case trial.Connections != nil && trial.TCP == nil:
		return trial.Connections.Check()
	}
	return errors.New("the trial asks neither for TCP connections nor for exchanges")
}

// traffic starts a profile for atMost and stops it. Between, count returns when the time
// that counts is over, and end when no more has to end by itself. traffic returns the
// outcome without its figures, and the last reading of the counters.
func (d *Driver) traffic(ctx context.Context, trial measure.Trial, atMost time.Duration, count, end func(context.Context) error) (out measure.Outcome, over look, err error) {
	var before, after connection.Losses
	var started time.Time
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) (err error) { before, err = d.session.losses(ctx); return err },
		func(ctx context.Context) error {
			started = time.Now()
			return d.session.start(ctx, atMost, trial.TCP != nil, d.config.Between.Clients.First.Is6())
		},
		count,
		func(context.Context) error {
			if d.sent != nil {
				d.sent()
			}
			return nil
		},
		end,
		d.session.stop,
		func(ctx context.Context) (err error) { over, _, err = d.session.look(ctx); return err },
		func(ctx context.Context) (err error) { after, err = d.session.losses(ctx); return err },
		func(ctx context.Context) error { return clock.Sleep(ctx, trial.Settle()) },
	} {
		if err := step(ctx); err != nil {
			return out, over, err
		}
	}
	return measure.Outcome{
		StartedAt: started.UTC(), SendingNanoseconds: trial.DurationNanoseconds, TotalNanoseconds: time.Since(started).Nanoseconds(),
		Doubts: doubtsOf(after.Since(before), over),
	}, over, nil
}

// tcp makes bulk transfers: the readings of the counters are borders of intervals.
func (d *Driver) tcp(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	t := trial.TCP
	omit := time.Duration(t.OmitNanoseconds)
	// The server ends by itself if this process can no longer end it.
	atMost := startUp + openTimeout + omit + trial.Duration() + cleanUpTimeout
	var looks [][]look
	var cpuPercent float64
	out, _, err := d.traffic(ctx, trial, atMost, func(ctx context.Context) error {
		_, epoch, err := d.session.look(ctx)
		if err != nil {
			return err
		}
		if err := d.awaitOpen(ctx, t, epoch); err != nil {
			return err
		}
		if err := clock.Sleep(ctx, omit); err != nil {
			return err
		}
		looks, cpuPercent, err = d.lookAlong(ctx, len(t.Directions), epoch, trial.Duration())
		return err
	}, func(context.Context) error { return nil })
	if err != nil {
		return measure.Outcome{}, err
	}
	out.TCP = &measure.TCPOutcome{Ends: []measure.TCPEnd{{Name: measure.EndWest, Program: d.session.tool()}, {Name: measure.EndEast, Program: d.session.tool()}}}
	for i, direction := range t.Directions {
		found := tcpDirection(direction, looks[i], cpuPercent, *t)
		if found.SentNanoseconds <= 0 || found.ReceivedNanoseconds <= 0 {
			return measure.Outcome{}, fmt.Errorf("the server's clock did not advance while data was sent in direction %s", direction)
		}
		out.TCP.Directions = append(out.TCP.Directions, found)
	}
	return out, nil
}

// awaitOpen waits until all connections of each direction are established.
func (d *Driver) awaitOpen(ctx context.Context, t *measure.TCPTrial, epoch int64) error {
	until := time.Now().Add(startUp + openTimeout)
	for {
		groups, err := d.session.lookAt(ctx, len(t.Directions), epoch)
		if err != nil {
			return err
		}
		// The lag of the direction with the fewest connections.
		established := int64(t.Streams)
		for _, at := range groups {
			established = min(established, at.client.of(cEstablished))
		}
		if established >= int64(t.Streams) {
			return nil
		}
		if time.Now().After(until) {
			return measure.Failf(v1alpha1.ReasonChainFailed, "see whether each function forwards TCP in both directions, and look at its logs",
				"%d of %d TCP connections were established within %s", established, t.Streams, openTimeout)
		}
		if err := clock.Sleep(ctx, lookPause); err != nil {
			return err
		}
	}
}

// lookAlong reads the counters when counting begins, when it ends, and at the borders of
// whole seconds between them, as many as the API has room for. It also returns how busy
// the sending threads were at the end, in percent: the server's own figure lags, so at
// the start it is that of the time before.
func (d *Driver) lookAlong(ctx context.Context, groups int, epoch int64, counts time.Duration) (looks [][]look, cpu float64, err error) {
	looks = make([][]look, groups)
	begin := time.Now()
	for i, n := 0, intervals(counts); i <= n; i++ {
		if err := clock.Sleep(ctx, time.Until(begin.Add(counts*time.Duration(i)/time.Duration(n)))); err != nil {
			return nil, 0, err
		}
		found, err := d.session.lookAt(ctx, groups, epoch)
		if err != nil {
			return nil, 0, err
		}
		for group, at := range found {
			looks[group-1] = append(looks[group-1], at)
		}
	}
	now, err := d.session.Global(ctx)
	return looks, now.MeanCPUPercent, err
}

// intervals returns the number of whole seconds, up to the maximum.
func intervals(counts time.Duration) int {
	return max(1, min(int(counts.Seconds()), measure.MaximumTCPIntervals))
}

// connections makes exchanges.
func (d *Driver) connections(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	c := trial.Connections
	held := c.ConcurrentConnections > 0
	ramp := max(rampUp, time.Duration(c.RampNanoseconds()))
	// A trial opens all held connections, however long that takes.
	opening := startUp + ramp + trial.Duration() + margin
	whole := opening + lingering
	if held {
		opening = 0
		whole += ramp + holdMargin
	}
	w := watch{session: d.session}
	var begin, end look
	var busy connection.Global
	out, over, err := d.traffic(ctx, trial, opening, func(ctx context.Context) (err error) {
		w.begun = time.Now()
		if begin, err = w.until(ctx, startUp+ramp); err != nil {
			return err
		}
		if end, err = w.until(ctx, startUp+ramp+trial.Duration()); err != nil {
			return err
		}
		busy, err = d.session.Global(ctx)
		return err
	}, func(ctx context.Context) error { return w.ended(ctx, whole) })
	if err != nil {
		return measure.Outcome{}, err
	}
	if end.client.nanoseconds() <= begin.client.nanoseconds() && end.client.of(cEstablished) > 0 {
		return measure.Outcome{}, errors.New("the server's clock did not advance while connections were made")
	}
	figures := connectionsOutcome(connectionLooks{begin, end, over, w.concurrent}, held)
	figures.Program, figures.GeneratorCPUPartsPerMillion = d.session.tool(), int64(busy.MeanCPUPercent*10_000)
	out.Connections = &figures
	return out, nil
}

// watch reads the counters during a trial of exchanges.
type watch struct {
	session *session
	begun   time.Time
	// concurrent is the maximum of connections at once.
	concurrent int64
}

// until reads repeatedly, and returns the reading at a time after the start.
func (w *watch) until(ctx context.Context, at time.Duration) (look, error) {
	for {
		left := at - time.Since(w.begun)
		found, _, err := w.session.look(ctx)
		if err != nil {
			return found, err
		}
		if w.concurrent = max(w.concurrent, found.client.of(cEstablishedNow)); left <= 0 {
			return found, nil
		}
		if err := clock.Sleep(ctx, min(left, lookPause)); err != nil {
			return found, err
		}
	}
}

// ended waits until every connection has ended by itself, or until a time has passed.
func (w *watch) ended(ctx context.Context, atMost time.Duration) error {
	for time.Since(w.begun) < atMost {
		state, err := w.session.state(ctx)
		if err != nil || state != rpc.ASTFTransmitting {
			return err
		}
		if err := clock.Sleep(ctx, lookPause); err != nil {
			return err
		}
	}
	return nil
}

// cleanUp ends the traffic of a trial that failed. What it cannot reach ends with the
// server.
func (d *Driver) cleanUp() {
	if d.session.Client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTimeout)
	defer cancel()
	_ = d.session.stop(ctx)
}
