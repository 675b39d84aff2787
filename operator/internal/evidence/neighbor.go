package evidence

import (
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
)

// SetNeighbors sets whether the following reads ask the neighbors. They do not while the
// neighbors rest.
func (c *Collector) SetNeighbors(neighbors bool) { c.askNeighbors = neighbors }

// neighbors returns the sources that are asked now.
func (c *Collector) neighbors() []measure.NeighborSource {
	if !c.askNeighbors {
		return nil
	}
	return c.sources.Neighbors
}

// neighborsBetween returns the differences of two reads, and what is missing.
func (c *Collector) neighborsBetween(before, after Reading) (out []measure.NeighborEvidence, notes []string) {
	for i, source := range c.neighbors() {
		if i >= len(before.neighbors) || i >= len(after.neighbors) || before.neighbors[i] == nil || after.neighbors[i] == nil {
			continue
		}
		then, now := before.neighbors[i], after.neighbors[i]
		if !then.StartedAt.Equal(now.StartedAt) {
			notes = append(notes, note("neighbor %s was started again during the trial", source.Name))
			continue
		}
		if now.CPUProblem != "" {
			notes = append(notes, note("neighbor %s: %s", source.Name, now.CPUProblem))
		}
		out = append(out, between(source.Name, *then, *now))
	}
	return out, notes
}

func between(name string, then, now neighbor.Status) measure.NeighborEvidence {
	return measure.NeighborEvidence{
		Name:                name,
		ElapsedMilliseconds: (now.ElapsedNanoseconds - then.ElapsedNanoseconds) / int64(time.Millisecond),
		CPUMilliseconds:     int64(less(now.CPUNanoseconds, then.CPUNanoseconds)) / int64(time.Millisecond),
		SentFrames:          int64(less(now.SentFrames, then.SentFrames)),
		ReceivedFrames:      int64(less(now.ReceivedFrames, then.ReceivedFrames)),
		Stopped:             !now.Running,
	}
}

func less(now, then uint64) uint64 { return now - min(now, then) }
