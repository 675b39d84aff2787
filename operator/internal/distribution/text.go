package distribution

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What precedes a histogram, and a compressed one, in the encoding V2 with counts of variable length.
const (
	cookie       = uint32(hdrhistogram.V2EncodingCookieBase) | 0x10
	packedCookie = uint32(hdrhistogram.V2CompressedEncodingCookieBase) | 0x10
)

// compressors are used again: each takes a megabyte, and a trial has up to six distributions.
var compressors = sync.Pool{New: func() any {
	w, err := zlib.NewWriterLevel(nil, zlib.BestCompression)
	if err != nil {
		panic(err) // there is no such level
	}
	return w
}}

// textOf returns what the library's own Encode returns, without a new compressor for each histogram.
func textOf(h *hdrhistogram.Histogram) string {
	counts := numbersOf(h.Export().Counts)
	plain := make([]byte, 0, headBytes+len(counts))
	plain = binary.BigEndian.AppendUint32(plain, cookie)
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(counts)))
	plain = binary.BigEndian.AppendUint32(plain, 1) // an offset of the counts, which the library always has
	plain = binary.BigEndian.AppendUint32(plain, significantDigits)
	plain = binary.BigEndian.AppendUint64(plain, minNanoseconds)
	plain = binary.BigEndian.AppendUint64(plain, maxNanoseconds)
	plain = binary.BigEndian.AppendUint64(plain, math.Float64bits(1)) // values are whole numbers
	plain = append(plain, counts...)

	out := bytes.NewBuffer(make([]byte, packedHeadBytes, packedHeadBytes+len(plain)))
	w := compressors.Get().(*zlib.Writer)
	defer compressors.Put(w)
	w.Reset(out)
	_, err := w.Write(plain)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // it is written into memory
	}
	text := out.Bytes()
	binary.BigEndian.PutUint32(text, packedCookie)
	binary.BigEndian.PutUint32(text[4:], uint32(len(text)-packedHeadBytes))
	return base64.StdEncoding.EncodeToString(text)
}

// numbersOf returns counts up to the last that is not 0, as numbers of variable length: a count, or how many
// counts are 0, as a negative number.
func numbersOf(counts []int64) []byte {
	var out []byte
	zeros := int64(0)
	for _, count := range counts {
		if count == 0 {
			zeros++
			continue
		}
		if zeros == 1 {
			out = append(out, 0)
		} else if zeros > 1 {
			out = appendNumber(out, -zeros)
		}
		zeros = 0
		out = appendNumber(out, count)
	}
	return out
}

// appendNumber appends a signed number in at most 9 bytes of 7 bits, the last of which has 8.
func appendNumber(out []byte, n int64) []byte {
	bits := uint64(n)<<1 ^ uint64(n>>63)
	for range 8 {
		if bits < 0x80 {
			return append(out, byte(bits))
		}
		out = append(out, byte(bits)|0x80)
		bits >>= 7
	}
	return append(out, byte(bits))
}
