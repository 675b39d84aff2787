package trex

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/HdrHistogram/hdrhistogram-go"

	histogram "vnfbench.io/operator/internal/distribution"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
)

// span is a number of delays between two bounds, in microseconds, which it includes.
type span struct {
	from, to uint64
	samples  uint64
}

// distribution is a set of delays as spans in rising order.
type distribution struct {
	spans []span
	// exact says that no span is wider than 0.1 % of its value: the spans come from an
	// HdrHistogram.
	exact bool
}

// bucketMinimum is the lowest delay that TRex's own histogram counts. Lower delays are in
// the bucket "0", and their number is what the others leave of the total.
const bucketMinimum = 10

// distributionOf reads TRex's delays of the packets that arrived.
func distributionOf(t timing, received uint64) (distribution, error) {
	if t.Latency.HDR != "" {
		decoded, err := hdrhistogram.Decode([]byte(t.Latency.HDR))
		if err != nil {
			return distribution{}, fmt.Errorf("reading a HdrHistogram: %w", err)
		}
		d := distribution{exact: true}
		for _, bar := range decoded.Distribution() {
			if bar.Count > 0 {
				d.spans = append(d.spans, span{uint64(bar.From), uint64(bar.To), uint64(bar.Count)})
			}
		}
		return d, nil
	}
	var d distribution
	var counted uint64
	for name, samples := range t.Latency.Histogram {
		from, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			return distribution{}, fmt.Errorf("a bucket %q in a histogram", name)
		}
		// The server keeps in bucket 0 the maximum that it ever had.
		if from < bucketMinimum || samples == 0 {
			continue
		}
		counted += samples
		d.spans = append(d.spans, span{from, from + decade(from) - 1, samples})
	}
	if received > counted {
		d.spans = append(d.spans, span{0, bucketMinimum - 1, received - counted})
	}
	slices.SortFunc(d.spans, func(a, b span) int { return int(a.from) - int(b.from) })
	return d.within(t.Latency.Minimum, t.Latency.Maximum), nil
}

// decade returns the largest power of ten that is not above a value: a bucket's width.
func decade(value uint64) uint64 {
	width := uint64(1)
	for width*10 <= value {
		width *= 10
	}
	return width
}

// within narrows the first and the last span by the minimum and the maximum that the
// server reports. The server leaves the first frames out of both, and may not have them
// yet, so they count only if they are in those spans.
func (d distribution) within(minimum, maximum uint64) distribution {
	if len(d.spans) == 0 {
		return d
	}
	if f := &d.spans[0]; minimum >= f.from && minimum <= f.to {
		f.from = minimum
	}
	if l := &d.spans[len(d.spans)-1]; maximum >= l.from && maximum <= l.to {
		l.to = maximum
	}
	return d
}

// merge combines distributions.
func merge(all []distribution) distribution {
	out := distribution{exact: true}
	sums := map[[2]uint64]uint64{}
	for _, d := range all {
		out.exact = out.exact && d.exact
		for _, s := range d.spans {
			sums[[2]uint64{s.from, s.to}] += s.samples
		}
	}
	bounds := slices.SortedFunc(maps.Keys(sums), func(a, b [2]uint64) int {
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		return int(a[1]) - int(b[1])
	})
	for _, b := range bounds {
		out.spans = append(out.spans, span{b[0], b[1], sums[b]})
	}
	return out
}

func (d distribution) samples() (n uint64) {
	for _, s := range d.spans {
		n += s.samples
	}
	return n
}

// only returns the delay of a single packet, by the upper end of its span, or 0 without
// one.
func (d distribution) only() uint64 {
	if len(d.spans) == 0 {
		return 0
	}
	return nanoseconds(d.spans[len(d.spans)-1].to, d.exact)
}

// nanoseconds converts a delay in whole microseconds, rounded down. A delay below one is
// 1 ns, since 0 represents a frame that did not arrive. A bucket's upper end is the last
// nanosecond in it.
func nanoseconds(microseconds uint64, exact bool) uint64 {
	if !exact {
		return microseconds*1000 + 999
	}
	return max(1, microseconds*1000)
}

// delays summarizes a distribution. Percentiles are by nearest rank, and the upper end of
// their span.
func (d distribution) delays() measure.Delays {
	total := d.samples()
	if total == 0 {
		return measure.Delays{}
	}
	out := measure.Delays{Samples: total, MinNanoseconds: max(1, d.spans[0].from*1000)}
	sum := 0.0
	for _, s := range d.spans {
		sum += float64(s.from+s.to) / 2 * float64(s.samples)
		out.MaxNanoseconds = max(out.MaxNanoseconds, nanoseconds(s.to, d.exact))
	}
	out.MeanNanoseconds = min(max(uint64(sum/float64(total)*1000), out.MinNanoseconds), out.MaxNanoseconds)
	frames.Percentiles(&out, d.values())
	return out
}

// values returns the upper end of each span in nanoseconds, and the number of its samples.
func (d distribution) values() iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) {
		greatest := uint64(0)
		for _, s := range d.spans {
			greatest = max(greatest, nanoseconds(s.to, d.exact))
			if !yield(greatest, s.samples) {
				return
			}
		}
	}
}

// whole returns the whole distribution, nil without samples.
func (d distribution) whole() *measure.Distributions {
	if d.samples() == 0 {
		return nil
	}
	return &measure.Distributions{Delay: histogram.Encode(d.values())}
}
