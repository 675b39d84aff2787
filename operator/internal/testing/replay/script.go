package replay

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// Script is a server for which a test writes only what matters to it. It has the basic behavior of
// a real one built in: handshake, api_h, ownership of ports or of the whole server, events per
// session. The test provides all other methods; a call of a method that it did not name fails it.
type Script struct {
	t       testing.TB
	api     rpc.API
	ports   int
	methods map[string]func(Call) Answer

	mutex   sync.Mutex
	process int
	tokens  int
	apiH    string
	owners  map[int]owner
	waiting map[int64][]map[string]any
	seen    map[int64]int
}

type owner struct {
	user    string
	session int64
	handler string
}

// NewScript returns a server for one API with this many ports.
func NewScript(t testing.TB, api rpc.API, ports int) *Script {
	s := &Script{t: t, api: api, ports: ports, methods: map[string]func(Call) Answer{}}
	s.Restart()
	for method, builtIn := range map[string]func(Call) Answer{
		"api_sync_v2":      s.handshake,
		"get_version":      func(Call) Answer { return Result(map[string]any{"version": "v3.08", "mode": api.Name}) },
		"ping":             func(Call) Answer { return Result(map[string]any{"ts": 1.5}) },
		"get_global_cfg":   func(Call) Answer { return Result(map[string]any{"sched_max_stretch": 0.0}) },
		"get_async_events": s.events,
		"acquire":          s.acquire,
		"release":          s.release,
		"get_owner":        s.owner,
	} {
		s.methods[method] = builtIn
	}
	return s
}

// On answers a method, also one that is built in. A call with a handler arrives only if the handler
// is the owner's. Set all before the server starts.
func (s *Script) On(method string, answer func(Call) Answer) *Script {
	s.methods[method] = answer
	return s
}

// Restart simulates another server process: a new api_h, no owners, no events. A test that wants
// the connections cut too uses that of the Server.
func (s *Script) Restart() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.process++
	s.apiH = fmt.Sprintf("api%05d", s.process)
	s.owners, s.waiting, s.seen = map[int]owner{}, map[int64][]map[string]any{}, map[int64]int{}
}

// Publish adds an event for every session that fetched or acquired before.
func (s *Script) Publish(event rpc.EventType, data map[string]any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.publish(event, data)
}

func (s *Script) publish(event rpc.EventType, data map[string]any) {
	for session, sequence := range s.seen {
		s.waiting[session] = append(s.waiting[session], map[string]any{"name": "trex-event", "type": event, "seq": sequence, "data": data})
		s.seen[session]++
	}
}

// Take makes another user the owner of a port, or with rpc.AllPorts of all.
func (s *Script) Take(port int, user string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.own(port, user, 4711)
}

// Respond returns the answer to one call.
func (s *Script) Respond(c Call) Answer {
	answer, ok := s.methods[c.Method]
	if !ok {
		s.t.Errorf("the script has no method %q; it came with %v", c.Method, names(c.Params))
		return Answer{refusal: &refusal{Code: rpc.CodeMethodNotFound, Message: "Method " + c.Method + " not registered"}}
	}
	if refused, no := s.refuse(c); no {
		return refused
	}
	return answer(c)
}

// refuse checks the tokens of a call before its method runs.
func (s *Script) refuse(c Call) (Answer, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !open[c.Method] {
		if _, has := c.Params["api_h"]; !has {
			s.t.Errorf("%q came without api_h", c.Method)
			return Refuse(rpc.CodeInvalidParams, "field 'api_h' value is null"), true
		}
		if c.Text("api_h") != s.apiH {
			return Refuse(rpc.CodeExecute, "API verification failed - API handler provided mismatch for class: 'common'"), true
		}
	}
	if _, has := c.Params["handler"]; has {
		port, free, taken := int(c.Number("port_id")), "please acquire the port before modifying port state", "port is not owned by you or your current executing session"
		if _, one := c.Params["port_id"]; !one {
			port, free, taken = rpc.AllPorts, "must acquire the context for this operation", "must acquire the context for this operation"
		}
		switch o, owned := s.owners[port]; {
		case !owned:
			return Refuse(rpc.CodeExecute, free), true
		case o.handler != c.Text("handler"):
			return Refuse(rpc.CodeExecute, taken), true
		}
	}
	return Answer{}, false
}

