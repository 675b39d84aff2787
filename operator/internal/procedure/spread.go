package procedure

import "math"

// spread sums up repeats of one figure. The deviation is the sample's.
type spread struct {
	mean, deviation float64
	least, most     uint64
}

func spreadOf(values []uint64) spread {
	if len(values) == 0 {
		return spread{}
	}
	out := spread{least: values[0], most: values[0]}
	for _, v := range values {
		out.mean += float64(v) / float64(len(values))
		out.least, out.most = min(out.least, v), max(out.most, v)
	}
	if len(values) < 2 {
		return out
	}
	squares := 0.0
	for _, v := range values {
		squares += (float64(v) - out.mean) * (float64(v) - out.mean)
	}
	out.deviation = math.Sqrt(squares / float64(len(values)-1))
	return out
}
