package connection

import (
	"context"

	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// Losses are what the server itself loses.
type Losses struct {
	Ports  [2]Port
	Global Global
}

// Port is the used part of the answer to get_port_stats.
type Port struct {
	OutErrors uint64 `json:"oerrors"`
	InErrors  uint64 `json:"ierrors"`
}

// Global is the used part of the answer to get_global_stats.
type Global struct {
	QueueFull uint64 `json:"m_total_queue_full"`
	QueueDrop uint64 `json:"m_total_queue_drop"`
	// CPUPercent is that of the sending threads in the last second; MeanCPUPercent lags by
	// half a minute.
	CPUPercent     float64 `json:"m_cpu_util_raw"`
	MeanCPUPercent float64 `json:"m_cpu_util"`
}

// Requests returns what reads the losses at two ports.
func (l *Losses) Requests(ports [2]int) []*rpc.Request {
	requests := []*rpc.Request{{Method: "get_global_stats", Port: rpc.NoPort, Result: &l.Global}}
	for i, port := range ports {
		requests = append(requests, &rpc.Request{
			Method: "get_port_stats", Port: rpc.NoPort, Params: map[string]any{"port_id": port}, Result: &l.Ports[i],
		})
	}
	return requests
}

// Global reads the server's part of the losses.
func (c *Connection) Global(ctx context.Context) (g Global, err error) {
	err = c.Call(ctx, "get_global_stats", nil, &g)
	return g, err
}

// Since returns the losses after before.
func (l Losses) Since(before Losses) Losses {
	for i := range l.Ports {
		l.Ports[i].OutErrors -= min(l.Ports[i].OutErrors, before.Ports[i].OutErrors)
		l.Ports[i].InErrors -= min(l.Ports[i].InErrors, before.Ports[i].InErrors)
	}
	l.Global.QueueFull -= min(l.Global.QueueFull, before.Global.QueueFull)
	l.Global.QueueDrop -= min(l.Global.QueueDrop, before.Global.QueueDrop)
	return l
}
