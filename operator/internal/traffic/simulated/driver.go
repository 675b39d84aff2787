// Package simulated is a traffic driver without traffic: devices that are formulas, in a
// time that is a number. Its figures are invented by design, so only tests and the
// search's benchmark import it; nothing that ships in an image does, and nothing may.
//
// It takes a Config and a seed, and makes a measure.Driver that answers the same way
// every time, together with the truth that a search has to find.
package simulated

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
)

// Config is the whole test setup.
type Config struct {
	Device Device
	// Directions are those that the driver answers for. Empty means Forward alone.
	Directions []measure.Direction
	// LinkFramesPerSecond is what "as fast as possible" sends. 0 means 14,880,952 (10
	// Gbit/s, 64 bytes).
	LinkFramesPerSecond uint64
	// GeneratorFramesPerSecond is the most that the generator can send. 0 means the link's rate.
	GeneratorFramesPerSecond uint64
	// BaseNanoseconds is the delay of an idle device. 0 means 10,000.
	BaseNanoseconds uint64
	// Overhead is what each trial costs in addition to its duration and settling.
	Overhead time.Duration
	Seed     uint64
	// WithoutDistributions leaves the distribution of delays out of outcomes, which takes most of a
	// trial's computing time.
	WithoutDistributions bool
	// ReversePercent is Reverse's share of every load; 0 means all of it.
	ReversePercent int
}

const (
	tenGigabitFramesPerSecond = 14_880_952
	defaultBaseNanoseconds    = 10_000
	// maxFrameBytes is the size of the largest jumbo frames.
	maxFrameBytes = 16_384
)

// Driver measures a simulated device.
type Driver struct {
	cfg    Config
	random *rand.Rand
	now    time.Duration
	trials int
	closed bool
	// sent is called after a trial's last frame; nil means no call.
	sent func()
}

var (
	_ measure.Driver   = (*Driver)(nil)
	_ measure.Notifier = (*Driver)(nil)
)

// epoch is the start of simulated time.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// New makes a driver at simulated time zero.
func New(cfg Config) *Driver {
	if len(cfg.Directions) == 0 {
		cfg.Directions = []measure.Direction{measure.Forward}
	}
	if cfg.LinkFramesPerSecond == 0 {
		cfg.LinkFramesPerSecond = tenGigabitFramesPerSecond
	}
	if cfg.GeneratorFramesPerSecond == 0 || cfg.GeneratorFramesPerSecond > cfg.LinkFramesPerSecond {
		cfg.GeneratorFramesPerSecond = cfg.LinkFramesPerSecond
	}
	if cfg.BaseNanoseconds == 0 {
		cfg.BaseNanoseconds = defaultBaseNanoseconds
	}
	return &Driver{cfg: cfg, random: rand.New(rand.NewPCG(cfg.Seed, 0))}
}

// Elapsed returns the simulated time spent in trials.
func (d *Driver) Elapsed() time.Duration { return d.now }

// Trials returns the number of measured trials.
func (d *Driver) Trials() int { return d.trials }

// Description implements measure.Driver.
func (d *Driver) Description() measure.Description {
	return measure.Description{Driver: "Simulated", TransmitPath: "None", ReceiveMode: "None", Threads: 1}
}

// NotifySent implements measure.Notifier.
func (d *Driver) NotifySent(sent func()) { d.sent = sent }

// Close implements measure.Driver.
func (d *Driver) Close() error {
	d.closed = true
	return nil
}

// Measure implements measure.Driver. It returns at once; simulated time passes.
func (d *Driver) Measure(ctx context.Context, trial measure.Trial) (measure.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return measure.Outcome{}, err
	}
	if err := d.check(trial); err != nil {
		return measure.Outcome{}, err
	}
	total := trial.Duration() + trial.Settle() + d.cfg.Overhead
	out := measure.Outcome{
		StartedAt:          epoch.Add(d.now),
		SendingNanoseconds: trial.DurationNanoseconds,
		TotalNanoseconds:   int64(total),
	}
	for _, direction := range d.cfg.Directions {
		out.Directions = append(out.Directions, d.direction(trial, direction))
	}
	if d.sent != nil {
		d.sent()
	}
	out.Doubts = doubts(out)
	d.now += total
	d.trials++
	return out, nil
}

// check refuses what no driver of frames can measure.
func (d *Driver) check(trial measure.Trial) error {
	if d.closed {
		return measure.ErrClosed
	}
	largest, err := frames.Streams{}.Check(trial, 0)
	if err == nil && largest > maxFrameBytes {
		err = frames.TooLarge(largest, maxFrameBytes, "another driver", "a simulated device forwards")
	}
	return err
}

func (d *Driver) direction(trial measure.Trial, direction measure.Direction) measure.DirectionOutcome {
	seconds := trial.Duration().Seconds()
	out := measure.DirectionOutcome{Direction: direction}
	rate := float64(d.cfg.GeneratorFramesPerSecond)
	if trial.IntendedFramesPerSecond > 0 {
		if direction == measure.Reverse {
			out.LoadPercent = d.cfg.ReversePercent
		}
		stream := measure.Stream{LoadPercent: out.LoadPercent}
		out.IntendedFrames = stream.IntendedFrames(trial)
		rate = min(rate, float64(stream.FramesPerSecond(trial)))
	}
	out.SentFrames = uint64(math.Round(rate * seconds))
	if out.IntendedFrames > 0 {
		out.SentFrames = min(out.SentFrames, out.IntendedFrames)
	}
	answer := d.cfg.Device.Answer(Question{
		FramesPerSecond: rate, Duration: trial.Duration(), Since: d.now, Random: d.random,
	})
	lost := uint64(math.Round(min(max(answer.LossRatio, 0), 1) * float64(out.SentFrames)))
	out.ReceivedFrames = out.SentFrames - lost
	if trial.IntendedFramesPerSecond > 0 {
		out.QueueGrowthNanoseconds = int64(answer.QueueGrowth)
	}
	if p := trial.Packet; p != nil {
		out.SentFragments = out.SentFrames * uint64(p.FragmentCount())
		out.ReceivedFragments = out.ReceivedFrames * uint64(p.FragmentCount())
	}
	if out.ReceivedFrames > 0 {
		d.delays(&out, rate, answer.CapacityFramesPerSecond)
	}
	if trial.TaggedFrameNanoseconds > 0 {
		out.TaggedFrame = d.tag(trial, out, rate)
	}
	return out
}

// unsentTolerance is the share above which the simulated generator reports unsent frames.
const unsentTolerance = 0.001

func doubts(out measure.Outcome) []measure.Doubt {
	if unsent := out.UnsentRatio(); unsent > unsentTolerance {
		return []measure.Doubt{{
			Code:   measure.DoubtUnsent,
			Detail: fmt.Sprintf("%.3f %% of the intended frames were not sent", unsent*100),
		}}
	}
	return nil
}
