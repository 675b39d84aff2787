package measure

import (
	"math"
	"time"
)

// Valid reports whether no doubt forbids the use of the outcome.
func (o Outcome) Valid() bool {
	for _, d := range o.Doubts {
		if d.Invalid {
			return false
		}
	}
	return true
}

// LossRatio returns that of the worse direction, so that a device cannot hide loss in one
// direction.
func (o Outcome) LossRatio() float64 {
	worst := 0.0
	for _, d := range o.Directions {
		worst = max(worst, d.LossRatio())
	}
	return worst
}

// UnsentRatio returns unsent over intended of the worse direction.
func (o Outcome) UnsentRatio() float64 {
	worst := 0.0
	for _, d := range o.Directions {
		if d.IntendedFrames > 0 {
			worst = max(worst, float64(d.UnsentFrames())/float64(d.IntendedFrames))
		}
	}
	return worst
}

// OfferedFramesPerSecond returns the lower of the directions' sent frames over the sending
// time. A direction with a share of the load is scaled up to all of it.
func (o Outcome) OfferedFramesPerSecond() float64 {
	return o.rate(func(d DirectionOutcome) (frames uint64, nanoseconds int64) { return d.SentFrames, o.SendingNanoseconds })
}

// ForwardingFramesPerSecond returns the forwarding rate (RFC 2285 section 3.6.1) of the
// slower direction, scaled like OfferedFramesPerSecond. Frames that left the driver's ring, or a queue
// of the device, after the sending time took that time too.
func (o Outcome) ForwardingFramesPerSecond() float64 {
	return o.rate(func(d DirectionOutcome) (frames uint64, nanoseconds int64) {
		return d.ReceivedFrames, o.SendingNanoseconds + max(d.DrainNanoseconds, o.late(d))
	})
}

// HeldShare returns the share of the sending time for which others had the core of a sending thread, and false where it is not known.
func (o Outcome) HeldShare() (share float64, known bool) {
	if o.SendingNanoseconds <= 0 || o.HeldNanoseconds == nil {
		return 0, false
	}
	return float64(*o.HeldNanoseconds) / float64(o.SendingNanoseconds), true
}

// ForwardingAtMost returns the most that ForwardingFramesPerSecond could have been if others had not had the core of a sending thread, for a
// device that works on that core and always had frames to forward: the frames over the time that is left without ExplainedTimes that
// time, of which HeldShare must know how long it is. A device whose caches others have emptied is slower for a while. That others cost no more than that is an assumption.
func (o Outcome) ForwardingAtMost() float64 {
	return o.rate(func(d DirectionOutcome) (frames uint64, nanoseconds int64) {
		return d.ReceivedFrames, max(1, o.SendingNanoseconds+max(d.DrainNanoseconds, o.late(d))-ExplainedTimes**o.HeldNanoseconds)
	})
}

// Drain returns how long after the sending time the last frame left the driver's ring.
func (o Outcome) Drain() time.Duration {
	return o.longest(func(d DirectionOutcome) int64 { return d.DrainNanoseconds })
}

// QueueGrowth returns that of the worse direction.
func (o Outcome) QueueGrowth() time.Duration {
	return o.longest(func(d DirectionOutcome) int64 { return d.QueueGrowthNanoseconds })
}

func (o Outcome) longest(of func(DirectionOutcome) int64) time.Duration {
	most := int64(0)
	for _, d := range o.Directions {
		most = max(most, of(d))
	}
	return time.Duration(most)
}

// Explainable returns how many of a direction's lost frames may be missing because a sending
// thread was kept off its core. On a path with HopInline that costs frames only in the ring. On other
// paths such frames are not sent, so none of the lost ones is missing for that reason.
func (o Outcome) Explainable(d DirectionOutcome) uint64 {
	if o.Hop == HopInline {
		return min(d.LostFrames(), d.OverflowFrames+d.LeftFrames)
	}
	return 0
}

// Due returns how many frames of a direction became due in a time of the trial.
func (o Outcome) Due(d DirectionOutcome, in time.Duration) float64 {
	if o.SendingNanoseconds <= 0 {
		return 0
	}
	return min(1, float64(in)/float64(o.SendingNanoseconds)) * float64(max(d.IntendedFrames, d.SentFrames))
}

// Overrun returns how many of a direction's frames may be missing of a device that carries the load, because a sending
// thread was kept off its core for that long in all: ExplainedTimes those that became due meanwhile, and never more than
// all, without those that the driver's ring holds. It is empty before, and the device empties it in between, so that it
// takes its places once at least.
func (o Outcome) Overrun(d DirectionOutcome, away time.Duration) float64 {
	return max(0, o.Due(d, ExplainedTimes*away)-float64(o.RingFrames))
}

