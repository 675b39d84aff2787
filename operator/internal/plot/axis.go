package plot

import (
	"math"
	"strconv"

	gonum "gonum.org/v1/plot"
)

// Axis is one of the two axes of a chart.
type Axis struct {
	// Label says what is shown, with its unit.
	Label string
	// Log makes the axis logarithmic. A value of 0 or less has no place on it: it is left out, or drawn on a line called
	// "0" at the lower end where Zero is set.
	Log, Zero bool
	// FromZero lets a linear axis begin at 0.
	FromZero bool
	// Whole has marks at whole numbers alone.
	Whole bool
	// Low and High are ends that the axis has even if no value is there; nil for none.
	Low, High *float64
	// Categories are names instead of numbers: that of place 0, 1 and so on. A vertical axis has the first at the top.
	Categories []string
}

// span is the range of an axis that is drawn.
type span struct {
	low, high float64
	// zero is where values of 0 are drawn on a logarithmic axis; 0 if they are not.
	zero float64
}

// Sizes of the values that are drawn, besides 0: the ends of an axis and the ratio of them are numbers too.
const smallest, largest = 1e-100, 1e100

// places reports whether an axis has a place for a value. NaN, and values smaller or larger than any that is measured, have none.
func (a Axis) places(value float64) bool {
	size := math.Abs(value)
	return (size >= smallest && size <= largest || size == 0) && (!a.Log || value > 0 || a.Zero && value >= 0)
}

// span returns the range that holds the values, with some room at both ends. A single value gets a range around it.
func (a Axis) span(values []float64) span {
	if n := len(a.Categories); n > 0 {
		return span{low: -0.5, high: float64(n) - 0.5}
	}
	for _, end := range []*float64{a.Low, a.High} {
		if end != nil && a.places(*end) {
			values = append(values, *end)
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 || !a.Log {
			low, high = min(low, v), max(high, v)
		}
	}
	if a.Log {
		return a.logSpan(low, high, values)
	}
	if a.FromZero {
		low, high = min(low, 0), max(high, 0)
	}
	if high-low <= 1e-9*max(math.Abs(low), math.Abs(high)) {
		room := max(math.Abs(high)*0.05, 1)
		if high == 0 {
			room = 1
		}
		low, high = low-room, high+room
	}
	room := (high - low) * 0.04
	s := span{low: low - room, high: high + room}
	if a.Low != nil && *a.Low == low || a.FromZero && low == 0 {
		s.low = low
	}
	if a.High != nil && *a.High == high || a.FromZero && high == 0 {
		s.high = high
	}
	return s
}

func (a Axis) logSpan(low, high float64, values []float64) span {
	if low > high { // nothing but zeros
		low, high = 1, 10
	}
	if high/low < 2 {
		low, high = low/1.5, high*1.5
	}
	room := math.Pow(high/low, 0.04)
	s := span{low: low / room, high: high * room}
	if a.Low != nil && *a.Low == low {
		s.low = low
	}
	if a.High != nil && *a.High == high {
		s.high = high
	}
	if !a.Zero {
		return s
	}
	for _, v := range values {
		if v <= 0 {
			s.zero = s.low / math.Pow(s.high/s.low, 0.12)
			s.low = s.zero / math.Pow(s.high/s.zero, 0.03)
			break
		}
	}
	return s
}

// norm places values on an axis: 0 at its lower end, 1 at its upper one.
type norm struct {
	Axis
	span
}

// Normalize returns the place of a value.
func (n norm) Normalize(low, high, value float64) float64 {
	switch {
	case len(n.Categories) > 0, !n.Log:
		return (value - low) / (high - low)
	case value <= 0:
		value = n.zero
	}
	return math.Log(value/low) / math.Log(high/low)
}

// Ticks returns the marks of an axis.
func (n norm) Ticks(low, high float64) (ticks []gonum.Tick) {
	for i, name := range n.Categories {
		ticks = append(ticks, gonum.Tick{Value: float64(i), Label: name})
	}
	switch {
	case len(n.Categories) > 0:
	case n.Log && (n.zero > 0 || high/low > linearBelow):
		return n.logTicks(low, high)
	default:
		step := niceStep((high - low) / maxTicks)
		if n.Whole {
			step = max(1, step)
		}
		for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
			ticks = append(ticks, gonum.Tick{Value: i * step, Label: Number(i * step)})
		}
	}
	return ticks
}

// linearBelow is the ratio of the ends of a logarithmic axis below which its marks are as far apart as those of a linear one.
const linearBelow = 8

// maxTicks is about how many marks with numbers an axis has.
const maxTicks = 6

// logTicks returns a mark for each power of ten, and for 2 and 5 times it on a short axis; on a long one for every second or third.
func (n norm) logTicks(low, high float64) (ticks []gonum.Tick) {
	decades := math.Log10(high / low)
	each := max(1, int(math.Ceil(decades/maxTicks)))
	for power := int(math.Floor(math.Log10(low))); power <= int(math.Ceil(math.Log10(high))); power++ {
		for digit := 1; digit <= 9; digit++ {
			value := float64(digit) * math.Pow10(power)
			if value < low || value > high || n.zero > 0 && value < n.zero*1.8 {
				continue
			}
			tick := gonum.Tick{Value: value}
			if digit == 1 && number(power, each) == 0 || decades < 2.2 && (digit == 2 || digit == 5) {
				tick.Label = Number(value)
			}
			if tick.Label != "" || decades < 4 {
				ticks = append(ticks, tick)
			}
		}
	}
	if n.zero > 0 {
		ticks = append(ticks, gonum.Tick{Value: 0, Label: "0"})
	}
	return ticks
}

// niceStep returns 1, 2 or 5 times a power of ten that is at least a step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= step*(1-1e-9) {
			return digit * power
		}
	}
	return 10 * power
}

// Number writes a number with at most four digits that matter, and thousands as k, M and so on.
func Number(value float64) string {
	if value == 0 || math.IsNaN(value) || math.IsInf(value, 0) {
		if value == 0 {
			return "0"
		}
		return "-"
	}
	units := []string{"", "k", "M", "G", "T", "P", "E"}
	unit, size := 0, math.Abs(value)
	// 1234 stays as it is: a k would hide its last digit.
	for large := size >= 9999.5; large && size >= 999.95 && unit < len(units)-1; unit++ {
		size /= 1000
	}
	if size < 1e-4 {
		return strconv.FormatFloat(value, 'g', 3, 64)
	}
	digits := max(0, 3-int(math.Floor(math.Log10(size))))
	scale := math.Pow10(digits)
	text := strconv.FormatFloat(math.Round(size*scale)/scale, 'f', -1, 64) + units[unit]
	if value < 0 {
		return "−" + text
	}
	return text
}
