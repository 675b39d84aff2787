package astf

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"flag"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/planning"
)

var update = flag.Bool("update", false, "write the golden files")

func TestProfiles(t *testing.T) {
	six := measure.Stateful{
		Clients:  measure.Hosts{First: netip.MustParseAddr("2001:2:0:8000::1"), Count: 254},
		Servers:  measure.Hosts{First: netip.MustParseAddr("2001:2:0:9000::1"), Count: 254},
		MSSBytes: 1440,
	}
	load := measure.ConnectionsTrial{ConnectionsPerSecond: 1000, RequestBytes: 128, ResponseBytes: 1024}
	held := load
	held.ConcurrentConnections = 20_000
	bulk := func(between measure.Stateful, change func(*measure.TCPTrial), directions ...measure.Direction) profile {
		trial := tcpTrial(directions...).TCP
		if change != nil {
			change(trial)
		}
		p, err := forTCP(between, *trial)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, p := range map[string]profile{
		"tcp-both": bulk(between, nil, measure.Forward, measure.Reverse),
		"tcp-reverse-cubic-window": bulk(between, func(t *measure.TCPTrial) {
			t.CongestionControl, t.WindowBytes, t.MSSBytes = "cubic", 1<<20, 1200
		}, measure.Reverse),
		"tcp-ipv6":  bulk(six, nil, measure.Forward),
		"exchanges": forConnections(between, load, 10e9),
		"held":      forConnections(between, held, 10e9),
	} {
		t.Run(name, func(t *testing.T) {
			encoded, err := p.encode()
			if err != nil {
				t.Fatal(err)
			}
			var readable strings.Builder
			lines := json.NewEncoder(&readable)
			lines.SetIndent("", "  ")
			lines.SetEscapeHTML(false)
			if err := lines.Encode(json.RawMessage(encoded)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, []byte(readable.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), readable.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		})
	}
}

// Payloads have their exact size, and are HTTP if there is room for it.
func TestPayloads(t *testing.T) {
	text := func(b buffer) string {
		base, err := base64.StdEncoding.DecodeString(b.Base)
		if err != nil {
			t.Fatal(err)
		}
		fill, err := base64.StdEncoding.DecodeString(b.Fill)
		if err != nil {
			t.Fatal(err)
		}
		return string(base) + strings.Repeat(string(fill), b.Size-len(base))
	}
	for size := 64; size < 2200; size += 7 {
		request, response := text(httpRequest(size)), text(httpResponse(size))
		if len(request) != size || !strings.HasPrefix(request, "GET /") || !strings.HasSuffix(request, " HTTP/1.1\r\nHost: vnfbench\r\n\r\n") {
			t.Errorf("a request of %d bytes is %q", size, request)
		}
		head, body, found := strings.Cut(response, "\r\n\r\n")
		if len(response) != size || !found || !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\nContent-Length: ") {
			t.Errorf("a response of %d bytes is %q", size, response)
		}
		var length int
		if _, after, _ := strings.Cut(head, "Content-Length: "); json.Unmarshal([]byte(after), &length) != nil || len(body)-length > 1 || length > len(body) {
			t.Errorf("a body of %d bytes says that it has %s", len(body), after)
		}
	}
}

func TestFragments(t *testing.T) {
	for size, want := range map[int][]int{1: {1}, 1000: {1000}, 1001: {1000, 1}, 601_000: {1000, 500_000, 100_000}} {
		var got []int
		all := ""
		text := strings.Repeat("x", size)
		for _, part := range fragments([]byte(text)) {
			got = append(got, len(part))
			all += string(part)
		}
		if !slices.Equal(got, want) || all != text {
			t.Errorf("%d bytes are cut into %v", size, got)
		}
	}
}

// exchange is one in a recording.
type exchange struct {
	Request struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"request"`
	Response struct {
		Result json.RawMessage `json:"result"`
	} `json:"response"`
}

// recorded returns the results of a method in the recording of a real server, in their
// order.
func recorded(t *testing.T, method string) (params, results []json.RawMessage) {
	t.Helper()
	file, err := os.Open("../../../../../test/fixtures/trex/11-astf.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e exchange
		// Batches are arrays, and the test needs none of them.
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Request.Method == method {
			params, results = append(params, e.Request.Params), append(results, e.Response.Result)
		}
	}
	if err := lines.Err(); err != nil || len(results) == 0 {
		t.Fatalf("nothing is recorded of %s: %v", method, err)
	}
	return params, results
}

// keys returns the paths of an object's fields; lists count as their first element.
func keys(prefix string, value any) []string {
	var out []string
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			out = append(out, prefix+key)
			out = append(out, keys(prefix+key+".", inner)...)
		}
	case []any:
		if len(v) > 0 {
			out = keys(prefix, v[0])
		}
	}
	slices.Sort(out)
	return out
}

// A profile for exchanges has the fields that the server's own client gives it.
func TestProfileIsAsRecorded(t *testing.T) {
	parts, _ := recorded(t, "profile_fragment")
	text := ""
	for _, part := range parts {
		var p struct{ Fragment string }
		if err := json.Unmarshal(part, &p); err != nil {
			t.Fatal(err)
		}
		text += p.Fragment
	}
	var theirs, ours map[string]any
	if err := json.Unmarshal([]byte(text), &theirs); err != nil {
		t.Fatal(err)
	}
	encoded, err := forConnections(between, measure.ConnectionsTrial{ConnectionsPerSecond: 50, RequestBytes: 64, ResponseBytes: 640}, 1e9).encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &ours); err != nil {
		t.Fatal(err)
	}
	// The recorded profile leaves TCP's settings to the server, and has no payload with
	// filling.
	for _, extra := range []string{"c_glob_info", "s_glob_info", "buf_list"} {
		delete(theirs, extra)
		delete(ours, extra)
	}
	if diff := cmp.Diff(keys("", theirs), keys("", ours)); diff != "" {
		t.Errorf("fields (-recorded +ours):\n%s", diff)
	}
}

// The recorded counters of 3 s with 50 exchanges per second, together with other flows:
// 161 began, and all of them ended as they should.
func TestCountersAsRecorded(t *testing.T) {
	_, descriptions := recorded(t, "get_counter_desc")
	var d description
	if err := json.Unmarshal(descriptions[0], &d); err != nil {
		t.Fatal(err)
	}
	names, err := d.names()
	if err != nil {
		t.Fatal(err)
	}
	_, values := recorded(t, "get_counter_values")
	var looks []look
	for _, text := range values {
		var r reply
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		at, err := r.named(names)
		if err != nil {
			t.Fatal(err)
		}
		if r.Epoch == 1 {
			looks = append(looks, at)
		}
	}
	if len(looks) != 2 {
		t.Fatalf("%d looks at the first traffic are recorded", len(looks))
	}
	got := connectionsOutcome(connectionLooks{begin: looks[0], end: looks[1], over: looks[1], concurrent: 27}, false)
	want := measure.ConnectionsOutcome{
		CountedNanoseconds: 3_503_970_002 - 1_397_438_491, CountedAttempts: 161 - 74, CountedEstablished: 161 - 74,
		ForwardBytes: 5635 - 2590, ReverseBytes: 103_040 - 47_360,
		Attempts: 161, Established: 161, Completed: 161, Concurrent: 27,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if looks[0].client.of(cEstablishedNow) != 27 || got.EstablishedPerSecond() != 41 {
		t.Errorf("%d were open, %d a second established", looks[0].client.of(cEstablishedNow), got.EstablishedPerSecond())
	}
	_, groups := recorded(t, "get_tg_id_stats")
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(groups[0], &raw); err != nil {
		t.Fatal(err)
	}
	replies, err := groupReplies(raw, []int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	http, err := replies[1].named(names)
	if err != nil || http.client.of(cEstablished) != 161 || http.server.of(cReceivedBytes) != 5635 {
		t.Errorf("the group of exchanges has %+v: %v", http, err)
	}
	if _, err := groupReplies(raw, []int{3}); err == nil {
		t.Error("a group that is not there is found")
	}
}

func TestCongestionControls(t *testing.T) {
	if got := slices.Sorted(maps.Keys(congestion)); !slices.Equal(got, planning.CongestionControls) {
		t.Errorf("%v are known, %v are offered", got, planning.CongestionControls)
	}
}
