package measurer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"

	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// Exit codes of the measurer. The Job's podFailurePolicy knows ExitFailure.
const (
	// ExitDone: every trial has been made.
	ExitDone = 0
	// ExitAgain: something went wrong that another measurer may not have.
	ExitAgain = 1
	// ExitFailure: the measurement cannot succeed. The reason is in the results and in the
	// termination message. Another measurer cannot help.
	ExitFailure = 42
	// ExitStopped: asked to stop by SIGTERM (128 + 15); another measurer continues.
	ExitStopped = 143
)

// ErrStopped is the cause of a context that a signal has ended.
var ErrStopped = errors.New("asked to stop")

// ExitCode returns how the process should end after Run's error.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitDone
	case measure.ReasonOf(err) != "":
		return ExitFailure
	case errors.Is(err, ErrStopped), errors.Is(err, context.Canceled):
		return ExitStopped
	}
	return ExitAgain
}

// maxMessageBytes keeps the state well within a termination message's 4096 bytes.
const maxMessageBytes = 1024

// StateOf returns a failure as it is stored. The reason has its own field, so the message
// leaves it out.
func StateOf(err error) measure.FailureState {
	var failure *measure.Failure
	if !errors.As(err, &failure) {
		return measure.FailureState{Message: shorten(err.Error())}
	}
	message := failure.Err.Error()
	if failure.Remedy != "" {
		message += "; " + failure.Remedy
	}
	return measure.FailureState{Reason: failure.Reason, Message: shorten(message)}
}

// shorten returns a text as one line of bounded length.
func shorten(text string) string {
	return excerpt.Text(strings.ReplaceAll(text, "\n", "; "), maxMessageBytes)
}

// WriteTermination writes a failure to the file that the kubelet reads into the pod's
// status.
func WriteTermination(path string, err error) error {
	text, encodeErr := json.Marshal(StateOf(err))
	if encodeErr != nil {
		return encodeErr
	}
	return os.WriteFile(path, text, 0o644)
}

// logTrial logs one line for each trial, with its figures.
func logTrial(log *slog.Logger, r measure.Record, why string) {
	if r.Outcome.TCP != nil {
		logTCP(log, r)
		return
	}
	if r.Outcome.Connections != nil {
		logConnections(log, r)
		return
	}
	var worst uint64
	for _, d := range r.Outcome.Directions {
		worst = max(worst, d.Latency.P99Nanoseconds)
	}
	log.Info("trial", "index", r.Index, "stage", r.Stage, "load", r.Load, "why", why,
		"frameBytes", r.Trial.FrameBytes,
		"durationSeconds", r.Trial.Duration().Seconds(),
		"intendedFramesPerSecond", r.Trial.IntendedFramesPerSecond,
		"offeredFramesPerSecond", uint64(r.Outcome.OfferedFramesPerSecond()),
		"forwardingFramesPerSecond", uint64(r.Outcome.ForwardingFramesPerSecond()),
		"lossRatio", r.Outcome.LossRatio(),
		"p99Nanoseconds", worst,
		"valid", r.Outcome.Valid(),
		"doubts", r.Outcome.Doubts)
}
