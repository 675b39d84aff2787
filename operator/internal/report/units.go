package report

import (
	"fmt"
	"strconv"
	"time"
)

// Figures for people. A column has one unit, named in its head, so that its
// figures can be compared by their length.

func kiloFrames(framesPerSecond int64) string {
	return strconv.FormatFloat(float64(framesPerSecond)/1e3, 'f', 3, 64)
}

func megabits(bitsPerSecond int64) string {
	return strconv.FormatFloat(float64(bitsPerSecond)/1e6, 'f', 1, 64)
}

func microseconds(nanoseconds int64) string {
	return strconv.FormatFloat(float64(nanoseconds)/1e3, 'f', 2, 64)
}

func percent(partsPerMillion int64) string {
	return strconv.FormatFloat(float64(partsPerMillion)/1e4, 'f', 2, 64)
}

// percentOfMillion returns four digits, so that one frame of a million shows.
func percentOfMillion(partsPerMillion int64) string {
	return strconv.FormatFloat(float64(partsPerMillion)/1e4, 'f', 4, 64)
}

func seconds(nanoseconds int64) string {
	return strconv.FormatFloat(float64(nanoseconds)/1e9, 'f', 3, 64)
}

// ratio returns a over b with two digits, or nothing where b is 0.
func ratio(a, b int64) string {
	if b == 0 {
		return none
	}
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 2, 64)
}

func count[T ~int | ~int32 | ~int64 | ~uint64](n T) string { return fmt.Sprint(n) }

// brief writes a duration with a blank before its unit: "250 ms", "120 s", "3 min 20 s", "2 h 5 min".
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d <= 2*time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
