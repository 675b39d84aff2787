package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/controller/queue"
)

const (
	// scrapeInterval is how often Prometheus asks.
	scrapeInterval = 15 * time.Second
	// settleInterval is how long nothing may be written before the manager's start is over: places in the queue are written up to
	// five seconds later. settleTimeout is how long it may take.
	settleInterval = 6 * time.Second
	settleTimeout  = 15 * time.Minute
	// labelQueued marks the runs that wait.
	labelQueued = "scalebench/queued"
	// maxStates is more than all changes of runs while one sample is taken.
	maxStates = 10_000
	// idlePuts are the writes in that time of a cluster without work: its leases.
	idlePuts = 3
	// runTimeout is how long a run may take in addition to its trials.
	runTimeout = 10 * time.Minute
)

// with starts a cluster with a node, and stops both. The node's problem ends the call.
func with(ctx context.Context, s settings, do func(context.Context, *node) error) error {
	s.progress.is("starting an API server")
	c, err := startCluster(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	n, ended := &node{cluster: c, progress: s.progress}, make(chan struct{})
	go func() {
		defer close(ended)
		if err := n.run(ctx); err != nil {
			cancel(err)
		}
	}()
	err = do(ctx, n)
	if problem := context.Cause(ctx); problem != nil {
		err = problem
	}
	cancel(nil)
	<-ended
	return errors.Join(err, c.stop())
}

// measureQueue measures a manager with n runs that wait and n that are finished.
func measureQueue(ctx context.Context, s settings, n int) (row, error) {
	r := row{float64(n), map[string]float64{}}
	err := with(ctx, s, func(ctx context.Context, node *node) error {
		if err := node.fill(ctx, s, n); err != nil {
			return err
		}
		node.trial = s.trial
		node.held.Store(true)
		manager, err := startManager(s, node.kubeconfig)
		if err != nil {
			return err
		}
		err = node.follow(ctx, s, manager, r.figures, n)
		return errors.Join(err, manager.stop())
	})
	return r, err
}

// fill measures one run with every frame size, copies it, and makes the runs that wait. No manager
// runs afterwards.
func (n *node) fill(ctx context.Context, s settings, count int) error {
	manager, err := startManager(s, n.kubeconfig)
	if err != nil {
		return err
	}
	_, err = n.measureOne(ctx, manager, newRun("finished", len(frameBytes)))
	if err := errors.Join(err, manager.stop()); err != nil {
		return err
	}
	finished, err := n.readTemplate(ctx, "finished")
	if err != nil {
		return err
	}
	err = inParallel(count-1, func(i int) error {
		n.progress.is("%d runs: making finished run %d", count, i+2)
		return n.copyRun(ctx, finished, fmt.Sprintf("finished-%04d", i))
	})
	if err != nil {
		return fmt.Errorf("making finished runs: %w", err)
	}
	// One waits in addition to those that are measured.
	err = inParallel(max(count, s.measured+1), func(i int) error {
		n.progress.is("%d runs: making queued run %d", count, i+1)
		run := newRun(fmt.Sprintf("queued-%04d", i), s.sizes)
		run.Labels = map[string]string{labelQueued: "true"}
		return n.client.Create(ctx, run)
	})
	if err != nil {
		return fmt.Errorf("making runs that wait: %w", err)
	}
	return nil
}

// measureOne makes a run, and waits for its end.
func (n *node) measureOne(ctx context.Context, manager *process, run *v1alpha1.BenchmarkRun) (time.Time, error) {
	if err := n.client.Create(ctx, run); err != nil {
		return time.Time{}, err
	}
	n.progress.is("measuring run %q with %d frame sizes", run.Name, len(run.Spec.Experiment.Traffic.FrameBytes))
	deadline := time.Now().Add(runTimeout)
	for time.Now().Before(deadline) {
		if err := errors.Join(manager.alive(), clock.Sleep(ctx, stepInterval)); err != nil {
			return time.Time{}, err
		}
		if err := n.client.Get(ctx, client.ObjectKeyFromObject(run), run); err != nil {
			return time.Time{}, err
		}
		if queue.Finished(run) && !queue.Occupies(run) {
			return time.Now(), succeeded(run)
		}
	}
	return time.Time{}, fmt.Errorf("run %q did not end in %s: %+v", run.Name, runTimeout, run.Status.Conditions)
}

// follow waits until the manager has nothing to do, then lets runs be measured, one after the other.
func (n *node) follow(ctx context.Context, s settings, manager *process, figures map[string]float64, count int) error {
	queued := float64(max(count, s.measured+1))
	took, settled, err := n.settle(ctx, manager, int(queued))
	if err != nil {
		return err
	}
	figures["start s"], figures["start's writes per queued run"] = took.Seconds(), settled.writes/queued
	fmt.Fprintf(os.Stderr, "%d runs: settled after %s with %.0f writes\n", count, took.Round(time.Second), settled.writes)

	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	states := n.watch(watching, stop)
	n.held.Store(false)
	timeline, err := n.watchRuns(watching, manager, states, s.measured)
	if err != nil {
		return err
	}
	return timeline.summarize(figures)
}

// settle waits until the testbed knows all runs that are queued, and then nothing was written for some time. It asks
// etcd: a scrape of the manager each second would be work that no installation has.
func (n *node) settle(ctx context.Context, manager *process, queued int) (time.Duration, sample, error) {
	start := time.Now()
	last, since := -1.0, start
	for time.Since(start) < settleTimeout {
		if err := errors.Join(manager.alive(), clock.Sleep(ctx, settleInterval/3)); err != nil {
			return 0, sample{}, err
		}
		text, err := get(ctx, n.etcdMetrics)
		if err != nil {
			return 0, sample{}, err
		}
		puts, err := sumOf(text, sum{"etcd_mvcc_put_total", nil})
		if err != nil {
			return 0, sample{}, err
		}
		n.progress.is("waiting until the manager is at rest with %d queued runs: etcd has %.0f writes", queued, puts)
		if now := time.Now(); puts > last+idlePuts {
			last, since = puts, now
		} else if now.Sub(since) > settleInterval {
			testbed := &v1alpha1.Testbed{}
			if err := n.client.Get(ctx, client.ObjectKey{Name: testbedName}, testbed); err != nil {
				return 0, sample{}, err
			}
			if status := &testbed.Status; len(status.Conditions) > 0 && int(status.QueuedRuns)+len(status.ActiveRuns) == queued {
				s, err := n.sample(ctx, manager)
				return since.Sub(start), s, err
			}
			// It has not started to work yet.
			since = now
		}
	}
	return 0, sample{}, fmt.Errorf("the manager was not at rest in %s", settleTimeout)
}

// passage is what happened to one run that was measured.
type passage struct {
	name                       string
	admitted, measuring, ended time.Time
	// from and to are the samples at the start of its measurement and at its end.
	from, to sample
}

// timeline has the runs in their order. The last has only been admitted.
type timeline struct {
	runs []*passage
	// highest is the most that was seen.
	heap, rss, peak float64
	trials          int
}

// state is a run as it was at a time.
type state struct {
	at  time.Time
	run *v1alpha1.BenchmarkRun
}

// watch follows the runs that wait, and notes when it hears of each change: who takes a sample of the manager
// meanwhile is late. It begins with their present state, and again when the API server ends the watch, as it does with
// those who are slow.
func (n *node) watch(ctx context.Context, failed context.CancelCauseFunc) <-chan state {
	states := make(chan state, maxStates)
	go func() {
		for ctx.Err() == nil {
			events, err := n.client.Watch(ctx, &v1alpha1.BenchmarkRunList{}, client.InNamespace(namespace), client.MatchingLabels{labelQueued: "true"})
			if err != nil {
				failed(fmt.Errorf("watching runs: %w", err))
				return
			}
			for event := range events.ResultChan() {
				run, ok := event.Object.(*v1alpha1.BenchmarkRun)
				if !ok {
					break
				}
				states <- state{time.Now(), run}
			}
			events.Stop()
		}
	}()
	return states
}

// watchRuns follows the runs until the one after the last that is measured is admitted.
func (n *node) watchRuns(ctx context.Context, manager *process, states <-chan state, measured int) (*timeline, error) {
	t, known := &timeline{}, map[string]*passage{}
	scrape := time.NewTicker(scrapeInterval)
	defer scrape.Stop()
	limit := time.NewTimer(time.Duration(measured) * runTimeout)
	defer limit.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-limit.C:
			return nil, fmt.Errorf("%d runs did not end in %s each", measured, runTimeout)
		case <-scrape.C:
			if _, err := n.look(ctx, manager, t); err != nil {
				return nil, err
			}
		case now := <-states:
			if done, err := n.pass(ctx, manager, t, known, now, measured); done || err != nil {
				return t, err
			}
		}
	}
}

