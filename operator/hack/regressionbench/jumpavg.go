package main

import (
	"math"
	"slices"
)

// jumpavg groups runs such that a message with all of them is shortest, as FD.io's library jumpavg 0.4 does: it codes each group by its
// size, its mean, its deviation and the place on a sphere that these leave.
func jumpavg(b *bed) (alarms []alarm) {
	linear := make([]float64, len(b.values))
	for i, v := range b.values {
		linear[i] = math.Exp(v)
	}
	top := slices.Max(linear)
	scale := (math.Exp2(13) - 1) / top
	coder := coder{top: top * scale}
	// best[n] is the shortest grouping of the first n runs.
	best := make([]grouping, 1, len(linear)+1)
	open := make([]group, 0, len(linear))
	for at, v := range linear {
		open = append(open, group{previous: best[at].mean})
		shortest := grouping{bits: math.Inf(1)}
		for first := at; first >= 0; first-- {
			g := &open[first]
			g.add(v * scale)
			if bits := best[first].bits + coder.bits(*g, first > 0); bits < shortest.bits {
				shortest = grouping{bits: bits, first: first, mean: g.mean()}
			}
		}
		best = append(best, shortest)
		for end := at + 1; best[end].first > 0; end = best[end].first {
			first := best[end].first
			alarms = reportJump(alarms, alarm{at, first, math.Log(best[end].mean / best[first].mean)})
		}
	}
	return alarms
}

// reportJump leaves out groups of one mean.
func reportJump(alarms []alarm, found alarm) []alarm {
	if found.size == 0 {
		return alarms
	}
	return report(alarms, found)
}

// grouping is the shortest one of some runs: its bits, the first run of its last group, and that group's mean.
type grouping struct {
	bits  float64
	first int
	mean  float64
}

// group is the sums of its values, and the mean of the group before it.
type group struct {
	size             int
	sum, square      float64
	previous, origin float64
}

func (g *group) add(v float64) {
	if g.size == 0 {
		g.origin = v
	}
	g.size++
	g.sum += v - g.origin
	g.square += (v - g.origin) * (v - g.origin)
}

func (g *group) mean() float64 { return g.origin + g.sum/float64(g.size) }

// deviation is that of the population.
func (g *group) deviation() float64 {
	n := float64(g.size)
	return math.Sqrt(max(0, g.square/n-g.sum/n*g.sum/n))
}

// coder counts bits. Its unit is 1.
type coder struct{ top float64 }

func (c coder) bits(g group, hasPrevious bool) float64 {
	n := float64(g.size)
	bits := math.Log2(n * (n + 1))
	if hasPrevious {
		norm := g.previous*g.previous - (g.previous-1)*c.top + c.top*c.top/2
		bits -= math.Log2((math.Abs(g.mean()-g.previous) + 1) / norm)
	} else {
		bits += math.Log2(c.top + 1)
	}
	if g.size < 2 {
		return bits
	}
	deviation := g.deviation()
	bits += math.Log2((deviation+1)*(deviation+2)) + math.Log2(1-1/(c.top+2))
	gamma, _ := math.Lgamma((n - 1) / 2)
	sphere := math.Ln2 + math.Log(math.Pi)*(n-1)/2 - gamma + math.Log(deviation+1)*(n-2) + math.Log(n)*(n-2)/2
	return bits + sphere/math.Ln2
}
