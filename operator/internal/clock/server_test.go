package clock

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestServer checks that the server's clock is this machine's as long as no answer denies it, and that an answer that took
// long corrects it by no more than it shows.
func TestServer(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 500_000_000, time.UTC)
	second := time.Second
	var s Server
	for _, step := range []struct {
		what                  string
		sent, received, ahead time.Duration
		want                  time.Duration
	}{
		{"equal clocks", 0, second / 10, 0, 0},
		{"the date has no part of a second", 0, second / 100, -second / 2, 0},
		{"the server is late", 0, 0, -5 * second, -4*second - second/2},
		{"it is still late, and the answer took a minute", 0, time.Minute, -5 * second, -4*second - second/2},
		{"it is right again", 0, 0, 0, -second / 2},
		{"the server is far ahead", 0, second / 10, 5 * time.Minute, 5*time.Minute - second/2 - second/10},
	} {
		s.see(at.Add(step.sent), at.Add(step.ahead).Truncate(second), at.Add(step.received))
		if got := s.Offset(); got != step.want {
			t.Errorf("%s: %s ahead, want %s", step.what, got, step.want)
		}
	}
}

func TestServerReadsAnswers(t *testing.T) {
	ahead, date := 10*time.Minute, true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		if !date {
			w.Header()["Date"] = nil
		}
	}))
	defer server.Close()
	var s Server
	client := &http.Client{Transport: s.Wrap(http.DefaultTransport)}
	get := func() {
		t.Helper()
		answer, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	for range 2 {
		get()
		if got := s.Since(time.Now()); got < ahead-2*time.Second || got > ahead+2*time.Second {
			t.Errorf("%s ahead, want about %s", got, ahead)
		}
		date = false
	}
	server.Close()
	if _, err := client.Get(server.URL); err == nil || s.Offset() == 0 {
		t.Errorf("an answer that does not come: %v, %s ahead", err, s.Offset())
	}
}