// pass notes what a state says about a run, and reports whether it was the last that is awaited.
func (n *node) pass(ctx context.Context, manager *process, t *timeline, known map[string]*passage, now state, measured int) (bool, error) {
	run := now.run
	p := known[run.Name]
	if p == nil {
		if !queue.Occupies(run) || queue.Finished(run) {
			return false, nil
		}
		p = &passage{name: run.Name, admitted: now.at}
		known[run.Name] = p
		t.runs = append(t.runs, p)
		n.progress.is("measuring run %d of %d", len(t.runs), measured)
		return len(t.runs) > measured, nil
	}
	var err error
	switch {
	case p.measuring.IsZero() && measuring(run):
		p.measuring = now.at
		p.from, err = n.look(ctx, manager, t)
	case p.ended.IsZero() && queue.Finished(run):
		p.ended = now.at
		if err := succeeded(run); err != nil {
			return false, err
		}
		if p.to, err = n.look(ctx, manager, t); err != nil {
			return false, err
		}
		t.trials, err = trialsOf(run)
	}
	return false, err
}

// look takes a sample, and keeps the highest memory.
func (n *node) look(ctx context.Context, manager *process, t *timeline) (sample, error) {
	s, err := n.sample(ctx, manager)
	t.heap, t.rss, t.peak = max(t.heap, s.heap), max(t.rss, s.rss), max(t.peak, s.peak)
	return s, err
}

