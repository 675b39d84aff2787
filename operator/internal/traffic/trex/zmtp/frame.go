package zmtp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Bits of a frame's first octet.
const (
	flagMore    = 1 << 0
	flagLong    = 1 << 1
	flagCommand = 1 << 2
)

// AppendMessage appends the frames of a message with one body, after the empty delimiter
// that REQ and REP put before it.
func AppendMessage(to, body []byte) []byte {
	to = appendFrame(to, flagMore, nil)
	return appendFrame(to, 0, body)
}

func appendFrame(to []byte, flags byte, body []byte) []byte {
	if len(body) > 0xff {
		to = append(to, flags|flagLong)
		to = binary.BigEndian.AppendUint64(to, uint64(len(body)))
	} else {
		to = append(to, flags, byte(len(body)))
	}
	return append(to, body...)
}

// ReadMessage reads a message with one body after the empty delimiter. A body of more
// than limit bytes is ErrTooLarge, before it is read. io.EOF means that there was not
// even a first octet.
func ReadMessage(from io.Reader, limit int) ([]byte, error) {
	flags, delimiter, err := readFrame(from, 0)
	switch {
	case errors.Is(err, ErrTooLarge) || err == nil && flags&flagCommand == 0 && (len(delimiter) > 0 || flags&flagMore == 0):
		return nil, fmt.Errorf("%w: a message does not start with an empty delimiter", ErrProtocol)
	case err != nil:
		return nil, err
	case flags&flagCommand != 0:
		return nil, fmt.Errorf("%w: a command where a message was due", ErrProtocol)
	}
	flags, body, err := readFrame(from, limit)
	switch {
	case err != nil:
		return nil, unexpected(err)
	case flags&flagCommand != 0:
		return nil, fmt.Errorf("%w: a command within a message", ErrProtocol)
	case flags&flagMore != 0:
		return nil, fmt.Errorf("%w: a message of more than one body", ErrProtocol)
	}
	return body, nil
}

// readFrame reads one frame. io.EOF means that there was nothing to read.
func readFrame(from io.Reader, limit int) (flags byte, body []byte, err error) {
	var head [9]byte
	if _, err := io.ReadFull(from, head[:1]); err != nil {
		return 0, nil, err
	}
	flags = head[0]
	if flags&^(flagMore|flagLong|flagCommand) != 0 || flags&flagCommand != 0 && flags&flagMore != 0 {
		return 0, nil, fmt.Errorf("%w: flags of a frame are %#x", ErrProtocol, flags)
	}
	var length uint64
	if flags&flagLong != 0 {
		if _, err := io.ReadFull(from, head[1:9]); err != nil {
			return 0, nil, unexpected(err)
		}
		length = binary.BigEndian.Uint64(head[1:9])
	} else {
		if _, err := io.ReadFull(from, head[1:2]); err != nil {
			return 0, nil, unexpected(err)
		}
		length = uint64(head[1])
	}
	if length > uint64(max(limit, 0)) {
		return flags, nil, fmt.Errorf("%w: a frame of %d bytes, and at most %d are taken", ErrTooLarge, length, limit)
	}
	// The buffer grows with the data received, not with the announced size.
	var buffer bytes.Buffer
	if _, err := io.CopyN(&buffer, from, int64(length)); err != nil {
		return 0, nil, unexpected(err)
	}
	return flags, buffer.Bytes(), nil
}

// unexpected turns io.EOF into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
