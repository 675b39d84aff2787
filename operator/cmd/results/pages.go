package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/results/web"
)

// indexInterval is how often the archive is listed. The index learns of what other writers store, and of what is deleted, that late.
const indexInterval = 30 * time.Second

// archived is the archive in the form that the index and the pages read.
type archived struct{ *archive.Archive }

// List implements index.Archive.
func (a archived) List(ctx context.Context, each func(index.Entry) error) error {
	return a.Archive.List(ctx, func(e archive.Entry) error { return each(index.Entry(e)) })
}

// Read implements index.Archive.
func (a archived) Read(ctx context.Context, key string) ([]byte, error) {
	data, err := a.Archive.Read(ctx, key)
	if errors.Is(err, archive.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return data, err
}

// pages serves the pages of results, and keeps their index. It is a Runnable of the manager. Its rights, to ask who a token is of and what they may
// get, are those of the role system:auth-delegator, which the chart binds.
type pages struct {
	options *options
	config  *rest.Config
	archive *archive.Archive
	log     logr.Logger
	// index is that of the archive, once it is open.
	index atomic.Pointer[index.Index]
}

// Store implements archiving.Store: it stores a document, and lets the index read it at once.
func (p *pages) Store(ctx context.Context, key string, text []byte) error {
	err := p.archive.Store(ctx, key, text)
	if x := p.index.Load(); x != nil && err == nil {
		x.Add(key)
	}
	return err
}

// Start implements manager.Runnable.
func (p *pages) Start(ctx context.Context) error {
	access, err := p.access()
	if err != nil {
		return err
	}
	x, err := index.Open(ctx, p.options.index, p.options.indexBytes, p.log)
	if err != nil {
		return err
	}
	p.index.Store(x)
	ctx, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() {
		// Pages whose index no one keeps are not served.
		defer stop()
		followed <- x.Follow(ctx, archived{p.archive}, indexInterval)
	}()
	handler := web.NewHandler(web.Options{Index: x, Archive: archived{p.archive}, Access: access, Log: p.log, Version: version})
	err = p.serve(ctx, handler)
	// The index is closed when nothing uses it any more.
	stop()
	return errors.Join(err, <-followed, x.Close())
}

// access returns who sees what.
func (p *pages) access() (web.Access, error) {
	switch o := p.options; o.pagesAuthentication {
	case authenticationNone:
		return web.Everyone{}, nil
	case authenticationProxy:
		return web.NewCluster(p.config, o.pagesAudiences, &web.Proxy{
			Authorities: o.proxyAuthorities, Names: o.proxyNames, UserHeaders: []string{o.proxyUserHeader}, GroupHeaders: []string{o.proxyGroupHeader},
		})
	default:
		return web.NewCluster(p.config, p.options.pagesAudiences, nil)
	}
}

// serve serves over HTTPS until the context ends.
func (p *pages) serve(ctx context.Context, handler http.Handler) error {
	settings, err := p.certificate(ctx)
	if err != nil {
		return err
	}
	// The certificate of a proxy is checked where its headers are read.
	settings.ClientAuth = tls.RequestClientCert
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.options.pagesBindAddress)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, TLSConfig: settings, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	ended := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer ended()
	p.log.Info("Serving pages", "address", listener.Addr().String(), "authentication", p.options.pagesAuthentication)
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// certificate returns the settings of TLS: with the certificate of a folder, which is read again when it changes, or with one that is made now.
func (p *pages) certificate(ctx context.Context) (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if folder := p.options.pagesCertificate; folder != "" {
		watcher, err := certwatcher.New(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
		if err != nil {
			return nil, fmt.Errorf("reading the certificate of the pages: %w", err)
		}
		settings.GetCertificate = watcher.GetCertificate
		go func() {
			if err := watcher.Start(ctx); err != nil {
				p.log.Error(err, "Watching the certificate of the pages")
			}
		}()
		return settings, nil
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("vnfbench-results", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	settings.Certificates = []tls.Certificate{pair}
	return settings, err
}
