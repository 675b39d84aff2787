package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/baseline"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// Limits of warnings and verdicts in a run's status, as the API's markers set them.
const (
	maxWarnings     = 64
	maxVerdicts     = 1024
	maxMessageBytes = 512
)

// ErrNotReplayable says that a document lacks what its figures follow from.
var ErrNotReplayable = errors.New("the document cannot be replayed")

// Difference is a place where a document is not what its trials give.
type Difference struct {
	// Path of the value in the document, such as "results[0].throughput[1].framesPerSecond".
	Path string
	// Document and Replay are the two values as JSON; empty where there is none.
	Document, Replay string
}

// ReplayedFigure is a figure of a document next to the one that its trials give.
type ReplayedFigure struct {
	Metric v1alpha1.Metric
	Unit   figure.Unit
	// About says for people what it is of.
	About string
	// Document and Replay are the two values; nil where there is none.
	Document, Replay *int64
}

// Agrees reports whether both values are the same.
func (f ReplayedFigure) Agrees() bool {
	return f.Document != nil && f.Replay != nil && *f.Document == *f.Replay
}

// Replayed is the outcome of a replay.
type Replayed struct {
	Trials int
	// Figures are all that follow from the trials, in the document or again.
	Figures []ReplayedFigure
	// Differences are in the order of their paths.
	Differences []Difference
	// OtherProtocol says that the trials were made by programs of another protocol, so that
	// differences may be those of the rules.
	OtherProtocol bool
}

// Replay works out every figure of a document again, from its inputs and trials alone, and compares.
// Figures with those of CPU, calibration, comparison with neighbors, verdicts, deviations and the counts
// of trials are compared in full. Of the warnings it checks that none is missing that follows from the trials:
// others come from pods and virtual machines, whose state the document does not hold.
func Replay(doc Document) (Replayed, error) {
	switch {
	case doc.Inputs == nil:
		return Replayed{}, fmt.Errorf("%w: it has no inputs; write it by a user who may get the run's ConfigMaps, while the run exists", ErrNotReplayable)
	case len(doc.Trials) == 0:
		return Replayed{}, fmt.Errorf("%w: it has no trials; write it by kubectl vnfbench export RUN", ErrNotReplayable)
	case !doc.Ended():
		return Replayed{}, fmt.Errorf("%w: the run had not ended; write it again when the run has", ErrNotReplayable)
	}
	p, err := doc.Inputs.planned()
	if err != nil {
		return Replayed{}, err
	}
	trials, err := ordered(doc.Trials)
	if err != nil {
		return Replayed{}, fmt.Errorf("%w: %w", ErrNotReplayable, err)
	}
	out := Replayed{Trials: len(trials), OtherProtocol: p.Protocol != "" && p.Protocol != measure.Protocol()}
	if doc.Completeness == Complete {
		switch next, err := procedure.Next(p.Instructions, trials); {
		case err != nil:
			return out, fmt.Errorf("%w: %w", ErrNotReplayable, err)
		case !next.Done:
			out.Differences = append(out.Differences, Difference{
				Path: "completeness", Document: string(Complete), Replay: fmt.Sprintf("a trial of stage %s would follow", next.Stage),
			})
		}
	}
	again, err := replayed(doc, p, trials)
	if err != nil {
		return out, err
	}
	differences, err := differencesOf(doc, again)
	if err != nil {
		return out, err
	}
	out.Differences = append(out.Differences, differences...)
	out.Figures = figuresAgain(doc, again)
	return out, nil
}

// Doubt says why a replay does not give a document of a run that has ended again; empty where it does, and for one without trials.
func Doubt(doc Document) string {
	if len(doc.Trials) == 0 || !doc.Ended() {
		return ""
	}
	done, err := Replay(doc)
	if err != nil {
		return fmt.Sprintf("its figures cannot be worked out again: %v", err)
	}
	if n := len(done.Differences); n > 0 {
		return fmt.Sprintf("its trials give other values, %d of them; `kubectl vnfbench replay` names each", n)
	}
	return ""
}

// figuresAgain returns the figures of a document next to those of its replay. It leaves out those of an earlier run and
// what neighbors reported of themselves, which do not follow from the trials.
func figuresAgain(doc, again Document) []ReplayedFigure {
	var out []ReplayedFigure
	at := map[figure.Key]int{}
	for _, side := range []struct {
		doc   Document
		value func(*ReplayedFigure) **int64
	}{
		{doc, func(f *ReplayedFigure) **int64 { return &f.Document }},
		{again, func(f *ReplayedFigure) **int64 { return &f.Replay }},
	} {
		for _, f := range side.doc.figures() {
			if !f.Known() || f.Side == figure.SideBaseline || f.Stressor != "" {
				continue
			}
			if _, found := at[f.Key]; !found {
				at[f.Key] = len(out)
				out = append(out, ReplayedFigure{Metric: f.Metric, Unit: f.Unit, About: aboutWords(f.Key)})
			}
			*side.value(&out[at[f.Key]]) = &f.Value
		}
	}
	return out
}