func (s *Script) handshake(c Call) Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	major, minor := int(c.Number("major")), int(c.Number("minor"))
	said := fmt.Sprintf("\n(API type '%s':  - server: '%d.%d', client: '%d.%d')", s.api.Name, s.api.Major, s.api.Minor, major, minor)
	switch {
	case c.Text("name") != s.api.Name:
		return Refuse(rpc.CodeExecute, fmt.Sprintf("RPC configuration mismatch - server RPC configuration: '%s', client RPC configuration: '%s'", s.api.Name, c.Text("name")))
	case major < s.api.Major:
		return Refuse(rpc.CodeExecute, "RPC version mismatch: a newer client version is required"+said)
	case major > s.api.Major || minor > s.api.Minor:
		return Refuse(rpc.CodeExecute, "Version mismatch: your client version is too new to be supported by the server"+said)
	}
	return Result(map[string]any{"api_h": s.apiH})
}

func (s *Script) acquire(c Call) Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	session, user := c.Number("session_id"), c.Text("user")
	if session == 0 {
		s.t.Errorf("acquire came with session_id 0, which ends a server")
		return Answer{Lost: true}
	}
	port := rpc.AllPorts
	if _, one := c.Params["port_id"]; one {
		port = int(c.Number("port_id"))
	}
	if (port == rpc.AllPorts) != (s.api.Name == rpc.ASTF.Name) || port >= s.ports {
		s.t.Errorf("acquire of port %d came to a server of API %s with %d ports", port, s.api.Name, s.ports)
		return Refuse(rpc.CodeInvalidParams, "field 'port_id' value is null")
	}
	force := string(c.Params["force"]) == "true"
	o, owned := s.owners[port]
	switch {
	case !owned || force:
	case port == rpc.AllPorts:
		return Refuse(rpc.CodeExecute, "context is already taken (use 'force' argument to override)")
	case o.user != user:
		return Refuse(rpc.CodeExecute, fmt.Sprintf("port is already taken by '%s'", o.user))
	case o.session != session:
		return Refuse(rpc.CodeExecute, fmt.Sprintf("port is already owned by another session of '%s'", user))
	default:
		return Result(o.handler)
	}
	s.own(port, user, session)
	if port != rpc.AllPorts {
		s.publish(rpc.PortAcquired, map[string]any{"port_id": port, "who": user, "session_id": session, "force": force})
	}
	s.see(session)
	if port != rpc.AllPorts {
		return Result(s.owners[port].handler)
	}
	handlers := map[string]string{}
	for port := range s.ports {
		handlers[strconv.Itoa(port)] = s.owners[port].handler
	}
	return Result(map[string]any{"handler": s.owners[rpc.AllPorts].handler, "ports": handlers})
}

// own sets the owner; the owner of the whole server owns every port.
func (s *Script) own(port int, user string, session int64) {
	ports := []int{port}
	if port == rpc.AllPorts {
		for port := range s.ports {
			ports = append(ports, port)
		}
	}
	for _, port := range ports {
		s.tokens++
		s.owners[port] = owner{user: user, session: session, handler: fmt.Sprintf("own%05d", s.tokens)}
	}
}

func (s *Script) release(c Call) Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, one := c.Params["port_id"]; !one {
		clear(s.owners)
		return Result(nil)
	}
	port := int(c.Number("port_id"))
	o := s.owners[port]
	delete(s.owners, port)
	s.publish(rpc.PortReleased, map[string]any{"port_id": port, "who": o.user, "session_id": o.session})
	return Result(map[string]any{})
}

func (s *Script) owner(c Call) Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if o, owned := s.owners[int(c.Number("port_id"))]; owned {
		return Result(map[string]any{"owner": o.user})
	}
	return Result(map[string]any{"owner": "<FREE>"})
}

func (s *Script) see(session int64) {
	if _, seen := s.seen[session]; !seen {
		s.seen[session] = 0
	}
}

func (s *Script) events(c Call) Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	session := c.Number("session_id")
	s.see(session)
	events := s.waiting[session]
	delete(s.waiting, session)
	if events == nil {
		events = []map[string]any{}
	}
	return Result(map[string]any{"data": events})
}

func names(params map[string]json.RawMessage) []string {
	var found []string
	for name, text := range params {
		found = append(found, fmt.Sprintf("%s=%.40s", name, text))
	}
	return found
}
