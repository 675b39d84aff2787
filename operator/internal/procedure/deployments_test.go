package procedure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// deployed measures a device that has another capacity in each deployment. A session ends after
// each of some numbers of trials, and a new deployment begins with the next where relaunch is true.
func deployed(t *testing.T, instr measure.Instructions, capacities []float64, cut int, relaunch bool) []measure.Record {
	t.Helper()
	var benches []*bench
	for _, capacity := range capacities {
		benches = append(benches, newBench(simulated.HardCap{CapacityFramesPerSecond: capacity}))
	}
	var records []measure.Record
	session, deployment := "a", 1
	for range maxSteps {
		if len(records) == cut {
			session = "b"
			if relaunch && records[cut-1].Deployment > 0 {
				deployment++
			}
			cut = 0
		}
		step, err := NextIn(instr, records, session)
		if err != nil {
			t.Fatal(err)
		}
		if step.Done {
			return records
		}
		deployment = max(deployment, step.Deployment)
		record := benches[deployment-1].trial(t, step, len(records))
		if record.Measurer = session; step.Path != PathCalibration {
			record.Deployment = deployment
		}
		records = append(records, record)
	}
	t.Fatal("no end")
	return nil
}

func inDeployments(repeats int32) measure.Instructions {
	instr := repeatedInstructions(repeats)
	instr.RepeatScope = v1alpha1.RepeatChain
	instr.FixedLoad = fixedLoad().FixedLoad
	return instr
}

// TestDeploymentsHaveTheFiguresOfRepeats checks that on a device that every launch leaves as it is, the order of the repeats
// changes no figure.
func TestDeploymentsHaveTheFiguresOfRepeats(t *testing.T) {
	same := []float64{400_000, 400_000, 400_000}
	trials, chain := inDeployments(3), inDeployments(3)
	trials.RepeatScope = v1alpha1.RepeatTrials
	want := Results(trials, deployed(t, trials, same, 0, false))
	for _, seed := range []int64{0, 7} {
		chain.OrderSeed = seed
		records := deployed(t, chain, same, 0, false)
		if diff := cmp.Diff(want, Results(chain, records)); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
		percent := 0
		for n, r := range records {
			if !r.Stage.Calibrates() && r.Deployment != r.Repeat+1 {
				t.Errorf("trial %d of repeat %d is of deployment %d", n, r.Repeat, r.Deployment)
			}
			if n > 0 && r.Deployment > max(1, records[n-1].Deployment) && r.Stage != measure.StageWarmUp {
				t.Errorf("deployment %d begins with %s", r.Deployment, r.Stage)
			}
			p := Progress(chain, records[:n+1])
			if p.Percent < percent || !p.Calibrated && r.Deployment > 0 {
				t.Errorf("after trial %d: %+v, after %d percent", n, p, percent)
			}
			percent = p.Percent
		}
		if percent != 100 {
			t.Errorf("%d percent at the end", percent)
		}
	}
}

// TestIntervalIsOverDeployments checks that what differs from launch to launch is in the statistics, and that only scope Chain shows it.
func TestIntervalIsOverDeployments(t *testing.T) {
	launches := []float64{400_000, 440_000, 420_000}
	of := func(scope v1alpha1.RepeatScope) v1alpha1.Statistics {
		instr := inDeployments(3)
		instr.RepeatScope = scope
		return Results(instr, deployed(t, instr, launches, 0, false)).Frames[0].Throughput[0].Statistics[0]
	}
	chain, trials := of(v1alpha1.RepeatChain), of("")
	if chain.N != 3 || chain.Maximum-chain.Minimum < 30_000 || *chain.ConfidenceLow > 400_000 || *chain.ConfidenceHigh < 440_000 {
		t.Errorf("over deployments: %+v", chain)
	}
	if trials.N != 3 || trials.Maximum != trials.Minimum || *trials.ConfidenceHigh > 410_000 {
		t.Errorf("on one deployment: %+v", trials)
	}
}

// TestDeploymentsAfterACut checks that no repeat of a size rests on two deployments, wherever a measurer is replaced, or the run is
// suspended and its chain launched again.
func TestDeploymentsAfterACut(t *testing.T) {
	instr := inDeployments(2)
	same := []float64{400_000, 400_000, 400_000}
	undisturbed := deployed(t, instr, same, 0, false)
	want := Results(instr, undisturbed)
	for cut := 1; cut < len(undisturbed); cut++ {
		for _, relaunch := range []bool{false, true} {
			records := deployed(t, instr, same, cut, relaunch)
			if diff := cmp.Diff(want, Results(instr, records), sessionless); diff != "" {
				t.Fatalf("cut at %d: %s", cut, diff)
			}
			repeatOf := map[int]int{}
			for _, r := range records {
				if repeat, known := repeatOf[r.Deployment]; known && repeat != r.Repeat && r.Deployment > 0 {
					t.Errorf("cut at %d: deployment %d has trials of two repeats", cut, r.Deployment)
				}
				repeatOf[r.Deployment] = r.Repeat
			}
			if last := records[len(records)-1].Deployment; !relaunch && last != 2 || last > 3 {
				t.Errorf("cut at %d: %d deployments", cut, last)
			}
			of := map[string]int{}
			again := map[int]bool{}
			_, found := replaySides(instr, records, "")
			for _, r := range found.dropped {
				again[r.Index] = true
			}
			for _, r := range records {
				unit := r.Trial.Size + string(rune('0'+r.Repeat))
				if r.Deployment == 0 || again[r.Index] || isResumed(r) || measurementOf(r.Stage).repetition() == once {
					continue
				}
				if number, known := of[unit]; known && number != r.Deployment {
					t.Errorf("cut at %d: repeat %d of size %s has trials of deployments %d and %d", cut, r.Repeat, r.Trial.Size, number, r.Deployment)
				}
				of[unit] = r.Deployment
			}
		}
	}
}

// TestTurnsInDeployments checks that both sides of each pair are made on one deployment.
func TestTurnsInDeployments(t *testing.T) {
	instr := besideInstructions(true)
	instr.Sizes, instr.Repeats, instr.RepeatScope = sizes(64, 512), 2, v1alpha1.RepeatChain
	records := deployed(t, instr, []float64{400_000, 400_000}, 0, false)
	want := []string{"64/0 without", "64/0 with", "512/0 without", "512/0 with", "64/1 with", "64/1 without", "512/1 with", "512/1 without"}
	if diff := cmp.Diff(want, turns(records)); diff != "" {
		t.Error(diff)
	}
	for n, r := range records {
		if !r.Stage.Calibrates() && r.Deployment != r.Repeat+1 {
			t.Errorf("trial %d of repeat %d is of deployment %d", n, r.Repeat, r.Deployment)
		}
	}
}
