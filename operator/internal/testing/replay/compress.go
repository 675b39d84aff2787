package replay

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

const (
	// zipMagic starts a compressed message; its length when uncompressed and a
	// zlib stream follow.
	zipMagic       = 0xABE85CEA
	zipHeaderBytes = 8
)

// Compress makes a message as TRex accepts and sends it: header and zlib stream. TRex's own client
// compresses large requests, and the server then compresses the answer. The product's client does
// not: on loopback compression only costs time.
func Compress(raw []byte) ([]byte, error) {
	var packed bytes.Buffer
	var header [zipHeaderBytes]byte
	binary.BigEndian.PutUint32(header[:4], zipMagic)
	binary.BigEndian.PutUint32(header[4:], uint32(len(raw)))
	packed.Write(header[:])
	writer := zlib.NewWriter(&packed)
	if _, err := writer.Write(raw); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// IsCompressed reports whether a message starts like a compressed one.
func IsCompressed(message []byte) bool {
	return len(message) >= zipHeaderBytes && binary.BigEndian.Uint32(message) == zipMagic
}

// Expand returns the uncompressed message, whether it was compressed or not. It refuses more than
// limit bytes, whatever the header says.
func Expand(message []byte, limit int) ([]byte, error) {
	if !IsCompressed(message) {
		return message, nil
	}
	declared := binary.BigEndian.Uint32(message[4:])
	if uint64(declared) > uint64(limit) {
		return nil, fmt.Errorf("%w: an answer of %d bytes when uncompressed, and at most %d are taken", rpc.ErrProtocol, declared, limit)
	}
	reader, err := zlib.NewReader(bytes.NewReader(message[zipHeaderBytes:]))
	if err != nil {
		return nil, fmt.Errorf("%w: uncompressing an answer: %w", rpc.ErrProtocol, err)
	}
	// The buffer grows with the data that arrives, not with the declared length. The stream is read
	// to its end, where its checksum is.
	var raw bytes.Buffer
	if _, err := io.CopyN(&raw, reader, int64(declared)+1); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("more than the %d bytes that were declared", declared)
		}
		return nil, fmt.Errorf("%w: uncompressing an answer: %w", rpc.ErrProtocol, err)
	}
	if raw.Len() != int(declared) {
		return nil, fmt.Errorf("%w: uncompressing an answer: %d bytes of the %d that were declared", rpc.ErrProtocol, raw.Len(), declared)
	}
	return raw.Bytes(), nil
}
