package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"vnfbench.io/operator/internal/proc"
)

// process is the manager that runs.
type process struct {
	command *exec.Cmd
	metrics string
	ended   chan error
}

// writing are the methods of requests that write.
var writing = []string{`method="POST"`, `method="PUT"`, `method="PATCH"`, `method="DELETE"`}

// collection and memoryLimitBytes are the chart's settings of the garbage collector. The limit is that of the container.
const (
	collection       = "50"
	memoryLimitBytes = 256 << 20
)

// startManager starts the manager with one file of credentials. It runs until stop.
func startManager(s settings, kubeconfig string) (*process, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	arguments := []string{"-metrics-bind-address=" + address, "-metrics-secure=false", "-health-probe-bind-address=0", "-operator-namespace=default"}
	for _, image := range []string{"traffic", "function", "guest", "endpoint", "neighbor", "neighbor-guest"} {
		arguments = append(arguments, "-"+image+"-image=registry.test/"+image+":1")
	}
	p := &process{command: exec.Command(s.manager, arguments...), metrics: "http://" + address + "/metrics", ended: make(chan error, 1)}
	p.command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "GOGC="+collection, fmt.Sprintf("GOMEMLIMIT=%d", memoryLimitBytes))
	if s.logs {
		p.command.Stderr = os.Stderr
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting the manager: %w", err)
	}
	go func() { p.ended <- p.command.Wait() }()
	return p, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// stop ends the manager.
func (p *process) stop() error {
	if err := p.command.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err := <-p.ended
	p.ended <- err
	if err != nil {
		return fmt.Errorf("the manager: %w", err)
	}
	return nil
}

// alive returns an error if the manager has ended.
func (p *process) alive() error {
	select {
	case err := <-p.ended:
		p.ended <- err
		return fmt.Errorf("the manager has ended: %v: see -logs", err)
	default:
		return nil
	}
}

// sample is the state of the manager at one time.
type sample struct {
	at          time.Time
	cpu         time.Duration
	rss, peak   float64 // MiB
	heap        float64 // MiB
	allocated   float64 // MiB, since its start
	writes      float64
	etcdKiB     float64
	otherWrites float64
}

// sample reads the manager's metrics, its files in /proc, and etcd's metrics.
func (c *cluster) sample(ctx context.Context, p *process) (sample, error) {
	s := sample{at: time.Now(), otherWrites: float64(c.measurerWrites.Load())}
	if err := p.alive(); err != nil {
		return s, err
	}
	text, err := get(ctx, p.metrics)
	if err != nil {
		return s, err
	}
	// No request was made yet in the first moments.
	s.writes, _ = sumOf(text, sum{"rest_client_requests_total", writing})
	if s.heap, err = sumOf(text, sum{"go_memstats_heap_inuse_bytes", nil}); err != nil {
		return s, err
	}
	s.heap /= 1 << 20
	if s.allocated, err = sumOf(text, sum{"go_memstats_alloc_bytes_total", nil}); err != nil {
		return s, err
	}
	s.allocated /= 1 << 20
	etcd, err := get(ctx, c.etcdMetrics)
	if err != nil {
		return s, err
	}
	if s.etcdKiB, err = sumOf(etcd, sum{"etcd_disk_wal_write_bytes_total", nil}); err != nil {
		return s, err
	}
	s.etcdKiB /= 1 << 10
	if s.cpu, err = p.cpu(); err != nil {
		return s, err
	}
	s.rss, s.peak, err = p.memory()
	return s, err
}

// cpu returns the processor time that the manager has used.
func (p *process) cpu() (time.Duration, error) {
	running, err := p.proc()
	if err != nil {
		return 0, err
	}
	stat, err := running.Stat()
	return time.Duration(stat.CPUTime() * float64(time.Second)), err
}

// memory returns the manager's resident memory, and the most that it was, in MiB.
func (p *process) memory() (rss, peak float64, err error) {
	running, err := p.proc()
	if err != nil {
		return 0, 0, err
	}
	status, err := running.NewStatus()
	return float64(status.VmRSS) / (1 << 20), float64(status.VmHWM) / (1 << 20), err
}

func (p *process) proc() (procfs.Proc, error) {
	fs, err := proc.Open("/")
	if err != nil {
		return procfs.Proc{}, err
	}
	return fs.Proc(p.command.Process.Pid)
}

// sum is a metric whose series with one of the labels are added.
type sum struct {
	name   string
	labels []string
}

// sumOf adds the series of a metric in a text of Prometheus.
func sumOf(text string, s sum) (float64, error) {
	total, found := 0.0, false
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, labels, _ := strings.Cut(series, "{")
		if name != s.name {
			continue
		}
		fits := len(s.labels) == 0
		for _, label := range s.labels {
			fits = fits || strings.Contains(labels, label)
		}
		if !fits {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", s.name, err)
		}
		total, found = total+number, true
	}
	if !found {
		return 0, fmt.Errorf("there is no metric %s", s.name)
	}
	return total, nil
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, response.Status)
	}
	return string(body), err
}
