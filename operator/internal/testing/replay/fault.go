package replay

import (
	"encoding/json"
	"slices"
	"time"

	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

// Fault is one way in which a server misbehaves when it should answer. The request was already
// handled when a fault happens.
type Fault struct {
	name string
	// answer writes a wrong answer instead of the good one, and reports whether the connection
	// continues.
	answer func(c *connection, good []byte) bool
}

func (f Fault) String() string { return f.name }

// bytesOf returns a fault that sends wrong octets.
func bytesOf(name string, goesOn bool, octets func(good []byte) []byte) Fault {
	return Fault{name, func(c *connection, good []byte) bool {
		_, err := c.stream.Write(octets(good))
		return err == nil && goesOn
	}}
}

// bodyOf returns a fault in a message that is valid in ZMTP.
func bodyOf(name string, body func(good []byte) []byte) Fault {
	return bytesOf(name, true, func(good []byte) []byte { return zmtp.AppendMessage(nil, body(good)) })
}

// Hang never answers; the connection stays open.
func Hang() Fault {
	return Fault{"hangs", func(c *connection, _ []byte) bool { <-c.life.Done(); return false }}
}

// Late answers after some time.
func Late(after time.Duration) Fault {
	return Fault{"answers late", func(c *connection, good []byte) bool {
		select {
		case <-time.After(after):
			_, err := c.stream.Write(zmtp.AppendMessage(nil, good))
			return err == nil
		case <-c.life.Done():
			return false
		}
	}}
}

// Cut closes the connection instead of answering.
func Cut() Fault {
	return Fault{"closes the connection", func(*connection, []byte) bool { return false }}
}

// Die stops the server instead of answering: it no longer listens.
func Die() Fault {
	return Fault{"dies", func(c *connection, _ []byte) bool { c.server.halt(); return false }}
}

// BadJSON answers with half an answer.
func BadJSON() Fault {
	return bodyOf("answers bad JSON", func(good []byte) []byte { return good[:len(good)/2] })
}

// Empty answers with an empty message.
func Empty() Fault { return bodyOf("answers nothing", func([]byte) []byte { return nil }) }

// Null answers with the text null, as a server does to an empty batch.
func Null() Fault { return bodyOf("answers null", func([]byte) []byte { return []byte("null\n") }) }

// WrongID answers as if to another request.
func WrongID() Fault {
	return bodyOf("answers with a wrong id", func(good []byte) []byte {
		var said map[string]json.RawMessage
		if json.Unmarshal(good, &said) != nil {
			return good
		}
		said["id"] = json.RawMessage("999999999")
		text, err := json.Marshal(said)
		if err != nil {
			return good
		}
		return text
	})
}

// Compressed answers with a compressed message to an uncompressed request.
func Compressed() Fault {
	return bodyOf("answers with a compressed message", func(good []byte) []byte {
		packed, err := Compress(good)
		if err != nil {
			return good
		}
		return packed
	})
}

// Truncated sends half of the frames and closes the connection.
func Truncated() Fault {
	return bytesOf("sends half an answer", false, func(good []byte) []byte {
		message := zmtp.AppendMessage(nil, good)
		return message[:len(message)/2]
	})
}

// Oversize announces a frame of 2^62 bytes.
func Oversize() Fault {
	return bytesOf("announces a huge frame", true, func(good []byte) []byte {
		return append([]byte{1, 0, 2, 0x40, 0, 0, 0, 0, 0, 0, 0}, good...)
	})
}

// NoDelimiter answers without the empty frame that comes first.
func NoDelimiter() Fault {
	return bytesOf("leaves out the delimiter", true, func(good []byte) []byte {
		return zmtp.AppendMessage(nil, good)[2:]
	})
}

// Command sends a command when a message is due.
func Command() Fault {
	return bytesOf("sends a command", true, func([]byte) []byte { return []byte{4, 7, 4, 'P', 'I', 'N', 'G', 0, 0} })
}

// Twice sends the answer twice.
func Twice() Fault {
	return bytesOf("answers twice", true, func(good []byte) []byte {
		return zmtp.AppendMessage(zmtp.AppendMessage(nil, good), good)
	})
}

// Welcome is how a server greets a new connection.
type Welcome int

// Ways to greet.
const (
	// Polite is the correct greeting.
	Polite Welcome = iota
	// Silent says nothing.
	Silent
	// Foreign uses HTTP.
	Foreign
	// Old uses ZMTP 1.
	Old
	// Secure requires CURVE.
	Secure
	// Publisher has a socket of another type.
	Publisher
	// Refusing sends ERROR when READY is due.
	Refusing
	// Slamming closes the connection at once.
	Slamming
)

// octets returns what a server of that kind sends, without waiting for anything.
func (w Welcome) octets() []byte {
	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xff, 0x7f, 3
	copy(greeting[12:], "NULL")
	switch w {
	case Foreign:
		return []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
	case Old:
		greeting[10] = 1
	case Secure:
		copy(greeting[12:], "CURVE")
	case Publisher:
		return slices.Concat(greeting, []byte("\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB"))
	case Refusing:
		return slices.Concat(greeting, []byte("\x04\x0b\x05ERROR\x04nope"))
	}
	return greeting
}
