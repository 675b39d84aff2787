package rpc

import (
	"encoding/json"
	"time"
)

// SetClock gives the client another clock.
func (c *Client) SetClock(now func() time.Time) { c.now = now }

// Decode reads an answer to calls with the ids 1, 2, ... and returns the results.
func Decode(message []byte, calls int) ([]json.RawMessage, error) {
	var made []call
	for i := range calls {
		made = append(made, call{ID: uint64(i + 1), Method: "test"})
	}
	replies, err := decode(message, made)
	var results []json.RawMessage
	for _, r := range replies {
		results = append(results, r.Result)
	}
	return results, err
}

// DecodeEvent reads an event's data.
func DecodeEvent(kind EventType, data []byte) (Event, error) { return event(kind, data) }
