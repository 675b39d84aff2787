package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// EventType is the kind of an event.
type EventType int

// The events of TRex v3.08. A job that ends by itself sends 14, 4; one that is stopped
// 11, 1; the start of one 10, 0.
const (
	PortStarted           EventType = 0  // Port
	PortStopped           EventType = 1  // Port
	PortPaused            EventType = 2  // Port
	PortResumed           EventType = 3  // Port
	PortJobDone           EventType = 4  // Port
	PortAcquired          EventType = 5  // Port, User, SessionID, Force
	PortReleased          EventType = 6  // Port, User, SessionID
	PortError             EventType = 7  // Port, Thread
	PortAttributesChanged EventType = 8  // Port
	ProfileStarted        EventType = 10 // Port, Profile
	ProfileStopped        EventType = 11 // Port, Profile
	ProfilePaused         EventType = 12 // Port, Profile
	ProfileResumed        EventType = 13 // Port, Profile
	ProfileJobDone        EventType = 14 // Port, Profile
	ProfileError          EventType = 17 // Port, Profile, Thread
	ASTFState             EventType = 50 // State, Epoch
	ASTFProfileState      EventType = 60 // Profile, State, Epoch, Error
	ASTFProfileCleared    EventType = 61 // Profile, Epoch
	ServerStopped         EventType = 100
	// This package adds EventsLost at the end of what Events returns if the last fetch is
	// so long ago that the server may have dropped events after those that it sent. Ask
	// the server for its state.
	EventsLost EventType = -1
)

// States of ASTF and of its profiles, in events 50 and 60.
const (
	ASTFIdle = iota
	ASTFLoaded
	ASTFParsing
	ASTFBuilding
	ASTFTransmitting
	ASTFCleaningUp
	ASTFDeleting
)

// Event is something that happened at the server, to any user's ports. The constants of
// EventType list the fields of each event; the others are zero, Port -1.
type Event struct {
	Type EventType
	// Sequence counts a session's events; dropped ones leave no gap.
	Sequence  uint64
	Port      int
	Profile   string
	User      string
	SessionID uint32
	Force     bool
	Thread    int
	State     int
	Epoch     int
	Error     string
	// Data is all that the server sent, including what has no field here.
	Data json.RawMessage
}

// eventsKept is how long the server continues to add to events that are not fetched.
const eventsKept = 10 * time.Second

// Events fetches what has happened since the last fetch, oldest first, at any port and by
// any user. The session sees events from its first Acquire or Events. Call it at least
// every few seconds while you wait for something: after 10 s the server drops events, and
// EventsLost is the last event then.
func (c *Client) Events(ctx context.Context) ([]Event, error) {
	var fetched struct {
		Data []struct {
			Type     EventType       `json:"type"`
			Sequence uint64          `json:"seq"`
			Data     json.RawMessage `json:"data"`
		} `json:"data"`
	}
	now := c.now()
	err := c.Call(ctx, "get_async_events", map[string]any{"user": c.options.User, "session_id": c.options.SessionID}, &fetched)
	if err != nil {
		return nil, err
	}
	before := c.fetchedEvents(now)
	var events []Event
	for _, one := range fetched.Data {
		event, err := event(one.Type, one.Data)
		if err != nil {
			return nil, err
		}
		event.Sequence = one.Sequence
		events = append(events, event)
	}
	// The time is that before either fetch, so that a doubtful case counts as loss.
	if len(events) > 0 && !before.IsZero() && c.now().Sub(before) >= eventsKept {
		events = append(events, Event{Type: EventsLost, Port: NoPort})
	}
	return events, nil
}

func event(kind EventType, data json.RawMessage) (Event, error) {
	var d struct {
		Port      *int   `json:"port_id"`
		Profile   string `json:"profile_id"`
		User      string `json:"who"`
		SessionID uint32 `json:"session_id"`
		Force     bool   `json:"force"`
		Thread    int    `json:"thread_id"`
		State     int    `json:"state"`
		Epoch     int    `json:"epoch"`
		Error     string `json:"error"`
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &d); err != nil {
			return Event{}, fmt.Errorf("%w: the data of event %d: %w", ErrProtocol, kind, err)
		}
	}
	e := Event{
		Type: kind, Port: NoPort, Profile: d.Profile, User: d.User, SessionID: d.SessionID, Force: d.Force,
		Thread: d.Thread, State: d.State, Epoch: d.Epoch, Error: d.Error, Data: data,
	}
	if d.Port != nil {
		e.Port = *d.Port
	}
	return e, nil
}