// trialsOf returns how many trials a run has stored, as its condition Measured says.
func trialsOf(run *v1alpha1.BenchmarkRun) (trials int, err error) {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionMeasured)
	if _, err := fmt.Sscanf(c.Message, "%d trials", &trials); err != nil {
		return 0, fmt.Errorf("condition Measured of run %q says %q: %w", run.Name, c.Message, err)
	}
	return trials, nil
}

// summarize computes the figures. The writes of a run are those from the end of the run before to
// its own.
func (t *timeline) summarize(figures map[string]float64) error {
	if len(t.runs) < 2 {
		return errors.New("no run was measured")
	}
	var cpu, wall, wait float64
	measured := t.runs[:len(t.runs)-1]
	for i, p := range measured {
		if p.measuring.IsZero() || p.ended.IsZero() {
			return fmt.Errorf("run %q was not seen to be measured", p.name)
		}
		cpu += (p.to.cpu - p.from.cpu).Seconds()
		wall += p.to.at.Sub(p.from.at).Seconds()
		wait = max(wait, t.runs[i+1].admitted.Sub(p.ended).Seconds())
	}
	first, last := measured[0], measured[len(measured)-1]
	between := float64(len(measured) - 1)
	figures["heap MiB"], figures["RSS MiB"], figures["highest RSS MiB"] = t.heap, t.rss, t.peak
	figures["CPU % while measuring"] = 100 * cpu / wall
	figures["CPU ms per trial"] = 1e3 * cpu / float64(t.trials*len(measured))
	figures["trials per run"] = float64(t.trials)
	figures["manager's writes per run"] = (last.to.writes - first.to.writes) / between
	figures["measurer's writes per run"] = (last.to.otherWrites - first.to.otherWrites) / between
	figures["etcd KiB per run"] = (last.to.etcdKiB - first.to.etcdKiB) / between
	figures["next run after s"] = wait
	return nil
}

// measureWrites measures one run that is alone, with a number of frame sizes.
func measureWrites(ctx context.Context, s settings, sizes int) (row, error) {
	return measureAlone(ctx, s, 0, newRun("alone", sizes), func(r *row, _ *node, _ *v1alpha1.BenchmarkRun) error {
		r.n = r.figures[trialsFigure]
		return nil
	})
}

// measureAlone measures one run that is alone, and then looks at what it has left. With speed 0 its trials take no time.
func measureAlone(ctx context.Context, s settings, speed float64, run *v1alpha1.BenchmarkRun, look func(*row, *node, *v1alpha1.BenchmarkRun) error) (row, error) {
	r := row{0, map[string]float64{}}
	err := with(ctx, s, func(ctx context.Context, node *node) error {
		manager, err := startManager(s, node.kubeconfig)
		if err != nil {
			return err
		}
		node.speed = speed
		err = node.count(ctx, manager, r.figures, run)
		if err == nil {
			err = look(&r, node, run)
		}
		return errors.Join(err, manager.stop())
	})
	return r, err
}

func (n *node) count(ctx context.Context, manager *process, figures map[string]float64, run *v1alpha1.BenchmarkRun) error {
	if _, _, err := n.settle(ctx, manager, 0); err != nil {
		return err
	}
	from, err := n.sample(ctx, manager)
	if err != nil {
		return err
	}
	if _, err := n.measureOne(ctx, manager, run); err != nil {
		return err
	}
	to, err := n.sample(ctx, manager)
	if err != nil {
		return err
	}
	trials, err := trialsOf(run)
	if err != nil {
		return err
	}
	made := float64(trials)
	own, others, kib := to.writes-from.writes, to.otherWrites-from.otherWrites, to.etcdKiB-from.etcdKiB
	figures[trialsFigure], figures["writes"] = made, own+others
	figures["manager's writes"], figures["measurer's writes"], figures["writes per trial"] = own, others, (own+others)/made
	figures["etcd KiB"], figures["etcd KiB per trial"] = kib, kib/made
	figures["CPU ms per trial"] = 1e3 * (to.cpu - from.cpu).Seconds() / made
	figures["time s"], figures["highest RSS MiB"] = to.at.Sub(from.at).Seconds(), to.peak
	return nil
}