// replayed returns the document with everything that follows from inputs and trials put in again.
func replayed(doc Document, p planned, trials []measure.Record) (Document, error) {
	figures := procedure.Evaluate(p.Instructions, trials, doc.Inputs.found(p))
	again := doc
	again.Results, again.TCP, again.Connections = orEmpty(figures.Frames), figures.TCP, figures.Connections
	again.Scaling, again.Sessions, again.CPU = tcpScaling(figures.TCP), figures.Sessions, figures.CPU
	again.Deployments = deploymentsAgain(doc.Deployments, trials)
	if doc.Generator != nil {
		generator := *doc.Generator
		generator.Calibration = figures.Calibration
		again.Generator = &generator
	}
	again.NoisyNeighbors = neighborsAgain(doc.NoisyNeighbors, figures.Neighbors)
	again.TrialSummary = sum(trials)
	was, err := newDone(doc.Experiment, figures.Frames, trials, doc.Inputs)
	if err != nil {
		return Document{}, err
	}
	again.Deviations = orEmpty(was.deviations())
	again.Warnings = warningsAgain(doc.Warnings, figures.Warnings)
	if doc.Plan != nil {
		summary := *doc.Plan
		summary.Digest = p.Digest
		again.Plan = &summary
	}
	measured := figure.Results{Frames: figures.Frames, TCP: figures.TCP, Connections: figures.Connections, CPU: figures.CPU}.Figures()
	verdicts := acceptance.Evaluate(doc.Experiment, measured)
	if doc.Baseline != nil {
		report := *doc.Baseline
		report.Figures = baseline.Measured(doc.Baseline.Figures, measured)
		again.Baseline = &report
		verdicts = append(verdicts, baseline.Verdicts(doc.Experiment.Baseline, report.Figures, measured)...)
	}
	// A run that was not measured to its end is not judged.
	if doc.Completeness == Complete {
		again.Acceptance = orEmpty(verdicts[:min(len(verdicts), maxVerdicts)])
		for i := range again.Acceptance {
			again.Acceptance[i].Message = excerpt.Line(again.Acceptance[i].Message, maxMessageBytes)
		}
	}
	return again, nil
}

// deploymentsAgain returns the deployments, with the number of trials that were made with each.
func deploymentsAgain(reported []v1alpha1.Deployment, trials []measure.Record) []v1alpha1.Deployment {
	again := slices.Clone(reported)
	for i := range again {
		again[i].Trials = 0
		for _, r := range trials {
			if r.Deployment == int(again[i].Number) {
				again[i].Trials++
			}
		}
	}
	return again
}

// neighborsAgain returns what the trials say about the neighbors, with what those said themselves.
func neighborsAgain(reported, figures *v1alpha1.NoisyNeighborsReport) *v1alpha1.NoisyNeighborsReport {
	if reported == nil || figures == nil {
		return figures
	}
	again := figures.DeepCopy()
	for i := range again.Loads {
		for _, load := range reported.Loads {
			if load.Name == again.Loads[i].Name {
				again.Loads[i].Runtime, again.Loads[i].Stressors = load.Runtime, load.Stressors
			}
		}
	}
	return again
}

// warningsAgain returns the reported warnings, followed by those that follow from the trials and are
// not among them. A status that is full may have left some out.
func warningsAgain(reported, figures []v1alpha1.Warning) []v1alpha1.Warning {
	again := slices.Clone(reported)
	if len(reported) >= maxWarnings {
		return again
	}
	for _, w := range figures {
		w.Message = excerpt.Line(w.Message, maxMessageBytes)
		if !slices.Contains(reported, w) {
			again = append(again, w)
		}
	}
	return again
}

// differencesOf compares two documents by their JSON.
func differencesOf(document, again Document) ([]Difference, error) {
	// The records are the same in both.
	document.Trials, again.Trials, document.Inputs, again.Inputs = nil, nil, nil, nil
	a, err := decoded(document)
	if err != nil {
		return nil, err
	}
	b, err := decoded(again)
	if err != nil {
		return nil, err
	}
	return compared(nil, "", a, b), nil
}

// decoded returns a value as JSON has it, with numbers as they are written.
func decoded(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	return out, decoder.Decode(&out)
}

func compared(found []Difference, path string, a, b any) []Difference {
	switch left := a.(type) {
	case map[string]any:
		if right, same := b.(map[string]any); same {
			keys := maps.Clone(left)
			maps.Copy(keys, right)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				name := key
				if path != "" {
					name = path + "." + key
				}
				found = compared(found, name, left[key], right[key])
			}
			return found
		}
	case []any:
		if right, same := b.([]any); same {
			for i := range max(len(left), len(right)) {
				found = compared(found, fmt.Sprintf("%s[%d]", path, i), at(left, i), at(right, i))
			}
			return found
		}
	}
	if x, y := written(a), written(b); x != y {
		found = append(found, Difference{Path: path, Document: x, Replay: y})
	}
	return found
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// written returns a value's JSON, and "" where there is none.
func written(value any) string {
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		// What was decoded from JSON always marshals.
		panic(err)
	}
	return string(text)
}
