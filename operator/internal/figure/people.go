package figure

// scales are the units that people read, and how many of a value's unit one of them is.
var scales = map[Unit]struct {
	unit string
	by   float64
}{
	FramesPerSecond: {"kfps", 1e3}, FragmentsPerSecond: {"k fragments/s", 1e3}, BitsPerSecond: {"Mbit/s", 1e6},
	Nanoseconds: {"µs", 1e3}, PartsPerMillion: {"ppm", 1}, Number: {"", 1},
}

// ForPeople returns a value in the unit that people read, and the name of that unit: "" for a number of things.
func (u Unit) ForPeople(value int64) (number float64, name string) {
	if s, found := scales[u]; found {
		return float64(value) / s.by, s.unit
	}
	return float64(value), string(u)
}
