package distribution

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// sample returns delays with a long tail, in rising order.
func sample(seed uint64, n int) []uint64 {
	random := rand.New(rand.NewPCG(seed, 1))
	values := make([]uint64, n)
	for i := range values {
		values[i] = uint64(9_000 * math.Exp(random.NormFloat64()))
	}
	slices.Sort(values)
	return values
}

func encode(values []uint64) string {
	return Encode(func(yield func(uint64, uint64) bool) {
		for _, v := range values {
			if !yield(v, 1) {
				return
			}
		}
	})
}

func decode(t *testing.T, text string) Histogram {
	t.Helper()
	h, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestPercentiles checks that a percentile is within 1 % of the true one, and that a merge is
// the distribution of all samples.
func TestPercentiles(t *testing.T) {
	a, b := sample(1, 200_000), sample(2, 100_000)
	all := slices.Concat(a, b)
	slices.Sort(all)
	for name, test := range map[string]struct {
		h      Histogram
		values []uint64
	}{"one": {decode(t, encode(a)), a}, "merged": {Merge(decode(t, encode(a)), decode(t, encode(b))), all}} {
		if got, want := test.h.Samples(), uint64(len(test.values)); got != want {
			t.Errorf("%s: %d samples, want %d", name, got, want)
		}
		for _, ppm := range []uint64{1, 100_000, 500_000, 990_000, 999_000, 999_990, 1_000_000} {
			rank := int(math.Ceil(float64(len(test.values)) * float64(ppm) / 1e6))
			want := test.values[max(rank, 1)-1]
			got, below := test.h.Percentile(ppm)
			if got < want || float64(got) > float64(want)*1.01 || below < uint64(rank) {
				t.Errorf("%s: %d ppm is %d with %d samples up to it, want %d with %d", name, ppm, got, below, want, rank)
			}
		}
	}
}

// TestSize checks that a distribution stays small, whatever the number of its samples.
func TestSize(t *testing.T) {
	for _, n := range []int{1, 5_000, 2_000_000} {
		if text := encode(sample(3, n)); len(text) == 0 || len(text) > 4_000 {
			t.Errorf("%d samples take %d bytes", n, len(text))
		}
	}
	if text := encode(nil); text != "" {
		t.Errorf("no samples are %q", text)
	}
}

func TestSteps(t *testing.T) {
	got := maps.Collect(decode(t, encode([]uint64{0, 5, 5, 100, math.MaxUint64})).Steps())
	want := map[uint64]uint64{0: 1, 5: 3, 100: 4}
	for value, n := range want {
		if got[value] != n {
			t.Errorf("at most %d ns are %d samples, want %d", value, got[value], n)
		}
	}
	if len(got) != 4 {
		t.Errorf("got the steps %v", got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := encode(sample(4, 1000))
	for name, text := range map[string]string{
		"nothing": "", "words": "hello", "half": good[:len(good)/2], "long": string(make([]byte, maxTextBytes+1)),
		"header": base64.StdEncoding.EncodeToString([]byte{0x1c, 0x84, 0x93, 0x14, 0, 0, 0, 9}),
	} {
		if _, err := Decode(text); !errors.Is(err, ErrText) {
			t.Errorf("%s: Decode() = %v", name, err)
		}
	}
}

// packed returns a histogram with a head and zeros after it, as Encode writes one.
func packed(t *testing.T, digits uint32, highest uint64, zeros int) string {
	t.Helper()
	plain := make([]byte, headBytes, headBytes+zeros)
	binary.BigEndian.PutUint32(plain, 0x1c849303|0x10)
	binary.BigEndian.PutUint32(plain[4:], uint32(zeros))
	binary.BigEndian.PutUint32(plain[12:], digits)
	binary.BigEndian.PutUint64(plain[16:], 1)
	binary.BigEndian.PutUint64(plain[24:], highest)
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(plain[:headBytes+zeros]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 0x1c849304|0x10), uint32(out.Len()))
	return base64.StdEncoding.EncodeToString(append(head, out.Bytes()...))
}

// TestDecodeIsBounded checks that a short text does not take much memory, whatever it says of itself.
func TestDecodeIsBounded(t *testing.T) {
	if _, err := Decode(packed(t, significantDigits, maxNanoseconds, 100)); err != nil {
		t.Errorf("the form of the texts below is not that of a histogram: %v", err)
	}
	for name, text := range map[string]string{"many digits": packed(t, 5, 1<<62, 0), "much to decompress": packed(t, significantDigits, maxNanoseconds, 40<<20)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(text)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrText) || took > 2<<20 || len(text) > maxTextBytes {
			t.Errorf("%s: %d bytes take %d: %v", name, len(text), took, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(sample(5, 1000)))
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Decode(text)
		if err != nil {
			return
		}
		h.Percentile(990_000)
	})
}
