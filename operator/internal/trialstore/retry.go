package trialstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
)

const (
	// maxOutage is how long a trial is kept in memory for an API server that does not
	// answer: longer than a restart or replacement of one takes.
	maxOutage = 5 * time.Minute
	// requestTimeout limits one attempt.
	requestTimeout = 10 * time.Second
	// stopTimeout is what is left of an attempt when the pod is asked to stop: half of its
	// grace.
	stopTimeout = 5 * time.Second
	firstPause  = 100 * time.Millisecond
	maxPause    = 10 * time.Second
)

// retry makes attempts until one succeeds or none can succeed any more. ctx does not
// interrupt an attempt that has started, so that a measured trial is stored even if the pod
// is asked to stop in the meantime.
func (s *Store) retry(ctx context.Context, attempt func(context.Context) error) error {
	start := time.Now()
	wait := firstPause
	for tries := 1; ; tries++ {
		err := s.try(ctx, attempt)
		if err == nil {
			if tries > 1 {
				s.cfg.Log.Info("the API server took the write", "attempts", tries, "after", time.Since(start).String())
			}
			return nil
		}
		if final := terminal(err); final != nil {
			return final
		}
		if time.Since(start)+wait > maxOutage {
			return notStored(fmt.Errorf("the API server did not take it for %s: %w", time.Since(start).Round(time.Second), err))
		}
		if !conflict(err) {
			s.cfg.Log.Warn("trying again", "attempt", tries, "wait", wait.String(), "error", err.Error())
		}
		if stopped := clock.Sleep(ctx, wait); stopped != nil {
			return fmt.Errorf("%w, while the API server answered: %w", stopped, err)
		}
		wait = min(2*wait, maxPause)
	}
}

func (s *Store) try(ctx context.Context, attempt func(context.Context) error) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopTimeout, cancel) })()
	return attempt(own)
}

// terminal returns the error if another attempt cannot help, else nil. Missing rights are
// not such a case: a new role takes a moment to apply.
func terminal(err error) error {
	switch {
	case errors.Is(err, ErrSuperseded), measure.ReasonOf(err) != "":
		return err
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		return lost(err)
	case apierrors.IsRequestEntityTooLargeError(err):
		return tooLarge(err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err):
		return notStored(err)
	}
	return nil
}

func notStored(err error) error {
	return &measure.Failure{
		Reason: v1alpha1.ReasonResultsNotStored, Err: err,
		Remedy: "check that the API server answers and that the measurer's role allows patch on its results",
	}
}

func conflict(err error) bool { return apierrors.IsConflict(err) }
