//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

// player makes recorded calls again, on as many connections as were recorded.
type player struct {
	relay       *replay.Relay
	began       time.Time
	first       float64
	connections map[int]*zmtp.Conn
	// tokens are the new ones by their kind and the old ones.
	tokens      map[string]map[string]string
	differences []string
	// ends counts the ends of jobs, and changes of state, by connection: how many more the old
	// recording had seen than the new one has.
	ends map[int]int
	// waiting is for a call that is not answered while others are made.
	waiting sync.WaitGroup
}

func newPlayer(relay *replay.Relay) *player {
	return &player{
		relay: relay, connections: map[int]*zmtp.Conn{}, ends: map[int]int{},
		tokens: map[string]map[string]string{"api_h": {}, "handler": {}},
	}
}

func (p *player) close() {
	for _, c := range p.connections {
		_ = c.Close()
	}
}

// inTime returns a recording in the order in which calls began. In the file they are in the order
// in which they ended.
func inTime(recording replay.Recording) replay.Recording {
	sorted := slices.Clone(recording)
	slices.SortStableFunc(sorted, func(a, b replay.Exchange) int { return cmp.Compare(a.Milliseconds, b.Milliseconds) })
	return sorted
}

// until waits for a time of the old recording, whose first time is now.
func (p *player) until(ctx context.Context, milliseconds float64) error {
	if p.began.IsZero() {
		p.began, p.first = time.Now(), milliseconds
	}
	due := p.began.Add(time.Duration((milliseconds - p.first) * float64(time.Millisecond)))
	select {
	case <-time.After(time.Until(due)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle waits for calls that were not to be answered.
func (p *player) settle() { p.waiting.Wait() }

// make makes one call, or one batch.
func (p *player) make(ctx context.Context, old replay.Exchange) error {
	message, err := p.message(old)
	if err != nil {
		return err
	}
	conn := p.connections[old.Connection]
	if conn == nil {
		if conn, err = zmtp.Dial(ctx, p.relay.Address(), 0); err != nil {
			return err
		}
		p.connections[old.Connection] = conn
	}
	if old.ConnectionLost {
		p.waiting.Go(func() {
			// It has no answer, which is what the relay records.
			_, _ = conn.Exchange(ctx, message)
		})
		return nil
	}
	answer, err := conn.Exchange(ctx, message)
	if err != nil {
		return err
	}
	if answer, err = replay.Expand(answer, zmtp.DefaultMaxMessageBytes); err != nil {
		return err
	}
	p.learn(old, answer)
	p.ends[old.Connection] += finished(old.Response) - finished(answer)
	return p.catchUp(ctx, conn, old.Connection, message)
}

// jobTimeout is the extra time that a slower machine may need.
const jobTimeout = 2 * time.Minute

// catchUp fetches events until the new server has reached the state that the old one had reported
// in this fetch. All later calls are delayed by that time.
func (p *player) catchUp(ctx context.Context, conn *zmtp.Conn, connection int, fetch []byte) error {
	began := time.Now()
	for p.ends[connection] > 0 && bytes.Contains(plain(fetch), []byte(`"get_async_events"`)) {
		if time.Since(began) > jobTimeout {
			return fmt.Errorf("the jobs did not end, and did not change their state, within %s", jobTimeout)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		answer, err := conn.Exchange(ctx, fetch)
		if err != nil {
			return err
		}
		p.ends[connection] -= finished(plain(answer))
	}
	p.began = p.began.Add(time.Since(began))
	return nil
}

func plain(message []byte) []byte {
	text, err := replay.Expand(message, zmtp.DefaultMaxMessageBytes)
	if err != nil {
		return nil
	}
	return text
}

// finished counts the events in an answer for which other calls wait.
func finished(answer json.RawMessage) int {
	count := 0
	for _, one := range answers(answer) {
		var fetched struct {
			Data []struct {
				Type rpc.EventType `json:"type"`
			} `json:"data"`
		}
		if json.Unmarshal(one.Result, &fetched) != nil {
			continue
		}
		for _, event := range fetched.Data {
			if event.Type == rpc.PortJobDone || event.Type == rpc.ASTFState {
				count++
			}
		}
	}
	return count
}

var token = regexp.MustCompile(`"(api_h|handler)":"([^"]*)"`)

// message returns the old request with the new tokens, and of the old size if its size was its
// purpose.
func (p *player) message(old replay.Exchange) ([]byte, error) {
	if old.RequestRaw != nil {
		var octets []byte
		for _, character := range *old.RequestRaw {
			octets = append(octets, byte(character))
		}
		return octets, nil
	}
	message := token.ReplaceAllFunc(old.Request, func(found []byte) []byte {
		parts := token.FindSubmatch(found)
		if known, ok := p.tokens[string(parts[1])][string(parts[2])]; ok {
			return fmt.Appendf(nil, "%q:%q", parts[1], known)
		}
		return found
	})
	if old.RequestBytes > rpc.MaxRequestBytes {
		message = append(message, bytes.Repeat([]byte(" "), old.RequestBytes-len(message))...)
	}
	if old.RequestCompressed {
		return replay.Compress(message)
	}
	return message, nil
}

// answered is the relevant part of an answer.
type answered struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code     int    `json:"code"`
		Specific string `json:"specific_err"`
	} `json:"error"`
}

// learn reads the tokens in an answer, and notes if it differs in kind from the old one: an error
// for a result, a result for an error, another error.
func (p *player) learn(old replay.Exchange, answer []byte) {
	before, now := answers(old.Response), answers(answer)
	if len(before) != len(now) {
		p.differences = append(p.differences, fmt.Sprintf("n %d: %d answers, and there were %d", old.N, len(now), len(before)))
		return
	}
	for i := range before {
		b, n := before[i], now[i]
		switch {
		case b.Error == nil && n.Error != nil:
			p.differences = append(p.differences, fmt.Sprintf("n %d: is refused now: %q (%d)", old.N, n.Error.Specific, n.Error.Code))
		case b.Error != nil && n.Error == nil:
			p.differences = append(p.differences, fmt.Sprintf("n %d: was refused: %q (%d)", old.N, b.Error.Specific, b.Error.Code))
		case b.Error != nil && b.Error.Code != n.Error.Code:
			p.differences = append(p.differences, fmt.Sprintf("n %d: is refused with %d, and was with %d", old.N, n.Error.Code, b.Error.Code))
		case b.Error == nil:
			p.match(b.Result, n.Result)
		}
	}
}

func answers(text json.RawMessage) []answered {
	var several []answered
	if json.Unmarshal(text, &several) == nil {
		return several
	}
	var one answered
	if json.Unmarshal(text, &one) != nil {
		return nil
	}
	return []answered{one}
}

// match learns that the tokens in one result are now those in another: a text, from acquire, or an
// object with api_h, or with handler and ports.
func (p *player) match(before, now json.RawMessage) {
	var oldText, newText string
	if json.Unmarshal(before, &oldText) == nil && json.Unmarshal(now, &newText) == nil {
		p.tokens["handler"][oldText] = newText
		return
	}
	type tokens struct {
		APIH    string            `json:"api_h"`
		Handler string            `json:"handler"`
		Ports   map[string]string `json:"ports"`
	}
	var o, n tokens
	if json.Unmarshal(before, &o) != nil || json.Unmarshal(now, &n) != nil {
		return
	}
	if o.APIH != "" {
		p.tokens["api_h"][o.APIH] = n.APIH
	}
	if o.Handler != "" {
		p.tokens["handler"][o.Handler] = n.Handler
		for port, old := range o.Ports {
			p.tokens["handler"][old] = n.Ports[port]
		}
	}
}
