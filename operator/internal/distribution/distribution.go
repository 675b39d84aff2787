// Package distribution keeps a distribution of delays in bounded size: as an HdrHistogram, in the
// encoding that the libraries of all languages read. Values and counts go in, a short text comes
// out, and back. Texts can be merged, and give any percentile.
package distribution

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// significantDigits keep every value to 1 % in some hundred bytes to 3 KiB; three digits take up to ten times as many.
	significantDigits = 2
	// maxNanoseconds is an hour. What takes longer counts as that.
	maxNanoseconds = 3_600_000_000_000
	// maxTextBytes is more than any distribution takes.
	maxTextBytes = 64 << 10
	// maxPlainBytes is more than any histogram has before it is compressed: 9 bytes for each of some 4,600 counts.
	maxPlainBytes = 64 << 10
	// headBytes is how long the head of a histogram is, and packedHeadBytes what is before a compressed one.
	headBytes, packedHeadBytes = 40, 8
)

// ErrText says that a text is no distribution.
var ErrText = errors.New("not an HdrHistogram of delays in the encoding V2, compressed, in base64")

// Encode returns values in nanoseconds with the number of samples of each, and "" for none.
func Encode(values iter.Seq2[uint64, uint64]) string {
	h := empty()
	for value, n := range values {
		add(h, min(value, maxNanoseconds), n)
	}
	if h.TotalCount() == 0 {
		return ""
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		// It is written into memory.
		panic(err)
	}
	return string(text)
}

func empty() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxNanoseconds, significantDigits)
}

func add(h *hdrhistogram.Histogram, value, n uint64) {
	// The only error is a value beyond the maximum.
	if err := h.RecordValues(int64(value), int64(n)); err != nil {
		panic(err)
	}
}

// Histogram is a distribution in nanoseconds.
type Histogram struct{ h *hdrhistogram.Histogram }

// Decode reads a text that Encode returned.
func Decode(text string) (out Histogram, err error) {
	if len(text) > maxTextBytes {
		return Histogram{}, fmt.Errorf("%w: it has %d bytes", ErrText, len(text))
	}
	if err := check(text); err != nil {
		return Histogram{}, fmt.Errorf("%w: %w", ErrText, err)
	}
	// The library does not check every length that it reads.
	defer func() {
		if problem := recover(); problem != nil {
			out, err = Histogram{}, fmt.Errorf("%w: %v", ErrText, problem)
		}
	}()
	h, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return Histogram{}, fmt.Errorf("%w: %w", ErrText, err)
	}
	return Histogram{h}, nil
}

// check refuses a histogram that Encode does not make, before the library makes room for it: a few bytes can name one of 50 MB, or become as many when
// they are decompressed.
func check(text string) error {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	r, err := zlib.NewReader(bytes.NewReader(packed[min(len(packed), packedHeadBytes):]))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxPlainBytes+1))
	switch {
	case err != nil:
		return err
	case len(plain) < headBytes || len(plain) > maxPlainBytes:
		return fmt.Errorf("it has %d bytes or more when it is decompressed", len(plain))
	}
	digits, lowest, highest := binary.BigEndian.Uint32(plain[12:]), binary.BigEndian.Uint64(plain[16:]), binary.BigEndian.Uint64(plain[24:])
	if digits != significantDigits || lowest != 1 || highest != maxNanoseconds {
		return fmt.Errorf("it keeps %d digits from %d to %d ns", digits, lowest, highest)
	}
	return nil
}

// Merge returns all samples of several distributions.
func Merge(all ...Histogram) Histogram {
	out := empty()
	for _, one := range all {
		out.Merge(one.h)
	}
	return Histogram{out}
}

// Samples returns their number.
func (d Histogram) Samples() uint64 { return uint64(d.h.TotalCount()) }

// Steps returns the cumulative distribution: in rising order each value that has samples, by the
// upper end of its bucket, with the number of samples that are at most that.
func (d Histogram) Steps() iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) {
		passed := uint64(0)
		for _, bar := range d.h.Distribution() {
			if bar.Count == 0 {
				continue
			}
			passed += uint64(bar.Count)
			if !yield(uint64(bar.To), passed) {
				return
			}
		}
	}
}

// Percentile returns a percentile in parts per million by nearest rank, as the upper end of its
// bucket, and how many samples are at most that. Without samples both are 0.
func (d Histogram) Percentile(partsPerMillion uint64) (nanoseconds, samples uint64) {
	high, low := bits.Mul64(d.Samples(), min(partsPerMillion, 1_000_000))
	rank, rest := bits.Div64(high, low, 1_000_000)
	if rest > 0 {
		rank++
	}
	for value, passed := range d.Steps() {
		nanoseconds, samples = value, passed
		if passed >= rank {
			break
		}
	}
	return nanoseconds, samples
}
