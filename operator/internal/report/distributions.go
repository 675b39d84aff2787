package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"vnfbench.io/operator/internal/distribution"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// ErrNoDistribution says that no trial that was asked for has one.
var ErrNoDistribution = errors.New("there is no distribution")

// Selection says which distributions to write, and what of them.
type Selection struct {
	// Size and Load name those of a figure; empty: every one.
	Size, Load string
	// PercentilesPartsPerMillion are written for each distribution; none: every step of it.
	PercentilesPartsPerMillion []uint64
}

// distributionHead lists the columns. New columns are added only at the end.
var distributionHead = []string{
	"stage", "size", "load", "neighbors", "direction", "distribution", "trials", "samples", "percentile", "nanoseconds", "atMostSamples",
	"framesPerSecond", "trialsWithout",
}

// distributionKey names a distribution: that of all repeats of a load.
type distributionKey struct {
	distributionLoad
	direction measure.Direction
	of        string
}

// distributionLoad names the trials that are merged.
type distributionLoad struct {
	stage      measure.Stage
	size, load string
	neighbors  bool
	// framesPerSecond is that of trials whose load has no name; 0 for any other.
	framesPerSecond uint64
}

// loadOf returns of which load a trial is.
func loadOf(r measure.Record) distributionLoad {
	of := distributionLoad{stage: r.Stage, size: r.Trial.Size, load: r.Load, neighbors: r.Neighbors}
	if procedure.KeepsOfRest(r.Stage) {
		of.framesPerSecond = r.Trial.IntendedFramesPerSecond
	}
	return of
}

// WriteDistributions writes percentiles or steps of the distributions of delay, lateness and delay variation as CSV,
// merged over the repeats. Only trials that count are in them.
func WriteDistributions(w io.Writer, doc Document, selection Selection) error {
	if doc.Inputs == nil || len(doc.Trials) == 0 {
		return fmt.Errorf("%w: the document has no trials; write it by kubectl vnfbench export RUN", ErrNoDistribution)
	}
	p, err := doc.Inputs.planned()
	if err != nil {
		return err
	}
	keys, merged, counted, err := mergeDistributions(p.Instructions, doc.Trials, selection)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	// An error stays in the writer until the call of Error.
	_ = out.Write(distributionHead)
	for _, key := range keys {
		h := distribution.Merge(merged[key].histograms...)
		row := func(partsPerMillion, nanoseconds, samples uint64) {
			neighbors, rate := "", ""
			if len(p.Instructions.Neighbors) > 0 {
				neighbors = strconv.FormatBool(key.neighbors)
			}
			if key.framesPerSecond > 0 {
				rate = decimal(key.framesPerSecond)
			}
			_ = out.Write([]string{
				string(key.stage), key.size, key.load, neighbors, string(key.direction), key.of, strconv.Itoa(len(merged[key].histograms)), decimal(h.Samples()),
				strconv.FormatFloat(float64(partsPerMillion)/1e4, 'f', -1, 64), decimal(nanoseconds), decimal(samples),
				rate, strconv.Itoa(counted[key.distributionLoad] - len(merged[key].histograms)),
			})
		}
		for _, partsPerMillion := range selection.PercentilesPartsPerMillion {
			nanoseconds, samples := h.Percentile(partsPerMillion)
			row(partsPerMillion, nanoseconds, samples)
		}
		if len(selection.PercentilesPartsPerMillion) == 0 {
			for nanoseconds, samples := range h.Steps() {
				row(uint64(float64(samples)/float64(h.Samples())*1e6), nanoseconds, samples)
			}
		}
	}
	out.Flush()
	return out.Error()
}

// ofDelay names the distribution of delay.
const ofDelay = "delay"

// mergedTrials are the distributions of a key, and how many frames their trials sent and received.
type mergedTrials struct {
	histograms     []distribution.Histogram
	sent, received uint64
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// mergeDistributions returns what was selected, in the order of the trials, and how many trials of each load count.
func mergeDistributions(instr measure.Instructions, trials []measure.Record, selection Selection) (keys []distributionKey, merged map[distributionKey]*mergedTrials, of map[distributionLoad]int, err error) {
	counts, found := procedure.Counted(instr, trials), 0
	merged, of = map[distributionKey]*mergedTrials{}, map[distributionLoad]int{}
	for _, r := range trials {
		if !counts[r.Index] || selection.Size != "" && selection.Size != r.Trial.Size || selection.Load != "" && selection.Load != r.Load {
			continue
		}
		found++
		of[loadOf(r)]++
		for _, d := range r.Outcome.Directions {
			if d.Distributions == nil {
				continue
			}
			for _, one := range []struct{ of, text string }{{ofDelay, d.Distributions.Delay}, {"lateness", d.Distributions.Lateness}, {"delayVariation", d.Distributions.DelayVariation}} {
				if one.text == "" {
					continue
				}
				h, err := distribution.Decode(one.text)
				if err != nil {
					return nil, nil, nil, fmt.Errorf("trial %d, %s of direction %s: %w", r.Index, one.of, d.Direction, err)
				}
				key := distributionKey{loadOf(r), d.Direction, one.of}
				if merged[key] == nil {
					keys, merged[key] = append(keys, key), &mergedTrials{}
				}
				m := merged[key]
				m.histograms, m.sent, m.received = append(m.histograms, h), m.sent+d.SentFrames, m.received+d.ReceivedFrames
			}
		}
	}
	if len(keys) > 0 {
		return keys, merged, of, nil
	}
	if found == 0 {
		return nil, nil, nil, fmt.Errorf("%w: the document has no trial that counts of size %q at load %q; an empty name is every one", ErrNoDistribution, selection.Size, selection.Load)
	}
	return nil, nil, nil, fmt.Errorf("%w: of the %d trials none keeps it; those of latency, fixed loads, soaks, searches, loss curves, bursts and receive rates do, as far as the results have room", ErrNoDistribution, found)
}
