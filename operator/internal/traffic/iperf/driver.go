package iperf

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/measure"
)

const (
	// firstPort is the forward direction's, the reverse one has the next.
	firstPort = 5201
	// attempts is the number of tries while something of an earlier test is in the way.
	attempts   = 3
	retryPause = time.Second
	// cleanUpTimeout bounds the cleanup after a test that failed.
	cleanUpTimeout = 5 * time.Second
	// probeSeconds is the length of the test that shows that the chain passes traffic.
	probeSeconds = 1
)

// Config says where the agents are.
type Config struct {
	Endpoints measure.Endpoints
	// Addresses on the measured path.
	West, East netip.Addr
	// HTTP asks the agents. Requests are bounded by their contexts.
	HTTP *http.Client
}

// Driver is a measure.Driver of TCP connections.
type Driver struct {
	ends  map[measure.Direction]way
	facts []measure.TCPEnd
	west  *peer
	east  *peer
	// sent is called when a test's connections have ended; nil means no call.
	sent   func()
	closed bool
}

// way is a direction's sender and receiver.
type way struct {
	sender, receiver *peer
	port             uint16
}

// Open sets both ports up and makes a short test in each direction, so that it finds a
// chain that passes no traffic before anything counts.
func Open(ctx context.Context, config Config, directions []measure.Direction) (*Driver, error) {
	client := config.HTTP
	d := &Driver{
		west: &peer{name: measure.EndWest, at: config.Endpoints.West, address: config.West, client: client},
		east: &peer{name: measure.EndEast, at: config.Endpoints.East, address: config.East, client: client},
	}
	d.ends = map[measure.Direction]way{
		measure.Forward: {d.west, d.east, firstPort},
		measure.Reverse: {d.east, d.west, firstPort + 1},
	}
	if err := d.up(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	probe := measure.Trial{
		DurationNanoseconds: probeSeconds * time.Second.Nanoseconds(), TCP: &measure.TCPTrial{Streams: 1, Directions: directions},
	}
	if _, err := d.Measure(ctx, probe); err != nil {
		// Nothing has come through yet, so this is not a chain that failed.
		var failure *measure.Failure
		if errors.As(err, &failure) && failure.Reason == v1alpha1.ReasonChainFailed {
			err = &measure.Failure{Reason: v1alpha1.ReasonNoPathThroughChain, Err: failure.Err, Remedy: failure.Remedy}
		}
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Driver) up(ctx context.Context) error {
	for _, end := range []*peer{d.west, d.east} {
		fact, err := end.up(ctx)
		if err != nil {
			return err
		}
		d.facts = append(d.facts, fact)
	}
	return nil
}

// Description names the tool.
func (d *Driver) Description() measure.Description {
	return measure.Description{Driver: "iperf3"}
}

// NotifySent implements measure.Notifier. A test that failed does not call.
func (d *Driver) NotifySent(sent func()) { d.sent = sent }

// Close removes the ports' setup.
func (d *Driver) Close() error {
	d.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTimeout)
	defer cancel()
	return errors.Join(d.west.down(ctx), d.east.down(ctx))
}

// Measure makes one test: in each direction a client at the sending end, a
// server at the other.
func (d *Driver) Measure(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	if d.closed {
		return measure.Outcome{}, measure.ErrClosed
	}
	if err := check(trial); err != nil {
		return measure.Outcome{}, measure.Failf(v1alpha1.ReasonInvalidTrial, "correct the trial", "%w", err)
	}
	for attempt := 1; ; attempt++ {
		outcome, err := d.test(ctx, trial)
		switch {
		case err == nil:
			return outcome, nil
		case ctx.Err() != nil:
			return measure.Outcome{}, context.Cause(ctx)
		case !isBusy(err) || attempt == attempts:
			return measure.Outcome{}, explain(err, *trial.TCP)
		}
		if err := clock.Sleep(ctx, retryPause); err != nil {
			return measure.Outcome{}, err
		}
	}
}

// check refuses what iperf3 cannot measure: its times are whole seconds.
func check(trial measure.Trial) error {
	switch {
	case trial.TCP == nil || trial.Connections != nil:
		return errors.New("the trial asks for no bulk transfer by TCP")
	case trial.Duration() < time.Second || trial.SettleNanoseconds < 0:
		return fmt.Errorf("a trial of %v with %v to settle cannot be measured, but one of a second or more", trial.Duration(), trial.Settle())
	}
	return trial.TCP.Check()
}

func (d *Driver) test(ctx context.Context, trial measure.Trial) (_ measure.Outcome, err error) {
	started := time.Now()
	tcp := trial.TCP
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		if err != nil {
			d.cleanUp(tcp.Directions)
		}
	}()
	for _, direction := range tcp.Directions {
		w, known := d.ends[direction]
		if !known {
			return measure.Outcome{}, fmt.Errorf("there is no direction %q", direction)
		}
		if err := w.receiver.serve(ctx, w.port, seconds(trial)); err != nil {
			return measure.Outcome{}, err
		}
	}
	found := make([]measure.TCPDirectionOutcome, len(tcp.Directions))
	failed := make([]error, len(tcp.Directions))
	var group sync.WaitGroup
	for i, direction := range tcp.Directions {
		group.Go(func() {
			if found[i], failed[i] = d.ends[direction].make(ctx, direction, trial); failed[i] != nil {
				cancel() // the trial asks for both directions
			}
		})
	}
	group.Wait()
	if err := first(failed); err != nil {
		return measure.Outcome{}, err
	}
	if d.sent != nil {
		d.sent()
	}
	if err := clock.Sleep(ctx, trial.Settle()); err != nil {
		return measure.Outcome{}, err
	}
	return measure.Outcome{
		StartedAt: started.UTC(), SendingNanoseconds: trial.DurationNanoseconds,
		TotalNanoseconds: time.Since(started).Nanoseconds(),
		TCP:              &measure.TCPOutcome{Directions: found, Ends: d.facts},
	}, nil
}

