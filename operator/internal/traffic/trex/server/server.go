//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/nodefacts"
	"vnfbench.io/operator/internal/proc"
	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

const (
	// statusTimeout is how long Multus may take to write the pod's network status: the
	// volume is mounted before that, and the kubelet updates it about once a minute.
	statusTimeout = 100 * time.Second

	// probeTimeout bounds one probe, probePause is the wait until the next.
	probeTimeout = time.Second
	probePause   = 100 * time.Millisecond
	// probeBytes is more than the answer to a ping has.
	probeBytes = 4096
)

// statusPause is a variable so that tests do not wait.
var statusPause = time.Second

// Server is a TRex server that runs. Alive, Log, Address and Configuration may run
// concurrently with everything else.
type Server struct {
	config        Config
	read          func(Config) (Host, error)
	program       string
	configuration Configuration
	ports         []measure.PortDriver
	thread        *thread
	// guarded says that the rule that closes the ports exists.
	guarded bool

	// change is held while the process is started or stopped.
	change   sync.Mutex
	restarts int
	closed   bool

	// mutex guards process.
	mutex   sync.Mutex
	process *process
}

// Start checks that the pod has what TRex needs, closes its TCP ports to others, starts
// it and waits until it answers. Everything happens in the network namespace of the
// calling thread. A measure.Failure says what is missing; a cancelled ctx ends the wait
// with its cause. After an error nothing is left.
func Start(ctx context.Context, c Config) (_ *Server, err error) {
	c = c.withDefaults()
	s := &Server{config: c, read: readHost}
	if s.thread, err = newThread(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if err := s.thread.run(closePorts); err != nil {
		return nil, err
	}
	s.guarded = true
	s.change.Lock()
	defer s.change.Unlock()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare checks the pod and writes the configuration.
func (s *Server) prepare(ctx context.Context) error {
	kernel, err := proc.Open("/")
	if err != nil {
		return err
	}
	processors, err := kernel.CPUInfo()
	if err != nil {
		return fmt.Errorf("reading the processors' flags: %w", err)
	}
	s.program = chooseProgram(s.config, processors)
	if err := checkRelease(s.config, s.program); err != nil {
		return err
	}
	host, ports, err := s.look(ctx)
	if err != nil {
		return err
	}
	if err := check(s.config, host, ports); err != nil {
		return err
	}
	if s.configuration, err = configure(s.config, host, ports); err != nil {
		return err
	}
	if err := s.thread.run(func() error { s.ports = portDrivers(ports); return nil }); err != nil {
		return err
	}
	if err := os.MkdirAll(s.config.StateDirectory, 0o755); err != nil {
		return fmt.Errorf("making a place for TRex's configuration: %w", err)
	}
	if err := os.WriteFile(s.config.configurationPath(), s.configuration.File, 0o644); err != nil {
		return fmt.Errorf("writing TRex's configuration: %w", err)
	}
	s.config.Log.Info("configured TRex", "program", s.program, "arguments", s.configuration.Arguments,
		"configuration", string(s.configuration.File), "notes", s.configuration.Notes)
	return nil
}

// look reads the pod until both ports are found, or until Multus has had the time to say
// where they are.
func (s *Server) look(ctx context.Context) (Host, [2]trexPort, error) {
	for start := time.Now(); ; {
		var host Host
		err := s.thread.run(func() (err error) {
			host, err = s.read(s.config)
			return err
		})
		if err != nil {
			return Host{}, [2]trexPort{}, err
		}
		ports, err := findPorts(s.config, host)
		if err == nil || !s.mayBeAnnounced(host, err) || time.Since(start) > statusTimeout {
			return host, ports, err
		}
		if err := clock.Sleep(ctx, statusPause); err != nil {
			return Host{}, ports, err
		}
	}
}

// mayBeAnnounced reports whether the file exists and is still empty.
func (s *Server) mayBeAnnounced(host Host, err error) bool {
	if !s.config.dpdk() || measure.ReasonOf(err) != v1alpha1.ReasonPortMissing || len(host.Attachments) > 0 {
		return false
	}
	_, err = os.Stat(s.config.NetworkStatus)
	return err == nil
}

// start starts the process and waits until it answers. The caller holds change.
func (s *Server) start(ctx context.Context) error {
	output := &lastLines{log: s.config.Log}
	var p *process
	err := s.thread.run(func() (err error) {
		p, err = startProcess(s.program, s.configuration.Arguments, s.config.Directory, s.environment(), output)
		return err
	})
	if err != nil {
		return failure(v1alpha1.ReasonTRexMissing, "see whether the image's TRex is for this node", "%w", err)
	}
	s.mutex.Lock()
	s.process = p
	s.mutex.Unlock()
	begin := time.Now()
	if err := s.await(ctx, p); err != nil {
		p.stop(s.config.CloseTimeout)
		return err
	}
	s.config.Log.Info("TRex answers", "pid", p.pid(), "milliseconds", time.Since(begin).Milliseconds())
	return nil
}

// environment returns all that the server needs, but nothing of the pod's own.
func (s *Server) environment() []string {
	folder := s.config.Directory
	libraries := []string{folder, filepath.Join(folder, "so"), filepath.Join(folder, "so", libraryFolder())}
	return []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"LD_LIBRARY_PATH=" + strings.Join(libraries, ":"),
		// DPDK makes its folder dpdk there (eal_filesystem.c).
		"RUNTIME_DIRECTORY=" + s.config.StateDirectory,
	}
}

func libraryFolder() string {
	if runtime.GOARCH == "amd64" {
		return "x86_64"
	}
	return runtime.GOARCH
}

// await probes the server until it answers.
func (s *Server) await(ctx context.Context, p *process) error {
	starting, cancel := context.WithTimeout(ctx, s.config.StartTimeout)
	defer cancel()
	for {
		err := s.thread.run(func() error { return s.ping(ctx) })
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return s.ended(p, "ended before it answered")
		default:
		}
		if clock.Sleep(starting, probePause) == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return explain(fmt.Sprintf("does not answer %s after its start (%v)", s.config.StartTimeout, err), p.output.all(), s.config.Settings.ExtraConfiguration)
	}
}

