package series

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of what is read. They hold before anything is decoded.
const (
	// MaxLineBytes is the longest line of a file.
	MaxLineBytes = 64 << 10
	// MaxPoints is how many points a file or a store has at most.
	MaxPoints = 1_000_000
)

// ErrTooMany is returned for more than MaxPoints points.
var ErrTooMany = fmt.Errorf("there are more than %d points: split the file, one series with all of its points in each part", MaxPoints)

// WriteLines writes points as JSON lines.
func WriteLines(out io.Writer, points []Point) error {
	for _, p := range points {
		line, err := encode(p)
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// encode returns the line of a point that is valid.
func encode(p Point) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("point %s of run %q: %w", p.Key, p.Run, err)
	}
	line, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if len(line) >= MaxLineBytes {
		return nil, fmt.Errorf("point %s of run %q has %d bytes: give at most %d", p.Key, p.Run, len(line), MaxLineBytes-1)
	}
	return append(line, '\n'), nil
}

// ReadLines reads points from JSON lines. An error names the line.
func ReadLines(in io.Reader) ([]Point, error) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 4096), MaxLineBytes)
	var points []Point
	number := 0
	for scanner.Scan() {
		number++
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		p, err := decode(scanner.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if len(points) == MaxPoints {
			return nil, ErrTooMany
		}
		points = append(points, p)
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d has more than %d bytes", number+1, MaxLineBytes)
	}
	return points, scanner.Err()
}

// decode reads a point from one object, or from several that have its fields together. A field that is not known is refused: it may
// be a misspelled one.
func decode(objects ...[]byte) (Point, error) {
	var p Point
	for _, text := range objects {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&p); err != nil {
			return p, err
		}
		if decoder.More() {
			return p, errors.New("there is more than one object on the line")
		}
	}
	return p, p.Validate()
}
