package zmtp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	greetingBytes = 64
	// maxCommandBytes bounds READY and ERROR: a few short properties.
	maxCommandBytes = 4096
)

// greeting returns the first thing that either side sends: a signature, the version, the
// mechanism's name in 20 octets, and zeros.
func greeting() []byte {
	sent := make([]byte, greetingBytes)
	sent[0], sent[9] = 0xff, 0x7f
	sent[10] = 3
	copy(sent[12:32], "NULL")
	return sent
}

func readGreeting(from io.Reader) error {
	var got [greetingBytes]byte
	// The signature and version first: a peer of another kind may never send 64 octets.
	if _, err := io.ReadFull(from, got[:11]); err != nil {
		return err
	}
	if got[0] != 0xff || got[9] != 0x7f {
		return fmt.Errorf("%w: the first octets are % x, no ZMTP signature", ErrProtocol, got[:10])
	}
	if got[10] < 3 {
		return fmt.Errorf("%w: the peer speaks an older version, %d", ErrProtocol, got[10])
	}
	if _, err := io.ReadFull(from, got[11:]); err != nil {
		return unexpected(err)
	}
	if mechanism := bytes.TrimRight(got[12:32], "\x00"); string(mechanism) != "NULL" {
		return fmt.Errorf("%w: security mechanism %q, and only NULL is spoken here", ErrProtocol, mechanism)
	}
	return nil
}

// ready returns the command by which a side announces its socket type.
func ready(socket string) []byte {
	body := append([]byte{5}, "READY"...)
	body = append(append(body, byte(len("Socket-Type"))), "Socket-Type"...)
	body = binary.BigEndian.AppendUint32(body, uint32(len(socket)))
	return appendFrame(nil, flagCommand, append(body, socket...))
}

// readReady reads the peer's READY and verifies its socket type.
func readReady(from io.Reader, wanted string) error {
	flags, body, err := readFrame(from, maxCommandBytes)
	if err != nil {
		return unexpected(err)
	}
	if flags&flagCommand == 0 {
		return fmt.Errorf("%w: a message where READY was due", ErrProtocol)
	}
	name, rest, ok := cut8(body)
	switch {
	case !ok:
		return fmt.Errorf("%w: a command without a name", ErrProtocol)
	case string(name) == "ERROR":
		reason, _, _ := cut8(rest)
		return fmt.Errorf("%w: the peer refuses the connection: %q", ErrProtocol, reason)
	case string(name) != "READY":
		return fmt.Errorf("%w: command %q where READY was due", ErrProtocol, name)
	}
	var socket []byte
	for len(rest) > 0 {
		var property, value []byte
		if property, rest, ok = cut8(rest); ok {
			value, rest, ok = cut32(rest)
		}
		if !ok {
			return fmt.Errorf("%w: the properties of READY are cut", ErrProtocol)
		}
		// Names are compared without regard to case.
		if bytes.EqualFold(property, []byte("Socket-Type")) {
			socket = value
		}
	}
	if string(socket) != wanted {
		return fmt.Errorf("%w: the peer's socket is of type %q, and %s was expected", ErrProtocol, socket, wanted)
	}
	return nil
}

// cut8 cuts off a string that follows its length in one octet.
func cut8(from []byte) (head, rest []byte, ok bool) {
	if len(from) < 1 || len(from)-1 < int(from[0]) {
		return nil, nil, false
	}
	return from[1 : 1+int(from[0])], from[1+int(from[0]):], true
}

// cut32 cuts off a value that follows its length in four octets.
func cut32(from []byte) (head, rest []byte, ok bool) {
	if len(from) < 4 {
		return nil, nil, false
	}
	length := uint64(binary.BigEndian.Uint32(from))
	if uint64(len(from)-4) < length {
		return nil, nil, false
	}
	return from[4 : 4+length], from[4+length:], true
}
