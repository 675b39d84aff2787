package measure

const (
	// MinP999Samples leave ten samples beyond p99.9. With fewer, one frame decides the figure.
	MinP999Samples = 10_000
	// MinP9999Samples leave ten samples beyond p99.99.
	MinP9999Samples = 100_000
)

// P999 returns the 99.9th percentile, or nil with too few samples.
func (d Delays) P999() *uint64 { return d.percentile(d.P999Nanoseconds, MinP999Samples) }

// P9999 returns the 99.99th percentile, or nil with too few samples.
func (d Delays) P9999() *uint64 { return d.percentile(d.P9999Nanoseconds, MinP9999Samples) }

func (d Delays) percentile(nanoseconds, leastSamples uint64) *uint64 {
	if d.Samples < leastSamples {
		return nil
	}
	return &nanoseconds
}
