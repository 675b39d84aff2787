package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	controller "vnfbench.io/operator/internal/controller/suite"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
)

const (
	// suiteCells and suiteFigures are what a simulated suite has: one run of each cell in each execution, with so many figures.
	suiteCells, suiteFigures = 12, 3
	// quietExecutions is the length of a suite without a change; with one, the change is at changedExecution, and within executions follow.
	// The first ones have no verdicts, and do not count.
	quietExecutions, changedExecution, firstJudged = 40, 20, 10
	// maximumExtraRuns is the API's default.
	maximumExtraRuns = 48
	// shared is the part of the variance between deployments that the figures of a run share.
	shared = 0.5
	// suiteName, suiteTestbed and suiteMetric name what is simulated.
	suiteName, suiteTestbed, suiteMetric = "nightly", "lab", v1alpha1.MetricThroughputFramesPerSecond
)

// scenario is a change of a suite: in the first cells all figures fall by a share.
type scenario struct {
	name  string
	cells int
	fall  float64
}

var scenarios = []scenario{{"quiet", 0, 0}, {"1 cell -2 %", 1, 0.02}, {"1 cell -5 %", 1, 0.05}, {"all cells -2 %", suiteCells, 0.02}, {"all cells -5 %", suiteCells, 0.05}}

// suiteDeviations are those of whole suites. At a larger one each execution takes all interleaved runs that it may.
var suiteDeviations = deviations[1:4]

// suiteResult is what was found in some suites: of those without a change in all executions that have verdicts, of the others in those since the change.
type suiteResult struct {
	// executions are those that count, alarmed those with a change that is none, and open those with a series that stays Inconclusive. legs are their
	// interleaved runs.
	executions, alarmed, open, legs int
	// figures change, and found are those that are found in time.
	figures, found int
}

func (r suiteResult) add(other suiteResult) suiteResult {
	return suiteResult{
		r.executions + other.executions, r.alarmed + other.alarmed, r.open + other.open, r.legs + other.legs, r.figures + other.figures, r.found + other.found,
	}
}

// suiteBed is a simulated testbed with one suite, which the operator's own judge and planner of confirmations judge.
type suiteBed struct {
	scenario
	deviation float64
	random    *rand.Rand
	measured  []controller.Measured
}

// level returns that of a cell's version, the number of the execution that had it first.
func (b *suiteBed) level(cell, version int) float64 {
	if cell < b.cells && version >= changedExecution {
		return math.Log1p(-b.fall)
	}
	return 0
}

// deploy measures a version of a cell once.
func (b *suiteBed) deploy(execution string, cell, version int, run string, leg *series.Leg) {
	m := &v1alpha1.BenchmarkMeasurement{ObjectMeta: metav1.ObjectMeta{Name: run}}
	m.Spec = v1alpha1.BenchmarkMeasurementSpec{Suite: suiteName, Execution: execution, Cell: cellName(cell), Run: run}
	m.Spec.Experiment.Raw = fmt.Appendf(nil, `{"chain":[{"name":"fw","function":"Firewall","firewall":{"rules":%d}}]}`, version)
	together := math.Sqrt(shared) * b.deviation * b.random.NormFloat64()
	points := make([]series.Point, suiteFigures)
	for i := range points {
		// The value is the median of five repeats, whose variance is 0.287 times theirs.
		log := b.level(cell, version) + together + math.Sqrt(1-shared)*b.deviation*b.random.NormFloat64() + math.Sqrt(0.287)*withinDeviation*b.random.NormFloat64()
		points[i] = series.Point{
			Key:  series.Key{Experiment: suiteName + "." + cellName(cell), Testbed: suiteTestbed, Figure: fmt.Sprintf("%s %d NDR", suiteMetric, 64<<i)},
			Time: time.Unix(int64(len(b.measured)), 0).UTC(), Run: run, Execution: execution, Unit: "frames/s", Leg: leg, Value: int64(math.Round(1e9 * math.Exp(log))),
			Subject: series.Subject{Name: "fw", Revision: fmt.Sprint(version)},
		}
	}
	b.measured = append(b.measured, controller.Measured{Measurement: m, Points: points})
}

func cellName(cell int) string           { return fmt.Sprintf("cell-%d", cell) }
func executionName(number int) string    { return fmt.Sprintf("%s-%d", suiteName, number) }
func runName(cell, execution int) string { return fmt.Sprintf("%s-%d", cellName(cell), execution) }

// placeOf returns the numbers that are in the name of a run or of a cell.
func placeOf(name string) (cell, execution int) {
	_, _ = fmt.Sscanf(name, "cell-%d-%d", &cell, &execution)
	return cell, execution
}

