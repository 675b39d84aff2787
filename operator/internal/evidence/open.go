package evidence

import (
	"context"
	"net/http"
	"sync"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/vnf"
)

// openAgents asks each source once without a token, and returns the names of those that do not refuse: their images
// are from before agents asked for one. A source that does not answer is none of them.
func (c *Collector) openAgents(ctx context.Context) []string {
	if c.tokenFile == "" {
		return nil
	}
	type agent struct{ name, url string }
	var agents []agent
	if c.sources.Observer != "" {
		agents = append(agents, agent{"the observer", c.sources.Observer + observer.PathNode})
	}
	for _, f := range c.sources.Functions {
		if f.Address != "" {
			agents = append(agents, agent{"function " + f.Name, f.Address + vnf.PathStatus})
		}
	}
	for _, n := range c.sources.Neighbors {
		if n.Address != "" {
			agents = append(agents, agent{"neighbor " + n.Name, n.Address + neighbor.PathStatus})
		}
	}
	client := caller.Client("", c.sources.Addresses()...)
	defer client.CloseIdleConnections()
	answers := make([]bool, len(agents))
	var asked sync.WaitGroup
	for i, a := range agents {
		asked.Go(func() { answers[i] = isOpen(ctx, client, "http://"+a.url) })
	}
	asked.Wait()
	var open []string
	for i, a := range agents {
		if answers[i] {
			open = append(open, a.name)
		}
	}
	return open
}

// isOpen reports whether an agent answers a request without a token with anything but a refusal.
func isOpen(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close() // nothing is read of it
	return response.StatusCode != http.StatusUnauthorized
}
