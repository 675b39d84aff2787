package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"vnfbench.io/operator/api/v1alpha1"
)

// source provides the states of one run.
type source interface {
	// list returns the run, or no item if it does not exist.
	list(ctx context.Context) (*v1alpha1.BenchmarkRunList, error)
	watch(ctx context.Context, resourceVersion string) (watch.Interface, error)
}

// observer receives what a follower sees.
type observer interface {
	// saw is called with every state.
	saw(*v1alpha1.BenchmarkRun)
	// lost is called when the API server cannot be reached. saw follows when it can be reached
	// again.
	lost(error)
}

// follower watches a run until it has ended, through interruptions.
type follower struct {
	source   source
	observer observer
	// missing is the error for a run that never existed.
	missing error
	// pause waits before the next attempt. It returns an error when ctx is done.
	pause func(context.Context, time.Duration) error

	// uid is empty until the run has been seen.
	uid types.UID
	// opened is true once a watch has been open.
	opened bool
}

var (
	// errDeleted means that the run existed and is gone.
	errDeleted = errors.New("the run was deleted before it ended")
	// errExpired means that the watch was too old, which happens to every long one.
	errExpired = errors.New("the watch has expired")
)

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 15 * time.Second}
}

// follow returns nil once the run has ended, whatever its verdict.
func (f *follower) follow(ctx context.Context) error {
	backoff := newBackoff()
	for {
		ended, watched, err := f.attempt(ctx)
		switch {
		case ended:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errDeleted) || errors.Is(err, f.missing):
			return err
		case errors.Is(err, errExpired):
			// A new list resolves this.
		case err != nil && !f.opened:
			// This is the first contact: only the user can correct a wrong address or a missing
			// right.
			return err
		case err != nil:
			f.observer.lost(err)
		}
		if watched {
			backoff = newBackoff()
		}
		if err := f.pause(ctx, backoff.Step()); err != nil {
			return err
		}
	}
}

// attempt lists and then watches until the watch ends. watched reports whether the API server
// answered both.
func (f *follower) attempt(ctx context.Context) (ended, watched bool, err error) {
	runs, err := f.source.list(ctx)
	if err != nil {
		return false, false, err
	}
	if len(runs.Items) == 0 {
		if f.uid == "" {
			return false, false, f.missing
		}
		return false, false, errDeleted
	}
	if ended, err := f.see(&runs.Items[0]); ended || err != nil {
		return ended, false, err
	}
	w, err := f.source.watch(ctx, runs.ResourceVersion)
	if err != nil {
		return false, false, err
	}
	defer w.Stop()
	f.opened = true
	for {
		select {
		case <-ctx.Done():
			return false, true, ctx.Err()
		case event, open := <-w.ResultChan():
			if !open {
				return false, true, nil
			}
			if ended, err := f.event(event); ended || err != nil {
				return ended, true, err
			}
		}
	}
}

func (f *follower) event(event watch.Event) (ended bool, err error) {
	switch event.Type {
	case watch.Error:
		err := apierrors.FromObject(event.Object)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return false, errExpired
		}
		return false, err
	case watch.Added, watch.Modified, watch.Deleted:
		run, ok := event.Object.(*v1alpha1.BenchmarkRun)
		if !ok {
			return false, fmt.Errorf("the watch sent a %T", event.Object)
		}
		ended, err := f.see(run)
		if err == nil && !ended && event.Type == watch.Deleted {
			return false, errDeleted
		}
		return ended, err
	}
	return false, nil
}

func (f *follower) see(run *v1alpha1.BenchmarkRun) (ended bool, err error) {
	if f.uid != "" && run.UID != f.uid {
		return false, fmt.Errorf("%w, and another run of its name was made", errDeleted)
	}
	f.uid = run.UID
	f.observer.saw(run)
	return outcomeOf(run) != nil, nil
}