// ping makes a request that every version answers, before any handshake.
func (s *Server) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	connection, err := zmtp.Dial(ctx, s.Address(), probeBytes)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	_, err = connection.Exchange(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`))
	return err
}

// ended explains how a process ended that should not have.
func (s *Server) ended(p *process, what string) error {
	how, _ := p.over()
	return explain(fmt.Sprintf("%s (%s)", what, how), p.output.all(), s.config.Settings.ExtraConfiguration)
}

// Address returns where the server answers.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(rpcPort)) }

// Configuration returns what the server runs with.
func (s *Server) Configuration() Configuration { return s.configuration }

// Ports returns what drives the two ports, west first.
func (s *Server) Ports() []measure.PortDriver { return s.ports }

// portDrivers asks the kernel about interfaces. What DPDK has taken is no longer an
// interface; for such a device it returns the device's driver and address.
func portDrivers(ports [2]trexPort) []measure.PortDriver {
	var list []measure.PortDriver
	for _, port := range ports {
		driver, err := nodefacts.PortDriver(port.name)
		if err != nil {
			driver = measure.PortDriver{Interface: port.name, Driver: port.device.Driver, Bus: port.address, PCI: port.device.PCI}
		}
		list = append(list, driver)
	}
	return list
}

// Alive returns why the server is not running; nil while it is. It asks the kernel and
// not the server, so it costs nothing and notices a death at once.
func (s *Server) Alive() error {
	p := s.current()
	if p == nil {
		return errors.New("the TRex server was not started")
	}
	if _, over := p.over(); over {
		return s.ended(p, "ended")
	}
	return nil
}

func (s *Server) current() *process {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.process
}

// Log returns the last lines of the server's output, only since its last start.
func (s *Server) Log() []string {
	if p := s.current(); p != nil {
		return p.output.all()
	}
	return nil
}

// Restart ends the server, if it still runs, and starts it again with the same
// configuration. It fails after MaximumRestarts restarts.
func (s *Server) Restart(ctx context.Context) error {
	s.change.Lock()
	defer s.change.Unlock()
	p := s.current()
	if s.closed || p == nil {
		return errors.New("the TRex server is closed")
	}
	how, over := p.over()
	if s.restarts >= max(0, s.config.MaximumRestarts) {
		what := fmt.Sprintf("was started again %d times, and does not answer again", s.restarts)
		if over {
			what = fmt.Sprintf("was started again %d times, and ended again (%s)", s.restarts, how)
		}
		return explain(what, p.output.all(), s.config.Settings.ExtraConfiguration)
	}
	s.restarts++
	s.config.Log.Warn("starting TRex again", "restart", s.restarts, "atMost", s.config.MaximumRestarts, "ended", how)
	p.stop(s.config.CloseTimeout)
	return s.start(ctx)
}

// Close ends the server, by SIGINT and then by SIGKILL, and removes the rule that closed
// its ports. It may be called twice.
func (s *Server) Close() error {
	s.change.Lock()
	defer s.change.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if p := s.current(); p != nil && p.stop(s.config.CloseTimeout) {
		s.config.Log.Warn("TRex did not end by itself and was killed", "timeout", s.config.CloseTimeout.String())
	}
	defer s.thread.end()
	if !s.guarded {
		return nil
	}
	return s.thread.run(openPorts)
}
