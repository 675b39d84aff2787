package astf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Counters of each side, by the server's names. An answer omits a counter that is 0; one
// that the server's description lacks belongs to another server.
const (
	cEstablishedNow = "m_est_flows"
	cSeconds        = "m_traffic_duration"
	cAttempts       = "tcps_connattempt"
	cEstablished    = "tcps_connects"
	cClosed         = "tcps_closed"
	cDrops          = "tcps_drops"
	cEmbryonicDrops = "tcps_conndrops"
	cTimeoutDrops   = "tcps_timeoutdrop"
	cKeepDrops      = "tcps_keepdrops"
	cPersistDrops   = "tcps_persistdrop"
	cTestDrops      = "tcps_testdrops"
	cSentBytes      = "tcps_sndbyte_ok"
	cReceivedBytes  = "tcps_rcvbyte"
	cRetransmits    = "tcps_sndrexmitpack"
	cSYNTimeouts    = "tcps_rexmttimeo_syn"
	cNoAddress      = "err_c_tuple_err"
	cThrottled      = "err_c_nf_throttled"
	cOverflow       = "err_flow_overflow"
	cNoMemory       = "err_no_memory"
	cNoBuffer       = "tcps_nombuf"
)

var wanted = []string{
	cEstablishedNow, cSeconds, cAttempts, cEstablished, cClosed, cDrops, cEmbryonicDrops, cTimeoutDrops, cKeepDrops,
	cPersistDrops, cTestDrops, cSentBytes, cReceivedBytes, cRetransmits, cSYNTimeouts, cNoAddress, cThrottled, cOverflow, cNoMemory, cNoBuffer,
}

// description is the answer to get_counter_desc.
type description struct {
	Data []struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
		Real bool   `json:"real"`
	} `json:"data"`
}

// names returns the counters' names by the numbers that answers have.
func (d description) names() (map[string]string, error) {
	byNumber, known := map[string]string{}, map[string]bool{}
	for _, c := range d.Data {
		if c.Real {
			byNumber[strconv.Itoa(c.ID)], known[c.Name] = c.Name, true
		}
	}
	var missing []string
	for _, name := range wanted {
		if !known[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the server has no counter %s", strings.Join(missing, ", "))
	}
	return byNumber, nil
}

// counts is one reading of the counters of one side: clients or servers.
type counts map[string]float64

// of reads an integer. The server counts in 64 bits, and a float64 holds every integer
// below 2^53, which no trial reaches.
func (c counts) of(name string) int64 { return int64(c[name]) }

// nanoseconds returns how long traffic has run, by the server's clock.
func (c counts) nanoseconds() int64 { return int64(c[cSeconds] * 1e9) }

// look is one answer with counters, of both sides.
type look struct {
	client, server counts
}

// reply has the counters by number.
type reply struct {
	Client map[string]json.RawMessage `json:"client"`
	Server map[string]json.RawMessage `json:"server"`
	Epoch  int64                      `json:"epoch"`
}

func (r reply) named(names map[string]string) (look, error) {
	client, err := named(r.Client, names)
	if err != nil {
		return look{}, err
	}
	server, err := named(r.Server, names)
	return look{client: client, server: server}, err
}

// named reads only what is wanted: among the rest are ratios, which may not be numbers.
func named(values map[string]json.RawMessage, names map[string]string) (counts, error) {
	out := counts{}
	for number, text := range values {
		name, known := names[number]
		if !known || !slices.Contains(wanted, name) {
			continue
		}
		var value float64
		if err := json.Unmarshal(text, &value); err != nil {
			return nil, fmt.Errorf("reading counter %s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

// groupReplies reads the answer to get_tg_id_stats: counters of each group by its number,
// next to the epoch, without which the server omits them.
func groupReplies(raw map[string]json.RawMessage, groups []int) (map[int]reply, error) {
	out := map[int]reply{}
	for _, group := range groups {
		text, there := raw[strconv.Itoa(group)]
		if !there {
			return nil, fmt.Errorf("the server has no counters of group %d: another trial has begun", group)
		}
		var r reply
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("reading the counters of group %d: %w", group, err)
		}
		out[group] = r
	}
	return out, nil
}
