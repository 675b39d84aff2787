package clock

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Server is the clock of an HTTP server, as the dates of its answers show. It is this machine's clock as long as that
// agrees with them, and otherwise the nearest that does. The zero value is ready to use.
type Server struct{ offset atomic.Int64 }

// Now returns the server's time.
func (s *Server) Now() time.Time { return time.Now().Add(s.Offset()) }

// Since returns the time that has passed since a time of the server.
func (s *Server) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// Offset returns how far the server's clock is ahead of this machine's.
func (s *Server) Offset() time.Duration { return time.Duration(s.offset.Load()) }

// Wrap returns a transport that reads the dates of the server's answers.
func (s *Server) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		sent := time.Now()
		answer, err := next.RoundTrip(request)
		if err == nil {
			if date, problem := http.ParseTime(answer.Header.Get("Date")); problem == nil {
				s.see(sent, date, time.Now())
			}
		}
		return answer, err
	})
}

// see corrects the offset by an answer. The server wrote the date, which has no part of a second, after the request was sent
// and before the answer was received.
func (s *Server) see(sent, date, received time.Time) {
	least, most := date.Sub(received), date.Add(time.Second).Sub(sent)
	s.offset.Store(int64(min(max(s.Offset(), least), most)))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