// Overruns reports whether more of a direction's frames became due in a time than the driver's ring holds; false where
// it is not known how many that are.
func (o Outcome) Overruns(d DirectionOutcome, away time.Duration) bool {
	return o.RingFrames > 0 && o.Due(d, away) > float64(o.RingFrames)
}

// SendingTime returns how long a chain carried a trial's traffic. With TCP and with connections, this includes the
// time that does not count.
func (o Outcome) SendingTime(trial Trial) time.Duration {
	if trial.TCP != nil || trial.Connections != nil {
		return time.Duration(o.TotalNanoseconds) - trial.Settle()
	}
	return time.Duration(o.SendingNanoseconds)
}

// ExplainedTimes is how many times the frames that were due while a sending thread was away may be
// missing and still be due to that: those of other, shorter pieces are among them.
const ExplainedTimes = 2

// maxLateShare is how much longer than a trial its frames may take. A throughput is at most this
// share too high for frames that wait at a trial's end.
const maxLateShare = 0.005

// Excusable returns how much of the time for which a queue grew may be due to sending threads that were
// kept off their cores. A frame waits for no longer than that. On paths without HopInline nothing is sent
// meanwhile, so that the device's queues shrink.
func (o Outcome) Excusable() time.Duration {
	if o.Hop == HopInline {
		return time.Duration(o.AwayNanoseconds)
	}
	return 0
}

// late returns how much longer than the trial's time the device needed for a direction's frames, beyond
// what an interruption explains; 0 up to maxLateShare. Such a load only fills a queue: one that grows
// until the end, or the driver's ring, which is the device's with HopInline. On other paths the ring is
// too small for that.
func (o Outcome) late(d DirectionOutcome) int64 {
	late := d.QueueGrowthNanoseconds
	if o.Hop == HopInline {
		late = max(late, d.DrainNanoseconds)
	}
	if late -= o.Excusable().Nanoseconds(); float64(late) <= maxLateShare*float64(o.SendingNanoseconds) {
		return 0
	}
	return late
}

// overTime returns a direction's loss ratio, where frames that the device had not forwarded in the
// trial's time count as lost.
func (o Outcome) overTime(d DirectionOutcome, loss float64) float64 {
	late := o.late(d)
	if late == 0 || o.SendingNanoseconds <= 0 {
		return loss
	}
	return loss + float64(late)/float64(late+o.SendingNanoseconds)*(1-loss)
}

// LossOverTime returns LossRatio, where frames that the device had not forwarded in the trial's time
// count as lost. Both are of one direction.
func (o Outcome) LossOverTime() float64 {
	worst := 0.0
	for _, d := range o.Directions {
		worst = max(worst, o.overTime(d, d.LossRatio()))
	}
	return worst
}

// LostOverTime returns how many frames of a direction were lost, or not forwarded in the trial's time.
func (o Outcome) LostOverTime(d DirectionOutcome) uint64 {
	if o.late(d) == 0 {
		return d.LostFrames()
	}
	return uint64(math.Ceil(o.overTime(d, d.LossRatio()) * float64(d.SentFrames)))
}

// ProvenLossOverTime returns LossOverTime without the lost frames that an interruption may explain: while
// sending threads are away, no more can go missing for that reason than become due, and shorter times
// than the driver counts add some. A device that carries the load loses no more than what Overrun says, so of
// more lost frames one at least is its own. A device that does not may have had its ring full, so that the ring
// took none of the frames that became due.
func (o Outcome) ProvenLossOverTime() float64 {
	if o.SendingNanoseconds <= 0 {
		return 0
	}
	away, proven := float64(o.AwayNanoseconds)/float64(o.SendingNanoseconds), 0.0
	for _, d := range o.Directions {
		if sent := float64(d.SentFrames); sent > 0 {
			lost, explained := float64(d.LostFrames()), min(ExplainedTimes*away*sent, float64(o.Explainable(d)))
			if lost > o.Overrun(d, time.Duration(o.AwayNanoseconds)) {
				explained = min(explained, lost-1)
			}
			proven = max(proven, o.overTime(d, (lost-explained)/sent))
		}
	}
	return proven
}

func (o Outcome) rate(of func(DirectionOutcome) (frames uint64, nanoseconds int64)) float64 {
	if len(o.Directions) == 0 || o.SendingNanoseconds <= 0 {
		return 0
	}
	slowest := math.Inf(1)
	for _, d := range o.Directions {
		frames, nanoseconds := of(d)
		whole := float64(frames)
		if d.LoadPercent > 0 {
			whole = whole * 100 / float64(d.LoadPercent)
		}
		slowest = min(slowest, whole/(float64(nanoseconds)/1e9))
	}
	return slowest
}
