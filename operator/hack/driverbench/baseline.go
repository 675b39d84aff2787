package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"vnfbench.io/operator/internal/statistics"
)

// leastOfBaseline is how many frames this driver must bring for each of an older one's, by the lower end of the
// interval: what two builds of one driver may differ by, and the interval of a few pairs.
const leastOfBaseline = 0.95

// compareWith runs the part speed of an older driverbench and of this one by turns, and prints how many frames
// this driver brings for each of the older one's, as fast as possible, over each path. Both run as separate
// programs, and which one is first changes from pair to pair: what the machine does in the meantime affects both. An
// older driver may time all frames as fast as possible. It knows no flag for that, so timeAll is for this one alone.
func compareWith(ctx context.Context, baseline string, pairs int, window time.Duration, timeAll bool) error {
	if pairs < 2 {
		return errors.New("-baseline: an interval needs -rounds of 2 or more")
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	tools, err := toolsOnly()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tools) }()
	clock, cpu := map[string][]float64{}, map[string][]float64{}
	var paths []string
	for pair := range pairs {
		var speeds [2]map[string]rate
		for turn := range 2 {
			which := (turn + pair) % 2
			if speeds[which], err = speedsFrom(ctx, []string{baseline, own}[which], tools, window, timeAll && which == 1); err != nil {
				return err
			}
		}
		for path, now := range speeds[1] {
			was, found := speeds[0][path]
			if !found {
				return fmt.Errorf("%s has no figure of %q", baseline, path)
			}
			clock[path] = append(clock[path], now.perSecond/was.perSecond)
			cpu[path] = append(cpu[path], now.perCPUSecond/was.perCPUSecond)
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		least, middle, most := intervalOf(cpu[path])
		clockLeast, clockMiddle, clockMost := intervalOf(clock[path])
		fmt.Printf("BASELINE %s %s: frames for each of the baseline's, as fast as possible, %s, for each second of CPU time %.3f (95 %% interval %.3f to %.3f), want %.2f at least at its lower end; by the clock %.3f (%.3f to %.3f); %d pairs, load average %s\n",
			verdictOf(least >= leastOfBaseline), path, timedWords(timeAll), middle, least, most, leastOfBaseline, clockMiddle, clockLeast, clockMost, pairs, loadAverage())
	}
	return nil
}

// intervalOf returns the geometric mean of ratios of pairs, and its 95 % interval.
func intervalOf(ratios []float64) (least, mean, most float64) {
	logarithms := make([]float64, len(ratios))
	for i, ratio := range ratios {
		logarithms[i] = math.Log(ratio)
	}
	s := statistics.SpreadOf(logarithms)
	half := s.HalfWidth(len(ratios))
	return math.Exp(s.Mean - half), math.Exp(s.Mean), math.Exp(s.Mean + half)
}

// toolsOnly makes a folder with the one program that a driverbench needs to measure itself, so that it does not
// measure its peers too.
func toolsOnly() (folder string, err error) {
	tool, err := exec.LookPath("ethtool")
	if err != nil {
		return "", err
	}
	if folder, err = os.MkdirTemp("", "driverbench-"); err != nil {
		return "", err
	}
	if err := os.Symlink(tool, filepath.Join(folder, "ethtool")); err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	return folder, nil
}

// speedsFrom runs one round of a driverbench's part speed.
func speedsFrom(ctx context.Context, program, tools string, window time.Duration, timeAll bool) (map[string]rate, error) {
	arguments := []string{"-parts", "speed", "-rounds", "1", "-window", window.String()}
	if timeAll {
		arguments = append(arguments, "-time-all")
	}
	command := exec.CommandContext(ctx, program, arguments...)
	command.Env, command.Stderr = append(os.Environ(), "PATH="+tools), os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", program, err)
	}
	speeds := speedsIn(string(output))
	if len(speeds) == 0 {
		return nil, fmt.Errorf("%s printed no speed of the driver: %q", program, output)
	}
	return speeds, nil
}

// speedLines are what printSpeeds prints of a path and a size.
var speedLines = regexp.MustCompile(`(?m)^(.+), one core, (\d+ B), .*\n  xdp (\d+) frames/s; for each second of CPU time (\d+)$`)

// speedsIn returns the driver's rates by path and size.
func speedsIn(output string) map[string]rate {
	speeds := map[string]rate{}
	for _, found := range speedLines.FindAllStringSubmatch(output, -1) {
		perSecond, _ := strconv.ParseFloat(found[3], 64)
		perCPUSecond, _ := strconv.ParseFloat(found[4], 64)
		speeds[found[1]+", "+found[2]] = rate{perSecond, perCPUSecond}
	}
	return speeds
}