// execute makes an execution and the confirmations that the operator asks for, and returns its last status.
func (b *suiteBed) execute(number int) (*v1alpha1.RegressionStatus, error) {
	spec := &v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{{Metric: suiteMetric}}}
	for cell := range suiteCells {
		b.deploy(executionName(number), cell, number, runName(cell, number), nil)
	}
	status, err := controller.Judge(spec, executionName(number), b.measured, nil)
	for err == nil && status.Confirmation != nil {
		asked := status.Confirmation
		asked.UID = "made"
		cell, newer := placeOf(asked.Run)
		_, older := placeOf(asked.OldRun)
		for pair := int(asked.FirstPair); pair < int(asked.FirstPair+asked.Pairs); pair++ {
			leg := series.Leg{Run: asked.Run, Cause: string(asked.Cause), OldRun: asked.OldRun, Side: series.Old, Pair: pair}
			b.deploy(asked.Name, cell, older, fmt.Sprint(asked.Name, "-old-", pair), &leg)
			other := leg
			other.Side = series.New
			b.deploy(asked.Name, cell, newer, fmt.Sprint(asked.Name, "-new-", pair), &other)
		}
		status, err = controller.Judge(spec, executionName(number), b.measured, status)
	}
	return status, err
}

// simulate makes the executions of one suite.
func (s scenario) simulate(deviation float64, seed, number uint64) (out suiteResult) {
	b := &suiteBed{scenario: s, deviation: deviation, random: rand.New(rand.NewPCG(seed<<16^math.Float64bits(deviation)^math.Float64bits(s.fall)>>7^uint64(s.cells), number))}
	executions, first := quietExecutions, firstJudged
	if s.cells > 0 {
		executions, first = changedExecution+within, changedExecution
	}
	known := map[string]bool{}
	for execution := range executions {
		status, err := b.execute(execution)
		if err != nil {
			panic(err) // The points are those of deploy.
		}
		isAlarmed, isOpen := false, false
		for _, v := range status.Verdicts {
			cell, _ := placeOf(v.Cell)
			isNew := !known[v.Cell+v.Figure]
			switch {
			case v.Verdict == string(regression.VerdictInconclusive):
				isOpen = true
			case v.Verdict != string(regression.VerdictRegression) && v.Verdict != string(regression.VerdictImprovement):
			case execution >= changedExecution && cell < s.cells:
				if isNew && v.Verdict == string(regression.VerdictRegression) {
					known[v.Cell+v.Figure] = true
					out.found++
				}
			default:
				known[v.Cell+v.Figure], isAlarmed = true, isAlarmed || isNew
			}
		}
		if execution < first {
			continue
		}
		out.executions, out.legs = out.executions+1, out.legs+int(status.ExtraRuns)
		if isAlarmed {
			out.alarmed++
		}
		if isOpen {
			out.open++
		}
	}
	out.figures = s.cells * suiteFigures
	return out
}

// wholeSuites prints how the operator judges whole suites.
func (b *bench) wholeSuites() {
	fmt.Fprintf(b.out, "\n%d suites of %d cells and %d figures each: %d executions without a change, or %d with one, which the operator confirms with at most %d interleaved runs each; in percent of the executions, found of the figures that change, extra runs for 100 executions\n",
		b.suites, suiteCells, suiteFigures, quietExecutions-firstJudged, within, maximumExtraRuns)
	b.head("", suiteDeviations...)
	for _, s := range scenarios {
		var alarms, found, legs, open, verdicts []string
		for _, deviation := range suiteDeviations {
			r := sum(b.suites, suiteResult.add, func(number uint64) suiteResult { return s.simulate(deviation, b.seed, number) })
			of := func(count, all int) string { return fmt.Sprintf("%.1f", 100*float64(count)/float64(max(1, all))) }
			alarms, found = append(alarms, of(r.alarmed, r.executions)), append(found, of(r.found, r.figures))
			legs, open = append(legs, of(r.legs, r.executions)), append(open, of(r.open, r.executions))
			verdicts = append(verdicts, b.judge(suiteAlarmTarget(deviation), gaussian, deviation, result{series: r.executions, alarms: r.alarmed}))
			if s.cells > 0 {
				verdicts = append(verdicts, b.judge(suiteFoundTarget(deviation, s.fall), gaussian, deviation, result{series: r.figures, inTime: r.found}))
			}
		}
		b.row(s.name, "false alarms", alarms, verdicts)
		if s.cells > 0 {
			b.row("", "found", found, nil)
		}
		b.row("", "extra runs", legs, nil)
		b.row("", "Inconclusive", open, nil)
		b.done()
	}
}