// make runs one direction's test.
func (w way) make(ctx context.Context, direction measure.Direction, trial measure.Trial) (measure.TCPDirectionOutcome, error) {
	tcp := trial.TCP
	client, err := w.sender.send(ctx, endpoint.Client{
		Address: w.sender.address, Server: w.receiver.address, Port: w.port, Streams: tcp.Streams,
		DurationSeconds: int(trial.Duration().Seconds()), OmitSeconds: int(time.Duration(tcp.OmitNanoseconds).Seconds()),
		TCPSettings: tcp.TCPSettings,
	})
	if err != nil {
		return measure.TCPDirectionOutcome{}, err
	}
	if _, err := read(client); err != nil {
		// The server would wait for a client that has given up.
		return measure.TCPDirectionOutcome{}, fmt.Errorf("iperf3 at the %s end: %w", w.sender.name, err)
	}
	server, err := w.receiver.collect(ctx, w.port)
	if err != nil {
		return measure.TCPDirectionOutcome{}, err
	}
	outcome, err := Parse(direction, client, server)
	if err != nil {
		return outcome, fmt.Errorf("iperf3 from %s to %s: %w", w.sender.name, w.receiver.name, err)
	}
	return outcome, nil
}

// cleanUp ends the servers of a test that failed; the clients end by themselves when no
// request waits for them. What cannot be reached ends at its own time limit.
func (d *Driver) cleanUp(directions []measure.Direction) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTimeout)
	defer cancel()
	for _, direction := range directions {
		if w, known := d.ends[direction]; known {
			_ = w.receiver.stop(ctx, w.port)
		}
	}
}

// first prefers an error that the other direction's failure did not cause.
func first(list []error) error {
	var canceled error
	for _, err := range list {
		if errors.Is(err, context.Canceled) {
			canceled = err
			continue
		}
		if err != nil {
			return err
		}
	}
	return canceled
}

// seconds returns the whole test's duration.
func seconds(trial measure.Trial) int {
	return int((trial.Duration() + time.Duration(trial.TCP.OmitNanoseconds)).Seconds())
}
