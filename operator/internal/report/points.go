package report

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/platform"
	"vnfbench.io/operator/internal/series"
)

// ErrNoFigure is returned for a run that measured nothing that has a series.
var ErrNoFigure = errors.New("the document has no figure that can be a point of a series: throughput, delay, jitter, goodput, connections, bursts, receive rate")

// Points returns the points of series that a measured run gives: a point for each figure that a baseline compares. A
// figure that may well be 0, such as loss, has no point: a change is a share of a value. The execution may be empty, and leg nil.
func Points(doc Document, subject series.Subject, execution string, leg *series.Leg) ([]series.Point, error) {
	if doc.Completeness != Complete {
		return nil, fmt.Errorf("run %q is not measured: its condition Measured is %s", doc.Run.Name, doc.Measured.Status)
	}
	if doc.Run.CompletionTime == nil {
		return nil, fmt.Errorf("run %q has no completion time: write the document again when the run has ended", doc.Run.Name)
	}
	experiment, err := experimentKey(doc)
	if err != nil {
		return nil, err
	}
	platformDigest, parts := platformOf(doc)
	if subject.Image == "" && len(doc.Chain) == 1 {
		subject.Image = doc.Chain[0].ImageID
	}
	var out []series.Point
	figures, seen := doc.figures(), map[v1alpha1.FigureKey]bool{}
	for _, f := range figures {
		if _, ofBaseline := figure.OfBaselineLoad(f.Load); seen[f.FigureKey] || ofBaseline || !isSeries(f.Metric) {
			continue
		}
		seen[f.FigureKey] = true
		worst := figure.Worst(figures, f.FigureKey)
		if worst == nil {
			continue
		}
		out = append(out, series.Point{
			Key:  series.Key{Experiment: experiment, Testbed: doc.Run.Testbed, Figure: figureName(f.FigureKey)},
			Time: doc.Run.CompletionTime.UTC(), Run: doc.Run.Name, Execution: execution,
			Value: worst.Value, Unit: string(worst.Unit), LowerIsBetter: figure.Describe(f.Metric).Better == figure.Lower,
			Repeats: worst.Values, Bound: worst.Bound, Cause: worst.Cause, Doubts: worst.Codes(), Warnings: warningsOf(doc, f.Size),
			UpperBound: ptr.Deref(worst.UpperBound, 0), CalibrationLevel: calibrationOf(doc, f.Size), Platform: platformDigest, PlatformParts: parts, Subject: subject, Leg: leg,
		})
	}
	if len(out) == 0 {
		return nil, ErrNoFigure
	}
	return out, nil
}

// isSeries reports whether a metric has a series.
func isSeries(metric v1alpha1.Metric) bool {
	m := figure.Describe(metric)
	return m.Is(figure.Compared) && m.Unit != figure.PartsPerMillion && metric != v1alpha1.MetricTCPRetransmits
}

// figureName returns the name of a figure in a series, which no other figure of a run has.
func figureName(k v1alpha1.FigureKey) string {
	words := []string{string(k.Metric)}
	for _, word := range []string{k.Size, k.Goal, k.Load} {
		if word != "" {
			words = append(words, word)
		}
	}
	if k.Streams > 0 {
		words = append(words, strconv.Itoa(int(k.Streams)), "streams")
	}
	return strings.Join(words, " ")
}

// experimentKey returns the experiment's name with a digest of what was measured and how: traffic, measurements, topology,
// neighbors and generator. The images and disks of the functions are the subject, and are not in it. Neither are the functions' settings
// where the experiment was given a name: runs of one name with other rules are one series, in which that is a change.
func experimentKey(doc Document) (string, error) {
	named := doc.Run.Experiment != unnamed(doc.Run.Testbed, doc.Experiment.Chain)

	e := doc.Experiment.DeepCopy()
	e.Acceptance, e.Baseline, e.StartupSeconds, e.DeadlineSeconds, e.TestbedRef = nil, nil, 0, 0, nil
	for i := range e.Chain {
		f := &e.Chain[i]
		if named {
			f.Firewall, f.EncryptionGateway, f.Custom = nil, nil, nil
		} else if c := f.Custom; c != nil {
			c.ContainerDisk, c.PersistentVolumeClaimRef, c.DataVolumeRef = "", nil, nil
			if c.Container != nil {
				c.Container.Image = ""
			}
		}
	}
	driver := ""
	if doc.Generator != nil {
		driver = doc.Generator.Driver
	}
	text, err := json.Marshal(map[string]any{"experiment": e, "driver": driver})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s@%x", doc.Run.Experiment, sha256.Sum256(text))[:len(doc.Run.Experiment)+13], nil
}

// platformOf returns a digest of what the device and the generator ran on, and its parts; empty where no node was observed.
func platformOf(doc Document) (string, map[string]string) {
	parts := platform.Parts(platform.Run{
		Plan: doc.Plan, Device: doc.Device, Generator: doc.Generator, MeasurerVersion: doc.Versions.Measurer, OperatorVersion: doc.Versions.Operator,
	})
	digest := platform.Digest(parts)
	if digest == "" {
		return "", nil
	}
	named := map[string]string{}
	for _, p := range parts {
		named[p.Name] = p.Value
	}
	return digest, named
}

// calibrationOf returns the rate that the generator reached without the device with a size; 0 where it is not known.
func calibrationOf(doc Document, size string) int64 {
	if doc.Generator == nil {
		return 0
	}
	for _, c := range doc.Generator.Calibration {
		if c.Size == size {
			return c.MaximumFramesPerSecond
		}
	}
	return 0
}

// warningsOf returns the codes of the run's warnings about a size, and of those about the run.
func warningsOf(doc Document, size string) []string {
	var out []string
	for _, w := range doc.Warnings {
		if w.Size == "" || w.Size == size {
			out = append(out, w.Code)
		}
	}
	return out
}
