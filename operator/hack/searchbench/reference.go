package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

// Reference is another implementation in a separate process. One JSON object per line goes each
// way: goals in; trials out and their outcomes in; results out.
type Reference struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// StartReference starts the command, which runs until Close.
func StartReference(ctx context.Context, command ...string) (*Reference, error) {
	process := exec.CommandContext(ctx, command[0], command[1:]...)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("starting the reference: %w", err)
	}
	return &Reference{process: process, in: in, out: bufio.NewScanner(out)}, nil
}

// Close ends the process.
func (r *Reference) Close() error {
	if err := r.in.Close(); err != nil {
		return err
	}
	return r.process.Wait()
}

type referenceGoal struct {
	LossRatio           float64 `json:"lossRatio"`
	ExceedRatio         float64 `json:"exceedRatio"`
	RelativeWidth       float64 `json:"relativeWidth"`
	InitialTrialSeconds float64 `json:"initialTrialSeconds"`
	FinalTrialSeconds   float64 `json:"finalTrialSeconds"`
	DurationSumSeconds  float64 `json:"durationSumSeconds"`
	PrecedingTargets    int     `json:"precedingTargets"`
}

type referenceSearch struct {
	Goals                  []referenceGoal `json:"goals"`
	MinimumFramesPerSecond uint64          `json:"minimumFramesPerSecond"`
	MaximumFramesPerSecond uint64          `json:"maximumFramesPerSecond"`
}

// referenceSays is a trial to measure, or the results if there are any.
type referenceSays struct {
	LoadFramesPerSecond float64 `json:"loadFramesPerSecond"`
	DurationSeconds     float64 `json:"durationSeconds"`
	Results             []struct {
		ThroughputFramesPerSecond float64 `json:"throughputFramesPerSecond"`
		Regular                   bool    `json:"regular"`
	} `json:"results"`
}

type referenceOutcome struct {
	IntendedFrames uint64 `json:"intendedFrames"`
	SentFrames     uint64 `json:"sentFrames"`
	ReceivedFrames uint64 `json:"receivedFrames"`
}

// Search implements Searcher.
func (r *Reference) Search(ctx context.Context, goals []search.Goal, driver measure.Driver) ([]Found, error) {
	ask := referenceSearch{MinimumFramesPerSecond: MinimumFramesPerSecond, MaximumFramesPerSecond: LinkFramesPerSecond}
	for _, g := range goals {
		ask.Goals = append(ask.Goals, referenceGoal{
			LossRatio: g.LossRatio, ExceedRatio: g.ExceedRatio, RelativeWidth: g.RelativeWidth,
			InitialTrialSeconds: g.InitialTrial.Seconds(), FinalTrialSeconds: g.FinalTrial.Seconds(),
			DurationSumSeconds: g.DurationSum.Seconds(), PrecedingTargets: g.PrecedingTargets,
		})
	}
	for say := any(ask); ; {
		heard, err := r.exchange(say)
		if err != nil {
			return nil, err
		}
		if heard.Results != nil {
			out := make([]Found, len(heard.Results))
			for i, result := range heard.Results {
				out[i] = Found(result)
			}
			return out, nil
		}
		duration := time.Duration(heard.DurationSeconds * float64(time.Second))
		_, got, err := measured(ctx, driver, uint64(math.Round(heard.LoadFramesPerSecond)), duration)
		if err != nil {
			return nil, err
		}
		d := got.Directions[0]
		say = referenceOutcome{IntendedFrames: d.IntendedFrames, SentFrames: d.SentFrames, ReceivedFrames: d.ReceivedFrames}
	}
}

func (r *Reference) exchange(say any) (referenceSays, error) {
	var heard referenceSays
	if err := json.NewEncoder(r.in).Encode(say); err != nil {
		return heard, fmt.Errorf("writing to the reference: %w", err)
	}
	if !r.out.Scan() {
		return heard, fmt.Errorf("the reference fell silent: %w", r.out.Err())
	}
	if err := json.Unmarshal(r.out.Bytes(), &heard); err != nil {
		return heard, fmt.Errorf("hearing the reference: %w", err)
	}
	return heard, nil
}
