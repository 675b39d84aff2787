package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const awaitInterval = 50 * time.Millisecond

// await waits until the server at an address answers, or until ctx is done.
func await(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	ticker := time.NewTicker(awaitInterval)
	defer ticker.Stop()
	for probe(ctx, address) != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// probeClient sends requests to a server of this node, whose authority it need not know: it uses
// only the code of the answer.
var probeClient = &http.Client{
	Timeout:   2 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

func probe(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	if u.Scheme == "https" {
		return probeHTTP(ctx, address)
	}
	place := u.Host
	if u.Scheme == "unix" {
		place = u.Path
	}
	connection, err := new(net.Dialer).DialContext(ctx, u.Scheme, place)
	if err != nil {
		return err
	}
	return connection.Close()
}

func probeHTTP(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := probeClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
	return nil
}
